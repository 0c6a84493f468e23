"""Printing: JSON for programs, tables and sentences for people. Answers go to stdout, everything else to stderr.

Texts for people are cleaned first: a stored text cannot hide or change other output of a terminal.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:  # loaded only when something is printed
    from rich.console import Console, RenderableType

    from ..shapes import Progress

_HIDING = (range(9), range(11, 32), range(127, 160), range(0x202A, 0x202F), range(0x2066, 0x206A))
_UNREADABLE = dict.fromkeys(code for codes in _HIDING for code in codes)
"""Control characters and direction marks, mapped to None for `str.translate`."""
_WIDE = 160
_MOST = 10
"""Maximum number of values shown in one cell."""


def console(stream: TextIO) -> Console:
    """Return the console of a stream: coloured on a terminal, elsewhere plain lines that programs can search."""
    from rich.console import Console

    width = None if stream.isatty() or "COLUMNS" in os.environ else _WIDE
    return Console(file=stream, width=width, highlight=False, emoji=False, markup=False)


def clean(text: object) -> str:
    """Remove control characters from a text, and join its lines."""
    return " ".join(str(text).translate(_UNREADABLE).split())


def print_json(value: Any, *, in_one_line: bool = False) -> None:
    """Print a value as JSON on stdout; letters stay unescaped if stdout is UTF-8."""
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    indent = None if in_one_line else 2
    sys.stdout.write(json.dumps(value, ensure_ascii=not utf8, indent=indent, default=str) + "\n")
    sys.stdout.flush()


def say(text: str, style: str = "") -> None:
    _print(sys.stdout, text, style)


def lines(texts: Iterable[str]) -> None:
    for text in texts:
        say(text)


def note(text: str, style: str = "") -> None:
    """Print a sentence on stderr."""
    _print(sys.stderr, text, style)


def warn(*texts: str) -> None:
    for text in texts:
        note(text, style="yellow")


def _print(stream: TextIO, text: str, style: str) -> None:
    """Print a text, wrapped on a terminal. Indented lines are commands to copy and are not wrapped."""
    from rich.text import Text

    to = console(stream)
    indent = " " * (len(text) - len(text.lstrip(" ")))
    to.print(Text(indent + clean(text), style=style), soft_wrap=bool(indent) or not to.is_terminal)


def heading(text: str) -> None:
    sys.stdout.write("\n")
    say(text, style="bold")


def indented(text: str, style: str = "") -> None:
    from rich.padding import Padding
    from rich.text import Text

    _print_block(Padding(Text(clean(text), style=style), (0, 0, 0, 2)))


def table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], nothing: str = "", *, right: Iterable[int] = ()
) -> None:
    """Print rows, or the sentence `nothing` without rows; `right` has the indexes of right-aligned columns."""
    rows = list(rows)
    if nothing and not rows:
        say(nothing)
        return
    usual, aligned = {"overflow": "fold"}, {"overflow": "fold", "justify": "right", "no_wrap": True}
    _print_rows([{"header": name, **(aligned if n in right else usual)} for n, name in enumerate(columns)], rows)


def facts(rows: Iterable[tuple[str, object]]) -> None:
    _print_rows([{"style": "bold", "no_wrap": True}, {"overflow": "fold"}], rows, header=False)


def show(value: Any, nothing: str = "") -> None:
    """Print any value: a list of objects as a table, an object as names and values."""
    if isinstance(value, Mapping):
        named = ((name.replace("_", " ").capitalize(), _cell(name, each)) for name, each in value.items())
        facts((name, cell) for name, cell in named if cell != "")
        return
    rows = list(value)
    names = list(rows[0]) if rows else []
    numbers = [at for at, name in enumerate(names) if all(type(row[name]) is int for row in rows)]
    cells = [[_cell(name, row[name]) for name in names] for row in rows]
    table([name.replace("_", " ") for name in names], cells, nothing, right=numbers)


def _cell(name: str, value: Any) -> object:
    if isinstance(value, Mapping):
        value = [f"{key} {each}" for key, each in value.items()]
    if isinstance(value, list | tuple):
        more = f" and {len(value) - _MOST:,} more" if len(value) > _MOST else ""
        return ", ".join(map(str, value[:_MOST])) + more
    if name.endswith("_at"):
        return str(value)[:16].replace("T", " ")
    return "yes" if value is True else "no" if value is False else "" if value is None else value


def _print_rows(columns: Iterable[dict[str, Any]], rows: Iterable[Sequence[object]], *, header: bool = True) -> None:
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0), show_header=header)
    for column in columns:
        grid.add_column(**column)
    for row in rows:
        grid.add_row(*(Text(repr(cell) if str(cell).endswith(" ") else clean(cell)) for cell in row))
    _print_block(grid)


def _print_block(renderable: RenderableType) -> None:
    """Print on stdout without trailing blanks."""
    terminal = console(sys.stdout)
    with terminal.capture() as captured:
        terminal.print(renderable)
    sys.stdout.writelines(line.rstrip() + "\n" for line in captured.get().splitlines())
    sys.stdout.flush()


@contextmanager
def bar() -> Iterator[Progress]:
    """Yield a progress function that shows a bar for each stage on stderr; without a terminal it shows nothing."""
    from rich.progress import Progress as Bar

    errors = console(sys.stderr)
    progress = Bar(console=errors, transient=True)
    tasks: dict[str, Any] = {}

    def show(what: str, done: int, total: int) -> None:
        if what not in tasks:
            tasks[what] = progress.add_task(what)
        progress.update(tasks[what], completed=done, total=max(total, done) or None)

    with progress if errors.is_terminal else nullcontext():
        yield show


def count(number: int, noun: str) -> str:
    """Format a number with its noun, such as `1 row` and `2,000 rows`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def prepare_streams() -> None:
    """Let stdout and stderr accept every character; writing to a closed stdout fails as on a full disk."""
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def abandon_stream(stream: TextIO) -> None:
    """Discard unwritten output, which the interpreter would otherwise report at exit."""
    # a stream without descriptor writes nothing at exit
    with suppress(OSError, ValueError), Path(os.devnull).open("wb") as null:
        os.dup2(null.fileno(), stream.fileno())
