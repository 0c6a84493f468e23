"""A running recap in parts: how an answer is joined to it, and what of it fits."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ...text.folding import collapsed

KEYS = ("recap", "developments", "open", "state")
"""A reply to the request for a running recap has one of these."""

_RESOLVED = re.compile(
    r"^\s*(?:\[(?:resolved|x)\]|resolved\s*[:\-])\s*|(?<!\s)\s*[(\[]resolved[)\]]\s*$", re.IGNORECASE
)
_SENTENCE_END = re.compile(r"(?<=[.!?…。！？])(?=\s)|(?<=[。！？])|(?<=\n)")
_WORD_END = re.compile(r"(?<![\s.,;:!?…。！？])[\s.,;:!?…。！？]+$")
"""Looks behind itself, so that a long row of signs is tried once and not from each of its places."""
_DONE = ("resolved", "done", "closed")
DIGITS = 400
"""A longer whole number is no text; Python writes out no more than 4300 digits."""


@dataclass(frozen=True, slots=True)
class Story:
    """A running recap in parts."""

    developments: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    state: str = ""
    entities: tuple[tuple[str, str], ...] = ()
    """Name and what is known of it, in the order they came up; what is known may be blank."""

    def as_data(self) -> dict[str, Any]:
        """Return it in the form of a reply."""
        recap = {"developments": list(self.developments), "open": list(self.open), "state": self.state}
        return {"recap": recap, "entities": dict(self.entities)}


def read_story(data: object, content: str = "") -> Story:
    """Return the parts of a stored recap: those of `data`, else its text as one development."""
    recap = data.get("recap") if isinstance(data, Mapping) else None
    if not isinstance(data, Mapping) or not isinstance(recap, Mapping):
        return Story((content.strip(),) if content.strip() else ())
    return Story(
        _points(recap.get("developments")),
        _points(recap.get("open")),
        _line(recap.get("state")),
        _entities(data.get("entities")),
    )


def combine(former: Story, reply: Mapping[str, Any]) -> Story:
    """Return the recap that a reply makes of the former one."""
    inner = reply.get("recap")
    recap: Mapping[str, Any] = inner if isinstance(inner, Mapping) else reply
    told = _points(recap.get("developments")) or (_points(inner) if isinstance(inner, (str, list)) else ())
    given = _points(recap.get("open"))
    resolved = {_same(_RESOLVED.sub("", point)) for point in given if _RESOLVED.search(point)}
    resolved |= {_same(point) for point in (*_points(recap.get("resolved")), *_points(reply.get("resolved")))}
    resolved |= _marked(recap.get("open"))
    kept = [point for point in former.open if _same(point) not in resolved]
    kept += [point for point in given if not _RESOLVED.search(point) and _same(point) not in resolved]
    entities = dict(former.entities)
    entities |= {name: said or entities.get(name, "") for name, said in _entities(reply.get("entities"))}
    return Story(
        _unique((*former.developments, *told)),
        _unique(kept),
        _line(recap.get("state")) or former.state,
        tuple(entities.items()),
    )


def extend(former: Story, developments: Sequence[str]) -> Story:
    """Return the recap with developments added and no state: that of before does not hold any more."""
    return replace(former, developments=_unique((*former.developments, *developments)), state="")


def _unique(points: Sequence[str]) -> tuple[str, ...]:
    found: dict[str, str] = {}
    for point in points:
        if point.strip():
            found.setdefault(_same(point), point)
    return tuple(found.values())


def _same(point: str) -> str:
    """Return a point as it is compared: folded, white space collapsed, without the sign at its end."""
    return _WORD_END.sub("", collapsed(point)).lstrip("-*• ")


def _line(value: object) -> str:
    """Return a value as one text: lists joined, everything else than texts and numbers left out."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, (list, tuple)):
        return " ".join(filter(None, map(_line, value)))
    if isinstance(value, Mapping):
        parts = ((name, _line(each)) for name, each in value.items())  # once each: two times would double at each level
        return "; ".join(f"{name}: {said}" for name, said in parts if said)
    if value is None or isinstance(value, bool):
        return ""
    return "" if isinstance(value, int) and abs(value) >= 10**DIGITS else str(value)


def _points(value: object) -> tuple[str, ...]:
    """Return the points of a list, or of a text with one point a line."""
    if isinstance(value, str):
        value = [line.strip().lstrip("-*•").strip() for line in value.splitlines()]
    if isinstance(value, Mapping):
        value = [value]
    if not isinstance(value, (list, tuple)):
        return ()
    return tuple(filter(None, map(_point, value)))


def _point(value: object) -> str:
    if isinstance(value, Mapping):
        said = next((value[k] for k in ("point", "text", "name", "description") if isinstance(value.get(k), str)), None)
        return said.strip() if said is not None else _line(value)
    return _line(value)


def _marked(value: object) -> set[str]:
    """Return the points of a list of objects that say of themselves that they are resolved."""
    if not isinstance(value, (list, tuple)):
        return set()
    ended = [
        each
        for each in value
        if isinstance(each, Mapping)
        and (each.get("resolved") is True or str(each.get("status", "")).strip().lower() in _DONE)
    ]
    return {_same(_point(each)) for each in ended}


def _entities(value: object) -> tuple[tuple[str, str], ...]:
    """Return names and what is said of them: of an object, of objects with a name, of texts."""
    if isinstance(value, Mapping):
        return tuple((str(name), _line(said)) for name, said in value.items() if str(name).strip())
    found: list[tuple[str, str]] = []
    for each in value if isinstance(value, (list, tuple)) else ():
        if isinstance(each, Mapping):
            rest = {k: v for k, v in each.items() if k not in ("name", "type")}
            said = each.get("description", each.get("content"))
            found.append((_line(each.get("name")), _line(rest if said is None else said)))
        elif isinstance(each, str):
            name, _, said = each.partition(":")
            found.append((name.strip(), said.strip()))
    return tuple((name, said) for name, said in found if name)


# What fits


class Fitted(NamedTuple):
    """A recap cut to a limit."""

    story: Story
    text: str
    """Blank when nothing of it fits."""
    dropped: int = 0
    """Parts that were left out, oldest developments first."""


def fit(story: Story, show: Callable[[Story], str], fits: Callable[[str], bool]) -> Fitted:
    """Return the recap with as few parts dropped as it needs to fit."""
    whole = show(story)
    if not whole.strip() or fits(whole):
        return Fitted(story, whole)
    cuts = _cuts(story)
    low, high = 0, len(cuts) - 1  # the last one is empty
    while low < high:
        middle = (low + high) // 2
        if fits(show(cuts[middle][0])):
            high = middle
        else:
            low = middle + 1
    kept, dropped = cuts[low]
    return Fitted(kept, show(kept) if kept != Story() else "", dropped)


def _cuts(story: Story) -> list[tuple[Story, int]]:
    """Return the recap ever shorter, with the number of parts that are gone; the last is empty."""
    told = story.developments
    made = [(replace(story, developments=told[gone:]), gone) for gone in range(1, len(told))]
    sentences = split_sentences(told[-1]) if told else []
    ends = ["".join(sentences[at:]).strip() for at in range(1, len(sentences))]
    made += [(replace(story, developments=(end,)), len(told) - 1) for end in ends if end]
    rest, gone = replace(story, developments=()), len(told)
    made.append((rest, gone))
    while rest.entities or rest.open:
        part = "entities" if rest.entities else "open"
        rest = replace(rest, **{part: getattr(rest, part)[1:]})
        gone += 1
        made.append((rest, gone))
    return [*made, (Story(), gone + int(bool(rest.state)))]


def split_sentences(text: str) -> list[str]:
    """Return a text in sentences or lines that make it up again when joined."""
    return [part for part in _SENTENCE_END.split(text) if part]
