"""The log of what was said, and what lies on a message: alternatives, recaps, scenes."""
