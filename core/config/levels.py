"""Read each source of settings (arguments, variables, file), and list its problems."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ..base import yaml_text
from ..base.hints import find_nearest, shown
from ..errors import ConfigError
from .flag_base import Flag, ValueSource
from .flag_types import BadValueError
from .flags import FLAGS

Variables = tuple[tuple[str, str], ...]
CONFIG_FILE = "CONFIG_FILE"
"""Variable with the path of the configuration file."""

SECRET_FILES = {f"{name}_FILE": name for name, declared in FLAGS.items() if declared.secret}
"""Variables that name the file of a secret, and the secret's flag."""

IF_BAD = {"PRIVACY_DEFAULT": "full"}
"""Values of flags that are used if the given value is invalid; other flags then use their default."""
_VARIABLES = frozenset([*FLAGS, *SECRET_FILES, CONFIG_FILE])
_SECRET_BYTES = 65536
MAX_BYTES = 1_000_000
_HUMPS = re.compile("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


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


class Values:
    """Values of settings, collected from one source after the other; a later source overrides an earlier source."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.sources: dict[str, ValueSource] = {}
        """Source of each value; `default` where the value was bad."""
        self.problems: list[Problem] = []

    def read(self, declared: Flag, value: object, source: ValueSource, where: str, line: int | None = None) -> None:
        """Validate and add one value; a BadValueError as `value` means that its source could not be read."""
        try:
            if isinstance(value, BadValueError):
                raise value
            self.values[declared.name], self.sources[declared.name] = declared.kind.read(value), source
        except BadValueError as bad:
            seen = "unreadable" if value is bad else value
            until = IF_BAD.get(declared.name, declared.default)
            self.values[declared.name], self.sources[declared.name] = until, "default"
            hint = f"Until then it is {until}." if declared.name in IF_BAD else str(bad)
            self.problems.append(Problem.of(declared.refusal(seen, source, where, line=line, hint=hint)))

    def read_file(self, name: str, content: bytes, found: list[Problem] | None = None) -> None:
        """Add the flags in a file; an unknown key becomes a problem that names the most similar flag."""
        for entry in read_entries(name, content, found):
            flag = flag_name(entry.key)
            if flag in FLAGS:
                self.read(FLAGS[flag], entry.value, "file", name, entry.line)
            else:
                near = find_nearest(flag, FLAGS)
                advice = f" The nearest known one is {near}." if near else ""
                text = f"{shown(entry.key)} is no flag ({name}, line {entry.line}).{advice} Correct or remove the line."
                self.problems.append(Problem(entry.key, text, name, entry.line))

    def read_variables(self, texts: Iterable[tuple[str, str]]) -> None:
        for name, text in texts:
            if name in FLAGS:
                self.read(FLAGS[name], text, "environment", f"environment variable {name}")


def read_environment(environ: Mapping[str, str] | None = None, found: list[Problem] | None = None) -> Variables:
    """Return the known variables that are set, sorted by name, with secrets read from their files."""
    environ = os.environ if environ is None else environ
    held = {name: environ[name] for name in _VARIABLES.intersection(environ)}
    for variable, name in SECRET_FILES.items():
        path = held.pop(variable, "")
        if not path or name in held:
            continue
        try:
            held[name] = _secret(variable, path)
        except ConfigError as error:
            if found is None:
                raise
            found.append(Problem.of(error))
    return tuple(sorted(held.items()))


def _secret(variable: str, path: str) -> str:
    try:
        with Path(path).open(encoding="utf-8") as file:
            if held := file.read(_SECRET_BYTES).strip():
                return held
        # if an empty file counted as unset, the database would be a new file
        problem = "is empty. Write the secret into it, or remove the variable"
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a UTF-8 text"
        problem = f"cannot be read ({reason}). Name a file that holds the secret alone"
    raise ConfigError(f"{variable} names {path!r}, which {problem}.", flag=SECRET_FILES[variable], source=variable)


# The file


class Entry(NamedTuple):
    key: str
    line: int
    value: Any
    """Value of the key; a BadValueError if YAML cannot convert it, for instance an impossible date."""


def flag_name(key: str) -> str:
    """Convert a key to upper snake case: `contextVerbosity` and `context_verbosity` become `CONTEXT_VERBOSITY`."""
    return _HUMPS.sub("_", key).upper() if key.isascii() else key


def read_file(path: str | os.PathLike[str] | None, variables: Iterable[tuple[str, str]]) -> tuple[str, bytes]:
    """Return (name, content) of file `path`, else CONFIG_FILE, else config.yaml; blank if config.yaml is missing."""
    named = os.fspath(path) if path is not None else dict(variables).get(CONFIG_FILE)
    name = named or "config.yaml"
    try:
        with open(name, "rb", buffering=0) as file:  # noqa: PTH123 - this runs for every prompt
            content = file.read(MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        if named:
            sentence = f"There is no configuration file {shown(named)}. Name one that exists, or none."
            raise ConfigError(sentence, source=named) from None
        return "", b""
    except IsADirectoryError:
        raise ConfigError(f"{name!r} is a folder. Name a YAML file.", source=name) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a possible path"
        raise ConfigError(f"{name!r} cannot be read ({reason}). Name a file that can be read.", source=name) from None
    if len(content) > MAX_BYTES:
        raise ConfigError(f"{name!r} is larger than {MAX_BYTES} bytes, the most that is read.", source=name)
    return name, content


def read_entries(name: str, content: bytes, found: list[Problem] | None = None) -> Iterator[Entry]:
    """Yield a file's keys, with values for flags only. Append duplicates to `found`; without it, raise ConfigError."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _refused(name, line, "is not UTF-8. Save the file as UTF-8") from None
    if all(not line.strip() or line.lstrip().startswith("#") for line in text.splitlines()):
        return
    try:
        loader, node = yaml_text.compose(text)
    except yaml_text.YamlError as error:
        raise _refused(name, error.line, error.problem) from None
    try:
        if node is None or node.tag == "tag:yaml.org,2002:null":
            return
        if node.id != "mapping":
            raise _refused(name, node.start_mark.line + 1, "is no mapping. Write lines like CONTEXT_VERBOSITY: 10")
        seen: dict[str, tuple[str, int]] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if key_node.id != "scalar":
                raise _refused(name, line, "has a key that is no text. Write lines like CONTEXT_VERBOSITY: 10")
            key = str(key_node.value)
            if flag_name(key) in seen:
                known, first = seen[flag_name(key)]
                again = f"line {first} said already" + ("" if known == key else f" as {shown(known)}")
                twice = _refused(name, line, f"says {shown(key)}, which {again}. Remove one of the two")
                if found is None:
                    raise twice
                found.append(Problem.of(twice))
                continue
            seen[flag_name(key)] = key, line
            value = None
            if flag_name(key) in FLAGS:
                try:
                    value = yaml_text.construct(loader, value_node)
                except yaml_text.YamlError:
                    value = BadValueError("YAML makes no value of it; put quotes around it if it is meant as text.")
            yield Entry(key, line, value)
    finally:
        loader.dispose()


def _refused(name: str, line: int, what: str) -> ConfigError:
    return ConfigError(f"{name!r}, line {line}, {what}.", source=name, line=line)


def known_flag(name: object) -> Flag:
    """Return the flag with a name in upper, lower or camel case; raise ConfigError if the name is unknown."""
    declared = FLAGS.get(flag_name(name)) if isinstance(name, str) else None
    if declared is None:
        near = find_nearest(flag_name(name), FLAGS) if isinstance(name, str) else None
        advice = f"The nearest known one is {near}." if near else "`prompt-engine config list` lists the flags."
        raise ConfigError(f"{shown(name)} is no flag. {advice}", flag=name[:128] if isinstance(name, str) else "")
    return declared


LEAST_TOKEN = 16


def describe_bad_token(token: str) -> str:
    """Describe why ADMIN_TOKEN cannot be used, without quoting it; "" if it can."""
    how = "Make one with `python -c 'import secrets; print(secrets.token_urlsafe(32))'` and set it in the environment."
    if not token:
        return f"ADMIN_TOKEN is unset. The admin server does not start without one. {how}"
    if len(token) < LEAST_TOKEN:
        return f"ADMIN_TOKEN has {len(token)} characters. It must have at least {LEAST_TOKEN}. {how}"
    return ""
