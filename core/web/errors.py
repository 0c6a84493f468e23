"""Map every failure to one error response: status, error code and sentence."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from fastapi.exceptions import RequestValidationError
from fastapi.routing import iter_route_contexts
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.routing import Match
from starlette.types import Scope

from .. import errors
from ..base import logs
from .problems import describe_problem


class ErrorAnswer(BaseModel):
    """The answer of a failed request. It never contains a stored text or a traceback."""

    error: str = Field(description="Error code for programs, one word.", examples=["not_found"])
    message: str = Field(
        description="Error text for people: the problem, the allowed values, and what to do.",
        examples=["limit is 501. It must be a whole number, 1 to 500."],
    )
    fields: list[str] = Field(default=[], description="Names of the wrong parameters.", examples=[["limit"]])


STATUS: tuple[tuple[type[errors.CoreError], int, str], ...] = (
    (errors.ItemNotFoundError, 404, "not_found"),
    (errors.MessageError, 422, "bad_value"),
    (errors.ScopeError, 422, "bad_value"),
    (errors.PromptTooLargeError, 422, "prompt_too_large"),
    (errors.TransferError, 400, "wrong_shape"),
    (errors.ModelError, 503, "model"),
    (errors.ConfigError, 503, "configuration"),
    (errors.StoreError, 503, "database"),
    (errors.CoreError, 503, "failed"),
)
"""Error classes with their status and code; the first class that matches an error counts."""

WORDS = {
    400: "wrong_shape", 401: "no_token", 403: "forbidden", 404: "not_found", 405: "method", 408: "too_slow",
    413: "too_large", 421: "foreign_host", 422: "bad_value", 503: "disabled",
}  # fmt: skip
_SENTENCES = {
    404: "Nothing is under this path; /openapi.json lists all. `serve --proxy` adds a model server, `--mcp` adds /mcp.",
    405: "This path has no such method. /openapi.json lists those there are.",
    400: "The request's body cannot be read. Send what /openapi.json describes.",
}
FAILED = "Something went wrong that should not have. The log names its class; nothing more is told here."


class Refused(HTTPException):
    """Error response to a refused request; its message never depends on stored content."""

    def __init__(
        self,
        status: int,
        message: str,
        headers: Mapping[str, str] | None = None,
        *,
        word: str = "",
        fields: Sequence[str] = (),
    ) -> None:
        if status == 401:
            headers = {"WWW-Authenticate": "Bearer", **(headers or {})}
        super().__init__(status, message, headers)
        self.answer = ErrorAnswer(error=word or WORDS.get(status, "failed"), message=message, fields=list(fields))

    def respond(self, body: Mapping[str, Any] | None = None) -> JSONResponse:
        """Return the response; `body` replaces its JSON for clients that expect errors in another form."""
        return JSONResponse(self.answer.model_dump() if body is None else body, self.status_code, headers=self.headers)


class CutOffError(Exception):
    """Raised when a response ends early; the reason is already logged."""


@contextmanager
def refuse_bad_values() -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise Refused(422, str(error)) from None


def find_route(scope: Scope) -> str | None:
    routes = iter_route_contexts(scope["app"].routes)
    return next((each.path for each in routes if each.matches(scope)[0] is Match.FULL), None)


def name_route(scope: Scope) -> str:
    """Return a request's method and path template for the log, since the path itself contains ids."""
    path = find_route(scope)
    return "unknown" if path is None else f"{scope['method']} {path}"


def judge(error: Exception, scope: Scope) -> Refused:
    """Map an exception to an error response; only errors of this package show their messages."""
    if isinstance(error, Refused):
        return error
    if isinstance(error, errors.CoreError):
        cause = error.__cause__ if isinstance(error, errors.TransferError) else None
        judged = cause if isinstance(cause, errors.StoreError) else error  # the database failed during an import
        status, word = next((status, word) for known, status, word in STATUS if isinstance(judged, known))
        if status == 503:
            facts = {"error": type(error).__name__, "number": getattr(judged, "number", None)}
            logs.warning("request_unavailable", route=name_route(scope), **facts)
        headers = {"Retry-After": "5"} if isinstance(judged, errors.StoreError) else None
        return Refused(status, str(error), headers, word=word, fields=getattr(error, "fields", ()))
    if isinstance(error, RequestValidationError):
        return _judge_bad_values(error.errors())
    if isinstance(error, HTTPException):
        sentence = _SENTENCES.get(error.status_code, str(error.detail))
        return Refused(error.status_code, sentence, error.headers)
    logs.event(logging.ERROR, "request_failed", route=name_route(scope), error=type(error).__name__)
    logs.logger.debug("request_failed", exc_info=error)
    return Refused(500, FAILED)


def _judge_bad_values(problems: Sequence[Any]) -> Refused:
    """Build the error response for invalid parameters; it names all of them and explains three."""
    paths = [() if problem["type"] == "json_invalid" else problem["loc"][1:] for problem in problems]
    names = [".".join(map(str, path)) or "body" for path in paths]
    # a misspelt name is described first: it explains why the right one is missing
    ordered = sorted(zip(names, problems, strict=True), key=lambda each: each[1]["type"] != "extra_forbidden")
    message = " ".join(describe_problem(*each) for each in ordered[:3])
    return Refused(422, message, fields=list(dict.fromkeys(names)))
