"""The searches a model or a person asks for in words: free search, and the action memory_search."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterable, Mapping, MutableSequence, Sequence
from dataclasses import replace
from datetime import UTC
from typing import Any, TypedDict, TypeVar

from .. import search as searching
from ..base import hooks, logs
from ..calls.call import Call, look_around, open_call
from ..config import Settings
from ..database import sources
from ..database.engine import Database
from ..errors import StoreReadError
from ..scope import Scope
from ..shapes import Hit
from ..text import hits
from ..text.folding import clean
from ..text.times import zone
from . import rules_windows as windows
from .ranking import ranking
from .reading.found_rows import FoundRow
from .rules_arguments import read_limit, shown

T = TypeVar("T")
Shuffle = Callable[[MutableSequence[Any]], object]
"""Puts a list into another order, in place, such as `random.shuffle`."""

POOL = 100
"""Newest different texts a free search chooses from."""
ATTEMPTS = 2
ATTEMPT_SECONDS = 10.0
PAUSE_SECONDS = 0.5
ACTION_SECONDS = 15.0
"""Longest answer of the action, all attempts together."""


class ActionResult(TypedDict, total=False):
    """What the action memory_search answers. Keys stand in this order."""

    status: str
    """ok or error."""
    count: int
    results: list[Hit]
    reason: str
    """timeout; only when it took too long."""
    errors: list[str]
    """Everything wrong with the payload, one sentence each."""
    notes: list[str]
    """What of the payload was cut or left out; only when something was."""


def free_memory_search(
    query: object,
    limit: object = 5,
    *,
    shuffle: Shuffle | None = None,
    db: Database | None = None,
    settings: Settings | Mapping[str, Any] | None = None,
    scope: Scope | None = None,
) -> list[str]:
    """Return the snippets of memories and diary entries that hold any of the query's words, newest first.

    Args:
        query: words between white space; a row matches when its text holds one, folded. The first 48 count.
        limit: most snippets, 1 to 100, default 5; what is no number gives 5.
        shuffle: what FREE_SEARCH_SHUFFLE mixes the newest 100 with; None is `random.shuffle`.

    Returns:
        At most `limit` snippets of different texts; `[]` for a blank query, and then no database is asked.

    Raises:
        StoreReadError: nothing could be read in two attempts of at most 10 seconds each.
        TypeError: the query is no text.

    >>> from prompt_engine import insert_memory, open_database
    >>> from prompt_engine.synth_core_memory import free_memory_search
    >>> db = open_database("sqlite://")
    >>> _ = insert_memory("Tofu is a grey cat.", "Ann", "notes", ["cat"], db=db)
    >>> free_memory_search("cat dog", db=db), free_memory_search(" ", db=db)
    (['Tofu is a grey cat.'], [])
    """
    words = _words(query)
    if not words:
        return []
    count, note = read_limit(limit, 5, 1, POOL)
    if note:
        logs.warning("bad_argument", argument="limit", note=note)
    call = open_call(db, settings, scope, searches=True)
    asked = searching.prepare(keywords=words, include_chat=False, limit=POOL, ranking="recency", settings=call.settings)
    if asked.is_empty:
        return []
    try:
        found = _attempted(lambda: _search(asked, call)[0])
    except hooks.HookTimeout:
        raise StoreReadError(
            f"memories and ai_diary gave no answer within {ATTEMPT_SECONDS:g} seconds, {ATTEMPTS} times. "
            "Run `prompt-engine db check` to see what is wrong.",
            source="free_memory_search",
        ) from None
    snippets = [one.hit["snippet"] for one in found]
    if call.settings.free_search_shuffle:
        (shuffle or random.shuffle)(snippets)
    return snippets[:count]


def _words(query: object) -> list[str]:
    if query is None:
        return []
    if not isinstance(query, str):
        raise TypeError(f"query is {shown(query)}. It must be a text of words.")
    return clean(query).split()


def memory_search_action(
    payload: object,
    *,
    shuffle: Shuffle | None = None,
    db: Database | None = None,
    settings: Settings | Mapping[str, Any] | None = None,
    scope: Scope | None = None,
) -> ActionResult:
    """Return the answer to a model's or person's memory_search action, plain JSON.

    Mode `tags` searches memories, diary and chat history as `search_memories` does; mode `free` searches memories and
    diary for any of the words, newest first, or lists what lies in a window of time. The search runs in the scope of
    the caller: no payload can name another.

    Args:
        payload: an object with any of `mode`, `tags`, `keywords`, `query`, `max_results`, `time_window` and `random`,
            as `search.rules_windows.check_action_payload` reads them.
        shuffle: what `random` and FREE_SEARCH_SHUFFLE mix the pool of 100 with; None is `random.shuffle`.

    Returns:
        `{"status": "ok", "count": n, "results": [...]}`, newest first, identical texts as one hit with the smallest id
        and the newest time; `{"status": "error", "errors": [...]}` for a bad payload; with `reason` `timeout` after 15
        seconds.

    Raises:
        StoreReadError: nothing could be read at all.

    >>> from prompt_engine import insert_memory, open_database
    >>> from prompt_engine.synth_core_memory import memory_search_action
    >>> db = open_database("sqlite://")
    >>> _ = insert_memory("Tofu is a grey cat.", "Ann", "notes", ["cat"], db=db)
    >>> answer = memory_search_action({"mode": "free", "query": "cat"}, db=db)
    >>> answer["status"], answer["count"], answer["results"][0]["snippet"]
    ('ok', 1, 'Tofu is a grey cat.')
    """
    call = open_call(db, settings, scope, searches=True)
    known = call.settings
    request, errors = windows.check_action_payload(payload, call.db.clock(), zone(known.timezone) or UTC)
    if errors:
        return {"status": "error", "errors": errors}
    asked = _asked(request, known)
    if asked.is_empty:
        return {"status": "ok", "count": 0, "results": []}
    try:
        chosen, copies = _attempted(lambda: _search(asked, call), ACTION_SECONDS)
    except hooks.HookTimeout:
        return {
            "status": "error",
            "reason": "timeout",
            "errors": [f"the search took longer than {ACTION_SECONDS:g} seconds; ask for less, or try again"],
        }
    mixed = request.random or (request.mode == "free" and known.free_search_shuffle)
    if mixed:
        (shuffle or random.shuffle)(chosen)
        chosen = chosen[: request.max_results]
    else:
        chosen = _best(chosen, asked, request.max_results)
    results = [_merged(one, copies[_text_of(one.row)]) for one in chosen]
    if not mixed:
        results = hits.newest_first(results)
    answer: ActionResult = {"status": "ok", "count": len(results), "results": results}
    notes = [*request.notes, *(note for note in asked.notes if note not in request.notes)]
    return {**answer, "notes": notes} if notes else answer


def _asked(request: windows.ActionRequest, settings: Settings) -> searching.Query:
    """Return the search a payload stands for; its limit is the pool, which is cut after identical texts became one."""
    free = request.mode == "free"
    asked = searching.prepare(
        tags=request.tags,
        keywords=(*request.keywords, *(request.query.split() if free else ())),
        query=None if free else request.query,
        include_chat=not free,
        limit=POOL,
        ranking="recency" if free else None,
        since=request.since,
        until=request.until,
        settings=settings,
    )
    if request.query or request.tags or request.keywords:
        return asked
    # Nothing is looked for: a keyword that every text holds lists what lies in the window.
    return replace(asked, keywords=("",))


def _best(chosen: Sequence[searching.Chosen], asked: searching.Query, most: int) -> list[searching.Chosen]:
    by_rank = sorted(chosen, key=lambda one: one.rank)
    if asked.ranking == "recency":
        return by_rank[:most]
    rows = {(one.candidate.source, one.candidate.id): one for one in by_rank}
    kept = ranking.choose([one.candidate for one in by_rank], most)
    return [rows[candidate.source, candidate.id] for candidate in kept]


def _merged(one: searching.Chosen, copies: Iterable[ranking.Candidate]) -> Hit:
    """Return the hit under the smallest id of the rows that hold its text; the newest of them is the hit itself."""
    first = min(copies, key=lambda c: (c.id, c.source), default=one.candidate)
    return {**one.hit, "source": sources.BY_NUMBER[first.source].name, "id": first.id}


def _text_of(row: FoundRow) -> bytes:
    return row.digest or hits.content_digest(row.texts[0])


Found = tuple[list[searching.Chosen], dict[bytes, list[ranking.Candidate]]]
"""Hits newest first, each text once, and by text all the rows that hold it."""


def _search(asked: searching.Query, call: Call) -> Found:
    """Search once."""
    viewer = look_around(call, asked.request).viewer
    rows: dict[tuple[int, int], tuple[ranking.Candidate, FoundRow]] = {}

    def note(candidate: ranking.Candidate, row: FoundRow) -> str:
        rows[candidate.source, candidate.id] = candidate, row
        return ""

    result = searching.run(searching.resolve(asked, viewer, call.settings), call.db, note)
    unread = [report.error for report in result.reports.values()]
    if not result.chosen and all(unread):
        raise StoreReadError(unread[0], source="memories and ai_diary")
    copies: dict[bytes, list[ranking.Candidate]] = {}
    for candidate, row in rows.values():
        copies.setdefault(_text_of(row), []).append(candidate)
    return list(result.chosen), copies


def _attempted(work: Callable[[], T], most_seconds: float = float("inf")) -> T:
    """Return what the work returns, tried again once after a pause when it fails or takes over 10 seconds."""
    end = time.monotonic() + most_seconds
    for left in reversed(range(ATTEMPTS)):
        seconds = min(ATTEMPT_SECONDS, end - time.monotonic())
        try:
            return hooks.call(work, {}, timeout_seconds=max(seconds, 0.001), name="memory search")  # type: ignore[no-any-return]
        except (StoreReadError, hooks.HookTimeout) as error:
            if not left or time.monotonic() + PAUSE_SECONDS >= end:
                raise
            logs.event(logging.INFO, "search_repeated", error=type(error).__name__)
            time.sleep(PAUSE_SECONDS)
    raise AssertionError
