"""From messages to memory items: what is read, asked of a model or chosen without one, and stored.

Called by `lifelong`, by `lifelong.schedule` and by `lifelong.handlers` in the background. The model is
asked outside of any transaction; items and mark are stored in one, which looks again whether everything still holds:
the messages, the mark, and what may be kept of whom.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from .. import llm
from ..audience import table_conversations as conversations
from ..audience import table_participants as participants
from ..base import logs
from ..calls import screening
from ..config import Settings
from ..conversations import summaries as summarising
from ..conversations.rules_summaries import Line
from ..database.engine import Database
from ..errors import ModelError, StoreWriteError
from ..jobs import table as jobs
from ..memories import new_item as memory_input
from ..memories import table_merges as item_merging
from ..memories.new_item import NewMemory, Provenance
from ..memories.rules_retention import expires_at
from ..scope import Scope
from ..templates.phrases import load_phrases
from ..templates.refused import refused_patterns
from ..templates.render import Renderer
from . import rules_consolidation as rules
from . import table_windows as windows
from .rules_consolidation import Fact
from .table_windows import Window

if TYPE_CHECKING:
    from sqlalchemy import Connection

OPERATION, DEEP_OPERATION = "CONSOLIDATION", "DEEP_CONSOLIDATION"
TEMPLATE, DEEP_TEMPLATE = "consolidation.txt.j2", "deep_consolidation.txt.j2"
AUTHOR = "synth"
PIECE_CHARS = 24_000
"""Characters of messages that a model is asked about at once; more are asked about in several calls."""
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


@dataclass(slots=True)
class Totals:
    """What several windows came to."""

    ids: list[int] = field(default_factory=list)
    merged: int = 0
    messages: int = 0
    conversations: int = 0
    reasons: list[str] = field(default_factory=list)

    def note(self, reason: str) -> None:
        """Keep a reason, once."""
        if reason and reason not in self.reasons:
            self.reasons.append(reason)


# From lines to facts


def prepare(db: Database, settings: Settings, scope: Scope, window: Window, model: Any, *, deep: bool = False) -> Work:
    """Return what is to be stored of a window.

    Args:
        scope: persona and conversation of the window.
        deep: deep consolidation, which leaves the mark alone.

    Raises:
        ModelError: the model failed.
        StoreReadError: nothing could be read.
    """
    source = "deep_consolidation" if deep else "consolidation"
    made = Work(scope, window, source=source, mark=not deep)
    if not window.lines:
        return replace(made, reason="no_messages")
    lines = _allowed(db, settings, scope, window.lines)
    if not lines:
        return replace(made, reason="privacy")
    known = summarising.ask_whom(db, settings, scope, model)
    if known is None:
        phrases = load_phrases(settings.languages, settings.remember_phrases)
        facts: list[Fact] | None = rules.chosen_sentences(lines, phrases)
        if deep:
            facts = [_deepened(fact) for fact in facts or () if fact.tier == "long_term"]
        return replace(made, lines=tuple(lines), facts=tuple(facts or ()), provenance="extract")
    facts = asked(settings, known, lines, deep=deep)
    if facts is None:
        return replace(made, reason="unreadable", is_usable=False)
    who, sources = rules.only_participant(lines), tuple(line.row_id for line in lines if line.row_id is not None)
    facts = [replace(fact, participant=who, sources=sources) for fact in facts]
    return replace(made, lines=tuple(lines), facts=tuple(facts))


def _deepened(fact: Fact) -> Fact:
    return replace(fact, tags=(*fact.tags, rules.DEEP_TAG))


def _allowed(db: Database, settings: Settings, scope: Scope, lines: Sequence[Line]) -> list[Line]:
    with db.connection(source="participants") as connection:
        return _allowed_now(connection, settings, scope, lines)


def _allowed_now(connection: Connection, settings: Settings, scope: Scope, lines: Sequence[Line]) -> list[Line]:
    """Return the lines something may be kept of for long, by the levels as they are now."""
    names = {name for line in lines for name in line.people}
    found = participants.known(connection, scope.persona, names, settings.privacy_default) if names else {}
    return rules.kept_lines(lines, {name: each.level for name, each in found.items()}, settings.privacy_default)


def asked(settings: Settings, model: Any, lines: Sequence[Line], *, deep: bool = False) -> list[Fact] | None:
    """Return what a model finds in these lines; None where an answer of it cannot be read.

    Raises:
        ModelError: it failed.
    """
    renderer = Renderer(settings.templates_dir, settings.template_steps)
    patterns = refused_patterns(settings.templates_dir)
    read = rules.read_deep_reply if deep else rules.read_reply
    found: list[Fact] = []
    for piece in pieces(lines):
        shown = [
            json.dumps({"from": each.who or ("persona" if each.is_persona else "person"), "text": each.text},
                       ensure_ascii=False)
            for each in piece
        ]  # fmt: skip
        prompt = renderer.text(DEEP_TEMPLATE if deep else TEMPLATE, messages=shown)
        facts = read(llm.ask(model, [{"role": "user", "content": prompt}], settings), patterns=patterns)
        if facts is None:
            return None
        found += facts
    return found


def pieces(lines: Sequence[Line], most_chars: int = PIECE_CHARS) -> Iterator[list[Line]]:
    """Yield the lines in stretches that are short enough to be asked about at once; a longer line is cut.

    >>> [[line.text for line in piece] for piece in pieces([Line("aa"), Line("bb"), Line("cccc")], 4)]
    [['aa', 'bb'], ['cccc']]
    """
    piece: list[Line] = []
    room = most_chars
    for line in lines:
        if piece and len(line.text) > room:
            yield piece
            piece, room = [], most_chars
        piece.append(line if len(line.text) <= most_chars else replace(line, text=line.text[:most_chars]))
        room -= len(line.text)
    if piece:
        yield piece


# Storing


def new_items(db: Database, settings: Settings, work: Work) -> list[tuple[int, str | None, NewMemory]]:
    """Return the items of a window with ids made beforehand and whose they are."""
    now = db.clock()
    made = []
    for fact in work.facts:
        item = memory_input.read(
            fact.text,
            now=now,
            author=AUTHOR,
            source=work.source,
            tags=list(fact.tags),
            tier=fact.tier,
            kind=fact.kind,
            provenance=work.provenance,
            importance=fact.importance,
            source_message_ids=list(fact.sources) or None,
            emotion=fact.text[:50] if fact.kind == "Emotions" and work.provenance == "model" else None,
            expires_at=expires_at(now, settings.session_ttl_sec) if fact.tier == "session" else None,
        )
        if item is not None:
            flagged, _ = screening.is_flagged(item.content, "memory", settings=settings)
            made.append((fact.participant, replace(item, quarantined=int(flagged))))
    return [(row_id, who, item) for row_id, (who, item) in zip(db.ids.take(len(made)), made, strict=True)]


Items = Sequence[tuple[int, "str | None", NewMemory]]


def store(connection: Connection, db: Database, settings: Settings, work: Work, items: Items) -> item_merging.Stored:
    """Store the items of a window and move the mark, in the caller's transaction.

    Raises:
        ChangedError: the messages, the mark, or what may be kept of somebody changed since they were read.
    """
    persona, window = work.scope.persona, work.window
    place = conversations.ensure(connection, db, work.scope)
    if list(work.lines) != _allowed_now(connection, settings, work.scope, work.lines):
        raise _changed()
    if work.mark and not (window.last == 0 or windows.is_whole(connection, persona, window)):
        raise _changed()
    if not work.mark and not windows.are_there(connection, persona, [line.row_id or 0 for line in work.lines]):
        raise _changed()
    if work.mark and window.last:
        if work.above is None and not windows.move_mark(connection, persona, window):
            raise _changed()
        _queue_rest(connection, db, work)
    ids: list[int] = []
    joined = 0
    for who in sorted({who for _, who, _ in items}, key=lambda name: (name is None, name or "")):
        mine = [(row_id, item) for row_id, whose, item in items if whose == who]
        scope = replace(work.scope, participant=who)
        done = item_merging.add(connection, db, scope, mine, place, near_score=settings.near_duplicate_score)
        ids += done.ids
        joined += done.joined
    return item_merging.Stored(tuple(sorted(ids)), joined)


def _changed() -> ChangedError:
    return ChangedError("What was consolidated changed meanwhile; nothing was stored.", source="memories")


def _queue_rest(connection: Connection, db: Database, work: Work) -> None:
    """Queue the messages that were too many for the window, so that the mark passes over none."""
    above = work.window.mark if work.above is None else work.above
    if work.window.first > above + 1:
        jobs.enqueue(
            connection,
            db,
            work.scope.persona,
            OPERATION,
            priority="LOW",
            conversation=work.window.conversation,
            payload={"above": above, "up_to": work.window.first - 1},
        )


def consolidate(db: Database, settings: Settings, scope: Scope, model: Any, most: int, totals: Totals) -> None:
    """Consolidate the newest messages of the scope's conversation, and add what came of it to `totals`."""
    totals.conversations += 1
    for attempt in range(1, TRIES + 1):
        window = windows.read(db, scope.persona, scope.conversation or "", most)
        if not window.last:
            totals.note("no_messages")
            return
        if _done(db, settings, lambda window=window: prepare(db, settings, scope, window, model), totals, attempt):
            return


def deepen(db: Database, settings: Settings, scope: Scope, model: Any, most: int, totals: Totals) -> None:
    """Extract the facts of the newest messages anew, and add what came of it to `totals`."""
    for window in windows.newest(db, scope.persona, scope.conversation, most):
        totals.conversations += 1
        own = Scope(scope.persona, window.conversation, destination=scope.destination)
        for attempt in range(1, TRIES + 1):
            if _done(
                db,
                settings,
                lambda window=window, own=own: prepare(db, settings, own, window, model, deep=True),
                totals,
                attempt,
            ):
                break


def _done(db: Database, settings: Settings, work_of: Any, totals: Totals, attempt: int) -> bool:
    """Make and store one window, and return whether it is done with, well or not; False where it is to be read anew."""
    try:
        work: Work = work_of()
    except ModelError as error:
        totals.note(f"model_{error.reason}")
        logs.warning("consolidation_without_model", reason=error.reason, error=error.error)
        return True
    totals.messages += len(work.window.lines)
    totals.note(work.reason)
    if not work.is_usable:
        return True
    items = new_items(db, settings, work)
    try:
        done = db.transaction(
            lambda connection: store(connection, db, settings, work, items),
            source="memories",
            confirm=_confirm(work, items),
        )
    except ChangedError:
        totals.messages -= len(work.window.lines)
        if attempt == TRIES:
            totals.note("changed")
        return attempt == TRIES
    except StoreWriteError as error:
        totals.note("StoreWriteError")
        logs.warning("consolidation_not_stored", source=error.source, number=error.number)
        return True
    totals.ids += done.ids
    totals.merged += done.joined
    return True


def _confirm(work: Work, items: Items) -> Any:
    """Return what tells, after the answer to a commit was lost, whether the items are there."""
    made = [row_id for row_id, _, _ in items]

    def confirm(connection: Connection) -> item_merging.Stored | None:
        there = item_merging.present(connection, work.scope.persona, made)
        return item_merging.Stored(there, len(made) - len(there)) if there else None

    return confirm
