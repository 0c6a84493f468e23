"""Turns a finished prompt into the messages of a model provider."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta, tzinfo
from typing import Any, Final, NamedTuple

from ..base.hints import shown
from ..context.context import CURRENT, INJECTED, RECENT
from ..context.injection import check_depth, check_position, check_role
from ..context.lines import ChatLine, Turn, mark_lines, stamp
from ..shapes import Citation
from ..text.folding import clean
from ..text.sizes import to_json
from ..text.strict_json import make_strict

DIALECTS: Final = ("openai", "alternating", "anthropic")
"""Message forms; `alternating` is `openai` for models that refuse two messages of one role in a row."""

HISTORY: Final = (CURRENT, RECENT)
VOLATILE: Final = (
    "thoughts", "memory_gap", "memories", "upcoming", "ai_diary", "short_term", "relationship", "message_recaps",
)  # fmt: skip
"""Sections that change with every message; all other keys of `context`, except HISTORY, are static."""
LEFT_OUT: Final = ("tags_placeholder",)
"""Keys without content for the model."""

_NOT_STATIC = frozenset({*HISTORY, *VOLATILE, *LEFT_OUT})
_SLOTS = {"before_prompt": 0, "in_prompt": 1, "in_chat": 2, "after_prompt": 4, "last": 5}
"""Position of the running recap among static context, history, later history, volatile context and input."""
_BEGINNING = "(The conversation begins.)"

PAUSE = timedelta(hours=6)
"""Pause after which a turn shows its time again."""
_STAMPED = re.compile(r"\W*\[\d{4}-")
"""Beginning of a text that could be mistaken for a turn with its time."""


class Messages(list[dict[str, Any]]):
    """Messages in OpenAI's form, `{role, content}` each."""

    def __init__(self, items: Iterable[dict[str, Any]] = (), *, breakpoints: tuple[int, ...] = ()) -> None:
        super().__init__(items)
        self.citations: Mapping[str, Citation] = {}
        """Stored row that each citation mark refers to; empty if no marks were requested."""
        self.breakpoints = breakpoints
        """Indexes of messages, ascending, after which a cached prefix is likely to be used again."""


def to_messages(
    prompt: Mapping[str, Any], dialect: str = "openai", *, injection: Mapping[str, Any] | None = None
) -> Messages | dict[str, Any]:
    """Return the JSON prompt as messages: a system message, then one user message for each part that is not empty."""
    check_dialect(dialect)
    if not isinstance(prompt, Mapping):
        raise TypeError(f"prompt is of type {type(prompt).__name__}. Pass the dict build_json_prompt gave.")
    plain: dict[str, Any] = make_strict(prompt)[0]
    above, parts = _place_parts(plain, injection)
    instructions = plain.get("instructions")
    system = [
        *above,
        *([instructions if isinstance(instructions, str) else to_json(instructions)] if instructions else ()),
        *([to_json({"actions": plain["actions"]})] if plain.get("actions") else ()),
    ]
    return order_for_dialect(dialect, system, parts)


def check_dialect(dialect: str) -> None:
    if dialect not in DIALECTS:
        known = f"{DIALECTS[0]!r}, {DIALECTS[1]!r} or {DIALECTS[2]!r}"
        raise ValueError(f"dialect is {shown(dialect)}. It must be {known}.")


def order_for_dialect(dialect: str, system: list[str], parts: list[MessagePart]) -> Messages | dict[str, Any]:
    if dialect == "anthropic":
        return _anthropic(system, parts)
    parts = _alternate(parts) if dialect == "alternating" else parts
    messages = [{"role": part.role, "content": part.text} for part in parts]
    messages.insert(0, {"role": "system", "content": "\n\n".join(system)})
    static = [n for n, part in enumerate(parts, 1) if part.is_static]
    turns = [n for n, part in enumerate(parts, 1) if part.is_turn]
    return Messages(messages, breakpoints=(0, *static, *turns[-1:]))


def _alternate(parts: list[MessagePart]) -> list[MessagePart]:
    """Merge neighbouring messages of one role, and begin with a user message."""
    turns: list[MessagePart] = []
    for part in parts:
        if not turns and part.role == "assistant":
            turns.append(MessagePart(_BEGINNING))
        if turns and turns[-1].role == ("assistant" if part.role == "assistant" else "user"):
            turns[-1] = part._replace(content=f"{turns[-1].text}\n\n{part.text}", role=turns[-1].role)
        else:
            turns.append(part if part.role == "assistant" else part._replace(role="user"))
    return turns


def read_turns(context: Mapping[str, Any], asker: str, persona: str) -> list[MessagePart]:
    """Return this conversation's lines as messages; names are added if there are several people, or persona names."""
    turns = [line.turn for line in context.get(CURRENT, ()) if isinstance(line, ChatLine)]
    names = {False: {asker}, True: {persona}}
    for turn in turns:
        names[turn.is_persona].add(turn.name)
    return [_said(turn, with_name=len(names[turn.is_persona]) > 1) for turn in turns]


def _said(turn: Turn, *, with_name: bool) -> MessagePart:
    text, is_person = clean(turn.text), not turn.is_persona
    if with_name:
        said = clean(" ".join(filter(None, (turn.name, turn.reply))))
        text = f"{said}: {mark_lines(text)}"
    elif is_person and _STAMPED.match(text):
        text = f"> {text}"
    role = "user" if is_person else "assistant"
    speaker = "" if with_name else turn.name
    return MessagePart(text, role, is_turn=True, several=with_name and is_person, time=turn.time, speaker=speaker)


def find_day_marks(turns: Sequence[MessagePart], now: datetime, zone: tzinfo) -> dict[int, str]:
    """Return, by turn, the times to show: for each day (for today only if older turns exist), and after each pause."""
    marks: dict[int, str] = {}
    last, last_mark = now, stamp(now, zone)
    for at, turn in enumerate(turns):
        if turn.time is None:
            continue
        mark, has_pause = stamp(turn.time, zone), abs(turn.time - last) >= PAUSE and at > 0
        if mark[:11] != last_mark[:11] or has_pause:
            marks[at] = mark
        last, last_mark = turn.time, mark
    return marks


def mark_days(turns: Sequence[MessagePart], now: datetime, zone: tzinfo) -> list[MessagePart]:
    """Add the times to the turns: they are put into user turns, so that persona turns contain only what was said."""
    marks, marked = find_day_marks(turns, now, zone), list[MessagePart]()
    for at, turn in enumerate(turns):
        mark = marks.get(at)
        if mark and turn.role == "user":
            marked.append(turn._replace(content=f"{mark} {turn.text}"))
        else:
            marked += [MessagePart(mark, is_turn=True), turn] if mark else [turn]
    return marked


class MessagePart(NamedTuple):
    content: dict[str, Any] | str
    """Data of the prompt, or the text of a turn."""
    role: str = "user"
    is_static: bool = False
    is_turn: bool = False
    several: bool = False
    """Whether the text begins with a name because several people speak."""
    time: datetime | None = None
    speaker: str = ""
    """Name of the speaker, unless the text begins with it."""

    @property
    def text(self) -> str:
        return self.content if isinstance(self.content, str) else to_json(self.content)


def _anthropic(system: list[str], parts: list[MessagePart]) -> dict[str, Any]:
    system_blocks = [_block(text, cached=n == len(system)) for n, text in enumerate(system, 1)]
    messages: list[dict[str, Any]] = []
    last = max((n for n, part in enumerate(parts) if part.is_turn), default=-1)
    for n, part in enumerate(parts):
        role = "assistant" if part.role == "assistant" else "user"
        if not messages and role == "assistant":  # the dialect wants a user message first
            messages.append({"role": "user", "content": [_block(_BEGINNING)]})
        if not messages or messages[-1]["role"] != role:
            messages.append({"role": role, "content": []})
        if part.text.strip():  # the dialect refuses blank texts
            messages[-1]["content"].append(_block(part.text, cached=part.is_static or n == last))
    return {"system": system_blocks, "messages": messages}


def _block(text: str, *, cached: bool = False) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "text", "text": text}
    return {**block, "cache_control": {"type": "ephemeral"}} if cached else block


def place_recap(
    system: list[str], parts: list[MessagePart], recap: list[MessagePart], position: str, depth: int
) -> tuple[list[str], list[MessagePart]]:
    """Insert the running recap at its position; return `(system texts, messages)`, the new message last."""
    if position == "before_prompt" and any(part.role == "system" for part in recap):
        return [*(part.text for part in recap), *system], parts
    at = {"in_chat": max(0, len(parts) - depth), "after_prompt": len(parts) - 1}.get(position, 0)
    return system, [*parts[:at], *recap, *parts[at:]]


def _place_parts(prompt: Mapping[str, Any], injection: Mapping[str, Any] | None) -> tuple[list[str], list[MessagePart]]:
    """Return `(texts above the instructions, messages)`, with the running recap at the position in `injection`."""
    given = prompt.get("context")
    items = given.items() if isinstance(given, Mapping) else ()
    context = {name: value for name, value in items if not (value is None or value in ([], {}, ()))}
    history = {name: context[name] for name in HISTORY if name in context}
    static = {name: value for name, value in context.items() if name not in _NOT_STATIC}
    volatile = {name: value for name, value in context.items() if name in VOLATILE}
    slot, depth, recap = _read_injection(static, injection) if injection is not None else ("", 1, [])
    if recap:
        static.pop(INJECTED)
    history, later = _split_history(history, depth)
    contents = [static, history, later, volatile, {"input": prompt["input"]} if "input" in prompt else {}]
    parts = [MessagePart(content, is_static=content is static) for content in contents]
    if slot == "system":
        return [part.text for part in recap], [part for part in parts if part.content]
    at = _SLOTS.get(slot, 0)
    return [], [part for part in (*parts[:at], *recap, *parts[at:]) if part.content]


def _read_injection(static: Mapping[str, Any], injection: Mapping[str, Any]) -> tuple[str, int, list[MessagePart]]:
    """Return `(slot, depth, parts)` of the running recap; depth 1 is right after the last chat line."""
    if not isinstance(injection, Mapping):
        raise TypeError(f"injection is of type {type(injection).__name__}. Pass a dict of position, depth and role.")
    position: str = check_position(injection.get("position", "in_chat"))
    depth = check_depth(injection.get("depth", 0))
    role = check_role(injection.get("role", "user"))
    if INJECTED not in static:
        return "", 1, []
    recap = [MessagePart({INJECTED: static[INJECTED]}, role)]
    if position == "in_chat":
        return ("in_chat", depth, recap) if depth else ("last", 1, recap)
    return "system" if position == "before_prompt" and role == "system" else position, 1, recap


def _split_history(history: dict[str, Any], depth: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return (history, its last `depth` - 1 chat lines as a history); ({}, whole history) if these are all lines."""
    lines = history.get(CURRENT)
    chat: list[Any] = lines if isinstance(lines, list) else []
    at = max(0, len(chat) - depth + 1)
    if at >= len(chat):
        return history, {}
    return ({**history, CURRENT: chat[:at]}, {CURRENT: chat[at:]}) if at else ({}, history)
