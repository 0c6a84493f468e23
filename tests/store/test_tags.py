"""The tag vocabulary of a persona (T12 to T15, D13)."""

from functools import partial
from typing import Any

import pytest

from core.database import schema
from core.database.engine import Database
from core.scope import Scope
from core.shapes import Vocabulary
from core.synth_tagging import add_alias, add_tag, expand_tags, link_tags, list_tags
from core.tags import table as tags
from tests.store.world import Untouchable, count, insert_item, open_db, own_scope, remove_items, rows_of


def store(db: Database, scope: Scope, *given: str) -> Any:
    return insert_item(db, scope, "hello", tags=list(given))


def linked(db: Database, scope: Scope, a: Any, b: Any, weight: Any = 1.0) -> Any:
    return link_tags(a, b, weight, db=db, scope=scope)


def expanded(db: Any, scope: Scope, *given: Any) -> list[str]:
    return expand_tags(list(given), db=db, scope=scope)


def test_t12_expansion_over_stored_links(db: Database, scope: Scope) -> None:
    linked(db, scope, "cat", "pet", 1)
    linked(db, scope, "pet", "dog", 0.5)
    linked(db, scope, "bird", "pet", 1)
    assert expanded(db, scope, "cat") == ["cat", "pet"] == expanded(db, scope, "Cat", "cat")
    assert expanded(db, scope, "pet") == ["pet", "bird", "cat", "dog"]
    for n in range(40):
        linked(db, scope, "hub", f"spoke{n:02}")
    assert len(expanded(db, scope, "hub")) == 24


def test_t12_t14_a_vocabulary_passed_needs_no_database_nor_does_nothing_given() -> None:
    nobody: Any = Untouchable()
    assert expand_tags(["cat"], vocabulary=Vocabulary(links={"cat": (("pet", 1.0),)}), db=nobody) == ["cat", "pet"]
    nothing: tuple[Any, ...] = ([], None, "", [" ", None])
    assert [expand_tags(given, db=nobody) for given in nothing] == [[]] * 4


def test_t14_links_that_cannot_be_read_leave_the_originals(caplog: pytest.LogCaptureFixture) -> None:
    own, scope = open_db("sqlite://"), own_scope()
    tags.add(own, scope.persona, "cat")
    own.transaction(lambda c: c.exec_driver_sql("DROP TABLE tag_links"), source="test")
    assert expanded(own, scope, "Cat", "cat", "dog") == ["cat", "dog"] and "tag_links_not_read" in caplog.text
    own.close()


def test_t15_what_is_stored_is_known_and_counted(db: Database, scope: Scope) -> None:
    first = store(db, scope, "cat", "pet")
    store(db, scope, "cat")
    assert [(t["tag"], t["uses"]) for t in list_tags(db=db, scope=scope)] == [("cat", 2), ("pet", 1)]
    remove_items(db, scope.persona, [first.id])
    assert [(t["tag"], t["uses"]) for t in list_tags(db=db, scope=scope)] == [("cat", 1), ("pet", 0)]


def test_t15_add_tag_answers(db: Database, scope: Scope) -> None:
    add: Any = partial(add_tag, db=db, scope=scope)
    assert add(" Ｐizza  NIGHT\n") == (True, None, "") and add("pizza night") == (False, None, "duplicate")
    assert [add(blank).reason for blank in (" ", None, "")] == ["empty"] * 3
    assert add("a" * 300).reason == "too_long" and "300 bytes" in add("a" * 300).notes[0]
    assert [r.tag for r in rows_of(db, schema.tags, scope.persona)] == ["pizza night"]


def test_t15_aliases_do_not_chain_are_no_tags_and_belong_to_one_persona(db: Database, scope: Scope) -> None:
    alias: Any = partial(add_alias, db=db, scope=scope)
    assert alias("Kitty", "cat").stored
    assert (alias("cat", "animal").reason, alias("pussy", "kitty").reason) == ("refused", "refused")
    store(db, scope, "dog")
    refused = alias("dog", "cat")
    assert refused.reason == "refused" and "is a tag already" in refused.notes[0]
    assert alias(" ", "cat").reason == "refused" == alias("cat", "cat").reason
    assert [(r.alias, r.tag) for r in rows_of(db, schema.tag_aliases, scope.persona)] == [("kitty", "cat")]
    assert alias("kitty", "dog").stored, "an alias may come to stand for another tag"
    other = own_scope()
    assert not tags.load(db, other.persona).tags and list_tags(db=db, scope=other) == []
    assert tags.load(db, scope.persona).aliases == {"kitty": "dog"}


def test_t15_links_are_checked(db: Database, scope: Scope) -> None:
    for a, b, weight in (("a", "A", 1), *(("a", "b", wrong) for wrong in (0, 10.1, True, "x")), (" ", "b", 1)):
        refused = linked(db, scope, a, b, weight)
        assert refused.reason == "refused" and refused.notes
    assert count(db, schema.tag_links, scope.persona) == count(db, schema.tags, scope.persona) == 0
    assert linked(db, scope, "a", "b", 10).stored and linked(db, scope, "B", "a", 2.5).stored
    assert [r.weight for r in rows_of(db, schema.tag_links, scope.persona)] == [2.5], "one link, its weight replaced"
    assert {t["tag"]: t["links"] for t in list_tags(db=db, scope=scope)} == {"a": {"b": 2.5}, "b": {"a": 2.5}}


def test_d13_the_version_rises_with_new_tags_aliases_and_links_only(db: Database, scope: Scope) -> None:
    def read_version() -> int:
        return sum(row.value for row in rows_of(db, schema.counters, scope.persona) if row.name == tags.VERSION)

    versions = [read_version()]

    def after(work: Any) -> int:
        work()
        versions.append(read_version())
        return versions[-1] - versions[-2]

    assert versions == [0] and after(lambda: store(db, scope, "cat")) == 1
    assert after(lambda: store(db, scope, "cat")) == 0 and after(lambda: store(db, scope)) == 0
    assert after(lambda: store(db, scope, "cat", "dog")) == 1 and after(lambda: linked(db, scope, "cat", "dog")) == 1
    assert after(lambda: linked(db, scope, "cat", "cat")) == 0
    assert after(lambda: add_alias("kitty", "cat", db=db, scope=scope)) == 1
    assert after(lambda: add_alias("cat", "dog", db=db, scope=scope)) == 0


def test_d13_tags_of_every_script(db: Database, scope: Scope) -> None:
    given = ["数学", "naïve", "😀", 'q"\\', "한국", "a" * 255]
    store(db, scope, *given)
    assert set(tags.load(db, scope.persona).tags) == set(given)
