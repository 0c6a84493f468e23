"""Read each source of settings (arguments, variables, file), and list its problems."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..base import logs
from ..base.hints import find_nearest, shown
from ..errors import ConfigError
from .file import Entry, flag_name
from .flag_base import Flag, ValueSource
from .flag_types import BadValueError
from .flags import FLAGS

CONFIG_FILE = "CONFIG_FILE"
"""Variable with the path of the configuration file."""

SECRET_FILES = {f"{name}_FILE": name for name, declared in FLAGS.items() if declared.secret}
"""Variables that name the file of a secret, and the secret's flag."""

_VARIABLES = frozenset([*FLAGS, *SECRET_FILES, CONFIG_FILE])
_VARIABLE_BYTES = frozenset(name.encode() for name in _VARIABLES)
_SECRET_BYTES = 65536
_MAX_WARNED = 1000

_warned: set[str] = set()


@dataclass(frozen=True)
class Problem:
    """One problem of the configuration."""

    flag: str
    """Flag, or the unknown key as written; blank for a problem of the whole file."""
    text: str
    """The problem, its place, the allowed values, and what to do."""
    source: str
    """Path, variable or argument with the problem."""
    line: int | None = None

    @classmethod
    def of(cls, error: ConfigError) -> Problem:
        return cls(error.flag, str(error), error.source, error.line)

    def __str__(self) -> str:
        return self.text


class Level:
    """One source of settings: values (the default for a bad one), flags with a bad value, and problems."""

    def __init__(self, source: ValueSource) -> None:
        self.source = source
        self.values: dict[str, Any] = {}
        self.refused: set[str] = set()
        self.problems: list[Problem] = []

    def read(self, declared: Flag, value: object, where: str, line: int | None = None) -> None:
        """Validate one value; a BadValueError as the value means that it could not be read."""
        try:
            if isinstance(value, BadValueError):
                raise value
            self.values[declared.name] = declared.kind.read(value)
        except BadValueError as bad:
            seen = "unreadable" if value is bad else value
            self.refused.add(declared.name)
            self.values[declared.name] = declared.default
            self.problems.append(Problem.of(declared.refusal(seen, self.source, where, line=line, hint=bad.hint)))


def read_environment(
    environ: Mapping[str, str] | None = None, found: list[ConfigError] | None = None
) -> tuple[tuple[str, str], ...]:
    """Return the known variables that are set, sorted by name, with secrets read from their files."""
    if environ is None and os.supports_bytes_environ:  # four times as fast as asking for each name
        held = {os.fsdecode(name): os.fsdecode(os.environb[name]) for name in _VARIABLE_BYTES.intersection(os.environb)}
    else:
        environ = os.environ if environ is None else environ
        held = {name: environ[name] for name in _VARIABLES if name in environ}
    for variable, name in SECRET_FILES.items():
        path = held.pop(variable, "")
        if not path or name in held:
            continue
        try:
            held[name] = _secret(variable, path)
        except ConfigError as error:
            if found is None:
                raise
            found.append(error)
    return tuple(sorted(held.items()))


def _secret(variable: str, path: str) -> str:
    try:
        with Path(path).open(encoding="utf-8") as file:
            held = file.read(_SECRET_BYTES).strip()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a UTF-8 text"
        raise ConfigError(
            f"{variable} names {path!r}, which cannot be read ({reason}). Name a file that holds the secret alone.",
            flag=SECRET_FILES[variable],
            source=variable,
        ) from None
    if not held:  # if this counted as unset, the database would be a new file
        raise ConfigError(
            f"{variable} names {path!r}, which is empty. Write the secret into it, or remove the variable.",
            flag=SECRET_FILES[variable],
            source=variable,
        )
    return held


def environment_level(texts: Iterable[tuple[str, str]]) -> Level:
    level = Level("environment")
    for name, text in texts:
        if name in FLAGS:
            level.read(FLAGS[name], text, f"environment variable {name}")
    return level


def file_level(name: str, entries: Iterable[Entry]) -> Level:
    """Return the level of the file; an unknown key is a problem that names the nearest flag."""
    level = Level("file")
    for entry in entries:
        flag = flag_name(entry.key)
        if flag in FLAGS:
            level.read(FLAGS[flag], entry.value, name, entry.line)
        else:
            near = find_nearest(flag, FLAGS)
            advice = f" The nearest known one is {near}." if near else ""
            text = f"{shown(entry.key)} is no flag ({name}, line {entry.line}).{advice} Correct or remove the line."
            level.problems.append(Problem(entry.key, text, name, entry.line))
    return level


def known_flag(name: object) -> Flag:
    """Return the flag with a name in upper, lower or camel case; raise ConfigError for an unknown name."""
    declared = FLAGS.get(flag_name(name)) if isinstance(name, str) else None
    if declared is None:
        near = find_nearest(flag_name(name), FLAGS) if isinstance(name, str) else None
        advice = f"The nearest known one is {near}." if near else "`prompt-engine config list` lists the flags."
        raise ConfigError(f"{shown(name)} is no flag. {advice}", flag=name[:128] if isinstance(name, str) else "")
    return declared


def warn_of_problems(problems: Iterable[Problem]) -> None:
    """Log each problem once per process."""
    for problem in problems:
        if problem.text in _warned:
            continue
        if len(_warned) >= _MAX_WARNED:
            _warned.clear()
        _warned.add(problem.text)
        logs.warning("config_problem", flag=shown(problem.flag), problem=problem.text)


LEAST_TOKEN = 16


def describe_bad_token(token: str) -> str:
    """Return why ADMIN_TOKEN cannot be used, or ""; the token is not quoted."""
    how = "Make one with `python -c 'import secrets; print(secrets.token_urlsafe(32))'` and set it in the environment."
    if not token:
        return f"ADMIN_TOKEN is unset. The admin server does not start without one. {how}"
    if len(token) < LEAST_TOKEN:
        return f"ADMIN_TOKEN has {len(token)} characters. It must have at least {LEAST_TOKEN}. {how}"
    return ""
