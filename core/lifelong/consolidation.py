"""Consolidation: read messages, get facts from a model or choose sentences without a model, and store memory items."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import UTC
from functools import partial
from typing import Any

from .. import llm
from ..access import table_conversations as conversations
from ..access import table_participants as participants
from ..calls.call import Call
from ..config import Settings
from ..conversations import recent
from ..conversations.rules_summaries import show_lines
from ..database.engine import Connection
from ..database.rows import check_stored
from ..database.sources import MEMORIES
from ..errors import ModelError, StoreWriteError
from ..jobs import table as jobs_table
from ..memories import new_item
from ..memories import table as memories
from ..memories.new_item import NewMemory, Provenance
from ..memories.rules import expires_at
from ..memories.shapes import Added
from ..messages.table import CONSOLIDATION
from ..messages.table_lines import are_as_read
from ..scope import Scope
from ..shapes import Line
from ..templates.render import Renderer
from ..templates.words import phrases_for, refused_patterns
from ..text import times
from ..text.hits import content_digest
from . import rules_consolidation as rules
from . import table_windows
from .rules_consolidation import Fact
from .table_runs import Outcome
from .table_windows import Window

DEEP_OPERATION = "DEEP_CONSOLIDATION"
TEMPLATE, DEEP_TEMPLATE = "consolidation.txt.j2", "deep_consolidation.txt.j2"
PIECE_CHARS = 24_000
"""Maximum number of characters of messages in one question to a model; longer texts take several questions."""
DEEP_WINDOW = 200
"""Number of newest messages, of a conversation or of the whole persona, that deep consolidation reads."""
TRIES = 3
"""Maximum number of times a window (a batch of messages) is read, if messages change while the model is asked."""
REFUSED = (400, 413, 422)
"""HTTP statuses with which a model server rejects the same question every time: a content filter, a length limit."""
DISABLED, CHANGED = "disabled", "changed"
"""Reasons: ENABLE_MEMORIES is off; the messages changed during every try."""


class ChangedError(StoreWriteError):
    """The messages of a window changed while the model was asked: nothing was stored; read the window again."""


Items = Sequence[tuple[int, Fact, NewMemory]]


def consolidate(call: Call, model: Any, rows: Collection[int] = ()) -> Outcome:
    """Consolidate the oldest unconsolidated messages of the scope's conversation, and `rows` (message ids) again.

    Raises ModelError, or ChangedError if messages of `rows` change while the model is asked.
    """
    if not call.settings.enable_memories:
        return Outcome(reasons=(DISABLED,))
    key = call.scope.conversation or ""
    again = table_windows.read_again(call.db, call.persona, key, rows)
    outcome = Outcome() if again.lines else Outcome(conversations=1, reasons=("no_messages",))
    for _ in range(TRIES):
        window = table_windows.read(call.db, call.persona, key, call.settings.consolidation_window)
        if not window.last:
            break
        outcome = _attempt(call, window, model)
        if outcome.reasons != (CHANGED,):
            break
    return outcome + _consolidate_window(call, again, model, deep=False) if again.lines else outcome


def deepen(call: Call, model: Any) -> Outcome:
    """Extract the facts of the newest messages again, one conversation after the other; raises ModelError."""
    if not call.settings.enable_memories:
        return Outcome(reasons=(DISABLED,))
    outcome = Outcome()
    for window in table_windows.read_newest(call.db, call.persona, call.scope.conversation, DEEP_WINDOW):
        own = replace(call, scope=Scope(call.persona, window.conversation, destination=call.scope.destination))
        outcome += _attempt(own, window, model, deep=True)
    return outcome


def _attempt(call: Call, window: Window, model: Any, *, deep: bool = False) -> Outcome:
    try:
        return _consolidate_window(call, window, model, deep=deep)
    except ChangedError:
        return Outcome(conversations=1, reasons=(CHANGED,))


def _consolidate_window(call: Call, window: Window, model: Any, *, deep: bool) -> Outcome:
    """Store items made from a window's messages; a window without usable lines is only marked as consolidated."""
    outcome = Outcome(messages=len(window.lines), conversations=1)
    with call.db.connection(source="participants") as connection:
        lines = _allowed_now(connection, call, window.lines)
    chosen_model = recent.choose_model(call, model) if lines else None
    provenance: Provenance = "model"
    facts = None
    if chosen_model is not None:
        try:
            facts = ask(call.settings, chosen_model, lines, deep=deep)
        except ModelError as error:
            is_refused = error.reason == "empty" or error.status in REFUSED
            if not (is_refused and window.is_full):
                raise
        if facts is None and not window.is_full:
            return replace(outcome, reasons=("unreadable",))
    if facts is None:  # a full window never changes: a model that refuses it would be asked forever
        provenance = "extract"
        facts = rules.choose_facts(lines, partial(phrases_for, settings=call.settings), deep=deep)
    items = _build_items(call, facts, provenance, deep=deep)
    stored = _store(call, window, lines, items)
    reasons = () if lines else ("privacy",) if window.lines else ("no_messages",)
    reasons = ("unreadable",) if chosen_model is not None and provenance == "extract" else reasons
    return replace(outcome, ids=stored.ids, merged=stored.merged, reasons=reasons)


def _allowed_now(connection: Connection, call: Call, lines: Sequence[Line]) -> list[Line]:
    default = call.settings.privacy_default
    allowed = participants.keep_allowed(connection, call.persona, lines, default, levels=("none",))
    return [line for line in allowed if line.text.strip()]


def ask(settings: Settings, model: Any, lines: Sequence[Line], *, deep: bool = False) -> list[Fact] | None:
    """Return the facts that a model finds in `lines`; None if any of its answers is unreadable."""
    renderer = Renderer(settings.templates_dir)
    patterns = refused_patterns(settings.templates_dir)
    zone = times.zone(settings.timezone) or UTC
    facts: list[Fact] = []
    for piece in iter_pieces(lines):
        prompt = renderer.text(DEEP_TEMPLATE if deep else TEMPLATE, messages=show_lines(piece, zone))
        reply = llm.ask(model, [{"role": "user", "content": prompt}], settings)
        new_facts = rules.read_reply(reply, patterns=patterns, deep=deep)
        if new_facts is None:
            return None
        people = {line.participant for line in piece if not line.is_persona}
        who = people.pop() if len(people) == 1 else None
        sources = tuple(line.row_id for line in piece if line.row_id)
        facts += [replace(fact, participant=who, sources=sources) for fact in rules.date_facts(new_facts, piece)]
    return facts


def iter_pieces(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Yield groups of lines of at most PIECE_CHARS characters; a longer line is cut."""
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


def _build_items(call: Call, facts: Sequence[Fact], provenance: Provenance, *, deep: bool) -> Items:
    now, source = call.db.clock(), "deep_consolidation" if deep else "consolidation"
    items = []
    for fact in facts:
        at = fact.at or now
        item = new_item.read(
            fact.text, now=now, author="synth", source=source, timestamp=at, tier=fact.tier, kind=fact.kind,
            provenance=provenance, importance=fact.importance, source_message_ids=list(fact.sources) or None,
            tags=[*fact.tags, *(["deep"] if deep else [])],
            emotion=fact.text[:50] if fact.kind == "Emotions" and provenance == "model" else None,
            expires_at=expires_at(at, call.settings.session_ttl_sec) if fact.tier == "session" else None,
        )  # fmt: skip
        if item is not None:
            items.append((fact, item))
    row_ids = call.db.ids.take(len(items))
    return [(row_id, *each) for row_id, each in zip(row_ids, items, strict=True)]


def _store(call: Call, window: Window, lines: Sequence[Line], items: Items) -> Added:
    """Store the items of a window and move the consolidation mark of its conversation, in one transaction."""
    db, persona, row_ids = call.db, call.persona, [row_id for row_id, _, _ in items]

    def work(connection: Connection) -> Added:
        place = conversations.ensure(connection, db, call.scope)
        is_same = lines == _allowed_now(connection, call, lines) and are_as_read(connection, persona, lines)
        is_same = is_same and table_windows.are_there(connection, persona, window, lines)
        if not is_same or (window.last and not table_windows.move_mark(connection, persona, window)):
            raise ChangedError("What was consolidated changed meanwhile; nothing was stored.", source="memories")
        if window.is_full and window.last:
            key = window.conversation
            jobs_table.enqueue(connection, db, persona, CONSOLIDATION, priority="LOW", conversation=key, once=True)
        ids: list[int] = []
        merged = 0
        for who in sorted({fact.participant for _, fact, _ in items}, key=lambda name: (name is None, name or "")):
            own, theirs = replace(call.scope, participant=who), [each for each in items if each[1].participant == who]
            others = {fact.other_text: content_digest(fact.other_text) for _, fact, _ in theirs if fact.other_text}
            stored = memories.find_equal(connection, db, own, place.audience_id, others.values(), instructions=False)
            equal = {digest for digest, local in stored if local == place.local_only}
            new = [
                (row_id, replace(item, content=fact.other_text) if others.get(fact.other_text) in equal else item)
                for row_id, fact, item in theirs
            ]
            done = memories.insert_each_once(connection, db, own, new, place)
            ids += done.ids
            merged += done.merged
        return Added(len(ids), ids=sorted(ids), merged=merged)

    return db.transaction(work, source="memories", confirm=check_stored(MEMORIES.table, persona, row_ids))
