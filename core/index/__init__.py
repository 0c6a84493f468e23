"""The search index: postings of words, tags and days, written with the rows, checked and repaired."""
