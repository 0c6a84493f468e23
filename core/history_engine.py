"""Door: the `context` of a prompt from history, diary, thoughts and the memories found."""

from .prompt.history import HistoryEngine

__all__ = ["HistoryEngine"]
