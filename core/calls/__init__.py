"""What every call begins with: database, settings, scope."""
