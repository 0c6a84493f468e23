"""From the objects of a file to records, for both formats."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import TransferError
from core.transfer.chat_records import RecordReader
from core.transfer.records import Problem, Record, Skipped
from core.transfer.sillytavern import TavernReader
from core.transfer.survey import look, recognise

ROW = {
    "conversation": "c", "session": 3, "id": "m1", "timestamp": "2026-03-10T12:00:00Z", "speaker": "Ann", "text": "hi"
}  # fmt: skip
HEADER = {
    "user_name": "Ann",
    "character_name": "Iris",
    "create_date": "2023-6-19 @16h 13m 25s 120ms",
    "chat_metadata": {},
}
LINE = {"name": "Iris", "is_user": False, "is_system": False, "send_date": "June 19, 2023 4:13pm", "mes": "Hello."}


def _read(**changes: Any) -> Any:
    return RecordReader().read(1, {**ROW, **changes})


def test_a_record_holds_what_the_row_says() -> None:
    """Unknown fields are kept (L38), and the session with them."""
    record = _read(mood="calm", persona_id="other")
    assert isinstance(record, Record)
    assert (record.conversation, record.speaker, record.text, record.message_id) == ("c", "Ann", "hi", "m1")
    assert record.time == datetime(2026, 3, 10, 12, tzinfo=UTC)
    assert record.metadata == {"mood": "calm", "persona_id": "other", "session": 3}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"text": 7}, "text is a number, it must be a text"),
        ({"text": None}, "text is missing, it must be a text"),
        ({"text": ["canary"]}, "text is a list"),
        ({"timestamp": None}, "timestamp is missing"),
        ({"timestamp": "soon"}, "timestamp cannot be read"),
        ({"speaker": ""}, "speaker is blank. A name is needed here"),
        ({"speaker": None}, "speaker is blank"),
        ({"speaker": {"canary": 1}}, "speaker is of type dict"),
        ({"speaker": "x" * 192}, "speaker is 192 bytes long"),
        ({"id": "x" * 192}, "id is 192 bytes long"),
        ({"id": "a\x00"}, "id holds a NUL"),
        ({"conversation": "\ud800"}, "conversation holds a lone surrogate"),
        ({"conversation": True}, "conversation is of type bool"),
    ],
)
def test_f76_a_row_of_a_wrong_type_is_listed_with_its_reason(changes: dict[str, Any], reason: str) -> None:
    """The reason names the field, never what it holds (G26)."""
    problem = _read(**changes)
    assert isinstance(problem, Problem)
    assert problem.row == 1
    assert problem.reason.startswith(reason)
    assert "canary" not in problem.reason


def test_a_blank_text_is_skipped_and_a_number_is_an_id() -> None:
    """L38: blank rows are skipped. G6: numbers are written in decimal."""
    assert _read(text=" \n") == Skipped(1, "empty")
    assert _read(id=17).message_id == "17"


def test_rows_without_id_get_the_same_one_every_time() -> None:
    """The same file twice must add nothing, and two equal rows of one second are two messages."""
    row = {name: value for name, value in ROW.items() if name != "id"}
    ids = [[reader.read(n, row).message_id for n in (1, 2)] for reader in (RecordReader(), RecordReader())]  # type: ignore[union-attr]
    assert ids[0] == ids[1]
    assert ids[0][0] != ids[0][1]
    assert RecordReader().read(9, {**row, "speaker": "Bob"}).message_id not in ids[0]  # type: ignore[union-attr]


def test_a_sillytavern_chat_is_read() -> None:
    """The header is no message; the character is the persona; the user is not."""
    reader = TavernReader()
    assert reader.read(1, HEADER) == Skipped(1, "header")
    said = reader.read(2, LINE)
    asked = reader.read(3, {**LINE, "name": "Ann", "is_user": True, "mes": "Hi!"})
    assert isinstance(said, Record)
    assert isinstance(asked, Record)
    assert (said.speaker, said.role, said.is_persona, said.text) == ("Iris", "persona", True, "Hello.")
    assert (asked.speaker, asked.role, asked.is_persona) == ("Ann", "user", False)
    assert said.time == datetime(2023, 6, 19, 16, 13, tzinfo=UTC)


def test_swipes_are_alternatives_and_the_chosen_one_is_the_text() -> None:
    """In lines without `mes` too."""
    reader = TavernReader()
    swipes = {"swipes": ["a", "b", "c"], "swipe_id": 1}
    assert reader.read(1, {**LINE, **swipes, "mes": "b"}).text == "b"  # type: ignore[union-attr]
    line = {name: value for name, value in LINE.items() if name != "mes"}
    assert reader.read(2, {**line, **swipes, "mes": None}).text == "b"  # type: ignore[union-attr]
    alternatives = reader.read(3, {**LINE, **swipes, "mes": "b"}).beside.alternatives  # type: ignore[union-attr]
    assert [(one.number, one.text, one.is_current) for one in alternatives] == [
        (0, "a", False), (1, "b", True), (2, "c", False)
    ]  # fmt: skip
    assert reader.notes == {}


@pytest.mark.parametrize(
    ("changes", "role", "hidden"),
    [
        ({"extra": {"type": "narrator"}}, "narrator", False),
        ({"is_system": True, "extra": {"type": "comment"}}, "system", True),
        ({"is_system": True, "extra": {"type": "help"}}, "system", True),
        ({"is_system": True}, "persona", True),
        ({"is_system": True, "is_user": True}, "user", True),
        ({"extra": None}, "persona", False),
        ({"extra": {"type": ["odd"]}}, "persona", False),
    ],
)
def test_hidden_and_system_lines(changes: dict[str, Any], role: str, hidden: bool) -> None:
    """SillyTavern hides a message by marking it as the system's."""
    record = TavernReader().read(1, {**LINE, **changes})
    assert isinstance(record, Record)
    assert (record.role, record.hidden) == (role, hidden)


def test_f76_bad_sillytavern_rows_are_listed() -> None:
    """Wrong types, unreadable and missing times."""
    reader = TavernReader()
    assert "send_date is missing" in reader.read(1, {**LINE, "send_date": None}).reason  # type: ignore[union-attr]
    assert "send_date cannot be read" in reader.read(2, {**LINE, "send_date": "soon"}).reason  # type: ignore[union-attr]
    assert "mes is a number" in reader.read(3, {**LINE, "mes": 7}).reason  # type: ignore[union-attr]
    assert "is_user is no switch" in reader.read(4, {**LINE, "is_user": "yes"}).reason  # type: ignore[union-attr]
    first = reader.read(5, LINE)
    assert reader.read(6, {**LINE, "send_date": ""}).time == first.time  # type: ignore[union-attr]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda inner: st.lists(inner, max_size=3)
)


@given(st.dictionaries(st.sampled_from([*ROW, *LINE, *HEADER, "swipes", "swipe_id", "extra"]), _JSON))
def test_no_object_makes_a_reader_raise(value: dict[str, Any]) -> None:
    """A file may hold anything."""
    for reader in (RecordReader(), TavernReader()):
        assert isinstance(reader.read(1, value), (Record, Problem, Skipped))


def _file(folder: Path, *values: object) -> Path:
    path = folder / "chat.jsonl"
    path.write_text("".join(json.dumps(value) + "\n" for value in values))
    return path


def test_the_format_is_recognised(tmp_path: Path) -> None:
    """Also where the first lines are broken, and where a chat of SillyTavern has lost its header."""
    assert recognise(_file(tmp_path, ROW)) == "records"
    assert recognise(_file(tmp_path, [1], 7, ROW)) == "records"
    assert recognise(_file(tmp_path, HEADER, LINE)) == "sillytavern"
    assert recognise(_file(tmp_path, LINE)) == "sillytavern"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ((), "is empty"),
        (([ROW, ROW],), "is a JSON list"),
        (({"a": 1},), r"the keys a\. Import takes"),
        ((7,), "neither JSON"),
    ],
)
def test_f76_a_wrong_shape_is_refused(tmp_path: Path, values: tuple[object, ...], said: str) -> None:
    """The sentence says what is there and what is needed."""
    with pytest.raises(TransferError, match=said) as caught:
        recognise(_file(tmp_path, *values))
    assert "JSON lines of" in str(caught.value)


def test_a_survey_counts_everything_once(tmp_path: Path) -> None:
    """What `--dry-run` shows."""
    bob = {**ROW, "speaker": "Bob", "timestamp": "2025-01-01T00:00:00Z"}
    path = _file(tmp_path, ROW, {**ROW, "text": ""}, [1], bob, {**ROW, "text": 7})
    survey = look(path, UTC)
    assert (survey.format, survey.records, survey.skipped, survey.problem_count) == ("records", 2, 1, 2)
    assert survey.problems == [
        Problem(3, "the row is a list, it must be an object"),
        Problem(5, "text is a number, it must be a text"),
    ]
    assert survey.speakers == {"Ann": 1, "Bob": 1}
    assert survey.conversations == {"c": {"Ann", "Bob"}}
    assert survey.first == datetime(2025, 1, 1, tzinfo=UTC)
