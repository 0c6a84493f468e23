"""Lists, counts and names personas, conversations and people for operators, over all audiences."""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Select, String, Table, case, func, or_, select, type_coerce, union_all

from ..base.groups import group
from ..database.compiled import IDS, read_parts
from ..database.dialects import has_keyword, like_pattern
from ..database.engine import Database
from ..database.schema import audiences, conversations, participants, privacy_levels
from ..database.sources import AI_DIARY, CHAT, MEMORIES
from ..errors import MessageError
from ..scope import NO_SERVER, Privacy
from .rules import SERVER_MARK, stored_privacy

_A, _K, _P = audiences.c, conversations.c, participants.c
MOST_KEYS = 100_000
"""Maximum number of known keys that are compared with an unknown key."""


class ConversationCount(NamedTuple):
    key: str
    title: str
    """Title, "" if unknown."""
    server: str
    """Name of the conversation's server, else the server's id; "" without a server."""
    server_id: str
    person: str
    """Key of a direct message's person; "" for other conversations."""
    privacy: Privacy
    local_only: bool
    last_at: datetime | None
    messages: int = 0


class PersonCount(NamedTuple):
    key: str
    name: str
    person: str
    """Key that linked identities share; the participant's own key without linked identities."""
    privacy: str
    """Privacy level that the person chose, "" if no level was chosen."""
    items: int = 0
    messages: int = 0


def list_personas(db: Database, limit: int | None = None) -> list[str]:
    """Return the personas that have rows, sorted by key."""
    chosen = select(_A.persona_id).distinct().order_by(_A.persona_id).limit(limit)
    return [str(row[0]) for row in db.read(chosen, source="audiences")]


def choose_persona(db: Database, wanted: str) -> str:
    """Return `wanted` if it has rows, else the newest message's persona, else any persona with rows, else `wanted`."""
    if db.read(select(_A.persona_id).where(_A.persona_id == wanted).limit(1), source="audiences"):
        return wanted
    newest = select(_K.persona_id).order_by(_K.last_message_at.desc(), _K.id.desc()).limit(1)
    rows = db.read(newest, source="conversations")
    return str(rows[0][0]) if rows else next(iter(list_personas(db, 1)), wanted)


def count_places(db: Database, persona: str) -> Counter[tuple[str, str]]:
    """Return the number of messages, memories and diary entries by the (kind, server) of their audience."""
    tables = [source.table for source in (CHAT, MEMORIES, AI_DIARY)]
    rows = union_all(*(select(t.c.audience_id).where(t.c.persona_id == persona) for t in tables)).subquery()
    joined = audiences.join(rows, rows.c.audience_id == _A.audience_id)
    counted = select(_A.kind, _A.server_id, func.count()).select_from(joined).where(_A.persona_id == persona)
    places = db.read(counted.group_by(_A.kind, _A.server_id), source="audiences")
    return Counter({(kind, server): number for kind, server, number in places})


def name_near(db: Database, persona: str, kind: str, key: str) -> str:
    """Build a sentence that calls `key` unknown and names the most similar known keys; "" if `key` is known."""
    from difflib import get_close_matches  # noqa: PLC0415 - only mistakes need it

    people = _P.participant_key, MEMORIES.table.c.participant_key  # a memory may be of somebody who has not spoken
    columns = {"participant": people, "conversation": (_K.conversation_key,), "server": (_K.server_id,)}
    ids: dict[str, str] = {}
    for column in columns.get(kind, ()):
        chosen = select(column).where(column.table.c.persona_id == persona).distinct().order_by(column).limit(MOST_KEYS)
        ids |= {one: one.rpartition("/")[2] for (one,) in db.read(chosen, source=column.table.name) if one}
    if key in ids:
        return ""
    sentence = f"Nothing is known of the {kind} {key!r} of the persona {persona!r}."
    if personas := name_other_personas(db, persona):
        return f"{sentence} Rows are stored of {personas}."
    own = {bare: one for one, bare in ids.items()}
    close = get_close_matches(key, ids, n=3, cutoff=0.6)
    close += [own[bare] for bare in get_close_matches(key.rpartition("/")[2], own, n=3, cutoff=0.8)]
    return f"{sentence} Near it: {', '.join(list(dict.fromkeys(close))[:3])}." if close else sentence


def name_other_personas(db: Database, persona: str) -> str:
    """Return a sentence that names other personas if `persona` has no rows, since its name may be mistyped; else ""."""
    if choose_persona(db, persona) == persona:
        return ""
    from difflib import get_close_matches  # noqa: PLC0415 - as above

    known = list_personas(db, 1000)
    return ", ".join(get_close_matches(persona, known, 5) or known[:5])


def list_notes(
    db: Database, persona: str, kind: str, key: str, *, identities: Iterable[str], is_known: bool, option: str
) -> list[str]:
    """Return notes after `key` was forgotten: similar keys if it was unknown, and other personas that know the person.

    `identities` are the person's keys before the deletion; `option` is the caller's persona parameter: `--persona `.
    """
    keys = {key, *identities} if kind == "participant" else ()
    chosen = select(_P.persona_id, _P.participant_key).where(_P.participant_key.in_(keys), _P.persona_id != persona)
    rows = db.read(chosen.order_by(_P.persona_id, _P.participant_key), source="participants") if keys else ()
    others = [name if ones == [key] else f"{name} as {' and '.join(ones)}" for name, ones in group(rows).items()]
    known = f"Still known to: {', '.join(others)}; repeat with {option}{rows[0][0]}" if others else ""
    return [note for note in ("" if is_known else name_near(db, persona, kind, key), known) if note]


def _count(db: Database, persona: str, table: Table, name: str, keys: Iterable[str], *where: Any) -> Mapping[str, int]:
    c = table.c
    mine = (c.persona_id == persona, c[name].in_(IDS), *where)
    counted = select(c[name], func.count()).where(*mine).group_by(c[name])
    return Counter(dict(map(tuple, read_parts(db.read, counted, {}, keys))))


def _holds_words(words: str, name: Any, key: Any) -> list[Any]:
    """Return the conditions for rows whose name or key contains `words`; [] if `words` is ""."""
    pattern = like_pattern(words)
    return [or_(has_keyword(name, pattern), has_keyword(type_coerce(key, String()), pattern))] if words else []


def _count_rows(db: Database, chosen: Select[Any]) -> int:
    return int(db.read(chosen.with_only_columns(func.count()), source="the list")[0][0])


# Conversations


def _select_conversations(persona: str, *where: Any) -> Select[Any]:
    return select(
        _K.conversation_key, _K.title, _K.server_name, _K.server_id, _K.direct_person_key, _K.is_private,
        _K.local_only, _K.last_message_at,
    ).where(_K.persona_id == persona, *where)  # fmt: skip


def _conversation(row: Any) -> ConversationCount:
    return ConversationCount(
        row.conversation_key, row.title or "", row.server_name or row.server_id, row.server_id,
        row.direct_person_key or "",
        stored_privacy(row.is_private, row.direct_person_key), bool(row.local_only), row.last_message_at,
    )  # fmt: skip


def _read_conversations(db: Database, persona: str, chosen: Select[Any]) -> list[ConversationCount]:
    shown = [_conversation(row) for row in db.read(chosen, source="conversations")]
    messages = _count(db, persona, CHAT.table, "interface_path", [each.key for each in shown])
    return [each._replace(messages=messages[each.key]) for each in shown]


def list_conversations(
    db: Database, persona: str, words: str, limit: int, offset: int = 0
) -> tuple[list[ConversationCount], int]:
    """Return (page of conversations whose title or key contains `words`, latest first; total number of matches)."""
    chosen = _select_conversations(persona, *_holds_words(words, _K.title, _K.conversation_key))
    page = chosen.order_by(_K.last_message_at.desc(), _K.id.desc()).limit(limit).offset(offset)
    return _read_conversations(db, persona, page), _count_rows(db, chosen)


def find_conversation(db: Database, persona: str, key: str) -> ConversationCount | None:
    chosen = _select_conversations(persona, _K.conversation_key == key)
    return next(iter(_read_conversations(db, persona, chosen)), None)


def choose_server(db: Database, persona: str, key: str, server: str = "") -> str:
    """Return `server`, else the server of conversation `key`; raise MessageError for several servers or a wrong one."""
    marked = _K.conversation_key.between(f"{key}{SERVER_MARK}", f"{key}{SERVER_MARK}g")  # a mark has digits up to f
    chosen = select(_K.server_id).where(_K.persona_id == persona, or_(_K.conversation_key == key, marked))
    servers = [str(row[0]) for row in db.read(chosen.order_by(_K.id), source="conversations")]
    named = [each or NO_SERVER for each in servers]
    if named and (server not in named if server else len(named) > 1):
        raise MessageError(f"The conversation {key!r} is on {', '.join(named)}. Name one of these as its server.")
    return server or next(iter(servers), "")


def read_titles(db: Database, persona: str, keys: Iterable[str]) -> dict[str, ConversationCount]:
    """Return conversations by key, without message counts."""
    chosen = _select_conversations(persona, _K.conversation_key.in_(IDS))
    return {row.conversation_key: _conversation(row) for row in read_parts(db.read, chosen, {}, keys)}


# People


def _select_people(persona: str, *where: Any) -> Select[Any]:
    level = privacy_levels.c.level
    known = participants.outerjoin(privacy_levels, privacy_levels.c.participant_key == _P.participant_key)
    columns = select(_P.participant_key, _P.display_name, _P.person_key, level)
    return columns.select_from(known).where(_P.persona_id == persona, *where)


def _read_people(db: Database, persona: str, chosen: Select[Any]) -> list[PersonCount]:
    m = MEMORIES.table.c
    rows = db.read(chosen, source="participants")
    keys = [row.participant_key for row in rows]
    holds = (m.archived_at.is_(None), m.superseded_by.is_(None))
    items = _count(db, persona, MEMORIES.table, "participant_key", keys, *holds)
    messages = _count(db, persona, CHAT.table, "participant_key", keys)
    return [
        PersonCount(key, row.display_name or "", row.person_key, row.level or "", items[key], messages[key])
        for key, row in zip(keys, rows, strict=True)
    ]


def list_people(db: Database, persona: str, words: str, limit: int, offset: int = 0) -> tuple[list[PersonCount], int]:
    """Return (page of people whose name or key contains `words`, unnamed people last; total number of matches)."""
    chosen = _select_people(persona, *_holds_words(words, _P.display_name, _P.participant_key))
    order = (case((_P.display_name == "", 1), else_=0), _P.display_name, _P.participant_key)
    page = chosen.order_by(*order).limit(limit).offset(offset)
    return _read_people(db, persona, page), _count_rows(db, chosen)


def read_identities(db: Database, persona: str, key: str) -> list[PersonCount]:
    """Return a participant and all linked identities, sorted by key; [] for an unknown participant."""
    mine = select(_P.person_key).where(_P.persona_id == persona, _P.participant_key == key)
    theirs = _select_people(persona, _P.person_key.in_(mine))
    return _read_people(db, persona, theirs.order_by(_P.participant_key))


def read_names(db: Database, persona: str, keys: Iterable[str]) -> dict[str, str]:
    """Return the names of participants by key; participants without a name are left out."""
    known = select(_P.participant_key, _P.display_name).where(_P.persona_id == persona, _P.participant_key.in_(IDS))
    return {row[0]: row[1] for row in read_parts(db.read, known.where(_P.display_name != ""), {}, keys)}
