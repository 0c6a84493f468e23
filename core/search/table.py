"""Stored rows of a search, with texts and speakers: read by id or by plain SQL conditions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import ColumnElement, Integer, bindparam, case, func, literal, literal_column, or_, select

from ..base import logs
from ..base.text_caches import cache_texts
from ..database import sources
from ..database.compiled import CompiledStatement, hide_from_index
from ..database.dialects import ID, Key, Time, has_keyword, json_has_text, like_pattern, microseconds
from ..database.engine import Database
from ..database.schema import chat_history_cache, participants
from ..database.stored_values import decode_row, read_time
from ..errors import StoreReadError
from ..index.shapes import RowId
from ..shapes import PERSONA_SENDER
from ..text.hits import content_digest, known_name, name_persona, stored_tags
from ..text.words import rough_words
from .ranking.rows import FOLDED_CHARS, PERSONA, Candidate, FoundRow

if TYPE_CHECKING:
    from ..access.view import Viewer
    from .resolve import Search

OFTEN = 8
"""Minimum number of rows read with the same text for a round to look for further copies."""
NO_NAMES = frozenset(
    {"synth", "self", "persona", "assistant", "user", "host", "system", "bot", "ai", "model", "import", "unknown"}
)
"""Authors of memories that are not names."""
_MEMORIES, _DIARY, _CHAT = sources.MEMORIES.number, sources.AI_DIARY.number, sources.CHAT.number

Rows = Mapping[RowId, FoundRow]
Errors = Mapping[int, StoreReadError]
"""Errors of sources that could not be read, by source."""


# Reading


def read_rows(db: Database, ids: Collection[RowId], values: Mapping[str, Any]) -> tuple[dict[RowId, FoundRow], Errors]:
    """Return (the rows with these ids that may be read, errors of sources); `values` are those of `read_values`."""
    rows, errors = dict[RowId, FoundRow](), dict[int, StoreReadError]()
    for number in sorted({source for source, _ in ids}):
        asked = {**values, "ids": [row_id for source, row_id in ids if source == number]}
        try:
            found = db.read(_by_id(number, db.family), asked, source=sources.BY_NUMBER[number].table.name)
            rows |= {(number, row[0]): read_row(number, row, values["persona"]) for row in found}
        except StoreReadError as error:
            errors[number] = note_unread(number, error)
    return rows, errors


def read_values(viewer: Viewer, db: Database, chars: int, searched: int = FOLDED_CHARS) -> dict[str, Any]:
    """Return the parameters of `read_rows`: the viewer's, and the maximum number of characters of each text."""
    here = viewer.scope.conversation or ""
    return viewer.bound | {"here": here, "now": db.clock(), "chars": chars, "searched": searched}


@lru_cache(maxsize=8)
def _by_id(number: int, family: str) -> CompiledStatement:
    source = sources.BY_NUMBER[number]
    row = source.table.c
    where = [*_of_rows(row, family), source.findable, *stays(row)]
    return CompiledStatement(select(*list_columns(number)).where(*where), family)


_PERSONA, _AUDIENCES = bindparam("persona", type_=Key(64)), bindparam("audiences", expanding=True, type_=ID)


def _of_rows(row: Any, family: str) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions for rows with these ids, of the persona in the audiences that a viewer sees."""
    mine, audience = hide_from_index(row.persona_id, family) == _PERSONA, hide_from_index(row.audience_id, family)
    return mine, row.id.in_(bindparam("ids", expanding=True, type_=ID)), audience.in_(_AUDIENCES)


def stays(row: Any) -> list[ColumnElement[bool]]:
    """Return the conditions for rows that have not expired; session items never expire in their own conversation."""
    if "expires_at" not in row:
        return []
    here = (row.tier == "session") & (row.conversation_key == bindparam("here", type_=Key(512)))
    return [or_(row.expires_at.is_(None), row.expires_at > bindparam("now", type_=Time()), here)]


def list_columns(number: int) -> list[ColumnElement[Any]]:
    """Return the columns of a row for `read_row`, with texts cut at `chars`."""
    row = sources.BY_NUMBER[number].table.c
    first = (row.id, row.timestamp, row.content_hash, _cut(row.text_folded, bindparam("searched", type_=Integer())))
    texts = [_cut(row[name], bindparam("chars", type_=Integer())) for name in _TEXTS[number]]
    if number == _CHAT:
        others: tuple[ColumnElement[Any], ...] = (
            row.interface_path, row.sender_id, row.message_id, row.sender_name, row.participant_key, row.role,
            row.hidden + row.excluded, case((func.instr(row.metadata, "reply_to") > 0, row.metadata)),
        )  # fmt: skip
    elif number == _MEMORIES:
        p, key = participants.c, func.coalesce(row.participant_key, literal("", Key(255)))
        person = select(p.display_name).where(p.persona_id == row.persona_id, p.participant_key == key)
        author = row.author, person.scalar_subquery(), row.participant_key
        others = row.tags, row.conversation_key, *author, row.source_message_ids, row.kind
    else:
        others = (row.context_tags,)
    return [*first, *texts, *others]


_DIARY_TEXTS = ("content", "interaction_summary", "user_message", "personal_thought")
_TEXTS = {_MEMORIES: ("content",), _DIARY: _DIARY_TEXTS, _CHAT: ("message_text",)}


def _cut(column: ColumnElement[str], size: ColumnElement[int]) -> ColumnElement[str]:
    return func.substr(column, literal_column("1", Integer()), size)


def read_row(number: int, row: Sequence[Any], persona: str) -> FoundRow:
    """Make a row of source `number` from a result row with the columns of `list_columns`."""
    row_id, at, digest, *rest = row
    folded, *values = decode_row(rest)
    hashed = bytes(digest) if isinstance(digest, bytes) else None  # another program may have stored something else
    found = FoundRow(number, row_id, _stored_us(at), (), folded or "", hashed)
    if number == _CHAT:
        text, conversation, sender, found.message_id, name, participant, role, hidden, found.reply = values
        found.is_hidden = bool(hidden)
        found.texts, found.conversation, found.sender = (text or "",), conversation or "", sender or ""
        found.said_by, found.said_by_key = _tell_sender(name or "", participant or "", role, found.sender, persona)
    elif number == _MEMORIES:
        text, tags, conversation, author, person, participant, found.messages, kind = values
        found.kind = kind or ""
        found.texts, found.conversation = (text or "",), conversation or ""
        found.said_by = name_author(author or "", person or "", participant or "")
        if found.said_by == name_author("", person or "", participant or ""):
            found.said_by_key = participant or ""
        found.tags = stored_tags(tags)
        opening = f"{found.said_by}: "  # shown once, and copies without it are recognised
        if found.said_by and found.texts[0].startswith(opening):
            is_whole = found.digest == content_digest(found.texts[0])
            found.texts = (found.texts[0].removeprefix(opening),)
            found.digest = content_digest(found.texts[0]) if is_whole else found.digest
    else:
        *texts, tags = values
        found.tags = stored_tags(tags)
        found.texts = tuple(text or "" for text in texts)
        content, summary, _, thought = texts
        if any(part and not part.isspace() for part in (content, summary, thought)):
            # The persona is the speaker, unless the entry holds only what somebody said to it.
            found.said_by, found.said_by_key = name_persona(persona), PERSONA_SENDER
    return found


@lru_cache(maxsize=4096)
def _stored_us(at: object) -> int:
    """Return a stored time in microseconds; cached, since the same rows are read often."""
    return microseconds(read_time(at))


@cache_texts(4096)
def _tell_sender(name: str, participant: str, role: str | None, sender: str, persona: str) -> tuple[str, str]:
    """Return the speaker's name as shown in the history, and the speaker's key."""
    if role == PERSONA or (sender == PERSONA_SENDER and not participant):
        own = name if name != PERSONA_SENDER else ""
        return known_name(own, name_persona(persona)), PERSONA_SENDER
    return known_name(name, sender), participant


@cache_texts(4096)
def name_author(author: str, person: str, participant: str) -> str:
    """Return the name of the person who made the statement of a memory; "" if unknown."""
    own = "" if author.strip().lower() in NO_NAMES else author
    return known_name(own, person, participant.partition("/")[2])


def note_unread(source: int, error: StoreReadError) -> StoreReadError:
    """Log that a source could not be read, and return the error, to be reported beside the hits of other sources."""
    logs.warning("source_unread", source=sources.BY_NUMBER[source].table.name, number=error.number)
    return error


# The plain predicates: JSON_CONTAINS on tags and LIKE on texts


@lru_cache(maxsize=256)
def _part(number: int, counts: tuple[int, int, int], given: frozenset[str], family: str) -> CompiledStatement:
    """Return the statement for the newest matching rows of a source, tier 1 first: `tier` and the row's columns.

    `counts`: number of tags, of keywords, of tags searched as words. `given`: optional parameters that have a value.
    """
    source = sources.BY_NUMBER[number]
    row = source.table.c
    tags, keywords, tag_words = counts
    as_tag = [json_has_text(source.tags, bindparam(f"tag{i}")) > 0 for i in range(tags)]
    as_tag += [has_keyword(row.text_folded, bindparam(f"tagword{i}")) for i in range(tag_words)]
    as_word = [has_keyword(row.text_folded, bindparam(f"word{i}")) for i in range(keywords)]
    these = _of_rows(row, family) if "ids" in given else (row.persona_id == _PERSONA, row.audience_id.in_(_AUDIENCES))
    where = [*these, source.findable, sources.open_to(source), or_(*as_tag, *as_word), *stays(row)]
    if "since" in given:
        where.append(row.timestamp >= bindparam("since", type_=Time()))
    if "until" in given:
        before = row.timestamp < bindparam("until", type_=Time())
        # A row without a time counts as oldest.
        where.append(before if "since" in given else or_(before, row.timestamp.is_(None)))
    if "without" in given:
        where.append(row.interface_path.not_in(bindparam("without", expanding=True, type_=Key(512))))
    if "rows" in given:
        where.append(row.id.not_in(bindparam("rows", expanding=True, type_=ID)))
    tier: ColumnElement[int] = literal_column("2")
    if as_tag and as_word:
        tier = case((or_(*as_tag) & or_(*as_word), 1), else_=2)
    found = select(tier.label("tier"), *list_columns(number)).where(*where)
    newest = found.order_by(literal_column("tier"), row.timestamp.desc(), row.id.desc())
    return CompiledStatement(newest.limit(bindparam("pool", type_=Integer())), family)


def read_newest(
    db: Database,
    search: Search,
    source: sources.SourceTable,
    pool: int,
    into: dict[RowId, FoundRow],
    ids: Sequence[int] | None = None,
) -> list[Candidate]:
    """Return the newest `pool` matching rows of a source (among `ids` if given), tier 1 first; add them to `into`."""
    # Chat rows have no tags: each tag is searched as a word.
    is_chat = source is sources.CHAT
    tags = () if is_chat else search.query.tags
    keywords = [term.text for term in search.terms if term.is_keyword]
    tag_words = [term.text for term in search.terms if term.is_tag_word] if is_chat else []
    viewer, exclude = search.viewer, search.query.exclude
    if not viewer.audiences or not (keywords or tags or tag_words):
        return []
    given: dict[str, Any] = {
        "ids": ids,
        "since": search.query.since,
        "until": search.query.until,
        "without": sorted(exclude.conversations) if is_chat else (),
        "rows": sorted(row_id for name, row_id in exclude.rows if name == source.name),
    }
    given = {name: value for name, value in given.items() if value}
    values = read_values(viewer, db, search.chars, search.searched_chars) | given | {"pool": pool}
    values |= {f"tag{i}": tag for i, tag in enumerate(tags)}
    values |= {f"word{i}": like_pattern(text) for i, text in enumerate(keywords)}
    values |= {f"tagword{i}": like_pattern(text) for i, text in enumerate(tag_words)}
    made, counts = [], (len(tags), len(keywords), len(tag_words))
    statement = _part(source.number, counts, frozenset(given), db.family)
    for tier, *columns in db.read(statement, values, source=source.table.name):
        row = read_row(source.number, columns, viewer.scope.persona)
        into[row.source, row.id] = row
        made.append(Candidate(row.source, row.id, row.at_us, words=rough_words(row.folded), tier=tier))
    return made


# Messages repeated many times: a bot command, a greeting of every morning

_C = chat_history_cache.c
_HERE = (_C.persona_id == bindparam("persona"), _C.interface_path == bindparam("conversation"))
_COPIES = select(_C.id).where(*_HERE, _C.content_hash == bindparam("digest"))
_COPIES = _COPIES.order_by(_C.timestamp.desc(), _C.id.desc())
_STAYS = frozenset(("", "limit"))
"""Reasons for leaving a row out after which it stays a candidate of later rounds; "": it is not left out."""
_AS_ITS_COPIES = _STAYS | {"duplicate", "visible"}
"""Reasons for leaving a row out that follow from its text, and so apply to all copies."""


class Repeated(NamedTuple):
    """A text that one round of a search found in many messages of a conversation."""

    conversation: str
    digest: bytes
    stay: frozenset[int]
    """Ids of the messages that stay candidates: originals, and the message with the best score."""


def list_repeated(read: Iterable[tuple[FoundRow, float, str]]) -> list[Repeated]:
    """Return the texts that many messages share; `read` has each row's score and the reason why it was left out."""
    found: defaultdict[tuple[str, bytes], list[tuple[float, int, str]]] = defaultdict(list)
    for row, score, reason in read:
        if row.source == _CHAT and row.digest is not None and row.folded.strip():
            found[row.conversation, row.digest].append((score, row.id, reason))
    made = []
    for (conversation, digest), rows in found.items():
        if len(rows) >= OFTEN and any(reason in _AS_ITS_COPIES for _, _, reason in rows):
            best = max(rows, key=lambda each: each[0])[1]
            stay = {row_id for _, row_id, reason in rows if reason in _STAYS}
            made.append(Repeated(conversation, digest, frozenset(stay | {best})))
    return made


def find_copies(db: Database, persona: str, repeated: Sequence[Repeated]) -> list[RowId]:
    """Return (source, id) of the copies of repeated messages to leave out; the newest and those in `stay` remain."""
    made: list[RowId] = []
    for one in repeated:
        asked = {"persona": persona, "conversation": one.conversation, "digest": one.digest}
        newest_first = [row.id for row in db.read(_COPIES, asked, source="chat_history_cache")]
        made += [(_CHAT, row_id) for row_id in newest_first[1:] if row_id not in one.stay]
    return made
