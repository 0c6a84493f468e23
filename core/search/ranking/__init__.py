"""Scores how well a row answers a question: a sum of weighted ranking reasons (docs/recall.md). Pure."""
