"""What does an operation SCENE_RECAP: the recap of one scene, by a model or as an extract."""

from __future__ import annotations

from collections.abc import Sequence

from ...audience import table_conversations
from ...base import logs
from ...database.engine import Connection
from ...database.readers import reader_for, reader_in
from ...errors import ModelError
from ...jobs.tools import Effect, Tools
from ...messages import table_lines, table_scenes
from ...messages.table_lines import Line
from ...shapes import Operation
from ...text.extracts import build_extract
from ...text.replies import is_unreadable
from .. import model_calls, token_counts
from ..model_calls import reason_against
from ..recaps import inclusion, refresh
from ..recaps.rules import corrected
from . import positions
from .breaks import queue_recap, queue_running
from .positions import Layout, PlacedScene

KEYS = ("recap", "scene_recap", "summary")
"""Keys of a reply under which the text may stand."""


def scene_recap(operation: Operation, tools: Tools) -> Effect | None:
    """Return what stores another version of a scene's recap and queues the running recap."""
    persona, conversation = operation.persona, operation.conversation
    row_id = operation.payload.get("message_id")
    read = reader_for(tools.db, "scenes")
    if conversation is None or not isinstance(row_id, int):
        return None
    place = table_lines.find_place(read, persona, conversation)
    told = positions.read_layout(read, persona, conversation)
    placed = told.find(row_id)
    if place is None or place.stories_off or placed is None:
        return None
    tools = model_calls.choose_tools(tools, place)
    # 1. what was said
    rows = told.rows_of(placed)
    by = token_counts.choose_counter(None, tools.settings)
    lines = model_calls.read_open_lines(tools, persona, table_lines.read_lines(read, persona, rows))
    lines = inclusion.choose_lines(lines, tools.settings, by)
    # 2. the text
    text = _text(tools, placed, lines, by) if lines else ""
    if not text:
        logs.event(20, "scene_without_recap", id=operation.id, messages=len(lines))
        return None
    return _stored(operation, tools, told, placed, text, rows[0], lines)


def _text(tools: Tools, placed: PlacedScene, lines: list[Line], by: token_counts.Counting) -> str:
    """Return the recap, blank where an extract has nothing to say or would take the place of a better text."""
    by_model = tools.model is not None
    text, reason = _by_model(tools, lines, by) if by_model else (_extract(lines), "")
    if not by_model and not text.strip():
        return ""
    reason = reason or reason_against(tools, text, placed.scene.recap)
    if not reason:
        return text
    if by_model:
        raise ModelError(reason)
    return ""


def _extract(lines: Sequence[Line]) -> str:
    """Return the sentences that say most, named where several people speak."""
    several = len({line.sender_id or line.sender_name for line in lines if line.role == "user"}) > 1
    return build_extract(
        [line.text for line in lines], speakers=[line.sender_name for line in lines] if several else ()
    )


def _by_model(tools: Tools, lines: list[Line], by: token_counts.Counting) -> tuple[str, str]:
    """Return what the model makes of a scene, and why that is of no use: blank where it may be."""
    room, factor = model_calls.room_tokens(tools.settings), tools.settings.token_correction
    sized: list[tuple[dict[str, str], int]] = []
    for line in lines:
        tokens = corrected(inclusion.count_tokens(line, by), factor)
        each = min(tokens, room) + model_calls.OVERHEAD_TOKENS
        sized += [
            ({"who": line.sender_name, "text": part}, each) for part in model_calls.cut_text(line.text, tokens, room)
        ]
    told = [
        model_calls.read_text(
            model_calls.ask_model(tools, "scene_recap.txt.j2", messages=[each for each, _ in piece]), KEYS
        )
        for piece in model_calls.cut_pieces(sized, lambda pair: pair[1], room)
    ]
    broken = next(filter(is_unreadable, told), None)
    if broken is not None:
        return broken, model_calls.UNREADABLE
    return "\n".join(filter(None, told)), ""


def _still_holds(
    connection: Connection, tools: Tools, persona: str, placed: PlacedScene, lines: Sequence[Line]
) -> bool:
    """Return whether the scene is there and all that its recap was made of: nothing may be left of what is gone."""
    return table_scenes.hold_scene(connection, persona, placed.scene.id) and table_lines.are_as_read(
        connection, persona, lines, tools.settings.privacy_default
    )


def _stored(
    operation: Operation,
    tools: Tools,
    told: Layout,
    placed: PlacedScene,
    text: str,
    start_row: int,
    lines: Sequence[Line],
) -> Effect:
    persona, conversation, scene = operation.persona, placed.scene.conversation, placed.scene
    before = {each.scene.id for each in told.scenes if each.has_recap}

    def effect(connection: Connection) -> None:
        table_conversations.find(connection, persona, conversation, lock=True)
        if not table_scenes.hold_scene(connection, persona, scene.id):
            return
        if not _still_holds(connection, tools, persona, placed, lines):
            queue_recap(connection, tools.db, persona, conversation, scene.break_row)
            return
        now = table_scenes.read_scenes(reader_in(connection), persona, conversation)
        new = {each.id for each in now if each.recap_index is not None} - before - {scene.id}
        later = {each.scene.id for each in told.scenes if each.index > placed.index}
        if new - later:  # the scene begins elsewhere by now
            queue_recap(connection, tools.db, persona, conversation, scene.break_row)
            return
        table_scenes.insert_version(
            connection, tools.db, persona, scene.id, text, provenance="extract" if tools.model is None else "model",
            start_row=start_row,
        )  # fmt: skip
        if tools.settings.running_scene_recap_auto_generate:
            queue_running(connection, tools.db, persona, conversation)
        refresh.refresh_within(connection, tools.db, persona, conversation, tools.settings)

    return effect
