"""What forgetting leaves of the rows of others (F41 to F43), and that nothing of a hostile shape breaks it."""

from typing import Any

import pytest

from core.forgetting import rules
from core.forgetting.rules import Person

ANN = Person(frozenset({"tg/7", "dc/u1"}), frozenset({"Ann", "安娜"}))
WILL, QUILL = (Person(frozenset({"tg/7"}), frozenset({name})) for name in ("Will Miller", "Ann von Al Quill"))


@pytest.mark.parametrize(("person", "texts", "others"), [
    (ANN, ("Ann is kind", "(ANN)", "我见到安娜了", "for dc/u1 now"), ("Annual", "banana", "for dc/u11 now", "", None)),
    (WILL, ("I like Will", "with will miller"), ("Willing mill",)),
    (QUILL, ("Quill is in debt", "Ms Quill's debt"), ("quills", "hers von here", "al")),
], ids=["whole", "first name", "no common word"])  # fmt: skip
def test_f42_a_name_is_a_word_of_its_own_or_a_part_that_is_not_common(person: Person, texts: Any, others: Any) -> None:
    assert [text for text in texts if not person.is_in(text)] == [text for text in others if person.is_in(text)] == []


OTHERS: list[Any] = [7, "x", None, {}, {"id": None}, {"text": ""}, {"sender_id": True}, {"from_user": {"id": "77"}}]
THEIRS: list[Any] = [
    "m1", {"message_id": "m1"}, {"text": "her words"}, {"from_user": {"id": 7}}, {"from_user": {"username": "ann"}},
    {"sender_id": "7", "text": "x"}, {"sender_name": "Ann"},
]  # fmt: skip


@pytest.mark.parametrize(("note", "goes"), [(each, False) for each in OTHERS] + [(each, True) for each in THEIRS])
def test_f42_a_note_of_theirs_goes_and_no_other(note: Any, goes: bool) -> None:
    made = rules.without_reply({"a": 1, "reply_to_message": note}, "tg/1", ANN, {"m1"}, {"her words"})
    assert made == ({"a": 1} if goes else None)


def test_f43_lines_handed_in_keep_their_places_and_breaks_move_to_a_message_that_stays() -> None:
    """A row that is None stands for the next text: both go together."""
    texts = [{"text": str(n), "participant": who} for n, who in enumerate(("tg/8", "tg/7", "tg/8"))]
    made = rules.without_lines({"rows": [None, 5, None, 6, None], "texts": texts}, ANN.keys, {6})
    assert made == {"rows": [None, 5, None], "texts": [texts[0], texts[2]]}
    assert rules.without_lines({"message_id": 3}, ANN.keys, {3}) is None
    assert rules.without_lines({"texts": "", "rows": "x"}, ANN.keys, {3}) is None
    assert rules.moved_breaks([1, 2, 3], {3: 9}, {1, 2, 3}) == {9: None}
    assert rules.moved_breaks([1, 2, 3], {2: 8, 3: 9}, {2}) == {8: 1}
