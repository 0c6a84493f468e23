"""The persona's relationship to each person: affinity, trust, number and time of interactions.

A person with several linked identities has one relationship, whichever key is named. Affinity fades with absence; the
faded value is computed when it is read. Nothing is stored about people whose privacy level is partial or full.
"""

from __future__ import annotations

from typing import Unpack

from ..base.hints import shown
from ..base.wire_ids import find_whole
from ..calls.call import Call, CallOptions, open_call
from ..database.rows import yes_no
from ..text.times import iso_text
from . import rules, table
from .rules import MOST_LISTED, Relationship, RelationshipResult

__all__ = ["Relationship", "RelationshipResult", "adjust", "ensure_and_touch", "get", "list_recent"]  # fmt: skip


def get(user_id: str | int | None = None, **options: Unpack[CallOptions]) -> Relationship:
    """Return the persona's relationship to a person, faded up to now; all zeros if there is none.

    Args:
        user_id: participant key `interface/id`; an id alone belongs to the scope's interface; None means the scope's
        participant. MessageError for an invalid id.

    >>> from prompt_engine import open_database, relationships
    >>> db = open_database("sqlite://")
    >>> met = relationships.adjust("discord/u1", 5, 3, "Ann", db=db)
    >>> ann = relationships.get("discord/u1", db=db)
    >>> ann["username"], ann["affinity"], ann["trust"], ann["interaction_count"]
    ('Ann', 5, 3, 1)
    """
    call = open_call(**options)
    key = rules.key_of(user_id, call.scope)
    return _relationship(table.find(call.db, call.persona, key), key, call)


def ensure_and_touch(
    user_id: str | int | None = None,
    username: str | None = None,
    *,
    realname: str | None = None,
    **options: Unpack[CallOptions],
) -> RelationshipResult:
    """Count one interaction with a person now; the first one creates the relationship.

    Arguments and result are those of `adjust`, which also changes affinity and trust.

    >>> from prompt_engine import open_database, relationships
    >>> db = open_database("sqlite://")
    >>> met = relationships.ensure_and_touch("discord/u1", "Ann", db=db)
    >>> met.stored, met.relationship["interaction_count"]
    (True, 1)
    """
    return adjust(user_id, username=username, realname=realname, **options)


def adjust(
    user_id: str | int | None = None,
    affinity_delta: int = 0,
    trust_delta: int = 0,
    username: str | None = None,
    touch: bool = True,
    *,
    realname: str | None = None,
    **options: Unpack[CallOptions],
) -> RelationshipResult:
    """Add to a person's faded affinity and to their trust; simultaneous changes add up. The sum fades from now on.

    Args:
        user_id: as for `get`.
        affinity_delta, trust_delta: whole numbers; affinity stays within -100 to 100, trust within 0 to 100.
        username, realname: the person's names, cut to 255 characters; blank and None keep the old one.
        touch: count it as an interaction and restart the fading. False for changes by an operator.

    Returns:
        `(True, None, "")` with the current relationship; reason `unchanged`, or `privacy` if the person's level is
        partial or full: then nothing is stored.

    Raises:
        MessageError: a value of a wrong type, or an invalid id.

    >>> from prompt_engine import open_database, relationships
    >>> db = open_database("sqlite://")
    >>> liked = relationships.adjust("discord/u1", affinity_delta=150, trust_delta=-5, db=db)
    >>> liked.relationship["affinity"], liked.relationship["trust"]
    (100, 0)
    """
    change = table.Change(
        rules.read_delta(affinity_delta, "affinity_delta"),
        rules.read_delta(trust_delta, "trust_delta"),
        rules.read_name(username, "username"),
        rules.read_name(realname, "realname"),
        bool(yes_no(touch, "touch")),
    )
    call = open_call(**options)
    key = rules.key_of(user_id, call.scope)
    row, reason = table.change(call, key, change)
    result = RelationshipResult(not reason, None, reason)
    result.relationship = _relationship(row, key, call)
    return result


def list_recent(limit: int = 20, **options: Unpack[CallOptions]) -> list[Relationship]:
    """Return the persona's relationships, one per person, latest interaction first, people never met last.

    Args:
        limit: maximum number of relationships, 1 to 500; ValueError for another number.

    >>> from prompt_engine import open_database, relationships
    >>> db = open_database("sqlite://")
    >>> met = [relationships.ensure_and_touch(f"discord/u{n}", name, db=db) for n, name in enumerate(("Ann", "Bob"))]
    >>> [each["username"] for each in relationships.list_recent(db=db)]
    ['Bob', 'Ann']
    """
    if (most := find_whole(limit)) is None or not 1 <= most <= MOST_LISTED:
        raise ValueError(f"limit is {shown(limit)}. It must be a whole number, 1 to {MOST_LISTED}.")
    call = open_call(**options)
    return [_relationship(row, row.user_id, call) for row in table.read_recent(call.db, call.persona, most)]


def _relationship(row: table.Row | None, key: str, call: Call) -> Relationship:
    row = row or table.Row(key)
    return {
        "user_id": key,
        "username": row.username,
        "realname": row.realname,
        "affinity": row.affinity_at(call.db.clock(), call.settings.decay_days),
        "trust": row.trust,
        "interaction_count": row.interaction_count,
        "last_interaction": iso_text(row.last_interaction) or None,
    }
