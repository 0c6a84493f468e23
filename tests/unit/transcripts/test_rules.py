"""Which lines of a list are stored (R17): no line twice, and an edit only where the neighbours say so."""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.transcripts.rules import Spoken, match_lines


def spoken(text: str) -> list[Spoken]:
    """Return lines: people in small letters, the persona in capitals."""
    return [Spoken("persona" if each.isupper() else "user", each) for each in text.split()]


def test_f62_a_list_of_lines_that_repeat_is_compared_in_bounded_time() -> None:
    lines, stored = ([Spoken("user", "ok" if n % 2 else f"{name}{n}") for n in range(most)]
                     for name, most in (("a", 1000), ("b", 2000)))  # fmt: skip
    began = time.process_time()
    match_lines(lines, stored)
    assert time.process_time() - began < 10 and match_lines(lines, lines) == [*range(1000)]


@pytest.mark.parametrize(("lines", "stored", "matches", "changed"), [
    ("a", "", (None,), ()), ("a B c", "a B", (0, 1, None), ()), ("a", "a B", (0,), ()),
    ("a B c", "a B c D", (0, 1, 2), ()),  # another answer to the same line
    ("c D e", "a B c D", (2, 3, None), ()),  # a front end that sends the newest lines alone
    ("a B x", "a B c D", (0, 1, 2), (2,)),  # the last line, said otherwise
    ("x B c", "a B", (0, 1, None), (0,)),  # the first line
    ("a X c", "a B", (0, 1, None), (1,)),  # another version of the last answer
    ("a B x D e", "a B c D", (0, 1, 2, 3, None), (2,)),
    ("x Y z", "a B c D", (None, None, None), ()),  # another chat under the same key
    ("a B a", "a B", (0, 1, None), ()),  # said once more
    ("a", "a B c D", (None,), ()),  # once more, by a front end that sends single lines
    ("a B", "a B c D", (0, 1), ()),
    ("a B c", "a B c D e F", (0, 1, 2), ()),  # an earlier answer made anew
    ("a B x", "a B c D e F", (0, 1, None), ()),  # taken back, and said otherwise: what was said stays
    ("z a B c", "a B", (None, 0, 1, None), ()),  # more of the past than is stored
    ("a X y D e", "a B c D", (0, 1, 2, 3, None), (1, 2)),  # two neighbours at once
    ("x Y c D e", "a B c D", (0, 1, 2, 3, None), (0, 1)),
    ("a X y Z e F g", "a B c D e F", (0, 1, 2, 3, 4, 5, None), (1, 2, 3)),
    ("a W x Y e", "a B c D e F", (0, None, None, None, 4), ()),  # another chat that begins like this one
    ("yes OK yes NO yes", "yes OK yes NO", (0, 1, 2, 3, None), ()),
    ("b OK yes", "a OK yes OK b OK", (4, 5, None), ()),  # the newest lines alone; "yes" is said again
    ("yes OK c", "yes OK a OK yes OK b NO", (4, 5, None), ()),  # where short lines repeat, none is edited
    ("no HI no OK c OK d", "a OK no HI no HI no OK b HI c OK", (6, None, None, None, 10, 11, None), ()),  # b deleted
    ("OK d YES e", "a OK b OK c OK c NO d OK", (None, 8, 9, None), (2,)),  # d is said once, OK is not
    ("HI c", "HI a B", (0, None), ()),  # another chat begins with the same greeting
    ("yes X c", "a OK yes OK", (2, 3, None), (1,)),  # the newest answer, changed by the front end
    ("x OK b OK c", "a OK yes OK b OK", (None, 3, 4, 5, None), ()),  # the first line of a part may be a summary
])  # fmt: skip
def test_r17_what_each_line_is(lines: str, stored: str, matches: Any, changed: tuple[int, ...]) -> None:
    said, there = spoken(lines), spoken(stored)
    found = match_lines(said, there)
    assert tuple(found) == matches
    assert tuple(at for at, index in enumerate(found) if index is not None and said[at] != there[index]) == changed


def test_r17_of_a_whole_list_an_edited_answer_is_known_if_all_after_it_is_new() -> None:
    for is_whole, matches in ((True, [0, 1, None]), (False, [0, None, None])):
        assert match_lines(spoken("a X z"), spoken("a B c D e F"), is_whole=is_whole) == matches


def store(stored: list[Spoken], lines: list[Spoken], answer: Spoken, is_whole: bool = False) -> list[Spoken]:
    matches, end = match_lines(lines, stored, is_whole=is_whole), len(stored)
    rows, following = {(index, 1, 0): line for index, line in enumerate(stored)}, end
    for at in reversed(range(len(lines))):
        index = matches[at]
        following = following if index is None else index
        rows[(following, 0, at) if index is None else (index, 1, 0)] = lines[at]
    last = end if matches[-1] is None else matches[-1] + 1
    is_other = last < end and stored[last].role == "persona"
    rows[(last, 1, 0) if is_other else (end, 1, 0)] = answer
    return [rows[place] for place in sorted(rows)]


TURNS = st.lists(st.tuples(st.sampled_from(["fact", "ok", "yes"]), st.sampled_from(spoken("OK YES NO"))), max_size=14)


def make_chat(turns: list[tuple[str, Spoken]]) -> list[Spoken]:
    asked = [Spoken("user", f"fact {n}" if text == "fact" else text) for n, (text, _) in enumerate(turns)]
    return [line for each, (_, answer) in zip(asked, turns, strict=True) for line in (each, answer)]


@given(TURNS, st.integers(1, 8), st.booleans(), st.data())
def test_r17_of_the_newest_lines_alone_every_fact_is_stored_once_and_in_order(
    turns: list[tuple[str, Spoken]], most: int, is_whole: bool, data: st.DataObject
) -> None:
    """Also if the front end changes answers: a changed answer may be stored beside the first one."""
    chat, sent, stored = make_chat(turns), list[Spoken](), list[Spoken]()
    is_changing = data.draw(st.booleans())
    for asked, answer in zip(chat[::2], chat[1::2], strict=True):
        sent.append(asked)
        stored = store(stored, sent[-most:], answer, is_whole and most > 1)
        sent.append(data.draw(st.sampled_from(spoken("OK YES NEW"))) if is_changing else answer)
    facts = [[line for line in lines if line.text.startswith("fact")] for lines in (stored, chat)]
    assert facts[0] == facts[1]
    rest = iter(chat)
    assert is_changing or all(line in rest for line in stored), "nothing is stored that nobody said"


@given(TURNS.filter(lambda turns: len(turns) > 2), st.data())
def test_r17_an_edit_and_another_answer_are_found_in_a_whole_list_of_lines_that_repeat(
    turns: list[tuple[str, Spoken]], data: st.DataObject
) -> None:
    chat, stored = make_chat(turns), list[Spoken]()
    for at in range(0, len(chat), 2):
        stored = store(stored, chat[: at + 1], chat[at + 1])
    if stored != chat:  # the same words with the same answers all along were taken for one line sent again
        return
    new, other = Spoken("user", "edited"), Spoken("persona", "OTHER")
    assert store(chat, chat[:-1], other) == [*chat[:-1], other]
    at = data.draw(st.sampled_from(range(2, len(chat), 2)))
    edited = [*chat[:at], new, *chat[at + 1 :]]
    assert store(chat, [*edited, Spoken("user", "next")], other)[: len(chat)] == edited


LINES = st.lists(st.sampled_from(spoken("a b c A B C")), max_size=12)


@given(LINES, LINES)
def test_r17_pairs_are_in_order_each_is_one_line_and_what_is_stored_and_more_is_stored_once(
    lines: list[Spoken], stored: list[Spoken]
) -> None:
    found = match_lines(lines, stored)
    paired = [index for index in found if index is not None]
    assert paired == sorted(set(paired)) and len(found) == len(lines)
    assert all(index is None or stored[index].role == lines[at].role for at, index in enumerate(found))
    both = [*stored, *lines]
    found = match_lines(both, stored)
    is_changed = any(index is not None and both[at] != stored[index] for at, index in enumerate(found))
    assert not is_changed or len(lines) > 1
    assert sum(index is not None for index in found) == len(stored) or len(lines) <= 1
