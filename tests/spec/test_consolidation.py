"""Chat becomes knowledge: cycles of consolidation, their triggers, what they store and never lose (L4, L13 to L22)."""

import itertools
import json
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from unittest.mock import Mock

import pytest

from core import Scope, chat_history_cache, forget, privacy
from core.access import table_conversations as conversations
from core.calls.call import Call
from core.config import Settings
from core.conversations import add_saved_memory, delete_saved_memory, list_saved_memories
from core.database import schema
from core.database.ids import Ids, made_at
from core.errors import MessageError, ModelError, StoreWriteError
from core.jobs import Worker, table_claiming
from core.lifelong import consolidation
from core.lifelong import table_windows as windows
from core.memories import table as memories
from core.messages import insert_messages, new_message
from tests.spec.lifelong_world import ANN, DAY, SEED, Life, said_in
from tests.spec.stage import ELSEWHERE, HERE, NOW, Stage, at_once
from tests.spec.story import Model
from tests.store.world import index_differences, rows_of

JOBS = schema.memory_jobs


def talk(life: Life, number: int, path: str = HERE, start: int = 0, **more: Any) -> list[int]:
    return [
        life.stage.say(f"word{n} was said", path, minutes=(10_000 - n) / 60, message_id=f"m{n}", **more)
        for n in range(start, start + number)
    ]


def facts(*texts: str, **lists: Any) -> Model:
    return Model(key_facts=list(texts), **lists)


def meanwhile(change: Callable[[], object]) -> Model:
    """Return a model during whose first answer something changes; it answers with what it was shown."""
    first = iter([True])

    def answer(prompt: str) -> str:
        if next(first, False):
            change()
        return json.dumps({"key_facts": ["; ".join(said_in(prompt))]})

    return Model(answer)


def run_due(life: Life, model: Model, every: int = 30) -> list[str]:
    settings = Settings(consolidate_every_n_messages=every)
    done: list[str] = []
    known: dict[str, Any] = {"personas": [life.persona], "settings": settings, "model": model}
    Worker(life.db, on_done=lambda run: done.append(run.state), **known).run(once=True)
    return done


@pytest.mark.engines()
def test_l14_the_oldest_messages_within_20_to_500(life: Life) -> None:
    rows, h = talk(life, 30), schema.chat_history_cache
    change = h.update().where(h.c.id.in_((rows[3], rows[29]))).values(message_text="  ")
    life.db.transaction(lambda c: c.execute(change), source="test")
    model = facts()
    life.consolidate_history(HERE, 5, model=model)
    assert said_in(model.asked[0]) == [f"word{n} was said" for n in range(21) if n != 3] and life.mark() == rows[20]
    life.consolidate_history(HERE, 5, model=model)
    assert said_in(model.asked[1]) == [f"word{n} was said" for n in range(21, 29)] and life.mark() == rows[29]
    with pytest.raises(MessageError, match="history_uid is missing"):
        life.consolidate_history()


def test_l14_what_is_too_much_for_one_window_waits_in_the_queue(life: Life) -> None:
    talk(life, 45)
    model = Model(lambda prompt: json.dumps({"key_facts": said_in(prompt)[:1]}))
    assert life.consolidate_history(HERE, 5, model=model) == 1
    assert [each.state for each in life.run(model, CONSOLIDATION_WINDOW=20)] == ["completed"] * 2
    assert [len(said_in(prompt)) for prompt in model.asked] == [20, 20, 5]
    assert life.texts() == ["word0 was said", "word20 was said", "word40 was said"]


def test_l14_long_messages_are_asked_about_in_pieces(life: Life) -> None:
    life.stage.say_all((f"{n} " + "x" * 10_000 for n in range(3)), minutes=60)
    model = Model(lambda prompt: json.dumps({"key_facts": [said_in(prompt)[0][:1]]}))
    assert life.consolidate_history(HERE, model=model) == 2
    assert [len(said_in(prompt)) for prompt in model.asked] == [2, 1]


def test_l15_each_item_as_the_rule_has_it(life: Life) -> None:
    rows = talk(life, 3)
    model = Model(
        facts_about_user=["Ann has a cat"],
        past_events=[{"text": "Ann moved", "importance": 0.9}],
        self_beliefs=["I am patient"],
        objectives=["learn Greek", {"text": "buy milk", "temporary": True}],
        emotions=[{"name": "joy", "score": 0.8}, {"name": "fear", "score": -0.4}, {"name": "awe", "score": 2}],
        key_facts=["x" * 300, {"text": "flat 7", "importance": 7, "tags": ["Home"]}],
    )
    done = life.consolidate_history(HERE, model=model)
    assert done == 10 and done.reason == ""
    made = {row.content[:12]: (row.kind, float(row.importance), row.tier) for row in life.rows()}
    assert made == {
        "Ann has a ca": ("FactsAboutUser", 0.6, "long_term"), "Ann moved": ("PastEvents", 0.9, "long_term"),
        "I am patient": ("SelfBeliefs", 0.6, "long_term"), "learn Greek": ("Objectives", 0.6, "long_term"),
        "buy milk": ("Objectives", 0.6, "session"), "joy": ("Emotions", 0.8, "session"),
        "fear": ("Emotions", 0.6, "session"), "awe": ("Emotions", 1.0, "session"),
        "x" * 12: ("KeyFacts", 0.6, "long_term"), "flat 7": ("KeyFacts", 1.0, "long_term"),
    }  # fmt: skip
    for row in life.rows():
        assert (row.persona_id, row.conversation_key, row.participant_key) == (life.persona, HERE, ANN)
        assert json.loads(row.source_message_ids) == rows and row.provenance == "model" and len(row.content) <= 200
        assert (row.expires_at is None) == (row.tier == "long_term")
    assert json.loads(life.rows(content="flat 7")[0].tags) == ["home"]
    assert index_differences(life.db, life.persona) == []


def test_f15_items_of_a_direct_message_stay_there(life: Life) -> None:
    life.stage.say("my secret", path=ANN, participant=ANN, privacy="direct", message_id="a")
    life.stage.say("hello all", message_id="b", server="s1")
    life.run_cycle(model=Model(lambda prompt: json.dumps({"key_facts": ["fact of " + said_in(prompt)[0]]})))
    assert life.found(path=ANN, participant=ANN) == ["fact of my secret"]
    assert life.found(path=HERE, server="s1") == ["fact of hello all"]


def test_l16_no_usable_reply_is_tried_again_and_nothing_found_is_no_failure(life: Life) -> None:
    talk(life, 3)
    for answer, why in (("sorry", "unreadable"), (ModelError("timeout"), "model_timeout"), ("", "model_empty")):
        done = life.consolidate_history(HERE, model=Model(answer))
        assert (done, done.reason) == (0, why) and life.runs()[-1].error == why and life.mark() is None
    assert life.consolidate_history(HERE, model=facts("a"), ENABLE_MEMORIES=0).reason == "disabled"
    assert life.consolidate_history(HERE, model=facts("a")) == 1
    done = life.consolidate_history(HERE, model=facts("a"))
    assert (done, done.reason, life.runs()[-1].error) == (0, "no_messages", "no_messages")
    assert life.consolidate_history("tg/unknown", model=facts("a")).reason == "no_messages"
    assert [run.window_size for run in life.runs()] == [3, 0, 0, 0, 3, 0, 0]
    (last,) = talk(life, 1, start=3)
    done = life.consolidate_history(HERE, model=facts())
    assert (done, done.reason, life.mark()) == (0, "", last)


@pytest.mark.parametrize("answer", ["sorry", "", ModelError("error", status=400)])
def test_l16_a_full_window_that_no_model_answers_does_not_stop_the_others(life: Life, answer: Any) -> None:
    """The oldest messages stay the oldest: a model that refuses what they say would be asked about them for ever."""
    life.stage.say("My name is Jonas.", message_id="m", minutes=200)
    rows = talk(life, 19)
    for reason in ("timeout", "auth", "budget", "error"):  # away, and not refusing: it is waited for
        assert life.consolidate_history(HERE, 20, model=Model(ModelError(reason))).reason == f"model_{reason}"
        assert life.mark() is None
    done = life.consolidate_history(HERE, 20, model=Model(answer))
    assert (done, life.mark()) == (1, rows[-1]) and life.rows()[0].provenance == "extract"
    talk(life, 1, start=19)
    assert life.consolidate_history(HERE, 20, model=facts("a")) == 1


def test_l4_l17_a_second_run_asks_nobody_and_overwrites_nothing(life: Life) -> None:
    last, model = talk(life, 3)[-1], facts("a", "b")
    assert life.consolidate_history(HERE, model=model) == 2 and life.mark() == last
    assert life.consolidate_history(HERE, model=model) == 0 and life.run_cycle(model=model).stored == 0
    assert len(model.asked) == 1
    talk(life, 1, start=3)
    assert life.consolidate_history(HERE, model=facts("c")) == 1
    assert life.texts() == ["a", "b", "c"] and len({row.id for row in life.rows()}) == 3


@pytest.mark.engines()
@pytest.mark.parametrize("step", ["move_mark", "insert_each_once", "ensure", "raise_uses"])
def test_l17_l22_a_failure_stores_and_marks_nothing(life: Life, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    talk(life, 3)
    life.item("a session row", tier="session")
    owner: Any = {"move_mark": windows, "insert_each_once": memories, "ensure": conversations}.get(step, memories.tags)
    with monkeypatch.context() as patch:
        patch.setattr(owner, step, Mock(side_effect=StoreWriteError("injected", source="memories")))
        done = life.trigger_memory_consolidation(model=facts("a"))
    assert (done.stored, done.reason) == (0, "StoreWriteError")
    assert [row.error for row in rows_of(life.db, JOBS, life.persona) if row.error] == ["StoreWriteError: memories"]
    assert life.texts() == ["a session row"] and life.mark() is None
    assert life.consolidate_history(HERE, model=facts("a")) == 1
    assert [row.archived_at for row in life.rows()] == [None, None] and index_differences(life.db, life.persona) == []


def test_l17_what_is_said_meanwhile_is_read_anew(life: Life) -> None:
    talk(life, 2)
    model = meanwhile(lambda: life.stage.say("one more thing", message_id="late", minutes=1))
    done = life.consolidate_history(HERE, model=model)
    # the message that came meanwhile has a later row: it waits for the next time
    assert done == 1 and life.texts() == ["word0 was said; word1 was said"]
    assert life.consolidate_history(HERE, model=model) == 1 and life.texts()[-1] == "one more thing"


def test_l17_what_comes_between_meanwhile_is_not_passed_over(life: Life) -> None:
    """Another process may store a row between those that were read."""
    between, h = talk(life, 3)[1], schema.chat_history_cache

    def exclude(value: int) -> None:
        change = h.update().where(h.c.id == between).values(excluded=value)
        life.db.transaction(lambda c: c.execute(change), source="test")

    def answer(prompt: str) -> str:
        exclude(0)
        return json.dumps({"key_facts": [f"{len(said_in(prompt))} lines"]})

    exclude(1)
    assert life.consolidate_history(HERE, model=Model(answer)) == 1 and life.texts() == ["3 lines"]


@pytest.mark.engines()
@pytest.mark.parametrize("is_batch", [False, True])
def test_l17_a_message_of_a_late_clock_is_read(life: Life, monkeypatch: pytest.MonkeyPatch, is_batch: bool) -> None:
    talk(life, 1)
    assert life.consolidate_history(HERE, model=facts("a")) == 1
    monkeypatch.setattr(life.db, "ids", Ids(lambda: made_at(life.mark() or 0) - timedelta(seconds=2)))
    if is_batch:
        scope, line = life.stage.scope(HERE, participant=ANN), {"sender_name": "Ann", "sender_id": "ann"}
        new = new_message.read_message(scope, HERE, "late", now=NOW, **line)
        assert new is not None and insert_messages(life.db, scope, [new], privacy_default="none")[0].stored
    else:
        life.stage.say("late", message_id="late")
    monkeypatch.undo()
    model = Model(lambda prompt: json.dumps({"key_facts": said_in(prompt)}))
    assert [each.state for each in life.run(model)] == ["completed"] and life.texts() == ["a", "late"]
    assert life.consolidate_history(HERE, model=model) == 0


def test_f20_nothing_for_long_of_those_who_want_none(life: Life, stage: Stage) -> None:
    privacy.set_privacy("tg/partial", "partial", **stage.asking())
    life.stage.say("My name is Paula.", who="partial", message_id="p")
    model = facts("x")
    done = life.consolidate_history(HERE, model=model)
    assert (done, done.reason, model.asked, life.rows()) == (0, "privacy", [], []) and life.mark() is not None


@pytest.mark.engines()
@pytest.mark.slow
def test_l17_two_at_once_store_one_time(life: Life) -> None:
    talk(life, 3)
    both, numbers = threading.Barrier(2, timeout=60), itertools.count()

    def answer(_: str) -> str:
        n = next(numbers)  # nobody finds an item of the other that says the same
        if n < 2:
            both.wait()
        return json.dumps({"key_facts": [f"a{n}"], "past_events": [f"b{n}"]})

    call, model = Call(life.db, Settings(), life.stage.scope(HERE)), Model(answer)
    done = at_once(lambda: len(consolidation.consolidate(call, model).ids), 2)
    assert sorted(done) == [0, 2] and len(life.rows()) == 2


def test_l18_without_a_model_sentences_are_kept_as_said(life: Life) -> None:
    life.stage.say("My name is Jonas. What time is it?", who="Jonas", message_id="a")
    life.stage.say("My name is Iris.", who="self", message_id="b")
    life.stage.say("I feel lonely today.", who="Ann", message_id="c")
    assert life.consolidate_history(HERE) == 2
    (one, two) = life.rows()
    assert (one.content, one.kind, one.provenance) == ("Jonas: My name is Jonas.", "FactsAboutUser", "extract")
    assert (one.participant_key, float(one.importance)) == ("tg/jonas", 0.3)
    assert (two.kind, two.tier, two.participant_key) == ("Emotions", "session", ANN)


def test_l18_every_message_of_a_window_counts(life: Life) -> None:
    """A bound on the sentences of a whole window lost those of the newest messages, which are not read again."""
    life.stage.say_all((f"I like thing{n}." for n in range(210)), minutes=999)
    assert life.consolidate_history(HERE, 500) == 210


def test_l13_an_interval_runs_once_when_it_is_over(life: Life) -> None:
    talk(life, 3)
    runs = []
    for second in (0, 1799, 1800, 1801):
        life.clock.now = NOW + timedelta(seconds=second)
        runs += [second for _ in run_due(life, facts("a"))]
    assert runs == [1800, 1800] and life.texts() == ["a"]  # one for the persona, one for its conversation
    assert [run.reason for run in life.runs()] == ["interval"]


def test_l13_every_thirtieth_message_runs_a_cycle(life: Life) -> None:
    model = Model(lambda prompt: json.dumps({"key_facts": [f"{len(said_in(prompt))} lines"]}))
    runs = []
    for n in range(60):
        talk(life, 1, start=n)
        runs += [n + 1 for _ in run_due(life, model)]
    assert runs == [30, 60] and [run.window_size for run in life.runs()] == [30, 30]
    assert [run.items_added for run in life.runs()] == [1, 0]
    talk(life, 30, start=60)
    assert run_due(life, facts(), every=0) == []


def test_l13_a_window_that_fails_waits_for_more(life: Life) -> None:
    model, runs = Model("sorry"), []
    for n in range(12):
        talk(life, 1, start=n)
        runs += [n + 1 for _ in run_due(life, model, every=5)]
    assert runs == [5, 10] and len(model.asked) == 2
    model.answers = [json.dumps({"key_facts": ["a"]})]
    talk(life, 3, start=12)
    assert run_due(life, model, every=5) == ["completed"]
    assert life.texts() == ["a"] and len(said_in(model.asked[-1])) == 15


@pytest.mark.engines()
def test_l19_one_cycle_at_a_time(life: Life) -> None:
    talk(life, 3)
    for path in (None, HERE):
        assert begin_elsewhere(life, path) and life.run_cycle(model=facts("a")).reason == "busy"
        assert life.consolidate_history(HERE, model=facts("a")).reason == "busy"
        assert life.deep_consolidation(model=facts("a")).reason == "busy" and life.runs() == []
        life.clock.forward(seconds=600)
    assert life.consolidate_history(ELSEWHERE).reason == "no_messages"  # the lease has ended
    assert life.run_cycle(model=facts("a")).stored == 1 and life.run_cycle().reason == "no_messages"


def begin_elsewhere(life: Life, path: str | None) -> bool:
    types = ("CONSOLIDATION", "DEEP_CONSOLIDATION")
    return table_claiming.begin(life.db, life.persona, types[0], types, path, {}, 600) is not None


def _ends(life: Life) -> int:
    c = schema.counters.c
    (row,) = rows_of(life.db, schema.counters, life.persona, c.name == "stream_end")
    return int(row.value)


@pytest.mark.engines()
def test_l20_every_fifth_end_consolidates_deeply(life: Life) -> None:
    talk(life, 1)
    deep = []
    for n in range(1, 12):
        if n == 8:  # a restart: another handle on the same database
            life.db.caches.clear()
        done = life.on_stream_end(HERE, model=Model(lambda prompt: json.dumps({"key_facts": [f"{len(prompt)}"]})))
        deep += [n] if done.deep else []
        assert _ends(life) == n
    assert deep == [5, 10]
    assert [n for n in range(1, 5) if life.on_stream_end(DEEP_CONSOLIDATION_EVERY_N_STREAMS=3).deep] == [1, 4]


def test_l20_the_end_of_a_stream_may_be_queued(life: Life) -> None:
    talk(life, 2)
    for n in range(1, 6):
        done = life.on_stream_end(HERE, wait=False)
        assert done.deep == (n == 5) and done.stored == 0
    assert [row.type for row in rows_of(life.db, JOBS, life.persona)] == ["CONSOLIDATION", "DEEP_CONSOLIDATION"]
    model = Model(key_facts=["a"])
    assert [each.state for each in life.run(model)] == ["completed"] * 2 and len(model.asked) == 2
    (row,) = life.rows()
    assert (row.content, json.loads(row.tags)) == ("a", ["deep"])
    runs = [(run.kind, run.reason, run.items_added) for run in life.runs()]
    assert runs == [("consolidation", "on_stream_end", 1), ("deep", "on_stream_end", 0)]


def test_l20_an_end_while_a_cycle_runs_is_queued(life: Life) -> None:
    talk(life, 2)
    assert begin_elsewhere(life, None)
    done = life.on_stream_end(HERE)
    assert (done.reason, len(done.queued), _ends(life)) == ("busy", 1, 1)


@pytest.mark.engines()
def test_l21_deep_consolidation_prunes_and_extracts_anew(life: Life) -> None:
    life.flags |= SEED
    life.item("old", days=31)
    life.item("dull", importance=0.1)
    talk(life, 3)
    life.stage.say("somewhere else", path=ELSEWHERE, message_id="x")
    life.run_cycle(model=facts("from the cycle"))
    seen = lambda prompt: [f"seen {said_in(prompt)[-1]}{'x' * 300}"]  # noqa: E731
    model = Model(lambda prompt: json.dumps({"key_facts": seen(prompt), "facts_about_user": ["y"]}))
    done = life.deep_consolidation(model=model)
    assert (done.stored, done.merged, done.pruned, done.deep) == (3, 1, 2, True)  # both hear the same fact of Ann
    made = [row for row in life.holding() if json.loads(row.tags) == ["deep"]]
    assert {(row.kind, float(row.importance)) for row in made} == {("KeyFacts", 0.7), ("FactsAboutUser", 0.7)}
    assert max(len(row.content) for row in made) == 200 and {row.conversation_key for row in made} == {HERE, ELSEWHERE}
    before = [tuple(row) for row in life.rows()]
    again = life.deep_consolidation(model=model)
    assert (again.stored, again.pruned, again.merged) == (0, 0, 4) and [tuple(row) for row in life.rows()] == before
    assert index_differences(life.db, life.persona) == []


def test_l21_by_hand_it_prunes_though_another_one_waits(life: Life) -> None:
    life.item("dull", days=400, importance=0.1)
    for _ in range(5):
        life.on_stream_end(wait=False)
    assert life.deep_consolidation(reason="mine").pruned == 1
    assert [(run.kind, run.reason) for run in life.runs()] == [("deep", "mine")]


def test_l21_the_window_of_deep_consolidation(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    talk(life, 25)
    model = Model(key_facts=["a"])
    monkeypatch.setattr(consolidation, "DEEP_WINDOW", 20)
    life.deep_consolidation(model=model)
    assert said_in(model.asked[0]) == [f"word{n} was said" for n in range(5, 25)]
    assert life.mark() is None and life.deep_consolidation(history_uid="tg/none", model=model).stored == 0


def test_l13_l16_by_hand_in_the_background_where_a_model_that_fails_is_asked_again(life: Life) -> None:
    talk(life, 2)
    talk(life, 2, ELSEWHERE)
    life.item("gone", days=8, tier="session")
    (first,) = life.trigger_memory_consolidation("why not", wait=False).queued
    ran = life.run(Model(ModelError("timeout")))
    assert [each.state for each in ran] == ["completed", "retrying", "retrying"] and ran[0].id == first
    assert life.mark() is None and life.texts() == []
    life.clock.forward(hours=1)
    assert [each.state for each in life.run(facts("a"))] == ["completed"] * 2
    assert life.texts() == ["a"] and {run.conversation_key for run in life.runs()} == {"", HERE, ELSEWHERE}
    assert all(run.reason == "why not" for run in life.runs())


@pytest.mark.parametrize("how", ["forget", "delete", "edit"])
@pytest.mark.parametrize("answer", [None, "nothing that can be read"])
def test_l15_f43_p69_the_items_of_others_are_made_again(life: Life, how: str, answer: str | None) -> None:
    said = [
        life.stage.say(text, ELSEWHERE, who, message_id=f"m{at}", minutes=60 - at)
        for at, (who, text) in enumerate((("Ann", "I live in Rome."), ("Bob", "I live in Oslo."), ("Bob", "Bye.")))
    ]
    answers = Model(lambda prompt: json.dumps({"key_facts": [" ".join(said_in(prompt))]}))
    assert life.consolidate_history(ELSEWHERE, model=answers) == 1
    assert life.rows()[0].participant_key is None, "of several people it is nobody's item"
    there = life.stage.asking(ELSEWHERE)
    if how == "forget":
        forget(participant=ANN, db=life.db, scope=Scope(life.persona))
    elif how == "delete":
        assert chat_history_cache.delete_chat_message(said[0], **there).stored
    else:
        assert chat_history_cache.edit_chat_message(said[0], "I live in Bonn.", **there).stored
    assert life.rows() == []
    (run,) = life.run(Model(answer) if answer else answers)
    again = ["I live in Bonn."] if how == "edit" else []
    kept = [*again, "I live in Oslo."]
    made = [text.partition(": ")[2] for text in life.texts()] if answer and again else life.texts()
    assert (run.state, made) == ("completed", kept if answer else [" ".join([*kept, "Bye."])])
    assert life.run(answers) == []


@pytest.mark.parametrize("how", ["delete", "purge", "forget", "edit"])
@pytest.mark.parametrize("with_model", [True, False])
def test_f84_nothing_is_made_again_of_the_source_of_a_changed_item(life: Life, how: str, with_model: bool) -> None:
    """A person who deletes or corrects a memory must not meet it again after the next five streams."""
    life.stage.say("I live in Rome", message_id="m0", minutes=60)
    model = facts("Ann lives in Rome") if with_model else None
    (made,) = life.consolidate_history(HERE, model=model).ids
    change = {
        "delete": lambda: life.delete_items([made]).count, "purge": lambda: life.purge_items([made]).count,
        "forget": lambda: forget(memory=made, db=life.db, scope=Scope(life.persona))["memories"],
        "edit": lambda: life.edit_item(made, "Ann lives in Oslo").stored,
    }[how]  # fmt: skip
    assert change() == 1
    left = life.texts()
    for _ in range(5):
        life.on_stream_end(HERE, model=model)
    life.deep_consolidation(model=model)
    assert life.texts() == left
    life.stage.say("I live in Bergen now", message_id="m1", minutes=1)
    life.on_stream_end(HERE, model=facts("Ann lives in Bergen") if with_model else None)
    assert len(life.texts()) == len(left) + 1


def test_f84_a_saved_memory_that_was_deleted_is_not_made_again_of_its_message(life: Life) -> None:
    row = life.stage.say("Remember that I live in Rome", message_id="m0", minutes=60)
    scope = life.stage.scope(HERE, participant=ANN)
    saved = add_saved_memory("I live in Rome", message_id=row, db=life.db, scope=scope)
    life.stage.say("I'm allergic to nuts", message_id="m1", minutes=59)
    (wish,) = list_saved_memories(kind="instruction", db=life.db, scope=scope)
    for row_id in (saved.id, wish["id"]):
        assert delete_saved_memory(row_id, db=life.db, scope=scope).stored
    assert life.consolidate_history(HERE) == 0 and life.deep_consolidation().stored == 0 and life.texts() == []


def test_f84_an_item_has_the_time_of_what_it_was_made_of(life: Life) -> None:
    """Dated by the cycle, a fact of last year would stand before what was said yesterday."""
    life.stage.say("I live in Rome", message_id="m0", minutes=3 * 1440)
    life.consolidate_history(HERE)
    life.stage.say("I like tea", message_id="m1", minutes=2 * 1440)
    life.consolidate_history(HERE, model=facts("Ann likes tea"))
    assert sorted(NOW - row.timestamp for row in life.rows()) == [2 * DAY, 3 * DAY]


@pytest.mark.parametrize("is_named", [True, False])
@pytest.mark.parametrize("deep", [True, False])
def test_f84_each_item_of_a_window_has_the_day_of_its_own_message(life: Life, is_named: bool, deep: bool) -> None:
    """With the time of the newest message, a former home and the present one are equally new."""
    said = {25: "Vivo en Sevilla.", 11: "El jueves tengo una entrevista.", 2: "Me he mudado a Bilbao.", 0: "Todo bien."}
    for days, text in said.items():
        life.stage.say(text, message_id=f"m{days}", minutes=days * 1440)
    texts = ["Ann vive en Sevilla", "Ann tiene una entrevista el jueves", "Ann se ha mudado a Bilbao", "Ann ist gesund"]
    model = facts(*({"text": text, "n": n} if is_named else text for n, text in enumerate(texts, 1)))
    (life.deep_consolidation if deep else life.consolidate_history)(HERE, model=model)
    assert {row.content: (NOW - row.timestamp).days for row in life.rows()} == dict(zip(texts, said, strict=True))
    shown = [json.loads(line) for line in model.asked[0].splitlines() if line.startswith('{"n"')]
    days_of = [(n, f"{NOW - days * DAY:%Y-%m-%d}") for n, days in enumerate(said, 1)]
    assert [(one["n"], one["day"]) for one in shown] == days_of
