"""What does an operation RUNNING_SCENE_RECAP: carrying the running recap on by new scenes."""

from __future__ import annotations

from collections.abc import Sequence

from ...database.engine import Connection
from ...database.readers import reader_for, reader_in
from ...errors import ModelError
from ...jobs.tools import Effect, Tools, operation_scope
from ...messages import table_lines, table_scenes
from ...messages.table_scenes import Scene
from ...scope import Scope
from ...shapes import Operation
from ...text.extracts import build_extract
from ...text.replies import is_unreadable
from .. import model_calls
from ..model_calls import reason_against
from ..recaps.inclusion import choose_counter
from ..scenes import layout
from ..scenes.layout import Layout
from ..scenes.service import queue_running
from . import rules
from . import table as running_table
from .rules import CoveredScene, RecapPlan, Version

EXCLUDED_SCENES = 1
"""Newest scenes left out when the recap is made anew: the history still has their full text."""
EXTRACT_CHARS = 600
"""A scene's recap up to this length enters an extract as it is."""
PREVIOUS_SHARE = 0.5
"""Part of what a model can read that the recap up to now may take; its oldest sentences give way."""
KEYS = ("recap", "running_recap", "summary")
"""Keys of a reply under which the text may stand."""


def running_scene_recap(operation: Operation, tools: Tools) -> Effect | None:
    """Return what stores the next version of a running recap."""
    persona, conversation = operation.persona, operation.conversation
    if conversation is None:
        return None
    read = reader_for(tools.db, "running_recaps")
    state = running_table.read_state(read, persona, conversation)
    place = table_lines.find_place(read, persona, conversation)
    if place is None or state.stories_off:
        return None
    tools = model_calls.choose_tools(tools, place)
    # 1. what it is made from
    story = layout.read_layout(read, persona, conversation)
    current = running_table.find_current(read, persona, conversation)
    plan = _plan(operation, story, [] if current is None else [current], state.current)
    if plan.kind == "bulk" and current is not None:  # rare, and the earlier versions are long
        plan = _plan(operation, story, running_table.read_versions(read, persona, conversation), state.current)
    if plan.kind == "none":
        return None
    # 2. the text
    by_id = {each.scene.id: each.scene for each in story.scenes}
    added = [by_id[each.id] for each in plan.scenes]
    previous = plan.base.content if plan.base is not None else ""
    text = _by_extract(previous, added) if tools.model is None else _by_model(tools, previous, added)
    # 3. unless it is refused
    reason = reason_against(tools, text, current.content if current is not None else "")
    if reason:
        if tools.model is not None:
            raise ModelError(reason)
        return None
    new = Version(
        text, plan.scene_count, plan.excluded_count, plan.prev_scene_index, plan.new_scene_index,
        provenance="extract" if tools.model is None else "model", scenes=plan.covered,
    )  # fmt: skip
    return _stored(operation, tools, new, state.current, plan, added)


def _plan(operation: Operation, story: Layout, versions: Sequence[Version], current: int | None) -> RecapPlan:
    scenes = [
        CoveredScene(each.scene.id, each.index, each.scene.recap_index)
        for each in story.scenes
        if each.scene.recap_index is not None
    ]
    anew = operation.payload.get("anew") is True
    return rules.plan_recap(scenes, versions, current, exclude_latest=EXCLUDED_SCENES, anew=anew)


def _by_extract(previous: str, added: Sequence[Scene]) -> str:
    """Return the recap carried on by one line for each scene."""
    lines = []
    for scene in added:
        text = scene.recap
        if len(text) > EXTRACT_CHARS:
            text = build_extract([text], most_chars=EXTRACT_CHARS) or text[:EXTRACT_CHARS]
        lines.append(": ".join(filter(None, (scene.name, text))))
    return rules.add_lines(previous, lines)


def _by_model(tools: Tools, previous: str, added: Sequence[Scene]) -> str:
    """Return the recap as the model carries it on, in several steps where the scenes do not fit into one question."""
    count = choose_counter(None, tools.settings)
    room = model_calls.room_tokens(tools.settings)
    room_previous = int(room * PREVIOUS_SHARE)
    room_scenes = max(1, room - room_previous)
    sized: list[tuple[dict[str, str], int]] = []
    for scene in added:
        tokens = count(scene.recap)
        named = {"name": scene.name} if scene.name else {}
        cuts = model_calls.cut_text(scene.recap, tokens, room_scenes)
        sized += [({**named, "recap": part}, min(tokens, room_scenes) + model_calls.OVERHEAD_TOKENS) for part in cuts]
    text = previous
    for piece in model_calls.cut_pieces(sized, lambda pair: pair[1], room_scenes):
        shown, _ = rules.fit_text(text, lambda part: count(part) <= room_previous)
        reply = model_calls.ask_model(
            tools, "running_scene_recap.txt.j2", previous={"recap": shown}, scenes=[each for each, _ in piece]
        )
        text = model_calls.read_text(reply, KEYS)
        reason = reason_against(tools, text, shown) or (model_calls.UNREADABLE if is_unreadable(text) else "")
        if reason:
            raise ModelError(reason)
    return text


def _stored(
    operation: Operation, tools: Tools, new: Version, current: int | None, plan: RecapPlan, added: Sequence[Scene]
) -> Effect:
    """Return what stores a version; it is queued again where anything it was made from has changed meanwhile."""
    scope = operation_scope(operation)
    persona, conversation = scope.persona, scope.conversation or ""

    def effect(connection: Connection) -> None:
        state = running_table.hold_conversation(connection, persona, conversation)
        if state is not None and state.current == current and _are_sources_kept(connection, scope, plan, added):
            running_table.insert_version(connection, tools.db, scope, new)
        else:
            queue_running(connection, tools.db, persona, conversation)

    return effect


def _are_sources_kept(connection: Connection, scope: Scope, plan: RecapPlan, added: Sequence[Scene]) -> bool:
    """Return whether the recaps a text was made from are all stored still: what was cleared must not come back."""
    read, persona, conversation = reader_in(connection), scope.persona, scope.conversation or ""
    now = {(scene.id, scene.recap) for scene in table_scenes.read_scenes(read, persona, conversation)}
    if not {(scene.id, scene.recap) for scene in added} <= now:
        return False
    base = plan.base
    return base is None or running_table.find_version(read, persona, conversation, base.number) is not None
