"""Short-term memory: the latest messages of this and other channels.

The last messages of each answered turn are stored per person, channel and persona until they expire, without a model.
"""

from .reader import build_short_term_context, get_for_server, get_for_user, get_stats, relative_age
from .shapes import ShortTermEntry, ShortTermMessage, ShortTermSection, ShortTermStats, TurnResult
from .writer import (
    clear_by_channel,
    clear_by_server,
    clear_by_user,
    clear_expired,
    store_short_term_memory,
    update_short_term_memory,
    write_turn,
)

__all__ = ["ShortTermEntry", "ShortTermMessage", "ShortTermSection", "ShortTermStats", "TurnResult",
           "build_short_term_context", "clear_by_channel", "clear_by_server", "clear_by_user", "clear_expired",
           "get_for_server", "get_for_user", "get_stats", "relative_age", "store_short_term_memory",
           "update_short_term_memory", "write_turn"]  # fmt: skip
