"""The account of one call, and the one place where what fails becomes an empty section and a note."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from .. import hooks
from ..base import logs
from ..calls import defaults
from ..database.engine import Database
from ..errors import CoreError, StoreError
from ..search.choice import Result
from ..search.report import build_report
from ..shapes import LeftOut
from ..text.strict_json import make_strict
from .fit import Fitted, Space

T = TypeVar("T")

MAX_MESSAGE_CHARS = 500
"""Longest text of an error."""
STORED = ("chat_history_cache", "memories", "ai_diary")
"""The tables a prompt's sections come from, as the report names them when none of them can be read."""

_DOWN = frozenset({None, 1040, 1044, 1045, 1049, 1129, 1130, 1203, 1698, 2002, 2003, 2005, 2006, 2013})
_OF_A_TABLE = (1146, 1142)


class Report:
    """What one call did, filled in as it goes."""

    def __init__(self) -> None:
        self.limit: int | None = None
        self.limit_tokens: int | None = None
        self.size: int | None = None
        self.tokens: int | None = None
        self.over_limit: bool = False
        self.counter: str | None = None
        self.search: dict[str, Any] = {"tags": [], "words": []}
        """What was looked for."""
        self.found: Result | None = None
        """What the search found."""
        self.errors: list[dict[str, str]] = []
        self._notes: dict[str, None] = {}
        self._kept: dict[str, int] = {}
        self._left_out: list[LeftOut] = []

    def note(self, *texts: str) -> None:
        """Add notes; the same text is held once."""
        self._notes.update(dict.fromkeys(texts))

    def leave_out(self, items: Sequence[LeftOut]) -> None:
        """Add items that are not in the prompt."""
        self._left_out.extend(items)

    def fail(self, source: str, error: BaseException) -> None:
        """Add the error of a source: its class, and the text only of this package's own exceptions."""
        kind = type(error).__name__
        text = str(error)[:MAX_MESSAGE_CHARS] if isinstance(error, CoreError) else kind
        self.errors.append({"source": source, "error": kind, "message": text})

    def add(self, fitted: Fitted, space: Space, counter: str | None) -> None:
        """Enter what each section of the final prompt holds, what was cut, limits and sizes."""
        self.tokens = None if space.counter is None else space.count_tokens(fitted.text)
        self.leave_out(fitted.left_out)
        self._kept.update(fitted.kept)
        self.note(*fitted.notes)
        self.limit, self.limit_tokens, self.counter = space.limit_chars, space.limit_tokens, counter
        self.size, self.over_limit = fitted.size, fitted.broken is not None

    def as_dict(self) -> dict[str, Any]:
        """Return the report as plain JSON values; the keys always stand in this order."""
        lost: dict[str, int] = {}
        for item in self._left_out:
            lost[item.section] = lost.get(item.section, 0) + 1
        sections = {
            section: {"found": self._kept.get(section, 0) + lost.get(section, 0), "kept": self._kept.get(section, 0)}
            for section in dict.fromkeys((*self._kept, *lost))
        }
        plain: dict[str, Any] = make_strict(
            {
                "limit": self.limit,
                "limit_tokens": self.limit_tokens,
                "size": self.size,
                "tokens": self.tokens,
                "over_limit": self.over_limit,
                "counter": self.counter,
                "sections": sections,
                "left_out": [
                    {"section": item.section, "reason": item.reason, "id": item.id} for item in self._left_out
                ],
                "errors": self.errors,
                "notes": list(self._notes),
                "search": {**self.search, **(build_report(self.found) if self.found else {})},
            }
        )[0]
        return plain


class Guard:
    """Runs the stages of one call, and lets no failure of theirs pass."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self._db: Database | None = None
        self.down: bool = False
        """The database did not answer: nothing stored is asked for again in this call."""
        self.last: Exception | None = None
        """What failed last."""

    def open(self, db: Database | None) -> Database | None:
        """Return the database passed, else that of the process; None, and a note, when it cannot be opened."""
        self._db = self("database", lambda: defaults.handle(db), None)
        return self._db

    def __call__(self, source: str, work: Callable[[], T], otherwise: T) -> T:
        """Return what `work` gives; when it fails, `otherwise`, with a note in the report and one warning."""
        try:
            return work()
        except Exception as error:  # noqa: BLE001 - the degrade point: whatever a source or hook raises ends here
            self.fail(source, error)
            return otherwise

    def ask(self, source: str, read: Callable[[], T], otherwise: T) -> T:
        """Return what the database gives; when it fails, or did not answer before, `otherwise`."""
        return otherwise if self.down else self(source, read, otherwise)

    def fail(self, source: str, error: Exception) -> None:
        """Note a failure in the report, and log one warning without any text that was said."""
        again = isinstance(error, StoreError) and str(self.last) == str(error)
        self.last = error
        number = None
        if isinstance(error, StoreError):
            number = error.number
            self.down = self.down or number in _DOWN
            source = error.source if number in _OF_A_TABLE and error.source else source
        if again:  # one table missing makes several statements fail
            return
        self.report.fail(source, error)
        logs.warning("source_failed", source=source, error=type(error).__name__, number=number)

    def lose_stored(self) -> None:
        """Note that no stored section could be read, whatever it was that failed."""
        error = self.last or StoreError("The database could not be read.")
        for name in STORED:
            self.report.fail(name, error)

    def hook(self, name: str, arguments: Mapping[str, Any], read: Callable[[Any], T], otherwise: T) -> T:
        """Return what `read` makes of a hook's answer; `otherwise` when there is no hook or either fails."""
        function = hooks.get_hook(name)
        if function is None:
            return otherwise
        return self(name, lambda: read(self.call(function, arguments)), otherwise)

    def call(self, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
        """Return what a host's function gives; it may open a connection of its own meanwhile."""
        if isinstance(self._db, Database):
            self._db.release_connection()
        return hooks.call(function, arguments)
