"""A file of memory items, whatever wrote it, as rows: told by what it holds, not by its name.

| Format | What stands in the file |
|---|---|
| `items` | {items: [...]}, the export of this program; `lines` where it is one item a line |
| `vtuber` | the export of the application of seed 003 |
| `world_info`, `character_book` | entries of SillyTavern, in a file of their own or inside a character card |
| `mem0` | {results: [...]}, {memories: [...]} or a list, of objects with `memory` |
| `synth` | rows of the tables of the application of seed 004: {memories: [...]}, or a dump by phpMyAdmin |
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from typing import Any, Literal, TextIO

from ...errors import TransferError
from ..looks import describe_file
from . import books, documents, programs
from .pieces import LINES, MAX_ITEMS, ROOT, BadValue, Piece, too_many_items
from .rows import Row
from .sources import File

Syntax = Literal["json", "yaml", "jsonl"]
"""json: one document. yaml: likewise. jsonl: one item a line."""
SYNTAXES: tuple[Syntax, ...] = ("json", "yaml", "jsonl")

_ENDINGS: dict[str, Syntax] = {".yaml": "yaml", ".yml": "yaml", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_LOOKED_AT = 1 << 16
_SHAPES = (
    "It must hold {items: [...]}, or one item a line; or be a World Info file, a character book, an export of mem0, or "
    "the tables of the original application as JSON"
)


class Rows:
    """The rows of a file, read anew at each iteration; `format` is known from the first row on."""

    def __init__(self, file: File, syntax: Syntax | None = None) -> None:
        self._file = file
        self.syntax: Syntax = syntax or syntax_of(file)
        self.format: str = ""

    def __iter__(self) -> Iterator[Row]:
        """Yield every row that holds an item or was meant to, in order."""
        with self._file.text() as stream:
            sorter = _Sorter()
            for count, row in enumerate(sorter.rows(_parsed(stream, self.syntax)), 1):
                self.format = sorter.format
                if count > MAX_ITEMS:
                    raise too_many_items()
                yield row
            self.format = sorter.format
            if not self.format:
                looks = f": {describe_file(self._file.path)}" if self._file.path else ""
                raise TransferError(f"The file is of no shape that is known{looks}. {_SHAPES}.")


def _parsed(stream: TextIO, syntax: Syntax) -> Iterator[Piece]:
    parse: dict[str, Callable[[TextIO], Iterator[Piece]]] = {
        "json": documents.read_json, "jsonl": documents.read_lines, "yaml": documents.read_yaml,
    }  # fmt: skip
    return parse[syntax](stream)


_FIRST_VALUE = re.compile(r"\s*[\[{]")


def syntax_of(file: File) -> Syntax:
    """Return the syntax of a file: by its ending where that says it, else by how it begins."""
    ending = re.search(r"\.[a-z]+$", file.name.lower().removesuffix(".gz"))
    if ending and ending[0] in _ENDINGS:
        return _ENDINGS[ending[0]]
    with file.text() as stream:
        begins = stream.read(_LOOKED_AT)
    if ending and ending[0] == ".json" and not _begins_with_lines(begins):
        return "json"
    if not _FIRST_VALUE.match(begins):
        return "yaml"
    return "jsonl" if _begins_with_lines(begins) else "json" if _is_json(begins) else "yaml"


def _begins_with_lines(text: str) -> bool:
    """Return whether the first line is a value by itself, of an item and not of a whole document."""
    lines = [line for line in re.split(r"\r\n?|\n", text.lstrip()) if line.strip()]
    if not lines:
        return False
    found = next(documents.read_lines(io.StringIO(lines[0])), None)
    if found is None or not isinstance(found.value, (dict, str)):
        return False
    if len(lines) == 1:
        return isinstance(found.value, dict) and bool(found.value.keys() & _TEXTS) and not found.value.keys() & _LISTS
    return isinstance(found.value, str) or not found.value.keys() & _LISTS


def _is_json(text: str) -> bool:
    """Return whether a text that begins with a bracket begins as JSON and not as YAML."""
    return re.match(r"\s*(\{\s*[\"}]|\[)", text) is not None or not text.strip()


_TEXTS = frozenset({"text", "content", "memory"})
_LISTS = frozenset({"items", "results", "memories", "entries", "character_book"})


class _Sorter:
    """Finds out what wrote a file, by the first part of it that says so, and makes rows of what belongs to it."""

    def __init__(self) -> None:
        self.format = ""
        self._book = ""
        self._wrapped = ""
        self._table = ""
        self._number = 0

    def rows(self, pieces: Iterator[Piece]) -> Iterator[Row]:
        """Yield the rows of a document."""
        for piece in pieces:
            if isinstance(piece.value, BadValue):
                self._is("lines")
                yield Row(piece.row, None, None, piece.value.reason)
            elif piece.key in (LINES, ROOT):
                yield from self._listed(piece)
            else:
                yield from self._member(piece)

    def _is(self, *formats: str) -> bool:
        """Return whether the file is one of these, which it becomes where it is none yet."""
        if not self.format:
            self.format = formats[0]
        return self.format in formats

    def _listed(self, piece: Piece) -> Iterator[Row]:
        value = piece.value
        if piece.key == LINES:
            if self._is("lines"):
                yield item(piece.row, value)
        elif piece.row and programs.is_mem0(value) and self._is("mem0"):
            yield programs.read_mem0(piece.row, value)
        elif piece.row and _is_dumped(value) and self._is("synth"):
            yield from self._dumped(value)
        elif piece.row and self.format == "mem0":
            yield Row(piece.row, None, None, "the row is no memory of mem0")

    def _member(self, piece: Piece) -> Iterator[Row]:
        key, row, value = piece
        if key == "items" and (row or value == []):
            if self._is("items", "vtuber") and row:
                if row == 1 and programs.is_vtuber(value):
                    self.format = "vtuber"
                yield item(row, value)
        elif key in ("results", "memories") and (row or value == []):
            yield from self._memories(key, row, value)
        elif key == "relations" and row and self._is("mem0"):
            yield programs.refuse_relation(row)
        elif key in programs.OTHER_TABLES and row and isinstance(value, dict) and self.format in ("", "synth"):
            self._table = key
            yield programs.refuse_other_table(row, key, value)
        elif key == "name" and isinstance(value, str):
            self._book = value
        elif key == "format":
            self._wrapped = value if isinstance(value, str) else ""
        elif key == "data" and programs.is_wrapped_vtuber(value, self._wrapped) and self._is("vtuber"):
            yield from _Sorter().rows(documents.read_yaml(io.StringIO(value)))
        else:
            yield from self._books(key, row, value)

    def _memories(self, key: str, row: int, value: Any) -> Iterator[Row]:
        if not row:
            return
        if key == "memories" and programs.is_synth(value) and self._is("synth"):
            yield programs.read_synth(row, value)
        elif programs.is_mem0(value) and self._is("mem0"):
            yield programs.read_mem0(row, value)
        elif self.format in ("mem0", "synth"):
            yield Row(row, None, None, "the row is no memory")

    def _books(self, key: str, row: int, value: Any) -> Iterator[Row]:
        if key == "entries" and row and self._is("character_book"):
            yield books.read_book_entry(row, value, self._book)
        elif key == "entries" and not row and value != [] and books.is_world_info(value) and self._is("world_info"):
            yield from books.read_world_info(value, self._book)
        elif key == "entries" and value == []:
            self._is("character_book")
        elif key in ("character_book", "data") and not self.format:
            book = books.find_book(value)
            if book is not None and self._is("character_book"):
                yield from (row._replace(character=_name_at(value)) for row in books.read_book(book))

    def _dumped(self, value: dict[str, Any]) -> Iterator[Row]:
        """Yield the rows of one table of a dump; its other parts say nothing of interest."""
        if value.get("type") != "table" or not isinstance(value.get("data"), list):
            return
        table = str(value.get("name"))[:64]
        for entry in value["data"]:
            self._number += 1
            is_memory = table == "memories" and isinstance(entry, dict)
            make = programs.read_synth if is_memory else lambda n, e: programs.refuse_other_table(n, table, e)
            yield make(self._number, entry)


def _name_at(card: Any) -> str:
    name = card.get("name") if isinstance(card, dict) and isinstance(card.get("character_book"), dict) else None
    return name.strip() if isinstance(name, str) else ""


def _is_dumped(value: Any) -> bool:
    """Return whether a value is a part of a dump by phpMyAdmin."""
    return isinstance(value, dict) and value.get("type") in ("header", "database", "table")


def item(number: int, value: Any) -> Row:
    """Return the row of an item, in whose words ever it is."""
    if programs.is_vtuber(value):
        return programs.read_vtuber(number, value)
    if programs.is_mem0(value):
        return programs.read_mem0(number, value)
    if isinstance(value, dict) and "text" not in value and programs.is_synth(value):
        return programs.read_synth(number, value)
    return Row(number, None, value)


def is_items(file: File) -> bool:
    """Return whether a file holds memory items, and no conversation."""
    with file.text() as stream:
        begins = stream.read(_LOOKED_AT)
    if not _FIRST_VALUE.match(begins):
        return bool(re.match(r"(?:\s|#[^\n]*\n|---)*(items|results|memories|entries)\s*:", begins))
    if not _begins_with_lines(begins):
        return True
    first = next(documents.read_lines(io.StringIO(begins.lstrip().split("\n", 1)[0])))
    told = first.value if isinstance(first.value, dict) else {}
    if "speaker" in told or "mes" in told or "user_name" in told or "chat_metadata" in told:
        return False
    return bool(told.keys() & {"kind", "tier", "memory", "importance"}) or programs.is_synth(told)
