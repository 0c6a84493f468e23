"""The kinds of flag values that hold several texts: lists, and lists under group names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .flag_types import BadValueError, Frozen, Kind, Text, shown

_CODES = (
    "af ar bg bn br ca cs da de el en eo es et eu fa fi fr ga gl gu ha he hi hr hu hy id it ja ko ku la lt lv mr ms nl "
    "no pl pt ro ru sk sl so st sv sw th tl tr uk ur vi yo zh zu"
)
LANGUAGE_CODES = frozenset(_CODES.split())
"""The languages stopwordsiso has stop words for; a test compares the two, so that no flag loads the package."""


class Texts(Kind):
    """A list of texts, none blank; kept as tuple. As text: a JSON or YAML list, or texts between commas."""

    def __init__(self, options: frozenset[str] | None = None, meaning: str = "a list of texts, none blank") -> None:
        self.options, self.meaning = options, meaning

    def read(self, value: object) -> tuple[str, ...]:
        if not isinstance(value, (list, tuple)):
            raise BadValueError
        for item in value:
            if not isinstance(item, str):
                raise BadValueError(f"Put quotes around {shown(item)} if it is meant as text.")
            if not Text().read(item).strip() or (self.options is not None and item not in self.options):
                raise BadValueError(f"{shown(item)} is not possible.")
        return tuple(dict.fromkeys(value))

    def read_text(self, text: str) -> tuple[str, ...]:
        if text.lstrip().startswith("["):
            return self.read(_structure(text))
        return self.read([part.strip() for part in text.split(",") if part.strip()])

    def write_text(self, value: Any) -> str:
        return json.dumps(list(value), ensure_ascii=False)

    def allowed(self) -> str:
        return self.meaning

    def schema(self) -> dict[str, Any]:
        item: dict[str, Any] = {"type": "string", "pattern": r"\S"}
        return {"type": "array", "items": {"enum": sorted(self.options)} if self.options else item}


class Groups(Kind):
    """Lists of texts under some of the names in `names`; kept as a Frozen mapping of tuples."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names

    def read(self, value: object) -> Frozen:
        if not isinstance(value, Mapping):
            raise BadValueError
        unknown = [name for name in value if name not in self.names]
        if unknown:
            raise BadValueError(f"{shown(unknown[0])} is no group.")
        return Frozen({name: Texts().read(texts) for name, texts in value.items()})

    def read_text(self, text: str) -> Frozen:
        return self.read(_structure(text))

    def write_text(self, value: Any) -> str:
        return json.dumps({name: list(texts) for name, texts in value.items()}, ensure_ascii=False)

    def allowed(self) -> str:
        return f"lists of texts under {', '.join(self.names)}"

    def schema(self) -> dict[str, Any]:
        each = {name: Texts().schema() for name in self.names}
        return {"type": "object", "properties": each, "additionalProperties": False}


def _structure(text: str) -> object:
    """Return what a JSON or YAML text holds; BadValueError where it is neither."""
    from .file import read_yaml_value  # noqa: PLC0415 - only lists in variables need it

    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return read_yaml_value(text)
