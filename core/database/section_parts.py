"""How a table's rows come along with the last round trip of a prompt: SELECTs of the columns all branches have.

A section of `context` asks with `SectionPart`s and gets `SectionRow`s back (`prompt.sections`). Values of keys,
JSON and times arrive as the driver gives them, since a UNION keeps no types: `from_key`, `read_texts`, `read_object`
and `read_time` read them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Integer, literal_column, null, type_coerce
from sqlalchemy.types import NullType

from .statements import Part

FIRST = 20
"""Numbers of section parts begin here; those below are the search's sources and the history's lines."""
_TEXTS = ("text0", "text1", "text2", "text3", "folded")
_RAW = ("tags", "digest", "conversation", "sender", "message", "at")


@dataclass(frozen=True, slots=True)
class SectionPart:
    """One SELECT that joins the prompt's last statement."""

    number: int
    """Names the part among all parts of all sections; the first column of its rows."""
    select: Callable[[str], Part]
    """Server family to the compiled SELECT; cached by whoever makes it (`functools.lru_cache`)."""
    values: Mapping[str, Any]
    """What it binds, beside `persona`, `audiences`, `local_only` and `now`, which every part may use."""
    source: str
    """Table named in the report when it fails."""
    of_persona: bool = False
    """Its rows stand in no audience: it is read though the scope sees no row of any."""


class SectionRow(NamedTuple):
    """One row of a part. What the part does not bring is None."""

    number: int
    id: Any
    text0: Any
    text1: Any
    text2: Any
    text3: Any
    folded: Any
    """A fifth text or a small number."""
    tags: Any
    digest: Any
    conversation: Any
    sender: Any
    message: Any
    at: Any


def columns(number: int, row_id: Any, *, texts: Sequence[Any] = (), extra: Any = None, **raw: Any) -> list[Any]:
    """Return the thirteen columns of a part.

    Args:
        number: of the part.
        row_id: column or expression that is a whole number.
        texts: up to four text columns, text0 to text3.
        extra: `folded`, a fifth text or a small number.
        raw: any of tags, digest, conversation, sender, message, at: columns of any type, brought as they are stored.

    >>> len(columns(FIRST, literal_column("1")))
    13
    """
    unknown = set(raw) - set(_RAW)
    if unknown or len(texts) > 4 or number < FIRST:
        raise TypeError(f"A section part takes 4 texts and {', '.join(_RAW)}, and a number from {FIRST}.")
    filled = [*texts, *[None] * (4 - len(texts)), extra]
    return [
        literal_column(str(number), Integer()).label("source"),
        row_id.label("id"),
        *((null() if c is None else c).label(n) for n, c in zip(_TEXTS, filled, strict=True)),
        *((null() if raw.get(n) is None else type_coerce(raw[n], NullType())).label(n) for n in _RAW),
    ]
