"""The exchange window: whole turns stay, so that a run of persona lines does not eat the history."""

from hypothesis import given
from hypothesis import strategies as st

from core.context.history import SpokenLine, newest_exchanges


def said(*texts: str) -> list[SpokenLine]:
    return [SpokenLine(text, text.startswith("A")) for text in texts]


def texts(lines: list[SpokenLine]) -> list[str]:
    return [line.text for line in lines]


def test_p35_the_last_exchanges_stay() -> None:
    lines = said("H1", "A1", "A2", "H2", "A3", "A4", "H3", "A5")
    assert texts(newest_exchanges(lines, 2, 8000)) == ["H2", "A3", "A4", "H3", "A5"]
    assert newest_exchanges(lines, 3, 8000) == newest_exchanges(lines, 50, 8000) == lines


def test_p35_zero_leaves_the_lines_unchanged() -> None:
    lines = said("H1", "A1", "H2")
    assert newest_exchanges(lines, 0, 1) == lines
    assert newest_exchanges([], 3, 100) == []


def test_p35_over_the_cap_whole_oldest_exchanges_go() -> None:
    three = said(*(text for n in range(3) for text in ("H" + "x" * 29, "A" + "x" * 299)))
    assert newest_exchanges(three, 3, 500) == three[4:]
    assert newest_exchanges(three, 3, 660) == three[2:]


def test_p35_the_newest_exchange_is_never_dropped_nor_cut() -> None:
    lines = said("H1", "H2", "A" * 4000)
    assert newest_exchanges(lines, 3, 100) == lines[1:]


def test_p35_where_only_the_persona_spoke_its_newest_lines_under_the_cap_stay() -> None:
    lines = said("A" * 200, "A" * 200, "A" * 100)
    assert newest_exchanges(lines, 1, 300) == lines[1:]
    assert newest_exchanges(lines, 1, 99) == lines[2:]


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 40))), st.integers(1, 6), st.integers(1, 200))
def test_p35_what_stays_is_the_end_of_the_list_in_whole_exchanges(
    spec: list[tuple[bool, int]], count: int, cap: int
) -> None:
    lines = [SpokenLine("x" * size, persona) for persona, size in spec]
    kept = newest_exchanges(lines, count, cap)
    assert kept == lines[len(lines) - len(kept) :]
    starts = [index for index, line in enumerate(lines) if not line.persona]
    if starts:
        possible = [lines[start:] for start in starts[-count:]]
        fitting = [rest for rest in possible if sum(len(line.text) for line in rest) <= cap]
        assert kept == (fitting[0] if fitting else possible[-1])
    elif lines:
        assert kept[-1:] == lines[-1:]
        assert len(kept) == 1 or sum(len(line.text) for line in kept) <= cap
