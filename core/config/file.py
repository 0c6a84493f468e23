"""Read config.yaml: find the file, and return its keys with values and line numbers."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from typing import Any, NamedTuple

from ..base import yaml_text
from ..base.hints import shown
from ..errors import ConfigError
from .flag_types import BadValueError

MAX_BYTES = 1_000_000
_HUMPS = re.compile("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class Entry(NamedTuple):
    """One top-level key of the file."""

    key: str
    """Key as written in the file."""
    line: int
    value: Any
    """Value of the key; a BadValueError where YAML cannot build one, for instance for an impossible date."""


def flag_name(key: str) -> str:
    """Return a key in upper snake case: `contextVerbosity` and `context_verbosity` give the same."""
    return _HUMPS.sub("_", key).upper() if key.isascii() else key


def read_file(named: str | None) -> tuple[str, bytes] | None:
    """Return path and content of the named file, or of `config.yaml` in the working folder; None without one."""
    name = named or "config.yaml"
    content = _read_bytes(name)
    if content is None and named:
        sentence = f"There is no configuration file {shown(named)}. Name one that exists, or none."
        raise ConfigError(sentence, source=named)
    return None if content is None else (name, content)


def _read_bytes(name: str) -> bytes | None:
    try:
        with open(name, "rb", buffering=0) as file:  # noqa: PTH123 - this runs for every prompt
            content = file.read(MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except IsADirectoryError:
        raise ConfigError(f"{name!r} is a folder. Name a YAML file.", source=name) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a possible path"
        raise ConfigError(f"{name!r} cannot be read ({reason}). Name a file that can be read.", source=name) from None
    if len(content) > MAX_BYTES:
        raise ConfigError(f"{name!r} is larger than {MAX_BYTES} bytes, the most that is read.", source=name)
    return content


def read_entries(
    name: str, content: bytes, flags: Container[str], found: list[ConfigError] | None = None
) -> Iterator[Entry]:
    """Yield the top-level keys of a file, in order."""
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
                found.append(twice)
                continue
            seen[flag_name(key)] = key, line
            yield Entry(key, line, _read_node(loader, value_node) if flag_name(key) in flags else None)
    finally:
        loader.dispose()


def _read_node(loader: Any, node: Any) -> Any:
    try:
        return yaml_text.construct(loader, node)
    except yaml_text.YamlError:
        return BadValueError("YAML makes no value of it; put quotes around it if it is meant as text.")


def _refused(name: str, line: int, what: str) -> ConfigError:
    return ConfigError(f"{name!r}, line {line}, {what}.", source=name, line=line)
