"""Queue operations of stories. Each writes a text, by a model or as an extract, and returns a function that stores it.

If the sources of the text changed meanwhile, the operation is queued again instead.

| operation | made from | stored as |
|---|---|---|
| RECAP | one message | its recap |
| SCENE_DETECTION | the messages after the last break | scene breaks |
| SCENE_RECAP | the messages of a scene | the next version of its recap |
| RUNNING_SCENE_RECAP | the last version and new scene recaps | the next version of the running recap |
"""

import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, NamedTuple

from .. import llm
from ..access import table_conversations, table_participants
from ..base import logs
from ..database.engine import Connection
from ..errors import ModelError
from ..jobs import table as jobs_table
from ..jobs.handlers import Effect, Tools, operation_scope
from ..jobs.rules import UNREADABLE_ANSWER, error_text
from ..messages import table_lines, table_recaps, table_scenes
from ..messages.table_lines import Line
from ..messages.table_recaps import Recap
from ..messages.table_scenes import Scene
from ..shapes import Operation
from ..templates.render import Renderer
from ..templates.words import refused_patterns
from ..text.extracts import build_extract, fit_text
from ..text.hits import name_persona
from ..text.replies import is_unreadable, judge_refusal, read_object, strip_thoughts
from ..text.sizes import Counter, to_json
from . import rules_running, rules_scenes, table_running
from .calls import StoryCall, choose_counter
from .refresh import left_out, refresh_within
from .rules_recaps import limit_tokens
from .rules_running import CoveredScene, RecapPlan
from .rules_scenes import BEFORE_ALL, BreakLimits
from .scenes import SCENE_RECAP, Layout, make_break, queue_recap, queue_running, queue_running_if_kept, read_layout
from .values import CLEARED, build_columns

SHARE = 0.7
"""Share of CONTEXT_TOKENS for the texts that a model reads; the rest is for instructions and the answer."""
OVERHEAD_TOKENS = 12
"""Tokens of one message besides its text: name, number, JSON punctuation."""
KEYS = ("recap", "memory", "scene_recap", "running_recap", "summary")
REFUSALS = ("empty", "no_text", "unreadable", "error_like", "shorter")
"""Reasons why a model's answer is no recap; they are stored with the message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(StoryCall):
    """A running operation on the stories of one conversation, with its model and token counter."""

    operation: Operation
    model: Any
    """Model to ask; None if there is none, or if the conversation must stay on this machine."""
    count: Counter
    notes: list[str]

    @property
    def provenance(self) -> str:
        return "extract" if self.model is None else "model"

    @property
    def room(self) -> int:
        """Return the maximum number of tokens for texts in one question to the model."""
        return max(1, math.floor(self.settings.context_tokens * SHARE))

    def read_lines(self, rows: Sequence[int]) -> list[Line]:
        """Return the messages `rows` with speaker names, without excluded messages and people at level full."""
        lines = table_lines.read_lines(self.db.read, self.persona, rows)
        with self.db.connection(source="participants") as connection:
            lines = table_participants.keep_allowed(connection, self.persona, lines, self.settings.privacy_default)
        own_name = name_persona(self.persona)
        return [
            replace(line, sender_name=line.sender_name or (own_name if line.role == "persona" else line.sender_id))
            for line in lines
            if line.text.strip() and not left_out(line, line.text, self.settings, self.count)
        ]

    def ask(self, template: str, **values: Any) -> str:
        """Return the model's answer to a rendered template; lists and objects among the values become JSON."""
        texts = {name: to_json(value) if isinstance(value, (list, dict)) else value for name, value in values.items()}
        question = Renderer(self.settings.templates_dir).text(template, **texts)
        return llm.ask(self.model, [{"role": "user", "content": question}], self.settings)

    def ask_text(self, template: str, **values: Any) -> str:
        text = read_text(self.ask(template, **values))
        if is_unreadable(text):
            raise ModelError("unreadable")
        return text

    def check(self, text: str, current: str) -> str:
        """Return `text` if it may replace `current`, else ""; if a model wrote it, raise ModelError to ask again."""
        reason = judge_refusal(text, current, patterns=refused_patterns(self.settings.templates_dir))
        if reason and self.model is not None:
            raise ModelError(reason)
        return "" if reason else text


def open_task(operation: Operation, tools: Tools) -> Task | None:
    """Return the task of an operation; None if its conversation was deleted or has stories switched off."""
    key = operation.conversation or ""
    place = table_conversations.find_among(tools.db.read, operation.persona, [key]).get(key)
    if place is None or place.stories_off:
        return None
    stays = place.local_only and tools.settings.prompt_destination != "local"
    return Task(
        tools.db, tools.settings, operation_scope(operation), place=place, operation=operation,
        model=None if stays else tools.model, count=choose_counter(None, tools.settings), notes=tools.notes,
    )  # fmt: skip


def read_text(reply: str) -> str:
    """Return the text of a reply: the value of a key in `KEYS` of its JSON object, else all but the think-blocks."""
    answer = read_object(reply, KEYS, fits=lambda each: any(isinstance(each.get(key), str) for key in KEYS))
    if answer is not None:
        return next(str(answer[key]).strip() for key in KEYS if isinstance(answer.get(key), str))
    return strip_thoughts(reply).strip()


def cut_pieces(entries: Iterable[Mapping[str, str]], key: str, count: Counter, room: int) -> list[list[dict[str, str]]]:
    """Group entries so that their texts have at most `room` tokens per group; an entry with a longer text is split."""
    pieces: list[list[dict[str, str]]] = []
    used = 0
    for entry in entries:
        tokens = count(entry[key])
        size = min(tokens, room) + OVERHEAD_TOKENS
        for part in cut_text(entry[key], tokens, room):
            if not pieces or used + size > room:
                pieces.append([])
                used = 0
            pieces[-1].append({**entry, key: part})
            used += size
    return pieces


def cut_text(text: str, tokens: int, room: int) -> list[str]:
    """Split a text of `tokens` tokens into equal parts of at most about `room` tokens."""
    size = max(1, math.ceil(len(text) / max(1, math.ceil(tokens / room))))
    return [text[at : at + size] for at in range(0, len(text), size)] or [text]


def recap(operation: Operation, tools: Tools) -> Effect | None:
    task = open_task(operation, tools)
    row_id = None if task is None else _find_row(task)
    if task is None or row_id is None:
        return None
    persona, conversation = task.persona, task.conversation
    stored = table_recaps.find_recap(task.db.read, persona, row_id) or Recap()
    line = next((line for line in task.read_lines([row_id]) if line.conversation == conversation), None)
    if line is None or _is_done(operation, stored):
        return None
    if task.model is None:
        text = build_extract([line.text], speakers=[line.sender_name], most_sentences=1, most_chars=300)
    else:
        try:
            said = {"speaker": to_json(line.sender_name), "message": to_json(line.text)}
            # The length of a stale recap says nothing about the new text.
            current = "" if stored.stale else stored.memory or ""
            text = task.check(task.ask_text("message_recap.txt.j2", **said), current)
        except ModelError as error:
            if error.reason in REFUSALS:
                _note_refusal(task, row_id, error.reason)
                raise ModelError(error.reason) from None
            raise
    if not text.strip():
        return None
    columns = build_columns(text, task.provenance, task.count) | {"include": None, "edited": False}

    def effect(connection: Connection) -> None:
        table_conversations.find(connection, persona, conversation, lock=True)
        row = table_lines.hold_line(connection, persona, row_id)
        if row is None or not table_lines.is_open(connection, persona, row, task.settings.privacy_default):
            return
        if row.text != line.text:
            table_recaps.queue_recap(connection, task.db, persona, conversation, row_id)
            return
        now = table_recaps.find_recap(connection.execute, persona, row_id) or Recap()
        if now.memory != stored.memory and not now.stale:
            return  # a person wrote a recap meanwhile
        table_recaps.update_recap(connection, task.db, persona, conversation, row_id, columns, CLEARED)
        refresh_within(connection, task)

    return effect


def _find_row(task: Task) -> int | None:
    """Return the row id of the operation's message; hosts may name the message by the platform's id."""
    message = task.operation.payload.get("message_id")
    if isinstance(message, str):
        row = table_lines.find_message(task.db, task.persona, task.conversation, message)
        return None if row is None else row.row_id
    return message if isinstance(message, int) and not isinstance(message, bool) else None


def _is_done(operation: Operation, stored: Recap) -> bool:
    """Return whether the message already has an up-to-date recap that was made after the operation was queued."""
    if stored.memory is None or stored.stale or stored.updated_at is None or operation.created_at is None:
        return False
    is_made = stored.provenance in ("model", "extract") and "error" not in stored.data
    return is_made and stored.updated_at > operation.created_at


def _note_refusal(task: Task, row_id: int, reason: str) -> None:
    """Store with the message why a new recap was refused; the old recap stays."""

    def work(connection: Connection) -> None:
        row = table_lines.hold_line(connection, task.persona, row_id)
        if row is None or not table_lines.is_open(connection, task.persona, row, task.settings.privacy_default):
            return
        table_recaps.update_recap(connection, task.db, task.persona, task.conversation, row_id, {}, {"error": reason})

    task.db.idempotent_transaction(work, source="message_recaps")


DETECTION, KEY = "SCENE_DETECTION", "sceneBreakAt"
MOST = 500
"""Maximum number of messages read at once, from the first message not checked for scene breaks."""
BEFORE = 30
"""Number of checked messages that the model gets as context before the messages to check."""


class _Detection(NamedTuple):
    breaks: tuple[int, ...] = ()
    """Indexes of the breaks, in ascending order."""
    checked: int | None = None
    """Index up to which all messages are checked now; None if that has not changed."""
    goes_on: bool = False
    """Whether more messages wait to be checked."""


def scene_detection(operation: Operation, tools: Tools) -> Effect | None:
    task = open_task(operation, tools)
    if task is None:
        return None
    story = read_layout(task.db.read, task.persona, task.conversation)
    limits = BreakLimits(len(story.rows) - 1, story.last_break, task.settings.scene_min_length)
    if limits.last < limits.first:
        there, least = limits.newest - limits.earlier, f"SCENE_MIN_LENGTH {limits.min_length} and {rules_scenes.OFFSET}"
        task.notes.append(error_text("TooFewMessages", f"{there} since the last break, needed are {least} more"))
        return None
    detection = (_detect_pauses if task.model is None else _ask_break)(task, story, limits)
    if detection == _Detection():
        return None
    persona, conversation = task.persona, task.conversation
    before = {scene.id for scene in story.scenes}

    def effect(connection: Connection) -> None:
        table_conversations.find(connection, persona, conversation, lock=True)
        read = connection.execute
        now = {scene.id for scene in table_scenes.read_scenes(read, persona, conversation)}
        is_outdated = bool(detection.breaks) and now != before  # a break was made or removed meanwhile
        if not is_outdated:
            checked = None if detection.checked is None else story.rows[detection.checked]
            if checked is not None and table_lines.hold_line(connection, persona, checked) is not None:  # not deleted
                mark = {table_recaps.CHECKED: True}
                table_recaps.update_recap(connection, task.db, persona, conversation, checked, {}, mark)
            for at in detection.breaks:
                make_break(connection, task, story.rows[at])
            if detection.breaks:
                refresh_within(connection, task)
        if is_outdated or detection.goes_on:
            jobs_table.enqueue(connection, task.db, persona, DETECTION, conversation=conversation, once=True)

    return effect


def _detect_pauses(task: Task, story: Layout, limits: BreakLimits) -> _Detection:
    rows = story.rows[story.last_break + 1 :]
    at = {line.row_id: line.at for line in table_lines.read_lines(task.db.read, task.persona, rows, with_text=False)}
    gap = timedelta(hours=task.settings.scene_gap_hours)
    return _Detection(rules_scenes.find_pauses([at.get(row_id) for row_id in story.rows], gap, limits))


def _ask_break(task: Task, story: Layout, limits: BreakLimits) -> _Detection:
    """Ask the model for a scene break among messages that it was not yet asked about, and return its proposal."""
    marked = table_recaps.read_checked(task.db.read, task.persona, task.conversation)
    checked = max((at for at, row in enumerate(story.rows) if row in marked), default=BEFORE_ALL)
    first = max(limits.first, checked + 1)
    if first > limits.last:
        return _Detection()
    begin, stop = max(limits.earlier + 1, first - BEFORE), min(len(story.rows), first + MOST)
    shown, end = _choose_window(task, story, range(begin, stop), first)
    # A break after the last message shown cannot be judged, because the model does not see what follows it.
    last = limits.last if end == limits.newest else min(limits.last, end - 1)
    if last < first:
        return _Detection()
    asked = {int(str(each["n"])) for each in shown} & set(range(first, last + 1))
    index = None
    if asked:
        reply = task.ask("scene_detection.txt.j2", messages=shown, first=min(asked), last=max(asked))
        answer = read_object(reply, (KEY,))
        index, is_usable = (None, False) if answer is None else rules_scenes.read_break(answer.get(KEY), limits, asked)
        if not is_usable:
            logs.warning("scene_answer_not_used", id=task.operation.id)
            task.notes.append(UNREADABLE_ANSWER)
    if index is None:
        return _Detection(checked=last, goes_on=last < limits.last)
    return _Detection((index,), index, goes_on=True)


def _choose_window(task: Task, story: Layout, indexes: range, first: int) -> tuple[list[dict[str, object]], int]:
    """Return (messages from index `first` on that fit into one question to a model, index of the last of them)."""
    lines = {line.row_id: line for line in task.read_lines(story.rows[indexes.start : indexes.stop])}
    most = max(1, task.room // 2)  # so that one giant message leaves room for others

    def show(ats: range, room: int) -> tuple[list[dict[str, object]], int]:
        shown: list[dict[str, object]] = []
        last = first
        for at in ats:
            line = lines.get(story.rows[at])
            if line is not None:
                tokens = task.count(line.text)
                room -= min(tokens, most) + OVERHEAD_TOKENS
                if room < 0 and (len(shown) > 1 or at < first):
                    break
                shown.append({"n": at, "who": line.sender_name, "text": cut_text(line.text, tokens, most)[0]})
            last = at
        return shown, last

    after, end = show(range(first, indexes.stop), task.room * 3 // 4)
    before, _ = show(range(first - 1, indexes.start - 1, -1), task.room // 4)
    return [*reversed(before), *after], end


def scene_recap(operation: Operation, tools: Tools) -> Effect | None:
    task, row_id = open_task(operation, tools), operation.payload.get("message_id")
    if task is None or not isinstance(row_id, int):
        return None
    persona, conversation = task.persona, task.conversation
    story = read_layout(task.db.read, persona, conversation)
    scene = next((scene for scene in story.scenes if scene.break_row == row_id), None)
    if scene is None:
        return None
    earlier = [each.break_row for each in story.scenes[: story.scenes.index(scene)]]
    waiting = jobs_table.read_open(task.db.read, persona, SCENE_RECAP, conversation)
    if before := [each for each, payload in waiting.items() if payload.get("message_id") in earlier]:
        return lambda connection: queue_recap(connection, task, row_id, before)
    lines = task.read_lines(story.rows_of(scene))
    text = task.check(_write_scene(task, lines), scene.recap) if lines else ""
    if not text:
        logs.event(logging.INFO, "scene_without_recap", id=operation.id, messages=len(lines))
        return None
    first_later = story.scenes.index(scene)
    known = {each.id for at, each in enumerate(story.scenes) if each.recap_index is not None or at >= first_later}

    def effect(connection: Connection) -> None:
        table_conversations.find(connection, persona, conversation, lock=True)
        if not table_scenes.hold_scene(connection, persona, scene.id):
            return
        allowed = table_participants.keep_allowed(connection, persona, lines, task.settings.privacy_default)
        is_unchanged = allowed == lines and table_lines.are_as_read(connection, persona, lines)
        now = table_scenes.read_scenes(connection.execute, persona, conversation)
        begins_elsewhere = {each.id for each in now if each.recap_index is not None} - known
        if not is_unchanged or begins_elsewhere:  # an earlier scene got a recap meanwhile
            queue_recap(connection, task, scene.break_row)
            return
        table_scenes.insert_version(connection, task.db, persona, scene.id, text, provenance=task.provenance)
        queue_running_if_kept(connection, task)
        refresh_within(connection, task)

    return effect


def _write_scene(task: Task, lines: Sequence[Line]) -> str:
    """Return the recap of a scene, joined from several answers if the scene is too long for one question."""
    if task.model is None:
        several = len({line.sender_id or line.sender_name for line in lines if line.role == "user"}) > 1
        speakers = [line.sender_name for line in lines] if several else ()
        return build_extract([line.text for line in lines], speakers=speakers)
    entries = [{"who": line.sender_name, "text": line.text} for line in lines]
    pieces = cut_pieces(entries, "text", task.count, task.room)
    return "\n".join(filter(None, (task.ask_text("scene_recap.txt.j2", messages=piece) for piece in pieces)))


WORDS_PER_TOKEN, LEAST_WORDS = 0.6, 100
"""A model is told a recap's limit in words: WORDS_PER_TOKEN for each token, and at least LEAST_WORDS."""
EXTRACT_CHARS = 600
"""Maximum number of characters of a scene's recap that an extract uses whole."""


def running_scene_recap(operation: Operation, tools: Tools) -> Effect | None:
    task = open_task(operation, tools)
    if task is None:
        return None
    persona, conversation = task.persona, task.conversation
    story = read_layout(task.db.read, persona, conversation)
    versions = table_running.read_versions(task.db.read, persona, conversation)
    number = table_running.find_current_number(task.db.read, persona, conversation)
    current = next((version for version in versions if version.number == number), None)
    scenes = [
        CoveredScene(scene.id, end, scene.recap_index)
        for scene, end in zip(story.scenes, story.ends, strict=True)
        if scene.recap_index is not None
    ]
    plan = rules_running.plan_recap(scenes, versions, number, anew=operation.payload.get("anew") is True)
    if plan is None:
        return None
    by_id = {scene.id: scene for scene in story.scenes}
    added = [by_id[each.id] for each in plan.scenes]
    previous = plan.base.content if plan.base is not None else ""
    text = task.check(_write_story(task, previous, added), current.content if current is not None else "")
    if not text:
        return None
    new = plan.build_version(text, task.provenance)

    def effect(connection: Connection) -> None:
        current_now = table_running.hold_current_number(connection, persona, conversation)
        if current_now == number and _are_sources_kept(connection, task, plan, added):
            table_running.insert_version(connection, task.db, task.scope, new)
        else:
            queue_running(connection, task)

    return effect


def _extract_story(previous: str, added: Sequence[Scene]) -> str:
    """Return the running recap `previous` with one line appended for each added scene."""
    lines = []
    for scene in added:
        text = scene.recap
        if len(text) > EXTRACT_CHARS:
            text = build_extract([text], most_chars=EXTRACT_CHARS) or text[:EXTRACT_CHARS]
        lines.append(": ".join(filter(None, (scene.name, text))))
    return rules_running.add_lines(previous, lines)


def _write_story(task: Task, previous: str, added: Sequence[Scene]) -> str:
    """Return the running recap `previous` extended by the scenes; long scenes take several questions to a model."""
    if task.model is None:
        return _extract_story(previous, added)
    room = task.room // 2  # for the recap so far, whose oldest sentences are dropped first
    settings = task.settings
    shown_tokens = limit_tokens(settings.running_recap_context_limit, "percent", settings.context_tokens)
    words = max(LEAST_WORDS, int(shown_tokens * WORDS_PER_TOKEN))
    entries = [{**({"name": scene.name} if scene.name else {}), "recap": scene.recap} for scene in added]
    text = previous
    for piece in cut_pieces(entries, "recap", task.count, max(1, task.room - room)):
        shown, _ = fit_text(text, lambda part: task.count(part) <= room)
        before = {"recap": shown} if shown else None
        answer = task.ask_text("running_scene_recap.txt.j2", previous=before, scenes=piece, words=words)
        text = task.check(answer, shown)
    return text


def _are_sources_kept(connection: Connection, task: Task, plan: RecapPlan, added: Sequence[Scene]) -> bool:
    """Return whether all recaps that a new text used are still stored; if not, the text could repeat deleted text."""
    read, persona, conversation = connection.execute, task.persona, task.conversation
    now = {(scene.id, scene.recap) for scene in table_scenes.read_scenes(read, persona, conversation)}
    if not {(scene.id, scene.recap) for scene in added} <= now:
        return False
    base = plan.base
    return base is None or table_running.find_version(read, persona, conversation, base.number) is not None
