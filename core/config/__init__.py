"""Settings: the value of each flag, its source, and every problem.

The highest source wins: argument, environment, file, default. Every call reads the sources, and gets the same frozen
`Settings` while nothing has changed. No module reads a flag while it is imported; public functions pass settings down.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from ..base import logs
from ..base.hints import shown
from ..base.whole_file import replace_file
from ..errors import ConfigError
from .flag_base import Flag, ValueSource, plain
from .flag_types import BadValueError
from .flags import FLAGS as FLAGS
from .flags import Settings
from .levels import Problem, Values, Variables, flag_name, known_flag, read_entries, read_environment, read_file

__all__ = ["Problem", "Row", "Settings", "check", "load", "set_in_file", "show"]

GivenSettings = Settings | Mapping[str, object] | None
"""Settings as public functions take them: an object, a mapping of flag to value, or None for the process's settings."""

_MAX_KEPT = 64
_COMMENT = re.compile(r"(?<![ \t])[ \t]+#")

_kept: dict[tuple[str, Variables], tuple[bytes, Settings]] = {}
"""Cache: (content of the file, settings made of it) by (file name, variables)."""


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

    An invalid value is replaced by the default, even if a lower source is valid, and logged once. The same object is
    returned while variables and file are unchanged (without overrides); its `sources` has the source of each value.

    Args:
        overrides: values by flag name in upper, lower or camel case; their source is `argument`.
        path: the file; None uses CONFIG_FILE, else ./config.yaml.
        environ: the variables; None uses the variables of the process.

    Raises ConfigError for a file that is missing or not a YAML mapping, an unreadable file of a secret, and an unknown
    override.

    >>> load({"CONTEXT_VERBOSITY": 4}, environ={"CONTEXT_VERBOSITY": "2", "DIARY_HISTORY_DAYS": "1"}).differing()
    {'CONTEXT_VERBOSITY': 4, 'DIARY_HISTORY_DAYS': 1}
    """
    variables = read_environment(environ)
    name, content = read_file(path, variables)
    kept = _kept.get((name, variables))
    if kept is not None and kept[0] == content:
        settings = kept[1]
    else:
        values = Values()
        values.read_file(name, content)
        values.read_variables(variables)
        settings = _apply(values, Settings())
        if "default" not in values.sources.values():  # a missing folder may exist at the next call
            if len(_kept) >= _MAX_KEPT:
                _kept.clear()
            _kept[name, variables] = content, settings
    if not overrides:
        return settings
    arguments = Values()
    for key, value in overrides.items():
        arguments.read(known_flag(key), value, "argument", "argument")
    return _apply(arguments, settings)


def _apply(values: Values, base: Settings) -> Settings:
    """Apply `values` to the settings `base`; log each problem of these values once per process."""
    for problem in values.problems:
        _warn_once(problem)
    return base.under(values.values, values.sources)


@lru_cache(maxsize=1000)
def _warn_once(problem: Problem) -> None:
    logs.warning("config_problem", flag=shown(problem.flag), problem=problem.text)


def resolve(settings: GivenSettings = None) -> Settings:
    """Return `settings` if it is a Settings object, else the result of `load` with `settings` as overrides."""
    if settings is not None and not isinstance(settings, (Settings, Mapping)):
        raise TypeError(f"settings is of type {type(settings).__name__}. Pass a mapping of flag to value, or Settings.")
    return settings if isinstance(settings, Settings) else load(settings)


def check(path: str | os.PathLike[str] | None = None, environ: Mapping[str, str] | None = None) -> list[Problem]:
    """Return every problem of the configuration: first the file, then the variables.

    `path` and `environ` are as in `load`. Raises nothing: an unreadable file is a problem too.

    >>> [problem.flag for problem in check(environ={"CONTEXT_VERBOSITY": "ten", "TIMEZONE": "Mars"})]
    ['CONTEXT_VERBOSITY', 'TIMEZONE']
    """
    of_file, of_environment = Values(), Values()
    variables = read_environment(environ, of_environment.problems)
    try:
        of_file.read_file(*read_file(path, variables), of_file.problems)
    except ConfigError as error:
        of_file.problems.append(Problem.of(error))
    of_environment.read_variables(variables)
    return [*sorted(of_file.problems, key=lambda problem: problem.line or 0), *of_environment.problems]


def show(settings: Settings) -> list[Row]:
    """Return each flag with its value, source and declaration, in the order of declaration.

    >>> show(Settings(context_verbosity=4))[0][:4]
    ('CONTEXT_VERBOSITY', '4', 'argument', '10')
    """
    return [
        Row(
            name, declared.shown(getattr(settings, name.lower())), settings.sources[name], declared.shown_default(),
            declared.kind.allowed, declared.help,
        )
        for name, declared in FLAGS.items()
    ]  # fmt: skip


# Changing one line of the file


def set_in_file(name: str, value: object, path: str | os.PathLike[str] = "config.yaml") -> bool:
    """Write a flag's value to a configuration file, and return whether the file changed. The next call uses the value.

    Replaces the flag's line or its commented line, else adds a line; creates a missing file. The value has the flag's
    type, or is the text of such a value.

    Raises ConfigError for an unknown flag, a secret, an invalid value, an unreadable or unwritable file, and a flag
    whose value in the file is not on one line.

    >>> from prompt_engine.config import set_in_file
    >>> file = getfixture("tmp_path") / "config.yaml"
    >>> set_in_file("CONTEXT_VERBOSITY", 4, file), file.read_text(encoding="utf-8")
    (True, 'CONTEXT_VERBOSITY: 4\\n')
    """
    declared = known_flag(name)
    if declared.secret:
        raise ConfigError(
            f"{declared.name} is a secret. Set the variable {declared.name}, or {declared.name}_FILE to the path of a "
            "file that holds it.",
            flag=declared.name,
        )
    wanted = declared.read(value)
    file = Path(path)
    try:
        before = file.read_bytes().decode("utf-8-sig") if file.exists() else ""
    except (OSError, ValueError):
        raise ConfigError(f"{str(file)!r} cannot be read as text. Name another file.", source=str(file)) from None
    lines = [e.line for e in read_entries(str(file), before.encode()) if flag_name(e.key) == declared.name]
    after = _replaced(before, declared, f"{declared.name}: {json.dumps(plain(wanted), ensure_ascii=False)}")
    if _said(file, after, declared) != [wanted]:
        place = f"{str(file)!r}, line {lines[0]}" if lines else repr(str(file))
        raise ConfigError(
            f"{declared.name} cannot be set in {place}: it is not written as `{declared.name}: value` on one line. "
            "Change it there.",
            flag=declared.name,
            source=str(file),
        )
    if after != before:
        try:
            with replace_file(file) as part:
                part.write_text(after, encoding="utf-8", newline="")
        except OSError as error:
            raise ConfigError(f"{str(file)!r} cannot be written ({error.strerror}).", source=str(file)) from None
    return after != before


def _replaced(text: str, declared: Flag, line: str) -> str:
    """Replace the flag's line or commented line by `line`, or append it at the end; comments stay."""
    lines, end = text.splitlines(keepends=True), "\r\n" if "\r\n" in text else "\n"
    for mark in ("", "#"):
        for at, old in enumerate(lines):
            if old.startswith(mark) and flag_name(old.removeprefix(mark).partition(":")[0].rstrip()) == declared.name:
                comment = _comment(old.removeprefix(mark).rstrip("\r\n"))
                return "".join([*lines[:at], f"{line}{comment}{end}", *lines[at + 1 :]])
    return f"{text}{'' if not text or text.endswith(chr(10)) else end}{line}{end}"


def _comment(line: str) -> str:
    """Return the trailing comment of a line with the spaces before it; a `#` in quotes does not begin a comment."""
    for match in _COMMENT.finditer(line):
        value = line[: match.start()]
        if value.count('"') % 2 == value.count("'") % 2 == 0:
            return line[match.start() :]
    return ""


def _said(file: Path, text: str, declared: Flag) -> list[Any]:
    """Return every value that a configuration text has for the flag; [] if the text cannot be parsed."""
    try:
        entries = list(read_entries(str(file), text.encode()))
        return [declared.kind.read(entry.value) for entry in entries if flag_name(entry.key) == declared.name]
    except (ConfigError, BadValueError, UnicodeEncodeError):
        return []
