"""From messages to memory items: what is read, asked of a model or chosen without one, and stored."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .. import llm
from ..access import table_conversations as conversations
from ..access import table_participants as participants
from ..base import logs
from ..calls import screening
from ..calls.call import Call
from ..config import Settings
from ..conversations import recent
from ..conversations.rules_summaries import Line
from ..conversations.table_summaries import are_as_read
from ..database.engine import Connection, Database
from ..errors import ModelError, StoreWriteError
from ..jobs import table as jobs_table
from ..memories import new_item
from ..memories import table as memories
from ..memories.new_item import NewMemory, Provenance
from ..memories.rules import expires_at
from ..memories.table import Stored
from ..scope import Scope
from ..templates.render import Renderer
from ..templates.words import phrases_for, refused_patterns
from . import rules_consolidation as rules
from . import table_windows
from .rules_consolidation import Fact
from .table_runs import Outcome
from .table_windows import Window

OPERATION, DEEP_OPERATION = "CONSOLIDATION", "DEEP_CONSOLIDATION"
TEMPLATE, DEEP_TEMPLATE = "consolidation.txt.j2", "deep_consolidation.txt.j2"
AUTHOR = "synth"
PIECE_CHARS = 24_000
"""Characters of messages that a model is asked about at once; more are asked about in several calls."""
DEEP_WINDOW = 200
"""Newest messages of a conversation whose facts deep consolidation extracts anew: some hours of talk."""
TRIES = 3
"""Times a window is read anew because something changed while the model was asked."""


class ChangedError(StoreWriteError):
    """What a window was made of has changed meanwhile: nothing was stored, it is to be read anew."""


@dataclass(frozen=True, slots=True)
class Work:
    """What one window gave, ready to be stored."""

    scope: Scope
    window: Window
    lines: tuple[Line, ...] = ()
    """Those the items were made of."""
    items: tuple[tuple[int, str | None, NewMemory], ...] = ()
    """Id, participant and item."""
    reason: str = ""
    """Why nothing is stored; blank where that is not so."""
    is_usable: bool = True
    """The window is done with; False leaves the messages for another try."""
    is_deep: bool = False
    """The messages may be consolidated already, and the mark of the conversation does not move."""
    above: int | None = None
    """For a range of rows that was too many for the window before: the row it begins after."""


# From lines to items


def prepare(call: Call, window: Window, model: Any, *, deep: bool = False, above: int | None = None) -> Work:
    """Return what is to be stored of a window."""
    work = Work(call.scope, window, is_deep=deep, above=above)
    if not window.lines:
        return replace(work, reason="no_messages")
    with call.db.connection(source="participants") as connection:
        lines = _allowed_now(connection, call, window.lines)
    if not lines:
        return replace(work, reason="privacy")
    chosen_model = recent.choose_model(call, model)
    if chosen_model is None:
        facts: list[Fact] | None = rules.choose_facts(lines, lambda text: phrases_for(text, call.settings), deep=deep)
    else:
        facts = ask(call.settings, chosen_model, lines, deep=deep)
    if facts is None:
        return replace(work, reason="unreadable", is_usable=False)
    items = _build_items(call, lines, facts, "extract" if chosen_model is None else "model", deep=deep)
    return replace(work, lines=tuple(lines), items=items)


def _allowed_now(connection: Connection, call: Call, lines: Sequence[Line]) -> list[Line]:
    """Return the lines something may be kept of for long, by the levels as they are now."""
    names = {name for line in lines for name in line.people}
    default = call.settings.privacy_default
    people = participants.known(connection, call.persona, names, default) if names else {}
    return rules.kept_lines(lines, {name: each.level for name, each in people.items()}, default)


def ask(settings: Settings, model: Any, lines: Sequence[Line], *, deep: bool = False) -> list[Fact] | None:
    """Return what a model finds in these lines; None where an answer of it cannot be read."""
    renderer = Renderer(settings.templates_dir)
    patterns = refused_patterns(settings.templates_dir)
    facts: list[Fact] = []
    for piece in iter_pieces(lines):
        shown = [
            json.dumps({"from": each.who or ("persona" if each.is_persona else "person"), "text": each.text},
                       ensure_ascii=False)
            for each in piece
        ]  # fmt: skip
        prompt = renderer.text(DEEP_TEMPLATE if deep else TEMPLATE, messages=shown)
        reply = llm.ask(model, [{"role": "user", "content": prompt}], settings)
        new_facts = rules.read_reply(reply, patterns=patterns, deep=deep)
        if new_facts is None:
            return None
        who, sources = rules.only_participant(piece), tuple(one.row_id for one in piece if one.row_id is not None)
        facts += [replace(fact, participant=who, sources=sources) for fact in new_facts]
    return facts


def iter_pieces(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Yield the lines in stretches that are short enough to be asked about at once; a longer line is cut."""
    piece: list[Line] = []
    room = PIECE_CHARS
    for line in lines:
        if piece and len(line.text) > room:
            yield piece
            piece, room = [], PIECE_CHARS
        piece.append(line if len(line.text) <= PIECE_CHARS else replace(line, text=line.text[:PIECE_CHARS]))
        room -= len(line.text)
    if piece:
        yield piece


def _build_items(
    call: Call, lines: Sequence[Line], facts: Sequence[Fact], provenance: Provenance, *, deep: bool
) -> tuple[tuple[int, str | None, NewMemory], ...]:
    now, said_at = call.db.clock(), {line.row_id: line.at for line in lines}
    items = []
    for fact in facts:
        at = max((moment for row in fact.sources if (moment := said_at.get(row)) is not None), default=now)
        item = new_item.read(
            fact.text,
            now=now,
            author=AUTHOR,
            source="deep_consolidation" if deep else "consolidation",
            timestamp=at,
            tags=list(fact.tags),
            tier=fact.tier,
            kind=fact.kind,
            provenance=provenance,
            importance=fact.importance,
            source_message_ids=list(fact.sources) or None,
            emotion=fact.text[:50] if fact.kind == "Emotions" and provenance == "model" else None,
            expires_at=expires_at(at, call.settings.session_ttl_sec) if fact.tier == "session" else None,
        )
        if item is not None:
            flagged, _ = screening.is_flagged(item.content, "memory")
            items.append((fact.participant, replace(item, quarantined=int(flagged))))
    row_ids = call.db.ids.take(len(items))
    return tuple((row_id, who, item) for row_id, (who, item) in zip(row_ids, items, strict=True))


# Storing


def store(connection: Connection, call: Call, work: Work) -> Stored:
    """Store the items of a window and move the mark, in the caller's transaction."""
    db, window = call.db, work.window
    place = conversations.ensure(connection, db, work.scope)
    if list(work.lines) != _allowed_now(connection, call, work.lines) or not _move_mark(connection, work):
        raise ChangedError("What was consolidated changed meanwhile; nothing was stored.", source="memories")
    if not work.is_deep and window.last:
        _queue_rest(connection, db, work)
    ids: list[int] = []
    joined = 0
    for who in sorted({who for _, who, _ in work.items}, key=lambda name: (name is None, name or "")):
        theirs = [(row_id, item) for row_id, whose, item in work.items if whose == who]
        done = memories.insert_each_once(connection, db, replace(work.scope, participant=who), theirs, place)
        ids += done.ids
        joined += done.joined
    return Stored(tuple(sorted(ids)), joined)


def _move_mark(connection: Connection, work: Work) -> bool:
    """Move the mark of the conversation, and return whether the messages still are as they were read."""
    persona, window = work.scope.persona, work.window
    if not are_as_read(connection, persona, work.lines):
        return False
    if work.is_deep:
        return table_windows.are_there(connection, persona, [line.row_id or 0 for line in work.lines])
    if not window.last:
        return True
    if not table_windows.is_whole(connection, persona, window):
        return False
    return work.above is not None or table_windows.move_mark(connection, persona, window)


def _queue_rest(connection: Connection, db: Database, work: Work) -> None:
    """Queue the messages that were too many for the window, so that the mark passes over none."""
    above = work.window.mark if work.above is None else work.above
    if work.window.first > above + 1:
        jobs_table.enqueue(
            connection,
            db,
            work.scope.persona,
            OPERATION,
            priority="LOW",
            conversation=work.window.conversation,
            payload={"above": above, "up_to": work.window.first - 1},
        )


def consolidate(call: Call, model: Any, most: int) -> Outcome:
    """Consolidate the newest messages of the scope's conversation."""
    key = call.scope.conversation or ""
    windows = (table_windows.read(call.db, call.persona, key, most) for _ in range(TRIES))
    return _consolidate(call, windows, model)


def deepen(call: Call, model: Any, most: int) -> Outcome:
    """Extract the facts of the newest messages anew, conversation by conversation."""
    outcome = Outcome()
    for window in table_windows.read_newest(call.db, call.persona, call.scope.conversation, most):
        scope = Scope(call.persona, window.conversation, destination=call.scope.destination)
        outcome += _consolidate(replace(call, scope=scope), [window], model, deep=True)
    return outcome


def _consolidate(call: Call, windows: Iterable[Window], model: Any, *, deep: bool = False) -> Outcome:
    """Make and store the items of a window; the next of `windows` is for what changed while the model was asked."""
    outcome = Outcome(conversations=1)
    for window in windows:
        if not window.last and not window.lines:
            return outcome + Outcome(reasons=("no_messages",))
        try:
            work = prepare(call, window, model, deep=deep)
            stored = _store(call, work) if work.is_usable else Stored()
        except ChangedError:
            continue
        except ModelError as error:
            logs.warning(
                "consolidation_without_model",
                reason=error.reason,
                error=error.error,
                status=error.status,
                LLM_MODEL=bool(call.settings.llm_model),  # many servers refuse a request that names no model
            )
            return outcome + Outcome(reasons=(f"model_{error.reason}",))
        reasons = (work.reason,) if work.reason else ()
        return outcome + Outcome(stored.ids, stored.joined, len(window.lines), reasons=reasons)
    return outcome + Outcome(reasons=("changed",))


def _store(call: Call, work: Work) -> Stored:
    row_ids = [row_id for row_id, _, _ in work.items]

    def confirm(connection: Connection) -> Stored | None:
        ids = memories.find_stored(connection, work.scope.persona, row_ids)
        return Stored(ids, len(row_ids) - len(ids)) if ids else None

    return call.db.transaction(lambda connection: store(connection, call, work), source="memories", confirm=confirm)
