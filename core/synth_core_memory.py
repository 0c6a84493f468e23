"""Public functions that search memories, diary and chat history together, and that save memories.

| name | for |
|---|---|
| search_memories, explain_search | the search over all three, and the same with reasons |
| free_memory_search | snippets that contain any word of a text, newest first |
| should_remember, silently_record_memory | saving an exchange |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, NamedTuple, TypedDict, Unpack, get_args

from . import search as searching
from .calls import defaults
from .calls.call import open_call
from .calls.defaults import check_handle
from .config import Settings
from .database.engine import Database
from .memories.capture import should_remember, silently_record_memory
from .scope import Scope
from .search.query import Query
from .search.rules_arguments import MOST_HITS
from .shapes import Hit

SearchMode = Literal["best", "all"]
"""best: the hits that fit best, newest first. all: a page of all that match, oldest first."""

__all__ = ["SearchArguments", "explain_search", "free_memory_search", "search_memories", "should_remember",
           "silently_record_memory"]  # fmt: skip


def search_memories(
    query: object = None,
    *,
    tags: object = None,
    keywords: object = None,
    include_chat: bool = True,
    limit: object = 5,
    ranking: object = None,
    exclude: object = (),
    since: object = None,
    until: object = None,
    mode: SearchMode = "best",
    offset: int = 0,
    embedder: Any = None,
    db: Database | None = None,
    settings: Settings | Mapping[str, Any] | None = None,
    scope: Scope | None = None,
) -> list[Hit]:
    """Return the hits of a search over memories, diary and chat history, newest first; [] without a match.

    Args:
        query: the message as said; without tags and keywords, the search uses its words and the known tags in it, as
            for a
        prompt.
        tags: a row matches if one of its tags equals one of these; in the chat, a tag is one more keyword.
        keywords: a row matches if its text contains one of these, folded; `%` and `_` are ordinary characters.
        limit: most hits, 1 to 200.
        ranking: `relevance` or `recency`; None follows MEMORY_RANKING.
        exclude: `(source, id)` pairs, and conversation keys for chat rows.
        since, until: earliest time, included; latest time, not included. Words name a span: `last week`, `3 days ago`.
        mode: `all` returns a page of all matches, oldest first, of the best 200: for lists and counts. `total` in the
            report
        is their number.
        offset: with `all`, how many to skip.
        embedder: compares the message with rows by meaning; None takes that of `configure` or EMBEDDER.

    Raises:
        StoreReadError: a source was unreadable, and the others had no match.
        TypeError, ValueError: an argument of a wrong kind.

    >>> from prompt_engine import insert_memory, open_database, search_memories
    >>> db = open_database("sqlite://")
    >>> _ = insert_memory("Tofu is a grey cat.", "Ann", "notes", ["cat"], db=db)
    >>> [hit["snippet"] for hit in search_memories(query="Who is Tofu?", db=db)], search_memories(tags=["dog"], db=db)
    (['Tofu is a grey cat.'], [])
    """
    return _search(
        mode,
        offset,
        embedder,
        db,
        settings,
        scope,
        tags=tags,
        keywords=keywords,
        query=query,
        include_chat=include_chat,
        limit=limit,
        ranking=ranking,
        exclude=exclude,
        since=since,
        until=until,
    ).hits


class SearchArguments(TypedDict, total=False):
    """The arguments of `search_memories` besides the query."""

    tags: object
    keywords: object
    include_chat: bool
    limit: object
    ranking: object
    exclude: object
    since: object
    until: object


def explain_search(
    query: object = None,
    *,
    mode: SearchMode = "best",
    offset: int = 0,
    embedder: Any = None,
    db: Database | None = None,
    settings: Settings | Mapping[str, Any] | None = None,
    scope: Scope | None = None,
    **arguments: Unpack[SearchArguments],
) -> tuple[list[Hit], dict[str, Any]]:
    """Return `(hits, report)`: the hits of `search_memories`, with the same arguments, and why they were chosen.

    The report is plain JSON: `hits` (source, id, timestamp, conversation, speaker, `neighbours` with the ids of the
    messages before and after, rank, score, tier, tags, words, `context` for a row that is close to a match, `meaning`
    for one found only by meaning, `reasons` with the share of each in the score), `sources` (considered, dropped by
    reason, error), `spans` (times named in the question) and `notes`.

    >>> from prompt_engine import insert_memory, open_database, synth_core_memory
    >>> db = open_database("sqlite://")
    >>> _ = insert_memory("Tofu is a grey cat.", "Ann", "notes", ["cat"], db=db)
    >>> hits, report = synth_core_memory.explain_search(tags=["cat"], keywords=["tofu"], db=db)
    >>> report["hits"][0]["rank"], report["hits"][0]["tags"], report["hits"][0]["words"]
    (1, ['cat'], ['tofu'])
    """
    for name in arguments.keys() - SearchArguments.__annotations__.keys():
        raise TypeError(f"explain_search() got an unexpected keyword argument {name!r}")
    found = _search(mode, offset, embedder, db, settings, scope, query=query, **arguments)
    if found.selection is None:
        return [], {"hits": [], "sources": {}, "notes": list(found.query.notes)}
    total = {} if found.total is None else {"total": found.total}
    return found.hits, {**searching.build_report(found.selection), **total}


class _Found(NamedTuple):
    """The result of a search."""

    query: Query
    selection: searching.Selection | None
    """None if nothing was asked for."""
    total: int | None = None
    """In the mode `all`, the number of matching rows."""

    @property
    def hits(self) -> list[Hit]:
        return [one.hit for one in self.selection.chosen] if self.selection else []


def _search(
    mode: SearchMode,
    offset: int,
    embedder: Any,
    db: Database | None,
    settings: Settings | Mapping[str, Any] | None,
    scope: Scope | None,
    query: object,
    **arguments: Unpack[SearchArguments],
) -> _Found:
    """Run the search of `search_memories`."""
    check_handle(db)
    known = defaults.settings_for(settings)
    if mode not in get_args(SearchMode) or isinstance(offset, bool) or not isinstance(offset, int) or offset < 0:
        raise ValueError(f"mode is {mode!r}, offset {offset!r}. mode must be 'best' or 'all', offset 0 or more.")
    request = searching.SearchRequest(query=query, **arguments)
    wanted = searching.prepare(request, known, clock=lambda: defaults.handle(db).clock())
    page = wanted.limit
    if mode == "all":
        wanted = replace(wanted, limit=MOST_HITS)
    if wanted.is_empty:
        return _Found(wanted, None)
    call = open_call(db, known, scope)
    with call.db.request_connection():  # three reads on one connection, which is tested once
        wanted, viewer = searching.load_viewer(call, wanted)
        search = searching.resolve(wanted, viewer, call.settings, call.db, embedder)
        result = searching.run(search, call.db)
        errors = list(result.read.errors.values())
        if errors and not result.chosen:
            raise errors[0]
    if mode == "best":
        return _Found(wanted, result)
    matching = sorted(
        (one for one in result.chosen if not one.scored.context), key=lambda one: (one.row.at_us, one.row.id)
    )
    return _Found(wanted, replace(result, chosen=matching[offset : offset + page]), len(matching))


def free_memory_search(
    query: str,
    limit: int = 5,
    *,
    db: Database | None = None,
    settings: Settings | Mapping[str, Any] | None = None,
    scope: Scope | None = None,
) -> list[str]:
    """Return snippets of memories and diary entries that contain any word of the query, newest first, without
    repetitions.

    Args:
        query: words between white space; blank gives [].
        limit: most snippets, 1 to 200.

    >>> from prompt_engine import insert_memory, open_database, synth_core_memory
    >>> db = open_database("sqlite://")
    >>> _ = insert_memory("Tofu is a grey cat.", "Ann", "notes", ["cat"], db=db)
    >>> synth_core_memory.free_memory_search("cat dog", db=db)
    ['Tofu is a grey cat.']
    """
    hits = search_memories(
        keywords=query.split(),
        include_chat=False,
        limit=limit,
        ranking="recency",
        db=db,
        settings=settings,
        scope=scope,
    )
    return [hit["snippet"] for hit in hits]
