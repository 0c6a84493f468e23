"""The first statement of a prompt: it reads the audiences that the prompt's scope may see."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from sqlalchemy import Integer, String, bindparam, cast, exists, func, literal, null, select, union
from sqlalchemy.sql import and_, column, literal_column, or_, table, type_coerce
from sqlalchemy.types import NullType

from ..base.groups import group
from ..config import Settings
from ..database import compiled
from ..database.compiled import CompiledStatement
from ..database.dialects import ID, Key
from ..database.engine import Database
from ..database.schema import audiences, chat_history_cache, conversations, counters, participants
from ..database.sources import BY_NUMBER
from ..database.stored_values import from_key, read_whole
from ..errors import StoreReadError
from ..scope import Privacy, Scope
from ..shapes import Vocabulary
from ..tags import table as tags_table
from . import table_participants
from .rules import AudienceKey, choose_threads, own_audience, parent_key, plain_key, seen_audiences
from .view import AccessSnapshot, ConversationFacts, Recent, Request, Viewer

NEWEST_LINES, MOST_SERVERS = 1000, 10
"""Maximum number of newest lines that a SELECT reads, and of servers whose audiences SERVER_IN_DIRECT adds."""
WAITING = "Some rows that were inserted by SQL are not indexed yet. Run `prompt-engine db reindex`."


def load_snapshot(
    db: Database, scope: Scope, request: Request, *, destination: str, settings: Settings
) -> AccessSnapshot:
    """Read, in one statement, the audiences that a scope sees. Rows that other programs inserted are indexed first."""
    rows = _ask(db, scope, request, destination, settings)
    if _is_waiting(rows):
        from .external_rows import index_before_search  # noqa: PLC0415 - loads numpy, and few databases have such rows

        index_before_search(db, scope.persona, request.inserted_into)
        rows = _ask(db, scope, request, destination, settings)
    snapshot = _read(rows, scope, request, destination, settings)
    return replace(snapshot, notes=(WAITING,)) if _is_waiting(rows) else snapshot


def _ask(db: Database, scope: Scope, request: Request, destination: str, settings: Settings) -> Sequence[Any]:
    values: list[Any] = []
    shared = _values(scope, request, destination, settings)
    text = _statement(db.family, request, shared, settings, values)
    try:
        return db.read(text, values, source="the visible audiences")
    except StoreReadError:
        if not request.inserted_into:
            raise
        # An unreadable table must not hide everything; the search reports the error.
        return _ask(db, scope, replace(request, inserted_into=()), destination, settings)


def _is_waiting(rows: Sequence[Any]) -> bool:
    return INSERTED in [row[0] for row in rows]


def _values(scope: Scope, request: Request, destination: str, settings: Settings) -> dict[str, Any]:
    parent = parent_key(scope.conversation) if scope.conversation else None
    has_threads = bool(scope.conversation) and parent is None
    room = plain_key(scope.conversation or "")
    keys = [k for k in (scope.conversation, parent, *request.live_keys) if k]
    return {
        "persona": scope.persona,
        "conversation": scope.conversation or "",
        # Range of the keys of its threads, unless it is a thread; the character after the slash ends the range.
        "threads_from": f"{room}/" if has_threads else "",
        "threads_to": f"{room}0" if has_threads else "",
        "participant": scope.participant or "",
        "server": scope.server,
        "keys": list(dict.fromkeys(keys)) or [""],
        "version": request.vocabulary_version,
        "recent": request.recent,
        "local_only": int(destination == "local"),
        "default_rank": table_participants.LEVELS.index(settings.privacy_default) + 1,
    }


def _statement(family: str, request: Request, shared: Mapping[str, Any], settings: Settings, into: list[Any]) -> str:
    """Return the SQL text for a request, and append its parameter values to `into`."""
    wide = not settings.private_stays_private
    seen = _select_seen(wide, family).text(shared, into)
    parts = [*_select_always(family)]
    parts += [_select_level(family)] if request.is_prompt else []
    parts += [_select_spoken_in(family)] if settings.server_in_direct and request.is_prompt else []
    parts += [_select_inserted(request.inserted_into, family)] if request.inserted_into else []
    parts += _select_vocabulary(family) if request.vocabulary_version is not None else ()
    parts += _select_recent(wide, family) if request.recent else ()
    parts += [_select_recent_inserted(family)] if request.recent and request.inserted_into else []
    return f"WITH seen AS ({seen}) {compiled.union([part.text(shared, into) for part in parts], family)}"


def _read(rows: Sequence[Any], scope: Scope, request: Request, destination: str, settings: Settings) -> AccessSnapshot:
    by_part = group((row[0], row) for row in rows)
    # Numbers: audience, privacy, local only, id; keys: conversation, person of a direct message, server.
    facts = {
        from_key(r[5]): ConversationFacts(
            r[4], from_key(r[5]), r[1], from_key(r[7]), r[2], bool(r[3]), None if r[6] is None else from_key(r[6])
        )
        for r in by_part.get(CONVERSATION, ())
    }
    people = {from_key(r[5]): from_key(r[6]) for r in by_part.get(PARTICIPANT, ())}
    audience_ids = {
        AudienceKey(from_key(r[5]), from_key(r[6]), from_key(r[7])): r[1]  # type: ignore[arg-type]
        for r in by_part.get(AUDIENCE, ())
    }
    privacy, server, person = _place(scope, facts, people)
    is_full = any(row[1] == len(table_participants.LEVELS) for row in by_part.get(LEVEL, ()))
    seen = seen_audiences("public" if is_full else privacy, server, scope.conversation, person)
    if privacy == "restricted" and scope.conversation and not is_full:
        seen += choose_threads(audience_ids, server, scope.conversation)
    ids = [audience_ids[key] for key in seen if key in audience_ids]
    if not settings.private_stays_private and not is_full:
        ids += [each for key, each in audience_ids.items() if key.kind == "persona" or key.server == server]
    if privacy == "direct" and people.get(scope.participant or "", scope.participant) == person and not is_full:
        ids += [row[1] for row in by_part.get(SPOKEN_IN, ())]
    viewer = Viewer(
        scope=scope, destination=destination, privacy=privacy, person=person,
        identities=tuple(people) or ((scope.participant,) if scope.participant else ()),
        own=own_audience(privacy, server, scope.conversation, person) if scope.conversation else AudienceKey("persona"),
        audiences=tuple(dict.fromkeys(ids)), conversations=facts,
    )  # fmt: skip
    version = next((read_whole(r[1]) or 0 for r in by_part.get(VERSION, ())), 0)
    changed = request.vocabulary_version is not None and version != request.vocabulary_version
    recent = _recent(by_part.get(RECENT, ()), set(ids))
    return AccessSnapshot(viewer, recent, version, _build_vocabulary(by_part) if changed else None)


def _recent(rows: Sequence[Any], visible: set[int]) -> tuple[Recent, ...]:
    newest = sorted({(from_key(r[6]), from_key(r[5]), r[2], r[8]) for r in rows if r[1] in visible}, reverse=True)
    return tuple(Recent(key, "" if title is None else from_key(title), bool(local)) for _, key, local, title in newest)


def _place(
    scope: Scope, facts: Mapping[str, ConversationFacts], people: Mapping[str, str]
) -> tuple[Privacy, str, str | None]:
    """Return (privacy, server, person): of the stored conversation, else of its private parent, else of `scope`."""
    person = people.get(scope.participant or "", scope.participant)
    if scope.conversation is None:
        return "public", scope.server, person
    stored = facts.get(scope.conversation)
    if stored is None:
        parent = facts.get(parent_key(scope.conversation) or "")
        if parent is not None and parent.is_private and not parent.is_separate and scope.privacy in (None, "public"):
            stored = parent
    if stored is not None and stored.is_private:
        if stored.direct_person is not None:
            return stored.privacy, "", people.get(stored.direct_person, stored.direct_person)
        return stored.privacy, stored.server, person
    server = stored.server if stored is not None else scope.server
    stays_public = stored is not None and scope.privacy_from != "host"
    return "public" if stays_public else scope.privacy or "public", server, person


def _build_vocabulary(by_part: Mapping[int, Sequence[Any]]) -> Vocabulary:
    rows = [(at, r[5], r[6], r[1]) for at, part in enumerate((A_TAG, ALIAS)) for r in by_part.get(part, ())]
    return tags_table.build_vocabulary([*rows, *((2, r[5], r[6], r[1] / 1000) for r in by_part.get(LINK, ()))])


# The branches of the statement

CONVERSATION, PARTICIPANT, AUDIENCE, VERSION, A_TAG, ALIAS, LINK, RECENT, INSERTED, SPOKEN_IN, LEVEL = range(11)

_SEEN: Any = table("seen", column("audience_id", ID), column("kind"), column("server_id"), column("ref"))


def _row(part: int, *, n: Sequence[Any] = (), k: Sequence[Any] = (), x: Any = None) -> list[Any]:
    """Build the columns of the union's SELECT `part`: four numbers `n`, three keys `k`, text `x`; NULL if missing."""
    numbers = [*n, *[null()] * (4 - len(n))]
    keys = [*k, *[null()] * (3 - len(k))]
    return [
        literal_column(str(part), Integer()).label("part"),
        *(c.label(f"n{i}") for i, c in enumerate(numbers)),
        *(c.label(f"k{i}") for i, c in enumerate(keys)),
        (null() if x is None else x).label("x"),
    ]


def _raw(key: Any) -> Any:
    """Remove a key column's type, since a union mixes keys with other types; the reader decodes the value."""
    return type_coerce(key, NullType())


def _as_text(moment: Any, family: str) -> Any:
    """Convert a time to text in SQL, so that it fits into a UNION with a column of keys."""
    return cast(moment, String(32)) if family == "mysql" else type_coerce(moment, NullType())


_P = bindparam("persona", type_=Key(64))
_KEY = bindparam("conversation", type_=Key(512))
_WHO = bindparam("participant", type_=Key(255))
_SERVER = bindparam("server", type_=Key(191))


@lru_cache(maxsize=4)
def _select_seen(all_of_server: bool, family: str) -> CompiledStatement:
    """Return the common table expression `seen`: each audience the scope may see, and some that `_read` leaves out."""
    a, c, p = audiences.c, conversations.c, participants.c
    rows = select(a.audience_id, a.kind, a.server_id, a.ref).where(a.persona_id == _P)
    if all_of_server:  # The conversation's own server is included: the scope may not name it.
        known = select(c.server_id).where(c.persona_id == _P, c.conversation_key == _KEY).scalar_subquery()
        on_server = or_(a.server_id.in_([_SERVER, literal("", Key(191))]), a.server_id == known)
        return CompiledStatement(rows.where(on_server), family)

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
        one("conversation", nowhere, _KEY),  # a direct message on a server, of nobody in particular
        thread(_SERVER),
    )
    stored = (
        one("server", c.server_id, blank),
        one("conversation", c.server_id, _KEY),
        thread(c.server_id),
        one("direct", nowhere, c.direct_person_key),
        one("saved", nowhere, c.direct_person_key),
    )
    # Few SELECTs with joins: servers plan each SELECT and subquery for every part that reads this.
    asked = rows.join_from(conversations, audiences, or_(*stored)).where(c.persona_id == _P, c.conversation_key == _KEY)
    of_person = or_(one("direct", nowhere, p.person_key), one("saved", nowhere, p.person_key))
    linked = rows.join_from(participants, audiences, of_person).where(p.persona_id == _P, p.participant_key == _WHO)
    return CompiledStatement(union(rows.where(or_(*named)), asked, linked), family, in_order=True)


@lru_cache(maxsize=2)
def _select_always(family: str) -> tuple[CompiledStatement, ...]:
    """Return the SELECTs that always run: conversations, the participant with linked identities, audiences."""
    c, p = conversations.c, participants.c
    keys = [_raw(k) for k in (c.conversation_key, c.direct_person_key, c.server_id)]
    facts = _row(CONVERSATION, n=[c.audience_id, c.is_private, c.local_only, c.id], k=keys)
    keys_asked = bindparam("keys", expanding=True, type_=Key(512))
    own = select(p.person_key).where(p.persona_id == _P, p.participant_key == _WHO).scalar_subquery()
    person = _row(PARTICIPANT, k=[_raw(p.participant_key), _raw(p.person_key)])
    keys = [_raw(k) for k in (_SEEN.c.kind, _SEEN.c.server_id, _SEEN.c.ref)]
    parts = [
        select(*facts).where(c.persona_id == _P, c.conversation_key.in_(keys_asked)),
        select(*person).where(p.persona_id == _P, p.person_key == own),
        select(*_row(AUDIENCE, n=[_SEEN.c.audience_id], k=keys)),
    ]
    return tuple(CompiledStatement(each, family) for each in parts)


@lru_cache(maxsize=2)
def _select_level(family: str) -> CompiledStatement:
    """Return the SELECT of the asking person's privacy level as a rank; it finds no row if the scope has no person."""
    rank = func.coalesce(table_participants.strictest_rank(_WHO), bindparam("default_rank", type_=Integer()))
    return CompiledStatement(select(*_row(LEVEL, n=[rank])).where(literal("", Key(255)) != _WHO), family)


@lru_cache(maxsize=2)
def _select_spoken_in(family: str) -> CompiledStatement:
    """Return the SELECT of the public audiences of the servers in which the participant spoke last."""
    m, c, a = chat_history_cache.c, conversations.c, audiences.c
    lines = select(m.id, m.interface_path).where(m.persona_id == _P, m.participant_key == _WHO)
    newest = lines.order_by(m.id.desc()).limit(NEWEST_LINES).subquery("newest")
    last = func.max(newest.c.id).label("last")
    rooms = select(newest.c.interface_path, last).group_by(newest.c.interface_path).subquery("rooms")
    is_room = and_(c.persona_id == _P, c.conversation_key == rooms.c.interface_path)
    joined = rooms.join(conversations, is_room).join(audiences, a.audience_id == c.audience_id)
    is_allowed = c.local_only <= bindparam("local_only", type_=Integer())
    is_public = (a.persona_id == _P, a.kind == literal("server", Key(12)), is_allowed)
    spoken_in = select(*_row(SPOKEN_IN, n=[c.audience_id])).select_from(joined).where(*is_public)
    latest = spoken_in.group_by(c.audience_id).order_by(func.max(rooms.c.last).desc())
    return CompiledStatement(latest.limit(MOST_SERVERS), family)


@lru_cache(maxsize=4)
def _select_inserted(numbers: tuple[int, ...], family: str) -> CompiledStatement:
    """Return the SELECT that finds out whether sources have rows of other programs that are not indexed yet."""
    tables = [BY_NUMBER[number].table for number in numbers]
    waiting = [exists(t.c.id).where(t.c.persona_id == _P, t.c.indexed == 0) for t in tables]
    return CompiledStatement(select(*_row(INSERTED)).where(or_(*waiting)), family)


@lru_cache(maxsize=2)
def _select_vocabulary(family: str) -> tuple[CompiledStatement, ...]:
    """Return the SELECTs of the persona's tags; they find no rows if the caller's cached tags are up to date."""
    is_version = (counters.c.persona_id == _P, counters.c.name == literal("tag_vocabulary", Key(64)))
    version = select(counters.c.value).where(*is_version)
    stale = func.coalesce(version.scalar_subquery(), 0) != bindparam("version", type_=Integer())
    parts = [select(*_row(VERSION, n=[counters.c.value])).where(*is_version)]
    for part, (key, other, number) in zip((A_TAG, ALIAS, LINK), tags_table.COLUMNS, strict=True):
        whole = cast(number * 1000, Integer) if part == LINK else number
        chosen = select(*_row(part, n=[whole], k=[_raw(key), _raw(other)]))
        parts.append(chosen.where(key.table.c.persona_id == _P, stale))
    return tuple(CompiledStatement(each, family) for each in parts)


@lru_cache(maxsize=4)
def _select_recent(all_of_server: bool, family: str) -> tuple[CompiledStatement, ...]:
    """Return the SELECTs of each audience's conversations with the newest messages, except the scope's own."""
    a, c, p = audiences.c, conversations.c, participants.c
    known = select(c.server_id).where(c.persona_id == _P, c.conversation_key == _KEY).scalar_subquery()
    person = select(p.person_key).where(p.persona_id == _P, p.participant_key == _WHO)
    person_or_self = func.coalesce(person.scalar_subquery(), _WHO)
    here, nowhere, blank = func.coalesce(known, _SERVER), literal("", Key(191)), literal("", Key(512))
    if all_of_server:
        return tuple(CompiledStatement(_newest_of(c.server_id == server, family), family) for server in (here, nowhere))
    parts = []
    for kind, server, ref, unless_same in (
        ("server", here, blank, ()),
        ("server", nowhere, blank, (here != nowhere,)),
        ("direct", nowhere, person_or_self, ()),
    ):
        is_it = (a.kind == literal(kind, Key(12)), a.server_id == server, a.ref == ref)
        audience = select(a.audience_id).where(a.persona_id == _P, *is_it, *unless_same)
        parts.append(CompiledStatement(_newest_of(c.audience_id == audience.scalar_subquery(), family), family))
    return tuple(parts)


@lru_cache(maxsize=2)
def _select_recent_inserted(family: str) -> CompiledStatement:
    """Return the SELECT of conversations that are named only in rows of other programs; the whole persona sees them."""
    a, c, m = audiences.c, conversations.c, chat_history_cache.c
    of_persona = (a.kind == literal("persona", Key(12)), a.server_id == literal("", Key(191)))
    everywhere = select(a.audience_id).where(a.persona_id == _P, *of_persona)
    elsewhere = (m.audience_id == everywhere.scalar_subquery(), m.interface_path.not_in([_KEY, literal("", Key(512))]))
    lines = select(m.interface_path, m.timestamp, m.audience_id).where(m.persona_id == _P, *elsewhere)
    newest = lines.order_by(m.timestamp.desc(), m.id.desc()).limit(NEWEST_LINES).subquery("inserted").c
    keys = [_raw(newest.interface_path), _as_text(func.max(newest.timestamp), family)]
    is_unknown = ~exists(c.id).where(c.persona_id == _P, c.conversation_key == newest.interface_path)
    rooms = select(*_row(RECENT, n=[newest.audience_id, literal_column("0", Integer())], k=keys)).where(is_unknown)
    last = rooms.group_by(newest.interface_path, newest.audience_id).order_by(func.max(newest.timestamp).desc())
    return CompiledStatement(last.limit(bindparam("recent", type_=Integer())), family)


def _newest_of(which: Any, family: str) -> Any:
    c = conversations.c
    keys = [_raw(c.conversation_key), _as_text(c.last_message_at, family)]
    statement = select(*_row(RECENT, n=[c.audience_id, c.local_only], k=keys, x=c.title))
    statement = statement.where(c.persona_id == _P, which, c.conversation_key != _KEY, c.last_message_at.is_not(None))
    # In the order of the index, ids last: any other order makes servers read and sort all the audience's conversations.
    return statement.order_by(c.last_message_at.desc(), c.id.desc()).limit(bindparam("recent", type_=Integer()))
