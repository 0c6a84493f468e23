"""What a value must be to get into a column."""

import pytest

from core.database.rows import DIGITS, INT_RANGE, name, number, row_id, short_interface, yes_no
from core.errors import MessageError

LOW, HIGH = INT_RANGE


def test_a_number_is_kept_within_its_column_or_refused_by_name() -> None:
    for given, stored in ((None, None), (2.0, 2), (LOW, LOW), (HIGH, HIGH)):
        assert number(given, "position") == stored
    for wrong in (True, "2", 2.5, float("nan"), float("inf"), LOW - 1, HIGH + 1):
        with pytest.raises(MessageError, match="position"):
            number(wrong, "position")


def test_a_name_is_cut_to_its_column_with_a_note() -> None:
    notes: list[str] = []
    assert [name(given, "title", 3, notes) for given in (None, -12, "abc")] == ["", "-12", "abc"] and notes == []
    assert name("abcd", "title", 3, notes) == "abc" and notes == ["title was cut from 4 to 3 characters"]
    assert len(name(10**DIGITS - 1, "title", DIGITS, [])) == DIGITS
    for wrong in (True, 2.0, 10**DIGITS):
        with pytest.raises(MessageError, match="title"):
            name(wrong, "title", 3, [])


def test_an_id_out_of_range_is_that_of_no_row_and_a_switch_is_stored_as_zero_or_one() -> None:
    assert [row_id(given) for given in (-1, 0, 1, 2**63 - 1, 2**63)] == [0, 0, 1, 2**63 - 1, 0]
    for wrong in (True, "7", 7.0):
        with pytest.raises(MessageError, match="id"):
            row_id(wrong)
    assert [yes_no(given, "pinned") for given in (False, True, 0, 1)] == [0, 1, 0, 1]
    for wrong in (2, 1.0, "1", None):
        with pytest.raises(MessageError, match="pinned"):
            yes_no(wrong, "pinned")


@pytest.mark.parametrize(
    ("given", "stored"),
    [("Telegram", "telegram"), ("discord-main", "discord"), ("telegram.bot", "telegram"), ("telegrams", "telegrams"),
     ("telethon_userbot", "telegram"), (" ", "unknown"), ("Web", "Web")],
)  # fmt: skip
def test_p46_an_interface_has_one_name_in_the_diary(given: str, stored: str) -> None:
    assert short_interface(given) == stored
