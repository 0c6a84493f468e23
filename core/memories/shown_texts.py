"""Which memories the last prompt of each conversation held, so that their echo is not stored as something new."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from datetime import datetime, timedelta

from ..database.engine import Database
from ..scope import Scope

_TURN = timedelta(minutes=15)
"""A turn nobody answered is over after this time."""
_MOST_TURNS = 10_000
_CACHE = "shown_texts"


_Turns = OrderedDict[tuple[str, str], tuple[datetime, frozenset[bytes]]]
"""Persona and conversation to when the turn began and what it showed; those begun first come first."""
_lock = threading.Lock()


def note_turn(db: Database, scope: Scope, digests: Iterable[bytes]) -> None:
    """Keep which texts were shown for the turn of the scope's conversation, in place of those of the turn before."""
    turns, now, turn = _turns_of(db), db.clock(), (scope.persona, scope.conversation or "")
    with _lock:
        turns.pop(turn, None)
        while turns and (len(turns) >= _MOST_TURNS or abs(now - next(iter(turns.values()))[0]) >= _TURN):
            turns.popitem(last=False)
        turns[turn] = now, frozenset(digests)


def read_turn(db: Database, scope: Scope) -> frozenset[bytes]:
    """Return the digests of what was shown for the turn at hand; none once the turn is long over."""
    turn = _turns_of(db).get((scope.persona, scope.conversation or ""))
    if turn is None or abs(db.clock() - turn[0]) >= _TURN:
        return frozenset()
    return turn[1]


def forget_turns(db: Database, persona: str) -> None:
    """Drop what is kept of a persona's turns."""
    turns = _turns_of(db)
    with _lock:
        for turn in [key for key in turns if key[0] == persona]:
            del turns[turn]


def _turns_of(db: Database) -> _Turns:
    turns: _Turns = db.caches.setdefault(_CACHE, OrderedDict())
    return turns
