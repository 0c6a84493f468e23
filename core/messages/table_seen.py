"""Which messages of a batch are there already, told with two statements for a whole batch."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from datetime import timedelta

from sqlalchemy import Connection, bindparam, select

from ..database.bulk import chunks
from ..database.dialects import Time, microseconds
from ..database.schema import chat_history_cache
from .new_message import NewMessage

SAME_WITHIN = timedelta(seconds=5)
"""Equal texts of one sender are one message when they are less than this apart and one of them has no id."""

_SAME_US = 5_000_000
_Said = tuple[bytes, str, str]
_C = chat_history_cache.c
_HERE = (_C.persona_id == bindparam("persona"), _C.interface_path == bindparam("conversation"))
_BY_ID = select(_C.id, _C.message_id).where(*_HERE, _C.message_id.in_(bindparam("ids", expanding=True)))
_BY_TEXT = select(_C.id, _C.content_hash, _C.timestamp, _C.sender_id, _C.sender_name, _C.message_id).where(
    *_HERE,
    _C.content_hash.in_(bindparam("digests", expanding=True)),
    _C.timestamp > bindparam("after", type_=Time()),
    _C.timestamp < bindparam("before", type_=Time()),
)


class Seen:
    """The messages of one conversation that are stored or about to be."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._all: dict[_Said, list[tuple[int, int]]] = {}
        self._without_id: dict[_Said, list[tuple[int, int]]] = {}

    @classmethod
    def read(cls, connection: Connection, persona: str, conversation: str, batch: Sequence[NewMessage]) -> Seen:
        """Return what is stored of all that a batch of one conversation could repeat."""
        seen, here = cls(), {"persona": persona, "conversation": conversation}
        for part in chunks(sorted({m.message_id for m in batch if m.message_id is not None}), 500):
            seen._ids |= {row.message_id: row.id for row in connection.execute(_BY_ID, {**here, "ids": part})}
        times = [m.at for m in batch]
        span = {"after": min(times) - SAME_WITHIN, "before": max(times) + SAME_WITHIN}
        for digests in chunks(sorted({m.digest for m in batch}), 500):
            for row in connection.execute(_BY_TEXT, {**here, **span, "digests": digests}):
                name = "" if row.sender_id else row.sender_name
                said = (bytes(row.content_hash), row.sender_id, name)
                seen._keep(said, microseconds(row.timestamp), row.id, row.message_id)
        return seen

    def _keep(self, said: _Said, at: int, row_id: int, message_id: str | None) -> None:
        insort(self._all.setdefault(said, []), (at, row_id))
        if message_id is None:
            insort(self._without_id.setdefault(said, []), (at, row_id))

    def note(self, message: NewMessage, row_id: int) -> None:
        """Count a message that is about to be stored."""
        if message.message_id is not None:
            self._ids[message.message_id] = row_id
        self._keep((message.digest, *message.sender), microseconds(message.at), row_id, message.message_id)

    def double_of(self, message: NewMessage) -> int | None:
        """Return the id of the message this one repeats, None for a new one."""
        if message.message_id is not None and message.message_id in self._ids:
            return self._ids[message.message_id]
        # Two messages with different ids are two; where one has none, sender, text and time decide.
        among = self._all if message.message_id is None else self._without_id
        return _near(among.get((message.digest, *message.sender), ()), microseconds(message.at))


def _near(said: Iterable[tuple[int, int]], at: int) -> int | None:
    """Return the id of the newest of the messages less than 5 s away, None where there is none.

    >>> _near([(0, 7), (4_900_000, 8)], 5_000_000), _near([(0, 7)], 5_000_000)
    (8, None)
    """
    times = list(said) if not isinstance(said, list) else said
    place = bisect_left(times, (at + _SAME_US, -1)) - 1
    return times[place][1] if place >= 0 and times[place][0] > at - _SAME_US else None
