"""Remembers the memories in each conversation's last prompt, so that an echo is not stored and answers know their
sources.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

from ..database.engine import Database
from ..scope import Scope

_TURN = timedelta(minutes=15)
"""An unanswered turn ends after this time."""
SLACK = timedelta(minutes=1)
"""Longest time by which an answer may be dated before its prompt: clocks differ."""
_MOST_TURNS = 10_000
_CACHE = "shown_texts"


class Turn(NamedTuple):
    at: datetime
    digests: frozenset[bytes]
    """Digests of the memories shown."""
    rows: tuple[str, ...]
    """All rows shown, as `source number/id`."""


_Turns = OrderedDict[tuple[str, str], Turn]
"""Latest turn by (persona, conversation), oldest first."""
_lock = threading.Lock()


def note_turn(db: Database, scope: Scope, digests: Iterable[bytes], rows: Iterable[str] = ()) -> None:
    """Store what a prompt showed for the scope's conversation, replacing the previous turn."""
    turns, now, turn = _turns_of(db), db.clock(), (scope.persona, scope.conversation or "")
    with _lock:
        turns.pop(turn, None)
        while turns and (len(turns) >= _MOST_TURNS or abs(now - next(iter(turns.values())).at) >= _TURN):
            turns.popitem(last=False)
        turns[turn] = Turn(now, frozenset(digests), tuple(sorted(set(rows))))


def read_turn(db: Database, scope: Scope) -> frozenset[bytes]:
    """Return the digests of the memories shown for the current turn; empty after it has ended."""
    turn = _turns_of(db).get((scope.persona, scope.conversation or ""))
    return frozenset() if turn is None or abs(db.clock() - turn.at) >= _TURN else turn.digests


def read_rows(db: Database, persona: str, conversation: str, at: datetime) -> list[str] | None:
    """Return the rows in the prompt of an answer given at this time, or None if unknown."""
    turn = _turns_of(db).get((persona, conversation))
    known = turn is not None and abs(db.clock() - turn.at) < _TURN and turn.at - at < SLACK
    return list(turn.rows) or None if turn is not None and known else None


def forget_turns(db: Database, persona: str) -> None:
    """Delete the stored turns of a persona."""
    turns = _turns_of(db)
    with _lock:
        for turn in [key for key in turns if key[0] == persona]:
            del turns[turn]


def _turns_of(db: Database) -> _Turns:
    turns: _Turns = db.caches.setdefault(_CACHE, OrderedDict())
    return turns
