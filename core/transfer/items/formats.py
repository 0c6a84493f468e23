"""Read files of memory items, and recognise the application that wrote a file by its content.

| Format | Content of the file |
|---|---|
| `items` | {items: [...]}, the export of this package, as JSON or YAML; `lines` for one item per line |
| `list` | one memory per line after a bullet or number, as ChatGPT lists its memories |
| `world_info`, `character_book` | entries of SillyTavern, in a separate file or inside a character card |
| `mem0` | {results: [...]}, {memories: [...]} or a list, of objects with `memory` |
| `mcp_memory` | entities and relations of the reference memory server of MCP |
"""

import io
import os
import re
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple

from ...base import yaml_text
from ...errors import TransferError
from ...memories.rules import SAVED
from ...text.folding import clean
from ..fields import list_at
from ..files import check_bytes, describe_file
from ..json_values import BadJson, is_deeper, read_value

Source = str | os.PathLike[str] | bytes | BinaryIO
Syntax = Literal["json", "jsonl", "yaml"]

MAX_BYTES = 20 * 1024**2
MAX_ITEMS = 50_000
MAX_DEPTH = 20
"""Deepest nesting of lists and objects in a file, including the outermost."""
MAX_VALUES = 3_000_000
"""Maximum number of values in a file. In memory they take many times its bytes; 50,000 items have half as many."""

_SHAPES = (
    "It must hold {items: [...]}, as JSON or YAML, or one item a line; or be a World Info file, a character book, an "
    "export of mem0 or of the memory server of MCP, or a list of memories with a bullet each. "
    "docs/import.md lists the chats of other programs that are taken"
)
_TEXTS = frozenset({"text", "content", "memory", "observations", "relationType"})
_LISTS = frozenset({"items", "results", "memories", "entries", "character_book", "entities"})
_DATE = (
    r"(?=\[?(?:(?P<iso>\d{4}-\d\d-\d\d)|(?P<day>\d\d?)\.(?P<month>\d\d?)\.(?P<year>\d{4}))(?!\w|,?\s*+\d\d?[:.]\d\d))"
    r"(?:\[[\d.-]++\]\s*+-?+|[\d.-]++\s*+(?::|[-–](?!\s*+\d)))?+\s*+"
)
"""Date before an entry. A date with a time of day does not match, since chats and logs have such dates."""
_ENTRY = re.compile(rf"\s*+(?:[-*•]\s|\d{{1,4}}[.)]\s)?\s*+(?:{_DATE})?(?P<text>\S.*)")
_IS_ENTRY = re.compile(rf"\s*+(?:(?:[-*•]|\d{{1,4}}[.)])\s++\S|{_DATE}[\d.-]*+[-–:\s]*+\S|(?:The user|User) \S)")
_IS_YAML = re.compile(
    r"(?:[^\S\n]*(?:#.*)?\n|---.*\n)*"
    r"(?:\w+:(?:\s|\Z)|-\s+[\"']?(?:id|text|content|memory|kind|tier|tags|importance|timestamp)[\"']?:\s)"
)
"""Beginning of a YAML file: a key, or a list of objects that have a field of an item."""
_HEADING = re.compile(r"\s*+(?:#{1,6}\s.*|```\w*|(?!items:)[^\n]{1,80}:)\s*\Z")


class Row(NamedTuple):
    number: int
    """Position in the list of rows, from 1, or line number."""
    uid: str | int | None
    value: Any
    """Text, or object with the field names of an export; None for a rejected row."""
    reason: str = ""
    character: str | None = None
    """Name that replaces {{char}} in an entry of a book; blank for the persona's name, None for rows of other files."""


class Items(NamedTuple):
    format: str
    rows: list[Row]


def read_items(source: Source, syntax: Syntax | None = None, max_bytes: int = MAX_BYTES) -> Items:
    """Parse the rows of a file; raise TransferError if the whole file is invalid or its format is unknown."""
    text = read_text(source, max_bytes)
    if syntax is None and _is_list(text):
        return Items("list", list(_read_list(text)))
    if text.count(",") + text.count("[") + text.count("{") > MAX_VALUES:
        raise TransferError(f"The file holds more than {MAX_VALUES:,} values. Split it into smaller files.")
    value = _read_yaml(text) if syntax == "yaml" else BadJson("") if syntax == "jsonl" else read_value(text)
    lines = None if syntax == "json" else _split_lines(text, value)
    if syntax is None and lines is None and isinstance(value, BadJson) and _IS_YAML.match(text):
        value = _read_yaml(text)
        lines = _split_lines(text, value)
    items: Items | None = None
    if lines is not None:
        _check_bounds(list(lines.values()), MAX_DEPTH + 1)
        items = _read_lines(lines)
    elif isinstance(value, BadJson) and text.lstrip().startswith(("{", "[")):
        raise TransferError(f"The file is {value.reason}.")
    elif not isinstance(value, BadJson):
        _check_bounds(value, MAX_DEPTH)
        items = _read_document(value)
    if items is None:
        looks = f": {describe_file(Path(source))}" if isinstance(source, (str, os.PathLike)) else ""
        raise TransferError(f"The file is of no shape that is known{looks}. {_SHAPES}.")
    return items


def read_text(source: Source, max_bytes: int = MAX_BYTES) -> str:
    """Return the text of a file; raise TransferError if the file is missing, too large, or not UTF-8."""
    check_bytes(max_bytes)
    if not isinstance(source, (str, os.PathLike, bytes, bytearray)) and not hasattr(source, "read"):
        raise TypeError(f"source is of type {type(source).__name__}. Pass a path, bytes or an open file.")
    try:
        if isinstance(source, (str, os.PathLike)):
            path = Path(source)
            if not path.is_file():
                what = "is no regular file" if path.exists() else "does not exist"
                raise TransferError(f"{str(path)[:200]!r} {what}. Name a file of memories.", path=str(path)[:200])
            with path.open("rb") as stream:
                content = stream.read(max_bytes + 1)
        else:
            content = source if isinstance(source, (bytes, bytearray)) else source.read(max_bytes + 1)
    except OSError as error:
        raise TransferError(f"The file cannot be read: {error.strerror or type(error).__name__}.") from None
    if len(content) > max_bytes:
        raise too_large(max_bytes)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise TransferError("The file is not UTF-8. Unpack it if it is packed, and save it as UTF-8.") from None


def _read_yaml(text: str) -> Any:
    """Parse a YAML text into JSON types; a list at the top is a list of items."""
    if text.count("\n") > MAX_VALUES:
        raise TransferError(f"The file holds more than {MAX_VALUES:,} values. Split it into smaller files.")
    try:
        value = _make_plain(yaml_text.read_value(text))
    except yaml_text.YamlError as error:
        raise TransferError(f"The file cannot be read as YAML: {error}.") from None
    return {"items": value} if isinstance(value, list) and not any(map(_is_mem0, value)) else value


def _make_plain(value: Any) -> Any:
    """Convert keys and dates of a YAML value to texts, as in JSON."""
    if isinstance(value, dict):
        return {str(key): _make_plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [_make_plain(each) for each in value]
    return value.isoformat() if isinstance(value, date) else value


def too_large(max_bytes: int) -> TransferError:
    return TransferError(f"The file is larger than {max_bytes:,} bytes. Split it into smaller files.")


def _check_bounds(value: Any, max_depth: int) -> None:
    if is_deeper(value, max_depth):
        raise TransferError(f"The file is nested deeper than {MAX_DEPTH} levels, which no list of memories is.")
    lists = [value, *(value.values() if isinstance(value, dict) else ())]
    if any(isinstance(each, list) and len(each) > MAX_ITEMS for each in lists):
        raise TransferError(f"The file holds more than {MAX_ITEMS:,} items. Split it into smaller files.")


def _split_lines(text: str, value: Any) -> dict[int, Any] | None:
    """Split a file with one item per line into items by line number; None if the file is one document."""
    if not isinstance(value, BadJson):
        is_item = isinstance(value, dict) and value.keys() & _TEXTS and not value.keys() & _LISTS
        return {1: value} if is_item else None
    lines = {number: read_value(line) for number, line in enumerate(io.StringIO(text), 1) if line.strip()}
    first = next(iter(lines.values()), None)
    is_item = isinstance(first, str) or (isinstance(first, dict) and not first.keys() & _LISTS)
    return lines if is_item or not value.reason else None


def _read_lines(lines: Mapping[int, Any]) -> Items:
    if _is_graph(next(iter(lines.values()), None)):
        return Items("mcp_memory", [row for number, value in lines.items() for row in _read_graph(number, value)])
    return Items("lines", [_read_item(number, value) for number, value in lines.items()])


def _read_document(value: Any) -> Items | None:
    match value:
        case {"items": list(items)}:
            return Items("items", [_read_item(number, each) for number, each in enumerate(items, 1)])
        case {"entities": list(graph)}:
            graph = [*graph, *list_at(value, "relations")]
            return Items("mcp_memory", [row for n, each in enumerate(graph, 1) for row in _read_graph(n, each)])
        case [*memories] | {"results": list(memories)} | {"memories": list(memories)} if any(map(_is_mem0, memories)):
            relations = list_at(value, "relations")
            return Items("mem0", [
                *(_read_mem0(number, each) for number, each in enumerate(memories, 1)),
                *(Row(number, None, None, "a relation, which is no memory") for number, _ in enumerate(relations, 1)),
            ])  # fmt: skip
    return _read_books(value) if isinstance(value, dict) else None


def _read_item(number: int, value: Any) -> Row:
    if isinstance(value, BadJson):
        return Row(number, None, None, value.reason)
    return _read_mem0(number, value) if _is_mem0(value) else Row(number, None, value)


def _uid(value: Any, missing: str | int | None = None) -> str | int | None:
    """Return `value` as an id, a text cut to 64 characters; `missing` if `value` is neither text nor number."""
    if isinstance(value, str):
        return clean(value)[:64]
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 else missing


# Memories as a list in a text


def _is_list(text: str) -> bool:
    """Return whether every line of a text is an entry of a list, except an optional heading."""
    lines = [line for line in text.splitlines() if line.strip() and not line.strip().startswith("```")]
    if lines and _HEADING.match(lines[0]) and not _IS_ENTRY.match(lines[0]):
        lines = lines[1:]
    return bool(lines) and all(map(_IS_ENTRY.match, lines)) and not _IS_YAML.match(lines[0])


def _read_list(text: str) -> Iterator[Row]:
    for number, line in enumerate(text.splitlines(), 1):
        entry = _ENTRY.match(line) if _IS_ENTRY.match(line) else None
        if entry:
            at = entry["iso"] or (entry["year"] and f"{entry['year']}-{entry['month']:0>2}-{entry['day']:0>2}")
            yield Row(number, None, {"text": entry["text"].strip(), "timestamp": at})


# mem0


def _is_mem0(entry: Any) -> bool:
    return isinstance(entry, dict) and "memory" in entry and "text" not in entry


_READ_OF_MEM0 = frozenset({"memory", "created_at", "categories", "expiration_date", "metadata"})


def _read_mem0(number: int, entry: Any) -> Row:
    """Convert a memory of Mem0 to a row; its categories become tags, its other fields metadata."""
    if not _is_mem0(entry):
        return Row(number, None, None, "the row is no memory")
    metadata = entry.get("metadata")
    kept = metadata if isinstance(metadata, dict) else {} if metadata is None else {"metadata": metadata}
    rest = {name: value for name, value in entry.items() if name not in _READ_OF_MEM0 and value is not None}
    return Row(number, _uid(entry.get("id")), {
        "text": entry["memory"],
        "tags": [tag for tag in list_at(entry, "categories") if isinstance(tag, str)],
        "timestamp": entry.get("created_at"),
        "metadata": {**rest, **kept},
        **({"expires_at": entry["expiration_date"]} if entry.get("expiration_date") is not None else {}),
    })  # fmt: skip


# The memory server of MCP


def _is_graph(entry: Any) -> bool:
    return isinstance(entry, dict) and ("observations" in entry or {"from", "to", "relationType"} <= entry.keys())


def _read_graph(number: int, entry: Any) -> Iterator[Row]:
    """Yield a row for each observation about an entity of a knowledge graph, and a row for each relation."""
    if not _is_graph(entry):
        yield Row(number, None, None, "the row is neither an entity nor a relation")
        return
    if "observations" not in entry:
        start, kind, end = (_words(entry[name]) for name in ("from", "relationType", "to"))
        yield Row(number, None, {"text": f"{start} {kind} {end}", "tags": [start, end], "source": "mcp_memory"})
        return
    name, kind = _words(entry.get("name")), _words(entry.get("entityType"))
    observations = entry["observations"]
    for text in observations if isinstance(observations, list) else [observations]:
        whole = f"{name}: {text}" if name and isinstance(text, str) and text.strip() else text
        tags = [each for each in (name, kind) if each]
        yield Row(number, _uid(entry.get("name")), {"text": whole, "tags": tags, "source": "mcp_memory"})


def _words(value: Any) -> str:
    """Replace underscores by spaces in a name from the memory server's file."""
    return value.replace("_", " ").strip() if isinstance(value, str) else ""


# Books of SillyTavern

_NOT_KEPT = ("content", "disable", "enabled", "uid", "id")


def find_book(value: Any) -> Mapping[str, Any] | None:
    """Return the lorebook in a character card, or `value` itself if it is a lorebook; else None."""
    book = value.get("character_book") if isinstance(value, dict) else None
    book = book if isinstance(book, dict) else value
    entries = book.get("entries") if isinstance(book, dict) else None
    is_world_info = isinstance(entries, dict) and (
        not entries or any(isinstance(entry, dict) for entry in entries.values())
    )
    return book if isinstance(entries, list) or is_world_info else None


def _read_books(value: dict[str, Any]) -> Items | None:
    """Parse the rows of a lorebook file (World Info, character book) or of a card's lorebook; None for other files."""
    for holder in (value, value.get("data")):
        if (book := find_book(holder)) is None:
            continue
        name = holder.get("name") if holder is not book else ""  # type: ignore[union-attr]
        rows = list(_read_book(book, name.strip() if isinstance(name, str) else ""))
        is_world_info = book is value and isinstance(book["entries"], dict)
        return Items("world_info" if is_world_info else "character_book", rows)
    return None


def _read_book(book: Mapping[str, Any], character: str) -> Iterator[Row]:
    entries, title = book["entries"], book.get("name")
    named = entries.items() if isinstance(entries, dict) else enumerate(entries, 1)
    for number, (name, entry) in enumerate(named, 1):
        if isinstance(entry, dict):
            yield _read_entry(number, name, entry, title if isinstance(title, str) else "", character)
        else:
            yield Row(number, _uid(name), None, "the entry is no object")


def _read_entry(number: int, name: str | int, entry: Mapping[str, Any], book: str, character: str) -> Row:
    """Convert a lorebook entry to a row; the row of a blank or disabled entry has a reason instead of a value."""
    extensions = entry.get("extensions")
    ids = (entry.get("uid"), entry.get("id"), extensions.get("uid") if isinstance(extensions, dict) else None, name)
    uid = _uid(next(each for each in ids if each is not None), number)
    text = entry.get("content")
    if text is None or (isinstance(text, str) and not clean(text).strip()):
        return Row(number, uid, None, "empty")
    names = ("keys", "secondary_keys") if "keys" in entry else ("key", "keysecondary")
    keys = [key for each in names for key in _keys(entry.get(each))]
    if entry.get("disable") is True or entry.get("enabled") is False:
        return Row(number, uid, None, "disabled")
    is_constant = entry.get("constant") is True
    metadata: dict[str, Any] = {"uid": uid, "constant": is_constant}
    beside = {"book": book, "patterns": [key for key in keys if _is_pattern(key)]}
    beside |= {name: value for name, value in entry.items() if name not in (*_NOT_KEPT, *names, *metadata, "book")}
    metadata |= {name: value for name, value in beside.items() if value not in (None, "", [], {})}
    value: dict[str, Any] = {"text": text, "tags": [key for key in keys if not _is_pattern(key)], "metadata": metadata}
    if is_constant:
        value["kind"] = SAVED  # such entries are shown in every prompt, whatever the message
    return Row(number, uid, value, character=character)


def _keys(value: Any) -> list[str]:
    keys = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else ()
    return [key.strip() for key in keys if isinstance(key, str) and key.strip()]


def _is_pattern(key: str) -> bool:
    return len(key) > 2 and key.startswith("/") and key.rstrip("dgimsuvy").endswith("/")
