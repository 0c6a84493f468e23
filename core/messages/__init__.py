"""The log of what was said, and what lies on a message: alternatives, recaps, scenes."""

from .table_batches import insert_messages
from .table_lines import Line, read_lines, read_log, read_newest

__all__ = ["Line", "insert_messages", "read_lines", "read_log", "read_newest"]
