"""Remembers which memories each conversation's last prompt showed: the answer's sources, which are not saved again."""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

from ..database.engine import Database
from ..scope import Scope

_TURN, _MOST_TURNS = timedelta(minutes=15), 10_000
"""An unanswered turn ends after this time."""


class Turn(NamedTuple):
    at: datetime
    asked_at: datetime
    """Time of the message, never later than `at`; an answer dated much earlier belongs to an earlier turn."""
    digests: frozenset[bytes]
    rows: tuple[str, ...]
    """All rows shown, as `source number/id`."""
    is_withdrawn: bool = False
    """Whether one of the `rows` was forgotten after the prompt; the answer is then stored hidden."""


_Turns = OrderedDict[tuple[str, bytes], Turn]
"""Latest turn by (persona, digest of the conversation's key), oldest first; the key itself may be forgotten."""
_lock = threading.Lock()


def note_turn(
    db: Database, scope: Scope, digests: Iterable[bytes], rows: Iterable[str] = (), asked_at: datetime | None = None
) -> None:
    """Store which memories a prompt of the scope's conversation showed, in place of those of the previous turn."""
    turns, now, turn = _turns_of(db), db.clock(), _key(scope.persona, scope.conversation or "")
    with _lock:
        turns.pop(turn, None)
        while turns and (len(turns) >= _MOST_TURNS or abs(now - next(iter(turns.values())).at) >= _TURN):
            turns.popitem(last=False)
        turns[turn] = Turn(now, min(asked_at or now, now), frozenset(digests), tuple(sorted(set(rows))))


def read_turn(db: Database, scope: Scope) -> frozenset[bytes]:
    """Return the digests of the memories shown in the current turn; an empty set if no turn is open."""
    turn = _find_open(db, scope.persona, scope.conversation or "")
    return frozenset() if turn is None else turn.digests


def find_turn(db: Database, persona: str, conversation: str, at: datetime) -> Turn | None:
    """Return the open turn that an answer of time `at` belongs to; None without such a turn."""
    turn = _find_open(db, persona, conversation)
    return turn if turn is not None and turn.asked_at - at < timedelta(minutes=1) else None  # clocks differ


def _find_open(db: Database, persona: str, conversation: str) -> Turn | None:
    turn = _turns_of(db).get(_key(persona, conversation))
    return None if turn is None or abs(db.clock() - turn.at) >= _TURN else turn


def forget_turns(db: Database, persona: str, rows: Collection[str] = ()) -> None:
    """Delete the digests of a persona's turns; mark turns that showed one of these forgotten rows as withdrawn."""
    turns = _turns_of(db)
    with _lock:
        for key, turn in turns.items():
            if key[0] == persona:
                is_withdrawn = turn.is_withdrawn or not set(turn.rows).isdisjoint(rows)
                shown = () if is_withdrawn else turn.rows
                turns[key] = turn._replace(digests=frozenset(), rows=shown, is_withdrawn=is_withdrawn)


def _key(persona: str, conversation: str) -> tuple[str, bytes]:
    return persona, hashlib.blake2b(conversation.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _turns_of(db: Database) -> _Turns:
    turns: _Turns = db.caches.setdefault("shown_texts", OrderedDict())
    return turns
