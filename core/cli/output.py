"""Printing: JSON for programs, tables and sentences for people. Answers go to stdout, everything else to stderr."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from ..base.wire_ids import write_ids

if TYPE_CHECKING:  # what prints is loaded where something is printed
    from rich.console import Console, RenderableType
    from rich.progress import Progress

_HIDING = (range(9), range(11, 32), range(127, 160), range(0x202A, 0x202F), range(0x2066, 0x206A))
_UNREADABLE = dict.fromkeys(code for codes in _HIDING for code in codes)
"""Control characters and direction marks: on a terminal they could hide or change the text around them."""
_FILLING = re.compile(r"(?<! ) +((?:\x1b\[[0-9;]*m)*)$", re.MULTILINE)
"""Blanks at the end of a line, before its colour ends."""
_QUIET_SECONDS = 1.0
"""Shorter work shows no progress."""


def console(stream: TextIO) -> Console:
    """Return the console of a stream, with colour only on a terminal."""
    from rich.console import Console

    return Console(file=stream, highlight=False, emoji=False, markup=False)


def clean(text: object) -> str:
    """Return a text that shows on a terminal as what it is, on one line.

    >>> clean("a\\x1b[31mb\\nc")
    'a[31mb c'
    """
    return " ".join(str(text).translate(_UNREADABLE).split())


def print_json(value: Any, *, in_one_line: bool = False) -> None:
    """Print a value as JSON on stdout, row ids as texts, letters as they are where stdout can take them."""
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    indent = None if in_one_line else 2
    sys.stdout.write(json.dumps(write_ids(value), ensure_ascii=not utf8, indent=indent, default=str) + "\n")
    sys.stdout.flush()


def say(text: str, style: str = "") -> None:
    """Print a sentence on stdout."""
    _print(console(sys.stdout), text, style)


def lines(texts: Iterable[str]) -> None:
    """Print sentences on stdout, each on a line of its own."""
    for text in texts:
        say(text)


def note(text: str, style: str = "") -> None:
    """Print a sentence on stderr."""
    _print(console(sys.stderr), text, style)


def _print(to: Console, text: str, style: str) -> None:
    """Print a text, on a terminal wrapped between words. Indented lines are commands to copy: they stay whole."""
    from rich.text import Text

    to.print(Text(text, style=style), soft_wrap=text.startswith(" ") or not to.is_terminal)


def heading(text: str) -> None:
    """Print a heading on stdout, with a blank line before it."""
    from rich.text import Text

    console(sys.stdout).print(Text("\n" + text, style="bold"))


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, right: Iterable[int] = ()) -> None:
    """Print rows under a header on stdout. `right` numbers the columns that are aligned to the right."""
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    aligned = set(right)
    for number, name in enumerate(columns):
        justify: Any = "right" if number in aligned else "left"
        grid.add_column(name, justify=justify, overflow="fold", no_wrap=number in aligned)
    for row in rows:
        grid.add_row(*(Text(clean(cell)) for cell in row))
    _print_trimmed(grid)


def table_or(
    columns: Sequence[str], rows: Sequence[Sequence[object]], nothing: str, *, right: Iterable[int] = ()
) -> None:
    """Print rows under a header, or a sentence where there are none."""
    if rows:
        table(columns, rows, right=right)
    else:
        say(clean(nothing))


def facts(rows: Iterable[tuple[str, object]]) -> None:
    """Print names and values on stdout, the values under each other."""
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in rows:
        grid.add_row(name, Text(clean(value)))
    _print_trimmed(grid)


class Bar:
    """Progress on stderr, a line for each stage of work that takes over a second; none where stderr is no terminal."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[str, Any] = {}
        self._quiet_until = time.monotonic() + _QUIET_SECONDS

    def __call__(self, what: str, done: int, total: int) -> None:
        """Show that `done` of `total` of something are done; a total of 0 is one that is not known."""
        if what not in self._tasks:
            self._tasks[what] = self._progress.add_task(what, total=total or None)
        self._progress.update(self._tasks[what], completed=done, total=max(total, done) or None)
        if time.monotonic() >= self._quiet_until:
            self._progress.start()


@contextmanager
def bar() -> Iterator[Bar]:
    """Yield a progress bar for the time of a long piece of work; it is gone afterwards."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    errors = console(sys.stderr)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    progress = Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal)
    try:
        yield Bar(progress)
    finally:
        if progress.live.is_started:
            progress.stop()


def indented(text: str, style: str = "") -> None:
    """Print a text on stdout, every line of it moved in by two."""
    from rich.padding import Padding
    from rich.text import Text

    _print_trimmed(Padding(Text(clean(text), style=style), (0, 0, 0, 2)))


def sentence(text: str) -> str:
    """Return a text that ends as a sentence does, once.

    >>> sentence("Done"), sentence("It must be a number."), sentence("Is it?")
    ('Done.', 'It must be a number.', 'Is it?')
    """
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _print_trimmed(renderable: RenderableType) -> None:
    """Print on stdout without the blanks that fill up lines, which get into the way of copying."""
    terminal = console(sys.stdout)
    with terminal.capture() as captured:
        terminal.print(renderable)
    sys.stdout.write(_FILLING.sub(r"\1", captured.get()))
    sys.stdout.flush()


def prepare_streams() -> None:
    """Let both streams take every character, and replace a closed stream.

    The replacement for output refuses what is written, as a full disk does, so that nothing is lost silently. It also
    keeps the descriptor: the next file that is opened, perhaps a database, would otherwise get it.
    """
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def abandon_stream(stream: TextIO) -> None:
    """Drop what a stream holds and cannot write; the interpreter would report it at its end."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
    except (OSError, ValueError):  # no descriptor of its own: nothing is written at the end
        pass
