"""Facts that a question gives in addition to search words: days, people and the kind of answer. Pure."""
