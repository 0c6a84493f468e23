"""What a question says apart from its words: days, people and the kind of answer. Pure."""
