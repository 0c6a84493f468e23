"""What the stand-ins share: one database, a persona for each place of theirs, and which tests are set aside."""

import hashlib
import os
from pathlib import Path
from typing import Any

from prompt_engine import Scope, open_database

OWN = "frameworks_of_others"
_open: list[Any] = []


def database() -> Any:
    if not _open:
        _open.append(open_database(os.environ["FRAMEWORKS_URL"]))
    return _open[0]


def scope_of(place: object) -> Scope:
    """Return the scope that stands for a file, folder or database of theirs."""
    return Scope(hashlib.md5(str(place).encode(), usedforsecurity=False).hexdigest())


class SetAside:
    """Leaves out the tests that are named with a reason, and says at the end how many."""

    def __init__(self, reasons: dict[str, tuple[str, ...]], files: tuple[str, ...] = ()) -> None:
        self._reason = {name: reason for reason, names in reasons.items() for name in names}
        self._files = files
        self._out: dict[str, int] = {}

    def pytest_collection_modifyitems(self, config: Any, items: list[Any]) -> None:
        kept, out = [], []
        for item in items:
            file = Path(item.fspath).name
            bare = item.name.partition("[")[0]
            names = (f"{file}::{item.name}", f"{file}::{bare}", item.name, bare)
            reason = next((self._reason[name] for name in names if name in self._reason), None)
            if reason is None:
                kept.append(item)
            else:
                out.append(item)
                self._out[reason] = self._out.get(reason, 0) + 1
        items[:] = kept
        config.hook.pytest_deselected(items=out)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        for reason, count in self._out.items():
            terminalreporter.write_line(f"set aside {count}: {reason}")

    def pytest_sessionfinish(self) -> None:
        for each in _open:
            each.close()
        _open.clear()
