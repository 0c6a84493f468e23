"""What operations of scenes do: SCENE_DETECTION finds where scenes end, SCENE_RECAP writes the recap of one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

from ...access import table_conversations
from ...base import logs
from ...database.engine import Connection
from ...database.readers import reader_for, reader_in
from ...errors import ModelError
from ...jobs import table as jobs_table
from ...jobs.tools import Effect, Tools
from ...messages import table_lines, table_recaps, table_scenes
from ...messages.table_lines import Line
from ...shapes import Operation
from ...text.extracts import build_extract
from ...text.replies import is_unreadable, read_object
from ...text.sizes import Counter
from .. import model_calls
from ..model_calls import reason_against
from ..recaps import inclusion, refresh
from ..recaps.inclusion import choose_counter
from . import layout, rules
from .layout import Layout, PlacedScene
from .rules import OFFSET, BreakLimits
from .service import make_break, queue_recap, queue_running

DETECTION = "SCENE_DETECTION"
KEY = "sceneBreakAt"
RECAP_KEYS = ("recap", "scene_recap", "summary")
"""Keys of a reply under which the text of a recap may stand."""
MOST = 500
"""Messages read at once after the first one that is asked about."""
BEFORE = 30
"""Messages shown before the first one that is asked about, for the model to know what goes on."""


# Where scenes end


class _Detection(NamedTuple):
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
    story = layout.read_layout(read, persona, conversation)
    limits = BreakLimits(len(story.rows) - 1, story.last_break, tools.settings.scene_min_length, OFFSET)
    if limits.last < limits.first:
        return None
    by = _by_pauses if tools.model is None else _by_model
    detection = by(operation, tools, story, limits)
    if not detection.breaks and not detection.checked:
        return None
    return _store_detection(operation, tools, story, detection)


def _by_pauses(operation: Operation, tools: Tools, story: Layout, limits: BreakLimits) -> _Detection:
    """Return every break that long pauses propose, one after the other."""
    first = story.last_break + 1
    at = table_lines.read_times(reader_for(tools.db, "scenes"), operation.persona, story.rows[first:])
    times = [at.get(row_id) for row_id in story.rows[first:]]
    gap = timedelta(hours=tools.settings.scene_gap_hours)
    breaks: list[int] = []
    while True:
        index = rules.find_gap(times, first, gap, limits, range(first, len(story.rows)))
        if index is None:
            return _Detection(tuple(breaks))
        breaks.append(index)
        limits = BreakLimits(limits.newest, index, limits.min_length, limits.offset)
        times, first = times[index + 1 - first :], index + 1


def _by_model(operation: Operation, tools: Tools, story: Layout, limits: BreakLimits) -> _Detection:
    """Return the break the model names among the messages it was not asked about before."""
    read, persona = reader_for(tools.db, "scenes"), operation.persona
    done = table_recaps.read_checked(read, persona, operation.conversation or "")
    waiting = tuple(at for at in range(limits.first, limits.last + 1) if story.rows[at] not in done)
    if not waiting:
        return _Detection()
    begin, stop = max(limits.earlier + 1, waiting[0] - BEFORE), min(len(story.rows), waiting[0] + MOST)
    lines = model_calls.read_open_lines(tools, persona, table_lines.read_lines(read, persona, story.rows[begin:stop]))
    shown, end = _choose_window(story, lines, range(begin, stop), waiting[0], tools)
    # What follows the last one shown is not known, so nothing can be said of it but at the end of the conversation.
    seen = tuple(at for at in waiting if at < end or end == limits.newest)
    asked = set(seen) & {int(str(each["n"])) for each in shown}
    index = _ask(operation, tools, shown, asked, limits) if asked else None
    if index is None:
        return _Detection(checked=seen, goes_on=seen != waiting)
    return _Detection((index,), tuple(at for at in seen if at <= index), goes_on=True)


def _choose_window(
    story: Layout, lines: Sequence[Line], indexes: range, first: int, tools: Tools
) -> tuple[list[dict[str, object]], int]:
    """Return the messages a model can read at once, those that take part alone, and the index of the last one."""
    room = model_calls.room_tokens(tools.settings)
    count = choose_counter(None, tools.settings)
    open_lines = {line.row_id: line for line in inclusion.choose_lines(lines, tools.settings, count)}

    def entry(at: int) -> tuple[dict[str, object], int] | None:
        line = open_lines.get(story.rows[at])
        if line is None:
            return None
        tokens = count(line.text)
        text = model_calls.cut_text(line.text, tokens, max(1, room // 2))[0]  # one giant message hides no others
        return {"n": at, "who": line.sender_name, "text": text}, min(tokens, room // 2) + model_calls.OVERHEAD_TOKENS

    shown: list[dict[str, object]] = []
    used, end = 0, first
    for at in range(first, indexes.stop):
        sized = entry(at)
        if sized is not None:
            if len(shown) > 1 and used + sized[1] > room * 3 // 4:
                break
            shown.append(sized[0])
            used += sized[1]
        end = at
    for at in range(first - 1, indexes.start - 1, -1):
        sized = entry(at)
        if sized is not None:
            if used + sized[1] > room:
                break
            shown.insert(0, sized[0])
            used += sized[1]
    return shown, end


def _ask(
    operation: Operation, tools: Tools, shown: Sequence[dict[str, object]], asked: set[int], limits: BreakLimits
) -> int | None:
    """Return the index at which the model ends a scene, None if it names none that counts."""
    reply = model_calls.ask_model(
        tools, "scene_detection.txt.j2", messages=list(shown), first=min(asked), last=max(asked)
    )
    answer = read_object(reply, (KEY,))
    index, verdict = (None, "no_number") if answer is None else rules.read_break(answer.get(KEY), limits, asked)
    if verdict not in ("", "none"):
        logs.warning("scene_answer_not_used", id=operation.id, reason=verdict)
    return index


def _store_detection(operation: Operation, tools: Tools, story: Layout, detection: _Detection) -> Effect:
    persona, conversation = operation.persona, operation.conversation or ""
    before = {each.scene.id for each in story.scenes}
    checked = [story.rows[at] for at in detection.checked]

    def effect(connection: Connection) -> None:
        table_conversations.find(connection, persona, conversation, lock=True)
        read = reader_in(connection)
        now = table_scenes.read_scenes(read, persona, conversation)
        if detection.breaks and {scene.id for scene in now} != before:  # a break was made or removed meanwhile
            jobs_table.enqueue(connection, tools.db, persona, DETECTION, conversation=conversation, once=True)
            return
        stored = sorted(table_lines.read_times(read, persona, checked))  # some may have been deleted meanwhile
        table_recaps.mark_checked(connection, tools.db.family, persona, conversation, stored, now=tools.db.clock())
        for at in detection.breaks:
            make_break(connection, tools.db, persona, conversation, story.rows[at])
        if detection.breaks:
            refresh.refresh_within(connection, persona, conversation, tools.settings)
        if detection.goes_on:
            jobs_table.enqueue(connection, tools.db, persona, DETECTION, conversation=conversation, once=True)

    return effect


# The recap of a scene


def scene_recap(operation: Operation, tools: Tools) -> Effect | None:
    """Return what stores another version of a scene's recap and queues the running recap."""
    persona, conversation = operation.persona, operation.conversation
    row_id = operation.payload.get("message_id")
    read = reader_for(tools.db, "scenes")
    if conversation is None or not isinstance(row_id, int):
        return None
    place = table_lines.find_place(read, persona, conversation)
    story = layout.read_layout(read, persona, conversation)
    placed = story.find(row_id)
    if place is None or place.stories_off or placed is None:
        return None
    tools = model_calls.choose_tools(tools, place)
    # 1. what was said
    count = choose_counter(None, tools.settings)
    lines = table_lines.read_lines(read, persona, story.rows_of(placed))
    lines = inclusion.choose_lines(model_calls.read_open_lines(tools, persona, lines), tools.settings, count)
    # 2. the text
    text = _write_recap(tools, placed, lines, count) if lines else ""
    if not text:
        logs.event(20, "scene_without_recap", id=operation.id, messages=len(lines))
        return None
    return _store_recap(operation, tools, story, placed, text, lines)


def _write_recap(tools: Tools, placed: PlacedScene, lines: list[Line], count: Counter) -> str:
    """Return the recap, blank where an extract has nothing to say or would take the place of a better text."""
    if tools.model is None:
        text = _build_extract(lines)
        return "" if not text.strip() or reason_against(tools, text, placed.scene.recap) else text
    text, reason = _by_pieces(tools, lines, count)
    reason = reason or reason_against(tools, text, placed.scene.recap)
    if reason:
        raise ModelError(reason)
    return text


def _build_extract(lines: Sequence[Line]) -> str:
    """Return the sentences that say most, named where several people speak."""
    several = len({line.sender_id or line.sender_name for line in lines if line.role == "user"}) > 1
    return build_extract(
        [line.text for line in lines], speakers=[line.sender_name for line in lines] if several else ()
    )


def _by_pieces(tools: Tools, lines: list[Line], count: Counter) -> tuple[str, str]:
    """Return what the model makes of a scene, and why that is of no use: blank if it may be."""
    room = model_calls.room_tokens(tools.settings)
    sized: list[tuple[dict[str, str], int]] = []
    for line in lines:
        tokens = count(line.text)
        each = min(tokens, room) + model_calls.OVERHEAD_TOKENS
        sized += [
            ({"who": line.sender_name, "text": part}, each) for part in model_calls.cut_text(line.text, tokens, room)
        ]
    texts = [
        model_calls.read_text(
            model_calls.ask_model(tools, "scene_recap.txt.j2", messages=[each for each, _ in piece]), RECAP_KEYS
        )
        for piece in model_calls.cut_pieces(sized, lambda pair: pair[1], room)
    ]
    unreadable = next(filter(is_unreadable, texts), None)
    if unreadable is not None:
        return unreadable, model_calls.UNREADABLE
    return "\n".join(filter(None, texts)), ""


def _store_recap(
    operation: Operation, tools: Tools, story: Layout, placed: PlacedScene, text: str, lines: Sequence[Line]
) -> Effect:
    persona, conversation, scene = operation.persona, placed.scene.conversation, placed.scene
    before = {each.scene.id for each in story.scenes if each.has_recap}
    later = {each.scene.id for each in story.scenes if each.index > placed.index}

    def begins_elsewhere(connection: Connection) -> bool:
        """Return whether an earlier scene got a recap meanwhile."""
        now = table_scenes.read_scenes(reader_in(connection), persona, conversation)
        return bool({each.id for each in now if each.recap_index is not None} - before - {scene.id} - later)

    def effect(connection: Connection) -> None:
        table_conversations.find(connection, persona, conversation, lock=True)
        if not table_scenes.hold_scene(connection, persona, scene.id):
            return
        is_unchanged = table_lines.are_as_read(connection, persona, lines, tools.settings.privacy_default)
        if not is_unchanged or begins_elsewhere(connection):  # nothing may be left of what is gone
            queue_recap(connection, tools.db, persona, conversation, scene.break_row)
            return
        provenance = "extract" if tools.model is None else "model"
        table_scenes.insert_version(connection, tools.db, persona, scene.id, text, provenance=provenance)
        if tools.settings.running_scene_recap_auto_generate:
            queue_running(connection, tools.db, persona, conversation)
        refresh.refresh_within(connection, persona, conversation, tools.settings)

    return effect
