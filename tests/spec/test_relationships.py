"""How the persona stands to people: the door, the prompt's key, privacy, linked identities (L26 to L31, L36, F20)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from core import chat_history_cache, relationships
from core.config import Settings
from core.context.context import order_context
from core.database.schema import user_relationships
from core.privacy import link_participants, set_privacy, unlink_participant
from tests.spec.stage import Stage, reasons
from tests.store.world import NOW, count, rows_of

PLAIN = Settings()


def given(stage: Stage, **more: Any) -> dict[str, Any]:
    return {"db": stage.db, "settings": PLAIN, "scope": stage.scope(), **more}


def get(stage: Stage, who: Any = "tg/ann", **more: Any) -> Any:
    return relationships.get(who, **given(stage, **more))


def adjust(stage: Stage, who: Any = "tg/ann", *deltas: Any, **more: Any) -> Any:
    own = {name: more.pop(name) for name in ("db", "settings", "scope") if name in more}
    return relationships.adjust(who, *deltas, **more, **given(stage, **own))


def touch(stage: Stage, who: Any = "tg/ann", *name: Any, **more: Any) -> Any:
    return relationships.ensure_and_touch(who, *name, **given(stage, **more))


def rows(stage: Stage, table: Any = user_relationships) -> int:
    return count(stage.db, table, stage.persona)


@contextmanager
def later(stage: Stage, **by: float) -> Iterator[Any]:
    """Move the clock of a shared database for a while."""
    clock, before = stage.db.clock, stage.db.clock.now
    clock.forward(**by)
    yield clock
    clock.now = before


def test_l26_an_unknown_person_is_zeros_and_is_made_by_the_first_touch(stage: Stage) -> None:
    assert get(stage, "u9") == {
        "user_id": "u9", "username": "", "realname": "", "affinity": 0, "trust": 0, "interaction_count": 0,
        "last_interaction": None,
    }  # fmt: skip
    assert rows(stage) == 0
    told = touch(stage, "u9", "Ann")
    assert told == (True, None, "") and told.relationship == get(stage, "u9")
    assert touch(stage, "u9", "").stored
    known = get(stage, "u9")
    assert (known["interaction_count"], known["username"], known["last_interaction"]) == (2, "Ann", NOW.isoformat())
    assert rows(stage) == 1
    assert get(Stage(stage.db), "u9")["interaction_count"] == 0  # another persona
    assert get(stage, "U9")["interaction_count"] == get(stage, "u9 ")["interaction_count"] == 0


def test_l27_d26_it_adds_and_clamps_and_counts(stage: Stage) -> None:
    assert adjust(stage, "u9", 150).relationship["affinity"] == 100
    assert adjust(stage, "u9", trust_delta=-5).relationship["trust"] == 0
    told = adjust(stage, "u9", -30, 7, "Ann", realname="Anna")
    assert told.stored and told.id is None
    assert told.relationship == get(stage, "u9") == {
        "user_id": "u9", "username": "Ann", "realname": "Anna", "affinity": 70, "trust": 7, "interaction_count": 3,
        "last_interaction": NOW.isoformat(),
    }  # fmt: skip


def test_l30_reading_gives_the_faded_value_and_adding_starts_from_it(stage: Stage) -> None:
    adjust(stage, "tg/ann", 60, 20)
    with later(stage, days=30):
        assert get(stage)["affinity"] == 30 and get(stage)["trust"] == 20
        assert get(stage, settings=Settings(decay_days=120))["affinity"] == 45
        (listed,) = relationships.list_recent(**given(stage))
        assert listed == get(stage)
        assert adjust(stage, "tg/ann", 5).relationship["affinity"] == 35
    with later(stage, days=60):
        assert get(stage)["affinity"] == 17  # of 35, 17.5 is lost, halves up


def test_l31_the_list_takes_1_to_500(stage: Stage) -> None:
    for days, who in enumerate(("tg/a", "tg/b")):
        with later(stage, days=days):
            touch(stage, who)
    assert [each["user_id"] for each in relationships.list_recent(1, **given(stage))] == ["tg/b"]
    assert relationships.list_recent(500, **given(Stage(stage.db))) == []
    for bad in (501, 0, "5", True):
        with pytest.raises(ValueError, match="1 to 500"):
            relationships.list_recent(bad, **given(stage))


def test_l26_saved_messages_count_interactions_by_themselves(stage: Stage) -> None:
    """Who talks to the persona is met, without a host that counts; the persona's own lines count nothing."""
    for text in ("hello there", "are you in?", "well then"):
        stage.say(text)
    stage.say("here I am", who="self")
    stage.say("a word of Bob", who="Bob")
    stage.say("it rains", role="narrator")
    ann = relationships.get("tg/ann", **given(stage))
    assert (ann["interaction_count"], ann["username"], ann["affinity"]) == (3, "Ann", 0)
    assert ann["last_interaction"]
    for _ in range(2):  # what is there already counts once
        chat_history_cache.save_chat_message("tg/42", "hi", "Bob", "bob", NOW, message_id="m1", **given(stage))
    assert relationships.get("tg/bob", **given(stage))["interaction_count"] == 2
    assert {each["user_id"] for each in relationships.list_recent(**given(stage))} == {"tg/ann", "tg/bob"}
    assert "relationship" not in stage.context("hi")  # nothing has moved it yet
    assert adjust(stage, "tg/ann", trust_delta=1, touch=False).stored
    assert stage.context("hi")["relationship"] == {"affinity": 0, "trust": 1, "interactions": 3}


def test_l26_l29_a_message_ends_the_fading_and_keeps_one_relationship_of_linked_people(stage: Stage) -> None:
    adjust(stage, "tg/ann", 40)
    link_participants("tg/ann", "dc/7", **given(stage))
    with later(stage, days=30):
        stage.say("back again", path="dc/1", who="7")
        ann = relationships.get("tg/ann", **given(stage))
        assert (ann["affinity"], ann["interaction_count"]) == (20, 2)
    with later(stage, days=60):
        assert relationships.get("tg/ann", **given(stage))["affinity"] == 10
    assert len(relationships.list_recent(**given(stage))) == 1


def test_l26_nothing_is_counted_of_somebody_who_wants_nothing_kept(stage: Stage) -> None:
    set_privacy("tg/bob", "partial", **given(stage))
    stage.say("hello there", who="Bob")
    assert relationships.get("tg/bob", **given(stage))["interaction_count"] == 0
    stage.say("hello there")
    set_privacy("tg/ann", "partial", **given(stage))
    stage.say("how are you?")
    assert relationships.get("tg/ann", **given(stage))["interaction_count"] == 1


def test_l31_the_prompt_shows_that_of_its_participant_alone(stage: Stage) -> None:
    assert "relationship" not in stage.context("hi")
    adjust(stage, "tg/ann", 35, 10)
    adjust(stage, "tg/bob", -99, 1)
    adjust(stage, "tg/ann", 0, 1)
    stage.say("an earlier line")
    stage.diary("met Ann")
    context = stage.context("hi")
    assert context["relationship"] == {"affinity": 35, "trust": 11, "interactions": 3}
    assert list(context) == list(order_context(context))
    assert stage.context("hi", who="Bob")["relationship"]["affinity"] == -99
    assert "relationship" not in stage.context("hi", who="Carl")
    assert "relationship" not in Stage(stage.db).context("hi")
    with later(stage, days=30) as clock:
        faded = stage.context("hi", date=clock.now)["relationship"]
        assert faded == {"affinity": 17, "trust": 11, "interactions": 3}
    assert "relationship" not in stage.context("hi", ENABLE_RELATIONSHIP=0)


@pytest.mark.parametrize(("level", "stored"), [("none", True), ("partial", False), ("full", False)])
def test_f20_nothing_is_written_about_who_does_not_want_it(stage: Stage, level: str, stored: bool) -> None:
    adjust(stage, "tg/ann", 60)
    set_privacy("tg/ann", level, **given(stage))
    before = rows_of(stage.db, user_relationships, stage.persona)  # type: ignore[arg-type]
    for told in (adjust(stage, "tg/ann", 5), touch(stage), adjust(stage, "tg/ann", 5, touch=False)):
        assert told.stored is stored and told.reason == ("" if stored else "privacy")
    with later(stage, days=30):
        assert get(stage)["affinity"] == (35 if stored else 30)
    after = rows_of(stage.db, user_relationships, stage.persona)  # type: ignore[arg-type]
    assert (before == after) is not stored
    # F22: a prompt for someone at level full is built from what is live and public.
    prompt, report = stage.explain("hi")
    assert ("relationship" in prompt["context"]) is (level != "full")
    assert reasons(report, "relationship") == (["privacy"] if level == "full" else [])


def test_f6_linked_identities_are_one_person(stage: Stage) -> None:
    adjust(stage, "tg/ann", 10, username="Ann")
    with later(stage, minutes=5):
        adjust(stage, "dc/7", 40, username="Annie")
    link_participants("tg/ann", "dc/7", **given(stage))
    # The one with the newest interaction counts, whichever key is named; nothing is added up or lost.
    assert get(stage, "tg/ann")["affinity"] == get(stage, "dc/7")["affinity"] == 40
    assert get(stage, "tg/ann")["user_id"] == "tg/ann"
    assert stage.context("hi")["relationship"] == {"affinity": 40, "trust": 0, "interactions": 1}
    with later(stage, minutes=6):
        adjust(stage, "tg/ann", 5)
    assert get(stage, "dc/7")["affinity"] == 45 and rows(stage) == 2
    assert [each["username"] for each in relationships.list_recent(**given(stage))] == ["Annie"]
    set_privacy("dc/7", "partial", **given(stage))  # F23: of the whole person
    assert adjust(stage, "tg/ann", 5).reason == "privacy"
    set_privacy("dc/7", "none", **given(stage))
    unlink_participant("dc/7", **given(stage))
    assert (get(stage, "tg/ann")["affinity"], get(stage, "dc/7")["affinity"]) == (10, 45)


@pytest.mark.engines("sqlite")
def test_an_id_without_interface_is_of_the_scopes(stage: Stage) -> None:
    scope = stage.scope("tg/42", participant="tg/ann")
    assert adjust(stage, "bob", 3, scope=scope).relationship["user_id"] == "tg/bob"
    assert touch(stage, None, scope=scope).relationship["user_id"] == "tg/ann"
    assert stage.context("hi", who="Bob")["relationship"]["affinity"] == 3
    assert get(stage, None, scope=scope)["interaction_count"] == 1
