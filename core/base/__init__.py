"""Helpers that do not concern memory: logs, lazy patterns, vectors, ids of requests, YAML, atomic file writes."""
