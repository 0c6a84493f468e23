"""From the objects of a file to records, for both formats."""

from __future__ import annotations

import json
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from core.transfer import formats
from core.transfer.files import Export
from core.transfer.formats import records, sillytavern
from core.transfer.shapes import BLANK, Ending, Fault, Left, Line, Read, Reading
from core.transfer.survey import IdMaker

ROW = {
    "conversation": "c", "session": 3, "id": "m1", "timestamp": "2026-03-10T12:00:00Z", "speaker": "Ann", "text": "hi"
}  # fmt: skip
CREATED = {"create_date": "2023-6-19 @16h 13m 25s 120ms", "chat_metadata": {}}
HEADER = {"user_name": "Ann", "character_name": "Iris", **CREATED}
LINE = {"name": "Iris", "is_user": False, "is_system": False, "send_date": "June 19, 2023 4:13pm", "mes": "Hello."}


def read_all(reader: Any, *values: Any) -> tuple[list[Read], Reading]:
    """Return what a reader gives of the lines of a file, and its notes."""
    with tempfile.TemporaryDirectory() as folder:
        reading = Reading()
        made = list(reader.read(Export(_file(Path(folder), *values)).members, reading))
    return [each for each in made if not isinstance(each, Ending)], reading


def _read(**changes: Any) -> Any:
    (made,) = read_all(records, {**ROW, **changes})[0]
    return made


def _tavern(*values: Any) -> list[Any]:
    return read_all(sillytavern, *values)[0]


def test_a_record_holds_what_the_row_says() -> None:
    """Unknown fields are kept (L38), and the session with them."""
    line = _read(mood="calm", persona_id="other")
    assert isinstance(line, Line) and line.speaker is not None
    assert (line.room.id, line.speaker.id, line.text, line.id) == ("c", "Ann", "hi", "m1")
    assert line.at == datetime(2026, 3, 10, 12, tzinfo=UTC)
    assert line.metadata == {"mood": "calm", "persona_id": "other", "session": 3}
    assert _read(text=" \n") == Left(BLANK) and _read(id=17).id == "17"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"text": 7}, "text is a number, it must be a text"),
        ({"text": ["canary"]}, "text is a list"),
        ({"timestamp": None}, "timestamp is missing"),
        ({"timestamp": "soon"}, "timestamp cannot be read"),
        ({"speaker": ""}, "speaker is blank. A name is needed here"),
        ({"speaker": {"canary": 1}}, "speaker is of type dict"),
        ({"speaker": "x" * 192}, "speaker is 192 bytes long"),
        ({"id": "a\x00"}, "id holds a NUL"),
        ({"conversation": "\ud800"}, "conversation holds a lone surrogate"),
    ],
)
def test_f76_a_row_of_a_wrong_type_is_listed_with_its_reason(changes: dict[str, Any], reason: str) -> None:
    problem = _read(**changes)
    assert isinstance(problem, Fault)
    assert problem.row == 1
    assert problem.reason.startswith(reason)
    assert "canary" not in problem.reason


def test_rows_without_id_get_the_same_one_every_time() -> None:
    row = {name: value for name, value in ROW.items() if name != "id"}
    ids = []
    for _ in range(2):
        maker = IdMaker()
        lines = [line for line in read_all(records, row, row, {**row, "speaker": "Bob"})[0] if isinstance(line, Line)]
        ids.append([maker.make_id(line) for line in lines])
    assert ids[0] == ids[1]
    assert len(set(ids[0])) == 3


def test_f76_bad_sillytavern_rows_are_listed() -> None:
    odd: list[dict[str, Any]] = [
        {"send_date": None}, {"send_date": "soon"}, {"mes": 7}, {"is_user": "yes"}, {}, {"send_date": ""}
    ]  # fmt: skip
    *bad, first, second = _tavern(*({**LINE, **each} for each in odd))
    said = ("send_date is missing", "send_date cannot be read", "mes is a number", "is_user is no switch")
    assert all(reason in each.reason for reason, each in zip(said, bad, strict=True))
    assert [each.row for each in bad] == [1, 2, 3, 4] and second.at == first.at


def _file(folder: Path, *values: object) -> Path:
    path = folder / "chat.jsonl"
    path.write_text("".join(json.dumps(value) + "\n" for value in values))
    return path


def test_the_format_is_recognised(tmp_path: Path) -> None:
    """Also where the first lines are broken, and where a chat of SillyTavern has lost its header."""
    for format_name, *values in (
        ("records", ROW), ("records", [1], 7, ROW), ("sillytavern", HEADER, LINE), ("sillytavern", LINE)
    ):  # fmt: skip
        found = formats.find_export(_file(tmp_path, *values))
        assert found is not None and found.format == format_name
