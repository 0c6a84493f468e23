"""How well a row answers a question, reason by reason. Pure."""
