"""What a search matches: tags, keywords in every script, words that are in no index (T20 to T22, T24, T25)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.database.engine import Database
from core.scope import Scope
from tests.store.search_world import (
    RECENCY,
    ago,
    entered,
    find,
    find_plainly,
    ids,
    matched,
    memory,
    places,
    remember,
    said,
)
from tests.store.world import NOW, own_scope


@pytest.mark.dialects
def test_t20_a_tag_is_a_whole_element(db: Database, scope: Scope) -> None:
    wanted = memory(db, scope, "x", tags=["cat", "pet"])
    memory(db, scope, "y", tags=["category"])
    memory(db, scope, "z")
    noted = entered(db, scope, "w", context_tags=("cat",))
    assert set(matched(db, scope, tags=["cat"])) == {wanted, noted}
    assert set(matched(db, scope, tags=["  CAT "])) == {wanted, noted}
    for tag in ("[]", "{}", '["cat"]'):
        assert matched(db, scope, tags=[tag]) == []
    assert matched(db, scope, tags=["ca", "cat%", "c_t"]) == []


KEYWORDS = [
    ("100%", "100% sure", "1000 people"),
    ("a_b", "so a_b it is", "axb"),
    ("TOFU", "Tofu", "to fu"),
    ("strasse", "Straße", "strase"),
    ("cafe", "Café", "cave"),
    ("città", "la CITTA\u0300", "la citt"),
    ("Αθήνα", "η ΑΘΗΝΑ", "η Αθην"),
    ("край", "край", "краи"),
    ("宿題", "数学の宿題は", "宿、題"),
    ("猫", "黒猫がいる", "犬がいる"),
    ("O'B", "Ann O'Brien", "OB"),
    ("\\", "a \\ b", "a / b"),
    ("50!%", "it is 50!% off", "it is 50% off"),
    ("ไป", "เราไปตลาด", "เรามาตลาด"),
    ("👩‍👩‍👧", "we 👩‍👩‍👧 three", "we 👩 three"),
    ("izza ni", "pizza night!", "pizza tonight"),
    ("x" * 170, "a" + "x" * 180, "x" * 169),
    ("ﬁn", "the fin", "f in"),
    ("a\u3000b", "a b", "ab"),
    ("%s", "100 %s", "100 s"),
    (":x", "a :x b", "a x b"),
    ("-", "a-b", "a b"),
    ("la", "a koala", "l a"),
]


@pytest.mark.dialects
@pytest.mark.parametrize(("keyword", "yes", "no"), KEYWORDS, ids=range(len(KEYWORDS)))
def test_t21_a_keyword_is_part_of_the_folded_text(db: Database, scope: Scope, keyword: str, yes: str, no: str) -> None:
    rows = remember(db, scope, {"content": yes}, {"content": no})
    assert matched(db, scope, keywords=[keyword]) == rows[:1]
    other = own_scope()
    told = said(db, other, [(yes, NOW), (no, NOW)])
    assert matched(db, other, keywords=[keyword]) == told[:1]
    noted = entered(db, other, "nothing", user_message=yes)
    assert set(matched(db, other, keywords=[keyword])) == {told[0], noted}


def test_t21_the_diary_is_searched_in_its_four_texts(db: Database, scope: Scope) -> None:
    """Texts do not run into one another (D11)."""
    fields = ("personal_thought", "interaction_summary", "user_message")
    rows = {name: entered(db, scope, f"entry {name}", **{name: f"holds {name[::-1]}"}) for name in fields}
    for name, row in rows.items():
        assert matched(db, scope, keywords=[name[::-1]]) == [row]
    joined = entered(db, scope, "zzqa", user_message="bzzq")
    assert matched(db, scope, keywords=["zzqab"]) == []
    assert matched(db, scope, keywords=["zzqa"]) == [joined] == matched(db, scope, keywords=["bzzq"])


def test_t22_in_the_chat_a_tag_is_a_word(db: Database, scope: Scope) -> None:
    row, _ = said(db, scope, [("good Food here", NOW), ("nothing", NOW)])
    remember(db, scope, {"content": "food in a text, not a tag"})
    remember(db, replace(scope, conversation="tg/1"), {"content": "food in a text of that conversation"})
    hits = find(db, scope, tags=["food"])
    assert places(hits) == [("chat_history", row)] and hits[0]["tags"] == []
    assert matched(db, scope, tags=["food"]) == [row]


def test_t24_a_word_that_is_not_in_the_index_is_found(db: Database, scope: Scope) -> None:
    many = memory(db, scope, " ".join([*(f"w{n:05}" for n in range(5100)), "zucchini"]))
    long = memory(db, scope, "y" * 200 + "zucchetto", ago(days=1))
    assert matched(db, scope, keywords=["zucch"]) == [many, long]
    assert matched(db, scope, keywords=["zucchini"]) == [many]
    assert matched(db, scope, keywords=["w04999"]) == [many] == matched(db, scope, keywords=["w05099"])
    deep = memory(db, scope, f"{'much talk ' * 500} of blue-green algae")  # behind the characters that are read
    assert matched(db, scope, keywords=["blue-green algae"]) == [deep]


def test_t24_a_letter_that_stands_in_more_words_than_are_looked_up(db: Database, scope: Scope) -> None:
    other = own_scope()
    for first in range(0, 1500, 500):
        text = " ".join(f"qa{n:04} {n:04}qx" for n in range(first, first + 500))
        remember(db, other, {"content": text})
    rows = remember(db, scope, {"content": "my qzz"}, {"content": "zzq here", "timestamp": ago(days=1)})
    assert matched(db, scope, keywords=["q"]) == rows
    assert ids(find(db, scope, keywords=["q"])) == [] == ids(find_plainly(db, scope, keywords=["q"]))


def test_t21_few_letters_are_a_word_by_themselves_where_hits_are_ranked(db: Database, scope: Scope) -> None:
    rows = remember(
        db, scope, {"content": "we eat late"}, {"content": "nice weather", "timestamp": ago(days=1)},
        {"content": "she eats tofu", "timestamp": ago(days=2)},
    )  # fmt: skip
    for search in (find, find_plainly):
        assert ids(search(db, scope, keywords=["eat"])) == [rows[0], rows[2]]
        assert ids(search(db, scope, keywords=["eat"], ranking=RECENCY)) == rows


def test_t61_three_letters_find_beginnings_and_letters_inside_where_nothing_else_is_found(
    db: Database, scope: Scope
) -> None:
    contents = ("Pizza night", "marzipan cake", "spitz dog", "a pi day")
    rows = remember(db, scope, *({"content": text, "timestamp": ago(days=n)} for n, text in enumerate(contents)))
    for search in (find, find_plainly):
        assert ids(search(db, scope, keywords=["piz"])) == rows[:1]
        assert ids(search(db, scope, keywords=["zip"])) == rows[1:2]
        assert ids(search(db, scope, keywords=["itz", "pizza"])) == rows[:1]
        assert ids(search(db, scope, keywords=["pi"])) == rows[3:]
        assert ids(search(db, scope, keywords=["zi"])) == []
    told = said(db, scope, [("the Pizzeria is closed", ago(days=9))])
    assert ids(find(db, scope, keywords=["piz"])) == [rows[0], *told]
    assert ids(find(db, scope, keywords=["piz"], limit=1)) == rows[:1]
    more = said(db, scope, [("the spitz sleeps", ago(days=8))])
    for limit, found in ((2, [*more, rows[2]]), (3, [*told, *more, *rows[2:3]])):
        assert ids(find(db, scope, keywords=["spitz", "zeria"], limit=limit, mode="all")) == found
