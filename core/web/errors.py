"""Which failure is which status, and in which words. The one place that translates them."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from ..base import logs
from ..errors import (
    ConfigError,
    CoreError,
    ItemNotFoundError,
    MessageError,
    ModelError,
    PromptTooLargeError,
    ScopeError,
    StoreError,
    TransferError,
)
from .problems import describe_problem, field_name


class ErrorAnswer(BaseModel):
    """What every route answers where it does not do what was asked. Never holds a stored text or a trace."""

    error: str = Field(description="The cause in one word, for programs.", examples=["not_found"])
    message: str = Field(
        description="What is wrong, what is allowed, what to do: one sentence or two, for people.",
        examples=["limit is 501. It must be a whole number, 1 to 500."],
    )
    fields: list[str] = Field(default=[], description="Parameters at fault, by name.", examples=[["limit"]])


STATUS: tuple[tuple[type[CoreError], int, str], ...] = (
    (ItemNotFoundError, 404, "not_found"),
    (MessageError, 422, "bad_value"),
    (ScopeError, 422, "bad_value"),
    (PromptTooLargeError, 422, "prompt_too_large"),
    (TransferError, 400, "wrong_shape"),
    (ModelError, 503, "model"),
    (ConfigError, 503, "configuration"),
    (StoreError, 503, "database"),
    (CoreError, 503, "failed"),
)
"""The first class that fits counts."""

WORDS = {
    400: "wrong_shape", 401: "no_token", 403: "foreign_site", 404: "not_found", 405: "method", 408: "too_slow",
    413: "too_large", 421: "foreign_host", 422: "bad_value", 429: "too_many", 503: "disabled",
}  # fmt: skip
_SENTENCES = {
    404: "There is nothing under this path. /openapi.json lists the paths there are.",
    405: "This path has no such method. /openapi.json lists those there are.",
    400: "The request's body cannot be read. Send what /openapi.json describes.",
}
FAILED = "Something went wrong that should not have. The log names its class; nothing more is told here."


def build_refusal(
    status: int,
    message: str,
    error: str = "",
    *,
    fields: Sequence[str] = (),
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """Return an answer that says why not."""
    answer = ErrorAnswer(error=error or WORDS.get(status, "failed"), message=message, fields=list(fields))
    return JSONResponse(answer.model_dump(), status, headers=dict(headers or {}))


def answer_core_error(error: CoreError) -> JSONResponse:
    """Return the answer for one of the project's own errors; its sentence holds no text that was said."""
    cause = error.__cause__ if isinstance(error, TransferError) else None
    judged = cause if isinstance(cause, StoreError) else error  # an import that the database ended
    status, word = next((status, word) for known, status, word in STATUS if isinstance(judged, known))
    if status == 503:
        logs.warning("request_unavailable", error=type(error).__name__)
    headers = {"Retry-After": "5"} if isinstance(judged, StoreError) else None
    return build_refusal(status, str(error), word, fields=getattr(error, "fields", ()), headers=headers)


def answer_bad_values(error: RequestValidationError) -> JSONResponse:
    """Return the answer for parameters that do not fit: all names, and the sentences about the first of them."""
    problems = error.errors()
    names = list(dict.fromkeys(field_name(problem["loc"]) for problem in problems))
    first = next((each for each in problems if each["type"] == "extra_forbidden"), problems[0])  # a name misspelt
    return build_refusal(422, describe_problem(field_name(first["loc"]), first), fields=names)


def answer_http_error(error: HTTPException) -> JSONResponse:
    """Return the answer for what the web framework, or a route, refused."""
    word = error.word if isinstance(error, Refused) else ""
    is_own = isinstance(error, Refused) or error.status_code not in _SENTENCES
    detail = str(error.detail) if is_own else ""
    return build_refusal(error.status_code, detail or _SENTENCES[error.status_code], word, headers=error.headers)


def answer_failure(error: Exception) -> JSONResponse:
    """Return the answer for what nobody foresaw; its class goes to the log, its text and trace stay at debug level."""
    logs.event(logging.ERROR, "request_failed", error=type(error).__name__)
    logs.logger.debug("request_failed", exc_info=error)
    return build_refusal(500, FAILED, "failed")


class Refused(HTTPException):
    """A request is refused, in a sentence of its own."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None, *, word: str = "") -> None:
        super().__init__(status, message, headers)
        self.word = word
        """What stands under `error`; blank for that of the status."""


class CutOffError(Exception):
    """An answer ended early, and the log says so already."""


def answer_error(error: Exception) -> JSONResponse:
    """Return the answer for whatever failed; only errors of this project say what is wrong."""
    if isinstance(error, CoreError):
        return answer_core_error(error)
    if isinstance(error, RequestValidationError):
        return answer_bad_values(error)
    return answer_http_error(error) if isinstance(error, HTTPException) else answer_failure(error)


@contextmanager
def refuse_bad_values() -> Iterator[None]:
    """Make the ValueError by which some doors name a bad value a 422."""
    try:
        yield
    except ValueError as error:
        raise Refused(422, str(error)) from None


HANDLED: Sequence[Any] = (CoreError, RequestValidationError, HTTPException)
"""What an application hands to `handle`."""


async def handle(_: Any, error: Any) -> JSONResponse:
    """Answer an error as an application of FastAPI asks for it."""
    return answer_error(error)
