"""The search of a prompt: its postings, and its hits once the history lists are there.

Called by `prompt.stages`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from .. import search as searching
from .. import synth_core_memory
from ..audience.view import Viewer
from ..context.context import drop_visible, read_hits, visible_rows
from ..context.history import HistoryLists, echo_check
from ..database import sources
from ..database.dialects import from_microseconds
from ..database.engine import Database
from ..errors import StoreError
from ..search.reading.by_id import RowsWanted
from ..search.reading.found_rows import FoundRow
from ..shapes import HistoryEntry, Hit
from ..text.folding import collapsed
from ..text.hits import content_digest
from .run import Run

_OWN_SEARCH = synth_core_memory.ORIGINAL_SEARCH


def start_search(run: Run) -> None:
    """Read the postings of the search: the second round trip."""
    s = run.settings
    run.report.words = list(run.keywords)
    db, viewer = run.db, run.viewer
    if not s.enable_memories or db is None or viewer is None or not (run.tags or run.keywords):
        return
    if synth_core_memory.search_memories is not _OWN_SEARCH:
        return
    run.search = run.guard("search", "search_index", lambda: _gathered(run, db, viewer), None)


def _gathered(run: Run, db: Database, viewer: Viewer) -> searching.Search:
    s = run.settings
    limit = max(1, s.context_verbosity)
    query = searching.prepare(
        tags=run.tags, keywords=run.keywords, query=run.message.text, include_chat=True, limit=limit, settings=s
    )
    run.report.note(*query.notes)
    search = searching.resolve(query, viewer, s)
    search.gather(db)
    return search


def rows_of_search(run: Run, extra: int) -> RowsWanted | None:
    """Return the rows to bring for the search; None without one, or when it fails.

    Args:
        extra: rows beyond the usual ones, since some may turn out to be visible in the history lists.
    """
    search = run.search
    if search is None:
        return None
    rows = run.guard("search", "memories", lambda: searching.rows_wanted(search, search.rows_wanted(extra)), None)
    run.search = search if rows is not None else None
    return rows


def finish_search(run: Run, lists: HistoryLists, shown: Collection[str] = ()) -> list[Hit]:
    """Return the hits, without what is visible in the lists and without the message itself.

    Args:
        shown: ids of memories that a section of their own shows.
    """
    if run.search is None or run.db is None:
        return _stand_in_search(run, lists)
    search, db, drop = run.search, run.db, dropper(run, lists, shown)

    def work() -> list[searching.Chosen]:
        if not run.down:
            search.compare(db, run.found)
        chosen = search.finish(run.found, drop)
        enough = search.is_done(len(chosen))
        chosen = chosen if enough or run.down else searching.deeper(search, db, drop)
        run.report.extra["search"] = synth_core_memory.report(search, chosen)
        return chosen

    nothing: list[searching.Chosen] = []
    run.chosen = run.guard("search", "memories", work, nothing)
    if search.meaning_error is not None:
        run.report.fail("search", "embedder", search.meaning_error)
    for number, told in search.reports.items():
        if told.error:
            table = sources.BY_NUMBER[number].table.name
            run.report.fail("search", table, StoreError(told.error, source=table))
    # Rows come in no order of their own, and servers differ in it.
    run.report.leave_out_all(sorted(search.left_out, key=lambda one: (one.reason, one.id)))
    return [one.hit for one in run.chosen]


def _stand_in_search(run: Run, lists: HistoryLists) -> list[Hit]:
    """Return what a host's own `search_memories` gives, held to the same rules."""
    function, s = synth_core_memory.search_memories, run.settings
    if function is _OWN_SEARCH or not s.enable_memories or not (run.tags or run.keywords):
        return []
    shown = visible_rows(lists.visible)
    arguments = {
        "tags": run.tags,
        "keywords": run.keywords,
        "query": run.message.text,
        "limit": max(1, s.context_verbosity),
        "include_chat": True,
        "exclude": [("chat_history", row) for row in sorted(shown)],
    }

    def work() -> list[Hit]:
        hits, refused = read_hits(run.stand_in(function, arguments))
        if refused:
            run.report.note(f"search_memories: {refused} things are no hit and are left out")
        return hits

    nothing: list[Hit] = []
    hits = run.guard("search", "search_memories", work, nothing)
    texts = {content_digest(e.text) for e in lists.visible}
    kept, left_out = drop_visible(hits, shown, texts, lambda hit: content_digest(hit["snippet"]))
    run.report.leave_out_all(left_out)
    return kept


def dropper(run: Run, lists: HistoryLists, shown: Collection[str] = ()) -> searching.Drop:
    """Return what leaves out the rows that are visible elsewhere, and copies of the message being answered."""
    elsewhere = {int(each) for each in shown}
    rows = {e.row_id for e in lists.visible if e.row_id is not None}
    digests = {content_digest(e.text) for e in lists.visible}
    echo_rows = {e.row_id for e in lists.echoes if e.row_id is not None}
    is_echo = echo_check(run.message, run.settings.echo_window_seconds)
    said = collapsed(run.message.text)
    chat = sources.CHAT.number

    def drop(candidate: Any, row: FoundRow) -> str:
        if candidate.source == chat:
            if row.id in echo_rows or _echoes(row, is_echo, said):
                return "echo"
            if row.id in rows:
                return "visible"
        elif candidate.source == sources.MEMORIES.number and row.id in elsewhere:
            return "visible"
        return "visible" if row.digest is not None and row.digest in digests else ""

    return drop


def _echoes(row: FoundRow, is_echo: Callable[[HistoryEntry], bool], said: str) -> bool:
    if not said:
        return False
    entry = HistoryEntry(
        conversation=row.conversation,
        text=row.texts[0],
        sender_id=row.sender,
        message_id=row.message_id,
        time=from_microseconds(row.at_us),
    )
    return is_echo(entry)
