"""What a question tells a search beside its words: days, people, the kind of answer it wants. Pure."""
