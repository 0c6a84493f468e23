"""The error for a value that cannot be used, and the value as messages quote it."""

from __future__ import annotations

import reprlib

_short = reprlib.Repr()
_short.maxstring = _short.maxother = _short.maxlong = 60
_short.maxlevel = 2


class BadValueError(ValueError):
    """A value is of the wrong type or outside its range. `hint` is one more sentence that helps, or blank."""

    def __init__(self, hint: str = "") -> None:
        super().__init__(hint)
        self.hint = hint


def shown(value: object) -> str:
    """Return a value as messages quote it: its `repr`, cut where it is long."""
    try:
        return _short.repr(value)
    except ValueError:  # a whole number of more digits than Python prints
        return f"a {type(value).__name__}"
