"""Helpers that know nothing of memory: logs, lazy patterns, vectors, ids of requests, YAML, files written whole."""
