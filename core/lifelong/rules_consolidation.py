"""Facts of a conversation: parsed from a model's reply, or chosen from its sentences without a model."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from ..base.wire_ids import find_id
from ..conversations.rules_summaries import name_speakers
from ..memories.rules import Tier, heuristic_importance, importance_of
from ..shapes import Line
from ..text import remember_phrases as remember
from ..text.folding import clean
from ..text.remember_phrases import Phrases
from ..text.replies import judge_refusal, read_object
from ..text.words import words

WINDOW = (20, 500)
"""Minimum and maximum number of messages of one window."""
IMPORTANCE, DEEP_IMPORTANCE = 0.6, 0.7
"""Default importance of an entry in a model's reply: in normal and in deep consolidation."""
MOST_FACTS = 200
"""Maximum number of entries taken from one reply."""
TEXT_CHARS = 200

LISTS = {
    "facts_about_user": "FactsAboutUser",
    "past_events": "PastEvents",
    "self_beliefs": "SelfBeliefs",
    "objectives": "Objectives",
    "emotions": "Emotions",
    "key_facts": "KeyFacts",
}
"""Kind of item for each key of a model's reply, in the order of storing."""
_KINDS = {"facts": "FactsAboutUser", "preferences": "FactsAboutUser", "explicit": "KeyFacts", "feelings": "Emotions"}
"""Kind of item for each group of phrases; the first group with a phrase in the text decides."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One item that consolidation stores."""

    text: str
    kind: str
    importance: float
    tier: Tier = "long_term"
    tags: tuple[str, ...] = ()
    participant: str | None = None
    sources: tuple[int, ...] = ()
    """Row ids of the messages that the fact was made from."""
    number: int | None = None
    """Number of the message that states the fact, as the model named it."""
    at: datetime | None = None
    other_text: str = ""
    """`text` without the speaker's name, or with the name if `text` lacks it; used to find equal items."""


def window(limit: object, default: int) -> int:
    """Return how many messages to consolidate at once: `limit`, or `default` if it is no number; from 20 to 500."""
    if isinstance(limit, bool) or not isinstance(limit, (int, float)) or limit != limit:
        limit = default
    return int(min(max(limit, WINDOW[0]), WINDOW[1]))


def read_reply(reply: str, *, patterns: Sequence[str], deep: bool = False) -> list[Fact] | None:
    """Parse the first MOST_FACTS facts of a model's reply, in the order of LISTS; None if the reply is unreadable."""
    # deep consolidation asks for fewer lists; `missing` is the importance of a fact without one
    keys, missing = (("key_facts", "facts_about_user"), DEEP_IMPORTANCE) if deep else (tuple(LISTS), IMPORTANCE)
    lists = read_object(reply, keys)
    if lists is None:
        return None
    facts = [fact for key in keys for each in _entries(lists.get(key)) if (fact := _fact(key, each, patterns, missing))]
    return facts[:MOST_FACTS]


def _entries(value: object) -> list[object]:
    if isinstance(value, list):
        return value
    return [value] if isinstance(value, (str, dict)) else []


def _fact(key: str, given: object, patterns: Sequence[str], missing: float) -> Fact | None:
    entry: Mapping[str, Any] = given if isinstance(given, Mapping) else {"text": given}
    names = ("name", "emotion", "text") if key == "emotions" else ("text", "fact", "content", "name")
    text = next((entry[name] for name in names if isinstance(entry.get(name), str)), "")
    text = _cut(" ".join(clean(text).split()))
    if not text or judge_refusal(text, "", patterns=patterns):
        return None
    number = find_id(entry.get("n"))
    tags = tuple(tag for tag in _entries(entry.get("tags")) if isinstance(tag, str) and tag.strip())
    importance = importance_of(entry.get("importance"), missing)
    is_temporary = key == "objectives" and entry.get("temporary") is True
    if key == "emotions":
        score = entry.get("score")
        if isinstance(score, bool) or not isinstance(score, (int, float)) or score != score:
            score = 0.0
        importance, is_temporary = round(min(0.4 + abs(score) / 2, 1.0), 6), True
    return Fact(text, LISTS[key], importance, "session" if is_temporary else "long_term", tags, number=number)


def date_facts(facts: Sequence[Fact], lines: Sequence[Line]) -> list[Fact]:
    """Return facts that a model found in `lines`, each with the time of the line that states it.

    This is the line whose number the model gave, if line and fact share a word. Otherwise it is the line that shares
    most words with the fact (rare words count more); in a tie, the newest line.
    """
    held = [frozenset(words(line.text)) for line in lines]
    rows = Counter(word for each in held for word in each)
    dated = []
    for fact in facts:
        said, named = frozenset(words(fact.text)), (fact.number or 0) - 1
        shared = [sum(1 / rows[word] for word in sorted(said & each)) for each in held]
        *_, best = max((at == named and worth > 0, worth, at == named, at) for at, worth in enumerate(shared))
        dated.append(replace(fact, at=lines[best].at))
    return dated


def choose_facts(lines: Sequence[Line], phrases_for: Callable[[str], Sequence[Phrases]], *, deep: bool) -> list[Fact]:
    """Choose people's statements about themselves and their requests to remember, with the source messages."""
    facts = []
    names = name_speakers(lines) or [""] * len(lines)
    for name, line in zip(names, lines, strict=True):
        if line.is_persona:
            continue
        for statement in remember.read_statements(line.text, phrases_for(line.text)):
            kind = next((kind for group, kind in _KINDS.items() if group in statement.groups), "")
            if kind and not (deep and kind == "Emotions"):
                plain, named = statement.text, f"{line.sender_name}: {statement.text}" if line.sender_name else ""
                text, other = (named, plain) if name else (plain, named)
                fact = Fact(
                    _cut(text), kind, heuristic_importance(plain), "session" if kind == "Emotions" else "long_term",
                    participant=line.participant, sources=(line.row_id,) if line.row_id else (), at=line.at,
                    other_text=_cut(other),
                )  # fmt: skip
                facts.append(fact)
    return facts


def _cut(text: str) -> str:
    return text[:TEXT_CHARS].strip()
