"""A finished prompt as the messages of a provider."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from ..context.injection import chat_index, check_depth, check_position, check_role
from ..context.lines import NAMELESS_PERSONA, Turn, mark_lines, read_turn
from ..text.folding import clean
from ..text.sizes import to_json
from ..text.strict_json import make_strict

DIALECTS: Final = ("openai", "alternating", "anthropic")
"""alternating: the openai form for models that refuse two messages of one role in a row."""
STYLES: Final = ("data", "chat")
"""data: every part is JSON in a user message. chat: this conversation stands as turns of user and assistant."""

HISTORY: Final = ("history_current_chat", "history_recent")
INJECTED: Final = "running_recap"
"""Stands among the static parts, unless `injection` says where."""
STATIC: Final = ("recent_conversations", "standing_wishes", "saved_memories", INJECTED)
"""With every key of `context` that is in none of these tables: the keys of injections."""
VOLATILE: Final = (
    "thoughts",
    "memories",
    "ai_diary",
    "short_term",
    "relationship",
    "message_recaps",
)
LEFT_OUT: Final = ("tags_placeholder",)
"""Keys that hold nothing for the model to read."""

_NOT_STATIC = frozenset({*HISTORY, *VOLATILE, *LEFT_OUT})
_CACHED = {"type": "ephemeral"}
_BEGINNING = "(The conversation begins.)"


class Messages(list[dict[str, Any]]):
    """Messages in the openai form: `{role, content}` each."""

    def __init__(self, items: Iterable[dict[str, Any]] = (), *, breakpoints: tuple[int, ...] = ()) -> None:
        super().__init__(items)
        self.breakpoints = breakpoints
        """Indexes of the messages after which the beginning of the list is likely to come again, ascending."""


def to_messages(
    prompt: Mapping[str, Any],
    dialect: str = "openai",
    style: str = "data",
    *,
    injection: Mapping[str, Any] | None = None,
) -> Messages | dict[str, Any]:
    """Return the prompt as messages: one for the system, then one user message for each part that is not empty."""
    check_dialect(dialect)
    if style not in STYLES:
        raise ValueError(f"style is {str(style)[:40]!r}. It must be {STYLES[0]!r} or {STYLES[1]!r}.")
    if not isinstance(prompt, Mapping):
        raise TypeError(f"prompt is of type {type(prompt).__name__}. Pass the dict build_json_prompt gave.")
    plain: dict[str, Any] = make_strict(prompt)[0]
    parts = _parts(plain)
    turns = None
    if style == "chat":
        given = prompt.get("context")
        turns = read_turns(given if isinstance(given, Mapping) else {}, _find_persona(prompt), _find_asker(prompt))
    if turns is not None:
        parts.history.pop(HISTORY[0], None)
    placed = _placed(parts, turns, injection) if injection is not None else _in_order(parts, turns)
    system = [*(part.text for part in placed if part.is_above_system), *_system(plain)]
    placed = [part for part in placed if not part.is_above_system]
    return order_for_dialect(dialect, system, placed, in_turns=turns is not None)


def check_dialect(dialect: str) -> None:
    """Refuse another dialect."""
    if dialect not in DIALECTS:
        known = f"{DIALECTS[0]!r}, {DIALECTS[1]!r} or {DIALECTS[2]!r}"
        raise ValueError(f"dialect is {str(dialect)[:40]!r}. It must be {known}.")


def order_for_dialect(
    dialect: str, system: list[str], parts: list[Part], *, in_turns: bool = True
) -> Messages | dict[str, Any]:
    """Return the texts of the system's message and the others as a provider reads them."""
    if dialect == "anthropic":
        return _anthropic(system, parts, in_turns=in_turns)
    return _openai(system, _alternate(parts) if dialect == "alternating" else parts)


def _alternate(parts: list[Part]) -> list[Part]:
    """Return the parts with those of one role in a row as one, a user's first."""
    turns: list[Part] = []
    for part in parts:
        if not turns and part.role == "assistant":
            turns.append(Part(_BEGINNING))
        if turns and turns[-1].role == ("assistant" if part.role == "assistant" else "user"):
            turns[-1] = turns[-1]._replace(content=f"{turns[-1].text}\n\n{part.text}", is_turn=part.is_turn)
        else:
            turns.append(part if part.role == "assistant" else part._replace(role="user"))
    return turns


def read_turns(context: Mapping[str, Any], persona: str, asker: str = "") -> list[Part]:
    """Return the lines of this conversation as messages; a name stands in front where others than the asker speak."""
    lines = context.get(HISTORY[0])
    turns = [
        read_turn(line, persona)
        for line in (lines if isinstance(lines, (list, tuple)) else ())
        if isinstance(line, str)
    ]
    names = {turn.name for turn in turns if not turn.is_persona}
    several = len(names | ({asker} if asker else set())) > 1
    return [_said(turn, with_name=several) for turn in turns]


def _said(turn: Turn, *, with_name: bool) -> Part:
    text = clean(turn.text)
    if turn.is_persona:
        return Part(text, "assistant", is_turn=True)
    if not with_name:
        return Part(text, is_turn=True)
    said = clean(" ".join(filter(None, (turn.name, turn.reply))))
    return Part(f"{said}: {mark_lines(text)}", is_turn=True, several=True)


def _find_persona(prompt: Mapping[str, Any]) -> str:
    """Return what the lines of a prompt call the persona."""
    return _nested_text(prompt, "input", "payload", "persona") or NAMELESS_PERSONA


def _find_asker(prompt: Mapping[str, Any]) -> str:
    """Return what the lines of a prompt call who is asking; blank where the prompt does not name them."""
    return _nested_text(prompt, "input", "payload", "source", "name")


def _nested_text(prompt: Mapping[str, Any], *names: str) -> str:
    """Return the text under names inside one another; blank where a host's prompt has none there."""
    value: Any = prompt
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, str) else ""


class Part(NamedTuple):
    """One message beside that of the system."""

    content: dict[str, Any] | str
    """Data of the prompt, or a text that was said."""
    role: str = "user"
    is_static: bool = False
    is_above_system: bool = False
    """Opens the text of the system's message; no message may stand before that one."""
    is_turn: bool = False
    """What was said in this conversation."""
    several: bool = False
    """Names stand in front, since more than one person speaks."""

    @property
    def text(self) -> str:
        """Return what the message holds."""
        return self.content if isinstance(self.content, str) else to_json(self.content)


def _openai(system: list[str], parts: list[Part]) -> Messages:
    messages = [{"role": part.role, "content": part.text} for part in parts]
    messages.insert(0, {"role": "system", "content": "\n\n".join(system)})
    static = [n for n, part in enumerate(parts, 1) if part.is_static]
    turns = [n for n, part in enumerate(parts, 1) if part.is_turn]
    return Messages(messages, breakpoints=(0, *static, *turns[-1:]))


def _anthropic(system: list[str], parts: list[Part], *, in_turns: bool) -> dict[str, Any]:
    system_blocks = [_block(text) for text in system]
    if system_blocks:
        system_blocks[-1]["cache_control"] = dict(_CACHED)
    messages: list[dict[str, Any]] = []
    last = max((n for n, part in enumerate(parts) if part.is_turn), default=-1)
    for n, part in enumerate(parts):
        role = "assistant" if in_turns and part.role == "assistant" else "user"
        if not messages and role == "assistant":  # the dialect wants a user to begin
            messages.append({"role": "user", "content": [_block(_BEGINNING)]})
        if not messages or messages[-1]["role"] != role:
            messages.append({"role": role, "content": []})
        if part.text.strip():  # it refuses blank texts
            messages[-1]["content"].append(_block(part.text, cached=part.is_static or n == last))
    return {"system": system_blocks, "messages": messages}


def _block(text: str, *, cached: bool = False) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "text", "text": text}
    return {**block, "cache_control": dict(_CACHED)} if cached else block


def _system(prompt: Mapping[str, Any]) -> list[str]:
    """Return the texts of the system part: instructions and actions."""
    text = prompt.get("instructions")
    texts = [text if isinstance(text, str) else to_json(text)] if text else []
    return [*texts, to_json({"actions": prompt["actions"]})] if prompt.get("actions") else texts


class _Parts(NamedTuple):
    """What there is beside the system, each a part of the prompt with its own keys; {} where there is nothing."""

    static: dict[str, Any]
    history: dict[str, Any]
    volatile: dict[str, Any]
    incoming: dict[str, Any]


def _parts(prompt: Mapping[str, Any]) -> _Parts:
    """Return the static context, the history, the volatile context and the input."""
    given = prompt.get("context")
    context = given if isinstance(given, Mapping) else {}
    full = {name: value for name, value in context.items() if not (value is None or value in ([], {}, ()))}
    return _Parts(
        {name: value for name, value in full.items() if name not in _NOT_STATIC},
        {name: full[name] for name in HISTORY if name in full},
        {name: value for name, value in full.items() if name in VOLATILE},
        {"input": prompt["input"]} if "input" in prompt else {},
    )


def _in_order(parts: _Parts, turns: list[Part] | None) -> list[Part]:
    rest = (parts.history, parts.volatile, parts.incoming)
    return [
        *_part(parts.static, is_static=True),
        *(turns or ()),
        *(part for content in rest for part in _part(content)),
    ]


def _part(content: dict[str, Any], *, is_static: bool = False) -> list[Part]:
    return [Part(content, is_static=is_static)] if content else []


def _placed(parts: _Parts, turns: list[Part] | None, injection: Mapping[str, Any]) -> list[Part]:
    """Return the parts with the running recap at its place among them."""
    if not isinstance(injection, Mapping):
        raise TypeError(
            f"injection is of type {type(injection).__name__}. It must be what stories.get_running_recap_injection "
            "gives, or a mapping with position, depth and role."
        )
    position = check_position(injection.get("position", "in_chat"))
    depth = check_depth(injection.get("depth", 0))
    role = check_role(injection.get("role", "user"))
    if INJECTED not in parts.static:
        return _in_order(parts, turns)
    static = {name: value for name, value in parts.static.items() if name != INJECTED}
    recap = Part(
        {INJECTED: parts.static[INJECTED]}, role, is_above_system=position == "before_prompt" and role == "system"
    )
    depth_here = depth if position == "in_chat" else 1
    if turns is None:
        history, later = _split(parts.history, depth_here)
        before, after = _part(history), _part(later)
    else:
        at = chat_index(len(turns), depth_here)
        at = len(turns) if at is None else at
        before, after = turns[:at], [*turns[at:], *_part(parts.history)]
    here = [recap]
    is_last = position == "in_chat" and depth == 0
    return [
        *(here if position == "before_prompt" else ()),
        *_part(static, is_static=True),
        *(here if position == "in_prompt" else ()),
        *before,
        *(here if position == "in_chat" and not is_last else ()),
        *after,
        *_part(parts.volatile),
        *(here if position == "after_prompt" else ()),
        *_part(parts.incoming),
        *(here if is_last else ()),
    ]


def _split(history: dict[str, Any], depth: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the history before and after a place among the lines of this chat; other chats' stand with the first."""
    lines = history.get(HISTORY[0])
    chat: list[Any] = lines if isinstance(lines, list) else []
    at = chat_index(len(chat), depth)
    if at is None or at >= len(chat):
        return history, {}
    if at == 0:
        return {}, history
    return {**history, HISTORY[0]: chat[:at]}, {HISTORY[0]: chat[at:]}
