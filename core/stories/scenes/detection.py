"""What does an operation SCENE_DETECTION: finding where scenes end, by a model or by long pauses."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

from ...audience import table_conversations
from ...base import logs
from ...database.engine import Connection
from ...database.readers import reader_for, reader_in
from ...jobs import table as jobs_table
from ...jobs.tools import Effect, Tools
from ...messages import table_lines, table_recaps, table_scenes
from ...messages.table_lines import Line
from ...shapes import Operation
from ...text.replies import read_object
from .. import model_calls, token_counts
from ..recaps import inclusion, refresh
from ..recaps.rules import corrected
from . import positions, rules
from .breaks import make_break
from .positions import Layout
from .rules import OFFSET, Limits

DETECTION = "SCENE_DETECTION"
KEY = "sceneBreakAt"
MOST = 500
"""Messages read at once after the first one that is asked about."""
BEFORE = 30
"""Messages shown before the first one that is asked about, for the model to know what goes on."""


class _Found(NamedTuple):
    """What a detection comes to."""

    breaks: tuple[int, ...] = ()
    """Indexes, rising."""
    checked: tuple[int, ...] = ()
    """Indexes of messages that are not asked about again."""
    goes_on: bool = False
    """Whether more messages wait."""


def scene_detection(operation: Operation, tools: Tools) -> Effect | None:
    """Return what stores the scene breaks that were found and marks the messages asked about."""
    persona, conversation = operation.persona, operation.conversation
    if conversation is None:
        return None
    read = reader_for(tools.db, "scenes")
    place = table_lines.find_place(read, persona, conversation)
    if place is None or place.stories_off:
        return None
    tools = model_calls.choose_tools(tools, place)
    told = positions.read_layout(read, persona, conversation)
    limits = limits_of(told, tools)
    if limits.last < limits.first:
        return None
    found = _by_pauses(operation, tools, told) if tools.model is None else _by_model(operation, tools, told, limits)
    if not found.breaks and not found.checked:
        return None
    return _stored(operation, tools, told, found)


def limits_of(told: Layout, tools: Tools) -> Limits:
    """Return what the next break of a conversation has to keep to."""
    settings = tools.settings
    return Limits(len(told.rows) - 1, told.last_break, settings.scene_min_length, OFFSET)


def _by_pauses(operation: Operation, tools: Tools, told: Layout) -> _Found:
    """Return every break that long pauses propose, one after the other."""
    first = told.last_break + 1
    at = table_lines.read_times(reader_for(tools.db, "scenes"), operation.persona, told.rows[first:])
    times = [at.get(row_id) for row_id in told.rows[first:]]
    gap = timedelta(hours=tools.settings.scene_gap_hours)
    breaks: list[int] = []
    limits = limits_of(told, tools)
    while True:
        index = rules.find_gap(times, first, gap, limits, range(first, len(told.rows)))
        if index is None:
            return _Found(tuple(breaks))
        breaks.append(index)
        limits = Limits(limits.newest, index, limits.min_length, limits.offset)
        times, first = times[index + 1 - first :], index + 1


def _by_model(operation: Operation, tools: Tools, told: Layout, limits: Limits) -> _Found:
    """Return the break the model names among the messages it was not asked about before."""
    read, persona = reader_for(tools.db, "scenes"), operation.persona
    done = table_recaps.read_checked(read, persona, operation.conversation or "")
    waiting = tuple(at for at in range(limits.first, limits.last + 1) if told.rows[at] not in done)
    if not waiting:
        return _Found()
    begin, stop = max(limits.earlier + 1, waiting[0] - BEFORE), min(len(told.rows), waiting[0] + MOST)
    lines = model_calls.read_open_lines(tools, persona, table_lines.read_lines(read, persona, told.rows[begin:stop]))
    shown, end = _window(told, lines, begin, waiting[0], stop, tools)
    # What follows the last one shown is not known, so nothing can be said of it but at the end of the conversation.
    seen = tuple(at for at in waiting if at < end or end == limits.newest)
    asked = set(seen) & {int(str(each["n"])) for each in shown}
    if not asked:
        return _Found(checked=seen, goes_on=seen != waiting)
    answer = _ask(operation, tools, shown, asked, limits)
    if answer.index is None:
        return _Found(checked=seen, goes_on=seen != waiting)
    return _Found((answer.index,), tuple(at for at in seen if at <= answer.index), goes_on=True)


def _window(
    told: Layout, lines: Sequence[Line], begin: int, first: int, stop: int, tools: Tools
) -> tuple[list[dict[str, object]], int]:
    """Return the messages a model can read at once, those that take part alone, and the index of the last one."""
    room, factor = model_calls.room_tokens(tools.settings), tools.settings.token_correction
    by = token_counts.choose_counter(None, tools.settings)
    taking = {line.row_id: line for line in inclusion.choose_lines(lines, tools.settings, by)}

    def entry(at: int) -> tuple[dict[str, object], int] | None:
        line = taking.get(told.rows[at])
        if line is None:
            return None
        tokens = corrected(inclusion.count_tokens(line, by), factor)
        text = model_calls.cut_text(line.text, tokens, max(1, room // 2))[
            0
        ]  # one giant message must not hide the others
        return {"n": at, "who": line.sender_name, "text": text}, min(tokens, room // 2) + model_calls.OVERHEAD_TOKENS

    shown: list[dict[str, object]] = []
    used, end = 0, first
    for at in range(first, stop):
        shown_line = entry(at)
        if shown_line is not None:
            if len(shown) > 1 and used + shown_line[1] > room * 3 // 4:
                break
            shown.append(shown_line[0])
            used += shown_line[1]
        end = at
    for at in range(first - 1, begin - 1, -1):
        shown_line = entry(at)
        if shown_line is not None:
            if used + shown_line[1] > room:
                break
            shown.insert(0, shown_line[0])
            used += shown_line[1]
    return shown, end


def _ask(
    operation: Operation, tools: Tools, shown: Sequence[dict[str, object]], asked: set[int], limits: Limits
) -> rules.Answer:
    reply = model_calls.ask_model(
        tools, "scene_detection.txt.j2", messages=list(shown), first=min(asked), last=max(asked)
    )
    found = read_object(reply, (KEY,))
    answer = rules.Answer(None, "no_number") if found is None else rules.read_break(found.get(KEY), limits, asked)
    if answer.verdict not in ("", "none"):
        logs.warning("scene_answer_not_used", id=operation.id, reason=answer.verdict)
    return answer


def _stored(operation: Operation, tools: Tools, told: Layout, found: _Found) -> Effect:
    persona, conversation = operation.persona, operation.conversation or ""
    before = {each.scene.id for each in told.scenes}
    checked = [told.rows[at] for at in found.checked]

    def effect(connection: Connection) -> None:
        table_conversations.find(connection, persona, conversation, lock=True)
        read = reader_in(connection)
        now = table_scenes.read_scenes(read, persona, conversation)
        if found.breaks and {scene.id for scene in now} != before:  # a break was made or removed meanwhile
            jobs_table.enqueue(connection, tools.db, persona, DETECTION, conversation=conversation, once=True)
            return
        there = sorted(table_lines.read_times(read, persona, checked))  # some may have been deleted meanwhile
        table_recaps.mark_checked(connection, tools.db.family, persona, conversation, there, now=tools.db.clock())
        for at in found.breaks:
            make_break(connection, tools.db, persona, conversation, told.rows[at])
        if found.breaks:
            refresh.refresh_within(connection, tools.db, persona, conversation, tools.settings)
        if found.goes_on:
            jobs_table.enqueue(connection, tools.db, persona, DETECTION, conversation=conversation, once=True)

    return effect
