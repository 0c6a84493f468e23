"""The statements that read the rows of a search."""
