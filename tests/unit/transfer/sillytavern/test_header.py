"""S48: the first line of a chat of SillyTavern and the running recap in it."""

from __future__ import annotations

from typing import Any

import pytest

from core.transfer.formats.sillytavern import header as tavern_header
from core.transfer.formats.sillytavern.header import RUNNING
from tests.unit.transfer import tavern_world as world


def _line(storage: Any, **fields: Any) -> dict[str, Any]:
    return {"user_name": "unused", "chat_metadata": {"integrity": "i", RUNNING: storage, "theirs": 1}, **fields}


def _storage(numbers: list[int], current: Any = 0) -> dict[str, Any]:
    return {"chat_id": "c", "current_version": current, "versions": world.versions_of(numbers), "x": [1]}


@pytest.mark.parametrize(
    "entry",
    [7, {}, {"version": -1, "content": "x"}, {"version": True, "content": "x"}, {"version": 2**31, "content": "x"},
     {"version": 1, "content": " "}, {"version": 1, "content": 5}, {"version": "1", "content": "x"}],
)  # fmt: skip
def test_s48_what_is_no_version_stays_in_the_line(entry: Any) -> None:
    """It is kept where it stands, beside those that are."""
    storage = _storage([0])
    storage["versions"] = [entry, *storage["versions"], {**storage["versions"][0], "content": "a second 0"}]
    kept, versions, _ = tavern_header.read(_line(storage))
    assert [v.content for v in versions] == ["So far 0."]
    assert tavern_header.write(kept, versions, 0, "c", ()) == _line(storage)


@pytest.mark.parametrize("metadata", [None, 7, {}, {RUNNING: 7}, {RUNNING: {}}, {RUNNING: {"versions": 7}}])
def test_s48_a_header_without_versions(metadata: Any) -> None:
    """It is kept as it is, and takes versions that were made here."""
    line = {"chat_metadata": metadata}
    kept, versions, _ = tavern_header.read(line)
    assert (kept, versions) == (line, ())
    assert tavern_header.write(line, (), None, "c", ()) == line
    version = tavern_header.read(_line(_storage([3])))[1][0]
    made = tavern_header.write(line, (version,), 3, "c", ())["chat_metadata"][RUNNING]
    assert (made["chat_id"], made["current_version"]) == ("c", 3)
    assert list(made["versions"][0]) == [
        "version", "timestamp", "content", "scene_count", "excluded_count", "prev_scene_index", "new_scene_index"
    ]  # fmt: skip
