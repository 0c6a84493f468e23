"""Work on whole files: reading conversations of other programs into the database."""
