"""Counts an interaction with whoever said a message, in the transaction that stores it. Called by the log."""

from __future__ import annotations

from collections.abc import Callable

from ..calls.call import Call
from ..database.engine import Connection
from . import table


def plan_count(call: Call, who: str | None, username: str, role: str) -> Callable[[Connection], None] | None:
    """Return what counts the interaction, None where the role is not `user`."""
    if who is None or role != "user":
        return None
    key, settings = who, call.settings

    def count(connection: Connection) -> None:
        table.count_interaction(
            connection,
            call.db,
            call.persona,
            key,
            username,
            decay_days=settings.decay_days,
            privacy_default=settings.privacy_default,
        )

    return count
