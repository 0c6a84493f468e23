"""Create, migrate, check and back up a database."""
