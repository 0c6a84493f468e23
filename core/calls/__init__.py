"""The start of every call: database, settings, scope."""
