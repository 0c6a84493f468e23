"""What does an operation RUNNING_SCENE_RECAP: carrying the running recap on by new scenes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...database.engine import Connection
from ...database.readers import reader_for, reader_in
from ...errors import ModelError
from ...jobs.tools import Effect, Tools
from ...messages import table_lines, table_scenes
from ...messages.table_scenes import Scene
from ...scope import Scope
from ...shapes import Operation
from ...text.extracts import build_extract
from ...text.replies import is_unreadable, read_object
from ...text.thoughts import strip_thoughts
from .. import model_calls, token_counts
from ..model_calls import reason_against
from ..recaps.rules import corrected
from ..scenes import positions
from ..scenes.breaks import queue_running
from ..scenes.positions import Layout
from . import parts
from . import plan as running_plan
from . import table as running_table
from .injection import render_story
from .parts import Story
from .plan import Plan
from .table import NewVersion, Version

EXCLUDED_SCENES = 1
"""Newest scenes left out when the recap is made anew: their full text still stands in the history."""
EXTRACT_CHARS = 600
"""A scene's recap up to this length enters an extract as it is."""
FORMER_SHARE = 0.5
"""Part of what a model can read that the recap up to now may take; its oldest developments give way."""


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
    told = positions.read_layout(read, persona, conversation)
    current = running_table.find_current(read, persona, conversation)
    there = [current] if current is not None else []
    plan = _plan(operation, told, there, state.current)
    if plan.kind == "bulk" and current is not None:  # rare, and the former versions are long
        there = running_table.read_versions(read, persona, conversation)
        plan = _plan(operation, told, there, state.current)
    if plan.kind == "none":
        return None
    # 2. the text
    base = next((each for each in there if plan.base is not None and each.number == plan.base.number), None)
    draft = _made(tools, plan, told, base)
    # 3. unless it is refused
    if draft.refused:
        raise ModelError(draft.refused)
    new = _version(tools, plan, draft.story)
    reason = reason_against(tools, new.content, current.content if current is not None else "")
    if reason:
        if tools.model is not None:
            raise ModelError(reason)
        return None
    return _stored(operation, tools, new, state.current, _holds(persona, conversation, plan, told))


def _plan(operation: Operation, told: Layout, there: Sequence[Version], current: int | None) -> Plan:
    return running_plan.plan(
        [
            running_plan.Scene(each.scene.id, each.index, each.scene.recap_index)
            for each in told.scenes
            if each.scene.recap_index is not None
        ],
        [_as_known(version) for version in there],
        current,
        exclude_latest=EXCLUDED_SCENES,
        anew=operation.payload.get("anew") is True,
    )


class _Made(NamedTuple):
    """The recap as it would be, and what is wrong with the answer it was made of."""

    story: Story
    refused: str = ""
    """Reason why the last answer cannot be used; blank where it can."""


def _as_known(version: Version) -> running_plan.Version:
    return running_plan.Version(
        version.number, version.new_scene_index, version.scene_count, running_plan.known_scenes(version.data)
    )


def _made(tools: Tools, plan: Plan, told: Layout, base: Version | None) -> _Made:
    former = parts.read_story(base.data, base.content) if base is not None else Story()
    by_id = {each.scene.id: each.scene for each in told.scenes}
    added = [by_id[each.id] for each in plan.scenes]
    return _Made(_by_extract(former, added)) if tools.model is None else _by_model(tools, former, added)


def _version(tools: Tools, plan: Plan, story: Story) -> NewVersion:
    held = (*((plan.base.scenes or ()) if plan.base else ()), *plan.scenes)
    # A text of the host that is carried on: which scenes it holds is not known, and stays so.
    is_known = plan.base is None or plan.base.scenes is not None
    scenes = {"scenes": [[each.id, each.index, each.version] for each in held]} if is_known else {}
    return NewVersion(
        render_story(story, model_calls.build_renderer(tools.settings)),
        plan.scene_count,
        plan.excluded_count,
        plan.prev_scene_index,
        plan.new_scene_index,
        provenance="extract" if tools.model is None else "model",
        data={**story.as_data(), **scenes},
    )


def _by_extract(former: Story, added: Sequence[Scene]) -> Story:
    """Return the recap carried on by what the scenes' recaps say, each as one development."""
    told: list[str] = []
    for scene in added:
        text = (
            scene.recap if len(scene.recap) <= EXTRACT_CHARS else build_extract([scene.recap], most_chars=EXTRACT_CHARS)
        )
        told.append(": ".join(filter(None, (scene.name, text or scene.recap[:EXTRACT_CHARS]))))
    return parts.extend(former, told)


def _by_model(tools: Tools, former: Story, added: Sequence[Scene]) -> _Made:
    """Return the recap as the model carries it on, in several steps where the scenes are too long to be read
    at once.
    """
    by, factor = token_counts.choose_counter(None, tools.settings), tools.settings.token_correction

    def tokens(text: str) -> int:
        return corrected(by.count(text), factor)

    room = model_calls.room_tokens(tools.settings)
    for_scenes = max(1, int(room * (1 - FORMER_SHARE)))
    given: list[tuple[dict[str, str], int]] = []
    for scene in added:
        size = tokens(scene.recap)
        named = {"name": scene.name} if scene.name else {}
        cuts = model_calls.cut_text(scene.recap, size, for_scenes)
        given += [({**named, "recap": part}, min(size, for_scenes) + model_calls.OVERHEAD_TOKENS) for part in cuts]
    renderer = model_calls.build_renderer(tools.settings)
    story = former
    for piece in model_calls.cut_pieces(given, lambda pair: pair[1], for_scenes):
        shown = parts.fit(
            story, lambda s: render_story(s, renderer), lambda text: tokens(text) <= room - for_scenes
        ).story
        reply = model_calls.ask_model(
            tools, "running_scene_recap.txt.j2", former=shown.as_data(), scenes=[each for each, _ in piece]
        )
        said, reason = _read(tools, reply)
        story = parts.combine(story, said)
        if reason:
            return _Made(story, reason)
    return _Made(story)


def _read(tools: Tools, reply: str) -> tuple[dict[str, Any], str]:
    """Return what a reply says, and why it cannot be used: blank where it can. A plain text is one development."""
    found = read_object(reply, parts.KEYS)
    if found is not None:
        return found, ""
    text = strip_thoughts(reply).strip()
    return {"developments": [text]}, reason_against(tools, text, "") or (
        model_calls.UNREADABLE if is_unreadable(text) else ""
    )


def _holds(persona: str, conversation: str, plan: Plan, told: Layout) -> Callable[[Connection], bool]:
    """Return what tells whether the recaps a text was made from are still there: what was cleared or forgotten must not
    come back."""
    ids = {each.id for each in plan.scenes}
    used = {(each.scene.id, each.scene.recap) for each in told.scenes if each.scene.id in ids}
    base = plan.base.number if plan.base is not None else None

    def holds(connection: Connection) -> bool:
        read = reader_in(connection)
        now = {(scene.id, scene.recap) for scene in table_scenes.read_scenes(read, persona, conversation)}
        return used <= now and (
            base is None or running_table.find_version(read, persona, conversation, base) is not None
        )

    return holds


def _stored(
    operation: Operation,
    tools: Tools,
    new: NewVersion,
    former: int | None,
    holds: Callable[[Connection], bool],
) -> Effect:
    persona, conversation = operation.persona, operation.conversation or ""

    def effect(connection: Connection) -> None:
        scope = Scope(persona, conversation)
        running_table.hold_conversation(connection, persona, conversation)
        if (
            not holds(connection)
            or running_table.insert_version(connection, tools.db, scope, new, unless_changed_from=former) is None
        ):
            queue_running(connection, tools.db, persona, conversation)

    return effect
