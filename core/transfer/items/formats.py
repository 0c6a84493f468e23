"""What wrote a file of memory items, told by what it holds and not by its name, and its rows.

| Format | What is in the file |
|---|---|
| `items` | {items: [...]}, the export of this program; `lines` where it is one item a line |
| `list` | one memory a line behind a bullet or number, as ChatGPT lists what it remembers |
| `vtuber` | the export of an Open-LLM-VTuber with a memory |
| `world_info`, `character_book` | entries of SillyTavern, in a file of their own or inside a character card |
| `mem0` | {results: [...]}, {memories: [...]} or a list, of objects with `memory` |
| `mcp_memory` | entities and relations of the reference memory server of MCP |
| `synth` | rows of the original application's tables: {memories: [...]}, or a dump by phpMyAdmin |
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import TransferError
from ...memories.rules import SAVED
from ...text.folding import clean
from ..files import describe_file
from ..json_values import BadJson, JsonLine
from .documents import MAX_BYTES, Source, Syntax, find_syntax, name_of, parse, read_text

_SHAPES = (
    "It must hold {items: [...]}, or one item a line; or be a World Info file, a character book, an export of mem0 or "
    "of the memory server of MCP, a list of memories with a bullet each, or the original application's tables as JSON. "
    "docs/import.md lists the chats of other programs that are taken"
)
_ENTRY = re.compile(r"\s*(?:[-*•]|\d{1,4}[.)])?\s*(?:\[(?P<at>\d{4}-\d\d-\d\d)\]\s*-?\s*)?(?P<text>\S.*)")
_IS_ENTRY = re.compile(r"\s*(?:(?:[-*•]|\d{1,4}[.)])\s+\S|\[\d{4}-\d\d-\d\d\]\s*-?\s*\S|(?:The user|User) \S)")
_IS_YAML = re.compile(r"(?:\s|#[^\n]*\n|---)*(items|results|memories|entries)\s*:")
_HEADING = re.compile(r"\s*(?:#{1,6}\s.*|```\w*|[^\n]{1,80}:)\s*\Z")


class Row(NamedTuple):
    """One row of a file."""

    number: int
    """1-based place in its list, or number of its line."""
    uid: str | int | None
    """Its id in the file."""
    value: Any
    """A text, or a mapping in the names of an export; None where the row is not taken."""
    reason: str = ""
    """Why it is not taken."""
    character: str | None = None
    """Of an entry of a book, whom its {{char}} names; blank is the persona."""


class Items(NamedTuple):
    """The rows of a file that hold items or were meant to."""

    format: str
    rows: list[Row]


def read_items(source: Source, syntax: Syntax | None = None, max_bytes: int = MAX_BYTES) -> Items:
    """Return the rows of a file.

    Raises:
        TransferError: the file cannot be taken as a whole, or is of no shape that is known.
    """
    text = read_text(source, max_bytes)
    if syntax is None and _is_list(text):
        return Items("list", list(_read_list(text)))
    syntax = syntax or find_syntax(text, name_of(source))
    value = parse(text, syntax)
    items = _read_lines(value) if syntax == "jsonl" else _read_document(value)
    if items is None:
        looks = f": {describe_file(Path(source))}" if isinstance(source, (str, os.PathLike)) else ""
        raise TransferError(f"The file is of no shape that is known{looks}. {_SHAPES}.")
    return items


def _read_lines(lines: list[JsonLine]) -> Items:
    if lines and _is_graph(lines[0].value):
        return Items("mcp_memory", [row for line in lines for row in _read_graph(line.row, line.value)])
    return Items("lines", [_read_item(line.row, line.value) for line in lines])


def _read_document(value: Any) -> Items | None:
    match value:
        case [*parts] if any(_is_part(part) for part in parts):
            tables = [part for part in parts if _is_part(part) and isinstance(part.get("data"), list)]
            return _read_tables({str(table.get("name"))[:64]: table["data"] for table in tables}) or Items("synth", [])
        case [*memories]:
            return Items("mem0", _read_alike(memories, _is_mem0, _read_mem0)) if any(map(_is_mem0, memories)) else None
        case {"items": list(items)}:
            is_vtuber = bool(items) and _is_vtuber(items[0])
            return Items("vtuber" if is_vtuber else "items", [_read_item(n, each) for n, each in enumerate(items, 1)])
        case {"entities": list(graph)}:
            graph = [*graph, *_list(value.get("relations"))]
            return Items("mcp_memory", [row for n, each in enumerate(graph, 1) for row in _read_graph(n, each)])
        case {"format": "yaml", "data": str(text)}:  # what an Open-LLM-VTuber wraps
            inner = _read_document(parse(text, "yaml"))
            return Items("vtuber", inner.rows if inner else [])
        case {"results": list(memories)} | {"memories": list(memories)} if any(map(_is_mem0, memories)):
            relations = [
                Row(n, None, None, "a relation, which is no memory")
                for n, _ in enumerate(_list(value.get("relations")), 1)
            ]
            return Items("mem0", _read_alike(memories, _is_mem0, _read_mem0) + relations)
    return (_read_tables(value) or _read_books(value)) if isinstance(value, dict) else None


def _read_item(number: int, value: Any) -> Row:
    if isinstance(value, BadJson):
        return Row(number, None, None, value.reason)
    if _is_vtuber(value):
        return _read_vtuber(number, value)
    if _is_mem0(value):
        return _read_mem0(number, value)
    if _is_synth(value) and "text" not in value:
        return _read_synth(number, value)
    return Row(number, None, value)


def _read_alike(entries: Sequence[Any], fits: Callable[[Any], bool], read: Callable[[int, Any], Row]) -> list[Row]:
    """Return the rows of a list that holds memories of one program alone."""
    return [
        read(number, entry) if fits(entry) else Row(number, None, None, "the row is no memory")
        for number, entry in enumerate(entries, 1)
    ]


def _uid(value: Any, missing: str | int | None = None) -> str | int | None:
    """Return an id cut to 64 characters; `missing` where it is neither a text nor a number."""
    if isinstance(value, str):
        return clean(value)[:64]
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 else missing


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


# A list as text


def _is_list(text: str) -> bool:
    """Return whether a text is a list of memories: every line an entry, below a heading maybe."""
    if _IS_YAML.match(text):
        return False
    lines = [line for line in text.splitlines() if line.strip() and not line.strip().startswith("```")]
    if lines and _HEADING.match(lines[0]) and not _IS_ENTRY.match(lines[0]):
        lines = lines[1:]
    is_each_entry = bool(lines) and all(_IS_ENTRY.match(line) for line in lines)
    return is_each_entry and not re.match(r"\s*-\s*[\w\"']+:\s", lines[0])


def _read_list(text: str) -> Iterator[Row]:
    for number, line in enumerate(text.splitlines(), 1):
        entry = _ENTRY.match(line) if _IS_ENTRY.match(line) else None
        if entry:
            yield Row(number, None, {"text": entry["text"].strip(), "timestamp": entry["at"]})


# mem0


def _is_mem0(entry: Any) -> bool:
    return isinstance(entry, dict) and "memory" in entry and "text" not in entry


_READ_OF_MEM0 = frozenset({"memory", "created_at", "categories", "expiration_date", "metadata"})


def _read_mem0(number: int, entry: dict[str, Any]) -> Row:
    """Return the row of a memory: its categories are tags, whose it is and all else is kept in the metadata."""
    metadata = entry.get("metadata")
    kept = metadata if isinstance(metadata, dict) else {} if metadata is None else {"metadata": metadata}
    rest = {name: value for name, value in entry.items() if name not in _READ_OF_MEM0 and value is not None}
    return Row(number, _uid(entry.get("id")), {
        "text": entry["memory"],
        "tags": [tag for tag in _list(entry.get("categories")) if isinstance(tag, str)],
        "timestamp": entry.get("created_at"),
        "metadata": {**rest, **kept},
        **({"expires_at": entry["expiration_date"]} if entry.get("expiration_date") is not None else {}),
    })  # fmt: skip


# The memory server of MCP


def _is_graph(entry: Any) -> bool:
    return isinstance(entry, dict) and ("observations" in entry or {"from", "to", "relationType"} <= entry.keys())


def _read_graph(number: int, entry: Any) -> Iterator[Row]:
    """Yield a row for each observation of an entity, and one for a relation."""
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
    """Return a name as people write it; that server asks for names without spaces."""
    return value.replace("_", " ").strip() if isinstance(value, str) else ""


# An Open-LLM-VTuber with a memory

_VTUBER_KINDS = {
    "user": "FactsAboutUser", "self": "SelfBeliefs", "thirdparty": "KeyFacts", "sessionevent": "PastEvents",
    "objectivetemp": "Objectives",
}  # fmt: skip
"""Kinds of its versions that are not ours."""
_SESSION = frozenset({"sessionevent", "objectivetemp"})
_LIFTED = ("kind", "importance", "timestamp", "tags")


def _is_vtuber(entry: Any) -> bool:
    if not isinstance(entry, dict) or "tier" in entry or not isinstance(entry.get("metadata"), dict):
        return False
    keys = entry["metadata"].keys()
    return "text" in entry and bool(keys & {"conf_uid", "history_uid", "is_session"} or {"kind"} & keys - entry.keys())


def _read_vtuber(number: int, entry: dict[str, Any]) -> Row:
    metadata = entry["metadata"]
    value = {name: field for name, field in entry.items() if name not in ("metadata", "id", "score")}
    for name in _LIFTED:
        if value.get(name) is None:
            value[name] = metadata.get(name)
    kind = value["kind"]
    form = "".join(char for char in kind.lower() if char.isalnum()) if isinstance(kind, str) else ""
    if metadata.get("is_session") is True or form in _SESSION:
        value["tier"] = "session"
    value |= {"kind": _VTUBER_KINDS.get(form, kind), "tags": _read_tags(value["tags"])}
    value["timestamp"] = value["timestamp"] or None
    value["metadata"] = {name: field for name, field in metadata.items() if name not in (*_LIFTED, "is_session")}
    return Row(number, _uid(entry.get("id")), value)


def _read_tags(value: Any) -> Any:
    """Return the tags, which its store keeps as JSON or with commas where it can keep no list."""
    if not isinstance(value, str):
        return value or []
    with suppress(ValueError, RecursionError):
        if isinstance(tags := json.loads(value), list):
            return [tag for tag in tags if isinstance(tag, str)]
    return [tag.strip() for tag in value.split(",") if tag.strip()]


# The original application

_OTHER_TABLES = frozenset({
    "ai_diary", "chat_history_cache", "tags", "tag_aliases", "tag_links", "archived_memories", "config", "recent_chats",
})  # fmt: skip
"""Tables that hold no memory items."""
_UNUSED_COLUMNS = frozenset({"id", "content_hash", "text_folded", "audience_id", "persona_id"})


def _is_synth(entry: Any) -> bool:
    return isinstance(entry, dict) and "content" in entry and bool(entry.keys() & {"author", "scope", "emotion_state"})


def _is_part(value: Any) -> bool:
    return isinstance(value, dict) and value.get("type") in ("header", "database", "table")


def _read_synth(number: int, entry: dict[str, Any]) -> Row:
    uid = _uid(entry.get("id"))
    if entry.get("archived_at") or entry.get("superseded_by"):
        return Row(number, uid, None, "archived")
    return Row(number, uid, {name: value for name, value in entry.items() if name not in _UNUSED_COLUMNS})


def _read_tables(tables: dict[str, Any]) -> Items | None:
    rows: list[Row] = []
    for table, entries in tables.items():
        if table == "memories" and any(map(_is_synth, _list(entries))):
            rows += _read_alike(entries, _is_synth, _read_synth)
        elif table in _OTHER_TABLES:
            why = f"a row of {table}, which is no memory: `prompt-engine import --from URL` reads the whole database"
            rows += [
                Row(number, _uid(entry.get("id")), None, why)
                for number, entry in enumerate(_list(entries), 1)
                if isinstance(entry, dict)
            ]
    return Items("synth", rows) if rows else None


# Books of SillyTavern

_NOT_KEPT = ("content", "disable", "enabled", "uid", "id")


def is_world_info(entries: Any) -> bool:
    return isinstance(entries, dict) and (not entries or any(isinstance(entry, dict) for entry in entries.values()))


def find_book(value: Any) -> Mapping[str, Any] | None:
    """Return the book of a card's data, or the value itself where it is one; None for everything else."""
    book = value.get("character_book") if isinstance(value, dict) else None
    book = book if isinstance(book, dict) else value
    entries = book.get("entries") if isinstance(book, dict) else None
    return book if isinstance(entries, list) or is_world_info(entries) else None


def _read_books(value: dict[str, Any]) -> Items | None:
    """Return the rows of a World Info file, a character book, or the book of a character card."""
    for holder in (value, value.get("character_book"), value.get("data")):
        if (book := find_book(holder)) is None or (holder is value and book is not value):
            continue
        name = holder.get("name") if holder is not book else ""  # type: ignore[union-attr]
        rows = list(_read_book(book, name.strip() if isinstance(name, str) else ""))
        return Items("world_info" if holder is value and isinstance(book["entries"], dict) else "character_book", rows)
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
    """Return the row of an entry; a blank one is not taken."""
    extensions = entry.get("extensions")
    ids = (entry.get("uid"), entry.get("id"), extensions.get("uid") if isinstance(extensions, dict) else None, name)
    uid = _uid(next(each for each in ids if each is not None), number)
    text = entry.get("content")
    if text is None or (isinstance(text, str) and not clean(text).strip()):
        return Row(number, uid, None, "empty")
    names = ("keys", "secondary_keys") if "keys" in entry else ("key", "keysecondary")
    keys = [key for each in names for key in _keys(entry.get(each))]
    is_disabled = entry.get("disable") is True or entry.get("enabled") is False
    is_constant = entry.get("constant") is True
    metadata: dict[str, Any] = {"uid": uid, "disabled": is_disabled, "constant": is_constant}
    beside = {"book": book, "patterns": [key for key in keys if _is_pattern(key)]}
    beside |= {name: value for name, value in entry.items() if name not in (*_NOT_KEPT, *names, *metadata, "book")}
    metadata |= {name: value for name, value in beside.items() if value not in (None, "", [], {})}
    value: dict[str, Any] = {"text": text, "tags": [key for key in keys if not _is_pattern(key)], "metadata": metadata}
    if is_constant:
        value["kind"] = SAVED  # shown in every prompt, whatever is said
    if is_disabled:
        value["quarantined"] = True  # shown in none until somebody releases it
    return Row(number, uid, value, character=character)


def _keys(value: Any) -> list[str]:
    """Return the keys of an entry; older files hold them as one text with commas."""
    keys = value.split(",") if isinstance(value, str) else _list(value)
    return [key.strip() for key in keys if isinstance(key, str) and key.strip()]


def _is_pattern(key: str) -> bool:
    return len(key) > 2 and key.startswith("/") and key.rstrip("dgimsuvy").endswith("/")
