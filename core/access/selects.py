"""The SELECTs that `load` joins into one statement: what each reads."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    Integer,
    String,
    and_,
    bindparam,
    cast,
    column,
    func,
    literal,
    literal_column,
    null,
    or_,
    select,
    table,
    type_coerce,
    union,
)
from sqlalchemy.types import NullType

from ..database.dialects import ID, Key
from ..database.schema import (
    audiences,
    conversations,
    counters,
    participants,
    tag_aliases,
    tag_links,
    tags,
)
from ..database.sources import BY_NUMBER
from ..database.statements import Part

(
    CONVERSATION,
    PARTICIPANT,
    AUDIENCE,
    VERSION,
    A_TAG,
    ALIAS,
    LINK,
    RECENT,
    INSERTED,
) = range(9)

_SEEN: Any = table("seen", column("audience_id", ID), column("kind"), column("server_id"), column("ref"))


def _row(part: int, *, n: Sequence[Any] = (), k: Sequence[Any] = (), x: Any = None) -> list[Any]:
    """Return the columns every branch has: four numbers, three keys, one text; what is not given is NULL."""
    numbers = [*n, *[null()] * (4 - len(n))]
    keys = [*k, *[null()] * (3 - len(k))]
    return [
        literal_column(str(part), Integer()).label("part"),
        *(c.label(f"n{i}") for i, c in enumerate(numbers)),
        *(c.label(f"k{i}") for i, c in enumerate(keys)),
        (null() if x is None else x).label("x"),
    ]


def _raw(found: Any) -> Any:
    """A key column without its type, so that a union mixes it with others; the reader decodes."""
    return type_coerce(found, NullType())


def _as_text(moment: Any, family: str) -> Any:
    """Return a time as text, which fits a column of keys."""
    return cast(moment, String(32)) if family == "mysql" else type_coerce(moment, NullType())


def _many(name: str, length: int) -> Any:
    return bindparam(name, expanding=True, type_=Key(length))


_P, _KEY, _WHO, _SERVER = (
    bindparam("persona", type_=Key(64)),
    bindparam("conversation", type_=Key(512)),
    bindparam("participant", type_=Key(255)),
    bindparam("server", type_=Key(191)),
)


@lru_cache(maxsize=4)
def seen(all_of_server: bool, family: str) -> Part:
    """Return the CTE `seen`: the audiences the scope may turn out to see."""
    a, c, p = audiences.c, conversations.c, participants.c
    rows = select(a.audience_id, a.kind, a.server_id, a.ref).where(a.persona_id == _P)
    if all_of_server:  # the conversation's own server, too: who asks about it need not name it
        known = select(c.server_id).where(c.persona_id == _P, c.conversation_key == _KEY).scalar_subquery()
        return Part(rows.where(or_(a.server_id.in_([_SERVER, literal("", Key(191))]), a.server_id == known)), family)

    def one(kind: str, server: Any, ref: Any) -> Any:
        return and_(a.kind == literal(kind, Key(12)), a.server_id == server, a.ref == ref)

    def thread(server: Any) -> Any:
        low, high = bindparam("threads_from", type_=Key(513)), bindparam("threads_to", type_=Key(513))
        return and_(a.kind == literal("conversation", Key(12)), a.server_id == server, a.ref >= low, a.ref < high)

    nowhere, blank = literal("", Key(191)), literal("", Key(512))
    named = (
        one("persona", nowhere, blank),
        one("server", _SERVER, blank),
        one("server", nowhere, blank),
        one("direct", nowhere, _WHO),
        one("saved", nowhere, _WHO),
        one("conversation", _SERVER, _KEY),
        thread(_SERVER),
    )
    stored = (
        one("server", c.server_id, blank),
        one("conversation", c.server_id, _KEY),
        thread(c.server_id),
        one("direct", nowhere, c.direct_person_key),
        one("saved", nowhere, c.direct_person_key),
    )
    # Few SELECTs, of joins: servers plan each of them, and each subquery, for every part that reads this.
    selects = union(
        rows.where(or_(*named)),
        rows.join_from(conversations, audiences, or_(*stored)).where(c.persona_id == _P, c.conversation_key == _KEY),
        rows.join_from(
            participants, audiences, or_(one("direct", nowhere, p.person_key), one("saved", nowhere, p.person_key))
        ).where(p.persona_id == _P, p.participant_key == _WHO),
    )
    return Part(selects, family, in_order=True)


@lru_cache(maxsize=2)
def always(family: str) -> tuple[Part, ...]:
    """Return what every look brings: conversations, the participant, audiences."""
    c, p = conversations.c, participants.c
    facts = _row(
        CONVERSATION,
        n=[c.audience_id, c.is_private, c.local_only, c.id],
        k=[_raw(k) for k in (c.conversation_key, c.direct_person_key, c.server_id)],
    )
    person = _row(PARTICIPANT, k=[_raw(p.participant_key), _raw(p.person_key)])
    keys = [_raw(k) for k in (_SEEN.c.kind, _SEEN.c.server_id, _SEEN.c.ref)]
    audience = select(*_row(AUDIENCE, n=[_SEEN.c.audience_id], k=keys))
    made = [
        select(*facts).where(c.persona_id == _P, c.conversation_key.in_(_many("keys", 512))),
        select(*person).where(p.persona_id == _P, p.participant_key == _WHO),
        audience,
    ]
    return tuple(Part(each, family) for each in made)


@lru_cache(maxsize=16)
def inserted(numbers: tuple[int, ...], family: str) -> Part:
    """Return one row where others inserted rows of the persona by SQL into these sources that have no place yet."""
    waiting: list[Any] = [null()]
    for number in numbers:
        c = BY_NUMBER[number].table.c
        waiting.append(select(c.id).where(c.persona_id == _P, c.indexed == 0).limit(1).scalar_subquery())
    return Part(select(*_row(INSERTED)).where(func.coalesce(*waiting, null()).is_not(None)), family)


@lru_cache(maxsize=2)
def vocabulary(family: str) -> tuple[Part, ...]:
    """Return what brings the persona's tags, in rows only where their version is not the one the caller holds."""
    version = select(counters.c.value).where(
        counters.c.persona_id == _P, counters.c.name == literal("tag_vocabulary", Key(64))
    )
    stale = func.coalesce(version.scalar_subquery(), 0) != bindparam("version", type_=Integer())
    links = [_raw(tag_links.c.tag), _raw(tag_links.c.related_tag)]
    made = (
        select(*_row(VERSION, n=[counters.c.value])).where(
            counters.c.persona_id == _P, counters.c.name == literal("tag_vocabulary", Key(64))
        ),
        select(*_row(A_TAG, n=[tags.c.uses], k=[_raw(tags.c.tag)])).where(tags.c.persona_id == _P, stale),
        select(*_row(ALIAS, k=[_raw(tag_aliases.c.alias), _raw(tag_aliases.c.tag)])).where(
            tag_aliases.c.persona_id == _P, stale
        ),
        select(*_row(LINK, n=[cast(tag_links.c.weight * 1000, Integer)], k=links)).where(
            tag_links.c.persona_id == _P, stale
        ),
    )
    return tuple(Part(each, family) for each in made)


@lru_cache(maxsize=4)
def recent(all_of_server: bool, family: str) -> tuple[Part, ...]:
    """Return what brings the other conversations with the newest messages, of each audience that may be seen."""
    a, c = audiences.c, conversations.c
    if all_of_server:
        servers = (_SERVER, literal("", Key(191)))
        return tuple(Part(_newest_of(c.server_id == server, family), family) for server in servers)
    known = select(c.server_id).where(c.persona_id == _P, c.conversation_key == _KEY).scalar_subquery()
    person = select(participants.c.person_key).where(
        participants.c.persona_id == _P, participants.c.participant_key == _WHO
    )
    person_or_self = func.coalesce(person.scalar_subquery(), _WHO)
    here, nowhere, blank = func.coalesce(known, _SERVER), literal("", Key(191)), literal("", Key(512))
    made = []
    for kind, server, ref, unless_same in (
        ("server", here, blank, ()),
        ("server", nowhere, blank, (here != nowhere,)),
        ("direct", nowhere, person_or_self, ()),
    ):
        audience = select(a.audience_id).where(
            a.persona_id == _P, a.kind == literal(kind, Key(12)), a.server_id == server, a.ref == ref, *unless_same
        )
        made.append(Part(_newest_of(c.audience_id == audience.scalar_subquery(), family), family))
    return tuple(made)


def _newest_of(which: Any, family: str) -> Any:
    c = conversations.c
    keys = [_raw(c.conversation_key), _as_text(c.last_message_at, family)]
    found = select(*_row(RECENT, n=[c.audience_id, c.local_only], k=keys, x=c.title))
    found = found.where(c.persona_id == _P, which, c.conversation_key != _KEY, c.last_message_at.is_not(None))
    # As the index has them, the id last: in any other order servers read and sort all conversations of the audience.
    newest = found.order_by(c.last_message_at.desc(), c.id.desc())
    return newest.limit(bindparam("recent", type_=Integer()))
