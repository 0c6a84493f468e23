"""Reads short-term entries by index: of a person, of a server, of one channel."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Literal

from sqlalchemy import Integer, and_, bindparam, literal_column, or_, select

from ..access.table_participants import select_identities
from ..access.view import Viewer
from ..context.section_base import StoredRows
from ..database.compiled import FIRST, Branch, CompiledStatement, Kind, Shape, hide_from_index
from ..database.dialects import ID, Key, Time
from ..database.engine import Database
from ..database.schema import conversations, short_term_memories
from .rules import Since
from .shapes import Entry
from .table import SOURCE, read_items, read_name

Which = Literal["person", "server", "channel"]
"""person: entries of a person, with all linked identities, in other channels. server: the newest entry of every other
channel of a server. channel: the summaries of one channel, in the user's entry and in all entries of the server."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """One query for entries, newest first, without expired ones."""

    which: Which
    owner: str
    """Participant key; if `which` is `server`, the server id."""
    channel: str = ""
    """The channel to leave out; if `which` is `channel`, the channel to read."""
    most: int = 2**31 - 1
    server: str = ""
    """If `which` is `channel`: the server whose entries are read in addition to the user's entry."""
    trusted: bool = False
    """Whether the host itself asks, without a scope: then entries of every audience are returned."""
    lineage: str = ""
    """Read only entries of personas with this lineage id; "" for all entries."""


_E = short_term_memories.alias("e")
_C = _E.c
_PERSONA = bindparam("persona", type_=Key(64))
_SEEN, _LOCAL_ONLY = bindparam("audiences", expanding=True, type_=ID), bindparam("local_only", type_=Integer())


def _select_entries(columns: Sequence[Any], which: Which, family: str, *, trusted: bool, of_lineage: bool) -> Any:
    # SQLite would choose the index of times and read everybody's entries to find those of one person.
    updated = hide_from_index(_C.last_updated, family) if which == "person" else _C.last_updated
    where = [_C.persona_id == _PERSONA, *_match_lookup(which, of_lineage), _match_live(_C)]
    where += [_C.lineage_id == bindparam("lineage", type_=Key(64))] if of_lineage else []
    where.append(updated > bindparam("since", type_=Time()))  # limits the index range
    where += [or_(_C.local_only == 0, _LOCAL_ONLY == 1), *([] if trusted else [_C.audience_id.in_(_SEEN)])]
    # People in a thread see its entries, so the parent's privacy matters only for other channels.
    where += [] if trusted or which == "channel" else [_match_parent()]
    newest = select(*columns).select_from(_E).where(*where).order_by(updated.desc(), _C.id.desc())
    return newest.limit(bindparam("most", type_=Integer()))


def _match_lookup(which: Which, of_lineage: bool) -> list[Any]:
    owner, channel = bindparam("owner", type_=Key(255)), bindparam("channel", type_=Key(512))
    if which == "channel":
        server = bindparam("server", type_=Key(191))
        of_server = and_(_C.server_id == server, _C.server_id != literal_column("''"))
        return [
            _C.channel_id == channel,
            or_(_C.participant_key == owner, of_server),
            _C.summary_updated_at > bindparam("summary_since", type_=Time()),
        ]
    if which == "server":
        return [_C.channel_id != channel, _C.server_id == owner, ~_select_newer(of_lineage).exists()]
    return [_C.channel_id != channel, _C.participant_key.in_(select_identities(_PERSONA, owner))]


def _match_live(c: Any) -> Any:
    since, summary_since = bindparam("entry_since", type_=Time()), bindparam("summary_since", type_=Time())
    return or_(c.last_updated > since, c.summary_updated_at > summary_since)


def _select_newer(of_lineage: bool) -> Any:
    """Return the query for a newer entry of the same channel and server, and of the same lineage if `of_lineage`."""
    n = short_term_memories.alias("n").c
    later = or_(n.last_updated > _C.last_updated, and_(n.last_updated == _C.last_updated, n.id > _C.id))
    names = ("persona_id", "channel_id", "server_id", *(["lineage_id"] if of_lineage else []))
    same = (n[name] == _C[name] for name in names)
    return select(literal_column("1")).where(*same, later, _match_live(n))


def _match_parent() -> Any:
    """Return the SQL condition of entries whose parent channel, if they have one, is visible."""
    p = conversations.c
    is_closed = or_(and_(p.is_private != 0, p.audience_id.not_in(_SEEN)), p.local_only > _LOCAL_ONLY)
    of_entry = (p.persona_id == _C.persona_id, p.conversation_key == _C.parent_channel_id)
    closed: Any = select(literal_column("1")).where(*of_entry, is_closed)
    return or_(_C.parent_channel_id.is_(None), ~closed.exists())


def _build_values(viewer: Viewer, lookup: Lookup, since: Since) -> dict[str, Any]:
    times = {"entry_since": since.entry, "summary_since": since.summary, "since": min(since)}
    names = ("owner", "server", "channel", "most", "lineage")
    return viewer.bound | times | {name: getattr(lookup, name) for name in names}


def read_entries(db: Database, viewer: Viewer, lookups: Sequence[Lookup], since: Since) -> list[Entry]:
    """Return the entries that `lookups` find, without repetitions, in any order."""
    entries: dict[int, Entry] = {}
    for lookup in lookups:
        statement = _build_part(0, lookup.which, db.family, trusted=lookup.trusted, of_lineage=bool(lookup.lineage))
        rows = db.read(statement, _build_values(viewer, lookup, since), source=SOURCE)
        entries |= {entry.id: entry for entry in map(_SHAPES[0].read, rows)}
    return list(entries.values())


_NAME = Kind(True, read_name)
_ENTRY = Shape(
    FIRST + 30, Entry, _C.id, user=_C.participant_key, channel=_C.channel_id, updated=_C.last_updated,
    items=(Kind(True, read_items), _C.messages), summary=(_NAME, _C.summary), summary_at=_C.summary_updated_at,
    channel_name=(_NAME, _C.channel_name), turns=_C.turns_since_summary, lineage=_C.lineage_id, server=_C.server_id,
    server_name=(_NAME, _C.server_name),
)  # fmt: skip
_SHAPES = tuple(_ENTRY.numbered(FIRST + 30 + place) for place in range(3))
"""Row shape of each query of a prompt, in the order of the queries."""


@lru_cache(maxsize=64)
def _build_part(
    place: int, which: Which, family: str, *, trusted: bool = False, of_lineage: bool = False
) -> CompiledStatement:
    columns = _SHAPES[place].columns
    return CompiledStatement(_select_entries(columns, which, family, trusted=trusted, of_lineage=of_lineage), family)


def build_branches(viewer: Viewer, lookups: Sequence[Lookup], since: Since) -> list[Branch]:
    return [
        Branch(_SHAPES[place], partial(_build_part, place, each.which), _build_values(viewer, each, since), SOURCE)
        for place, each in enumerate(lookups)
    ]


def read_branches(rows: StoredRows) -> list[Entry]:
    """Return the entries in the rows that the SELECTs of `build_branches` returned, without repetitions."""
    return list({entry.id: entry for shape in _SHAPES for entry in shape.rows_in(rows)}.values())
