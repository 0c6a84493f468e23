"""The exceptions of this package, one class for each person who can repair the cause (rule G25).

Every message says what is wrong, where, what is allowed and what to do; the facts stay on the exception as
attributes. No message ever holds message text, memory text or a secret (rule G26).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence


class CoreError(Exception):
    """Base of every exception this package raises on purpose."""


class ConfigError(CoreError):
    """A flag, the configuration file or a connection string is wrong; the person tuning can mend it."""

    def __init__(self, text: str, *, flag: str = "", source: str = "", line: int | None = None) -> None:
        super().__init__(text)
        self.flag = flag
        self.source = source
        self.line = line


class ScopeError(CoreError):
    """The scope is not usable, for instance because its persona is blank (rule F2)."""


class MessageError(CoreError):
    """What the host handed in cannot be used.

    `fields` names the parts at fault in the host's own words, for instance `("message_id", "date")`.
    """

    def __init__(self, text: str, *, fields: Sequence[str] = ()) -> None:
        super().__init__(text)
        self.fields = tuple(fields)


class PromptTooLargeError(CoreError):
    """The parts that are never cut are larger than the limit (rule P56).

    `size` and `limit` count characters, or tokens where `unit` is `tokens`; `parts` maps each protected top-level
    key to its own size.
    """

    def __init__(self, size: int, limit: int, parts: Mapping[str, int], *, unit: str = "characters") -> None:
        listed = ", ".join(f"{name} {count}" for name, count in parts.items())
        super().__init__(
            f"The prompt's protected parts take {size} {unit}, the limit is {limit} ({listed}). "
            "Raise the limit, shorten the message, persona or actions, or set PROMPT_OVERFLOW to 'return'."
        )
        self.size = size
        self.limit = limit
        self.parts = dict(parts)
        self.unit = unit


class StoreError(CoreError):
    """The database did not do what was asked. `source` is the table or part, `number` the server's error number."""

    def __init__(self, text: str, *, source: str = "", number: int | None = None) -> None:
        super().__init__(text)
        self.source = source
        self.number = number


class StoreReadError(StoreError):
    """Nothing could be read at all."""


class StoreWriteError(StoreError):
    """Nothing was written; the transaction was rolled back."""


class ModelError(CoreError):
    """The language model failed, answered nothing, or answered something unusable (rule G21)."""


class TransferError(CoreError):
    """An import or export cannot go on. `row` is the 1-based row at fault where there is one."""

    def __init__(self, text: str, *, row: int | None = None) -> None:
        super().__init__(text)
        self.row = row
