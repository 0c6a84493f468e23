"""The templates of `prompts/` and what is read from there: found, closed in, rendered."""
