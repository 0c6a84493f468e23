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
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import TransferError
from ...memories.rules import SAVED
from ...text.folding import clean
from ..files import describe_file
from ..json_values import BadJson, JsonLine
from .documents import (
    MAX_BYTES,
    Source,
    Syntax,
    begins_with_lines,
    find_syntax,
    name_of,
    parse,
    read_text,
)

_SHAPES = (
    "It must hold {items: [...]}, or one item a line; or be a World Info file, a character book, an export of mem0 or "
    "of the memory server of MCP, a list of memories with a bullet each, or the original application's tables as JSON"
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
    items = _read_lines(value) if syntax == "jsonl" else _read_table_dump(value) or _read_document(value)
    if items is None:
        looks = f": {describe_file(Path(source))}" if isinstance(source, (str, os.PathLike)) else ""
        raise TransferError(f"The file is of no shape that is known{looks}. {_SHAPES}.")
    return items


def is_items(text: str) -> bool:
    """Return whether the beginning of a file is that of memory items, and of no conversation."""
    if _is_list(text):
        return True
    if not re.match(r"\s*[\[{]", text):
        return bool(_IS_YAML.match(text))
    if not begins_with_lines(text):
        return True
    (line,) = parse(text.lstrip().partition("\n")[0], "jsonl")
    value = line.value if isinstance(line.value, dict) else {}
    if value.keys() & {"speaker", "mes", "user_name", "chat_metadata"}:
        return False
    return bool(value.keys() & {"kind", "tier", "memory", "importance"}) or is_synth(value) or is_graph(value)


def _read_lines(lines: list[JsonLine]) -> Items:
    if lines and is_graph(lines[0].value):
        return Items("mcp_memory", [row for line in lines for row in _read_graph(line.row, line.value)])
    return Items("lines", [
        Row(line.row, None, None, line.value.reason) if isinstance(line.value, BadJson) else item(line.row, line.value)
        for line in lines
    ])  # fmt: skip


def _read_document(value: Any) -> Items | None:
    if isinstance(value, list):
        return _read_mem0_list("mem0", value)
    if isinstance(value.get("items"), list):
        items = value["items"]
        kind = "vtuber" if items and is_vtuber(items[0]) else "items"
        return Items(kind, [item(number, each) for number, each in enumerate(items, 1)])
    if isinstance(value.get("entities"), list):
        graph = [*value["entities"], *(value.get("relations") if isinstance(value.get("relations"), list) else ())]
        return Items("mcp_memory", [row for n, each in enumerate(graph, 1) for row in _read_graph(n, each)])
    if isinstance(value.get("data"), str) and value.get("format") == "yaml":  # what an Open-LLM-VTuber wraps
        return Items("vtuber", (_read_document(parse(value["data"], "yaml")) or Items("", [])).rows)
    return _read_tables(value) or _read_books(value)


def item(number: int, value: Any) -> Row:
    """Return the row of an item, in whose words ever it is."""
    if is_vtuber(value):
        return _read_vtuber(number, value)
    if is_mem0(value):
        return _read_mem0(number, value)
    if isinstance(value, dict) and "text" not in value and is_synth(value):
        return _read_synth(number, value)
    return Row(number, None, value)


def uid_of(value: Any, missing: str | int | None = None) -> str | int | None:
    """Return an id cut to 64 characters; `missing` where it is neither a text nor a number."""
    if isinstance(value, str):
        return clean(value)[:64]
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 else missing


# A list as text


def _is_list(text: str) -> bool:
    """Return whether a text is a list of memories: every line an entry, below a heading maybe."""
    if _IS_YAML.match(text):
        return False
    lines = [line for line in text.splitlines() if line.strip() and not line.strip().startswith("```")]
    if lines and _HEADING.match(lines[0]) and not _IS_ENTRY.match(lines[0]):
        lines = lines[1:]
    return (
        bool(lines) and all(_IS_ENTRY.match(line) for line in lines) and not re.match(r"\s*-\s*[\w\"']+:\s", lines[0])
    )


def _read_list(text: str) -> Iterator[Row]:
    for number, line in enumerate(text.splitlines(), 1):
        found = _ENTRY.match(line) if _IS_ENTRY.match(line) else None
        if found:
            value = {"text": found["text"].strip(), **({"timestamp": found["at"]} if found["at"] else {})}
            yield Row(number, None, value)


# mem0


def is_mem0(entry: Any) -> bool:
    """Return whether a value is a memory of mem0."""
    return isinstance(entry, dict) and "memory" in entry and "text" not in entry


def _read_mem0_list(name: str, entries: list[Any], relations: Any = None) -> Items | None:
    if not any(is_mem0(entry) for entry in entries):
        return None
    rows = [
        _read_mem0(n, each) if is_mem0(each) else Row(n, None, None, "the row is no memory")
        for n, each in enumerate(entries, 1)
    ]
    rows += [
        Row(n, None, None, "a relation, which is no memory")
        for n, _ in enumerate(relations if isinstance(relations, list) else (), 1)
    ]
    return Items(name, rows)


_READ_OF_MEM0 = frozenset({"memory", "created_at", "categories", "expiration_date", "metadata"})


def _read_mem0(number: int, entry: dict[str, Any]) -> Row:
    """Return the row of a memory: its categories are tags, whose it is and all else is kept in the metadata."""
    made: dict[str, Any] = {"text": entry["memory"]}
    if isinstance(entry.get("categories"), list):
        made["tags"] = [tag for tag in entry["categories"] if isinstance(tag, str)]
    times = {"timestamp": entry.get("created_at"), "expires_at": entry.get("expiration_date")}
    made |= {name: value for name, value in times.items() if value is not None}
    given = entry.get("metadata")
    kept = dict(given) if isinstance(given, dict) else {} if given is None else {"metadata": given}
    for name, value in entry.items():
        if name not in _READ_OF_MEM0 and value is not None:
            kept.setdefault(name, value)
    if kept:
        made["metadata"] = kept
    return Row(number, uid_of(entry.get("id")), made)


# The memory server of MCP


def is_graph(entry: Any) -> bool:
    """Return whether a value is an entity or a relation of the reference memory server of MCP."""
    return isinstance(entry, dict) and ("observations" in entry or {"from", "to", "relationType"} <= entry.keys())


def _read_graph(number: int, entry: Any) -> Iterator[Row]:
    """Yield a row for each observation of an entity, and one for a relation."""
    if not is_graph(entry):
        yield Row(number, None, None, "the row is neither an entity nor a relation")
        return
    if "observations" not in entry:
        start, kind, end = (_words(entry[name]) for name in ("from", "relationType", "to"))
        yield Row(number, None, {"text": f"{start} {kind} {end}", "tags": [start, end], "source": "mcp_memory"})
        return
    name, kind = _words(entry.get("name")), _words(entry.get("entityType"))
    observations = entry["observations"]
    for text in observations if isinstance(observations, list) else [observations]:
        said = f"{name}: {text}" if name and isinstance(text, str) and text.strip() else text
        yield Row(number, uid_of(entry.get("name")), {
            "text": said, "tags": [each for each in (name, kind) if each], "source": "mcp_memory"
        })  # fmt: skip


def _words(value: Any) -> str:
    """Return a name as people write it; that server asks for names without spaces."""
    return value.replace("_", " ").strip() if isinstance(value, str) else ""


# An Open-LLM-VTuber with a memory

_VTUBER_KINDS = {
    "user": "FactsAboutUser",
    "self": "SelfBeliefs",
    "thirdparty": "KeyFacts",
    "sessionevent": "PastEvents",
    "objectivetemp": "Objectives",
}
"""Kinds of its versions that are not ours."""
_SESSION = frozenset({"sessionevent", "objectivetemp"})
_LIFTED = ("kind", "importance", "tags", "timestamp", "is_session")


def is_vtuber(entry: Any) -> bool:
    """Return whether a value is an item of that application."""
    if not isinstance(entry, dict) or "tier" in entry or not isinstance(entry.get("metadata"), dict):
        return False
    keys = entry["metadata"].keys()
    return "text" in entry and bool(keys & {"conf_uid", "history_uid", "is_session"} or {"kind"} & keys - entry.keys())


def _read_vtuber(number: int, entry: dict[str, Any]) -> Row:
    given = entry["metadata"]
    made = {name: value for name, value in entry.items() if name not in ("metadata", "id", "score")}
    for name in ("kind", "importance", "timestamp"):
        if made.get(name) is None and given.get(name) is not None:
            made[name] = given[name]
    kind = made.get("kind")
    form = "".join(char for char in kind.lower() if char.isalnum()) if isinstance(kind, str) else ""
    if given.get("is_session") is True or form in _SESSION:
        made["tier"] = "session"
    made["kind"] = _VTUBER_KINDS.get(form, kind)
    if not made.get("timestamp"):
        made.pop("timestamp", None)
    made["tags"] = _read_tags(made.get("tags", given.get("tags")))
    kept = {name: value for name, value in given.items() if name not in _LIFTED}
    if kept:
        made["metadata"] = kept
    return Row(number, uid_of(entry.get("id")), made)


def _read_tags(value: Any) -> Any:
    """Return the tags, which its store keeps as JSON or with commas where it can keep no list."""
    if not isinstance(value, str):
        return value or []
    try:
        tags = json.loads(value)
    except (ValueError, RecursionError):
        tags = None
    if isinstance(tags, list):
        return [tag for tag in tags if isinstance(tag, str)]
    return [tag.strip() for tag in value.split(",") if tag.strip()]


# The original application

_OTHER_TABLES = frozenset({
    "ai_diary", "chat_history_cache", "tags", "tag_aliases", "tag_links", "archived_memories", "config", "recent_chats",
})  # fmt: skip
"""Tables that hold no memory items."""
_UNUSED_COLUMNS = frozenset({"id", "content_hash", "text_folded", "audience_id", "persona_id"})


def is_synth(entry: Any) -> bool:
    """Return whether a value is a row of the table `memories`."""
    return isinstance(entry, dict) and "content" in entry and bool(entry.keys() & {"author", "scope", "emotion_state"})


def _read_synth(number: int, entry: dict[str, Any]) -> Row:
    uid = uid_of(entry.get("id"))
    if entry.get("archived_at") or entry.get("superseded_by"):
        return Row(number, uid, None, "archived")
    left = {name: value for name, value in entry.items() if name not in _UNUSED_COLUMNS and value is not None}
    return Row(number, uid, {"text" if name == "content" else name: value for name, value in left.items()})


def _read_tables(value: dict[str, Any]) -> Items | None:
    """Return the rows of {memories: [...]} and the other tables, of mem0 likewise."""
    memories: list[Any] = next((value[key] for key in ("results", "memories") if isinstance(value.get(key), list)), [])
    if made := _read_mem0_list("mem0", memories, value.get("relations")):
        return made
    rows: list[Row] = []
    for table, entries in value.items():
        if table == "memories" and any(is_synth(entry) for entry in memories):
            rows += [
                _read_synth(n, each) if is_synth(each) else Row(n, None, None, "the row is no memory")
                for n, each in enumerate(memories, 1)
            ]
        elif table in _OTHER_TABLES and isinstance(entries, list):
            rows += [_refuse(n, table, each) for n, each in enumerate(entries, 1) if isinstance(each, dict)]
    return Items("synth", rows) if rows else None


def _read_table_dump(value: Any) -> Items | None:
    if not isinstance(value, list) or not any(_is_part(part) for part in value):
        return None
    rows: list[Row] = []
    for part in value:
        table = str(part.get("name"))[:64] if _is_part(part) and part.get("type") == "table" else ""
        for entry in part["data"] if table and isinstance(part.get("data"), list) else ():
            number = len(rows) + 1
            is_memory = table == "memories" and isinstance(entry, dict)
            rows.append(_read_synth(number, entry) if is_memory else _refuse(number, table, entry))
    return Items("synth", rows)


def _is_part(value: Any) -> bool:
    return isinstance(value, dict) and value.get("type") in ("header", "database", "table")


def _refuse(number: int, table: str, entry: Any) -> Row:
    why = f"a row of {table}, which is no memory: `prompt-engine import --from URL` reads the whole database"
    return Row(number, uid_of(entry.get("id")) if isinstance(entry, dict) else None, None, why)


# Books of SillyTavern


def _read_books(value: dict[str, Any]) -> Items | None:
    """Return the rows of a World Info file, a character book, or the book of a character card."""
    name = value.get("name") if isinstance(value.get("name"), str) else ""
    entries = value.get("entries")
    if isinstance(entries, list):
        return Items("character_book", list(read_book({"name": name, "entries": entries})))
    if isinstance(entries, dict) and is_world_info(entries):
        return Items("world_info", list(read_world_info(entries, name or "")))
    for key in ("character_book", "data"):
        if (book := find_book(value.get(key))) is not None:
            held = value[key]
            character = held.get("name") if isinstance(held.get("character_book"), dict) else None
            name = character.strip() if isinstance(character, str) else ""
            return Items("character_book", [row._replace(character=name) for row in read_book(book)])
    return None


_TEXT = "content"
_MACRO = re.compile(r"\{\{\s*(?:(char)|(user))\s*\}\}|<(?:(BOT|CHAR)|(USER))>", re.IGNORECASE)


def is_world_info(entries: Any) -> bool:
    """Return whether a value is the entries of a World Info file."""
    return isinstance(entries, dict) and (not entries or any(isinstance(entry, dict) for entry in entries.values()))


def read_world_info(entries: Mapping[str, Any], book: str = "") -> Iterator[Row]:
    """Yield a row for each entry of a World Info file, in their order."""
    for number, (name, entry) in enumerate(entries.items(), 1):
        if not isinstance(entry, dict):
            yield Row(number, uid_of(name), None, "the entry is no object")
            continue
        uid = entry.get("uid", name)
        yield _read_entry(
            number, uid, entry, ("key", "keysecondary"), is_disabled=entry.get("disable") is True, book=book
        )


def _read_entry(
    number: int, uid: Any, entry: Mapping[str, Any], keys: tuple[str, str], *, is_disabled: bool, book: str
) -> Row:
    """Return the row of an entry; a blank one is not taken."""
    told = uid_of(uid, number)
    text = entry.get(_TEXT)
    if text is None or (isinstance(text, str) and not clean(text).strip()):
        return Row(number, told, None, "empty")
    found = [key for name in keys for key in _keys(entry.get(name))]
    left = {name: value for name, value in entry.items() if name not in (_TEXT, "disable", "enabled", "uid", *keys)}
    patterns = [key for key in found if _is_pattern(key)]
    is_constant = entry.get("constant") is True
    metadata: dict[str, Any] = {"uid": told, "disabled": is_disabled, "constant": is_constant}
    metadata |= {"book": book} if book else {}
    metadata |= {"patterns": patterns} if patterns else {}
    metadata |= {
        name: value for name, value in left.items() if name not in metadata and value not in (None, "", [], {})
    }
    tags = [key for key in found if not _is_pattern(key)]
    value: dict[str, Any] = {"text": text, "tags": tags, "metadata": metadata}
    if is_constant:
        value["kind"] = SAVED  # shown in every prompt, whatever is said
    if is_disabled:
        value["quarantined"] = True  # shown in none until somebody releases it
    return Row(number, told, value, character="")


def fill_macros(value: Mapping[str, Any], character: str, user: str) -> dict[str, Any]:
    """Return an entry with names in place of {{char}} and {{user}}, in its text and its keys."""

    def fill(text: Any) -> Any:
        if not isinstance(text, str):
            return text
        return _MACRO.sub(lambda found: character if found[1] or found[3] else user, text)

    return {**value, "text": fill(value["text"]), "tags": [fill(tag) for tag in value["tags"]]}


def _keys(value: Any) -> list[str]:
    """Return the keys of an entry; older files hold them as one text with commas."""
    if isinstance(value, str):
        value = value.split(",")
    return [key.strip() for key in value if isinstance(key, str) and key.strip()] if isinstance(value, list) else []


def _is_pattern(key: str) -> bool:
    return len(key) > 2 and key.startswith("/") and key.rstrip("dgimsuvy").endswith("/")


def find_book(value: Any) -> Mapping[str, Any] | None:
    """Return the book of a card's data, or the value itself where it is one; None for everything else."""
    if isinstance(value, dict) and isinstance(value.get("character_book"), dict):
        value = value["character_book"]
    if not isinstance(value, dict):
        return None
    entries = value.get("entries")
    return value if isinstance(entries, list) or is_world_info(entries) else None


def read_book(book: Mapping[str, Any]) -> Iterator[Row]:
    """Yield a row for each entry of a book, in their order."""
    name = book.get("name") if isinstance(book.get("name"), str) else ""
    if isinstance(book["entries"], dict):
        yield from read_world_info(book["entries"], name or "")
        return
    for number, entry in enumerate(book["entries"], 1):
        yield read_book_entry(number, entry, name or "")


def read_book_entry(number: int, entry: Any, book: str = "") -> Row:
    """Return the row of one entry."""
    if not isinstance(entry, dict):
        return Row(number, number, None, "the entry is no object")
    uid = entry.get("uid", entry.get("id"))
    if isinstance(entry.get("extensions"), dict) and uid is None:
        uid = entry["extensions"].get("uid")
    keys = ("keys", "secondary_keys") if "keys" in entry else ("key", "keysecondary")
    is_disabled = entry.get("enabled") is False or entry.get("disable") is True
    left = {name: value for name, value in entry.items() if name != "id"}
    return _read_entry(number, number if uid is None else uid, left, keys, is_disabled=is_disabled, book=book)
