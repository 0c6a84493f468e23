"""One call of `build_json_prompt` from message to context, in the order of its stages.

Reading takes three round trips: `prompt_words.look` (scope, vocabulary, known words), the postings of the search, and
one statement for the rows found and the history. Every stage is guarded (`prompt.guard`). Called by
`prompt.pipeline`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..audience import table_conversations as conversations
from ..audience.view import Seen
from ..config import database_values_of
from ..context.context import order_context
from ..context.history import HistoryLists
from ..context.live import LiveHistory, read_context_memory
from ..shapes import Hit, LeftOut
from . import history as history_engine
from . import live_visibility, sections
from . import sources as history_sources
from .contributions import append_memories, merge_injections, recon_parts
from .history import Composed
from .run import Run
from .search import finish_search, rows_of_search, start_search
from .sources import Sources
from .words import look

if TYPE_CHECKING:
    from sqlalchemy import Connection

_OWN_BUILD = history_engine.ORIGINAL_BUILD


@dataclass(slots=True)
class Parts:
    """What the prompt is assembled from."""

    context: dict[str, Any]
    persona: str = ""
    recon: dict[str, Any] = field(default_factory=dict)
    recon_lines: Sequence[str] = ()
    ids: Mapping[str, list[str]] = field(default_factory=dict)
    """Section to the ids of its items."""


def live_of(run: Run) -> LiveHistory:
    """Return the host's live messages, with a note on what is none."""
    live = read_context_memory(run.context_memory)
    run.report.note(*live.notes)
    if live.skipped:
        run.report.note(f"context_memory: {live.skipped} things are no message and are left out")
    return live


def see(run: Run) -> tuple[Sources, bool]:
    """Take the first round trip.

    Returns:
        The history side of the call, and whether settings came along that this process did not know: then the call
        starts again with them, as its first look was planned without.
    """
    history = history_sources.plan_sources(run.message, live_of(run), run.settings, run.history_scope)
    return history, run.guard("scope", "database", lambda: _see(run, history), False)


def _see(run: Run, history: Sources) -> bool:
    history.held_private = live_visibility.held_private(run.db, run.scope.persona)
    keys, recent = live_visibility.live_keys(history), history_sources.recent_wanted(history)
    seen = look(run, keys, recent)
    if seen is None or run.db is None:
        return False
    if _make_private(run, seen):
        seen = look(run, keys, recent) or seen
    history.viewer, history.chats = seen.viewer, seen.recent
    live_visibility.remember_private(run.db, seen.viewer)
    return _take_config(run, seen)


def _make_private(run: Run, seen: Seen) -> bool:
    """Register the conversation as private where the message says so and it is not stored as such.

    Returns:
        Whether it was public until now: its rows have moved, and what is seen has to be worked out anew.
    """
    db, scope = run.db, run.scope
    if db is None or scope.conversation is None or scope.privacy not in ("direct", "restricted"):
        return False
    stored = seen.viewer.conversations.get(scope.conversation)
    if stored is not None and stored.is_private:
        return False

    def work(connection: Connection) -> bool:
        conversations.ensure(connection, db, scope, sender=scope.participant)
        return stored is not None

    return run.guard("conversation", "conversations", lambda: db.transaction(work, source="conversations"), False)


def _take_config(run: Run, seen: Seen) -> bool:
    """Keep the settings read along, and return whether they are others than before."""
    assert run.db is not None
    kept = database_values_of(run.db)
    if seen.config is None:
        if kept.is_stale():
            kept.fill(kept.values)  # so that a table that cannot be read is not asked for by every call
        return False
    before = kept.values
    kept.fill(seen.config)
    return kept.values is not before


def read_all(run: Run, history: Sources) -> None:
    """Read the rows of the search and the lines of the history: the third round trip."""
    if run.db is None or run.viewer is None or run.down:
        return
    rows = rows_of_search(run, 2 * history.caps.history + 2)
    lines = history_sources.wanted(history)
    history_sources.plan_sections(run.guard, history, run.viewer, run.db.clock())
    brought = history_sources.read(run.guard, run.db, run.viewer, rows, lines, history.sections.parts)
    history_sources.take(history, brought, lines)
    run.found = brought.rows


def compose(run: Run, history: Sources, lists: HistoryLists, memories: list[Hit]) -> Composed:
    """Return the context, by the host's own HistoryEngine where one was set."""
    function = history_engine.HistoryEngine.build_context
    empty = Composed(order_context({}), (), {})
    if function is _OWN_BUILD:
        places: dict[tuple[str, int], str] = {
            (c.hit["source"], c.hit["id"]): c.row.conversation for c in run.chosen if c.row.conversation
        }
        return run.guard(
            "context", "history_engine", lambda: history_engine.compose(history, lists, memories, places), empty
        )
    arguments = {**run.arguments, "memories": memories, "history_scope": run.history_scope}
    engine = history_engine.HistoryEngine()

    def work() -> Composed:
        made = run.stand_in(engine.build_context, arguments)
        if not isinstance(made, Mapping):
            raise TypeError(f"build_context gave {type(made).__name__}. It must give a dict.")
        return Composed(order_context(made), (), {})

    return run.guard("context", "build_context", work, empty)


def context_of(run: Run, history: Sources) -> Parts:
    """Run the stages from the search to the context."""
    # 1. what is stored
    start_search(run)
    read_all(run, history)
    # 2. what the host adds to the lists
    arguments = run.arguments
    history.contributions = history_engine.contributions(history, arguments, run.guard)
    history_sources.use_stand_ins(history, run.db, run.scope, run.guard)
    # 3. the lists, then the memories that are not in them
    lists = lists_of(run, history)
    sections.build(run.guard, history.sections, lists)
    memories = finish_search(run, lists, history.sections.ids.get("saved_memories", ()))
    # 4. what the host recalls itself
    nothing: tuple[list[Hit], dict[str, Any], list[str], tuple[str, ...]] = ([], {}, [], ())
    recon_memories, recon, recon_lines, notes = run.guard.hook("recon", arguments, recon_parts, nothing)
    memories, dropped = append_memories(memories, recon_memories)
    run.report.note(*notes, *lists.notes, *history.sections.notes)
    run.report.leave_out_all([LeftOut("memories", "duplicate", "recon")] * dropped)
    # 5. the context
    composed = compose(run, history, lists, memories)
    run.report.leave_out_all(composed.left_out)
    context = composed.context

    def merged(given: Any) -> tuple[dict[str, Any], str, tuple[str, ...]]:
        return merge_injections(context, given)

    without: tuple[dict[str, Any], str, tuple[str, ...]] = (context, "", ())
    context, persona, notes = run.guard.hook("static_injections", arguments, merged, without)
    run.report.note(*notes)
    return Parts(context, persona, recon, recon_lines, composed.ids)


def lists_of(run: Run, history: Sources) -> HistoryLists:
    """Return the history lists, with older rows read where they are needed to fill them; none when that fails."""

    def build() -> HistoryLists:
        return history_engine.lists_of(history)

    lists = run.guard("history", "history", build, HistoryLists())
    if run.db is None:
        return lists
    db = run.db
    return run.guard("history", "history", lambda: history_sources.deepen(history, lists, build, db, run.guard), lists)
