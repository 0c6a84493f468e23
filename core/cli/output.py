"""What is printed: JSON for programs, tables and sentences for people. Answers on stdout, everything else on stderr."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..base.wire_ids import write_ids

if TYPE_CHECKING:  # what prints is loaded where something is printed
    from rich.console import Console, RenderableType
    from rich.progress import Progress

_HIDING = (range(9), range(11, 32), range(127, 160), range(0x202A, 0x202F), range(0x2066, 0x206A))
_UNREADABLE = dict.fromkeys(code for codes in _HIDING for code in codes)
"""Control characters and direction marks: on a terminal they could hide or change what stands around them."""
_FILLING = re.compile(r"(?<! ) +((?:\x1b\[[0-9;]*m)*)$", re.MULTILINE)
"""Blanks at the end of a line, before the signs that end its colour."""
_QUIET_SECONDS = 1.0
"""Work that is done sooner shows no progress."""


def out() -> Console:
    """Return the console of answers: colour only on a terminal."""
    from rich.console import Console

    return Console(file=sys.stdout, highlight=False, emoji=False, markup=False)


def err() -> Console:
    """Return the console of progress, notes and errors."""
    from rich.console import Console

    return Console(file=sys.stderr, highlight=False, emoji=False, markup=False)


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
    _print(out(), text, style)


def lines(texts: Iterable[str]) -> None:
    """Print sentences on stdout, each on a line of its own."""
    for text in texts:
        say(text)


def note(text: str, style: str = "") -> None:
    """Print a sentence on stderr."""
    _print(err(), text, style)


def _print(console: Console, text: str, style: str) -> None:
    """Print a text, on a terminal wrapped between words. Indented lines are commands to copy: they stay whole."""
    from rich.text import Text

    console.print(Text(text, style=style), soft_wrap=text.startswith(" ") or not console.is_terminal)


def heading(text: str) -> None:
    """Print a heading on stdout, with a blank line before it."""
    from rich.text import Text

    out().print(Text("\n" + text, style="bold"))


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, right: Iterable[int] = ()) -> None:
    """Print rows under a header on stdout. `right` numbers the columns that are aligned to the right."""
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    aligned = set(right)
    for number, name in enumerate(columns):
        made.add_column(
            name,
            justify="right" if number in aligned else "left",
            overflow="fold",
            no_wrap=number in aligned,
        )
    for row in rows:
        made.add_row(*(Text(clean(cell)) for cell in row))
    _print_trimmed(made)


def facts(rows: Iterable[tuple[str, object]]) -> None:
    """Print names and values on stdout, the values under each other."""
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    made.add_column(style="bold", no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in rows:
        made.add_row(name, Text(clean(value)))
    _print_trimmed(made)


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

    console = err()
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
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


def _print_trimmed(made: RenderableType) -> None:
    """Print on stdout without the blanks that fill up lines: they are in the way of whoever copies them."""
    console = out()
    with console.capture() as captured:
        console.print(made)
    sys.stdout.write(_FILLING.sub(r"\1", captured.get()))
    sys.stdout.flush()
