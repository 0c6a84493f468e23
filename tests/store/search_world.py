"""What the tests of searching share: rows of every kind in a few statements, and an oracle in plain Python.

The oracle reads every row of a persona and decides by `tag in tags` and `keyword in text`, as T20 to
T23, T27, T32 and T36 say it; it knows of no index.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, select

from core import search as searching
from core.access import load
from core.access import table_conversations as conversations
from core.access.view import Request, Viewer
from core.ai_diary import table as diary
from core.calls.call import Call
from core.config import Settings
from core.database import dialects, schema
from core.database.engine import Database
from core.forgetting import table_followers
from core.memories import new_item as memory_input
from core.memories import table as memories
from core.messages import new_message as messages
from core.messages import table_batches as chat_batches
from core.scope import Scope
from core.synth_core_memory import explain_search, search_memories
from core.text.folding import clean, fold
from core.text.hits import content_digest, diary_snippet_text, stored_tags
from core.text.stems import list_forms
from core.text.words import index_terms, is_short_word
from tests.store.world import NOW

DEFAULTS = Settings()
RECENCY = "recency"
Place = tuple[str, int]


def ago(**by: float) -> datetime:
    return NOW - timedelta(**by)


def remember(db: Database, scope: Scope, *items: Mapping[str, Any]) -> list[int]:
    """Store memory items in one transaction and return their ids; each has the fields of `memory_input.read`."""
    made = [memory_input.read(**{"now": db.clock(), **item}) for item in items]
    ids = db.ids.take(len(made))

    def work(connection: Connection) -> None:
        place = conversations.ensure(connection, db, scope, sender=scope.participant)
        memories.write(connection, db, scope, list(zip(ids, made, strict=True)), place)  # type: ignore[arg-type]

    db.transaction(work, source="memories")
    return ids


def memory(db: Database, scope: Scope, content: str, at: datetime = NOW, tags: Sequence[str] = (), **more: Any) -> int:
    return remember(db, scope, {"content": content, "timestamp": at, "tags": list(tags), **more})[0]


def said(
    db: Database, scope: Scope, texts: Iterable[tuple[str, datetime]], conversation: str = "tg/1", name: str = "Ann"
) -> list[int]:
    """Store messages of one conversation and return their ids; each is told apart by an id of its own."""
    sender = "7" if name == "Ann" else name.lower()
    who = {"sender_id": sender, "sender_name": name, "participant": f"{conversation.partition('/')[0]}/{sender}"}
    made = [messages.NewMessage(conversation, text, at=at, message_id=f"m{db.ids.one()}", **who) for text, at in texts]
    results = chat_batches.insert_messages(db, scope, made, privacy_default="none")
    return [result.id for result in results if result.id is not None]


def entered(db: Database, scope: Scope, content: str, at: datetime = NOW, **more: Any) -> int:
    """Store one diary entry, which may be blank as no door stores it."""
    texts = ("personal_thought", "interaction_summary", "user_message", "interface", "chat_id", "thread_id")
    lists = ("emotions", "context_tags", "involved_users", "source_message_ids")
    fields: dict[str, Any] = {**dict.fromkeys(texts, ""), **dict.fromkeys(lists, ()), "local_only": 0}
    entry = diary.NewEntry(id=0, content=content, timestamp=at, **{**fields, **more})
    stored = diary.insert_entry(Call(db, Settings(), scope), entry, row_id=db.ids.one())
    assert stored is not None
    return stored[0]


def places(hits: Iterable[Mapping[str, Any]]) -> list[Place]:
    return [(hit["source"], hit["id"]) for hit in hits]


def ids(hits: Iterable[Mapping[str, Any]]) -> list[int]:
    return [hit["id"] for hit in hits]


def find(db: Database, scope: Scope, **arguments: Any) -> list[Any]:
    return search_memories(db=db, scope=scope, **{"settings": DEFAULTS, **arguments})


def explain(db: Database, scope: Scope, **arguments: Any) -> tuple[list[Any], dict[str, Any]]:
    return explain_search(db=db, scope=scope, **{"settings": DEFAULTS, **arguments})


def viewer_of(db: Database, scope: Scope, settings: Settings = DEFAULTS) -> Viewer:
    return load.load_snapshot(db, scope, Request(), destination=scope.destination or "remote", settings=settings).viewer


def find_plainly(db: Database, scope: Scope, settings: Settings = DEFAULTS, **arguments: Any) -> list[Any]:
    query = searching.prepare(searching.SearchRequest(**arguments), settings)
    query, viewer = searching.load_viewer(Call(db, settings, scope), query)
    search = searching.build_search(query, viewer, settings, db)
    unread = replace(search, index=None, index_error=ValueError("not read"))
    return [one.hit for one in searching.run(unread, db).chosen]


def matched(db: Database, scope: Scope, **arguments: Any) -> list[int]:
    """Return the ids found, after making sure that both rankings and the plain predicates agree on them."""
    found = ids(find(db, scope, ranking=RECENCY, limit=200, **arguments))
    if not any(is_short_word(word) for word in arguments.get("keywords", ())):
        assert sorted(ids(find(db, scope, limit=200, **arguments))) == sorted(found)
    assert ids(find_plainly(db, scope, ranking=RECENCY, limit=200, **arguments)) == found
    return found


def ranked(db: Database, scope: Scope, **arguments: Any) -> list[int]:
    return [one["id"] for one in sorted(explain(db, scope, **arguments)[1]["hits"], key=lambda one: one["rank"])]


@dataclass(frozen=True)
class Row:
    """A stored row as the oracle sees it."""

    source: str
    id: int
    audience: int
    at: datetime | None
    folded: str
    text: str
    tags: Any
    conversation: str = ""
    local_only: bool = False
    digest: bytes = field(default=b"")
    only_in: str | None = None
    """Conversation of a session item that has expired everywhere else (L9); "" for an expired long-term item."""

    @property
    def order(self) -> tuple[int, int, int]:
        """What T32 sorts by."""
        return -dialects.microseconds(self.at), ("memories", "ai_diary", "chat_history").index(self.source), -self.id


def all_rows(db: Database, persona: str) -> list[Row]:
    """Return every row of a persona that is neither archived nor superseded, those of a table in the order of their
    ids: what a seed draws from them depends on nothing else.
    """

    def stored(table: Any) -> Sequence[Any]:
        key = table.c.id if "id" in table.c else table.c.conversation_key
        return db.read(select(table).where(table.c.persona_id == persona).order_by(key), source=table.name)

    local, made = {c.conversation_key for c in stored(schema.conversations) if c.local_only}, []
    for r in stored(schema.memories):
        hidden = r.archived_at or r.superseded_by
        expired = r.expires_at is not None and r.expires_at <= db.clock()
        own = r.conversation_key if r.tier == "session" else None
        if not hidden:
            made.append(
                Row("memories", r.id, r.audience_id, r.timestamp, fold(r.content), r.content, r.tags,
                    local_only=bool(r.local_only), only_in=(own or "") if expired else None)
            )  # fmt: skip
    for r in stored(schema.ai_diary):
        if not r.archived_at:
            texts = [r.content, r.personal_thought or "", r.interaction_summary or "", r.user_message or ""]
            shown = diary_snippet_text(texts[0], texts[2], texts[3], texts[1])
            made.append(
                Row("ai_diary", r.id, r.audience_id, r.timestamp, "\x1f".join(map(fold, texts)), shown, r.context_tags,
                    local_only=bool(r.local_only))
            )  # fmt: skip
    made += [
        Row("chat_history", r.id, r.audience_id, r.timestamp, fold(r.message_text), r.message_text, None,
            r.interface_path, r.interface_path in local)
        for r in stored(schema.chat_history_cache)
    ]  # fmt: skip
    return [replace(row, digest=content_digest(row.text)) for row in made]


def tier(
    row: Row, tags: Sequence[str], keywords: Sequence[str], *, ranked: bool = False, loose: bool = False,
    plain: bool = False,
) -> int:  # fmt: skip
    """Return 1 for a row that matches a tag and a keyword, 2 for either, 0 for none (T20 to T23, T61).

    Args:
        ranked: a word of up to three letters counts as a word, a keyword of three as a beginning too; of several words
            a row holds each, wherever they stand.
        loose: nothing else was found, so that three letters count inside words.
        plain: no index stands in front, so that several words count as they are written alone.
    """

    def holds(text: str, *, is_keyword: bool = True) -> bool:
        said = fold(text)
        if not (ranked and is_short_word(said)) or (loose and len(said) == 3):
            return fold(clean(text)) in row.folded or (ranked and not plain and _holds_each(said, row))
        begins = said if len(said) == 3 and is_keyword else " "
        words = index_terms(row.folded)
        return any(word.startswith(begins) for word in words) or bool(list_forms(words, said, DEFAULTS.languages))

    def is_tagged(tag: str) -> bool:
        return holds(tag, is_keyword=tag in keywords) if row.source == "chat_history" else tag in stored_tags(row.tags)

    tag, keyword = any(map(is_tagged, tags)), any(map(holds, keywords))
    return 1 if tag and keyword else 2 if tag or keyword else 0


def _holds_each(said: str, row: Row) -> bool:
    """Return whether a row holds each of several words, of the last one the beginning."""
    words, (*others, last) = index_terms(row.folded), said.split(" ")
    if not others or not re.fullmatch(r"\w+( \w+)*", said):
        return False
    ends = any(word == last or (len(last) >= 3 and word.startswith(last)) for word in words)
    return ends and all(other in words for other in others)


def matching(rows: Iterable[Row], query: searching.Query, viewer: Viewer, *, plain: bool = False) -> list[Row]:
    """Return the rows that a search looks at, whatever its ranking, newest first."""
    seen, names = set(viewer.audiences), {s.name for s in query.sources}
    local, here = viewer.sees_local_only, viewer.scope.conversation or ""

    def looked_at(row: Row) -> bool:
        in_time = (query.since is None or (row.at is not None and row.at >= query.since)) and (
            query.until is None or row.at is None or row.at < query.until
        )
        expired = row.only_in is not None and (not here or row.only_in != here)
        excluded = (row.source, row.id) in query.exclude.rows or row.conversation in query.exclude.conversations
        left_out = expired or excluded
        return row.source in names and row.audience in seen and in_time and not left_out and local >= row.local_only

    # Where hits are ranked, a word of few letters is found as a whole word or a beginning (T21).
    ranked, seen_rows = query.ranking == "relevance", [r for r in rows if looked_at(r)]
    for loose in (False, True):
        found = [r for r in seen_rows if tier(r, query.tags, query.keywords, ranked=ranked, loose=loose, plain=plain)]
        if found:
            break
    return sorted(found, key=lambda r: r.order)


def distinct(rows: Iterable[Row]) -> list[Row]:
    seen: set[bytes] = set()
    return [r for r in rows if not (r.digest in seen or seen.add(r.digest))]  # type: ignore[func-returns-value]


def by_recency(rows: Sequence[Row], query: searching.Query) -> list[Place]:
    """Return what a search in recency mode gives, of the rows that match (T23, T27, T28, T32, T36)."""

    def ranked(row: Row) -> tuple[Any, ...]:
        return tier(row, query.tags, query.keywords), *row.order

    by_source = [sorted((r for r in rows if r.source == s.name), key=ranked) for s in query.sources]
    pools = [row for found in by_source for row in found[: query.pool]]
    kept = distinct(sorted(pools, key=lambda r: r.order))
    chosen = sorted(kept, key=ranked)[: query.limit]
    return [(r.source, r.id) for r in sorted(chosen, key=lambda r: r.order)]


def edited(db: Database, scope: Scope, row_id: int, text: str, audiences: Sequence[int]) -> None:
    """Give a message another text, as somebody who sees these audiences."""
    c = schema.chat_history_cache.c
    chosen = select(c.interface_path).where(c.persona_id == scope.persona, c.id == row_id)
    viewer = replace(viewer_of(db, scope), audiences=tuple(audiences))
    for row in db.read(chosen, source="chat_history_cache"):
        table_followers.edit_message(Call(db, DEFAULTS, scope), viewer, row[0], row_id, text)
