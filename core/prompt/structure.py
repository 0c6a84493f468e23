"""Writes the JSON prompt of one message before it is fitted."""

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from ..access.rules import plain_key
from ..context.context import CURRENT, order_context
from ..context.incoming import input_facts
from ..context.lines import NAMELESS_PERSONA, UNKNOWN, ChatLine, mark_lines
from ..hooks import get_hook
from ..templates.render import Renderer
from ..text.folding import clean
from ..text.hits import known_name
from ..text.host_values import get
from ..text.sizes import size
from ..text.strict_json import make_strict
from ..text.times import local_time
from .call import Gathered, PromptCall
from .fit import map_texts

AnswerForm = Literal["actions", "text"]
INSTRUCTIONS = {"actions": "instructions.txt.j2", "text": "instructions_text.txt.j2"}
MESSAGES = {**INSTRUCTIONS, "text": "messages.txt.j2"}
"""Template of the instruction line in chat messages for each form of the answer."""
ACTION_KEYS = ("schema", "brief", "source")
MARKED = frozenset(
    ("memories", "short_term", "recent_conversations", "standing_wishes", "saved_memories", "running_recap",
     "message_recaps")
)  # fmt: skip
"""Sections whose texts may have several lines."""


class Actions(NamedTuple):
    shaped: dict[str, Any]
    form: AnswerForm
    form_without: AnswerForm
    """Form of the answer if no actions are given."""


def ask_actions(call: PromptCall) -> Actions:
    """Return the actions of the hook `actions`, and the form of the answer that follows from them."""
    report, asked, lite = call.report, call.settings.answer_format, bool(call.settings.prompt_lite_mode)
    facts = {"interface_name": call.message.interface}
    read = call.guard.hook("actions", facts, lambda given: make_strict(shape_actions(given, lite, report.note)), None)
    shaped, notes = read or ({}, [])
    report.note(*(f"actions.{line}" for line in notes))
    form_without: AnswerForm = "text" if asked == "auto" else asked
    expects_actions = bool(shaped) or (read is None and get_hook("actions") is not None)
    return Actions(shaped, "actions" if asked == "auto" and expects_actions else form_without, form_without)


def shape_actions(actions: Any, lite: bool, note: Callable[[str], None]) -> dict[str, Any]:
    """Return, for each action, its schema, brief and source; other keys of the hook's actions are dropped."""
    if actions is not None and not isinstance(actions, Mapping):
        note(f"actions are of type {type(actions).__name__} and are left out")
    shaped: dict[str, Any] = {}
    unnamed = 0
    for name, action in actions.items() if isinstance(actions, Mapping) else ():
        parts = {key: value for key in ACTION_KEYS if (value := get(action, key)) is not None}
        if not isinstance(name, str) or not parts:
            unnamed += 1
            continue
        shaped[name] = {"brief": parts["brief"]} if lite and parts.get("brief") else parts
    if unnamed:
        note(f"actions: {unnamed} without name, schema, brief and source are left out")
    return shaped


def assemble(call: PromptCall, gathered: Gathered, actions: Actions) -> dict[str, Any]:
    """Build the prompt that is fitted later, as a strict JSON copy of the host's data."""
    renderer = Renderer(call.settings.templates_dir, call.report.note)
    shown = gathered.context.items()
    context = {key: map_texts(value, mark_lines) if key in MARKED else value for key, value in shown}
    rendered = _render_input(call, gathered, renderer)
    instructions = _write_instructions(call, gathered, renderer, actions.form)
    parts, notes = make_strict({"context": order_context(context), "input": rendered, "instructions": instructions})
    call.report.note(*notes)
    # The size is that of the prompt without actions, which may use another form of answer.
    counted = parts
    if actions.form_without != actions.form:
        counted = {**parts, "instructions": _write_instructions(call, gathered, renderer, actions.form_without)}
    prompt: dict[str, Any] = renderer.json("prompt.json.j2", **parts, size=size(counted), actions=actions.shaped)
    return prompt


def _render_input(call: PromptCall, gathered: Gathered, renderer: Renderer) -> dict[str, Any]:
    message, s, request = call.message, call.settings, call.request
    zone_name = (message.time_zone or s.timezone or "UTC") if s.include_local_time_in_prompts else None
    time, unknown = local_time(message.date, zone_name) if zone_name else ({}, None)
    call.report.note(*([unknown] if unknown else ()))
    name, username, persona = gathered.names.label_asker(message), message.sender.username, gathered.names.persona
    rendered: dict[str, Any] = renderer.json(
        "input.json.j2",
        **input_facts(message.raw, request.image_data, request.attachments),
        reply_message_id=gathered.reply,
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
    return rendered


def _write_instructions(call: PromptCall, gathered: Gathered, renderer: Renderer, form: AnswerForm) -> str:
    line = render_line(call, gathered, renderer, INSTRUCTIONS[form])
    return "\n\n".join(part for part in (gathered.persona.strip("\r\n"), line) if part.strip())


def render_line(call: PromptCall, gathered: Gathered, renderer: Renderer, template: str) -> str:
    """Render the instruction line; if the persona's lines also have other names, as a narrator's do, it allows them."""
    turns = [line.turn for line in gathered.context.get(CURRENT, ()) if isinstance(line, ChatLine)]
    has_characters = any(turn.is_persona and turn.name != gathered.names.persona for turn in turns)
    lite = bool(call.settings.prompt_lite_mode)
    return write_line(renderer, template, call.message.interface, lite=lite, has_characters=has_characters)


def write_line(renderer: Renderer, template: str, interface: str, *, lite: bool, has_characters: bool = False) -> str:
    text = renderer.text(template, interface=interface, lite=lite, has_characters=has_characters)
    return " ".join(clean(text).split())


def write_opening(persona_text: str, line: str, persona: str, asker: str, label: str = "") -> list[str]:
    """Return the first texts of the system message: who the persona is, how to answer, who asks."""
    called = f"You are {persona}. " if persona not in ("", NAMELESS_PERSONA) else ""
    shown = f", shown here as {label}" if label not in ("", UNKNOWN, asker) else ""
    texts = (persona_text.strip("\r\n"), line, f"{called}You are talking with {asker}{shown}.")
    return [text for text in texts if text.strip()]
