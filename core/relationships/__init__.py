"""DOOR: how the persona stands to each person: affinity, trust, how often and when last.

A relationship is between a persona and a person: a person with several linked identities has one, whichever of
their keys is named. Affinity fades with absence by itself: reading gives the faded value though `decay_all` never ran.
Of people whose privacy level is not none nothing is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from ..calls.defaults import call_with
from ..config import Settings
from ..database.engine import Database
from ..scope import Scope
from ..templates.render import Renderer
from ..text.times import iso_text
from . import rules
from . import table as store
from . import table_reading as reading
from .rules import Relationship, RelationshipPoint, RelationshipResult

__all__ = ["Relationship", "RelationshipPoint", "RelationshipResult", "adjust", "decay_all", "ensure_and_touch", "get",
           "history", "list_recent", "relationship_text"]  # fmt: skip

TEMPLATE = "relationship.txt.j2"
Given = Settings | Mapping[str, object] | None


def get(
    user_id: str | int | None = None, *, db: Database | None = None, settings: Given = None, scope: Scope | None = None
) -> Relationship:
    """Return how the persona stands to a person, faded up to now; zeros for one it has no relationship with.

    Args:
        user_id: participant key `interface/id`; an id alone is of the scope's interface; None for the scope's
            participant.

    Returns:
        `user_id` is the key asked for. Of an unknown person names are blank, numbers 0, `last_interaction` None, and
        nothing is stored.

    Raises:
        MessageError: an id that cannot be one.
        StoreReadError: nothing could be read.
    """
    known_db, known, own = call_with(db, settings, scope)
    key = rules.key_of(user_id, own)
    return _shown(reading.find(known_db, own.persona, key), key, known_db.clock(), known)


def ensure_and_touch(
    user_id: str | int | None = None,
    username: str | None = None,
    *,
    realname: str | None = None,
    db: Database | None = None,
    settings: Given = None,
    scope: Scope | None = None,
) -> RelationshipResult:
    """Count one interaction with a person now, and make the relationship where there is none.

    Args:
        user_id: as for `get`.
        username, realname: what the person is called, at most 255 characters of it; blank and None keep the old one.

    Returns:
        `(True, None, "")` with the relationship as it is now; the id is that of a new row of the history where absence
        had changed the affinity. Reason `privacy` where the person's level is not none: nothing is stored.

    Raises:
        MessageError: an id that cannot be one, a name that is no text.
        StoreWriteError: nothing was stored.
    """
    return adjust(user_id, username=username, realname=realname, db=db, settings=settings, scope=scope)


def adjust(
    user_id: str | int | None = None,
    affinity_delta: int = 0,
    trust_delta: int = 0,
    username: str | None = None,
    touch: bool = True,
    *,
    realname: str | None = None,
    db: Database | None = None,
    settings: Given = None,
    scope: Scope | None = None,
) -> RelationshipResult:
    """Add to affinity and trust of a person, both kept within their bounds, by one UPDATE.

    However many threads and processes do so at once, the sum is exact. What is added to is the faded affinity; the
    result is what fades from now on.

    Args:
        user_id: as for `get`.
        affinity_delta: whole number; affinity stays within -100 to 100.
        trust_delta: whole number; trust stays within 0 to 100.
        username, realname: as for `ensure_and_touch`.
        touch: it is an interaction: counted, and absence begins anew. False for what an operator changes.

    Returns:
        `(True, id of the new row of the history, "")` with the relationship as it is now; the id is None where affinity
        and trust are what they were. Else reason `unchanged`, or `privacy`.

    Raises:
        MessageError: a delta that is NaN, infinite, a fraction, a text or a bool; an id that cannot be one; a name that
            is no text.
        TypeError: `touch` is no bool.
        StoreWriteError: nothing was stored.
    """
    # 1. what is wanted
    if not isinstance(touch, bool):
        raise TypeError(f"touch is of type {type(touch).__name__}. It must be True or False.")
    wanted = store.Change(
        rules.read_delta(affinity_delta, "affinity_delta"),
        rules.read_delta(trust_delta, "trust_delta"),
        rules.read_name(username, "username"),
        rules.read_name(realname, "realname"),
        touch,
    )
    known_db, known, own = call_with(db, settings, scope)
    key = rules.key_of(user_id, own)
    # 2. do it
    made = store.change(
        known_db, own.persona, key, wanted, decay_days=known.decay_days, privacy_default=known.privacy_default
    )
    # 3. what became of it
    shown = _shown(made.row, key, made.now or known_db.clock(), known)
    return RelationshipResult(made.stored, made.logged, made.reason, relationship=shown)


def list_recent(
    limit: int = 20, *, db: Database | None = None, settings: Given = None, scope: Scope | None = None
) -> list[Relationship]:
    """Return the persona's relationships, newest interaction first, those without any last, ties by key.

    Args:
        limit: most of them, 1 to 500.

    Returns:
        One for each person; `user_id` is the key it is kept under, of linked identities the one last used.

    Raises:
        ValueError: another limit.
        StoreReadError: nothing could be read.
    """
    most = rules.read_most(limit, rules.MOST_LISTED)
    known_db, known, own = call_with(db, settings, scope)
    now = known_db.clock()
    return [_shown(row, row.user_id, now, known) for row in reading.recent(known_db, own.persona, most)]


def history(
    user_id: str | int | None = None,
    limit: int = 500,
    *,
    db: Database | None = None,
    settings: Given = None,
    scope: Scope | None = None,
) -> list[RelationshipPoint]:
    """Return what a relationship was changed to and when, oldest first: one row for each change of affinity or trust.

    Args:
        user_id: as for `get`.
        limit: most rows, the newest, 1 to 10,000.

    Returns:
        What absence does stands in it for each day on which `decay_all` ran; empty for an unknown person.

    Raises:
        ValueError: another limit.
        MessageError: an id that cannot be one.
        StoreReadError: nothing could be read.
    """
    most = rules.read_most(limit, rules.MOST_POINTS)
    known_db, _, own = call_with(db, settings, scope)
    points = reading.history(known_db, own.persona, rules.key_of(user_id, own), most)
    return [{"id": p.id, "affinity": p.affinity, "trust": p.trust, "at": iso_text(p.at)} for p in points]


def decay_all(*, db: Database | None = None, settings: Given = None, scope: Scope | None = None) -> int:
    """Write what absence has made of the persona's affinities, and return how many have changed; for a daily timer.

    At most once a day (UTC) for each: another run that day returns 0. Reading does not need it; the history and whoever
    looks at the table do.

    Raises:
        StoreWriteError: not all of them could be written; the next run goes on.
    """
    known_db, known, own = call_with(db, settings, scope)
    return store.fade_all(known_db, own.persona, decay_days=known.decay_days, privacy_default=known.privacy_default)


def relationship_text(
    user_id: str | int | None = None, *, db: Database | None = None, settings: Given = None, scope: Scope | None = None
) -> str:
    """Return the relationship as text, from `prompts/relationship.txt.j2`; blank where there is none.

    For hosts that build their own prompts; `build_json_prompt` has it as data under `context.relationship`.

    Raises:
        MessageError: an id that cannot be one.
        StoreReadError: nothing could be read.
    """
    known_db, known, own = call_with(db, settings, scope)
    key = rules.key_of(user_id, own)
    row = reading.find(known_db, own.persona, key)
    if row is None:
        return ""
    shown = _shown(row, key, known_db.clock(), known)
    renderer = Renderer(known.templates_dir, known.template_steps)
    return renderer.text(
        TEMPLATE,
        name=rules.quoted_name(shown["username"], shown["realname"]),
        affinity=shown["affinity"],
        trust=shown["trust"],
        interactions=shown["interaction_count"],
    )


def _shown(row: reading.Row | None, key: str, now: datetime, settings: Settings) -> Relationship:
    if row is None:
        row = reading.Row(key, "", "", 0, 0, 0, 0, 0, None)
    return {
        "user_id": key,
        "username": row.username,
        "realname": row.realname,
        "affinity": row.affinity_at(now, settings.decay_days),
        "trust": row.trust,
        "interaction_count": row.interaction_count,
        "last_interaction": iso_text(row.last_interaction) or None,
    }
