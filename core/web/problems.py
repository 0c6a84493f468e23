"""Sentences about invalid parameters: the name, a given number, and pydantic's text. Pure."""

import re
from collections.abc import Mapping
from typing import Any

from pydantic import BeforeValidator
from pydantic_core import PydanticKnownError

from ..base.hints import hint_name

NO_BODY = "no_body"
"""Type of a validation problem that this package adds: a body was sent to a route that reads no body."""


def _refuse_bool(value: Any) -> Any:
    if isinstance(value, bool):
        raise PydanticKnownError("int_type")
    return value


NOT_BOOL = BeforeValidator(_refuse_bool)
"""Validator for numbers that rejects booleans: pydantic would convert true to 1."""

_NUMBER = re.compile(r"[+-]?[0-9]{1,30}(\.[0-9]{1,30})?")


def describe_problem(name: str, problem: Mapping[str, Any]) -> str:
    """Describe one validation problem in sentences, which never quote a given text.

    >>> describe_problem("limit", {"type": "less_than_equal", "input": 501, "msg": "Input should be less than 500"})
    'limit is 501: input should be less than 500.'
    """
    kind, given = str(problem.get("type", "")), problem.get("input")
    if kind == "missing":
        return f"{name} is missing. It is needed here."
    if kind == "json_invalid":
        return "The body is no JSON. Send an object in valid JSON."
    if kind in ("model_attributes_type", "dict_type") and name == "body":
        return "The body is no JSON object. Send one, with the header Content-Type: application/json."
    if kind == NO_BODY:
        return "This path takes no body. Its values are parameters of the address, such as ?dry_run=true."
    if kind == "extra_forbidden":
        hint = hint_name(name.rpartition(".")[2], (problem.get("ctx") or {}).get("known", ()))
        return f"{name} is not known here.{hint or ' Leave it out.'}"
    is_number = isinstance(given, (bool, int, float)) and abs(given) < 1e30
    is_number = is_number or (isinstance(given, str) and _NUMBER.fullmatch(given) is not None)
    said = str(problem.get("msg", "it does not fit")).rstrip(".")
    return f"{name}{f' is {given}' if is_number else ''}: {said[:1].lower()}{said[1:]}."
