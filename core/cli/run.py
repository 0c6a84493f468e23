"""One run of a subcommand: the options all of them have, the database they ask for, and how the answer is printed."""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..config import Settings
from ..scope import Destination, Privacy, Scope
from . import output

if TYPE_CHECKING:
    from ..database.engine import Database

_PANEL = "Options of every subcommand"

DatabaseOption = Annotated[
    str | None,
    typer.Option(
        "--database",
        metavar="URL",
        help="Database: sqlite:///FILE or mysql://USER:PASSWORD@HOST/NAME. Without it DATABASE_URL, then config.yaml, "
        "then prompt-engine.sqlite3 here.",
        rich_help_panel=_PANEL,
    ),
]
PersonaOption = Annotated[
    str | None,
    typer.Option("--persona-id", metavar="ID", help="Whose memory. Without it PERSONA_ID.", rich_help_panel=_PANEL),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Another config.yaml.", rich_help_panel=_PANEL),
]
JsonOption = Annotated[
    bool | None,
    typer.Option(
        "--json/--text",
        help="Print JSON, or for people. Without it: for people on a terminal, else JSON.",
        rich_help_panel=_PANEL,
    ),
]
DebugOption = Annotated[bool, typer.Option("--debug", help="Show where an error came from.", rich_help_panel=_PANEL)]

_COMMON = {
    "database": DatabaseOption,
    "persona_id": PersonaOption,
    "config": ConfigOption,
    "as_json": JsonOption,
    "debug": DebugOption,
}
_DEFAULTS: dict[str, Any] = {"debug": False}

debugging = False
"""Whether the run at hand was asked for tracebacks; read by `cli.app` when it failed."""


class Run:
    """What a subcommand works with."""

    def __init__(self, *, database: str | None, persona: str | None, as_json: bool) -> None:
        self.url = database
        self.persona = persona
        self.as_json = as_json
        self._db: Database | None = None

    @property
    def db(self) -> Database:
        """The database asked for, opened and brought up to date at first use."""
        if self._db is None:
            from .. import db  # noqa: PLC0415 - `config` needs no database

            self._db = db.open_database(self.url)
        return self._db

    def use(self, db: Database) -> None:
        """Work on this database from now on."""
        self._db = db

    @property
    def settings(self) -> Settings:
        """The settings as they are now, those of the database too."""
        from ..calls import defaults  # noqa: PLC0415 - as above

        return defaults.settings_for(None, self.db)

    def scope(
        self,
        conversation: str | None = None,
        participant: str | None = None,
        server: str = "",
        destination: Destination | None = None,
        privacy: Privacy | None = None,
    ) -> Scope:
        """Return who is asking; the persona of `--persona-id`, else of PERSONA_ID."""
        persona = self.persona if self.persona is not None else self.settings.persona_id
        return Scope(persona, conversation, participant, server, destination, privacy)

    def answer(self, value: Any, show: Callable[[], None]) -> None:
        """Print the answer: `value` as JSON, or for people by `show`."""
        if self.as_json:
            output.print_json(value)
        else:
            show()

    def close(self) -> None:
        """Close the database's connections."""
        if self._db is not None:
            self._db.close()


@contextmanager
def _started(
    database: str | None, persona_id: str | None, config: Path | None, as_json: bool | None, debug: bool
) -> Iterator[Run]:
    global debugging
    debugging = debug
    wants_json = not sys.stdout.isatty() if as_json is None else as_json
    before = os.environ.get("CONFIG_FILE")
    if config is not None:
        os.environ["CONFIG_FILE"] = str(config)
    run = Run(database=database, persona=persona_id, as_json=wants_json)
    try:
        yield run
    finally:
        run.close()
        if config is not None:
            os.environ.pop("CONFIG_FILE")
            if before is not None:
                os.environ["CONFIG_FILE"] = before


def command(
    app: typer.Typer, name: str, *, without: Collection[str] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a function a subcommand: it gets a `Run` first, and the options of every subcommand are added to its own.

    Args:
        without: parameters of the options of every subcommand that mean nothing to this one.
    """

    def add(function: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(function, eval_str=True).parameters.values()
        keyword = inspect.Parameter.KEYWORD_ONLY
        parameters = [p.replace(kind=keyword) for p in own if p.name != "run"]
        parameters += [
            inspect.Parameter(each, keyword, default=_DEFAULTS.get(each), annotation=annotation)
            for each, annotation in _COMMON.items()
            if each not in without
        ]

        def called(**given: Any) -> None:
            common = {each: given.pop(each, None) for each in _COMMON}
            with _started(**common) as run:
                function(run, **given)

        functools.update_wrapper(called, function)
        del called.__wrapped__  # type: ignore[attr-defined]
        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {p.name: p.annotation for p in parameters}
        app.command(name)(called)
        return function

    return add
