"""Memory items of every kind: stored, merged, found, shown."""
