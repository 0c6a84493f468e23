"""How a row of the original application becomes a row of ours: every value read, mended where it is broken,
and listed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import Column, Float, Integer, LargeBinary, Numeric, String, Table, Text

from ..audience.inserted_rows import participant_of
from ..database.dialects import EPOCH, JsonText, Key, Time, read_time
from ..index.entries import DIARY_TEXTS, fold_texts
from ..shapes import PERSONA_SENDER
from ..text.folding import fold
from ..text.hits import content_digest
from ..text.strict_json import make_strict
from ..text.times import parse_time

LISTS = frozenset({"tags", "emotions", "context_tags", "involved_users", "tag", "source_ids"})
"""JSON columns that hold a list; `[]` stands for none. The others hold an object, or NULL."""


@dataclass(frozen=True, slots=True)
class Broken:
    """A value that could not be taken over as it was."""

    row_id: int
    column: str
    why: str
    """json: now `[]` (an object: NULL). time: now NULL or 1970. number: now the default. long: cut. duplicate: now
    NULL."""


class _UnreadableError(Exception):
    """`value` stands in for what was there."""

    def __init__(self, why: str, value: Any = None) -> None:
        super().__init__(why)
        self.why = why
        self.value = value


def text_of(value: Any) -> str:
    """Return a stored value as text; bytes are read as UTF-8, None is blank."""
    if isinstance(value, (bytes, bytearray)):
        return value.decode("utf-8", "replace")
    return "" if value is None else str(value)


def json_of(value: Any, *, as_list: bool) -> Any:
    """Return a stored JSON value as Python's; blank and None are `[]` for a list, None for an object."""
    text = text_of(value).strip()
    if not text or text == "null":
        return [] if as_list else None
    try:
        return make_strict(json.loads(text, parse_constant=_refuse))[0]
    except RecursionError:
        raise ValueError("nested too deep") from None


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _read_json(value: Any, *, as_list: bool) -> Any:
    try:
        return json_of(value, as_list=as_list)
    except ValueError:
        raise _UnreadableError("json", [] if as_list else None) from None


def _read_time(value: Any, *, needed: bool) -> datetime | None:
    if value is None or value == "":
        if needed:
            raise _UnreadableError("time", EPOCH)
        return None
    moment = read_time(value) or parse_time(value)
    if moment is None:
        raise _UnreadableError("time", EPOCH if needed else None)
    return moment


def _read_name(value: Any, *, length: int) -> str | None:
    text = text_of(value)
    if len(text) > length:
        raise _UnreadableError("long", text[:length])
    return None if value is None else text


def _read_number(value: Any, *, whole: bool) -> float | None:
    if value is None:
        return None
    try:
        return int(value) if whole else float(value)
    except (TypeError, ValueError, OverflowError):
        raise _UnreadableError("number") from None


def _read_text(value: Any) -> str | None:
    return None if value is None else text_of(value)


def _read_bytes(value: Any) -> Any:
    return value


def _reader(column: Column[Any]) -> Callable[[Any], Any]:
    kind = column.type
    readers: list[tuple[type, Callable[[Any], Any]]] = [
        (Time, partial(_read_time, needed=not column.nullable)),
        (JsonText, partial(_read_json, as_list=column.name in LISTS)),
        (Key, _read_text),
        (Text, _read_text),
        (String, partial(_read_name, length=getattr(kind, "length", None) or 0)),
        (Integer, partial(_read_number, whole=True)),
        (Numeric, partial(_read_number, whole=False)),
        (Float, partial(_read_number, whole=False)),
        (LargeBinary, _read_bytes),
    ]
    return next(read for of, read in readers if isinstance(kind, of))


class Reader:
    """Reads rows of one table."""

    def __init__(self, table: Table, present: list[str]) -> None:
        self._readers = {c.name: _reader(c) for c in table.columns if c.name in present}
        self._needed = {c.name for c in table.columns if not c.nullable and c.name != "persona_id"}
        self._needed &= set(present)
        self._carried = [name for name in present if name not in table.c]
        self._table = table
        self.columns: list[str] = [*self._readers, *self._carried]

    def read(self, row: Mapping[str, Any]) -> tuple[dict[str, Any], list[Broken]]:
        """Return the values to store and what had to be mended. NULL where ours may not be gets the default."""
        values: dict[str, Any] = {name: row[name] for name in self._carried}
        broken: list[Broken] = []
        for name, read in self._readers.items():
            try:
                values[name] = read(row[name])
            except _UnreadableError as found:
                values[name] = found.value
                broken.append(Broken(int(row.get("id") or 0), name, found.why))
            if values[name] is None and name in self._needed:
                values[name] = default_of(self._table.c[name])
        return values, broken


def default_of(column: Column[Any]) -> Any:
    """Return the value a column has when nobody gives one."""
    default = getattr(getattr(column.server_default, "arg", None), "text", None)
    is_number = isinstance(column.type, (Integer, Numeric))
    if default is None:
        return 0 if is_number else EPOCH if isinstance(column.type, Time) else ""
    plain = str(default).strip("'")
    return (int(plain) if isinstance(column.type, Integer) else float(plain)) if is_number else plain


def conversation_of(table: str, values: Mapping[str, Any]) -> str:
    """Return the conversation key of a row, blank for a row that came from none."""
    if table == "chat_history_cache":
        return str(values.get("interface_path") or "")
    if table == "ai_diary":
        parts = [values.get(name) or "" for name in ("interface", "chat_id", "thread_id")]
        return "/".join(filter(None, parts)) if parts[0] and parts[1] else ""
    return str(values.get("conversation_key") or "")


def folded_of(table: str, values: Mapping[str, Any]) -> tuple[str, bytes] | None:
    """Return `(text_folded, content_hash)` of a row of a source, None for other tables."""
    if table == "ai_diary":
        texts = [text_of(values.get(name)) for name in DIARY_TEXTS]
        return fold_texts(texts), content_digest(texts[0])
    name = {"memories": "content", "chat_history_cache": "message_text"}.get(table)
    if name is None:
        return None
    text = text_of(values.get(name))
    return fold(text), content_digest(text)


def complete_row(table: Table, values: dict[str, Any]) -> None:
    """Fill in what the original did not have and what follows from the row itself."""
    worked_out = folded_of(table.name, values)
    if worked_out is not None:
        values.setdefault("text_folded", worked_out[0])
        values.setdefault("content_hash", worked_out[1])
        for name in ("text_folded", "content_hash"):
            if values[name] is None:
                values[name] = worked_out[name == "content_hash"]
    for name in LISTS:
        if name in table.c and values.get(name) is None:
            values[name] = []
    if table.name == "chat_history_cache":
        speaker = values.get("sender_id") or ""
        values.setdefault("role", "persona" if speaker == PERSONA_SENDER else "user")
        values.setdefault("participant_key", participant_of(str(values.get("interface_path") or ""), str(speaker)))
    if "created_at" in table.c and values.get("created_at") is None:
        values["created_at"] = values.get("timestamp")
