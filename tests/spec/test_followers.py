"""What was made of a message follows it when it is changed, deleted or forgotten (P69, F87)."""

import json
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from core import ai_diary, chat_history_cache, conversations, forget, insert_memory, jobs, lifelong, short_term, stories
from core.chat_history_cache import load_chat_history, save_chat_message
from core.config import Settings
from core.database.schema import TABLES, memories, message_recaps
from core.errors import MessageError
from core.prompt.call import PromptRequest
from core.prompt.pipeline import build_records
from core.prompt_engine import build_json_prompt, build_messages
from core.short_term import write_turn
from core.synth_core_memory import search_memories, silently_record_memory
from core.transcripts import save_transcript
from core.transfer.imports import import_file
from tests.spec.stage import ELSEWHERE, HERE, NOW, Stage, message, tables_with
from tests.store.world import rows_of

CANARY = "Zyxwvut"
JOB = f"I am looking for another job, at {CANARY}"
ANN = "tg/ann"


def by(stage: Stage, who: str | None = "tg/ann", **flags: Any) -> dict[str, Any]:
    return stage.asking(HERE, who, **flags)


def left(stage: Stage, word: str = CANARY) -> set[str]:
    return tables_with(stage.db, stage.persona, word)  # type: ignore[arg-type]


def everything(stage: Stage) -> int:
    """Make all that is made of a message, of this one alone and of others too; return its row."""
    other = stage.say("The weather is fine.", minutes=50)
    said = stage.say(JOB, minutes=40, message_id="m1")
    stage.say("Good luck!", who="Bob", minutes=30, metadata={"reply_to": {"text": JOB, "username": "Ann"}})
    named = by(stage)
    silently_record_memory(JOB, message_id=said, **named)
    to_here = {"scope": named["scope"], "db": stage.db}
    insert_memory(f"Ann wants to go to {CANARY}.", "synth", "chat", ["job"], message_id=said, **to_here)
    conversations.add_saved_memory(f"Ann applies at {CANARY}", message_id="m1", **named)
    memory = f"<memoryContent>{CANARY} is her dream</memoryContent>"
    (tool_call,) = conversations.parse_tool_call(f"<use_tool><name>memoryTool</name>{memory}</use_tool>")
    conversations.run_tool_call(tool_call, message_id=said, **named)
    conversations.add_saved_memory(f"Never mention {CANARY}", kind="instruction", message_id="m1", **named)
    lifelong.add_facts_with_meta([f"Ann dreams of {CANARY}"], message_id=said, **named)
    ai_diary.add_diary_entry(f"Ann spoke of {CANARY}.", f"{CANARY}!", message_id="m1", **named)
    ai_diary.add_diary_entry("A quiet day.", user_message=JOB, **named)
    made = {"provenance": "model", "source_message_ids": [said, other]}
    insert_memory(f"Ann leaves for {CANARY} soon.", "synth", "consolidation", [], **made, **to_here)
    return said


@pytest.mark.engines()
def test_p69_a_deleted_message_takes_along_all_that_was_made_of_it(stage: Stage) -> None:
    said = everything(stage)
    turn = {"messages": [{"role": "user", "content": JOB}], "channel": HERE, "user": "tg/ann"}
    write_turn(turn, JOB, **by(stage))
    told = json.dumps({"title": "A job", "summary": f"Ann wants to go to {CANARY}."})
    conversations.close_conversation(HERE, model=lambda messages: told, wait=True, **by(stage, None))
    texts = {"memories", "ai_diary", "chat_history_cache", "short_term_memories", "conversation_summaries"}
    assert texts <= left(stage) and CANARY in json.dumps(stage.context(f"where does she go, {CANARY}?"))
    assert chat_history_cache.delete_chat_message(said, **by(stage)).stored and left(stage) == set()
    asked = stage.context("where is she going for another job?")
    assert CANARY not in json.dumps(asked)
    assert search_memories(keywords=[CANARY], db=stage.db, scope=stage.scope(HERE)) == []
    # what is not of this message is as it was
    assert "The weather is fine." in json.dumps(asked) and "Good luck!" in json.dumps(asked)
    assert operations(stage).count("CONSOLIDATION") == 1


def operations(stage: Stage) -> list[str]:
    return [job["type"] for job in jobs.list_operations(**stage.asking(HERE))]


@pytest.mark.engines()
@pytest.mark.parametrize("way", ["edit", "choose"])
def test_p69_an_edited_message_takes_along_all_that_was_made_of_it(stage: Stage, way: str) -> None:
    said = everything(stage)
    if way == "edit":
        assert chat_history_cache.edit_chat_message(said, "I am looking for a cat", **by(stage)).stored
    else:
        stories.add_alternative(said, "I am looking for a cat", **by(stage))
        assert stories.choose_alternative(said, 1, **by(stage)).stored
    context = stage.context("what is she looking for, a job?")
    assert CANARY not in json.dumps(context)
    assert "I am looking for a cat" in json.dumps(context["history_current_chat"][-1])
    assert search_memories(keywords=[CANARY], db=stage.db, scope=stage.scope(HERE)) == []
    # what an operation made of others too is gone until it is made anew
    assert left(stage) == ({"message_alternatives"} if way == "choose" else set())
    here = {"settings": Settings(snippet_window="start"), "db": stage.db, "scope": stage.scope(HERE)}
    found = search_memories(keywords=["looking"], include_chat=False, **here)
    assert {hit["snippet"] for hit in found} == {"I am looking for a cat", "A quiet day."}
    assert operations(stage).count("CONSOLIDATION") == 1


def test_f84_what_a_host_makes_of_an_old_message_has_its_time(stage: Stage) -> None:
    first, named = everything(stage), by(stage)
    for row in (stage.say(JOB, minutes=20), first):
        silently_record_memory(JOB, message_id=row, **named)
    lifelong.add_facts_with_meta([{"text": "tea", "timestamp": NOW}], message_id="m1", **named)
    ages = Counter((NOW - row.timestamp).seconds // 60 for row in rows_of(stage.db, memories, stage.persona))  # type: ignore[arg-type]
    assert ages == {40: 5, 20: 1, 0: 2}, "an item without a named message has the time of its storing"


def test_p69_a_summary_made_before_a_line_stays_when_the_line_changes(stage: Stage) -> None:
    stage.db.clock.now = NOW - timedelta(minutes=30)  # type: ignore[union-attr]
    short_term.store_short_term_memory("tg/ann", HERE, [{"text": "hello"}], "", **by(stage))
    short_term.update_short_term_memory("tg/ann", HERE, "They greeted.", "", **by(stage))
    stage.db.clock.now = NOW  # type: ignore[union-attr]
    row = stage.say("I like rum", minutes=0)
    assert chat_history_cache.edit_chat_message(row, "I like tea", **by(stage)).stored
    assert [each["summary"] for each in short_term.get_for_user("tg/ann", **by(stage))] == ["They greeted."]


@pytest.mark.engines()
@pytest.mark.parametrize("how", ["edit", "delete", "forget"])
def test_p69_a_summary_goes_with_a_line_that_came_while_it_was_waiting(stage: Stage, how: str) -> None:
    """An import puts older lines in front; the summary has its id from when it was queued, before these were stored."""
    stage.say("The weather is fine.", who="Bob", minutes=30)
    conversations.close_conversation(HERE, **by(stage, None))
    said = stage.say(JOB, minutes=40)
    told = json.dumps({"title": "A job", "summary": f"Ann wants to go to {CANARY}."})
    jobs.run_pending(model=lambda messages: told, **by(stage, None))
    assert "conversation_summaries" in left(stage)
    change = {
        "edit": lambda: chat_history_cache.edit_chat_message(said, "I am looking for a cat", **by(stage)).stored,
        "delete": lambda: chat_history_cache.delete_chat_message(said, **by(stage)).stored,
        "forget": lambda: forget(participant="tg/ann", **by(stage, None)).total,
    }[how]
    assert change() and left(stage) == set()


def instructions(stage: Stage, **asking: Any) -> list[str]:
    return [each["text"] for each in conversations.list_saved_memories(kind="instruction", **(asking or by(stage)))]


def archived(stage: Stage) -> list[Any]:
    return list(lifelong.search_items(archived=True, **by(stage))["items"])


def test_p69_an_edited_wish_is_no_wish_any_more_and_a_deleted_one_gives_way(stage: Stage) -> None:
    said = stage.say("I'm vegetarian.")
    assert instructions(stage) == ["I'm vegetarian."]
    for text, held in (
        ("I was vegetarian once, as a joke.", []), ("I'm vegetarian.", ["I'm vegetarian."]),
        ("I'm not vegetarian, typo", []), ("Call me Jo", ["Call me Jo"]),
    ):  # fmt: skip
        chat_history_cache.edit_chat_message(said, text, **by(stage))
        assert (instructions(stage), archived(stage)) == (held, [])
    assert stage.context("hello", path="tg/77")["standing_wishes"] == ["[2026-03-10] Call me Jo"]
    later = stage.say("Call me Kim", minutes=40)
    assert instructions(stage) == ["Call me Kim"]
    chat_history_cache.delete_chat_message(later, **by(stage))
    assert instructions(stage) == ["Call me Jo"]
    direct, here = stage.asking("tg/ann"), {"path": "tg/ann", "minutes": 30}
    stage.say("Call me Ada", **here)
    chat_history_cache.edit_chat_message(stage.say("hello", **here), "Don't call me Ada anymore", **direct)
    assert instructions(stage, **direct) == ["Call me Jo"]


@pytest.mark.engines()
@pytest.mark.parametrize("way", ["deleted", "edited", "forgotten", "ends it again"])
def test_p69_what_ended_an_instruction_has_no_effect_once_it_is_gone(stage: Stage, way: str) -> None:
    stage.say("I'm allergic to nuts", minutes=90)
    ending = stage.say("I'm not allergic to nuts anymore", path=ELSEWHERE, minutes=80)
    assert instructions(stage) == []
    if way == "forgotten":
        forget(conversation=ELSEWHERE, **by(stage, None))
    elif way == "deleted":
        chat_history_cache.delete_chat_message(ending, **stage.asking(ELSEWHERE, "tg/ann"))
    else:
        text = "The soup was hot." if way == "edited" else "I'm no longer allergic to nuts"
        chat_history_cache.edit_chat_message(ending, text, **stage.asking(ELSEWHERE, "tg/ann"))
    assert instructions(stage) == ([] if way == "ends it again" else ["I'm allergic to nuts"])


@pytest.mark.engines()
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("way", ["deleted", "forgotten", "edited"])
def test_p69_what_two_messages_ended_is_back_once_both_are_gone(stage: Stage, order: tuple[int, int], way: str) -> None:
    """An allergy held again though the person had said a second time that it is over."""
    stage.say("I'm allergic to nuts", minutes=90)
    paths = (ELSEWHERE, f"{ELSEWHERE}-2")
    first = stage.say("I'm not allergic to nuts anymore", path=paths[0], minutes=80)
    second = stage.say("I'm no longer allergic to nuts", path=paths[1], minutes=70)
    for n, at in enumerate(order):
        assert instructions(stage) == []
        row_id, asking = (first, second)[at], stage.asking(paths[at], "tg/ann")
        stage.db.clock.forward(minutes=1)  # type: ignore[union-attr]
        if way == "forgotten":
            forget(conversation=paths[at], **by(stage, None))
        elif way == "deleted" or n:
            chat_history_cache.delete_chat_message(row_id, **asking)
        else:
            chat_history_cache.edit_chat_message(row_id, "The soup was hot.", **asking)
    assert instructions(stage) == ["I'm allergic to nuts"]


def test_p69_what_was_said_twice_stays_until_both_are_gone(stage: Stage) -> None:
    first, second = stage.say("I am vegan", minutes=90), stage.say("i am  vegan", minutes=20)
    for row in (first, second):
        silently_record_memory("I like kale", message_id=row, **by(stage))
    chat_history_cache.delete_chat_message(first, **by(stage))
    assert len(instructions(stage)) == 1 and search_memories(keywords=["kale"], db=stage.db, scope=stage.scope(HERE))
    chat_history_cache.delete_chat_message(second, **by(stage))
    assert instructions(stage) == [] == archived(stage)
    assert not search_memories(keywords=["kale"], db=stage.db, scope=stage.scope(HERE))


def test_p69_what_was_captured_without_an_id_is_known_by_its_words(stage: Stage) -> None:
    """Hosts of the original hand over the text alone."""
    rows = stage.say(JOB), stage.say("I like tea", who="Bob", minutes=9)
    for text in (JOB, "I like tea"):
        silently_record_memory(text, **by(stage))
    for row in rows:
        chat_history_cache.delete_chat_message(row, **by(stage))
    kept = search_memories(keywords=["tea", CANARY], include_chat=False, db=stage.db, scope=stage.scope(HERE))
    assert [hit["snippet"] for hit in kept] == ["I like tea"]


def test_p69_a_platforms_id_is_one_of_its_conversation(stage: Stage) -> None:
    """Telegram counts messages in each chat by itself."""
    here = stage.say("Tea for me", message_id="7")
    stage.say("Coffee for me", "tg/43", message_id="7")
    insert_memory("Ann drinks tea", "synth", "chat", [], stage.scope(HERE), message_id=7, db=stage.db)
    insert_memory("Ann drinks coffee", "synth", "chat", [], stage.scope("tg/43"), message_id="7", db=stage.db)
    insert_memory("Ann cooks", "synth", "chat", [], stage.scope(HERE), message_id=2**63, db=stage.db)  # no row's id
    late = insert_memory("Ann drinks water", "synth", "chat", [], stage.scope(HERE), message_id="8", db=stage.db)
    chat_history_cache.delete_chat_message(here, **by(stage))
    found = search_memories(keywords=["drinks"], limit=9, db=stage.db, scope=stage.scope(HERE))
    assert {hit["snippet"] for hit in found} == {"Ann drinks coffee", "Ann drinks water"}
    # a message that is stored after what was made of it
    chat_history_cache.delete_chat_message(stage.say("Water for me", message_id="8"), **by(stage))
    found = search_memories(keywords=["drinks"], limit=9, db=stage.db, scope=stage.scope(HERE))
    assert late not in {hit["id"] for hit in found} and len(found) == 1


@pytest.mark.parametrize("given", [True, 1.5, ["m1"], "x" * 192])
def test_p69_a_message_id_that_is_none_is_refused_and_nothing_is_stored(stage: Stage, given: Any) -> None:
    for save in (
        lambda: silently_record_memory("tea", message_id=given, **by(stage)),
        lambda: insert_memory("tea", None, None, [], stage.scope(HERE), message_id=given, db=stage.db),
        lambda: conversations.add_saved_memory("tea", message_id=given, **by(stage)),
        lambda: conversations.add_saved_memory("tea", kind="instruction", message_id=given, **by(stage)),
        lambda: ai_diary.add_diary_entry("tea", message_id=given, **by(stage)),
        lambda: lifelong.add_facts_with_meta(["tea"], message_id=given, **by(stage)),
    ):
        with pytest.raises(MessageError) as refused:
            save()
        assert refused.value.fields == ("message_id",)
    assert left(stage, "tea") <= {"search_fresh"}


@pytest.mark.parametrize("made_of", ["history", "memory", "diary"])
@pytest.mark.parametrize("build", [build_messages, build_json_prompt])
def test_f87_an_answer_made_with_what_is_forgotten_is_recalled_no_more(stage: Stage, made_of: str, build: Any) -> None:
    """The persona tells Bob what Ann said: once Ann is forgotten, her words are not his either."""
    canary, bob = "zqharbour", stage.asking(ELSEWHERE, participant="tg/bob")
    stage.say("Hi", "tg/77", "Bob")
    kept = stage.say(f"A {canary} of my own", "tg/77", "self")
    if made_of == "history":
        stage.say(f"The {canary} opens at nine", HERE, "Ann", minutes=30)
    elif made_of == "memory":
        stage.remember(f"The {canary} opens at nine", ["harbour"], path=HERE, participant=ANN)
    else:
        stage.diary(f"Ann told me of the {canary}", path=HERE, involved_users=["tg/ann"])
    assert canary in str(build(message(f"When does the {canary} open?", ELSEWHERE, who="Bob"), **bob))
    ids = [
        save_chat_message(ELSEWHERE, text, "Iris", "self", triggered_by="tg/bob", message_id=text[:3], **bob).id
        for text in (f"The {canary} opens at nine.", f"Ask again about the {canary}.")
    ]
    conversations.add_recent_conversation(wait=True, **bob)
    stories.set_data(ids[0], "memory", f"Recap of {canary}", **bob)
    stories.add_alternative(ids[0], f"The {canary} opens at ten.", **bob)
    before = forget(participant=ANN, dry_run=True, **bob)
    assert forget(participant=ANN, **bob) == before
    lines = rows_of(stage.db, TABLES["chat_history_cache"], stage.persona)
    assert [row.hidden for row in lines if row.id in ids] == [3, 3]
    assert ids[0] not in [row.message_row for row in rows_of(stage.db, message_recaps, stage.persona)]
    for path in (ELSEWHERE, "tg/78"):
        seen = str(build(message(f"What of the {canary}?", path, who="Bob"), **stage.asking(path)))
        assert "opens at nine" not in seen and "Ask again" not in seen
    assert {hit["id"] for hit in search_memories(query=canary, limit=20, **bob)} == {kept}
    assert stories.list_alternatives(ids[0], **bob) == []
    save_chat_message(ELSEWHERE, "And on Sunday?", "Bob", "bob", reply_to="The", **bob)
    assert canary not in str(load_chat_history(ELSEWHERE, **bob))
    assert canary not in str(conversations.list_recent_conversations(**bob))
    assert jobs.run_pending(**stage.asking()) is not None
    assert canary not in str(conversations.list_recent_conversations(**bob))


@pytest.mark.engines()
def test_f87_an_answer_that_repeats_a_deleted_message_is_hidden(stage: Stage) -> None:
    said = stage.say("The zqharbour opens at nine", HERE, "Ann", minutes=30)
    stage.say("Nine, then: the zqharbour.", HERE, "self", minutes=29)
    stage.say("I see.", HERE, "self", minutes=28)
    stage.say("Is there tea?", HERE, "Ann", minutes=27)
    other = stage.say("Tea at the zqharbour.", HERE, "self", minutes=26)
    assert chat_history_cache.delete_chat_message(said, **by(stage)).stored
    texts = [line["text"] for line in load_chat_history(HERE, **by(stage))]
    assert texts == ["I see.", "Is there tea?", "Tea at the zqharbour."]
    assert {hit["id"] for hit in search_memories(query="zqharbour", **by(stage))} == {other}


@pytest.mark.engines()
@pytest.mark.parametrize("form", ["lines", "sillytavern"])
def test_p69_an_imported_answer_stays_with_its_scene_and_recap(stage: Stage, tmp_path: Path, form: str) -> None:
    """No model made it from the deleted line here; its prompt is unknown."""
    texts = ["Hello, Iris", "I hid the zqharbour letter", "The letter is hidden, then", "What now?", "We wait"]
    names, tavern = ["Ann", "Ann", "Iris", "Ann", "Iris"], form == "sillytavern"
    lines = [{"user_name": "Ann", "character_name": "Iris", "chat_metadata": {}}] * tavern
    for number, (name, text) in enumerate(zip(names, texts, strict=True)):
        at, is_user = f"2026-01-01T12:0{number}:00Z", name == "Ann"
        line = {"speaker": name, "text": text, "timestamp": at, "role": "user" if is_user else "assistant"}
        lines.append({"name": name, "is_user": is_user, "send_date": at, "mes": text} if tavern else line)
    path = tmp_path / "chat.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    import_file(path, conversation=HERE, persona="Iris", **stage.asking())
    rows = {row.message_text: row.id for row in rows_of(stage.db, TABLES["chat_history_cache"], stage.persona)}
    stories.add_scene_break(rows[texts[0]], "The arrival", **by(stage))
    stories.add_scene_break(rows[texts[4]], "The watch", **by(stage))
    stories.set_data(rows[texts[2]], "memory", "Iris hid it", **by(stage))
    assert chat_history_cache.delete_chat_message(rows[texts[1]], **by(stage)).stored
    assert [line["text"] for line in load_chat_history(HERE, **by(stage))] == [texts[0], *texts[2:]]
    assert stories.get_data(rows[texts[2]], "memory", **by(stage)) == "Iris hid it"
    live = stage.say("The zqharbour letter burns", HERE, "Ann", minutes=3)
    stage.say("Then the letter is gone", HERE, "self", minutes=2)
    assert chat_history_cache.delete_chat_message(live, **by(stage)).stored
    assert "Then the letter is gone" not in str(load_chat_history(HERE, **by(stage)))


TAVERN = (
    "*The innkeeper smiles and fills another mug of ale*",
    "*Kaela smiles back over her ale, watching the innkeeper*",
    "*The innkeeper wipes the counter and pours ale*",
    "*Kaela drinks her ale while the innkeeper smiles*",
    "*The innkeeper smiles, since Kaela praised the ale*",
    "*Kaela smiles at the innkeeper and puts down the ale*",
)


@pytest.mark.engines()
@pytest.mark.parametrize(("deleted", "answer", "is_hidden"), [
    ("*Kaela asks the innkeeper for ale*", "*The innkeeper smiles. Outside it begins to rain*", False),
    ("*Kaela asks the innkeeper for bread and ale*", "*The innkeeper brings bread*", True),
    ("*Kaela smiles: her brother Tarquin died*", "*The innkeeper smiles sadly: poor Tarquin*", True),
    ("*Kaela smiles: the ale cost 4321*", "*The innkeeper nods: 4321 it is*", True),
    ("*Kaela smiles: I hid the ale in Brindlewick*", "*The innkeeper smiles. In Brindlewick?*", True),
])  # fmt: skip
def test_f87_words_used_all_the_time_hide_no_answer(stage: Stage, deleted: str, answer: str, is_hidden: bool) -> None:
    """In a role play every line has the same words; a name, number or place first said in the deleted line hides."""
    for number, line in enumerate(TAVERN):
        stage.say(f"{line} 4321", HERE, "self" if number % 2 else "Ann", minutes=60 - number)
    said = stage.say(deleted, HERE, "Ann", minutes=30)
    stage.say(answer, HERE, "self", minutes=29)
    assert chat_history_cache.delete_chat_message(said, **by(stage)).stored
    texts = [line["text"] for line in load_chat_history(HERE, **by(stage))]
    assert (answer not in texts) == is_hidden and deleted not in texts


@pytest.mark.engines()
def test_f87_a_secret_said_again_and_again_stays_hidden_when_each_line_is_deleted(stage: Stage) -> None:
    said = []
    for number in range(8):
        said.append(stage.say(f"Zqharbour is where I live, part {number}", HERE, "Ann", minutes=60 - 2 * number))
        stage.say("Ah, Zqharbour!", HERE, "self", minutes=59 - 2 * number)
    for row in said:
        assert chat_history_cache.delete_chat_message(row, **by(stage)).stored
    assert load_chat_history(HERE, **by(stage)) == []


def test_f87_an_answer_to_come_is_hidden_whose_prompt_contained_a_deleted_message(stage: Stage) -> None:
    said = stage.say("The zqharbour opens at nine", HERE, "Ann", minutes=30)
    assert "at nine" in str(build_messages(message("When does it open?", HERE, who="Ann"), **by(stage)))
    assert chat_history_cache.delete_chat_message(said, **by(stage)).stored
    assert save_chat_message(HERE, "At nine.", "Iris", "self", **by(stage)).stored
    assert load_chat_history(HERE, **by(stage)) == []


@pytest.mark.parametrize("seconds", [0, 600], ids=["now", "dated as the question"])
@pytest.mark.engines()
def test_f87_an_answer_is_hidden_that_is_stored_after_its_source_was_forgotten(stage: Stage, seconds: int) -> None:
    stage.say("The zqharbour opens at nine", HERE, "Ann", minutes=30)
    bob = stage.asking(ELSEWHERE, participant="tg/bob")
    at = stage.db.clock() - timedelta(seconds=seconds)
    asked = {**message("When does the zqharbour open?", ELSEWHERE, who="Bob"), "date": at}
    assert "at nine" in str(build_messages(asked, **bob))
    forget(participant=ANN, **bob)
    assert save_chat_message(ELSEWHERE, "The zqharbour opens at nine.", "Iris", "self", at, **bob).stored
    assert search_memories(query="zqharbour", **bob) == load_chat_history(ELSEWHERE, **bob) == []
    build_messages(message("Thanks", ELSEWHERE, who="Bob"), **bob)
    assert save_chat_message(ELSEWHERE, "Welcome", "Iris", "self", **bob).stored
    assert "Welcome" in str(load_chat_history(ELSEWHERE, **bob))


@pytest.mark.engines()
def test_f87_an_answer_through_a_front_end_stays_hidden_when_the_list_comes_again(stage: Stage) -> None:
    """A front end holds its own list; what it sends again is the line that is stored."""
    stage.say("The zqharbour opens at nine", HERE, "Ann", minutes=30)
    bob = stage.asking(ELSEWHERE, participant="tg/bob")
    asked, answer = {"role": "user", "content": "When does it open?"}, "The zqharbour opens at nine."
    build_records(PromptRequest(message("When does the zqharbour open?", ELSEWHERE, who="Bob"), max_chars=4000, **bob))
    save_transcript([asked], answer, **bob)
    forget(participant=ANN, **bob)
    again = [asked, {"role": "assistant", "content": answer}, {"role": "user", "content": "Thanks"}]
    build_records(PromptRequest(message("Thanks", ELSEWHERE, who="Bob"), max_chars=4000, **bob))
    save_transcript(again, "Welcome", **bob)
    assert [line["text"] for line in load_chat_history(ELSEWHERE, **bob)] == ["When does it open?", "Thanks", "Welcome"]
