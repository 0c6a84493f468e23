"""The exceptions of this package, one class for each kind of person who can repair the cause.

Each message says what is wrong, where, what is allowed and what to do; the facts are also attributes. No message
contains message text, memory text or a secret.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence


class CoreError(Exception):
    """Base class of all exceptions that this package defines and raises."""


class ConfigError(CoreError):
    """A flag, the configuration file or a connection string is invalid; an operator can repair it."""

    def __init__(self, text: str, *, flag: str = "", source: str = "", line: int | None = None) -> None:
        super().__init__(text)
        self.flag = flag
        self.source = source
        self.line = line


class ScopeError(CoreError):
    """The scope is unusable, for instance because its persona is blank."""


class MessageError(CoreError):
    """A value passed by the host is unusable.

    `fields` names the invalid values as the host calls them, for instance `("message_id", "date")`.
    """

    def __init__(self, text: str, *, fields: Sequence[str] = ()) -> None:
        super().__init__(text)
        self.fields: tuple[str, ...] = tuple(fields)

    @classmethod
    def of_type(cls, field: str, value: object, wanted: str) -> MessageError:
        """Build the error for a value of a wrong type; `wanted` names the right type, such as a text."""
        return cls(f"{field} is of type {type(value).__name__}. It must be {wanted}.", fields=(field,))


class ItemNotFoundError(MessageError):
    """The scope has no item with this id."""

    def __init__(self, item: int) -> None:
        what = f"There is no item {item} here, or it is archived. Search for its id, or restore it."
        super().__init__(what, fields=("id",))
        self.item = item


class PromptTooLargeError(CoreError):
    """The parts that are never cut exceed the limit.

    `size` and `limit` count characters, or tokens if `unit` is `tokens`; `parts` maps each protected top-level key to
    its size.
    """

    def __init__(self, size: int, limit: int, parts: Mapping[str, int], *, unit: str = "characters") -> None:
        listed = ", ".join(f"{name} {count}" for name, count in parts.items())
        super().__init__(
            f"The prompt's protected parts take {size} {unit}, the limit is {limit} ({listed}). "
            "Raise the limit, or shorten the message, persona or actions."
        )
        self.size = size
        self.limit = limit
        self.parts: dict[str, int] = dict(parts)
        self.unit = unit


class StoreError(CoreError):
    """The database failed. `source` is the table or the part of this package, `number` the server's error number.

    `server` is the address of a server that cannot be reached. It is never part of the message, because web interfaces
    show the message to callers without a valid token.
    """

    def __init__(self, text: str, *, source: str = "", number: int | None = None, server: str = "") -> None:
        super().__init__(text)
        self.server = server
        self.source = source
        self.number = number


class StoreReadError(StoreError):
    """Nothing could be read."""


class StoreWriteError(StoreError):
    """Nothing was written; but if the message says that the commit's answer was lost, the data may be stored."""


class ModelError(CoreError):
    """The language model failed, or its answer is missing or unusable.

    The message is made of the attributes below only: it never quotes a model or its server.
    """

    def __init__(
        self, reason: str, *, error: str = "", status: int | None = None, retry_after_seconds: float | None = None
    ) -> None:
        said = _MODEL_REASONS.get(reason, f"The model's answer cannot be used ({reason}).")
        facts = [error] if error else []
        facts += [f"status {status}"] if status is not None else []
        super().__init__(f"{said} [{', '.join(facts)}]" if facts else said)
        self.reason = reason
        """auth: the key was refused. budget: LLM_DAILY_CALLS is used up. timeout: no answer in time. empty: a blank
        text. no_text: an answer that is not a text. error: another failure. Callers that check answers add further
        reasons, such as those of `text.replies`.
        """
        self.error = error
        """Class name of the original exception, "" without one."""
        self.status = status
        """HTTP status of the server's answer, None without one."""
        self.retry_after_seconds = retry_after_seconds
        """Seconds that the server asks to wait, None if it does not say."""


_MODEL_REASONS = {
    "auth": "The model server refused the key. Set LLM_API_KEY, or what the host's own model uses.",
    "budget": "LLM_DAILY_CALLS calls were made today. The rest is done tomorrow (UTC); raise it to do it now.",
    "timeout": "The model gave no answer in time. Make it faster, or raise LLM_TIMEOUT_SECONDS.",
    "empty": "The model answered with a blank text.",
    "no_text": "The model answered with something that is no text. It must return a str.",
    "error": "The model failed. Look at what serves it.",
}


class DuplicateKeyError(StoreWriteError):
    """Another process stored the same row or used the same new id at the same moment; a second call succeeds."""


class TransferError(CoreError):
    """An import or export cannot continue. `row` is the invalid row, counted from 1; `path` is the file, if known."""

    def __init__(self, text: str, *, row: int | None = None, path: str = "") -> None:
        super().__init__(text)
        self.row = row
        self.path = path
