"""Reads a whole file of memory items: JSON, plain YAML (no tags, no aliases), or one value a line."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import zlib
from pathlib import Path
from typing import Any, BinaryIO, Literal

from ...base.yaml_text import YamlError, compose
from ...errors import TransferError
from ..files import GZIP, check_bytes
from ..json_values import MAX_BLANK_LINES, BadJson, JsonLine, is_deeper, read_value

Source = str | os.PathLike[str] | bytes | BinaryIO
Syntax = Literal["json", "yaml", "jsonl"]
"""json: one document. yaml: likewise. jsonl: one item a line."""
SYNTAXES: tuple[Syntax, ...] = ("json", "yaml", "jsonl")

MAX_BYTES = 20 * 1024**2
"""Most bytes of a file, unpacked."""
MAX_ITEMS = 50_000
MAX_DEPTH = 20
"""Most lists and objects inside one another, the outermost counted."""
MAX_VALUES = 3_000_000
"""Most values of a file. Each takes many times its bytes once it is read; 50,000 full items have half as many."""

_LOOKED_AT = 1 << 16
_PATH_CHARS = 4096
"""No system takes a longer path."""
_ENDINGS: dict[str, Syntax] = {".yaml": "yaml", ".yml": "yaml", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_TEXTS = frozenset({"text", "content", "memory", "observations", "relationType"})
LISTS = frozenset({"items", "results", "memories", "entries", "character_book", "entities"})
"""Keys of a document that holds items."""


# The file


def read_text(source: Source, max_bytes: int = MAX_BYTES) -> str:
    """Return the text of a file, unpacked where it is packed with gzip.

    Raises:
        TransferError: there is no such file, it is larger than allowed, damaged, or not UTF-8.
    """
    check_bytes(max_bytes)
    try:
        content = _read_bytes(source, max_bytes)
        if content.startswith(GZIP):
            with gzip.GzipFile(fileobj=io.BytesIO(content)) as packed:
                content = packed.read(max_bytes + 1)
        if len(content) > max_bytes:
            raise too_large(max_bytes)
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise TransferError("The file is not UTF-8. Save it as UTF-8.") from None
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise TransferError("The file is a broken or cut off gzip file. Copy it again.") from None
    except OSError as error:
        raise TransferError(f"The file cannot be read: {error.strerror or type(error).__name__}.") from None


def too_large(max_bytes: int) -> TransferError:
    return TransferError(f"The file is larger than {max_bytes:,} bytes. Split it into smaller files.")


def _read_bytes(source: Source, max_bytes: int) -> bytes:
    if isinstance(source, (bytes, bytearray)):
        return bytes(source)
    if not isinstance(source, (str, os.PathLike)):
        content = source.read(max_bytes + 1)
        if not isinstance(content, (bytes, bytearray)):
            raise TypeError(f"source gives {type(content).__name__} where bytes are needed. Open it in binary mode.")
        return bytes(content)
    path, shown = Path(source), str(source)
    if len(shown) > _PATH_CHARS or "\n" in shown:  # a text of memories by mistake is not repeated
        raise TransferError(
            f"source is a text of {len(shown)} characters, which is no path. Pass what a file holds as bytes."
        )
    if not path.is_file():
        what = "is no regular file" if path.exists() else "does not exist"
        raise TransferError(f"{shown!r} {what}. Name a file of memories.", path=shown)
    with path.open("rb") as stream:
        return stream.read(max_bytes + 1)


# The document


def parse(text: str, syntax: Syntax) -> Any:
    """Return what a text holds; with `jsonl` a list of `JsonLine`.

    Raises:
        TransferError: the file cannot be taken as a whole.
    """
    if syntax != "yaml" and text.count(",") + text.count("[") + text.count("{") > MAX_VALUES:
        raise TransferError(f"The file holds more than {MAX_VALUES:,} values. Split it into smaller files.")
    if syntax == "jsonl":
        value: Any = _read_lines(text)
        lists = [value]
    else:
        value = _read_json(text) if syntax == "json" else _read_yaml(text)
        if is_deeper(value, MAX_DEPTH):
            raise _too_deep()
        lists = [value, *(value.values() if isinstance(value, dict) else ())]
    if any(isinstance(each, list) and len(each) > MAX_ITEMS for each in lists):
        raise TransferError(f"The file holds more than {MAX_ITEMS:,} items. Split it into smaller files.")
    return value


def name_of(source: Any) -> str:
    if isinstance(source, (str, os.PathLike)):
        return Path(source).name
    return str(getattr(source, "filename", None) or getattr(source, "name", None) or "")


def find_syntax(text: str, name: str = "") -> Syntax:
    """Return the syntax of a text: by the ending of its file where that says it, else by how it begins."""
    ending = Path(name.lower().removesuffix(".gz")).suffix
    if ending in _ENDINGS:
        return _ENDINGS[ending]
    is_lines = _begins_with_lines(text)
    if ending == ".json" and not is_lines:
        return "json"
    if not re.match(r"\s*[\[{]", text):
        return "yaml"
    is_json = re.match(r"\s*(\{\s*[\"}]|\[)", text) is not None
    return "jsonl" if is_lines else "json" if is_json else "yaml"


def _begins_with_lines(text: str) -> bool:
    """Return whether the first line is a value by itself, of an item and not of a whole document."""
    first, _, rest = text.lstrip().partition("\n")
    value = read_value(first)
    if not rest.strip():
        return isinstance(value, dict) and bool(value.keys() & _TEXTS) and not value.keys() & LISTS
    return isinstance(value, str) or (isinstance(value, dict) and not value.keys() & LISTS)


def _read_json(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise TransferError(f"The file is not usable JSON: {error.msg}, line {error.lineno}.") from None
    except RecursionError:
        raise _too_deep() from None
    except ValueError:
        raise TransferError("The file is not usable JSON: a number is too long.") from None


def _read_lines(text: str) -> list[JsonLine]:
    lines: list[JsonLine] = []
    blank = 0
    for row, line in enumerate(io.StringIO(text), 1):
        if line.strip():
            value = read_value(line)
            if is_deeper(value, MAX_DEPTH) or (isinstance(value, BadJson) and value.is_deep):
                raise _too_deep(row)
            lines.append(JsonLine(row, value))
            continue
        blank += 1
        if blank > MAX_BLANK_LINES:
            raise TransferError(f"The file has over {MAX_BLANK_LINES:,} lines with nothing in them. Take them out.")
    return lines


def _read_yaml(text: str) -> Any:
    try:
        loader, root = compose(text, MAX_DEPTH, aliases=False, tags=False, max_events=2 * MAX_VALUES)
    except YamlError as error:
        if error.is_depth:
            raise _too_deep(error.line) from None
        raise TransferError(f"The file is not taken: line {error.line} {error.problem}.") from None
    try:
        return {} if root is None else _construct(loader, root)
    finally:
        loader.dispose()


def _construct(loader: Any, node: Any) -> Any:
    """Return the value of a node: keys as they are written, and what looks like a date but is none as text."""
    if node.id == "sequence":
        return [_construct(loader, each) for each in node.value]
    if node.id == "mapping":
        values: dict[str, Any] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if key.id != "scalar":
                raise TransferError(f"The file is not taken: line {line} has a key that is no text.")
            if str(key.value) in values:
                raise TransferError(f"The file is not taken: line {line} repeats a key. Remove one of the two.")
            values[str(key.value)] = _construct(loader, value)
        return values
    try:
        return loader.construct_object(node, deep=True)
    except Exception:  # noqa: BLE001 - a number or date that cannot be one is the text it is written as
        return node.value


def _too_deep(line: int | None = None) -> TransferError:
    where = f" in line {line}" if line else ""
    return TransferError(f"The file is nested deeper than {MAX_DEPTH} levels{where}, which no list of memories is.")
