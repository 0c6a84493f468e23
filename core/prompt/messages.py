"""A finished prompt as the messages of a provider (rules P61 to P63).

The promise: which messages there are follows from which sections the prompt has, never from what a text says, and
every text that was said or recalled stands as JSON data inside a user message. What seldom changes comes first, so
that a provider finds the same beginning again. Called by `core.prompt_engine`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, overload

from core.rules.sizes import to_json
from core.rules.strict_json import strict

DIALECTS: Final = ("openai", "anthropic")

HISTORY: Final = ("history_current_chat", "history_recent")
STATIC: Final = ("recent_conversations", "saved_memories", "running_recap")
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
def to_messages(prompt: Mapping[str, Any], dialect: Literal["openai"] = "openai") -> Messages: ...
@overload
def to_messages(prompt: Mapping[str, Any], dialect: Literal["anthropic"]) -> dict[str, Any]: ...
@overload
def to_messages(prompt: Mapping[str, Any], dialect: str) -> Messages | dict[str, Any]: ...
def to_messages(prompt: Mapping[str, Any], dialect: str = "openai") -> Messages | dict[str, Any]:
    """Return the prompt as messages: one for the system, then one user message for each part that is not empty.

    The parts are the static context, the history, the volatile context and the input, in this order. Each is one JSON
    object of the prompt's own keys.

    Args:
        prompt: what `build_json_prompt` gave, reduced or not; what is no strict JSON in it is made so (P18).
        dialect: `openai` or `anthropic`.

    Returns:
        openai: a list of `{role, content}` with the attribute `breakpoints`. anthropic: `{system, messages}` where
        system is text blocks and messages one user message of text blocks; the last block of the system and the
        static context carry `cache_control`.

    Raises:
        ValueError: another dialect.
        TypeError: the prompt is no mapping.

    Source: P61, P62, P63.

    >>> prompt = {"context": {"memories": ["tofu"]}, "input": {"payload": {}}, "instructions": "Be Iris."}
    >>> messages = to_messages(prompt)
    >>> [message["role"] for message in messages], messages[1]["content"], messages.breakpoints
    (['system', 'user', 'user'], '{"memories": ["tofu"]}', (0,))
    """
    if dialect not in DIALECTS:
        raise ValueError(f"dialect is {str(dialect)[:40]!r}. It must be 'openai' or 'anthropic'.")
    if not isinstance(prompt, Mapping):
        raise TypeError(f"prompt is of type {type(prompt).__name__}. Pass the dict build_json_prompt gave.")
    plain: dict[str, Any] = strict(prompt)[0]
    system, static, rest = _system(plain), *_parts(plain)
    if dialect == "anthropic":
        return _anthropic(system, static, rest)
    users = [to_json(part) for part in (static, *rest) if part]
    messages = [{"role": "system", "content": "\n\n".join(system)}]
    messages += [{"role": "user", "content": text} for text in users]
    return Messages(messages, breakpoints=(0, 1) if static else (0,))


def _anthropic(system: list[str], static: dict[str, Any], rest: list[dict[str, Any]]) -> dict[str, Any]:
    system_blocks = [_block(text) for text in system]
    if system_blocks:
        system_blocks[-1]["cache_control"] = dict(_CACHED)
    blocks = [_block(to_json(static), cached=True)] if static else []
    blocks += [_block(to_json(part)) for part in rest if part]
    return {"system": system_blocks, "messages": [{"role": "user", "content": blocks}] if blocks else []}


def _block(text: str, *, cached: bool = False) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "text", "text": text}
    return {**block, "cache_control": dict(_CACHED)} if cached else block


def _system(prompt: Mapping[str, Any]) -> list[str]:
    """Return the texts of the system part: instructions, the verbose ones, the actions."""
    texts = [prompt.get(name) for name in ("instructions", "instructions_verbose")]
    made = [text if isinstance(text, str) else to_json(text) for text in texts if text]
    return [*made, to_json({"actions": prompt["actions"]})] if prompt.get("actions") else made


def _parts(prompt: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the static context, and the history, volatile context and input; empty sections are left out.

    Only null, an empty list and an empty object are empty: a text is there whatever it says.
    """
    given = prompt.get("context")
    context = given if isinstance(given, Mapping) else {}
    full = {name: value for name, value in context.items() if not (value is None or value in ([], {}, ()))}
    static = {name: value for name, value in full.items() if name not in _NOT_STATIC}
    history = {name: full[name] for name in HISTORY if name in full}
    volatile = {name: value for name, value in full.items() if name in VOLATILE}
    incoming = {"input": prompt["input"]} if "input" in prompt else {}
    return static, [history, volatile, incoming]
