"""Public functions that search memories, diary and chat history together, and that save memories."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Literal, NamedTuple, TypedDict, Unpack, get_args

from . import hooks
from . import search as searching
from .base.hints import shown
from .base.wire_ids import find_whole
from .calls import defaults
from .calls.call import Call, CallOptions, open_call, settings_of
from .calls.defaults import check_handle, handle
from .config import GivenSettings
from .database.engine import Database
from .errors import MessageError
from .memories import new_item, shown_texts, table, table_sources
from .memories.new_item import NewMemory
from .memories.rules import NOT_SAID
from .scope import Scope
from .search.query import Query
from .search.rules_arguments import MOST_HITS
from .shapes import Hit, WriteResult
from .templates.words import phrases_for
from .text import remember_phrases as remember
from .text.hits import content_digest
from .text.host_values import newest_items

SearchMode = Literal["best", "all"]
"""best: the hits with the best scores, newest first. all: a page of the best 200 matches, oldest first."""

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
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> list[Hit]:
    """Return the hits of a search over memories, diary and chat history, newest first; [] without a match.

    Args:
        query: the message, unchanged; without tags and keywords, the search uses its words and the known tags in it, as
            for a prompt.
        tags: a row matches if it has one of these tags; chat messages have no tags, so each tag is a keyword there.
        keywords: a row matches if its text contains a keyword, ignoring case and accents; `%` is no wildcard.
        include_chat: whether messages of the chat history are searched too.
        limit: maximum number of hits, 1 to 200.
        ranking: `relevance` or `recency`; None follows MEMORY_RANKING.
        exclude: rows to leave out: `(source, id)` pairs, or a conversation's key for all its chat rows.
        since, until: start and end. As `until`, a day or a phrase like `last week` is included, a moment is excluded.
        mode: `best` returns the `limit` hits with the best scores, newest first. `all`, for lists and counts, returns
            `limit` of the best 200 matches, oldest first; `explain_search` reports the number of matches as `total`.
        offset: in mode `all`, number of matches to skip.
        embedder: compares the message with rows by meaning; None takes the embedder of `configure` or EMBEDDER.

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
        mode, offset, embedder, db, settings, scope, tags=tags, keywords=keywords, query=query, limit=limit,
        include_chat=include_chat, ranking=ranking, exclude=exclude, since=since, until=until,
    ).hits  # fmt: skip


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
    settings: GivenSettings = None,
    scope: Scope | None = None,
    **arguments: Unpack[SearchArguments],
) -> tuple[list[Hit], dict[str, Any]]:
    """Return `(hits, report)`: the hits of `search_memories`, with the same arguments, and why they were chosen.

    The report is plain JSON: `hits` (source, id, timestamp, conversation, speaker, `neighbours` with the ids of the
    messages before and after, rank, score, tier, tags, words, `context` for a row that is close to a match, `meaning`
    for a row found only by meaning, `reasons` with the share of each in the score), `sources` (considered, dropped by
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
    report = searching.build_report(found.selection) if found.selection else searching.build_empty(found.query)
    return found.hits, report if found.total is None else {**report, "total": found.total}


class _Found(NamedTuple):
    """The result of a search."""

    query: Query
    selection: searching.Selection | None
    """Hits with their report; None if nothing was searched for."""
    total: int | None = None
    """In the mode `all`, the number of matches on all pages, at most 200."""

    @property
    def hits(self) -> list[Hit]:
        return [one.hit for one in self.selection.chosen] if self.selection else []


def _search(
    mode: SearchMode,
    offset: int,
    embedder: Any,
    db: Database | None,
    settings: GivenSettings,
    scope: Scope | None,
    query: object,
    **arguments: Unpack[SearchArguments],
) -> _Found:
    check_handle(db)
    known = defaults.settings_for(settings)
    if mode not in get_args(SearchMode) or (begin := find_whole(offset)) is None or begin < 0:
        given = f"mode is {shown(mode)}, offset {shown(offset)}"
        raise ValueError(f"{given}. mode must be 'best' or 'all', offset at least 0.")
    request = searching.SearchRequest(query=query, **arguments)
    wanted = searching.prepare(request, known, clock=lambda: defaults.handle(db).clock())
    page = wanted.limit
    if mode == "all":
        wanted = replace(wanted, limit=MOST_HITS, is_listing=True)
    nothing = _Found(wanted, None, None if mode == "best" else 0)
    if wanted.is_empty and not wanted.may_name_tags:
        return nothing  # no database is opened
    call = open_call(db, known, scope)
    with call.db.request_connection():  # three reads on one connection, which is checked once
        wanted, viewer = searching.load_viewer(call, wanted)
        if wanted.is_empty:
            return nothing
        search = searching.build_search(wanted, viewer, call.settings, call.db, embedder)
        result = searching.run(search, call.db)
        errors = list(result.read.errors.values())
        if errors and not result.chosen:
            raise errors[0]
    if mode == "best":
        return _Found(wanted, result)
    matching = [one for one in result.chosen if not one.scored.context]
    matching.sort(key=lambda one: (one.row.at_us, one.row.id))
    return _Found(wanted, replace(result, chosen=matching[offset : offset + page]), len(matching))


def free_memory_search(query: str, limit: int = 5, **options: Unpack[CallOptions]) -> list[str]:
    """Return unique snippets of memories and diary entries that contain any word of the query, newest first.

    Args:
        query: words between white space; blank gives [].
        limit: maximum number of snippets, 1 to 200.

    >>> from prompt_engine import insert_memory, open_database, synth_core_memory
    >>> db = open_database("sqlite://")
    >>> _ = insert_memory("Tofu is a grey cat.", "Ann", "notes", ["cat"], db=db)
    >>> synth_core_memory.free_memory_search("cat dog", db=db)
    ['Tofu is a grey cat.']
    """
    if not isinstance(query, str):
        raise MessageError.of_type("query", query, "a text")
    hits = search_memories(keywords=query.split(), include_chat=False, limit=limit, ranking="recency", **options)
    return list(dict.fromkeys(hit["snippet"] for hit in hits))


def should_remember(user_text: str | None, response_text: str | None, **options: Unpack[CallOptions]) -> bool:
    """Return whether an exchange is worth storing. It reads no table.

    Requests to remember, and statements of people about themselves, are worth storing. Questions, quotations, reported
    speech, conditions, fiction and pasted texts are not.

    Args:
        user_text: what the person said; None counts as blank.
        response_text: what the persona answered; None counts as blank.

    Returns:
        False if both texts are blank.

    Raises:
        MessageError: a text of another type.

    >>> from prompt_engine.synth_core_memory import should_remember
    >>> should_remember("Please remember that I like green tea", "I will."), should_remember("What time is it?", "")
    (True, False)
    """
    for name, value in (("user_text", user_text), ("response_text", response_text)):
        if value is not None and not isinstance(value, str):
            raise MessageError.of_type(name, value, "a text or None")
    settings = settings_of(options)
    known = [each for text in (user_text, response_text) if text for each in phrases_for(text, settings)]
    return remember.should_remember(user_text, response_text, known)


def silently_record_memory(
    user_text: object,
    response_text: object = None,
    tags: object = None,
    scope: str | Scope | None = "general",
    source: str = "chat",
    *,
    label: str | None = None,
    message_id: object = None,
    recalled: Iterable[str] = (),
    db: Database | None = None,
    settings: GivenSettings = None,
) -> WriteResult:
    """Store what a person said as a memory item, once.

    Args:
        user_text: the content, stored unchanged.
        response_text: what the persona answered.
        tags: None gives `auto` and `interazione`.
        scope: a text is the label of the item; a `Scope` says who is asking.
        source: origin of the text. Words for a text that nobody said, such as `tool` or `recap`, give `refused`.
        label: the label if `scope` is a Scope; `general` by default.
        message_id: the source message, by the platform's id in the scope's conversation or by its row id. Deleting that
        message deletes the item. Editing it changes an item that repeats the whole message, and deletes any other.
        recalled: memories shown for this turn; an equal text is not stored again. Memories in the prompt of the
            conversation's current turn count too.

    Returns:
        `(True, id, "")`; reason `empty`, `refused` or `privacy`; or `duplicate` with the id of the existing item, which
        gets the new time.

    Raises:
        MessageError: a value of a wrong type, a text over 16 MB.
        StoreWriteError: nothing was stored.

    >>> from prompt_engine import open_database, synth_core_memory
    >>> db = open_database("sqlite://")
    >>> [synth_core_memory.silently_record_memory("I like green tea", db=db).reason for _ in range(2)]
    ['', 'duplicate']
    """
    db = handle(db)
    row_id = db.ids.one()  # before a list is read and the time is taken: the id tells whether `forget` came later
    if isinstance(recalled, (str, bytes)) or not isinstance(recalled, Iterable):
        raise MessageError.of_type("recalled", recalled, "a list of texts")
    texts = newest_items(recalled, "recalled")
    for text in (each for each in texts if not isinstance(each, str)):
        raise MessageError.of_type("An item of recalled", text, "a text")
    if scope is not None and not isinstance(scope, (str, Scope)):
        raise MessageError.of_type("scope", scope, "a prompt_engine.scope.Scope, or a text as the label")
    call = open_call(db, settings, None if isinstance(scope, str) else scope)
    sources = table_sources.find_sources(call.db, call.scope, message_id)
    memory = new_item.read(
        user_text, now=call.db.clock(), author="synth", source=source,
        tags=["auto", "interazione"] if tags is None else tags,
        label=label or (scope if isinstance(scope, str) else "") or "general",
        response_text=response_text, timestamp=sources.at, source_message_ids=sources.ids,
    )  # fmt: skip
    if memory is None:
        return WriteResult(False, None, "empty")
    if memory.source.strip().lower() in NOT_SAID:
        return WriteResult(False, None, "refused", notes=("the host marked the text as not said",))
    function = hooks.get_hook("save")
    if function is not None:
        return _ask_hook(function, call, memory, message_id)
    refused = {*map(content_digest, texts), *shown_texts.read_turn(call.db, call.scope)}
    return table.insert_once(call, memory, row_id=row_id, refused=refused)


def _ask_hook(function: Callable[..., Any], call: Call, memory: NewMemory, message_id: object) -> WriteResult:
    taken = ("content", "author", "source", "emotion", "intensity", "emotion_state", "response_text", "label")
    arguments = {name: getattr(memory, name) for name in taken}
    arguments |= {"tags": list(memory.tags), "scope": memory.label, "timestamp": memory.at, "message_id": message_id}
    given = hooks.call(function, {**arguments, "db": call.db, "settings": call.settings})
    row_id = given if isinstance(given, int) and not isinstance(given, bool) else None
    return WriteResult(True, row_id, notes=memory.notes)
