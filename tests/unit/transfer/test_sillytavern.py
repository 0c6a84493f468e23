"""S48: header and lines of a chat of SillyTavern are taken apart and come back; what is not known is kept."""

from datetime import UTC, datetime
from typing import Any

import pytest

from core.shapes import Line
from core.stories.table_imported import NOTHING, Beside
from core.text.folding import clean
from core.transfer.formats.sillytavern import RUNNING, read_header, write_header
from core.transfer.formats.sillytavern import lines as tavern_lines
from core.transfer.formats.sillytavern.lines import AFTER, BEFORE, DIGEST, KEPT_BYTES, KEY
from tests.unit.transfer import tavern_world as world


def _line(storage: Any) -> dict[str, Any]:
    return {"user_name": "unused", "chat_metadata": {"integrity": "i", RUNNING: storage, "theirs": 1}}


def _storage(numbers: list[int]) -> dict[str, Any]:
    return {"chat_id": "c", "current_version": 0, "versions": world.versions_of(numbers), "x": [1]}


def test_s48_what_is_no_version_stays_in_the_line() -> None:
    odd = [(-1, "x"), (True, "x"), (2**31, "x"), (1, " "), (1, 5), ("1", "x")]
    for entry in (7, {}, *({"version": version, "content": content} for version, content in odd)):
        storage = _storage([0])
        storage["versions"] = [entry, *storage["versions"], {**storage["versions"][0], "content": "a second 0"}]
        kept, versions, _ = read_header(_line(storage))
        assert [v.content for v in versions] == ["So far 0."]
        assert write_header(kept, versions, 0, "c", ()) == _line(storage)


FIELDS = "version timestamp content scene_count excluded_count prev_scene_index new_scene_index"


def test_s48_a_header_without_versions() -> None:
    for metadata in (None, 7, {}, {RUNNING: 7}, {RUNNING: {}}, {RUNNING: {"versions": 7}}):
        line = {"chat_metadata": metadata}
        assert read_header(line)[:2] == (line, ()) and write_header(line, (), None, "c", ()) == line
        version = read_header(_line(_storage([3])))[1][0]
        made = write_header(line, (version,), 3, "c", ())["chat_metadata"][RUNNING]
        assert (made["chat_id"], made["current_version"]) == ("c", 3) and list(made["versions"][0]) == FIELDS.split()


NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)


def _again(line: dict[str, Any]) -> tuple[dict[str, Any], Beside]:
    text, (role, _, hidden) = clean(line["mes"]), tavern_lines.read_role(line)
    beside, excluded, left = tavern_lines.split_line(line, text)
    kept, digest = tavern_lines.keep(left), tavern_lines.digest(text, hidden, excluded, beside)
    metadata: Any = {KEY: kept, DIGEST: digest} if kept else {}
    stored = Line(at=NOON, role=role, sender_name="x", hidden=hidden, excluded=excluded, metadata=metadata, text=text)
    return tavern_lines.build_line(stored, beside), beside


@pytest.mark.parametrize(("swipes", "chosen", "wanted"), [
    (["1", "2"], 1, [(0, False), (1, True)]),
    (["2"], 0, []),  # the message alone
    (["1"], 0, [(0, True)]),  # what is shown there after swiping forth and back
    (["1", "2"], None, [(0, False), (1, True)]),
    (["1", "3"], 7, [(0, False), (1, False)]),
    (["1", "", 5, None, "2"], 4, [(0, False), (4, True)]),
    (["1", "2"], True, [(0, False), (1, True)]), ("12", 0, []), ([], 0, []),
])  # fmt: skip
def test_s48_which_alternatives_a_line_has(swipes: Any, chosen: Any, wanted: list[tuple[int, bool]]) -> None:
    """A blank one and one that is no text are kept in the line: they can never be chosen."""
    line = {"mes": "2", "swipes": swipes, "swipe_id": chosen}
    made, beside = _again(line)
    assert [(a.number, a.is_current) for a in beside.alternatives] == wanted and made["swipes"] == swipes


def test_s48_what_is_too_large_or_too_deep_is_not_kept() -> None:
    deep: Any = 1
    for _ in range(KEPT_BYTES // 10_000):
        deep = [deep]
    assert tavern_lines.keep({"a": deep}) is None and tavern_lines.keep({"a": [[]] * 200}) is not None
    assert tavern_lines.keep({"a": "é" * (KEPT_BYTES // 2)}) is None
    made, _ = _again({"mes": "x", "name": "Iris", "mood": "y" * KEPT_BYTES})
    assert (made["mes"], "mood" in made) == ("x", False)


def test_f58_a_broken_metadata_column_is_none() -> None:
    for metadata in ({KEY: "{broken"}, {KEY: "[" * 2000}, {KEY: 7}, {BEFORE: 7, AFTER: [1]}, {}):
        made = tavern_lines.build_line(Line(sender_name="Ann", metadata=metadata, text="hi"), NOTHING)
        assert (made["mes"], made["send_date"]) == ("hi", "")
        assert tavern_lines.kept_lines(metadata, AFTER) == tavern_lines.kept_lines(metadata, BEFORE) == []
