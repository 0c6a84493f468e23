"""Change one line of config.yaml, for `prompt-engine config set`."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from ..base.whole_file import replace_file
from ..errors import ConfigError
from .file import flag_name, read_entries
from .flag_base import Flag, plain
from .flag_types import BadValueError
from .flags import FLAGS
from .levels import known_flag

_COMMENT = re.compile(r"(?<![ \t])[ \t]+#")


def set_in_file(name: str, value: object, path: str | os.PathLike[str] = "config.yaml") -> bool:
    """Write a flag's value to a configuration file, and return whether the file changed. The next call uses it.

    Replaces the flag's line or its commented line, else adds a line; creates a missing file. The value has the flag's
    type, or is the text of such a value.

    Raises ConfigError for an unknown flag, a secret, a bad value, an unreadable or unwritable file, and a flag whose
    value in the file is not on one line.

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
    try:
        wanted = declared.kind.read(value)
    except BadValueError as bad:
        raise declared.refusal(value, "argument", "argument", hint=bad.hint) from None
    file = Path(path)
    try:
        before = file.read_bytes().decode("utf-8-sig") if file.exists() else ""
    except (OSError, ValueError):
        raise ConfigError(f"{str(file)!r} cannot be read as text. Name another file.", source=str(file)) from None
    lines = [e.line for e in read_entries(str(file), before.encode(), FLAGS) if flag_name(e.key) == declared.name]
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
        _write(file, after)
    return after != before


def _replaced(text: str, declared: Flag, line: str) -> str:
    """Return the text with `line` in place of the flag's line or commented line, else at the end; comments stay."""
    lines, end = text.splitlines(keepends=True), "\r\n" if "\r\n" in text else "\n"
    for mark in ("", "#"):
        for at, old in enumerate(lines):
            if old.startswith(mark) and flag_name(old.removeprefix(mark).partition(":")[0].rstrip()) == declared.name:
                comment = _comment(old.removeprefix(mark).rstrip("\r\n"))
                return "".join([*lines[:at], f"{line}{comment}{end}", *lines[at + 1 :]])
    return f"{text}{'' if not text or text.endswith(chr(10)) else end}{line}{end}"


def _comment(line: str) -> str:
    """Return the trailing comment of a line with the blanks before it; a `#` in quotes does not begin a comment."""
    for match in _COMMENT.finditer(line):
        value = line[: match.start()]
        if value.count('"') % 2 == value.count("'") % 2 == 0:
            return line[match.start() :]
    return ""


def _said(file: Path, text: str, declared: Flag) -> list[Any]:
    """Return every value of the flag in a configuration text; [] for a text that is not a configuration."""
    try:
        entries = list(read_entries(str(file), text.encode(), FLAGS))
        return [declared.kind.read(entry.value) for entry in entries if flag_name(entry.key) == declared.name]
    except (ConfigError, BadValueError, UnicodeEncodeError):
        return []


def _write(file: Path, text: str) -> None:
    try:
        with replace_file(file) as part:
            part.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise ConfigError(f"{str(file)!r} cannot be written ({error.strerror}).", source=str(file)) from None
