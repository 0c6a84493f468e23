"""Connections, the schema, and what the servers do differently."""
