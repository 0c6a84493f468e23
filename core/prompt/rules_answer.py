"""Parses a model's answer to a prompt, JSON or bare text: its words and its actions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from ..text.replies import MAX_CHARS, read_object, strip_thoughts

TEXTS = ("text", "content", "message")
"""Fields with the words of an answer or of an action's payload; the first non-blank field is used."""

_OBJECT = re.compile(r"""(?:```[\w.+#-]*\s*)?(?:(?:[\[{]\s*)+["'\]}]|\[\s*\{\s*\w+\s*:)""")
"""Beginning of an answer in JSON, with or without a fence; `{{char}}` and `[[OOC: hi]]` begin prose."""


class Answer(TypedDict):
    """The parsed answer of a model; its keys come in this order."""

    text: str
    """Words of the persona, blank if there are none."""
    actions: list[dict[str, Any]]
    """`{"type": ..., "payload": {...}}` each, in the model's order."""
    problems: list[str]
    """Descriptions of what could not be used; empty if all is well."""


def parse_answer(text: object, prompt: Mapping[str, Any] | None = None) -> Answer:
    """Return the words and the actions of a model's answer, given as a JSON object or as bare text; never raises.

    Args:
        text: the unchanged answer, with or without think-blocks, code fences, and words around an object; JSON that is
            cut off or nearly right is repaired. At most 1,000,000 characters.
        prompt: the prompt that was answered: an action that is not listed in its `actions` is left out and named in
            `problems`. None takes all actions.

    Returns:
        A dict with `text`: the object's own words, else the words of its first action with words, else the bare text;
        `actions`: a list, maybe empty; `problems`: a list, empty if there are none.

    >>> parse_answer('```json\\n{"actions": [{"type": "message_web", "payload": {"text": "Tofu!"}}]}\\n```')
    {'text': 'Tofu!', 'actions': [{'type': 'message_web', 'payload': {'text': 'Tofu!'}}], 'problems': []}
    >>> parse_answer("She is called Tofu.")["text"]
    'She is called Tofu.'
    """
    if not isinstance(text, str):
        return Answer(text="", actions=[], problems=[f"the answer is of type {type(text).__name__}, not a text"])
    if len(text) > MAX_CHARS:
        return Answer(text="", actions=[], problems=[f"the answer has {len(text)} characters, more than {MAX_CHARS}"])
    if not (said := strip_thoughts(text)):
        return Answer(text="", actions=[], problems=["the answer is empty"])
    answer = read_object(text, ("actions",))
    if answer is None and not _OBJECT.match(said):
        return Answer(text=said, actions=[], problems=[])
    if answer is None:
        answer = read_object(text, ("type",), fits=lambda each: isinstance(each.get("payload"), Mapping))
        answer = {"actions": [answer]} if answer is not None else read_object(text, TEXTS)
    if answer is None:
        return Answer(text="", actions=[], problems=["the answer looks like JSON and cannot be read"])
    actions, problems = _read_actions(answer.get("actions"), prompt)
    if _OBJECT.match(said) and not said.rstrip("` \n").endswith(("}", "]")) and said.count("{") > said.count("}"):
        problems.append("the answer is cut off: the last of it may be incomplete")
    words = _words(answer) or next(filter(None, (_words(each["payload"]) for each in actions)), "")
    if not words and not actions and not problems:
        problems = ["the answer holds neither words nor actions"]
    return Answer(text=words, actions=actions, problems=problems)


def _read_actions(given: Any, prompt: object) -> tuple[list[dict[str, Any]], list[str]]:
    if given is None:
        return [], []
    if not isinstance(given, Sequence) or isinstance(given, str):
        return [], [f"actions is of type {type(given).__name__}, not a list"]
    actions: list[dict[str, Any]] = []
    problems = []
    listed = prompt.get("actions") if isinstance(prompt, Mapping) else prompt
    for place, each in enumerate(given):
        kind = each.get("type") if isinstance(each, Mapping) else None
        payload = each.get("payload") if isinstance(each, Mapping) else None
        if not isinstance(kind, str) or not kind:
            problems.append(f"action {place} names no type")
        elif prompt is not None and not (isinstance(listed, Mapping) and kind in listed):
            problems.append(f"action {place} is {kind[:64]!r}, which the prompt does not list")
        elif payload is not None and not isinstance(payload, Mapping):
            problems.append(f"action {place}: its payload is of type {type(payload).__name__}, not an object")
        else:
            beside = {name: value for name, value in each.items() if name not in ("type", "payload")}
            actions.append({"type": kind, "payload": dict(beside if payload is None else payload)})
    return actions, problems


def _words(value: Mapping[str, Any]) -> str:
    said = (value.get(name) for name in TEXTS)
    return next((each.strip() for each in said if isinstance(each, str) and each.strip()), "")
