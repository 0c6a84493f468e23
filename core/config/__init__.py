"""Settings: the value of each flag, its source, and every problem.

The highest source wins: argument, environment, file, default. Every call reads the sources, and gets the same frozen
`Settings` while nothing has changed. No module reads a flag while it is imported; public functions pass settings down.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..errors import ConfigError
from .editing import set_in_file
from .file import read_entries, read_file
from .flag_base import ValueSource
from .flags import FLAGS as FLAGS
from .flags import Settings
from .levels import (
    CONFIG_FILE,
    Level,
    Problem,
    environment_level,
    file_level,
    known_flag,
    read_environment,
    warn_of_problems,
)

__all__ = ["Problem", "Row", "Settings", "check", "load", "set_in_file", "show"]

_MAX_KEPT = 64
_Variables = tuple[tuple[str, str], ...]

_kept: dict[tuple[str, _Variables], tuple[bytes, Settings]] = {}
"""Cache of settings with the file content they come from, by (file name, variables)."""


class Row(NamedTuple):
    """One line of `config list`."""

    flag: str
    value: str
    """Value as text; dots for a secret."""
    source: ValueSource
    default: str
    allowed: str
    help: str


def load(
    overrides: Mapping[str, object] | None = None,
    *,
    path: str | os.PathLike[str] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Settings:
    """Return the settings: each flag takes the value of its highest source.

    A bad value is replaced by the default, even if a lower source has a good one, and logged once. The same object is
    returned while variables and file are unchanged (without overrides); its `sources` has the source of each value.

    Args:
        overrides: flag to value, as arguments; names in upper, lower or camel case.
        path: the file; None uses CONFIG_FILE, else ./config.yaml.
        environ: the variables; None uses those of the process.

    Raises ConfigError for a file that is missing or not a YAML mapping, an unreadable file of a secret, and an unknown
    override.

    >>> load({"CONTEXT_VERBOSITY": 4}, environ={"CONTEXT_VERBOSITY": "2", "DIARY_HISTORY_DAYS": "1"}).differing()
    {'CONTEXT_VERBOSITY': 4, 'DIARY_HISTORY_DAYS': 1}
    """
    variables = read_environment(environ)
    named = os.fspath(path) if path is not None else dict(variables).get(CONFIG_FILE)
    name, content = read_file(named) or ("", b"")
    kept = _kept.get((name, variables))
    if kept is not None and kept[0] == content:
        settings = kept[1]
    else:
        levels = [file_level(name, read_entries(name, content, FLAGS)), environment_level(variables)]
        settings = _joined(Settings(), levels)
        if not any(level.refused for level in levels):  # a missing folder may exist at the next call
            if len(_kept) >= _MAX_KEPT:
                _kept.clear()
            _kept[name, variables] = content, settings
    if not overrides:
        return settings
    arguments = Level("argument")
    for key, value in overrides.items():
        arguments.read(known_flag(key), value, "argument")
    return _joined(settings, [arguments])


def _joined(base: Settings, levels: list[Level]) -> Settings:
    """Return `base` with the values of the levels on top, lowest first, and log their problems."""
    values: dict[str, Any] = {}
    sources: dict[str, ValueSource] = {}
    for level in levels:
        values |= level.values
        sources |= {name: "default" if name in level.refused else level.source for name in level.values}
        warn_of_problems(level.problems)
    return base.under(values, sources)


def resolve(settings: Settings | Mapping[str, object] | None = None) -> Settings:
    """Return the given settings, or those of `load` with the given overrides."""
    if settings is not None and not isinstance(settings, (Settings, Mapping)):
        raise TypeError(f"settings is of type {type(settings).__name__}. Pass a mapping of flag to value, or Settings.")
    return settings if isinstance(settings, Settings) else load(settings)


def check(path: str | os.PathLike[str] | None = None, environ: Mapping[str, str] | None = None) -> list[Problem]:
    """Return every problem of the configuration: first the file, then the variables.

    `path` and `environ` are as in `load`. Raises nothing: an unreadable file is a problem too.

    >>> [problem.flag for problem in check(environ={"CONTEXT_VERBOSITY": "ten", "TIMEZONE": "Mars"})]
    ['CONTEXT_VERBOSITY', 'TIMEZONE']
    """
    of_variables: list[ConfigError] = []
    variables = read_environment(environ, of_variables)
    errors: list[ConfigError] = []
    problems: list[Problem] = []
    named = os.fspath(path) if path is not None else dict(variables).get(CONFIG_FILE)
    try:
        name, content = read_file(named) or ("", b"")
        problems = file_level(name, list(read_entries(name, content, FLAGS, errors))).problems
    except ConfigError as error:
        errors.append(error)
    problems = sorted([*map(Problem.of, errors), *problems], key=lambda problem: problem.line or 0)
    return [*problems, *map(Problem.of, of_variables), *environment_level(variables).problems]


def show(settings: Settings) -> list[Row]:
    """Return each flag with its value, source and declaration, in the order of declaration.

    >>> show(Settings(context_verbosity=4))[0][:4]
    ('CONTEXT_VERBOSITY', '4', 'argument', '10')
    """
    return [
        Row(
            name,
            declared.shown(getattr(settings, name.lower())),
            settings.sources[name],
            declared.shown_default(),
            declared.kind.allowed,
            declared.help,
        )
        for name, declared in FLAGS.items()
    ]
