"""Files as such, their lines and times, and the way from their objects to records."""

import json
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from core.errors import TransferError
from core.transfer import files, formats, json_values
from core.transfer.fields import read_time
from core.transfer.files import Export
from core.transfer.formats import records, sillytavern
from core.transfer.formats.sillytavern import lines as tavern_lines
from core.transfer.shapes import BLANK, Ending, Fault, Left, Line, Read, Reading

ROW = {
    "conversation": "c", "session": 3, "id": "m1", "timestamp": "2026-03-10T12:00:00Z", "speaker": "Ann", "text": "hi"
}  # fmt: skip
CREATED = {"create_date": "2023-6-19 @16h 13m 25s 120ms", "chat_metadata": {}}
HEADER = {"user_name": "Ann", "character_name": "Iris", **CREATED}
LINE = {"name": "Iris", "is_user": False, "is_system": False, "send_date": "June 19, 2023 4:13pm", "mes": "Hello."}


def read_all(reader: Any, *values: Any) -> tuple[list[Read], Reading]:
    with tempfile.TemporaryDirectory() as folder:
        reading = Reading()
        made = list(reader.read(Export(_file(Path(folder), *values)).members, reading))
    return [each for each in made if not isinstance(each, Ending)], reading


def _read(**changes: Any) -> Any:
    (made,) = read_all(records, {**ROW, **changes})[0]
    return made


def test_a_record_holds_what_the_row_says() -> None:
    line = _read(mood="calm", persona_id="other")
    assert isinstance(line, Line) and line.speaker is not None
    assert (line.room.id, line.speaker.id, line.text, line.id) == ("c", "Ann", "hi", "m1")
    assert line.at == datetime(2026, 3, 10, 12, tzinfo=UTC)
    assert line.metadata == {"mood": "calm", "persona_id": "other", "session": 3}
    assert _read(text=" \n") == Left(BLANK) and _read(id=17).id == "17"


@pytest.mark.parametrize(("changes", "reason"), [
    ({"text": 7}, "text is of type int. It must be a text"), ({"text": ["canary"]}, "text is of type list"),
    ({"timestamp": None}, "timestamp is missing"), ({"timestamp": "soon"}, "timestamp cannot be read"),
    ({"speaker": ""}, "speaker is blank. A name is needed here"),
    ({"speaker": {"canary": 1}}, "speaker is of type dict"), ({"speaker": "x" * 192}, "speaker is 192 bytes long"),
    ({"id": "a\x00"}, "id holds a NUL"), ({"conversation": "\ud800"}, "conversation holds a lone surrogate"),
])  # fmt: skip
def test_f76_a_row_of_a_wrong_type_is_listed_with_its_reason(changes: dict[str, Any], reason: str) -> None:
    problem = _read(**changes)
    assert isinstance(problem, Fault) and problem.row == 1
    assert problem.reason.startswith(reason) and "canary" not in problem.reason


def test_f76_s48_bad_sillytavern_rows_are_listed_and_too_large_ones_counted() -> None:
    odd: list[dict[str, Any]] = [
        {"send_date": None}, {"send_date": "soon"}, {"mes": 7}, {"is_user": "yes"}, {}, {"send_date": ""}
    ]  # fmt: skip
    made: list[Any] = read_all(sillytavern, *({**LINE, **each} for each in odd))[0]
    *bad, first, second = made
    said = ("send_date is missing", "send_date cannot be read", "mes is of type int", "is_user is no switch")
    assert all(reason in each.reason for reason, each in zip(said, bad, strict=True))
    assert [each.row for each in bad] == [1, 2, 3, 4] and second.at == first.at
    _, reading = read_all(sillytavern, HEADER, {**LINE, "mood": "y" * tavern_lines.KEPT_BYTES})
    assert list(reading.notes.values()) == [1], "what is too large to keep is counted once"


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


MOMENT = datetime(2023, 6, 19, 16, 13, 25, 120_000, tzinfo=UTC)


@pytest.mark.parametrize(("text", "moment"), [
    ("2023-06-19T16:13:25.120Z", MOMENT), ("2023-06-19T18:13:25.120+02:00", MOMENT),
    ("2023-6-19 @16h 13m 25s 120ms", MOMENT), ("2023-06-19@16h13m25s", MOMENT.replace(microsecond=0)),
    ("June 19, 2023 4:13pm", MOMENT.replace(second=0, microsecond=0)),
    ("Jun 19, 2023 4:13 PM", MOMENT.replace(second=0, microsecond=0)),
    ("June 19, 2023 12:05am", datetime(2023, 6, 19, 0, 5, tzinfo=UTC)),
    ("June 19, 2023", datetime(2023, 6, 19, tzinfo=UTC)), (1687191205120, MOMENT), ("1687191205120", MOMENT),
    (1687191205.12, MOMENT), ("2023-06-19 16:13:25.120", MOMENT),
])  # fmt: skip
def test_every_form_sillytavern_has_written_is_read(text: object, moment: datetime) -> None:
    assert read_time(text) == moment


def test_what_is_no_time_is_none_and_times_without_an_offset_are_of_the_zone_given() -> None:
    for value in (None, "", "soon", True, [], {}, float("nan"), float("inf"), -1, 0, 10**400, -(10**400), "9" * 400,
                  "June 31, 2023 4:13pm", "Foo 1, 2023 4:13pm", "June 19, 2023 13:13pm", "June 19, 2023 0:13am",
                  "2023-13-19 @16h 13m 25s 120ms", "x" * 1_000_000):  # fmt: skip
        assert read_time(value) is None
    rome = ZoneInfo("Europe/Rome")
    assert read_time("June 19, 2023 6:13pm", rome) == MOMENT.replace(second=0, microsecond=0)
    assert read_time("2023-06-19T18:13:25.120", rome) == MOMENT
    assert read_time("2023-06-19T16:13:25.120Z", rome) == MOMENT


def lines_of(path: Path, max_bytes: int = files.MAX_BYTES) -> list[tuple[int, Any]]:
    (member,) = Export(path, max_bytes).members
    return list(json_values.read_lines(member))


def _raw(folder: Path, content: bytes) -> Path:
    path = folder / "chat.jsonl"
    path.write_bytes(content)
    return path


def test_lines_keep_their_numbers_and_a_separator_inside_a_text_ends_none(tmp_path: Path) -> None:
    """U+2028 and U+0085 are letters of a text in JSON, though Python's splitlines sees lines."""
    path = _raw(tmp_path, b'\xef\xbb\xbf{"a": 1}\r\n\n  \n[2]\n')
    assert lines_of(path) == [(1, {"a": 1}), (4, [2])]
    path = _raw(tmp_path, json.dumps({"text": "a\u2028b\u0085c"}, ensure_ascii=False).encode())
    assert lines_of(path) == [(1, {"text": "a\u2028b\u0085c"})]


def test_f76_a_file_or_line_too_large_or_not_utf8_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TransferError, match=r"Line 2 of .* is not UTF-8 \(byte 14 of the line\)") as caught:
        lines_of(_raw(tmp_path, b'{"a": 1}\n{"text": "caf\xe9"}\n'))
    assert caught.value.row == 2
    path = _raw(tmp_path, b'{"a": 1}\n' * 100)
    assert len(lines_of(path, max_bytes=900)) == 100
    with pytest.raises(TransferError, match="larger than 899 bytes"):
        lines_of(path, max_bytes=899)
    monkeypatch.setattr(json_values, "MAX_LINE_BYTES", 1000)
    with pytest.raises(TransferError, match=r"Line 1 of .* is longer than 1000 bytes"):
        lines_of(_raw(tmp_path, b'{"a": "' + b"x" * 2000 + b'"}'))
    with pytest.raises(TransferError, match="does not exist"):
        lines_of(tmp_path / "nothing")
