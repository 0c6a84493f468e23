"""The frameworks' own tests, run on our adapters: `python -m tests.frameworks`. Nothing of theirs is kept here."""
