"""Turns what was collected for one message, and what a host adds, into the prompt dict."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ..access.rules import plain_key
from ..config.flags import AnswerFormat
from ..context.context import OWN_KEYS, order_context
from ..context.history import CURRENT
from ..context.incoming import IncomingMessage, input_facts
from ..context.lines import NAMELESS_PERSONA, ChatLine, NameLabels
from ..templates.render import Renderer
from ..text.folding import clean
from ..text.hits import known_name
from ..text.host_values import as_text, get
from ..text.sizes import size
from ..text.strict_json import make_strict
from ..text.times import local_time

TOP_KEYS = ("context", "input", "instructions", "__pre_reduction_size", "actions")
"""Keys of the prompt in their order."""

INSTRUCTIONS = {"actions": "instructions.txt.j2", "text": "instructions_text.txt.j2"}
"""Template of the line that says how to answer, by the form of the answer."""
MESSAGES = {**INSTRUCTIONS, "text": "messages.txt.j2"}
"""The same where the prompt is chat messages."""

ACTION_KEYS = ("schema", "brief", "source")

Note = Callable[[str], None]


def _nothing(_note: str) -> None:
    """Take a note nobody asked for."""


def shape_actions(actions: Any, lite: bool, note: Note = _nothing) -> dict[str, Any]:
    """Return what the model is told of each action: {schema, brief, source}, those that are there, and nothing else."""
    if actions is not None and not isinstance(actions, Mapping):
        note(f"actions are of type {type(actions).__name__} and are left out")
    shaped: dict[str, Any] = {}
    unnamed = 0
    for name, action in actions.items() if isinstance(actions, Mapping) else ():
        values = {key: get(action, key) for key in ACTION_KEYS}
        parts = {key: value for key, value in values.items() if value is not None}
        if not isinstance(name, str) or not parts:
            unnamed += 1
            continue
        shaped[name] = {"brief": parts["brief"]} if lite and parts.get("brief") else parts
    if unnamed:
        note(f"actions: {unnamed} without name, schema, brief and source are left out")
    return shaped


@dataclass(frozen=True, slots=True)
class Contents:
    """What a prompt is assembled from."""

    message: IncomingMessage
    context: Mapping[str, Any]
    """What the history engine and `merge_host_context` made."""
    persona: str = ""
    """The persona's own text."""
    names: NameLabels = field(default_factory=NameLabels)
    """What people are called in the context."""
    actions: Any = None
    """What the hook gave, unshaped."""
    image_data: Any = None
    attachments: Any = None
    answer_format: AnswerFormat = "auto"
    """ANSWER_FORMAT."""
    expects_actions: bool = False
    """The host reads actions, though it gave none this time."""
    lite: bool = False
    """PROMPT_LITE_MODE."""
    with_local_time: bool = True
    """INCLUDE_LOCAL_TIME_IN_PROMPTS."""
    time_zone: str = "UTC"
    """TIMEZONE, for messages that bring no zone."""


def assemble(contents: Contents, renderer: Renderer, note: Note = _nothing) -> dict[str, Any]:
    """Return the prompt before reduction, in the order of `TOP_KEYS`: strict JSON that shares nothing with
    `contents`.
    """
    actions = contents.actions
    shaped, more = make_strict(shape_actions(actions, contents.lite, note))
    answer = choose_answer_format(contents.answer_format, shaped or contents.expects_actions)
    parts: dict[str, Any] = {
        "context": order_context(contents.context),
        "input": _input(contents, renderer, note),
        "instructions": _instructions(contents, renderer, INSTRUCTIONS[answer]),
    }
    # The size is that of the prompt before there are actions, which may ask for another form of answer.
    asked = choose_answer_format(contents.answer_format, {})
    plain = _instructions(contents, renderer, INSTRUCTIONS[asked]) if asked != answer else ""
    parts, notes = make_strict(parts)
    for line in (*notes, *(f"actions.{line}" for line in more)):
        note(line)
    prompt: dict[str, Any] = renderer.json(
        "prompt.json.j2",
        context=parts["context"],
        input=parts["input"],
        instructions=parts["instructions"],
        size=_size({**parts, "instructions": plain} if plain else parts),
        actions=shaped,
    )
    _restore_lines(contents.context, prompt["context"])
    return prompt


def _restore_lines(given: Mapping[str, Any], prompt: dict[str, Any]) -> None:
    """Put the lines of this conversation back as they were: each knows what was said, which plain text does not."""
    lines, plain = given.get(CURRENT), prompt.get(CURRENT)
    if isinstance(lines, list) and isinstance(plain, list) and len(lines) == len(plain):
        prompt[CURRENT] = [
            ChatLine(text, line.turn) if isinstance(line, ChatLine) else text
            for line, text in zip(lines, plain, strict=True)
        ]


def _size(parts: Mapping[str, Any]) -> int | None:
    """Return the size of the prompt before actions are added, None when it cannot be taken."""
    try:
        return size(parts)
    except (TypeError, ValueError, RecursionError, MemoryError):
        return None


def _input(contents: Contents, renderer: Renderer, note: Note) -> dict[str, Any]:
    """Return `input`; without a zone there is no local time."""
    message, username = contents.message, contents.message.sender.username
    zone_name = (message.time_zone or contents.time_zone or "UTC") if contents.with_local_time else None
    facts, notes = input_facts(message, image_data=contents.image_data, attachments=contents.attachments)
    time, unknown = local_time(message.date, zone_name) if zone_name else ({}, None)
    for line in (*notes, *([unknown] if unknown else ())):
        note(line)
    name, persona = contents.names.asker(message), contents.names.persona
    built: dict[str, Any] = renderer.json(
        "input.json.j2",
        **{"input_source": "", "image": {}, "attachments": [], "reply_message_id": {}, **facts},
        interface=message.interface,
        text=message.text,
        timestamp=message.date.isoformat(),
        interface_path=message.interface_path and plain_key(message.interface_path),
        message_id=message.message_id,
        name=name,
        username=username if known_name(message.sender.name) not in ("", known_name(username)) else "",
        persona=persona if persona != NAMELESS_PERSONA else "",
        time=time,
    )
    return built


def choose_answer_format(asked: AnswerFormat, actions: object) -> Literal["actions", "text"]:
    """Return how the model is asked to answer: by actions where it is said or where there are some, else in words."""
    if asked == "auto":
        return "actions" if actions else "text"
    return asked


def _instructions(contents: Contents, renderer: Renderer, template: str) -> str:
    """Return the persona's text, then the one line that says how to answer."""
    line = write_line(renderer, template, contents.message.interface, lite=contents.lite)
    return "\n\n".join(part for part in (contents.persona.strip("\r\n"), line) if part.strip())


def write_line(renderer: Renderer, template: str, interface: str, *, lite: bool) -> str:
    """Return the one line of a template that says how to answer; the template may be indented, which `one_line`
    keeps.
    """
    return " ".join(clean(renderer.text(template, interface=interface, lite=lite)).split())


def write_opening(persona_text: str, line: str, persona: str, asker: str) -> list[str]:
    """Return the texts that begin the system message: who the persona is, how to answer, who asks."""
    called = f"You are {persona}. " if persona not in ("", NAMELESS_PERSONA) else ""
    texts = (persona_text.strip("\r\n"), line, f"{called}You are talking with {asker}.")
    return [text for text in texts if text.strip()]


# What the hook `context` adds

DROPPED_KEYS = frozenset({"latest_diary_entries", "diary_entries", "diary", "chat_history", "current_chat_history"})
"""Keys that would repeat what the prompt holds in its own sections."""

PERSONA_KEY = "persona"

_SHOWN_CHARS = 64


def merge_host_context(context: Mapping[str, Any], given: Any) -> tuple[dict[str, Any], str, tuple[str, ...]]:
    """Return `(context, persona text, notes)`: the context with the host's keys after its own."""
    merged, persona, notes = dict(context), "", []
    if given is not None and not isinstance(given, Mapping):
        notes.append(f"hook context: {type(given).__name__} is no dict and is left out")
    for key, value in given.items() if isinstance(given, Mapping) else ():
        shown = (
            f"hook context: {clean(key)[:_SHOWN_CHARS]!r}"
            if isinstance(key, str)
            else "hook context: a key that is no text"
        )
        if key == PERSONA_KEY:
            text, note = as_text(value)
            persona = text or ""
            notes += [f"{shown} {note}"] if note else []
        elif key in DROPPED_KEYS:
            notes.append(f"{shown} repeats a section of the prompt and is left out")
        elif key in OWN_KEYS:
            notes.append(f"{shown} has the name of a section and is left out")
        elif key in merged:
            notes.append(f"{shown} is there already and is left out")
        elif not _is_empty(value):
            merged[key] = value
    return merged, persona, tuple(notes)


def _is_empty(value: Any) -> bool:
    """Return whether there is nothing in it; 0 and False are something."""
    return value is None or (isinstance(value, (str, bytes, Mapping, list, tuple, set, frozenset)) and not value)
