"""What stands under everything and knows nothing of memory: hooks, logs, limits, files that people write too."""
