"""Values of forms and addresses, read into what doors take."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

PAGE_SIZES = (25, 50, 100)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def parse_ids(values: Iterable[str]) -> list[int]:
    """Return ids; several may stand in one text with commas between."""
    parts = [part.strip() for value in values for part in value.split(",")]
    return [int(part) for part in parts if part.isascii() and part.isdigit() and len(part) < 20]


def parse_words(text: str) -> list[str]:
    """Return what stands between commas, without blanks."""
    return [part.strip() for part in text.split(",") if part.strip()]


def parse_whole(text: str, name: str, default: int = 0) -> int:
    """Return a whole number, the default for a blank text."""
    if not text.strip():
        return default
    try:
        return int(text.strip())
    except ValueError:
        raise ValueError(f"{name} is {text[:40]!r}. It must be a whole number.") from None


def parse_offset(text: str) -> int:
    """Return how many rows are passed over, 0 for a blank text or a number below."""
    return max(0, parse_whole(text, "offset"))


def parse_fraction(text: str, name: str) -> float | None:
    """Return a number, None for a blank text."""
    if not text.strip():
        return None
    try:
        return float(text.strip().replace(",", "."))
    except ValueError:
        raise ValueError(f"{name} is {text[:40]!r}. It must be a number.") from None


def parse_day(text: str, *, end: bool = False) -> str | None:
    """Return the first or last instant of a day as ISO text, None for a blank text; what is no day stays as it is."""
    given = text.strip()
    if not given:
        return None
    return f"{given}T23:59:59.999999" if end and _DATE.fullmatch(given) else given


def choose_word(text: str, allowed: Sequence[str], default: str) -> str:
    """Return one of the allowed words, the default for another."""
    return text if text in allowed else default


def parse_page_size(text: str) -> int:
    """Return how many rows a page has."""
    return int(text) if text in {str(size) for size in PAGE_SIZES} else 50
