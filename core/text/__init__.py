"""Languages, words, sizes and times of texts. Pure."""
