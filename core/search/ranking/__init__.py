"""Scores how well a row answers a question, one score for each reason. Pure."""
