"""The two Markdown files of memories: what a person wrote in them stays, what the program knows is read and written."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter

from ..text.folding import one_line

HEADING, BULLET = "## ", "- "
TIME, SUMMARY = "**Time:**", "**Summary:**"
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class Item:
    """What a section or a bullet says."""

    title: str = ""
    """Blank for a bullet."""
    time: str = ""
    """As shown, `YYYY-MM-DD HH:MM`; blank for a bullet or where none is written."""
    text: str = ""
    """The summary, or the memory."""


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a file: one section, one bullet, or lines that are neither."""

    lines: tuple[str, ...]
    """With their line ends."""
    item: Item | None = None
    """None for text of a person."""


@dataclass(frozen=True, slots=True)
class File:
    """A file taken apart. `"".join` of all lines of all parts is the file."""

    parts: tuple[Part, ...] = ()
    line_end: str = "\n"

    @property
    def items(self) -> list[Item]:
        """Return what the sections or bullets say, in order."""
        return [part.item for part in self.parts if part.item is not None]

    def without(self, places: Collection[int]) -> File:
        """Return the file with the sections or bullets at these places taken for text of a person."""
        made, place = [], 0
        for part in self.parts:
            stays = part.item is None or place not in places
            place += part.item is not None
            made.append(part if stays else replace(part, item=None))
        return replace(self, parts=tuple(made))

    def text(self) -> str:
        """Return the whole file."""
        return "".join(line for part in self.parts for line in part.lines)


def read_sections(text: str) -> File:
    """Return the file of recent conversations: a line that begins with exactly two `#` and a space opens a section."""
    parts: list[list[str]] = [[]]
    for line in _LINE.findall(text):
        if _bare(line).startswith(HEADING):
            parts.append([])
        parts[-1].append(line)
    made = [Part(tuple(parts[0]))] if parts[0] else []
    made += [Part(tuple(lines), _section_item(lines)) for lines in parts[1:]]
    return File(tuple(made), _line_end(text))


def read_bullets(text: str) -> File:
    """Return the file of saved memories: a line that begins with `- ` is one."""
    made: list[Part] = []
    for line in _LINE.findall(text):
        said = _bare(line)
        if said.startswith(BULLET) and said[len(BULLET) :].strip():
            made.append(Part((line,), Item(text=said[len(BULLET) :].strip())))
        else:
            made.append(Part((line,)))
    return File(tuple(made), _line_end(text))


def _bare(line: str) -> str:
    return line.removeprefix(_BOM).rstrip("\r\n")


def _line_end(text: str) -> str:
    return "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"


def _section_item(lines: Sequence[str]) -> Item:
    item = Item(title=_bare(lines[0])[len(HEADING) :].strip())
    for line in lines[1:]:
        said = _bare(line)
        if said.startswith(TIME) and not item.time:
            item = replace(item, time=said[len(TIME) :].strip())
        elif said.startswith(SUMMARY) and not item.text:
            item = replace(item, text=said[len(SUMMARY) :].strip())
    return item


# Writing


def build_section(item: Item, end: str) -> tuple[str, ...]:
    """Return a section as it is written."""
    return (f"{HEADING}{item.title}{end}", f"{TIME} {item.time}{end}", f"{SUMMARY} {item.text}{end}")


def write_sections(file: File, rows: Sequence[tuple[Item, int | None]]) -> str:
    """Return the file with exactly these sections: those there keep their place, others go, new ones follow
    the last.
    """
    end = file.line_end
    there = [part for part in file.parts if part.item is not None]
    kept = {place: item for item, place in rows if place is not None}
    head = [line for part in file.parts if part.item is None for line in part.lines]
    moved: list[str] = []
    for place, part in enumerate(there):
        if place not in kept:
            moved += _left_behind(part, end)
    blocks = [_changed(there[place], kept[place], end) for place in sorted(kept)]
    if blocks and len(there) - 1 not in kept:
        blocks[-1] = _without_blank_end(blocks[-1])
    blocks += [list(build_section(item, end)) for item, place in rows if place is None]
    if moved:
        head = _apart(head, end) + moved
    return _joined([head, *blocks], end, separate_from=1 if moved else len(kept) + 1)


def _joined(blocks: list[list[str]], end: str, *, separate_from: int) -> str:
    """Return the blocks in one text; from `separate_from` on, each begins after a blank line."""
    made: list[str] = []
    for number, block in enumerate(blocks):
        if number >= separate_from and block:
            made = _apart(made, end)
        elif made and block:
            made = _ended(made, end)
        made += block
    return "".join(made)


def _ended(lines: list[str], end: str) -> list[str]:
    """Return lines of which the last has a line end."""
    if lines and not lines[-1].endswith("\n"):
        return [*lines[:-1], lines[-1] + end]
    return lines


def _without_blank_end(lines: list[str]) -> list[str]:
    """Return lines of which the last is not blank: the blank line before a section that went is not needed."""
    while len(lines) > 1 and not lines[-1].strip():
        lines = lines[:-1]
    return lines


def _apart(lines: list[str], end: str) -> list[str]:
    """Return lines that end in a blank one, none where there are none."""
    made = _ended(lines, end)
    return [*made, end] if made and made[-1].strip() else made


def _changed(part: Part, item: Item, end: str) -> list[str]:
    """Return a section's lines with the three it is known by as the row has them, the others as they are."""
    if part.item == item:
        return list(part.lines)
    lines = list(part.lines)
    old = part.item or Item()
    if old.title != item.title:
        bom = _BOM if lines[0].startswith(_BOM) else ""
        lines[0] = bom + HEADING + item.title + _end_of(lines[0], end)
    for mark, before, now in ((TIME, old.time, item.time), (SUMMARY, old.text, item.text)):
        if before == now:
            continue
        place = next((n for n, line in enumerate(lines) if n and _bare(line).startswith(mark)), None)
        if place is not None:
            lines[place] = f"{mark} {now}{_end_of(lines[place], end)}"
        else:
            lines = _ended(lines, end)
            lines.insert(1 if mark == TIME else _after_time(lines), f"{mark} {now}{end}")
    return lines


def _after_time(lines: Sequence[str]) -> int:
    return 2 if len(lines) > 1 and _bare(lines[1]).startswith(TIME) else 1


def _end_of(line: str, end: str) -> str:
    return line[len(line.rstrip("\r\n")) :] or end


def _left_behind(part: Part, end: str) -> list[str]:
    """Return the unknown lines of a section under the line that says whose they were; none where it has none."""
    seen: set[str] = set()
    lines: list[str] = []
    for line in part.lines[1:]:
        mark = next((m for m in (TIME, SUMMARY) if _bare(line).startswith(m) and m not in seen), "")
        if mark:
            seen.add(mark)
        else:
            lines.append(line)
    while lines and not lines[-1].strip():
        lines.pop()
    while lines and not lines[0].strip():
        lines.pop(0)
    title = (part.item or Item()).title
    return _ended([f'> From "{title}":{end}', *lines], end) if lines else []


def write_bullets(file: File, rows: Sequence[tuple[Item, int | None]]) -> str:
    """Return the file with exactly these bullets: those there keep their place, others go, new ones follow the last."""
    end = file.line_end
    kept = {place: item for item, place in rows if place is not None}
    new = [f"{BULLET}{item.text}{end}" for item, place in rows if place is None]
    lines: list[str] = []
    after, place = None, 0
    for part in file.parts:
        if part.item is None:
            lines += part.lines
            continue
        if place in kept:
            item, (line,) = kept[place], part.lines
            same = part.item == item
            bom = _BOM if line.startswith(_BOM) else ""
            lines.append(line if same else f"{bom}{BULLET}{item.text}{_end_of(line, end)}")
            after = len(lines)
        place += 1
    if not new:
        return "".join(lines)
    after = len(lines) if after is None else after
    return "".join([*_ended(lines[:after], end), *new, *lines[after:]])


# What a person changed


@dataclass(frozen=True, slots=True)
class Changes:
    """What became of the rows a file was written from, as the file is now."""

    places: dict[int, int] = field(default_factory=dict)
    """Row to the place of its section or bullet, changed or not."""
    changed: dict[int, Item] = field(default_factory=dict)
    """Row to what it says now."""
    gone: tuple[int, ...] = ()
    """Rows whose section or bullet was removed."""
    new: tuple[int, ...] = ()
    """Places of sections or bullets that no row has."""


def compare_items(before: Mapping[int, Item], now: Sequence[Item]) -> Changes:
    """Return what a person changed in a file."""
    places: dict[int, int] = {}
    _match(before, now, places, lambda item: item)
    if any(item.title for item in (*before.values(), *now)):
        for name in ("time", "title", "text"):
            _match(before, now, places, attrgetter(name))
    used = set(places.values())
    return Changes(
        places,
        {row: now[place] for row, place in places.items() if now[place] != before[row]},
        tuple(row for row in before if row not in places),
        tuple(place for place in range(len(now)) if place not in used),
    )


def _match(
    before: Mapping[int, Item], now: Sequence[Item], places: dict[int, int], key: Callable[[Item], object]
) -> None:
    """Pair rows and places whose key is the same, in order; what is paired already stays, a blank key pairs nothing."""
    used = set(places.values())
    free: dict[object, deque[int]] = {}
    for place, item in enumerate(now):
        if place not in used and key(item):
            free.setdefault(key(item), deque()).append(place)
    for row, item in before.items():
        waiting = free.get(key(item)) if row not in places else None
        if waiting:
            places[row] = waiting.popleft()


def build_rows(items: Iterable[tuple[int, Item]]) -> dict[int, Item]:
    """Return rows and what they say as a file shows them: on one line each."""
    return {row: Item(one_line(i.title).strip(), i.time, one_line(i.text).strip()) for row, i in items}
