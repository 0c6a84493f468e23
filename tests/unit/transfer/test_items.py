"""Files of memory items as text: shapes that are told apart, what is refused, and that nothing else can go wrong."""

from pathlib import Path
from typing import Any

import pytest

from core.errors import TransferError
from core.transfer.items.formats import MAX_ITEMS, Row, read_items, read_text


def _rows(content: str | bytes, syntax: Any = None) -> list[Row]:
    return read_items(content.encode() if isinstance(content, str) else content, syntax).rows


@pytest.mark.parametrize(("content", "told"), [
    ('{"items": []}', "items"), ('{"text": "a"}', "lines"), ('{"text": "a"}\r\n{"text": "b"}\r\n', "lines"),
    ('\ufeff{"items": ["a"]}', "items"), ('{"entries": []}', "character_book"), ('{\n  "text": "a"\n}', "lines"),
    ('{"entries": {"0": {"uid": 0, "key": [], "content": ""}}}', "world_info"),
    ('{"spec": "chara_card_v2", "data": {"character_book": {"entries": []}}}', "character_book"),
    ('{"spec": "lorebook_v3", "data": {"entries": [{"keys": [], "content": ""}]}}', "character_book"),
    ('{"count": 1, "results": [{"memory": "a"}]}', "mem0"), ('[{"id": "x", "memory": "a"}]', "mem0"),
    ("items:\n- text: a\n  kind: chat\n- b\n", "items"), ("# by hand\n---\n- text: a\n", "items"),
    ("text: a\ntags: [b]\n", "lines"), ("results:\n- memory: a\n", "mem0"),
    ("entries:\n  '0': {uid: 0, key: [], content: a}\n", "world_info"),
    ("- Diet: vegetarian\n- Likes tea\n", "list"), ("- Likes tea\n- Has a cat called Tofu\n", "list"),
    ("Saved memories:\n\n1. Likes tea\n\n2. Is vegetarian.", "list"),
    ("[2025-03-01] - User likes tea.\n[2025-03-02] - User has a cat.", "list"),
    ("```\n[2025-03-01] - Likes tea.\n[2025-03-02] - Has a cat.\n```\n", "list"),
    ('{"type": "entity", "name": "Ann", "entityType": "person", "observations": ["a"]}\n', "mcp_memory"),
    ('{"entities": [{"name": "Ann", "observations": []}], "relations": []}', "mcp_memory"),
])  # fmt: skip
def test_l41_a_file_is_told_by_what_it_holds(content: str, told: str) -> None:
    assert read_items(content.encode()).format == told


@pytest.mark.parametrize(("line", "at", "text"), [
    ("2026-02-11: Dentist", "2026-02-11", "Dentist"), ("- 12.3.2026 – Dentist", "2026-03-12", "Dentist"),
    ("[2026-02-11] - Dentist", "2026-02-11", "Dentist"), ("2026-02-11 Dentist", "2026-02-11", "2026-02-11 Dentist"),
    ("- 2026-02-11 to 2026-02-13 Rome", "2026-02-11", "2026-02-11 to 2026-02-13 Rome"),
    ("2026-02-11 - 2026-02-13 Rome", "2026-02-11", "2026-02-11 - 2026-02-13 Rome"),
    ("- 3.5 litres of milk", None, "3.5 litres of milk"),
])  # fmt: skip
def test_l41_a_line_behind_a_date_is_a_memory_of_that_day(line: str, at: str | None, text: str) -> None:
    rows = _rows(f"# Notes\n\n{line}\n")
    assert [(row.number, row.value) for row in rows] == [(3, {"text": text, "timestamp": at})]


@pytest.mark.parametrize(
    "content",
    ["[]", "{}", '"a"', "7", "", "[1, 2]", '["a"]', '{"items": "a"}', '{"items": {"a": 1}}', "a: b", "just words",
     "null", "2026-02-11", "2026-02-11:\n2026-02-12:", "2026-02-11 15:05 - Ann: tea"],
)  # fmt: skip
def test_l38_another_shape_is_refused(content: str) -> None:
    with pytest.raises(TransferError, match=r"(must hold \{items|not JSON)"):
        _rows(content)


def test_f76_where_a_file_is_no_file(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none", "a\x00b"):
        with pytest.raises(TransferError):
            read_text(path)
    with pytest.raises(TransferError, match="Unpack it if it is packed"):
        _rows(b"\x1f\x8b\x08\x00")
    with pytest.raises(TransferError, match="larger than"):
        _rows(b'{"items": ["' + b"a" * 21 * 1024**2 + b'"]}')


def test_l39_a_document_is_bounded() -> None:
    assert len(_rows('{"items": [' + "[" * 18 + "]" * 18 + "]}", "json")) == 1
    assert len(_rows('{"items": [' + ",".join(["1"] * MAX_ITEMS) + "]}")) == MAX_ITEMS
    for items, said in (
        ("[" * 19 + "]" * 19 + "]}", "nested deeper than 20"), ("[" * 10**6, "nested too deeply"),
        ("\n1,]}", "not JSON: .* at line 2, character"), ("9" * 5000 + "]}", "a number is too long"),
        (",".join(["1"] * (MAX_ITEMS + 1)) + "]}", "more than 50,000 items"),
    ):  # fmt: skip
        with pytest.raises(TransferError, match=said):
            _rows(f'{{"items": [{items}', "json")


@pytest.mark.parametrize(("content", "said"), [
    ("a: &a [x]\nitems: [*a, *a]\n", "line 2 holds an alias"), ("items:\n- text: 'a\n", "is not YAML"),
    ("items: [" + "[" * 30 + "]" * 30 + "]", "line 1 is nested deeper than 20 levels"),
    ("items: []\n---\nitems: []\n", "several documents"),
    ("items:\n- !!python/object/apply:os.getcwd []\n", "line 1 holds what YAML makes no value of"),
    ("items:\n- text: a\n  text: b\n", "line 3 holds a key that its mapping has already"),
    ("items: [2026-02-31]\n", "line 1 holds what YAML makes no value of"),
])  # fmt: skip
@pytest.mark.parametrize("syntax", ["yaml", None])
def test_l39_yaml_is_read_safely(content: str, said: str, syntax: Any) -> None:
    with pytest.raises(TransferError, match=f"cannot be read as YAML: .*{said}"):
        _rows(content, syntax)


def test_l38_values_of_yaml_are_those_of_json() -> None:
    content = "- text: a\n  timestamp: 2026-03-10 12:00:00\n  metadata: {2: 2026-03-10, yes: no}\n- b\n"
    metadata = {"2": "2026-03-10", "True": False}
    expected = [{"text": "a", "timestamp": "2026-03-10T12:00:00", "metadata": metadata}, "b"]
    assert [row.value for row in _rows(content, "yaml")] == expected


def test_f76_bad_lines_are_named_and_good_ones_taken() -> None:
    rows = _rows('{"text": "a"}\n{broken\n\n{"text": "b"} 7\n"c"\n', "jsonl")
    told = [(row.number, row.value, row.reason.split(":")[0]) for row in rows]
    assert told == [(1, {"text": "a"}, ""), (2, None, "not JSON"), (4, None, "not JSON"), (5, "c", "")]
    with pytest.raises(TransferError, match="nested deeper than 20 levels"):
        _rows("[" * 21 + "]" * 21, "jsonl")
