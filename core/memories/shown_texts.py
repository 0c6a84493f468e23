"""What the last prompt of each conversation held: an echo of it is nothing new, and the answer is made with it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

from ..database.engine import Database
from ..scope import Scope

_TURN = timedelta(minutes=15)
"""A turn nobody answered is over after this time."""
SLACK = timedelta(minutes=1)
"""How much earlier than its prompt an answer may say that it was given: clocks differ."""
_MOST_TURNS = 10_000
_CACHE = "shown_texts"


class Turn(NamedTuple):
    at: datetime
    digests: frozenset[bytes]
    """Of the memories that were shown."""
    rows: tuple[str, ...]
    """All rows that were shown, `source number/id`."""


_Turns = OrderedDict[tuple[str, str], Turn]
"""Persona and conversation to the turn; those begun first come first."""
_lock = threading.Lock()


def note_turn(db: Database, scope: Scope, digests: Iterable[bytes], rows: Iterable[str] = ()) -> None:
    """Keep what was shown for the turn of the scope's conversation, in place of the turn before."""
    turns, now, turn = _turns_of(db), db.clock(), (scope.persona, scope.conversation or "")
    with _lock:
        turns.pop(turn, None)
        while turns and (len(turns) >= _MOST_TURNS or abs(now - next(iter(turns.values())).at) >= _TURN):
            turns.popitem(last=False)
        turns[turn] = Turn(now, frozenset(digests), tuple(sorted(set(rows))))


def read_turn(db: Database, scope: Scope) -> frozenset[bytes]:
    """Return the digests of what was shown for the turn at hand; none once the turn is long over."""
    turn = _turns_of(db).get((scope.persona, scope.conversation or ""))
    return frozenset() if turn is None or abs(db.clock() - turn.at) >= _TURN else turn.digests


def read_rows(db: Database, persona: str, conversation: str, at: datetime) -> list[str] | None:
    """Return the rows that the prompt of an answer given at this time held, None where that is unknown."""
    turn = _turns_of(db).get((persona, conversation))
    known = turn is not None and abs(db.clock() - turn.at) < _TURN and turn.at - at < SLACK
    return list(turn.rows) or None if turn is not None and known else None


def forget_turns(db: Database, persona: str) -> None:
    """Drop what is kept of a persona's turns."""
    turns = _turns_of(db)
    with _lock:
        for turn in [key for key in turns if key[0] == persona]:
            del turns[turn]


def _turns_of(db: Database) -> _Turns:
    turns: _Turns = db.caches.setdefault(_CACHE, OrderedDict())
    return turns
