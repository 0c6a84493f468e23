"""A finished prompt as the messages of a provider.

The promise: which messages there are follows from which sections the prompt has, never from what a text says, and
every text that was said or recalled stands as JSON data inside a user message. What seldom changes comes first, so
that a provider finds the same beginning again. Called by `prompt_engine`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, NamedTuple, overload

from ..context.injection import chat_index, check_depth, check_position, check_role
from ..text.sizes import to_json
from ..text.strict_json import make_strict

DIALECTS: Final = ("openai", "anthropic")

HISTORY: Final = ("history_current_chat", "history_recent")
INJECTED: Final = "running_recap"
"""Stands among the static parts, unless `injection` says where."""
STATIC: Final = ("recent_conversations", "standing_wishes", "saved_memories", INJECTED)
"""With every key of `context` that is in none of these tables: the keys of injections."""
VOLATILE: Final = (
    "thoughts",
    "history_scope",
    "memories",
    "ai_diary",
    "short_term",
    "relationship",
    "message_recaps",
    "recon",
    "recon_instructions",
)
LEFT_OUT: Final = ("tags_placeholder",)
"""Keys that hold nothing for the model to read."""

_NOT_STATIC = frozenset({*HISTORY, *VOLATILE, *LEFT_OUT})
_CACHED = {"type": "ephemeral"}


class Messages(list[dict[str, Any]]):
    """Messages in the openai form: `{role, content}` each.

    >>> Messages([{"role": "system", "content": "x"}], breakpoints=(0,)).breakpoints
    (0,)
    """

    def __init__(self, items: Iterable[dict[str, Any]] = (), *, breakpoints: tuple[int, ...] = ()) -> None:
        super().__init__(items)
        self.breakpoints = breakpoints
        """Indexes of the messages after which the beginning of the list is likely to come again, ascending."""


@overload
def to_messages(
    prompt: Mapping[str, Any], dialect: Literal["openai"] = "openai", *, injection: Mapping[str, Any] | None = None
) -> Messages: ...
@overload
def to_messages(
    prompt: Mapping[str, Any], dialect: Literal["anthropic"], *, injection: Mapping[str, Any] | None = None
) -> dict[str, Any]: ...
@overload
def to_messages(
    prompt: Mapping[str, Any], dialect: str, *, injection: Mapping[str, Any] | None = None
) -> Messages | dict[str, Any]: ...
def to_messages(
    prompt: Mapping[str, Any], dialect: str = "openai", *, injection: Mapping[str, Any] | None = None
) -> Messages | dict[str, Any]:
    """Return the prompt as messages: one for the system, then one user message for each part that is not empty.

    The parts are the static context, the history, the volatile context and the input, in this order. Each is one JSON
    object of the prompt's own keys.

    Args:
        prompt: what `build_json_prompt` gave, reduced or not; what is no strict JSON in it is made so.
        dialect: `openai` or `anthropic`.
        injection: where the running recap stands: `position`, `depth` and `role`, as
            `stories.get_running_recap_injection` gives them. The history counts as the chat, each line of
            history_current_chat as a message; one that the recap stands in the middle of becomes two messages. None
            leaves the recap in the static context. `anthropic` has one message, so that the role counts for nothing.

    Returns:
        openai: a list of `{role, content}` with the attribute `breakpoints`. anthropic: `{system, messages}` where
        system is text blocks and messages one user message of text blocks; the last block of the system and the
        static context carry `cache_control`.

    Raises:
        ValueError: another dialect, position, depth or role.
        TypeError: the prompt is no mapping.

    >>> prompt = {"context": {"memories": ["tofu"]}, "input": {"payload": {}}, "instructions": "Be Iris."}
    >>> messages = to_messages(prompt)
    >>> [message["role"] for message in messages], messages[1]["content"], messages.breakpoints
    (['system', 'user', 'user'], '{"memories": ["tofu"]}', (0,))
    """
    if dialect not in DIALECTS:
        raise ValueError(f"dialect is {str(dialect)[:40]!r}. It must be 'openai' or 'anthropic'.")
    if not isinstance(prompt, Mapping):
        raise TypeError(f"prompt is of type {type(prompt).__name__}. Pass the dict build_json_prompt gave.")
    plain: dict[str, Any] = make_strict(prompt)[0]
    parts = _parts(plain)
    placed = _placed(parts, injection) if injection is not None else _in_order(parts)
    return _anthropic(_system(plain), placed) if dialect == "anthropic" else _openai(_system(plain), placed)


class _Part(NamedTuple):
    """One message beside that of the system."""

    content: dict[str, Any]
    role: str = "user"
    is_static: bool = False
    is_first: bool = False
    """Stands before the system's message."""


def _openai(system: list[str], parts: list[_Part]) -> Messages:
    messages = [{"role": part.role, "content": to_json(part.content)} for part in parts]
    at = sum(part.is_first for part in parts)
    messages.insert(at, {"role": "system", "content": "\n\n".join(system)})
    static = [n for n, part in enumerate(parts, 1) if part.is_static]
    return Messages(messages, breakpoints=(at, *static))


def _anthropic(system: list[str], parts: list[_Part]) -> dict[str, Any]:
    system_blocks = [_block(text) for text in system]
    if system_blocks:
        system_blocks[-1]["cache_control"] = dict(_CACHED)
    blocks = [_block(to_json(part.content), cached=part.is_static) for part in parts]
    return {"system": system_blocks, "messages": [{"role": "user", "content": blocks}] if blocks else []}


def _block(text: str, *, cached: bool = False) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "text", "text": text}
    return {**block, "cache_control": dict(_CACHED)} if cached else block


def _system(prompt: Mapping[str, Any]) -> list[str]:
    """Return the texts of the system part: instructions, the verbose ones, the actions."""
    texts = [prompt.get(name) for name in ("instructions", "instructions_verbose")]
    made = [text if isinstance(text, str) else to_json(text) for text in texts if text]
    return [*made, to_json({"actions": prompt["actions"]})] if prompt.get("actions") else made


class _Parts(NamedTuple):
    """What there is beside the system, each a part of the prompt with its own keys; {} where there is nothing."""

    static: dict[str, Any]
    history: dict[str, Any]
    volatile: dict[str, Any]
    incoming: dict[str, Any]


def _parts(prompt: Mapping[str, Any]) -> _Parts:
    """Return the static context, the history, the volatile context and the input.

    Only null, an empty list and an empty object are empty: a text is there whatever it says.
    """
    given = prompt.get("context")
    context = given if isinstance(given, Mapping) else {}
    full = {name: value for name, value in context.items() if not (value is None or value in ([], {}, ()))}
    return _Parts(
        {name: value for name, value in full.items() if name not in _NOT_STATIC},
        {name: full[name] for name in HISTORY if name in full},
        {name: value for name, value in full.items() if name in VOLATILE},
        {"input": prompt["input"]} if "input" in prompt else {},
    )


def _in_order(parts: _Parts) -> list[_Part]:
    static, *rest = parts
    return [*_part(static, is_static=True), *(part for content in rest for part in _part(content))]


def _part(content: dict[str, Any], *, is_static: bool = False) -> list[_Part]:
    return [_Part(content, is_static=is_static)] if content else []


def _placed(parts: _Parts, injection: Mapping[str, Any]) -> list[_Part]:
    """Return the parts with the running recap at its place among them."""
    if not isinstance(injection, Mapping):
        raise TypeError(
            f"injection is of type {type(injection).__name__}. It must be what stories.get_running_recap_injection "
            "gives, or a mapping with position, depth and role."
        )
    position = check_position(injection.get("position", "in_chat"))
    depth = check_depth(injection.get("depth", 0))
    role = check_role(injection.get("role", "user"))
    static = {name: value for name, value in parts.static.items() if name != INJECTED}
    if INJECTED not in parts.static:
        return _in_order(parts)
    recap = _Part({INJECTED: parts.static[INJECTED]}, role, is_first=position == "before_prompt")
    before, after = _split(parts.history, depth if position == "in_chat" else 1)
    here = [recap]
    is_last = position == "in_chat" and depth == 0
    return [
        *(here if position == "before_prompt" else ()),
        *_part(static, is_static=True),
        *(here if position == "in_prompt" else ()),
        *_part(before),
        *(here if position == "in_chat" and not is_last else ()),
        *_part(after),
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
