"""What is said of a parameter that does not fit, in the project's own sentences: value, what is allowed. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, get_args

from pydantic.fields import FieldInfo

from ..search.rules_arguments import shown
from ..text.hints import hint_name

NO_BODY = "no_body"
"""A problem beside those of pydantic: a body where none is read."""

_TEXTS = frozenset({"new_content", "text", "name", "username", "q", "token", "reason"})
"""Parameters that hold what somebody wrote; their value is never quoted."""

_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "string": "a text",
    "list": "a list",
    "dict": "an object",
    "model": "an object",
    "mapping": "an object",
    "finite": "a finite number",
}
_NUMBERS = ("less_than", "greater_than", "int", "float", "finite")
_OTHERS = {
    "string_too_long": "at most {max_length} characters long",
    "string_too_short": "at least {min_length} characters long",
    "string_pattern_mismatch": "of the pattern {pattern}",
    "too_long": "a list of at most {max_length}",
    "too_short": "a list of at least {min_length}",
    "literal_error": "{expected}",
    "enum": "{expected}",
    "id": "a text or a whole number",
    "time": "an ISO 8601 time such as 2026-03-10T12:00:00Z, or a number of seconds since 1970",
}
_DIGITS = re.compile(r"[+-]?[0-9]{1,30}(\.[0-9]{1,30})?")


class Range(NamedTuple):
    """What a number may be."""

    low: float | None = None
    high: float | None = None
    is_whole: bool = True

    def words(self) -> str:
        """Return it to follow "It must be"."""
        kind = "a whole number" if self.is_whole else "a number"
        if self.low is None and self.high is None:
            return kind
        if self.high is None:
            return f"{kind} of at least {_format_bound(self.low)}"
        most = _format_bound(self.high)
        return f"{kind} of at most {most}" if self.low is None else f"{kind}, {_format_bound(self.low)} to {most}"


def _format_bound(number: float | None) -> str:
    """Return a bound as people write it: 1, not 1.0."""
    return str(int(number)) if number is not None and number == int(number) else str(number)


def find_range(field: FieldInfo | None) -> Range:
    """Return the range a parameter was declared with; of an unknown one nothing is known."""
    if field is None:
        return Range()
    bounds: dict[str, float | None] = {"ge": None, "le": None}
    for each in field.metadata:
        bounds.update({name: getattr(each, name) for name in bounds if getattr(each, name, None) is not None})
    return Range(bounds["ge"], bounds["le"], float not in iter_types(field.annotation))


def iter_types(annotation: Any) -> Iterator[Any]:
    """Yield a type and those it is made of."""
    yield annotation
    for each in get_args(annotation):
        yield from iter_types(each)


def describe_problem(name: str, problem: Mapping[str, Any], known: Range | None = None) -> str:
    """Return the sentences about one problem that the validation found."""
    kind = str(problem.get("type", ""))
    if kind == "missing":
        return f"{name} is missing. It is needed here."
    if kind == "json_invalid":
        return "The body is no JSON. Send an object in valid JSON."
    if kind == NO_BODY:
        return "This path takes no body. Its values are parameters of the address, such as ?dry_run=true."
    if kind == "extra_forbidden":
        hint = hint_name(name.rpartition(".")[2], (problem.get("ctx") or {}).get("known", ()))
        return f"{name} is not known here.{hint} Remove it; the document under openapi.json lists what there is."
    allowed = _describe_allowed(kind, problem.get("ctx") or {}, known)
    return f"{_describe_value(name, problem.get('input'))}. It must be {allowed}."


def field_name(place: Sequence[Any]) -> str:
    """Return a parameter's name: where it stands in the request is left out, numbers of entries are kept."""
    return ".".join(str(part) for part in place[1:]) or "body"


def _describe_value(name: str, value: object) -> str:
    if isinstance(value, bytes) or (name.rpartition(".")[2] in _TEXTS and isinstance(value, str)):
        return f"{name} cannot be used"
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        return f"{name} is {value}"
    return f"{name} is {shown(value)}"


def _describe_allowed(kind: str, facts: Mapping[str, Any], known: Range | None) -> str:
    """Return what may be given, to follow "It must be"."""
    if kind in _OTHERS:
        return _OTHERS[kind].format(**facts)
    if known is not None and kind.startswith(_NUMBERS):
        return known.words()
    return next((words for start, words in _KINDS.items() if kind.startswith(start)), "what openapi.json describes")
