"""Configuration: what each flag's value is, where it came from, and what is wrong.

A value is taken from the highest level that has one: argument, environment, database table `config`, file, default. It
is looked up at every call, and the same frozen `Settings` come back as long as nothing changed: no module reads a flag
while it is imported, and a door passes its settings down.

| Called by | For |
|---|---|
| every other door | `resolve`, once a call |
| the database door | `DatabaseValues`, `database_values_of` |
| the command line, the admin page | `check`, `show`, `set_value` |
| the writer of the documentation | `FLAGS` |
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from ..errors import ConfigError
from ..shapes import WriteResult
from .bad_values import BadValueError
from .file import ConfigFile, find_and_read, find_file, read_entries
from .flag_base import ValueSource
from .flags import FLAGS, Settings
from .levels import (
    CONFIG_FILE,
    SECRET_FILES,
    DatabaseValues,
    Level,
    Problem,
    argument_level,
    database_level,
    environment_level,
    file_level,
    known_flag,
    read_environment,
    stale_after_seconds,
    warn_of_problems,
)

__all__ = [
    "FLAGS", "DatabaseValues", "Problem", "Row", "Settings", "check", "database_values_of", "load",
    "resolve", "set_value", "show", "stale_after_seconds", "with_stored",
]  # fmt: skip

_MAX_KEPT = 64
_HIGHER = ("argument", "environment")
_Key = tuple[ConfigFile, tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]

_kept: dict[_Key, Settings] = {}
_database_values: WeakKeyDictionary[Any, DatabaseValues] = WeakKeyDictionary()


class Row(NamedTuple):
    """One line of `config list`."""

    flag: str
    value: str
    """As people write it; dots for a secret that is set."""
    source: ValueSource
    default: str
    allowed: str
    help: str


def load(
    overrides: Mapping[str, object] | None = None,
    *,
    database_values: Mapping[str, str] | None = None,
    path: str | os.PathLike[str] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Settings:
    """Return the value of every flag, each from the highest level that has one.

    A bad value gives the flag's default, whatever the levels below it say, and one warning. The same object comes back
    while variables, file and rows are the same.

    Args:
        overrides: flag to value, the level of arguments; in upper, lower or camel case; None for none.
        database_values: flag to text, the rows of the table `config`; None for none.
        path: the file; None is CONFIG_FILE, else ./config.yaml, else the shipped one.
        environ: the variables; None is those of the process.

    Returns:
        Frozen settings; `sources` says of each flag where its value is from.

    Raises:
        ConfigError: the file is not there, is a folder, is not YAML or says a key twice; the file of a secret is
            missing, unreadable or empty; an override that is no flag.

    >>> load({"CONTEXT_VERBOSITY": 4}, environ={"CONTEXT_VERBOSITY": "2", "DIARY_HISTORY_DAYS": "1"}).differing()
    {'CONTEXT_VERBOSITY': 4, 'DIARY_HISTORY_DAYS': 1}
    """
    variables = read_environment(environ)
    named = os.fspath(path) if path is not None else dict(variables).get(CONFIG_FILE)
    file = find_and_read(named, FLAGS)
    rows = tuple(database_values.items()) if database_values else ()
    key = (file, variables, rows)
    settings = _kept.get(key)
    if settings is None:
        levels = [file_level(file), database_level(rows), environment_level(variables)]
        settings = _joined(Settings(), levels)
        if not any(level.refused for level in levels):  # a folder that is missing now may be there at the next call
            if len(_kept) >= _MAX_KEPT:
                _kept.clear()
            _kept[key] = settings
    return _joined(settings, [argument_level(overrides)]) if overrides else settings


def with_stored(settings: Settings, values: Mapping[str, str]) -> Settings:
    """Return settings with what the table `config` says now, where nothing higher says otherwise."""
    level = database_level(values.items())
    lower = {name: value for name, value in level.values.items() if settings.sources[name] not in _HIGHER}
    return settings.under(lower, dict.fromkeys(lower, "database"))


def _joined(base: Settings, levels: list[Level]) -> Settings:
    """Return `base` under the levels, lowest first, and tell their problems."""
    values: dict[str, Any] = {}
    sources: dict[str, ValueSource] = {}
    for level in levels:
        for name in level.refused:
            level.values[name] = FLAGS[name].default
        values |= level.values
        sources |= {name: "default" if name in level.refused else level.source for name in level.values}
        warn_of_problems(level.problems)
    return base.under(values, sources)


def resolve(
    settings: Settings | Mapping[str, object] | None = None, database_values: Mapping[str, str] | None = None
) -> Settings:
    """Return the settings a door works with: those passed whole, else those of `load` under the mapping passed."""
    if isinstance(settings, Settings):
        return settings
    if settings is not None and not isinstance(settings, Mapping):
        raise ConfigError(
            f"settings is of type {type(settings).__name__}. Pass core.config.Settings or a mapping of flag to value."
        )
    return load(settings, database_values=database_values)


def database_values_of(db: object) -> DatabaseValues:
    """Return the values kept of this database handle; one object for each handle, as long as the handle lives."""
    held = _database_values.get(db)
    return held if held is not None else _database_values.setdefault(db, DatabaseValues())


def set_value(name: str, value: object, db: Any = None) -> WriteResult:
    """Write a flag's value to the table `config`; it acts on the next call here, elsewhere within 5 seconds.

    Where it decides what is hidden or included of stories, a refresh of every open one is queued for a worker.

    Args:
        name: the flag, in upper, lower or camel case.
        value: of the flag's type, or the text that stands for it.
        db: database handle; None is the process default.

    Returns:
        `(True, None, "")`, or `(False, None, "unchanged")` where the table says the same already.

    Raises:
        ConfigError: no such flag, fixed by the environment, a secret, a bad value.
        StoreWriteError: nothing was written.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.config import set_value
    >>> db = open_database("sqlite://")
    >>> set_value("CONTEXT_VERBOSITY", 4, db)[0], set_value("contextVerbosity", "4", db)[2]
    (True, 'unchanged')
    """
    declared = known_flag(name)
    variables = (declared.name, *(held for held, secret in SECRET_FILES.items() if secret == declared.name))
    fixed = [variable for variable in variables if variable in os.environ]
    if fixed:
        raise ConfigError(
            f"{declared.name} is fixed by the environment variable {fixed[0]}. Change or remove the variable instead.",
            flag=declared.name,
            source=fixed[0],
        )
    if declared.secret:
        raise ConfigError(
            f"{declared.name} is a secret, which is not stored. Set the variable {declared.name}, or "
            f"{declared.name}_FILE to the path of a file that holds it.",
            flag=declared.name,
        )
    kind = declared.kind
    try:
        text = kind.write_text(kind.read_text(value) if isinstance(value, str) else kind.read(value))
    except BadValueError as bad:
        raise declared.refusal(value, "argument", "argument", hint=bad.hint) from None
    return _written(declared.name, text, db)


def _written(name: str, text: str, db: Any) -> WriteResult:
    from ..database import config_table  # noqa: PLC0415 - reading a flag must not load the database
    from ..messages import table_refreshing  # noqa: PLC0415 - see above

    if db is None:
        from ..db import current_database  # noqa: PLC0415 - see above

        db = current_database()
    kept = database_values_of(db)
    rows = config_table.read_values(db)
    kept.fill(rows)
    if rows.get(name) == text:
        return WriteResult(False, None, "unchanged")
    also = table_refreshing.queue_refreshes if FLAGS[name].refreshes else None
    config_table.write_value(db, name, text, also=also)
    kept.put(name, text)
    return WriteResult(True, None, "")


def check(
    path: str | os.PathLike[str] | None = None,
    environ: Mapping[str, str] | None = None,
    database_values: Mapping[str, str] | None = None,
) -> list[Problem]:
    """Return everything that is wrong with the configuration, file first, then table, then variables; [] for nothing.

    It raises nothing: what cannot be read is a problem too.

    Args:
        path: the file; None as for `load`.
        environ: the variables; None is those of the process.
        database_values: the rows of the table `config`; None for none.

    Returns:
        Flag, sentence, source and line each.

    >>> [problem.flag for problem in check(environ={"CONTEXT_VERBOSITY": "ten", "TIMEZONE": "Mars"})]
    ['CONTEXT_VERBOSITY', 'TIMEZONE']
    """
    errors: list[ConfigError] = []
    variables = read_environment(environ, errors)
    return [
        *_file_problems(os.fspath(path) if path is not None else dict(variables).get(CONFIG_FILE)),
        *database_level((database_values or {}).items()).problems,
        *map(_as_problem, errors),
        *environment_level(variables).problems,
    ]


def _file_problems(named: str | None) -> list[Problem]:
    errors: list[ConfigError] = []
    try:
        found = find_file(named)
        if found is None:
            return []
        name, content = found
        level = file_level(ConfigFile(name, content, tuple(read_entries(name, content, FLAGS, errors))))
    except ConfigError as error:
        return [_as_problem(each) for each in [*errors, error]]
    return sorted([*map(_as_problem, errors), *level.problems], key=lambda problem: problem.line or 0)


def _as_problem(error: ConfigError) -> Problem:
    return Problem(error.flag, str(error), error.source, error.line)


def show(settings: Settings) -> list[Row]:
    """Return each flag with its value, where it came from, and what is declared about it, in order of declaration.

    It raises nothing.

    Args:
        settings: those of `load`; a secret that is set is shown as dots.

    Returns:
        One row a flag.

    >>> show(Settings(context_verbosity=4))[0][:4]
    ('CONTEXT_VERBOSITY', '4', 'argument', '10')
    """
    return [
        Row(
            name,
            declared.shown(getattr(settings, name.lower())),
            settings.sources[name],
            declared.shown_default(),
            declared.kind.allowed(),
            declared.help,
        )
        for name, declared in FLAGS.items()
    ]
