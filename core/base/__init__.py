"""Helpers that do not concern memory: logs, lazy patterns, vectors, row ids in requests, YAML, atomic file writes."""
