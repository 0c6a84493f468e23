"""Which message recaps fit, and which messages the scenes hide."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, get_args

INCLUDED = "Recap of message(s)"
"""Value of `include` of a recap that is shown."""

DEFAULT_PERCENT = 10
Reason = Literal["", "program", "excluded", "user", "thought", "system", "narrator", "disabled", "short"]
"""program: the program's own system message. excluded: marked `exclude`. user, thought, system, narrator: its role.
disabled: its character is disabled in the group. short: fewer tokens than MESSAGE_LENGTH_THRESHOLD."""

Provenance = Literal["model", "extract", "manual", "import"]
"""model: a model wrote it. extract: chosen from the text. manual: a person or the host. import: from a file."""

Ranges = tuple[tuple[int, int], ...]
"""First and last index of each stretch, rising."""


def check_provenance(provenance: str) -> None:
    """Raise ValueError unless a text may be from there."""
    if provenance not in get_args(Provenance):
        raise ValueError(f"provenance is {str(provenance)[:40]!r}. It must be model, extract, manual or import.")


# What fits


def limit_tokens(limit: int, kind: Literal["percent", "absolute"], context_tokens: int) -> int:
    """Return how many tokens recaps may take: a share of the context rounded down, or the number itself."""
    if kind == "absolute":
        return limit
    return context_tokens * (limit if limit <= 100 else DEFAULT_PERCENT) // 100


def choose(candidates: Iterable[tuple[int, int]], limit: int, *, separator_tokens: int = 0) -> tuple[int, ...]:
    """Return the row ids of the recaps that fit, newest first; a candidate is `(row id, tokens)`."""
    return tuple(_iter_fitting(candidates, limit, separator_tokens)) if limit > 0 else ()


def _iter_fitting(candidates: Iterable[tuple[int, int]], limit: int, separator_tokens: int) -> Iterator[int]:
    total = -separator_tokens
    for row_id, tokens in candidates:
        total += tokens + separator_tokens
        if total > limit:
            return
        yield row_id


def concatenate(memories: Iterable[str]) -> str:
    """Return recaps as they are presented: oldest first, one a line; their own line breaks become a space."""
    return "\n".join(filter(None, (" ".join(filter(None, map(str.strip, text.splitlines()))) for text in memories)))


# What is hidden: the messages of scenes before the newest ones


class HideRanges(NamedTuple):
    """What is to be changed; both empty when all is as it should be."""

    hide: Ranges = ()
    show: Ranges = ()


def visible_start(breaks: Sequence[int], count: int) -> int | None:
    """Return the index of the first message that is shown, None if nothing is to be changed."""
    if count < 0:
        return None
    if not breaks or len(breaks) < count:
        return 0
    return breaks[len(breaks) - max(count, 1)] + 1


def plan_hiding(breaks: Sequence[int], count: int, hidden: Sequence[bool | None]) -> HideRanges:
    """Return the changes that hide everything before the newest scenes and show the rest."""
    start = visible_start(breaks, count)
    if start is None:
        return HideRanges()
    return HideRanges(
        ranges(at for at, is_hidden in enumerate(hidden[:start]) if is_hidden is False),
        ranges(at for at, is_hidden in enumerate(hidden[start:], start) if is_hidden),
    )


def last_hidden_scene(breaks: Sequence[int], hidden: Sequence[bool | None]) -> int | None:
    """Return the newest visible scene break up to which everything came in hidden: scenes hid that, nobody by hand."""
    end = next((at for at, is_hidden in enumerate(hidden) if is_hidden is not None), len(hidden))
    return max((at for at in breaks if at < end), default=None)


def ranges(indexes: Iterable[int]) -> Ranges:
    """Return numbers as contiguous ranges in numeric order."""
    stretches: list[tuple[int, int]] = []
    for index in sorted(set(indexes)):
        if stretches and index == stretches[-1][1] + 1:
            stretches[-1] = (stretches[-1][0], index)
        else:
            stretches.append((index, index))
    return tuple(stretches)
