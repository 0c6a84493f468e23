"""Values of forms and addresses, read into what doors take. Pure.

A value that cannot be read is told in the words of the page; ranges are the doors' own to check.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

PAGE_SIZES = (25, 50, 100)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def parse_ids(values: Iterable[str]) -> list[int]:
    """Return ids; several may stand in one text with commas between.

    >>> parse_ids(["7", "8,9"]), parse_ids(["x"])
    ([7, 8, 9], [])
    """
    parts = [part.strip() for value in values for part in value.split(",")]
    return [int(part) for part in parts if part.isascii() and part.isdigit() and len(part) < 20]


def parse_words(text: str) -> list[str]:
    """Return what stands between commas, without blanks.

    >>> parse_words("cat, tea , ,")
    ['cat', 'tea']
    """
    return [part.strip() for part in text.split(",") if part.strip()]


def parse_whole(text: str, name: str, default: int = 0) -> int:
    """Return a whole number, the default for a blank text.

    Raises:
        ValueError: it is none.

    >>> parse_whole(" -5 ", "trust"), parse_whole("", "trust", 3)
    (-5, 3)
    """
    if not text.strip():
        return default
    try:
        return int(text.strip())
    except ValueError:
        raise ValueError(f"{name} is {text[:40]!r}. It must be a whole number.") from None


def parse_offset(text: str) -> int:
    """Return how many rows are passed over, 0 for a blank text or a number below.

    Raises:
        ValueError: it is no whole number.

    >>> parse_offset("50"), parse_offset(""), parse_offset("-3")
    (50, 0, 0)
    """
    return max(0, parse_whole(text, "offset"))


def parse_fraction(text: str, name: str) -> float | None:
    """Return a number, None for a blank text.

    Raises:
        ValueError: it is none.

    >>> parse_fraction("0,5", "importance"), parse_fraction("", "importance")
    (0.5, None)
    """
    if not text.strip():
        return None
    try:
        return float(text.strip().replace(",", "."))
    except ValueError:
        raise ValueError(f"{name} is {text[:40]!r}. It must be a number.") from None


def parse_day(text: str, *, end: bool = False) -> str | None:
    """Return the first or last instant of a day as ISO text, None for a blank text; what is no day stays as it is.

    >>> parse_day("2026-03-10"), parse_day("2026-03-10", end=True), parse_day("")
    ('2026-03-10', '2026-03-10T23:59:59.999999', None)
    """
    given = text.strip()
    if not given:
        return None
    return f"{given}T23:59:59.999999" if end and _DATE.fullmatch(given) else given


def choose_word(text: str, allowed: Sequence[str], default: str) -> str:
    """Return one of the allowed words, the default for another.

    >>> choose_word("yaml", ["json", "yaml"], "json"), choose_word("exe", ["json"], "json")
    ('yaml', 'json')
    """
    return text if text in allowed else default


def parse_page_size(text: str) -> int:
    """Return how many rows a page has.

    >>> parse_page_size("100"), parse_page_size("7")
    (100, 50)
    """
    return int(text) if text in {str(size) for size in PAGE_SIZES} else 50
