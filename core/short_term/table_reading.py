"""Reading short-term entries by index: those of a user, of identities linked to them, of a server, of one channel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache, partial
from typing import Any, Literal, NamedTuple

from sqlalchemy import Integer, and_, bindparam, literal_column, or_, select

from ..access.view import Viewer
from ..database.dialects import ID, Key, Time
from ..database.engine import Database
from ..database.row_shapes import FIRST, KEY, PLAIN, TEXT, TIME, Branch, Shape
from ..database.schema import conversations, participants, short_term_memories
from ..database.statements import Part
from .shapes import Entry, Life
from .table import SOURCE
from .table_items import read_items

Which = Literal["user", "linked", "server", "channel"]
"""user: other channels of a user. linked: those of the other identities of that person. server: other channels of a
server. channel: the summaries of one channel, of a user and of the server."""

_E = short_term_memories.alias("e")
_S = _E.c


@dataclass(frozen=True, slots=True)
class Lookup:
    """One group of entries to read."""

    which: Which
    owner: str
    """Participant key, or server id."""
    channel: str = ""
    """The channel left out; for `channel` the one that is read."""
    most: int | None = None
    """Newest entries, of a server one of each channel; None for all, expired ones too."""
    server: str = ""
    """For `channel`: the server whose entries are read beside the user's."""
    trusted: bool = False
    """The host itself asks: whatever there is, seen by whom ever."""


# Statements


_PERSONA = bindparam("persona", type_=Key(64))
_SEEN = bindparam("audiences", expanding=True, type_=ID)


def _select_entries(columns: Sequence[Any], which: Which, *, live: bool, trusted: bool) -> Any:
    """Return the SELECT of a lookup: `live` has a limit and reads the newest that have not expired, else all."""
    start, where = _match_lookup(which)
    where += [_match_local()] if trusted else _match_visible(parents=which != "channel")  # who is in a thread sees it
    if live:
        where += [_match_live(_S), _S.last_updated > bindparam("since", type_=Time())]  # where the walk ends
        where += [~_match_newer().exists()] if which == "server" else []
    newest = select(*columns).select_from(start).where(*where).order_by(_S.last_updated.desc(), _S.id.desc())
    if which == "linked":
        newest = newest.prefix_with("STRAIGHT_JOIN", dialect="mysql")
    return newest.limit(bindparam("most", type_=Integer())) if live else newest


def _match_lookup(which: Which) -> tuple[Any, list[Any]]:
    """Return from what a lookup reads, and the conditions that name whose entries of which channels."""
    who, channel = bindparam("owner", type_=Key(255)), bindparam("channel", type_=Key(512))
    if which == "channel":
        server = bindparam("server", type_=Key(191))
        of_server = and_(_S.server_id == server, _S.server_id != literal_column("''"))
        mine = or_(_S.participant_key == who, of_server)
        return _E, [_S.persona_id == _PERSONA, _S.channel_id == channel, mine, _S.summary_updated_at.is_not(None)]
    where = [_S.persona_id == _PERSONA, _S.channel_id != channel]
    if which != "linked":
        return _E, [*where, (_S.server_id if which == "server" else _S.participant_key) == who]
    me, linked = participants.alias("me"), participants.alias("linked")
    same = and_(linked.c.persona_id == me.c.persona_id, linked.c.person_key == me.c.person_key)
    theirs = and_(_S.persona_id == me.c.persona_id, _S.participant_key == linked.c.participant_key)
    other = [me.c.persona_id == _PERSONA, me.c.participant_key == who, linked.c.participant_key != who]
    return me.join(linked, same).join(_E, theirs), [*where, *other]


def _match_live(c: Any) -> Any:
    since, summary_since = bindparam("entry_since", type_=Time()), bindparam("summary_since", type_=Time())
    return or_(c.last_updated > since, c.summary_updated_at > summary_since)


def _match_newer() -> Any:
    """Return the SELECT of a newer entry of the same channel of a server."""
    n = short_term_memories.alias("n").c
    later = or_(n.last_updated > _S.last_updated, and_(n.last_updated == _S.last_updated, n.id > _S.id))
    same = (n.persona_id == _S.persona_id, n.channel_id == _S.channel_id, n.server_id == _S.server_id)
    return select(literal_column("1")).where(*same, later, _match_live(n))


def _match_local() -> Any:
    return or_(_S.local_only == 0, bindparam("local_only", type_=Integer()) == 1)


def _match_visible(*, parents: bool) -> list[Any]:
    """Return the conditions of what a viewer sees."""
    p = conversations.c
    where = [_S.audience_id.in_(_SEEN), _match_local()]
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


def _build_values(viewer: Viewer, lookup: Lookup, now: datetime, life: Life) -> dict[str, Any]:
    return {
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


# By themselves


@lru_cache(maxsize=16)
def _build_read(which: Which, live: bool, trusted: bool) -> Any:
    return _select_entries(
        [
            _S.id, _S.participant_key, _S.channel_id, _S.lineage_id, _S.server_id, _S.server_name, _S.channel_name,
            _S.messages, _S.summary, _S.summary_updated_at, _S.last_updated, _S.turns_since_summary,
        ],
        which, live=live, trusted=trusted,
    )  # fmt: skip


def read_entries(db: Database, viewer: Viewer, lookups: Sequence[Lookup], *, life: Life) -> list[Entry]:
    """Return the entries looked up, each once, in no order; where there is no limit, with those that have expired."""
    now = db.clock()
    entries: dict[int, Entry] = {}
    for each in lookups:
        values = _build_values(viewer, each, now, life)
        statement = _build_read(each.which, each.most is not None, each.trusted)
        entries |= {row.id: _build_entry(viewer, row) for row in db.read(statement, values, source=SOURCE)}
    return list(entries.values())


def _build_entry(viewer: Viewer, row: Any) -> Entry:
    return Entry(
        id=row.id,
        persona=viewer.scope.persona,
        user=row.participant_key,
        channel=row.channel_id,
        updated=row.last_updated,
        items=read_items(row.messages),
        summary=row.summary or "" if row.summary_updated_at is not None else "",
        summary_at=row.summary_updated_at,
        turns=int(row.turns_since_summary or 0),
        lineage=row.lineage_id or "",
        server=row.server_id or "",
        server_name=row.server_name or "",
        channel_name=row.channel_name or "",
    )


# With a prompt


class StoredEntry(NamedTuple):
    """An entry as a prompt reads it."""

    id: int
    summary: str | None
    channel_name: str | None
    messages: Any
    summary_at: datetime | None
    channel: str
    user: str
    updated: datetime | None


_ENTRY = Shape(
    FIRST + 30, StoredEntry, summary=TEXT, channel_name=TEXT, messages=PLAIN, summary_at=TIME, channel=KEY, user=KEY,
    updated=TIME,
)  # fmt: skip
ENTRIES = tuple(_ENTRY.numbered(FIRST + 30 + place) for place in range(4))
"""Of each lookup of a prompt, in its order; there are at most four."""


@lru_cache(maxsize=64)
def _build_branch(place: int, which: Which, family: str) -> Part:
    row = ENTRIES[place].columns(
        id=_S.id,
        summary=_S.summary,
        channel_name=_S.channel_name,
        messages=_S.messages,
        summary_at=_S.summary_updated_at,
        channel=_S.channel_id,
        user=_S.participant_key,
        updated=_S.last_updated,
    )
    return Part(_select_entries(row, which, live=True, trusted=False), family, in_order=which == "linked")


def section_parts_of(viewer: Viewer, lookups: Sequence[Lookup], *, now: datetime, life: Life) -> list[Branch]:
    """Return the branches of a prompt that read these entries; each lookup has a `most`."""
    return [
        Branch(
            ENTRIES[place], partial(_build_branch, place, each.which), _build_values(viewer, each, now, life), SOURCE
        )
        for place, each in enumerate(lookups)
    ]


def entry_of(row: StoredEntry, viewer: Viewer) -> Entry:
    """Return an entry as a branch of a prompt brings it."""
    return Entry(
        id=row.id,
        persona=viewer.scope.persona,
        user=row.user,
        channel=row.channel,
        updated=row.updated,
        items=read_items(row.messages),
        summary=row.summary or "",
        summary_at=row.summary_at,
        channel_name=row.channel_name or "",
    )
