"""Files of memory items as text: shapes that are told apart, what is refused, and that nothing else can go wrong."""

from __future__ import annotations

import gzip
import math
import time
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from core.errors import TransferError
from core.scope import Scope
from core.transfer.items import write_items
from core.transfer.items.documents import MAX_ITEMS, SYNTAXES, find_syntax, parse, read_text
from core.transfer.items.formats import Row, read_items
from core.transfer.items.storage import ItemDefaults

READING = ItemDefaults(Scope("iris"), "KeyFacts", datetime(2026, 3, 10, 12, tzinfo=UTC), 604800)


def _rows(content: str | bytes, syntax: Any = None) -> list[Row]:
    return read_items(content.encode() if isinstance(content, str) else content, syntax).rows


def _format(content: str | bytes) -> str:
    whole = content.encode() if isinstance(content, str) else content
    return f"{find_syntax(read_text(whole))}: {read_items(whole).format}"


# Which file it is


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('{"items": []}', "json: items"),
        ("items:\n- a\n", "yaml: items"),
        ("# mine\n---\nitems: [a]", "yaml: items"),
        ("{items: [a]}", "yaml: items"),
        ('{"text": "a"}', "jsonl: lines"),
        ('{"text": "a"}\r\n{"text": "b"}\r\n', "jsonl: lines"),
        ('"a"\n"b"', "yaml: "),
        ('\ufeff{"items": ["a"]}', "json: items"),
        ('{"entries": {"0": {"uid": 0, "key": [], "content": ""}}}', "json: world_info"),
        ('{"entries": []}', "json: character_book"),
        ('{"spec": "chara_card_v2", "data": {"character_book": {"entries": []}}}', "json: character_book"),
        ('{"spec": "lorebook_v3", "data": {"entries": [{"keys": [], "content": ""}]}}', "json: character_book"),
        ('{"count": 1, "results": [{"memory": "a"}]}', "json: mem0"),
        ('[{"id": "x", "memory": "a"}]', "json: mem0"),
        ('{"ai_diary": [{"id": 1}], "memories": [{"content": "a", "author": "x"}]}', "json: synth"),
        ('{"format": "yaml", "data": "items: []"}', "json: vtuber"),
        ('{"items": [{"text": "a", "metadata": {"conf_uid": "c"}}]}', "json: vtuber"),
        (gzip.compress(b'{"items": ["a"]}', mtime=0), "json: items"),
        ("- Likes tea\n- Has a cat called Tofu\n", "yaml: list"),
        ("Saved memories:\n\n1. Likes tea\n\n2. Is vegetarian.", "yaml: list"),
        ("[2025-03-01] - User likes tea.\n[2025-03-02] - User has a cat.", "json: list"),
        ('{"type": "entity", "name": "Ann", "entityType": "person", "observations": ["a"]}\n', "jsonl: mcp_memory"),
        ('{"entities": [{"name": "Ann", "observations": []}], "relations": []}', "json: mcp_memory"),
    ],
)
def test_l41_a_file_is_told_by_what_it_holds(content: str | bytes, told: str) -> None:
    """Not by its name, which people change."""
    if told == "yaml: ":
        with pytest.raises(TransferError):
            _format(content)
    else:
        assert _format(content) == told


@pytest.mark.parametrize(
    "content",
    ["[]", "{}", '"a"', "7", "", "[1, 2]", '["a"]', '{"items": "a"}', '{"items": {"a": 1}}', "a: b", "just words",
     "null"],
)  # fmt: skip
def test_l38_another_shape_is_refused(content: str) -> None:
    """`[]` is the example; the sentence names what is taken."""
    with pytest.raises(TransferError, match=r"(must hold \{items|object with a list is needed|not usable JSON)"):
        _rows(content)


def test_f76_where_a_file_is_no_file(tmp_path: Path) -> None:
    """A folder, nothing, a name that cannot be one, broken gzip."""
    for path in (tmp_path, tmp_path / "none", "a\x00b"):
        with pytest.raises(TransferError):
            read_text(path)
    with pytest.raises(TransferError, match="gzip"):
        _rows(gzip.compress(b'{"items": ["a"]}', mtime=0)[:-9])
    with pytest.raises(TransferError, match="larger than"):
        _rows(gzip.compress(b'{"items": ["' + b"a" * 21 * 1024**2 + b'"]}', mtime=0))


def test_a_path_says_its_syntax_by_its_ending(tmp_path: Path) -> None:
    """Where it has one that does; `.json` with one item a line is read as lines."""
    for name, content, told in (
        ("a.yml", "{}", "yaml"), ("a.jsonl", "{}", "jsonl"), ("a.json.gz", '{"items": []}', "json"),
        ("a.json", '{"text": "a"}\n{"text": "b"}', "jsonl"), ("a.txt", "items: []", "yaml"),
    ):  # fmt: skip
        path = tmp_path / name
        path.write_text(content)
        assert find_syntax(read_text(path), name) == told, name


# What is refused


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a: 1\na: 2\n", "line 2 repeats a key"),
        ("items:\n- !!python/object:os.system {}", "line 2 holds a tag"),
        ("a: &a [1]\nitems: *a", "line 2 holds an alias"),
        ("items: [a]\n---\nitems: [b]", "several documents"),
        ("? [a]\n: b", "key that is no text"),
        ("items: [" + "[" * 18 + "]" * 18 + "]", ""),
        ("items: [" + "[" * 19 + "]" * 19 + "]", "nested deeper than 20"),
        ("items: [a", "not YAML"),
    ],
)
def test_l39_yaml_is_read_in_the_plain_way(content: str, said: str) -> None:
    """Neither tags nor aliases nor keys that stand twice, 20 levels."""
    if not said:
        assert len(_rows(content, "yaml")) == 1
        return
    with pytest.raises(TransferError, match=said):
        _rows(content, "yaml")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"items": [' + "[" * 18 + "]" * 18 + "]}", ""),
        ('{"items": [' + "[" * 19 + "]" * 19 + "]}", "nested deeper than 20"),
        ('{"items": [' + "[" * 10**6, "nested deeper"),
        ('{"items": [1,]}', "not usable JSON: .*, line 1"),
        ('{"items": [' + "9" * 5000 + "]}", "a number is too long"),
    ],
)
def test_l39_json_is_bounded_like_yaml(content: str, said: str) -> None:
    """The depth counts, and the error says what is wrong."""
    if not said:
        assert len(_rows(content, "json")) == 1
        return
    with pytest.raises(TransferError, match=said):
        _rows(content, "json")


def test_f76_bad_lines_are_named_and_good_ones_taken() -> None:
    """One item a line: a broken line costs itself."""
    rows = _rows('{"text": "a"}\n{broken\n\n{"text": "b"} 7\n"c"\n', "jsonl")
    assert [(row.number, row.value, row.reason.split(":")[0]) for row in rows] == [
        (1, {"text": "a"}, ""), (2, None, "not JSON"), (4, None, "not JSON"), (5, "c", ""),
    ]  # fmt: skip
    with pytest.raises(TransferError, match="nested deeper than 20 levels in line 1"):
        _rows("[" * 21 + "]" * 21, "jsonl")


def test_l39_at_most_50000_items() -> None:
    """One more is too many."""
    assert len(_rows('{"items": [' + ",".join(["1"] * MAX_ITEMS) + "]}")) == MAX_ITEMS
    with pytest.raises(TransferError, match="more than 50,000 items"):
        _rows('{"items": [' + ",".join(["1"] * (MAX_ITEMS + 1)) + "]}")


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)


@pytest.mark.parametrize(
    "content",
    [
        BOMB + "items: *a11",
        "items: " + "[" * 500_000,
        '{"items": ' + '{"a":' * 500_000,
        '{"a": [' + ",".join(["[]"] * 400_000) + '], "a": 1}',
        '{"items": [' + '"' + "\\u0000" * 300_000 + '"' + "]",
    ],
    ids=["aliases", "flow", "json", "many values", "zeros"],
)
def test_l39_bombs_take_bounded_time_and_memory(content: str) -> None:
    """Each is a file of a megabyte or two."""
    tracemalloc.start()
    began = time.process_time()
    try:
        with pytest.raises(TransferError):
            _rows(content, "json" if content.startswith("{") else "yaml")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert time.process_time() - began < 20
    assert peak < 50_000_000


# Whatever comes


PLAIN = (
    st.text(max_size=40) | st.integers() | st.booleans() | st.none() | st.lists(st.text(max_size=9), max_size=3)
    | st.floats(allow_nan=False, allow_infinity=False)
)  # fmt: skip


@given(st.lists(st.dictionaries(st.text(min_size=1, max_size=9), PLAIN, max_size=5), max_size=4))
@example([{"text": "yes", "no": "2026-01-01", "<<": "=", "n": "1e3", "0x1": "~", "é": "\u2028\x85\ufeff\x7f🍣"}])
@example([{"text": "a: b # c\n\n  d\n", "m": "- x", "t": " lead", "e": "", "z": "0o7", "s": "1:20"}])
def test_l37_what_is_written_is_read_again(items: list[dict[str, Any]]) -> None:
    """In each form, whatever the texts look like."""
    told = [{k: v for k, v in item.items() if not _lone(k, v)} for item in items]
    for syntax in SYNTAXES:
        text = "".join(write_items(told, syntax))
        assert _raw(text, syntax) == told
    if told:
        assert yaml.safe_load("".join(write_items(told, "yaml")))["items"] == told


def _raw(text: str, syntax: Any) -> list[Any]:
    value = parse(text, syntax)
    return [line.value for line in value] if syntax == "jsonl" else value["items"]


def _lone(*values: Any) -> bool:
    return any("\ud800" <= char <= "\udfff" for value in values for char in str(value)) or any(
        isinstance(value, float) and math.isinf(value) for value in values
    )
