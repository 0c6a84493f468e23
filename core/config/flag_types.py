"""The kinds of flag values: one class per kind, which validates a value or its text."""

import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from ..base import yaml_text
from ..base.hints import shown
from ..text.stems import SNOWBALL
from ..text.words import STOP_WORD_LANGUAGES

DOTS = "......"
"""Text shown in place of a secret."""

_WHOLE = re.compile(r"[+-]?[0-9]{1,30}")
_NUMBER = re.compile(r"[+-]?([0-9]{1,30}(\.[0-9]{0,30})?|\.[0-9]{1,30})([eE][+-]?[0-9]{1,3})?")
_SWITCH_WORDS = dict.fromkeys(("1", "true", "yes", "on"), True) | dict.fromkeys(("0", "false", "no", "off"), False)
_SURROGATES = re.compile("[\ud800-\udfff]")


class BadValueError(ValueError):
    """Raised for a value of the wrong type or out of range. Its message is an extra sentence of help, or ""."""


class Frozen(dict[str, Any]):
    """Read-only dictionary; hashable if its values are."""

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("Settings cannot be changed.")

    __setitem__ = __delitem__ = __ior__ = update = setdefault = pop = popitem = clear = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return Frozen, (dict(self),)


class Kind:
    """One kind of value. Kinds are plain classes: ten dataclasses would add 5 ms to every start."""

    allowed: str
    """End of the sentence "It must be ...", which describes the allowed values."""

    def read(self, value: object) -> Any:
        """Convert a value, or its text, to the stored type; raise BadValueError if it is invalid."""
        raise NotImplementedError

    def write_text(self, value: Any) -> str:
        """Format the value so that `read` parses it again."""
        return "" if value is None else str(value)


class Switch(Kind):
    """On or off: a bool, `1`, `0`, or a word such as `yes`; stored as bool."""

    allowed = "a switch, 0 or 1"

    def read(self, value: object) -> bool:
        state = _SWITCH_WORDS.get(value.strip().lower()) if isinstance(value, str) else value
        if not isinstance(state, int) or state not in (0, 1):
            raise BadValueError
        return bool(state)

    def write_text(self, value: Any) -> str:
        return "1" if value else "0"


class Number(Kind):
    """A number from `low` to `high`: an integer or a finite float; None if optional. A bool is an error."""

    def __init__(
        self, low: float, high: float, unit: str = "", *, is_whole: bool = True, is_optional: bool = False
    ) -> None:
        self.low, self.high = low, high
        self.is_whole, self.is_optional = is_whole, is_optional
        kind = "a whole number" if is_whole else "a number"
        span = f"{self.write_text(low)} to {self.write_text(high)}"
        self.allowed = f"{kind}{f' of {unit}' if unit else ''}, {span}"

    def read(self, value: object) -> float | None:
        if isinstance(value, str):
            digits = value.strip()
            if digits and not (_WHOLE if self.is_whole else _NUMBER).fullmatch(digits):
                raise BadValueError
            value = None if not digits else int(digits) if self.is_whole else float(digits)
        if value is None and self.is_optional:
            return None
        if isinstance(value, bool) or not isinstance(value, int if self.is_whole else (int, float)):
            raise BadValueError
        if not self.low <= value <= self.high:  # false for nan, too
            raise BadValueError
        return value if self.is_whole else float(value)

    def write_text(self, value: Any) -> str:
        if value is None:
            return ""
        return str(value) if self.is_whole else repr(float(value)).removesuffix(".0")


class Choice(Kind):
    def __init__(self, options: tuple[str, ...]) -> None:
        self.options = options
        self.allowed = " or ".join(options)

    def read(self, value: object) -> str:
        word = value.strip().lower() if isinstance(value, str) else value
        if word not in self.options:
            raise BadValueError
        return str(word)


class Text(Kind):
    """A text without NUL and lone surrogates."""

    allowed = "a text"
    limit_bytes: int | None = None

    def __init__(self, allowed: str = "", limit_bytes: int | None = None) -> None:
        self.allowed = allowed or self.allowed
        self.limit_bytes = limit_bytes or self.limit_bytes

    def read(self, value: object) -> str:
        if not isinstance(value, str) or "\x00" in value or _SURROGATES.search(value):
            raise BadValueError
        if self.limit_bytes is not None and len(value.encode()) > self.limit_bytes:
            raise BadValueError
        return value


class Key(Text):
    """An id: not blank, at most 64 bytes; an integer becomes its decimal text."""

    allowed = "an id of at most 64 bytes, not blank"
    limit_bytes = 64

    def read(self, value: object) -> str:
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**64:
            value = str(value)
        text = super().read(value)
        if not text.strip():
            raise BadValueError
        return text


class EmbedderName(Text):
    """The address of an embedding server, or blank."""

    allowed = "an address such as http://127.0.0.1:11434/v1, or blank for none"

    def read(self, value: object) -> str:
        name = super().read(value).strip()
        if name and not name.startswith(("http://", "https://")):
            raise BadValueError("An object of your own is passed in code: prompt_engine.db.configure(embedder=...).")
        return name


class Zone(Text):
    """The IANA name of a time zone that this machine knows. `UTC` needs no zone data."""

    allowed = "the name of a time zone such as Europe/Rome"
    limit_bytes = 100  # the longest name has 32; hundreds of slashes would cause a RecursionError in zoneinfo

    def read(self, value: object) -> str:
        from zoneinfo import ZoneInfo, available_timezones  # noqa: PLC0415 - only other zones than UTC need it

        text = super().read(value)
        try:
            if text != "UTC":
                ZoneInfo(text)
        except (KeyError, ValueError, OSError):
            lacks = "" if available_timezones() else "This machine knows no time zones: run `pip install tzdata`."
            raise BadValueError(lacks) from None
        return text


class Folder(Kind):
    """An existing folder, or None; stored as Path. `~` means the home folder."""

    allowed = "the path of a folder that exists"

    def read(self, value: object) -> Path | None:
        if value is None or value == "":
            return None
        if not isinstance(value, (str, os.PathLike)):
            raise BadValueError
        try:
            path = Path(value).expanduser()
            is_there = path.is_dir()
        except (ValueError, TypeError, OSError, RuntimeError):  # NUL in the path, a path in bytes, or no home folder
            raise BadValueError from None
        if not is_there:
            raise BadValueError("There is no such folder.")
        return path


LANGUAGE_CODES = STOP_WORD_LANGUAGES | SNOWBALL | {"vi"}
"""Languages with known stop words or stems."""


class Texts(Kind):
    """A list of texts, none blank; stored as a tuple. Written as a text: a JSON or YAML list, or split by commas."""

    def __init__(self, options: frozenset[str] | None = None, allowed: str = "a list of texts, none blank") -> None:
        self.options, self.allowed = options, allowed

    def read(self, value: object) -> tuple[str, ...]:
        if isinstance(value, str):
            parts = (part.strip() for part in value.split(","))
            value = _read_structure(value) if value.lstrip().startswith("[") else [part for part in parts if part]
        if not isinstance(value, (list, tuple)):
            raise BadValueError
        for item in value:
            if not isinstance(item, str):
                raise BadValueError(f"Put quotes around {shown(item)} if it is meant as text.")
            if not Text().read(item).strip() or (self.options is not None and item not in self.options):
                raise BadValueError(f"{shown(item)} is not possible.")
        return tuple(dict.fromkeys(value))

    def write_text(self, value: Any) -> str:
        return json.dumps(list(value), ensure_ascii=False)


class Groups(Kind):
    """A mapping whose keys are among the given names and whose values are lists of texts; stored as Frozen."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.allowed = f"lists of texts under {', '.join(names)}"

    def read(self, value: object) -> Frozen:
        value = _read_structure(value) if isinstance(value, str) else value
        if not isinstance(value, Mapping) or any(isinstance(texts, str) for texts in value.values()):
            raise BadValueError
        unknown = [name for name in value if name not in self.names]
        if unknown:
            raise BadValueError(f"{shown(unknown[0])} is no group.")
        return Frozen({name: Texts().read(texts) for name, texts in value.items()})

    def write_text(self, value: Any) -> str:
        return json.dumps({name: list(texts) for name, texts in value.items()}, ensure_ascii=False)


def _read_structure(text: str) -> object:
    with suppress(ValueError, RecursionError):
        return json.loads(text)
    try:
        return yaml_text.read_value(text)
    except yaml_text.YamlError:
        raise BadValueError("It is no YAML.") from None
