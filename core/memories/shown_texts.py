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


class _Turns:
    """The turns of one database; those begun first come first."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.by_conversation: OrderedDict[tuple[str, str], tuple[datetime, frozenset[bytes]]] = OrderedDict()


def note_turn(db: Database, scope: Scope, digests: Iterable[bytes]) -> None:
    """Keep which texts were shown for the turn of the scope's conversation, in place of those of the turn before."""
    kept, now, turn = _turns_of(db), db.clock(), (scope.persona, scope.conversation or "")
    with kept.lock:
        turns = kept.by_conversation
        turns.pop(turn, None)
        while turns and (len(turns) >= _MOST_TURNS or abs(now - next(iter(turns.values()))[0]) >= _TURN):
            turns.popitem(last=False)
        turns[turn] = now, frozenset(digests)


def read_turn(db: Database, scope: Scope) -> frozenset[bytes]:
    """Return the digests of what was shown for the turn at hand; none once the turn is long over."""
    turn = _turns_of(db).by_conversation.get((scope.persona, scope.conversation or ""))
    if turn is None or abs(db.clock() - turn[0]) >= _TURN:
        return frozenset()
    return turn[1]


def forget_turns(db: Database, persona: str) -> None:
    """Drop what is kept of a persona's turns."""
    kept = _turns_of(db)
    with kept.lock:
        for turn in [key for key in kept.by_conversation if key[0] == persona]:
            del kept.by_conversation[turn]


def _turns_of(db: Database) -> _Turns:
    turns: _Turns = db.caches.setdefault(_CACHE, _Turns())
    return turns
