"""Whether something said is worth remembering: phrases by group and language."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from .folding import SPACELESS, clean, fold, is_word_char

WANTED_GROUPS = ("explicit", "facts", "preferences", "feelings")
"""explicit: asks to remember. facts: about the person. preferences: likes and dislikes. feelings: how someone feels."""

REFUSALS = "refusals"
"""The group that wins over all others: asks not to remember."""

GROUPS = (*WANTED_GROUPS, REFUSALS)

Phrases = Mapping[str, Sequence[str]]

_APOSTROPHES = str.maketrans(dict.fromkeys("\u2018\u2019\u201b\u02bc\u00b4`\u2032\uff07", "'"))
_SPACELESS_CHAR = re.compile(f"[{SPACELESS}]")


def phrase_form(text: str) -> str:
    """Return the text as phrases are compared: folded, white space collapsed, every apostrophe straight."""
    # Before folding: NFKC makes a space and a combining accent of the acute accent that many type as apostrophe.
    return " ".join(fold(clean(text).translate(_APOSTROPHES)).split())


def _joined(left: str, right: str) -> bool:
    """Return whether a word goes on from the one character to the other."""
    if not (is_word_char(left) and is_word_char(right)):
        return False
    return not (_SPACELESS_CHAR.match(left) or _SPACELESS_CHAR.match(right))


def _stands_in(phrase: str, text: str) -> bool:
    """Return whether the phrase stands in the text on word boundaries; both in `phrase_form`."""
    at = text.find(phrase)
    while at >= 0:
        end = at + len(phrase)
        starts = at == 0 or not _joined(text[at - 1], phrase[0])
        if starts and (end == len(text) or not _joined(phrase[-1], text[end])):
            return True
        at = text.find(phrase, at + 1)
    return False


@lru_cache(maxsize=64)
def _forms(phrases: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(form for form in map(phrase_form, phrases) if form))


def _holds(form: str, phrases: Sequence[str]) -> bool:
    return any(_stands_in(phrase, form) for phrase in _forms(tuple(phrases)))


def holds_phrase(text: str | None, phrases: Sequence[str]) -> bool:
    """Return whether the text holds one of the phrases on word boundaries."""
    form = phrase_form(text or "")
    return bool(form) and _holds(form, phrases)


def groups_in(text: str | None, phrases: Phrases) -> frozenset[str]:
    """Return the groups, refusals too, of which the text holds a phrase."""
    form = phrase_form(text or "")
    if not form:
        return frozenset()
    return frozenset(group for group in GROUPS if _holds(form, phrases.get(group, ())))


def is_explicit_wish(text: str | None, phrases: Phrases) -> bool:
    """Return whether the text asks to remember: a phrase of the group explicit, and none of refusals."""
    found = groups_in(text, phrases)
    return "explicit" in found and REFUSALS not in found


def should_remember(user_text: str | None, response_text: str | None, phrases: Phrases) -> bool:
    """Return whether an exchange is worth storing: a phrase of a wanted group in either text, no refusal in either."""
    forms = [form for form in map(phrase_form, (user_text or "", response_text or "")) if form]
    if any(_holds(form, phrases.get(REFUSALS, ())) for form in forms):
        return False
    return any(_holds(form, phrases.get(group, ())) for form in forms for group in WANTED_GROUPS)
