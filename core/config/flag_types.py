"""What the value of a flag may be: one class per kind of value, and the two ways a value comes in."""

from __future__ import annotations

import json
import math
import os
import re
import reprlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from ..text.stems import SNOWBALL
from ..text.words import STOP_WORD_LANGUAGES

DOTS = "......"
"""What is shown in place of a secret."""

_WHOLE = re.compile(r"[+-]?[0-9]{1,30}")
_NUMBER = re.compile(r"[+-]?([0-9]{1,30}(\.[0-9]{0,30})?|\.[0-9]{1,30})([eE][+-]?[0-9]{1,3})?")
_SWITCH_WORDS = {
    word: state for state, words in ((True, "1 true yes on"), (False, "0 false no off")) for word in words.split()
}
_SURROGATES = re.compile("[\ud800-\udfff]")


class BadValueError(ValueError):
    """A value is of the wrong type or outside its range. `hint` is one more sentence that helps, or blank."""

    def __init__(self, hint: str = "") -> None:
        super().__init__(hint)
        self.hint = hint


_short = reprlib.Repr()
_short.maxstring = _short.maxother = _short.maxlong = 60
_short.maxlevel = 2


def shown(value: object) -> str:
    """Return a value as messages quote it: its `repr`, cut where it is long."""
    try:
        return _short.repr(value)
    except ValueError:  # a whole number of more digits than Python prints
        return f"a {type(value).__name__}"


class Frozen(dict[str, Any]):
    """A dictionary that cannot be changed, and can be hashed where its values can."""

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("Settings cannot be changed.")

    __setitem__ = __delitem__ = __ior__ = update = setdefault = pop = popitem = clear = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return Frozen, (dict(self),)


class Kind:
    """One kind of value. Plain classes: ten dataclasses would take 5 ms of every start."""

    def read(self, value: object) -> Any:
        """Return the value as it is kept; raise BadValueError."""
        raise NotImplementedError

    def read_text(self, text: str) -> Any:
        """Return the value of a text from the environment; raise BadValueError."""
        return self.read(text)

    def write_text(self, value: Any) -> str:
        """Return the text that `read_text` reads back as `value`."""
        return str(value)

    def allowed(self) -> str:
        """Return what may be given, to follow "It must be"."""
        raise NotImplementedError


class Switch(Kind):
    """On or off: `1`, `0` or a bool; kept as bool."""

    def read(self, value: object) -> bool:
        if isinstance(value, bool) or (isinstance(value, int) and value in (0, 1)):
            return bool(value)
        raise BadValueError

    def read_text(self, text: str) -> bool:
        word = text.strip().lower()
        if word not in _SWITCH_WORDS:
            raise BadValueError
        return _SWITCH_WORDS[word]

    def write_text(self, value: Any) -> str:
        return "1" if value else "0"

    def allowed(self) -> str:
        return "a switch, 0 or 1"


class Whole(Kind):
    """A whole number from `low` to `high`; a bool or a number with a decimal point is none."""

    def __init__(self, low: int, high: int, unit: str = "") -> None:
        self.low, self.high, self.unit = low, high, unit

    def read(self, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not self.low <= value <= self.high:
            raise BadValueError
        return value

    def read_text(self, text: str) -> int:
        if not _WHOLE.fullmatch(text.strip()):
            raise BadValueError
        return self.read(int(text))

    def allowed(self) -> str:
        return f"a whole number{f' of {self.unit}' if self.unit else ''}, {self.low} to {self.high}"


class OptionalWhole(Whole):
    """A whole number from `low` to `high`, or nothing; kept as None then."""

    def read(self, value: object) -> int | None:  # type: ignore[override]
        return None if value is None else super().read(value)

    def read_text(self, text: str) -> int | None:  # type: ignore[override]
        return super().read_text(text) if text.strip() else None

    def write_text(self, value: Any) -> str:
        return "" if value is None else str(value)


class Number(Kind):
    """A finite number from `low` to `high`, or one of `also`; kept as float."""

    def __init__(self, low: float, high: float, unit: str = "", also: tuple[float, ...] = ()) -> None:
        self.low, self.high, self.unit, self.also = low, high, unit, also

    def read(self, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise BadValueError
        if not (self.low <= value <= self.high or value in self.also) or not math.isfinite(value):
            raise BadValueError
        return float(value)

    def read_text(self, text: str) -> float:
        if not _NUMBER.fullmatch(text.strip()):
            raise BadValueError
        return self.read(float(text))

    def write_text(self, value: Any) -> str:
        return repr(float(value)).removesuffix(".0")

    def allowed(self) -> str:
        also = "".join(f", or {self.write_text(value)}" for value in self.also)
        unit = f" of {self.unit}" if self.unit else ""
        return f"a number{unit}, {self.write_text(self.low)} to {self.write_text(self.high)}{also}"


class Choice(Kind):
    """One of a few words, spelt exactly."""

    def __init__(self, options: tuple[str, ...]) -> None:
        self.options = options

    def read(self, value: object) -> str:
        if not isinstance(value, str) or value not in self.options:
            raise BadValueError
        return value

    def read_text(self, text: str) -> str:
        return self.read(text.strip())

    def allowed(self) -> str:
        return " or ".join(self.options)


class Text(Kind):
    """A text without NUL and lone surrogates."""

    def __init__(self, meaning: str = "a text", limit_bytes: int | None = None) -> None:
        self.meaning = meaning
        self.limit_bytes = limit_bytes

    def read(self, value: object) -> str:
        if not isinstance(value, str) or "\x00" in value or _SURROGATES.search(value):
            raise BadValueError
        if self.limit_bytes is not None and len(value.encode()) > self.limit_bytes:
            raise BadValueError
        return value

    def allowed(self) -> str:
        return self.meaning


class Key(Text):
    """An id: not blank, at most `limit_bytes` bytes; a whole number is written in decimal."""

    def __init__(self, limit_bytes: int = 64) -> None:
        super().__init__(f"an id of at most {limit_bytes} bytes, not blank", limit_bytes)
        self.digits = limit_bytes

    def read(self, value: object) -> str:
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**self.digits:
            value = str(value)
        text = Text.read(self, value)
        if not text.strip():
            raise BadValueError
        return text


class EmbedderName(Text):
    """What makes vectors of texts: nothing, or the address of a server."""

    ADDRESS = ("http://", "https://")

    def read(self, value: object) -> str:
        name = Text.read(self, value).strip()
        if name and not name.startswith(self.ADDRESS):
            raise BadValueError("An object of your own is passed in code: core.db.configure(embedder=...).")
        return name

    def allowed(self) -> str:
        return "an address such as http://127.0.0.1:11434/v1, or blank for none"


ZONE_CHARS = 100
"""Most characters of a zone's name; the longest there is has 32."""


class Zone(Text):
    """The IANA name of a time zone this machine knows. `UTC` needs no zone data."""

    def read(self, value: object) -> str:
        from zoneinfo import ZoneInfo  # noqa: PLC0415 - only other zones than UTC need it

        text = Text.read(self, value)
        if len(text) > ZONE_CHARS:  # each slash is one more package to import, and hundreds are a RecursionError
            raise BadValueError
        if text != "UTC":
            try:
                ZoneInfo(text)
            except (KeyError, ValueError, OSError):
                raise BadValueError from None
        return text

    def allowed(self) -> str:
        return "the name of a time zone such as Europe/Rome"


class Folder(Kind):
    """A folder that exists, or nothing; kept as Path. `~` is the home folder."""

    def read(self, value: object) -> Path | None:
        if value is None or value == "":
            return None
        if not isinstance(value, (str, os.PathLike)):
            raise BadValueError
        try:
            path = Path(value).expanduser()
            found = path.is_dir()
        except (ValueError, TypeError, OSError, RuntimeError):  # NUL, bytes path, no home folder
            raise BadValueError from None
        if not found:
            raise BadValueError("There is no such folder.")
        return path

    def write_text(self, value: Any) -> str:
        return "" if value is None else str(value)

    def allowed(self) -> str:
        return "the path of a folder that exists"


LANGUAGE_CODES = STOP_WORD_LANGUAGES | frozenset(SNOWBALL)
"""The languages whose stop words or word endings are known."""


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


def _structure(text: str) -> object:
    """Return what a JSON or YAML text holds; BadValueError where it is neither."""
    from .file import read_yaml_value  # noqa: PLC0415 - only lists in variables need it

    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return read_yaml_value(text)
