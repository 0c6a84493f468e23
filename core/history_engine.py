"""Door: the `context` of a prompt from history, diary, thoughts and the memories found (rules P20 to P41)."""

from .prompt.history import HistoryEngine

__all__ = ["HistoryEngine"]
