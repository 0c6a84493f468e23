"""S48: a line of SillyTavern is taken apart and comes back; what is not known is kept."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.stories.table_imported import Alternative, Beside, Recap, Scene
from core.text.folding import clean
from core.transfer.fields import RefusedError
from core.transfer.formats.sillytavern import json_text as tavern_json
from core.transfer.formats.sillytavern import lines as tavern_lines
from core.transfer.formats.sillytavern.json_text import AFTER, BEFORE, KEPT_BYTES, KEY
from core.transfer.formats.sillytavern.lines import Said
from tests.unit.transfer import tavern_world as world

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)


def _said(line: dict[str, Any], **changes: Any) -> Said:
    """Return the stored message of a line, as the import stores it."""
    text = clean(line["mes"])
    taken = tavern_lines.take(line, text)
    kept = tavern_json.keep(taken.kept)
    role, _, hidden = tavern_lines.who(line)
    made = [
        Alternative(
            a.number, a.text, a.is_current, a.metadata, taken.beside.recap or a.recap if a.is_current else a.recap
        )
        for a in taken.beside.alternatives
    ]
    beside = Beside(taken.beside.recap, tuple(made), taken.beside.scene)
    fields = {"text": text, "role": role, "name": "x", "at": NOON, "hidden": hidden, "excluded": taken.excluded}
    return Said(**{**fields, "metadata": {KEY: kept} if kept else None, "beside": beside, **changes})


def _again(line: dict[str, Any]) -> str:
    return tavern_json.write(tavern_lines.make(_said(line)))


@given(world.lines())
def test_s48_a_line_that_was_not_changed_comes_back_as_it_was(line: dict[str, Any]) -> None:
    """Every byte: order of keys, unknown fields, numbers of any size."""
    assert _again(line) == world.dump(line)


_FIELDS = ("name", "is_user", "is_system", "extra", "swipes", "swipe_id", "swipe_info", "is_thoughts", "mood")
_INFO = st.dictionaries(st.sampled_from(["extra", "send_date"]), world.JSON | st.builds(
    lambda values: {"auto_recap": values},
    st.dictionaries(st.sampled_from(["memory", "edited", "include", "scene_break", "scene_recap_versions",
                                     "scene_recap_memory", "scene_recap_current_index", "scene_recap_metadata",
                                     "exclude", "error", "stale", "scene_break_name", "scene_break_visible"]),
                    world.JSON | st.just(True) | st.integers(0, 3) | st.lists(world.ANY_TEXT, max_size=3)),
), max_size=2)  # fmt: skip
_ODD = st.dictionaries(
    st.sampled_from(_FIELDS), world.JSON | st.integers(0, 3) | st.lists(world.ANY_TEXT | _INFO, max_size=3) | _INFO
)


@given(_ODD, world.ANY_TEXT, _INFO)
def test_s48_a_second_time_nothing_changes_whatever_stands_in_a_line(odd: dict[str, Any], mes: str, info: Any) -> None:
    """An import of an export changes nothing; hostile values are kept or replaced once, and nothing raises."""
    line = {**odd, "mes": f"{mes}.", **({"extra": info["extra"]} if "extra" in info else {})}
    try:
        once = _again(line)
    except RefusedError as error:
        assert "is no switch" in str(error)
        return
    assert _again(json.loads(once)) == once
    assert len(once.encode("utf-8").split(b"\n")) == 1


def test_s48_recaps_alternatives_and_scenes_are_recognised() -> None:
    """In both names the extension has had; what has another shape stays in the line."""
    held = {
        "memory": "m", "include": "Recap of message(s)", "edited": True, "error": "e", "exclude": True, "mine": 1,
        "scene_break": True, "scene_break_visible": False, "scene_break_name": "n", "scene_recap_versions": ["A", "B"],
        "scene_recap_memory": "A", "scene_recap_current_index": 0, "scene_recap_metadata": {"k": 1},
    }  # fmt: skip
    for name in ("auto_recap", "auto_recap_memory"):
        taken = tavern_lines.take({"mes": "x", "extra": {name: held}}, "x")
        assert taken.beside == Beside(
            Recap("m", "Recap of message(s)", True, False, {"error": "e"}),
            (),
            Scene("n", False, ("A", "B"), 0, {"k": 1}),
        )
        assert taken.excluded
        assert taken.kept["extra"][name] == {**dict.fromkeys(held), "mine": 1}
    odd = {
        "memory": 7,
        "scene_break": "yes",
        "scene_recap_memory": "A",
        "exclude": 1,
        "edited": "no",
        "include": "x" * 41,
    }
    assert tavern_lines.take({"mes": "x", "extra": {"auto_recap": odd}}, "x").kept["extra"]["auto_recap"] == odd
    older = {"scene_break": True, "scene_recap_memory": "A", "scene_recap_versions": [{"text": "A"}]}
    taken = tavern_lines.take({"mes": "x", "extra": {"auto_recap": older}}, "x")
    assert taken.beside.scene == Scene("", True, ("A",), 0)
    assert _again({"name": "I", "mes": "x", "extra": {"auto_recap": older}}).endswith(world.dump(older) + "}}")


def test_s48_an_alternative_has_the_recap_of_its_own() -> None:
    """S4, S5: the current one has that of the message, index 0 too; an alternative without one has none."""
    infos = [{"extra": {"auto_recap": {"memory": "old"}}}, {"extra": {"auto_recap": {"memory": "b"}}}, {}]
    line = {"mes": "2", "swipe_id": 1, "swipes": ["1", "2", "3"], "swipe_info": infos}
    line["extra"] = {"auto_recap": {"memory": "mine"}}
    found = tavern_lines.take(line, "2").beside
    assert found.recap == Recap("mine")
    assert [(a.number, a.is_current, a.recap) for a in found.alternatives] == [
        (0, False, Recap("old")), (1, True, Recap("b")), (2, False, None)
    ]  # fmt: skip
    assert found.alternatives[2].metadata == {KEY: "{}"}
    made = json.loads(_again(line))["swipe_info"]
    assert made == [infos[0], {"extra": {"auto_recap": {"memory": "mine"}}}, {}]


@pytest.mark.parametrize(
    ("swipes", "chosen", "wanted"),
    [
        (["1", "2"], 1, [(0, False), (1, True)]),
        (["2"], 0, []),  # the message alone
        (["1"], 0, [(0, True)]),  # what is shown there after swiping forth and back
        (["1", "2"], None, [(0, False), (1, True)]),
        (["1", "3"], 7, [(0, False), (1, False)]),
        (["1", "", 5, None, "2"], 4, [(0, False), (4, True)]),
        (["1", "2"], True, [(0, False), (1, True)]),
        ("12", 0, []),
        ([], 0, []),
    ],
)
def test_s48_which_alternatives_a_line_has(swipes: Any, chosen: Any, wanted: list[tuple[int, bool]]) -> None:
    """A blank one and one that is no text are kept in the line: they can never be chosen."""
    line = {"mes": "2", "swipes": swipes, "swipe_id": chosen}
    found = tavern_lines.take(line, "2").beside.alternatives
    assert [(a.number, a.is_current) for a in found] == wanted
    made = json.loads(_again(line))
    assert made["swipes"] == swipes


def test_s48_what_changed_here_stands_in_the_line() -> None:
    """Text, hiding, choice, recap, scene; fields nobody here knows stay."""
    line = {"name": "Iris", "is_user": False, "is_system": False, "send_date": "June 19, 2023 4:13pm", "mes": "b"}
    line |= {"extra": {"api": "x", "auto_recap": {"memory": "old", "include": None}}, "swipe_id": 1}
    line |= {"swipes": ["a", "b"], "swipe_info": [{"extra": {}}, {"extra": {"auto_recap": {"memory": "old"}}}]}
    beside = Beside(
        Recap("new", edited=True, stale=True),
        (Alternative(0, "a", True, {KEY: '{"extra":{}}'}), Alternative(1, "b"), Alternative(2, "c", recap=Recap("r"))),
        Scene("end", True, ("A", "B"), 1, {"b": 1, "a": [{"d": 1, "c": 2}]}),
    )
    made = tavern_lines.make(_said(line, text="a", hidden=True, excluded=True, beside=beside))
    assert (made["mes"], made["is_system"], made["send_date"], made["swipe_id"]) == ("a", True, line["send_date"], 0)
    assert made["swipes"] == ["a", "b", "c"]
    assert made["swipe_info"][2] == {"send_date": line["send_date"], "extra": {"auto_recap": {"memory": "r"}}}
    told = made["extra"]["auto_recap"]
    assert world.dump(told) == world.dump({
        "memory": "new", "include": None, "edited": True, "exclude": True, "scene_break": True,
        "scene_break_visible": True, "scene_break_name": "end", "scene_recap_memory": "B",
        "scene_recap_versions": ["A", "B"], "scene_recap_current_index": 1,
        "scene_recap_metadata": {"a": [{"c": 2, "d": 1}], "b": 1}, "stale": True,
    })  # fmt: skip
    nothing = tavern_lines.make(_said(line, beside=Beside()))
    assert nothing["extra"] == {"api": "x", "auto_recap": {"memory": None, "include": None}}


@pytest.mark.parametrize(
    ("role", "hidden", "extra"),
    [("user", False, {}), ("persona", True, {}), ("narrator", False, {"type": "narrator"}),
     ("system", True, {"type": "comment"}), ("system", False, {"type": "comment"}), ("thought", True, {})],
)  # fmt: skip
def test_s48_a_message_of_our_own_is_a_line_that_reads_back_the_same(role: str, hidden: bool, extra: Any) -> None:
    """Role, visibility and time to the microsecond survive."""
    said = Said("hi", role, "Ann" * 90, NOON.replace(microsecond=123), hidden, False, None)
    made = tavern_lines.make(said)
    assert (made["extra"], made["send_date"]) == (extra, "2026-03-10T12:00:00.000123Z")
    assert len(made["name"]) == 191
    assert tavern_lines.who(made)[0::2] == (role, hidden)
    assert _again(made) == world.dump(made)


def test_s48_what_is_too_large_or_too_deep_is_not_kept() -> None:
    """The message is taken all the same; nothing is kept that no server takes back."""
    deep: Any = 1
    for _ in range(KEPT_BYTES // 10_000):
        deep = [deep]
    assert tavern_json.keep({"a": deep}) is None
    assert tavern_json.keep({"a": [[]] * 200}) is not None
    assert tavern_json.keep({"a": "é" * (KEPT_BYTES // 2)}) is None
    made = tavern_lines.make(_said({"mes": "x", "name": "Iris", "mood": "y" * KEPT_BYTES}))
    assert (made["mes"], "mood" in made) == ("x", False)


def test_g58_a_broken_metadata_column_is_none() -> None:
    """What somebody wrote into the database by hand fails no export."""
    for metadata in ({KEY: "{broken"}, {KEY: "[" * 2000}, {KEY: 7}, {BEFORE: 7, AFTER: [1]}, {}):
        made = tavern_lines.make(Said("hi", "user", "Ann", None, False, False, metadata))
        assert (made["mes"], made["send_date"]) == ("hi", "")
        assert tavern_json.kept_lines(metadata, AFTER) == tavern_json.kept_lines(metadata, BEFORE) == []
