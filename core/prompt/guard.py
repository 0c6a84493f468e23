"""The degrade point: where a source or a hook that fails becomes an empty section and a note."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from .. import hooks
from ..base import logs
from ..calls import defaults
from ..database.engine import Database
from ..errors import StoreError
from .report import Report

T = TypeVar("T")

STORED = ("chat_history_cache", "memories", "ai_diary")
"""The tables a prompt's sections come from, as the report names them when none of them can be read."""

_DOWN = frozenset({None, 1040, 1044, 1045, 1049, 1129, 1130, 1203, 1698, 2002, 2003, 2005, 2006, 2013})
_OF_A_TABLE = (1146, 1142)


def is_down(error: StoreError) -> bool:
    """Return whether the server itself is out of reach, rather than one table or statement."""
    return error.number in _DOWN


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
        self._db = self("open", "database", lambda: defaults.handle(db), None)
        return self._db

    def __call__(self, stage: str, source: str, work: Callable[[], T], otherwise: T) -> T:
        """Return what `work` gives; when it fails, `otherwise`, with a note in the report and one warning."""
        try:
            with self.report.stage(stage):
                return work()
        except Exception as error:  # noqa: BLE001 - the degrade point: whatever a source or hook raises ends here
            self.fail(stage, source, error)
            return otherwise

    def fail(self, stage: str, source: str, error: Exception) -> None:
        """Note a failure in the report, and log one warning without any text that was said."""
        again = isinstance(error, StoreError) and str(self.last) == str(error)
        self.last = error
        number = None
        if isinstance(error, StoreError):
            number = error.number
            self.down = self.down or is_down(error)
            source = error.source if number in _OF_A_TABLE and error.source else source
        if again:  # one table missing makes several statements fail
            return
        self.report.fail(stage, source, error)
        logs.warning("source_failed", stage=stage, source=source, error=type(error).__name__, number=number)

    def lose_stored(self, stage: str) -> None:
        """Note that no stored section could be read, whatever it was that failed."""
        error = self.last or StoreError("The database could not be read.")
        for name in STORED:
            self.report.fail(stage, name, error)

    def hook(self, name: str, arguments: Mapping[str, Any], read: Callable[[Any], T], otherwise: T) -> T:
        """Return what `read` makes of a hook's answer; `otherwise` when there is no hook or either fails."""
        function = hooks.get_hook(name)
        if function is None:
            return otherwise
        return self(name, name, lambda: read(self.call(function, arguments)), otherwise)

    def call(self, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
        """Return what a host's function gives; it may open a connection of its own meanwhile."""
        if isinstance(self._db, Database):
            self._db.let_go()
        return hooks.call(function, arguments)
