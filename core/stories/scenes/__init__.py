"""Scenes: where they end, how they are found, their recaps."""
