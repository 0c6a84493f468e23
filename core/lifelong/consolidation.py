"""From messages to memory items: what is read, asked of a model or chosen without one, and stored."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .. import llm
from ..access import table_conversations as conversations
from ..access import table_participants as participants
from ..base import logs
from ..calls import screening
from ..calls.call import Call
from ..config import Settings
from ..conversations import summaries
from ..conversations.rules_summaries import Line
from ..database.engine import Connection, Database
from ..errors import ModelError, StoreWriteError
from ..jobs import table as jobs_table
from ..memories import new_item
from ..memories import table as memories
from ..memories.new_item import NewMemory, Provenance
from ..memories.rules_retention import expires_at
from ..memories.table import Stored
from ..scope import Scope
from ..templates.render import Renderer
from ..templates.words import phrases_for, refused_patterns
from . import rules_consolidation as rules
from . import table_windows
from .rules_consolidation import Fact
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
    """What one window came to, ready to be stored."""

    scope: Scope
    window: Window
    lines: tuple[Line, ...] = ()
    """Those the facts were made of."""
    facts: tuple[Fact, ...] = ()
    provenance: Provenance = "model"
    source: str = "consolidation"
    mark: bool = True
    """Move the mark of the conversation."""
    reason: str = ""
    """Why nothing is stored; blank where that is not so."""
    is_usable: bool = True
    """The window is done with; False leaves the messages for another try."""
    above: int | None = None
    """For a range of rows that was too many for the window before: the row it begins after."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a step of consolidation came to; several are added up."""

    ids: tuple[int, ...] = ()
    merged: int = 0
    messages: int = 0
    conversations: int = 0
    pruned: int = 0
    reasons: tuple[str, ...] = ()
    """Why nothing came of it, or of a part of it; each once."""

    def __add__(self, other: Outcome) -> Outcome:
        return Outcome(
            self.ids + other.ids,
            self.merged + other.merged,
            self.messages + other.messages,
            self.conversations + other.conversations,
            self.pruned + other.pruned,
            tuple(dict.fromkeys((*self.reasons, *other.reasons))),
        )


# From lines to facts


def prepare(call: Call, window: Window, model: Any, *, deep: bool = False) -> Work:
    """Return what is to be stored of a window."""
    source = "deep_consolidation" if deep else "consolidation"
    work = Work(call.scope, window, source=source, mark=not deep)
    if not window.lines:
        return replace(work, reason="no_messages")
    with call.db.connection(source="participants") as connection:
        lines = _allowed_now(connection, call, window.lines)
    if not lines:
        return replace(work, reason="privacy")
    settings = call.settings
    chosen_model = summaries.choose_model(call, model)
    if chosen_model is None:
        facts: list[Fact] | None = rules.choose_facts(lines, lambda text: phrases_for(text, settings))
        if deep:
            facts = [_deepened(fact) for fact in facts or () if fact.tier == "long_term"]
        return replace(work, lines=tuple(lines), facts=tuple(facts or ()), provenance="extract")
    facts = ask(settings, chosen_model, lines, deep=deep)
    if facts is None:
        return replace(work, reason="unreadable", is_usable=False)
    return replace(work, lines=tuple(lines), facts=tuple(facts))


def _deepened(fact: Fact) -> Fact:
    return replace(fact, tags=(*fact.tags, rules.DEEP_TAG))


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
    read = rules.read_deep_reply if deep else rules.read_reply
    facts: list[Fact] = []
    for piece in iter_pieces(lines):
        shown = [
            json.dumps({"from": each.who or ("persona" if each.is_persona else "person"), "text": each.text},
                       ensure_ascii=False)
            for each in piece
        ]  # fmt: skip
        prompt = renderer.text(DEEP_TEMPLATE if deep else TEMPLATE, messages=shown)
        found = read(llm.ask(model, [{"role": "user", "content": prompt}], settings), patterns=patterns)
        if found is None:
            return None
        who, sources = rules.only_participant(piece), tuple(one.row_id for one in piece if one.row_id is not None)
        facts += [replace(fact, participant=who, sources=sources) for fact in found]
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


# Storing


def new_items(call: Call, work: Work) -> list[tuple[int, str | None, NewMemory]]:
    """Return the items of a window with ids made beforehand and whose they are."""
    now, settings = call.db.clock(), call.settings
    said_at = {line.row_id: line.at for line in work.lines}
    items = []
    for fact in work.facts:
        at = max((moment for row in fact.sources if (moment := said_at.get(row)) is not None), default=now)
        item = new_item.read(
            fact.text,
            now=now,
            author=AUTHOR,
            source=work.source,
            timestamp=at,
            tags=list(fact.tags),
            tier=fact.tier,
            kind=fact.kind,
            provenance=work.provenance,
            importance=fact.importance,
            source_message_ids=list(fact.sources) or None,
            emotion=fact.text[:50] if fact.kind == "Emotions" and work.provenance == "model" else None,
            expires_at=expires_at(at, settings.session_ttl_sec) if fact.tier == "session" else None,
        )
        if item is not None:
            flagged, _ = screening.is_flagged(item.content, "memory")
            items.append((fact.participant, replace(item, quarantined=int(flagged))))
    return [(row_id, who, item) for row_id, (who, item) in zip(call.db.ids.take(len(items)), items, strict=True)]


Items = Sequence[tuple[int, "str | None", NewMemory]]


def store(connection: Connection, call: Call, work: Work, items: Items) -> Stored:
    """Store the items of a window and move the mark, in the caller's transaction."""
    db, persona, window = call.db, work.scope.persona, work.window
    place = conversations.ensure(connection, db, work.scope)
    if list(work.lines) != _allowed_now(connection, call, work.lines):
        raise _changed()
    if work.mark and not (window.last == 0 or table_windows.is_whole(connection, persona, window)):
        raise _changed()
    if not work.mark and not table_windows.are_there(connection, persona, [line.row_id or 0 for line in work.lines]):
        raise _changed()
    if work.mark and window.last:
        if work.above is None and not table_windows.move_mark(connection, persona, window):
            raise _changed()
        _queue_rest(connection, db, work)
    ids: list[int] = []
    joined = 0
    for who in sorted({who for _, who, _ in items}, key=lambda name: (name is None, name or "")):
        mine = [(row_id, item) for row_id, whose, item in items if whose == who]
        scope = replace(work.scope, participant=who)
        done = memories.insert_each_once(connection, db, scope, mine, place)
        ids += done.ids
        joined += done.joined
    return Stored(tuple(sorted(ids)), joined)


def _changed() -> ChangedError:
    return ChangedError("What was consolidated changed meanwhile; nothing was stored.", source="memories")


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


def consolidate(call: Call, model: Any, most: int) -> Iterator[Outcome]:
    """Consolidate the newest messages of the scope's conversation, and yield what comes of it."""
    yield Outcome(conversations=1)
    for attempt in range(1, TRIES + 1):
        window = table_windows.read(call.db, call.persona, call.scope.conversation or "", most)
        if not window.last:
            yield Outcome(reasons=("no_messages",))
            return
        outcome, is_done = _consolidate_window(call, window, model, attempt)
        yield outcome
        if is_done:
            return


def deepen(call: Call, model: Any, most: int) -> Iterator[Outcome]:
    """Extract the facts of the newest messages anew, and yield what comes of it, conversation by conversation."""
    for window in table_windows.read_newest(call.db, call.persona, call.scope.conversation, most):
        yield Outcome(conversations=1)
        scope = Scope(call.persona, window.conversation, destination=call.scope.destination)
        for attempt in range(1, TRIES + 1):
            outcome, is_done = _consolidate_window(replace(call, scope=scope), window, model, attempt, deep=True)
            yield outcome
            if is_done:
                break


def _consolidate_window(
    call: Call, window: Window, model: Any, attempt: int, *, deep: bool = False
) -> tuple[Outcome, bool]:
    """Make and store the items of one window; return what came of it, and False where it is to be read anew."""
    try:
        work = prepare(call, window, model, deep=deep)
    except ModelError as error:
        model_named = bool(call.settings.llm_model)  # many servers refuse a request that names no model
        logs.warning(
            "consolidation_without_model",
            reason=error.reason,
            error=error.error,
            status=error.status,
            LLM_MODEL=model_named,
        )
        return Outcome(reasons=(f"model_{error.reason}",)), True
    why = Outcome(reasons=(work.reason,) if work.reason else ())
    outcome = why + Outcome(messages=len(window.lines))
    if not work.is_usable:
        return outcome, True
    items = new_items(call, work)
    try:
        done = call.db.transaction(
            lambda connection: store(connection, call, work, items), source="memories", confirm=_confirm(work, items)
        )
    except ChangedError:
        is_last = attempt == TRIES
        return (why + Outcome(reasons=("changed",)) if is_last else why), is_last
    except StoreWriteError as error:
        logs.warning("consolidation_not_stored", source=error.source, number=error.number)
        return outcome + Outcome(reasons=("StoreWriteError",)), True
    return outcome + Outcome(done.ids, done.joined), True


def _confirm(work: Work, items: Items) -> Callable[[Connection], Stored | None]:
    """Return what tells, after the answer to a commit was lost, whether the items are there."""
    row_ids = [row_id for row_id, _, _ in items]

    def confirm(connection: Connection) -> Stored | None:
        ids = memories.find_stored(connection, work.scope.persona, row_ids)
        return Stored(ids, len(row_ids) - len(ids)) if ids else None

    return confirm
