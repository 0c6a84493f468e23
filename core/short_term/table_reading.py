"""Reading short-term entries by index: those of an owner newest first, those of people linked to them, one
channel's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache, partial
from typing import Any, Literal, NamedTuple

from sqlalchemy import Integer, and_, bindparam, literal, literal_column, or_, select, type_coerce
from sqlalchemy.types import NullType

from ..audience.view import Viewer
from ..database import statements
from ..database.dialects import ID, Key, Time
from ..database.engine import Database
from ..database.row_shapes import FIRST, KEY, NUMBER, PLAIN, TEXT, TIME, Branch, Shape
from ..database.schema import audiences, conversations, participants
from ..database.schema_recent import short_term_memories
from ..database.statements import Part, aside
from ..database.stored_values import from_key, read_time
from .cache import Stamp, Texts, open_cache
from .rules import drop_expired
from .shapes import Entry, Life, OwnerKind
from .table import SOURCE
from .table_items import read_items

Which = Literal["owner", "linked", "channel"]
"""owner: all channels of an owner but one. linked: the same of the other identities of a person. channel: the entries
of a user and a server in one channel."""

Narrow = Callable[[Sequence[Entry]], Sequence[Entry]]
"""Takes the entries that live, without their texts, and gives those that are wanted."""

TRIES = 3
_E = short_term_memories.alias("e")
_S = _E.c


@dataclass(frozen=True, slots=True)
class Lookup:
    """One group of entries to read."""

    which: Which
    kind: OwnerKind
    owner: str
    channel: str = ""
    """The channel left out; for `channel` the one that is read."""
    most: int | None = None
    """Newest entries; None for all, expired ones too."""
    elsewhere: bool = False
    """Public entries of other servers as well."""
    server: str = ""
    """For `channel`: whose entry is read beside the user's."""
    trusted: bool = False
    """The host itself asks: whatever there is, seen by whom ever."""

    @property
    def form(self) -> _Form:
        """Return what the SELECT depends on, beside values."""
        return _Form(self.which, self.most is not None, self.elsewhere, self.trusted)


class _Form(NamedTuple):
    which: Which
    live: bool
    elsewhere: bool
    trusted: bool


class _Row(NamedTuple):
    """What every read asks the table for: all that decides whether and where an entry is shown."""

    number: int
    id: int
    version: int
    audience: int
    kind: Any
    owner: Any
    channel: Any
    lineage: Any
    updated: Any
    summary_at: Any

    @property
    def stamp(self) -> Stamp:
        return self.version, self.updated, self.summary_at


class Found(NamedTuple):
    """What a read brought."""

    entries: Sequence[Entry] = ()
    expired: Sequence[int] = ()
    """Ids of entries met that are too old to be read."""


# Statements


def _raw(column: Any) -> Any:
    return type_coerce(column, NullType())


_PERSONA = bindparam("persona", type_=Key(64))
_SEEN = bindparam("audiences", expanding=True, type_=ID)


def _select_entries(made: Sequence[Any], form: _Form) -> Any:
    """Return the SELECT of a form of lookup: with a limit the newest that have not expired, else all there are."""
    which, live, elsewhere, trusted = form
    start, where = _match_lookup(which)
    if trusted:
        where.append(_match_local())
    else:
        where += _match_visible(parents=which != "channel", elsewhere=elsewhere)  # who is in a thread sees it
    found = select(*made).select_from(start)
    if which == "channel":  # two rows at most: an order or a limit in time leads SQLite to another index
        return found.where(*where)
    if live:
        since = bindparam("entry_since", type_=Time())
        summary_since = bindparam("summary_since", type_=Time())
        where.append(or_(_S.last_updated > since, _S.summary_updated_at > summary_since))
        where.append(_S.last_updated > bindparam("since", type_=Time()))  # where the walk of the index ends
    newest = found.where(*where).order_by(_S.last_updated.desc(), _S.id.desc())
    if which == "linked":
        newest = newest.prefix_with("STRAIGHT_JOIN", dialect="mysql")
    return newest.limit(bindparam("most", type_=Integer())) if live else newest


def _match_lookup(which: Which) -> tuple[Any, list[Any]]:
    """Return from what a lookup reads, and the conditions that name whose entries of which channels."""
    who, channel = bindparam("owner", type_=Key(255)), bindparam("channel", type_=Key(512))
    owned = _S.owner_kind == bindparam("kind", type_=Key(6))
    if which == "channel":
        server = and_(_S.owner_kind == literal("server", Key(6)), _S.owner_id == bindparam("server", type_=Key(255)))
        owners = or_(and_(owned, _S.owner_id == who), server)
        return _E, [_S.persona_id == _PERSONA, owners, _S.channel_id == channel]
    where = [_S.persona_id == _PERSONA, owned, _S.channel_id != channel]
    if which == "owner":
        return _E, [*where, _S.owner_id == who]
    me, linked = participants.alias("me"), participants.alias("linked")
    same = and_(linked.c.persona_id == me.c.persona_id, linked.c.person_key == me.c.person_key)
    theirs = and_(_S.persona_id == me.c.persona_id, _S.owner_id == linked.c.participant_key)
    mine = [me.c.persona_id == _PERSONA, me.c.participant_key == who, linked.c.participant_key != who]
    return me.join(linked, same).join(_E, theirs), [*where, *mine]


def _match_local() -> Any:
    return or_(_S.local_only == 0, bindparam("local_only", type_=Integer()) == 1)


def _match_visible(*, parents: bool, elsewhere: bool) -> list[Any]:
    """Return the conditions of what a viewer sees."""
    a, p = audiences.c, conversations.c
    seen: Any = _S.audience_id.in_(_SEEN)
    if elsewhere:
        kind = select(a.kind).where(a.persona_id == _S.persona_id, a.audience_id == _S.audience_id)
        seen = or_(seen, kind.scalar_subquery() == literal("server", Key(12)))
    where = [seen, _match_local()]
    if parents:
        hidden: Any = select(literal_column("1")).where(
            p.persona_id == _S.persona_id,
            p.conversation_key == _S.parent_channel_id,
            or_(
                and_(p.is_private != 0, p.audience_id.not_in(_SEEN)),
                p.local_only > bindparam("local_only", type_=Integer()),
            ),
        )
        where.append(or_(_S.parent_channel_id.is_(None), ~hidden.exists()))
    return where


@lru_cache(maxsize=24)
def _build_versions(form: _Form, family: str) -> Part:
    numbers = [_S.id, _S.version, _S.audience_id]
    others = [
        _S.owner_kind, _S.owner_id, _S.channel_id, _S.lineage_id, _S.last_updated, _S.summary_updated_at
    ]  # fmt: skip
    made = [literal_column("0", Integer()).label("number"), *numbers, *map(_raw, others)]
    return Part(_select_entries(made, form), family, in_order=form.which == "linked")


@lru_cache(maxsize=2)
def _build_texts(family: str) -> Part:
    raw = (_S.last_updated, _S.summary_updated_at, _S.messages, _S.server_id, _S.parent_channel_id)
    made = [_S.id, _S.version, *map(_raw, raw), _S.summary, _S.server_name, _S.channel_name, _S.turns_since_summary]
    by_id = _S.id.in_(bindparam("ids", expanding=True))
    return Part(select(*made).where(aside(_S.persona_id, family) == _PERSONA, by_id), family)


def _build_values(viewer: Viewer, lookup: Lookup, now: datetime, life: Life) -> dict[str, Any]:
    return {
        "kind": lookup.kind,
        "owner": lookup.owner,
        "server": lookup.server,
        "channel": lookup.channel,
        "most": lookup.most,
        "entry_since": now - life.entry,
        "summary_since": now - life.summary,
        "since": now - max(life.entry, life.summary),
        "persona": viewer.scope.persona,
        "audiences": viewer.audiences or (0,),
        "local_only": int(viewer.sees_local_only),
    }


# By version


def read_entries(
    db: Database, viewer: Viewer, lookups: Sequence[Lookup], *, life: Life, cached: int, narrow: Narrow = tuple
) -> Found:
    """Return the entries looked up that live, in no order; texts held of the stored version are not read again."""
    read = Found()
    for _ in range(TRIES):
        now = db.clock()
        rows = {row.id: row for row in _read_versions(db, viewer, lookups, now, life)}
        open_to_all = any(each.trusted for each in lookups)
        bare = [drop_expired(_build_bare(viewer, row, open_to_all), now, life) for row in rows.values()]
        live = [entry for entry in bare if entry is not None]
        wanted = narrow(live)
        texts = _gather_texts(db, viewer.scope.persona, {entry.id: rows[entry.id] for entry in wanted}, cached)
        same = {row_id: each for row_id, each in texts.items() if each.stamp == rows[row_id].stamp}
        read = Found(
            [_fill_entry(entry, same[entry.id]) for entry in wanted if entry.id in same],
            sorted(set(rows) - {entry.id for entry in live}),
        )
        if len(same) == len(texts):
            break
        # A row has changed since its audience was looked at: it may have turned private.
    return read


def _read_versions(db: Database, viewer: Viewer, lookups: Sequence[Lookup], now: datetime, life: Life) -> list[_Row]:
    values: list[Any] = []
    texts = [
        _build_versions(each.form, db.family).text(_build_values(viewer, each, now, life), values) for each in lookups
    ]
    return [_Row(*row) for row in db.read_driver(statements.union(texts, db.family), values, source=SOURCE)]


def _gather_texts(db: Database, persona: str, rows: Mapping[int, _Row], cached: int) -> dict[int, Texts]:
    """Return the texts of the rows that are still there: those held of the same version, the others as read now."""
    cache = open_cache(db)
    held = {n: cache.find_texts(persona, n, row.stamp) for n, row in rows.items()} if cached else {}
    by_id = {n: texts for n, texts in held.items() if texts is not None}
    wanted = sorted(set(rows) - set(by_id))
    cache.add_counts(hits=len(by_id), misses=len(wanted))
    for n, texts in (_read_texts(db, persona, wanted) if wanted else {}).items():
        by_id[n] = texts
        if cached:
            cache.hold_texts(persona, n, texts, cached)
    return by_id


def _read_texts(db: Database, persona: str, ids: Sequence[int]) -> dict[int, Texts]:
    values: list[Any] = []
    text = _build_texts(db.family).text({"persona": persona, "ids": ids}, values)
    return {
        row[0]: Texts(
            stamp=(row[1], row[2], row[3]),
            items=read_items(row[4]),
            summary=row[7] or "",
            server=from_key(row[5]),
            server_name=row[8] or "",
            channel_name=row[9] or "",
            parent_channel=None if row[6] is None else from_key(row[6]),
            turns=int(row[10] or 0),
        )
        for row in db.read_driver(text, values, source=SOURCE)
    }


def _build_bare(viewer: Viewer, row: _Row, open_to_all: bool) -> Entry:
    """Return an entry without its texts."""
    return Entry(
        id=row.id,
        persona=viewer.scope.persona,
        owner_kind="server" if from_key(row.kind) == "server" else "user",
        owner=from_key(row.owner),
        channel=from_key(row.channel),
        updated=read_time(row.updated),
        summary_at=read_time(row.summary_at),
        lineage=from_key(row.lineage),
        elsewhere=not open_to_all and row.audience not in viewer.audiences,
    )


def _fill_entry(entry: Entry, texts: Texts) -> Entry:
    return replace(
        entry,
        items=texts.items,
        summary=texts.summary if entry.summary_at is not None else "",
        turns=texts.turns,
        server=texts.server,
        server_name=texts.server_name,
        channel_name=texts.channel_name,
        parent_channel=texts.parent_channel,
    )


# With a prompt


class StoredEntry(NamedTuple):
    """An entry as a prompt reads it."""

    id: int
    summary: str | None
    channel_name: str | None
    audience: int
    messages: Any
    summary_at: datetime | None
    channel: str
    owner_kind: str
    owner: str
    updated: datetime | None


_ENTRY = Shape(
    FIRST + 30, StoredEntry, summary=TEXT, channel_name=TEXT, audience=NUMBER,
    messages=PLAIN, summary_at=TIME, channel=KEY, owner_kind=KEY, owner=KEY, updated=TIME,
)  # fmt: skip
ENTRIES = tuple(_ENTRY.numbered(FIRST + 30 + place) for place in range(5))
"""Of each lookup of a prompt, in its order; there are at most five."""


@lru_cache(maxsize=64)
def _whole(place: int, form: _Form, family: str) -> Part:
    row = ENTRIES[place].columns(
        id=_S.id,
        summary=_S.summary,
        channel_name=_S.channel_name,
        audience=_S.audience_id,
        messages=_S.messages,
        summary_at=_S.summary_updated_at,
        channel=_S.channel_id,
        owner_kind=_S.owner_kind,
        owner=_S.owner_id,
        updated=_S.last_updated,
    )
    return Part(_select_entries(row, form), family, in_order=form.which == "linked")


def section_parts_of(viewer: Viewer, lookups: Sequence[Lookup], *, now: datetime, life: Life) -> list[Branch]:
    """Return the branches of a prompt that read these entries; each lookup has a `most`."""
    return [
        Branch(
            ENTRIES[place],
            partial(_whole, place, each.form),
            _build_values(viewer, each, now, life),
            SOURCE,
            of_persona=each.elsewhere,  # what is of other servers is there before the first line of this one
        )
        for place, each in enumerate(lookups)
    ]


def entry_of(row: StoredEntry, viewer: Viewer) -> Entry:
    """Return an entry as a branch of a prompt brings it."""
    return Entry(
        id=row.id,
        persona=viewer.scope.persona,
        owner_kind="server" if row.owner_kind == "server" else "user",
        owner=row.owner,
        channel=row.channel,
        updated=row.updated,
        items=read_items(row.messages),
        summary=row.summary or "",
        summary_at=row.summary_at,
        channel_name=row.channel_name or "",
        elsewhere=row.audience not in viewer.audiences,
    )
