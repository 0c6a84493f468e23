"""One run of a subcommand: common options, database, and output."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager, suppress
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_type_hints

import typer
from typer import BadParameter, Option

from ..base import logs
from ..config import Settings
from ..errors import StoreError
from ..scope import Destination, Scope
from . import output

if TYPE_CHECKING:
    from ..database.engine import Database


def read_url(given: str | None) -> str | None:
    """Return a database URL, also from `env:NAME` or `file:PATH`, which hide the password from `ps`."""
    kind, _, name = (given or "").partition(":")
    if kind not in ("env", "file"):
        return given
    text = os.environ.get(name, "") if kind == "env" else Path(name).read_text(encoding="utf-8-sig", errors="replace")
    if "://" not in text:  # not shown: it may be a password
        raise BadParameter(f"{given} holds no database address such as mysql://USER:PASSWORD@HOST/NAME")
    return text.strip()


_PANEL: Any = {"rich_help_panel": "Options of every subcommand"}
_DATABASE = (
    "Database: sqlite:///FILE or mysql://USER:PASSWORD@HOST/NAME; env:NAME or file:PATH reads it from there. Without "
    "it DATABASE_URL, then config.yaml, then prompt-engine.sqlite3 here."
)
_JSON = "Print JSON, or for people. Without it: for people on a terminal, else JSON."
_COMMON: dict[str, Any] = {
    "database": Annotated[str | None, Option("--database", metavar="URL", help=_DATABASE, callback=read_url, **_PANEL)],
    "persona_id": Annotated[
        str | None, Option("--persona-id", metavar="ID", help="Id of the persona. Default: PERSONA_ID.", **_PANEL)
    ],
    "as_json": Annotated[bool | None, Option("--json/--text", help=_JSON, **_PANEL)],
    "debug": Annotated[bool, Option("--debug", help="Print the traceback of an error.", **_PANEL)],
}

# Options of several subcommands

ConversationOption = Annotated[
    str | None, Option("--conversation", metavar="KEY", help="Conversation: interface/chat or interface/chat/thread.")
]
UserOption = Annotated[
    str | None, Option("--user", metavar="ID", help="Person: interface/id, or only the id with --conversation.")
]
ServerOption = Annotated[str, Option("--server", metavar="ID", help="Server (community) of the conversation.")]
LocalOption = Annotated[bool, Option("--local", help="For a model on this machine: include rows marked local_only.")]
DryOption = Annotated[bool, Option("--dry-run", help="Show what would happen; change nothing.")]
LogLevelOption = Annotated[
    Literal["debug", "info", "warning", "error"] | None,
    Option("--log-level", help="Least level of log lines, to stderr. Default: warning. debug may show texts."),
]
ForceOption = Annotated[bool, Option("--force", help="Overwrite an existing file.")]

GROUPS = {
    "memory": "Make facts from messages; archive old, unimportant ones.",
    "db": "Make, check, repair, copy and back up the database.",
    "config": "List, check and set flags; write a config.yaml.",
    "jobs": "Look at the work in the background, and change it.",
    "token": "Make, list and revoke tokens of other programs.",
}

app: typer.Typer = typer.Typer(
    name="prompt-engine",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
)
_groups: dict[str, typer.Typer] = {"": app}
for name, text in GROUPS.items():
    _groups[name] = typer.Typer(help=text)
    app.add_typer(_groups[name], name=name)

_Function = TypeVar("_Function", bound=Callable[..., None])
debugging: bool = False
"""Whether --debug was given; read by `cli.app` after a failure."""


class Run:
    def __init__(self, *, database: str | None, persona: str | None, as_json: bool | None, creates: bool) -> None:
        self.url = database
        self.persona = persona
        self.asks_json = bool(as_json)
        self.as_json = not sys.stdout.isatty() if as_json is None else as_json
        self.creates = creates
        """Whether a missing SQLite file is created. By default not: a mistyped path would look like an empty memory."""
        self._db: Database | None = None

    @property
    def db(self) -> Database:
        """Return the database, opening and migrating it on first use."""
        from ..upkeep.migration import ensure_present

        db = self._db or self.open_bare()
        if not db.version:
            ensure_present(db)
        return db

    def find_db(self) -> Database | None:
        """Return the database; None if tables are missing or unreadable. A dry run must not create a database."""
        from ..upkeep.migration import list_pending

        db = self.open_bare()
        with suppress(StoreError):
            return None if db.target.is_missing or list_pending(db) else db
        return None

    def open_bare(self, url: str | None = None) -> Database:
        """Open the database without migrating it; raise if its file is missing, unless `creates` is set."""
        from ..calls import defaults

        self._db = bare = defaults.open_bare(url or self.url)
        if bare.target.is_missing and not self.creates:
            sentence = f"There is no database {bare.target.shown}. Correct --database or DATABASE_URL"
            raise StoreError(f"{sentence}; a new one is made by: prompt-engine db init", source="DATABASE_URL")
        return bare

    @property
    def settings(self) -> Settings:
        from ..calls import defaults

        return defaults.settings_for(None)

    def scope(
        self,
        conversation: str | None = None,
        participant: str | None = None,
        server: str = "",
        destination: Destination | None = None,
    ) -> Scope:
        persona = self.persona if self.persona is not None else self.settings.persona_id
        return Scope(persona, conversation, participant, server, destination)

    def asking(self, scope: Scope | None = None) -> dict[str, Any]:
        return {"db": self.db, "settings": self.settings, "scope": scope or self.scope()}

    def answer(self, value: Any, show: Callable[[], None] | str | None = None, *, nothing: str = "") -> None:
        """Print `value` as JSON, or for people by `show`: a function, a sentence, or None for a table of the value."""
        if self.as_json:
            output.print_json(value)
        elif isinstance(show, str):
            output.say(show)
        elif show is None:
            output.show(value, nothing)
        else:
            show()

    def warn_of_persona(self, persona: str) -> None:
        """Print the names of personas that have rows, if `persona` has none."""
        from ..access import overview

        if names := overview.name_other_personas(self.db, persona):
            output.warn(f"Nothing is stored of the persona {persona!r}, but of {names}: --persona-id KEY")

    def warn_of_scope(self, scope: Scope) -> None:
        """Print which other scopes have rows, since a wrong scope looks like an empty memory."""
        from ..access import overview

        sentences = []
        places = overview.count_places(self.db, scope.persona)
        private = sum(places[place] for place in places if place[0] in ("direct", "saved", "conversation"))
        if private and scope.conversation is None:
            how = "--conversation KEY --user ID; `prompt-engine conversations` lists them"
            sentences.append(f"{output.count(private, 'row')} in private conversations: {how}")
        for (kind, server), number in places.most_common():
            if kind == "server" and server != scope.server:
                where = f"server {server}: --server {server}" if server else "no server: leave out --server"
                sentences.append(f"{output.count(number, 'row')} in {where}")
        output.warn(*sentences[:5])
        self.warn_of_persona(scope.persona)

    def close(self) -> None:
        if self._db is not None:
            self._db.close()


def command(path: str, *, without: Collection[str] = (), creates: bool = False) -> Callable[[_Function], _Function]:
    """Register a function, whose first argument is a `Run`, as a subcommand with its own and the common options.

    A parameter whose type is a NamedTuple is replaced by the options that its fields declare. `without` names common
    options that this subcommand lacks; with `creates`, a missing SQLite file is created, else it is an error.
    """

    def add(function: _Function) -> _Function:
        own = [p for p in signature(function, eval_str=True).parameters.values() if p.name != "run"]
        groups = {p.name: p.annotation for p in own if hasattr(p.annotation, "_fields")}
        listed = [(p.name, p.annotation, p.default) for p in own if p.name not in groups]
        for group in groups.values():
            hints = get_type_hints(group, include_extras=True)
            listed += [(name, hints[name], group._field_defaults.get(name, Parameter.empty)) for name in group._fields]
        common = [name for name in _COMMON if name not in without]
        listed += [(name, _COMMON[name], False if name == "debug" else None) for name in common]
        parameters = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for name, annotation, default in listed
        ]

        def called(**given: Any) -> None:
            global debugging
            database, persona, as_json, debug = (given.pop(each, None) for each in _COMMON)
            debugging = bool(debug)
            run = Run(database=database, persona=persona, as_json=as_json, creates=creates)
            for name, group in groups.items():
                given[name] = group(**{field: given.pop(field) for field in group._fields})
            with closing(run):
                function(run, **given)

        called.__doc__ = function.__doc__
        called.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {p.name: p.annotation for p in parameters}
        parent, _, name = path.rpartition(" ")
        _groups[parent].command(name)(called)
        return function

    return add


def key_of(conversation: str | None, user: str | None) -> str | None:
    """Build the participant key of a user id; an id without interface gets the conversation's interface.

    >>> key_of("telegram_bot/42", "7"), key_of("telegram_bot/42", "telegram_bot/7")
    ('telegram_bot/7', 'telegram_bot/7')
    >>> key_of(None, "telegram_bot/7"), key_of("webui/1", None)
    ('telegram_bot/7', None)
    """
    if user is not None and conversation is None and not all(user.partition("/")):
        what = f"--user {user!r} does not say on which interface. Add --conversation KEY, or write interface/id"
        raise BadParameter(what)
    if user is None or conversation is None:
        return user
    interface = conversation.split("/", 1)[0]
    return user if user.startswith(f"{interface}/") else f"{interface}/{user}"


def start_log(level: str | None) -> None:
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s")
    if level:  # of this package alone: other packages log addresses
        logs.logger.setLevel(level.upper())


@contextmanager
def refusals() -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise BadParameter(str(error)) from error
