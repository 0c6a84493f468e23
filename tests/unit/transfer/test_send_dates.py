"""The times of chat files."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from core.transfer.fields import read_time

MOMENT = datetime(2023, 6, 19, 16, 13, 25, 120_000, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2023-06-19T16:13:25.120Z", MOMENT),
        ("2023-06-19T18:13:25.120+02:00", MOMENT),
        ("2023-6-19 @16h 13m 25s 120ms", MOMENT),
        ("2023-06-19@16h13m25s", MOMENT.replace(microsecond=0)),
        ("June 19, 2023 4:13pm", MOMENT.replace(second=0, microsecond=0)),
        ("Jun 19, 2023 4:13 PM", MOMENT.replace(second=0, microsecond=0)),
        ("June 19, 2023 12:05am", datetime(2023, 6, 19, 0, 5, tzinfo=UTC)),
        ("June 19, 2023", datetime(2023, 6, 19, tzinfo=UTC)),
        (1687191205120, MOMENT),
        ("1687191205120", MOMENT),
        (1687191205.12, MOMENT),
        ("2023-06-19 16:13:25.120", MOMENT),
    ],
)
def test_every_form_sillytavern_has_written_is_read(text: object, moment: datetime) -> None:
    assert read_time(text) == moment


@pytest.mark.parametrize(
    "value",
    [None, "", "soon", True, [], {}, float("nan"), float("inf"), -1, 0, 10**400, -(10**400), "9" * 400,
     "June 31, 2023 4:13pm", "Foo 1, 2023 4:13pm",
     "June 19, 2023 13:13pm", "June 19, 2023 0:13am", "2023-13-19 @16h 13m 25s 120ms", "x" * 1_000_000],
)  # fmt: skip
def test_what_is_no_time_is_none(value: object) -> None:
    assert read_time(value) is None


def test_times_without_an_offset_are_of_the_zone_given() -> None:
    rome = ZoneInfo("Europe/Rome")
    assert read_time("June 19, 2023 6:13pm", rome) == MOMENT.replace(second=0, microsecond=0)
    assert read_time("2023-06-19T18:13:25.120", rome) == MOMENT
    assert read_time("2023-06-19T16:13:25.120Z", rome) == MOMENT
