"""What hooks add to the history: their items, in their order, and nothing that breaks the call."""

from types import SimpleNamespace
from typing import Any

import pytest

from core.context.contributions import arrange, read_contributions
from core.shapes import HistoryContribution, LeftOut


def texts(arranged: Any, target: str = "history_recent") -> list[str]:
    return [entry.text for entry in arranged.entries.get(target, [])]


def test_p37_higher_priority_comes_first_then_the_name() -> None:
    arranged = arrange(
        [
            HistoryContribution("b", ("b",)),
            HistoryContribution("a", ("a",)),
            HistoryContribution("z", ("z",), priority=3),
        ],
        {},
    )
    assert texts(arranged) == ["z", "a", "b"]


def test_p37_the_flag_switches_a_contribution() -> None:
    hook = HistoryContribution("a", ("x",), enabled_var="ENABLE_X")
    for off in (0, False, "0", "off", None):
        assert texts(arrange([hook], {"ENABLE_X": off})) == []
    assert texts(arrange([hook], {"ENABLE_X": 1})) == ["x"]
    assert texts(arrange([hook], {})) == ["x"]


def test_p37_the_last_items_stay() -> None:
    def kept(limit: int | None) -> list[str]:
        return texts(arrange([HistoryContribution("a", ("1", "2", "3"), max_items=limit)], {}))

    assert kept(None) == kept(3) == kept(9) == ["1", "2", "3"]
    assert kept(2) == ["2", "3"]
    assert kept(0) == kept(-1) == []
    arranged = arrange([HistoryContribution("a", ("1", "2", 3), max_items=2)], {})
    assert arranged.found == {"history_recent": 3}
    assert arranged.left_out == [LeftOut("history_recent", "limit"), LeftOut("history_recent", "invalid")]


def test_p37_the_target_follows_the_name_unless_it_is_given() -> None:
    arranged = arrange(
        [
            HistoryContribution("thoughts", ("t",)),
            HistoryContribution("news", ("n",)),
            HistoryContribution("weather", ("w",), target="weather_notes"),
            HistoryContribution("thoughts", ("r",), target="history_recent"),
        ],
        {},
    )
    assert {target: [e.text for e in entries] for target, entries in arranged.entries.items()} == {
        "thoughts": ["t"],
        "history_recent": ["n", "r"],
        "weather_notes": ["w"],
    }


@pytest.mark.parametrize("target", ["memories", "history_current_chat", "persona", "chat_history", "recon"])
def test_p8_a_key_of_the_contract_is_not_taken_and_noted(target: str) -> None:
    arranged = arrange([HistoryContribution("a", ("x",), target=target)], {})
    assert (arranged.entries, arranged.found) == ({}, {})
    assert target in arranged.notes[0]


def test_f57_rubbish_of_a_hook_is_left_out_and_the_rest_is_used() -> None:
    class Broken:
        @property
        def entries(self) -> Any:
            raise RuntimeError("no")

    handed: list[Any] = [
        {"name": "a", "entries": ["1"], "priority": "high", "max_items": "x"},
        SimpleNamespace(name="b", entries={"text": "2"}),
        HistoryContribution("c", "3"),  # type: ignore[arg-type]
        Broken(),
        7,
        None,
        "text",
    ]
    read, notes = read_contributions(handed)
    assert [item.name for item in read] == ["a", "b", "c"]
    assert len(notes) == 4
    assert texts(arrange(handed, {})) == ["1", "2", "3"]
    assert read_contributions(5) == ([], ["history_contributions gave no list of contributions (TypeError)"])
    assert read_contributions(None) == ([], [])
