"""Reading what a model answered to a prompt: the words it says and the actions it asks for, in either form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from ..text.replies import is_unreadable, read_object, without_thoughts

TEXTS = ("text", "content", "message")
"""Fields in which an answer or the payload of an action holds words, the first one filled counts."""


class Answer(TypedDict):
    """A model's answer. Keys stand in this order."""

    text: str
    """What the persona says; blank where it says nothing."""
    actions: list[dict[str, Any]]
    """`{"type": ..., "payload": {...}}` each, in the model's order."""
    problems: list[str]
    """What could not be used, in words; empty when all is well."""


def parse_answer(text: object, prompt: Mapping[str, Any] | None = None) -> Answer:
    """Return the words and the actions of a model's answer, given as a JSON object or as bare text; never raises.

    Args:
        text: the answer as it came, with think-blocks, code fences and words around an object or without; JSON that is
            cut off or nearly right is mended.
        prompt: the prompt that was answered; an action that is not listed in its `actions` is left out and told.

    Returns:
        `text`: the object's own words, else those of its first action that has some, else the bare text. `actions`:
        a list, maybe empty. `problems`: a list, empty when all is well.

    >>> parse_answer('```json\\n{"actions": [{"type": "message_web", "payload": {"text": "Tofu!"}}]}\\n```')
    {'text': 'Tofu!', 'actions': [{'type': 'message_web', 'payload': {'text': 'Tofu!'}}], 'problems': []}
    >>> parse_answer("She is called Tofu.")
    {'text': 'She is called Tofu.', 'actions': [], 'problems': []}
    """
    if not isinstance(text, str):
        return Answer(text="", actions=[], problems=[f"the answer is of type {type(text).__name__}, not a text"])
    said = without_thoughts(text)
    found = read_object(text, ("actions", *TEXTS))
    if found is None:
        if not said:
            return Answer(text="", actions=[], problems=["the answer is empty"])
        unreadable = is_unreadable(said)
        problems = ["the answer looks like JSON and cannot be read"] if unreadable else []
        return Answer(text="" if unreadable else said, actions=[], problems=problems)
    actions, problems = _read_actions(found.get("actions"), (prompt or {}).get("actions"))
    words = _words(found) or next(filter(None, (_words(each["payload"]) for each in actions)), "")
    return Answer(text=words, actions=actions, problems=problems)


def _read_actions(given: Any, listed: Any) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the actions that can be run, and what is wrong with the others."""
    if given is None:
        return [], []
    if not isinstance(given, Sequence) or isinstance(given, str):
        return [], [f"actions is of type {type(given).__name__}, not a list"]
    actions: list[dict[str, Any]] = []
    problems = []
    for place, each in enumerate(given):
        kind = each.get("type") if isinstance(each, Mapping) else None
        payload = each.get("payload") if isinstance(each, Mapping) else None
        if not isinstance(kind, str) or not kind:
            problems.append(f"action {place} names no type")
        elif isinstance(listed, Mapping) and listed and kind not in listed:
            problems.append(f"action {place} is {kind[:64]!r}, which the prompt does not list")
        elif payload is not None and not isinstance(payload, Mapping):
            problems.append(f"action {place}: its payload is of type {type(payload).__name__}, not an object")
        else:
            actions.append({"type": kind, "payload": dict(payload or {})})
    return actions, problems


def _words(value: Mapping[str, Any]) -> str:
    said = (value.get(name) for name in TEXTS)
    return next((each.strip() for each in said if isinstance(each, str) and each.strip()), "")
