"""Connections, the schema, and the differences between database servers."""
