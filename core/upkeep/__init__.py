"""Making, migrating, checking and mending a database."""
