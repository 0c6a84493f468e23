"""What is said about a command line that cannot be understood: the option as it is typed, the value, what is allowed.

Called by `cli.app`. The library below tells a wrong value in its own words, which differ between its versions.
"""

from __future__ import annotations

import re
from typing import Any

_WHOLE, _NUMBER = "a whole number", "a number"
_KINDS = {
    "int_parsing": _WHOLE,
    "int_from_float": _WHOLE,
    "int_parsing_size": _WHOLE,
    "float_parsing": _NUMBER,
    "greater_than_equal": "at least {ge}",
    "less_than_equal": "at most {le}",
}
_PATTERNS = (
    (re.compile(r"(?P<value>.*?) is not a valid int"), _WHOLE),
    (re.compile(r"(?P<value>.*?) is not a valid float"), _NUMBER),
    (re.compile(r"(?P<value>.*?) is not in the range (?P<what>.*?)\.?$"), "in the range {what}"),
    (re.compile(r"(?:Value error, )?(?P<value>.*?) is not one of (?P<what>.*?)\.?$"), "one of {what}"),
)
_MOST_SHOWN = 60


def sentence(error: Any) -> str:
    """Return what is wrong with a command line, without a full stop at the end.

    Args:
        error: what the command-line library raised.
    """
    said = str(getattr(error, "message", None) or "")
    name = _name(getattr(error, "param", None))
    told = _by_cause(error) or _by_text(said)
    if name and told:
        return f"{name} is {told[0]}. It must be {told[1]}"
    return str(error.format_message()).removeprefix("Invalid value: ").rstrip(" .")


def _name(param: Any) -> str:
    """Return an option by its long name, an argument as the help shows it."""
    options = [option for option in getattr(param, "opts", ()) if option.startswith("-")]
    if options:
        return str(max(options, key=len))
    return str(getattr(param, "metavar", None) or getattr(param, "name", None) or "").strip("[]").upper()


def _by_cause(error: Any) -> tuple[str, str] | None:
    """Return value and what is allowed by the facts that the checking of types left."""
    cause = error.__cause__ or error.__context__
    facts = cause.errors()[0] if hasattr(cause, "errors") else {}
    allowed = _KINDS.get(facts.get("type", ""))
    return None if allowed is None else (_shown(str(facts["input"])), allowed.format(**facts.get("ctx", {})))


def _by_text(said: str) -> tuple[str, str] | None:
    """Return value and what is allowed by the library's sentence.

    >>> _by_text("Value error, 'b' is not one of 'relevance', 'recency'.")
    ("'b'", 'one of relevance, recency')
    >>> _by_text("'x' is not a valid integer range."), _by_text("0 is not in the range x>=1.")
    (("'x'", 'a whole number'), ("'0'", 'in the range x>=1'))
    """
    for pattern, allowed in _PATTERNS:
        found = pattern.match(said)
        if found:
            what = found.groupdict().get("what", "").replace("'", "")
            return _shown(found["value"].strip("'")), allowed.format(what=what)
    return None


def _shown(value: str) -> str:
    return repr(value if len(value) <= _MOST_SHOWN else value[: _MOST_SHOWN - 3] + "...")
