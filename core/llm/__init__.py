"""Ask a language model for a text: choose the model, bound the time, classify failures.

The HTTP package is loaded by the first request. A model is foreign code: it runs in a thread for at
most LLM_TIMEOUT_SECONDS and gets copies of the messages; its exception becomes a ModelError that names the
exception's class without its text.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol, TypeAlias

from ..base import logs
from ..calls import defaults
from ..config import Settings
from ..database.engine import Database
from ..errors import ModelError
from ..text.folding import clean
from . import table_usage as usage
from .client import ChatClient, call_timed, name_reason
from .client import close as close
from .table_usage import MeteredModel
from .table_usage import note_request as note_request
from .table_usage import read_usage as read_usage

__all__ = ["ChatClient", "Completes", "MeteredModel", "Model", "ask"]


class Completes(Protocol):
    """An object with a method `complete(messages, ...)` that returns a text, or an awaitable text."""

    @property
    def complete(self) -> Callable[..., Any]:
        """Return the model function; callers pass the messages and only the options in its signature."""


Model: TypeAlias = Completes | Callable[..., Any] | MeteredModel
"""An object with a method `complete`, or a function; each takes the list of `{role, content}` and may be async. If a
function has a method `complete` too, the method is called."""


def resolve(model: Model | None, settings: Settings, db: Database | None = None) -> Model | None:
    """Return the model to ask: `model`, else the model of `configure`, else the server of LLM_BASE_URL.

    With a database, calls are counted. The server's model is LLM_MODEL, else the model of the latest proxied chat;
    None is returned if neither is known.
    """
    given = model if model is not None else defaults.process.model
    if isinstance(given, MeteredModel):
        return given
    if given is not None:
        defaults.check_model(given)
        return MeteredModel(given, "the application's own", db) if db is not None else given
    if not settings.llm_base_url.strip():
        return None
    name = settings.llm_model.strip() or (usage.find_last_model(db) if db is not None else "")
    client = ChatClient(
        settings.llm_base_url, model=name, api_key=settings.llm_api_key, timeout_seconds=settings.llm_timeout_seconds
    )
    if not client.model:
        _warn_unnamed()
        return None
    return MeteredModel(client, client.model, db) if db is not None else client


UNNAMED = "LLM_BASE_URL is set and LLM_MODEL is not, nor was a chat proxied: texts are extracts. Set LLM_MODEL."


@lru_cache(maxsize=1)
def _warn_unnamed() -> None:
    logs.logger.warning("model_not_named %s", UNNAMED)


def ask(model: Model, messages: Sequence[Mapping[str, Any]], settings: Settings, **options: Any) -> str:
    """Ask the model and return its answer, which is never blank; raise ModelError on failure."""
    metered = model if isinstance(model, MeteredModel) else None
    own: Any = metered.model if metered else model
    if metered:
        sent = sum(len(str(message.get("content", ""))) for message in messages)
        usage.count_call(metered, settings.llm_daily_calls, sent)
    try:
        arguments = {"messages": [dict(message) for message in messages], **options}
        answer = call_timed(getattr(own, "complete", own), "messages", arguments, settings.llm_timeout_seconds)
        if not isinstance(answer, str):
            raise ModelError("no_text", error=type(answer).__name__)
        text = clean(str(answer))
        if metered:
            usage.count_answer(metered, len(text))
        if text.strip():
            return text
        failed = ModelError("empty")
    except ModelError as error:
        failed = error
    except Exception as error:  # noqa: BLE001 - a model is foreign code and raises what it likes
        failed = _judge(error)
    # Raised outside the except block: the foreign exception and its text are not its context.
    logs.event(logging.DEBUG, "model_failed", reason=failed.reason, error=failed.error, status=failed.status)
    raise failed


def _judge(error: Exception) -> ModelError:
    """Build the ModelError for a foreign exception, without the exception's text."""
    name = type(error).__name__
    status = getattr(error, "__dict__", {}).get("status_code")  # attribute of errors in the clients of model providers
    if isinstance(error, TimeoutError) or type(status) is not int:
        return ModelError("timeout" if isinstance(error, TimeoutError) else "error", error=name)
    return ModelError(name_reason(status), error=name, status=status)
