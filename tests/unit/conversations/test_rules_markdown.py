"""The two Markdown files as text: C30 to C33 without a database."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.conversations import rules_markdown as files
from core.conversations.rules_markdown import Item
from core.text.folding import one_line

TRIP = Item("Trip to Rome", "2026-03-10 14:05", "The flight is at seven. Ada will bring the tickets.")
CATS = Item("Cats", "2026-03-11 09:00", "Tofu is a cat.")
TEA = Item("Tea", "2026-03-12 10:00", "Green tea is best.")

BY_HAND = (
    "A poem\r\n# about x\r\n##no section\r\n\r\n"
    "## Trip to Rome\r\n**Time:** 2026-03-10 14:05\r\n"
    "**Summary:** The flight is at seven. Ada will bring the tickets.\r\n\r\n"
    "## Cats\r\na note of mine\r\n**Time:** 2026-03-11 09:00\r\n### deeper\r\n**Summary:** Tofu is a cat.\r\n  two\r\n"
)


def sections(*items: Item) -> str:
    return files.write_sections(files.File(), [(item, None) for item in items])


def test_c30_sections_stand_oldest_first_with_a_blank_line_between() -> None:
    assert sections() == ""
    assert sections(TRIP) == (
        "## Trip to Rome\n**Time:** 2026-03-10 14:05\n"
        "**Summary:** The flight is at seven. Ada will bring the tickets.\n"
    )
    three = sections(TRIP, CATS, TEA)
    assert three.count("\n\n## ") == 2 and three.endswith("best.\n") and not three.endswith("\n\n")
    assert files.read_sections(three).items == [TRIP, CATS, TEA]


def test_c30_saved_memories_are_bullets() -> None:
    text = files.write_bullets(files.File(), [(Item(text="I like tea"), None), (Item(text="Call me Jo"), None)])
    assert text == "- I like tea\n- Call me Jo\n"
    assert files.write_bullets(files.File(), []) == ""


@pytest.mark.parametrize("line", ["# x", "### x", "##x", " ## x", "#", "##\tx"])
def test_c31_only_two_marks_and_a_space_open_a_section(line: str) -> None:
    assert files.read_sections(f"{line}\n").items == []
    assert files.read_sections("## x\n").items == [Item("x")]


@given(st.text(), st.text())
def test_c31_no_stored_text_opens_a_section_or_a_bullet(title: str, text: str) -> None:
    item = Item(one_line(title).strip(), "2026-03-10 14:05", one_line(text).strip())
    read = files.read_sections(sections(item, CATS))
    assert len(read.items) == 2 and read.items[1] == CATS
    bullets = files.write_bullets(files.File(), [(Item(text=one_line(text).strip() or "x"), None), (CATS, None)])
    assert len(files.read_bullets(bullets).items) == 2


def test_c32_a_file_written_by_hand_survives_byte_for_byte() -> None:
    """A poem before, a note inside section 2, and CRLF line ends."""
    read = files.read_sections(BY_HAND)
    assert read.items == [TRIP, CATS] and read.line_end == "\r\n"
    assert read.text() == BY_HAND
    assert files.write_sections(read, [(TRIP, 0), (CATS, 1)]) == BY_HAND
    more = files.write_sections(read, [(TRIP, 0), (CATS, 1), (TEA, None)])
    assert more.startswith(BY_HAND + "\r\n## Tea\r\n**Time:** ")
    longer = files.write_sections(read, [(TRIP, 0), (Item("Dogs", CATS.time, CATS.text), 1)])
    assert longer == BY_HAND.replace("## Cats", "## Dogs")


@given(st.text(alphabet="ab# -*\r\n\ufeff>"))
def test_c32_any_file_is_unchanged_while_its_rows_are(text: str) -> None:
    read = files.read_sections(text)
    assert read.text() == text
    assert files.write_sections(read, [(item, n) for n, item in enumerate(read.items)]) == text
    bullets = files.read_bullets(text)
    assert files.write_bullets(bullets, [(item, n) for n, item in enumerate(bullets.items)]) == text


def test_c32_unknown_lines_of_a_section_that_leaves_move_to_the_text_before_the_first() -> None:
    left = files.write_sections(files.read_sections(BY_HAND), [(TRIP, 0)])
    start = BY_HAND[: BY_HAND.index("## Trip")]
    assert left.startswith(start + '> From "Cats":\r\na note of mine\r\n### deeper\r\n  two\r\n\r\n## Trip')
    assert left.endswith("tickets.\r\n")
    plain = files.read_sections(sections(TRIP, CATS))
    assert files.write_sections(plain, [(CATS, 1)]) == sections(CATS)
    assert files.write_sections(plain, [(TRIP, 0)]) == sections(TRIP)


@given(st.lists(st.sampled_from(["a", "note", "> x", "", "- b"]), max_size=6), st.integers(0, 2))
def test_c32_no_line_of_a_person_is_lost(notes: list[str], gone: int) -> None:
    items = [TRIP, CATS, TEA]
    text = "".join(
        sections(item).rstrip("\n") + "\n" + "".join(f"{n} {at}\n" for n in notes) for at, item in enumerate(items)
    )
    left = files.write_sections(files.read_sections(text), [(i, n) for n, i in enumerate(items) if n != gone])
    for at in range(3):
        for note in notes:
            assert not note or f"{note} {at}\n" in left
    assert files.read_sections(left).items == [i for n, i in enumerate(items) if n != gone]


def test_c32_lines_between_bullets_keep_their_place() -> None:
    text = "mine:\n- a\nnote\n- b\nend"
    read = files.read_bullets(text)
    assert files.write_bullets(read, [(Item(text="b"), 1), (Item(text="c"), None)]) == "mine:\nnote\n- b\n- c\nend"
    assert files.write_bullets(files.read_bullets("poem"), [(Item(text="c"), None)]) == "poem\n- c\n"


def test_c33_what_a_person_changed_is_told_from_what_is_new() -> None:
    before = {1: TRIP, 2: CATS, 3: TEA}
    assert files.compare_items(before, [TRIP, CATS, TEA]).changed == {}
    title = Item("Roma", TRIP.time, TRIP.text)
    text = Item(CATS.title, CATS.time, "Tofu is a dog.")
    told = files.compare_items(before, [title, text, Item("New", "", "here")])
    assert told.changed == {1: title, 2: text}
    assert told.gone == (3,) and told.new == (2,)
    assert files.compare_items({1: TRIP, 2: TRIP}, [TRIP]).gone == (2,)
    assert files.compare_items(before, []).gone == (1, 2, 3)


def test_c33_another_bullet_is_another_memory() -> None:
    told = files.compare_items(
        {1: Item(text="I like tea"), 2: Item(text="b")}, [Item(text="I like green tea"), Item(text="b")]
    )
    assert (told.gone, told.new, told.places) == ((1,), (0,), {2: 1})
