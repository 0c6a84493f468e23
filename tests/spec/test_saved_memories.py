"""Saved memories and standing instructions: what is kept when somebody asks, and what a model sees (C11 to C29)."""

import itertools
import json
import re
from datetime import timedelta
from functools import partial
from typing import Any
from unittest.mock import Mock

import pytest
from sqlalchemy import text as sql_text

from core import Scope, build_messages, chat_history_cache, conversations, lifelong
from core.chat_history_cache import edit_chat_message, save_chat_message, save_message
from core.config import Settings
from core.conversations import add_recent_conversation, get_system_prompt_with_memory, load_memory, saved
from core.conversations.section_saved import choose_saved
from core.conversations.table_saved import SavedText
from core.database import schema
from core.database.engine import Database
from core.errors import MessageError, StoreReadError, StoreWriteError
from core.memories import section_instructions, similar, table_instructions
from core.privacy import link_participants, set_privacy
from core.shapes import ToolCall
from core.synth_core_memory import silently_record_memory
from tests.spec.stage import HERE, MINUTE, NOW, Stage, at_once, failed, message, reasons
from tests.store.world import Clock, count, open_db

PLAIN = Settings()
MEMORIES, HISTORY = schema.memories, schema.item_history
DIRECT = "tg/ann"
LATEX = "+I have an allergy to latex"
ANNA = {"id": "anna", "full_name": "Anna"}


def where(stage: Stage, path: str | None = HERE, who: str | None = "ann", **fields: Any) -> Scope:
    return stage.scope(path, participant=f"tg/{who}" if who else None, **fields)


def save(stage: Stage, text: Any, path: str | None = HERE, who: str | None = "ann", **more: Any) -> Any:
    fields = {k: more.pop(k) for k in ("privacy", "server", "destination") if k in more}
    more.setdefault("settings", PLAIN)
    return conversations.add_saved_memory(text, db=stage.db, scope=where(stage, path, who, **fields), **more)


def texts(stage: Stage, path: str = HERE, who: str = "ann", kind: saved.SavedKind = "saved") -> list[str]:
    found = conversations.list_saved_memories(kind=kind, db=stage.db, settings=PLAIN, scope=where(stage, path, who))
    return [one["text"] for one in found]


def test_c11_what_cannot_be_saved_is_said(stage: Stage) -> None:
    assert save(stage, " \n ") == (False, None, "empty")
    assert save(stage, "x" * 4001) == (False, None, "too_long") and save(stage, "x" * 4000).stored
    assert save(stage, "tea", settings=Settings(enable_saved_memory=False)) == (False, None, "disabled")
    assert count(stage.db, MEMORIES, stage.persona) == 1  # type: ignore[arg-type]


def test_c12_only_on_an_explicit_wish(stage: Stage) -> None:
    assert save(stage, "I like tea", said="please remember that I like tea").stored
    for said in ("I bought a notebook", "don't remember that", "Remember that! But don't remember that.", ""):
        assert save(stage, "something", said=said) == (False, None, "not_explicit")
    assert save(stage, "Tee", said="Bitte merk dir, dass ich Tee mag", settings=Settings(languages=("de",))).stored
    assert save(stage, "vouched for").stored


@pytest.mark.engines()
def test_c13_a_duplicate_and_a_failing_store_are_told(stage: Stage) -> None:
    first = save(stage, "I like tea")
    assert save(stage, "i LIKE  tea") == (False, first.id, "duplicate")
    assert save(stage, "I like tea", who="bob").stored and save(stage, "I like tea", None, None).stored
    heard = silently_record_memory("something heard", db=stage.db, settings=PLAIN, scope=where(stage))
    assert heard.stored and save(stage, "something heard").stored
    broken = Database("sqlite://", clock=Clock())  # no tables
    with pytest.raises(StoreWriteError):
        conversations.add_saved_memory("canary7391", db=broken, settings=PLAIN, scope=where(stage))


@pytest.mark.parametrize(("old", "new", "is_similar"), [
    ("I live in Leeds", "I live in Rome now", True), ("My shoe size is 39", "My shoe size is 40", True),
    ("I use Emacs as my editor", "My editor is Zed", True), ("Vivo en Lugo", "Ahora vivo en Vigo", True),
    ("Ich esse kein Fleisch", "Ich esse wieder Fleisch", True), ("I like tea", "I like rain", False),
    ("Мой размер обуви 39", "Размер обуви теперь 40", True), ("My cat is called Tofu", "My dog is called Rex", False),
    ("My favourite colour is blue", "My favourite food is pizza", False),
    ("Anouk has a ladder", "Anouk keeps a parrot called Rio", False),
    ("Ann's ladder is red", "The ladder of Anouk is blue", True),
    ("Ann has a ladder", "Ann keeps a parrot called Rio", False),
    ("The user has a ladder", "User keeps a parrot called Rio", False),
])  # fmt: skip
def test_t63_a_saved_fact_names_an_older_one_on_its_subject(stage: Stage, old: str, new: str, is_similar: bool) -> None:
    """A model that is told can take the old one away; two that contradict each other would both be believed."""
    path, speaker = where(stage).conversation, ("Anouk", "ann")
    assert chat_history_cache.save_chat_message(path, "Hi", *speaker, db=stage.db, scope=where(stage)).stored
    first = save(stage, old)
    save(stage, new, who="bob")
    named = save(stage, new).similar
    expected = {"id": first.id, "text": old, "day": stage.db.clock().date().isoformat()}  # type: ignore[union-attr]
    assert named == (expected if is_similar else None) and first.similar is None
    assert save(stage, new).similar is None  # a duplicate


def test_t63_an_older_fact_is_read_into_words_once_or_not_at_all(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of a thousand similar facts took 0.4 s to save, most of it for words read at every save before."""
    read: list[str] = []
    real = similar.salient_words
    monkeypatch.setattr(similar, "salient_words", lambda text, *rest: read.append(text) or real(text, *rest))
    facts = [f"The {thing} of Ann is green" for thing in ("lamp", "sofa", "bicycle", "kettle", "tent")]
    for fact in facts:
        assert save(stage, fact).stored
    assert [read.count(fact) for fact in facts] == [1] * len(facts)
    lost = StoreReadError("The connection was lost: try again.", source="participants", number=2013)
    monkeypatch.setattr(saved, "find_similar", Mock(side_effect=lost))
    assert conversations.add_saved_memory("Ann has a ladder", **stage.asking()).stored


@pytest.mark.engines()
@pytest.mark.dialects
def test_c13_the_same_saved_by_many_at_once_is_there_once(stage: Stage) -> None:
    told = at_once(lambda: save(stage, "I like tea"), 6)
    assert sorted(one.reason for one in told) == ["", *["duplicate"] * 5] and len({one.id for one in told}) == 1


@pytest.mark.engines()
def test_c18_deleting_and_restoring_and_what_is_not_there(stage: Stage) -> None:
    def delete(row_id: Any, restore: bool = False, path: str | None = HERE, who: str = "ann", **more: Any) -> Any:
        scope = where(stage, path, who, **more)
        result = conversations.delete_saved_memory(row_id, restore=restore, db=stage.db, settings=PLAIN, scope=scope)
        return result, result.notes

    tea = save(stage, "I like tea").id
    assert delete(tea)[0] == (True, tea, "") and texts(stage) == []
    assert delete(tea) == delete(7) and delete(7)[0] == (False, None, "unchanged")
    assert delete(tea, restore=True)[0] == (True, tea, "") and texts(stage) == ["I like tea"]
    assert delete(tea, restore=True) == delete(7)
    stranger = conversations.delete_saved_memory(tea, db=stage.db, settings=PLAIN, scope=Scope("somebody"))
    assert (stranger, stranger.notes) == delete(7) and texts(stage) == ["I like tea"]
    private = save(stage, "a secret", "tg/ann", privacy="direct").id
    assert delete(private) == delete(-1) == delete(2**70) and texts(stage, "tg/ann") == ["I like tea", "a secret"]
    assert delete(stage.remember("no saved memory", path=HERE)) == delete(7)
    assert count(stage.db, MEMORIES, stage.persona, MEMORIES.c.archived_at.is_(None)) == 3
    delete(tea)
    again = save(stage, "I like tea").id
    assert delete(tea, restore=True)[0] == (False, again, "duplicate")


def xml(content: str) -> str:
    return f"<use_tool><name>memoryTool</name><memoryContent>{content}</memoryContent></use_tool>"


@pytest.mark.parametrize("mode", ["agent", "plus", "basic", "project"])
def test_c24_who_reads_and_saves_in_each_mode(stage: Stage, mode: Any) -> None:
    settings = Settings(memory_mode=mode)
    save(stage, "I like tea", settings=settings)
    scope = where(stage)
    memory = conversations.get_user_memory_prompt(db=stage.db, settings=settings, scope=scope)
    assert (memory is None) is (mode == "project")
    (call,) = conversations.parse_tool_call(xml("I like cake"))
    told = conversations.run_tool_call(call, db=stage.db, settings=settings, scope=scope)
    assert told["success"] is (mode in ("agent", "plus"))
    assert told["success"] or told["message"].startswith("disabled")
    assert ("saved_memories" in stage.context("hello", MEMORY_MODE=mode)) is (mode != "project")


def test_c28_calls_are_done_and_answered_in_their_form(stage: Stage) -> None:
    scope, reply = where(stage), f"I will. {xml('I &lt;3 tea')} Done. {xml(' ')} <think>{xml('thought')}</think>"
    done = partial(conversations.run_tool_call, db=stage.db, settings=Settings(), scope=scope)
    first, second = (done(call) for call in conversations.parse_tool_call(reply))
    assert (first["success"], first["message"]) == (True, "saved") and "<success>true</success>" in first["reply"]
    assert second["success"] is False and second["message"].startswith("empty") and second["id"] is None
    assert texts(stage) == ["I <3 tea"]
    function = {"name": "memoryTool", "arguments": '{"memoryContent": "I <3 tea"}'}
    native = {"tool_calls": [{"id": "c1", "function": function}]}
    (again,) = (done(call) for call in conversations.parse_tool_call(native))
    assert (again["success"], again["id"]) == (False, first["id"]) and again["reply"]["tool_call_id"] == "c1"
    (broken,) = conversations.parse_tool_call("<use_tool><name>memoryTool</name><memoryContent>x</use_tool>")
    assert done(broken)["message"].startswith("error: the call cannot be read")
    assert done(ToolCall("memoryTool", "x"), said="hello")["message"].startswith("not_explicit")
    assert texts(stage) == ["I <3 tea"]


def test_c28_c29_a_store_that_fails_is_an_answer_and_costs_no_prompt(stage: Stage) -> None:
    broken = Database("sqlite://", clock=Clock())  # no tables
    call = ToolCall("memoryTool", "canary7391")
    told = conversations.run_tool_call(call, db=broken, settings=Settings(), scope=where(stage))
    assert told["success"] is False and told["message"].startswith("error") and "7391" not in str(told)
    made, report = stage.explain("@memory likes tea", MEMORY_MODE="plus", db=broken)
    assert made["input"] and "memory_tool" not in report and failed(report)


@pytest.mark.engines()
def test_c29_in_mode_plus_the_message_is_saved_before_the_prompt(stage: Stage) -> None:
    def prompt(said: str, **flags: Any) -> tuple[Any, Any]:
        made, report = stage.explain(said, **{"MEMORY_MODE": "plus", **flags})
        return made["context"].get("saved_memories", []), report["search"].get("memory_tool")

    shown, told = prompt("@memory likes tea")
    assert shown == ["[2026-03-10] likes tea"]
    assert told == {"call": "memoryTool", "by": "@memory", "stored": True, "id": told["id"], "reason": ""}
    assert prompt("@memory likes tea")[1]["reason"] == "duplicate" and prompt("@memory")[1]["reason"] == "empty"
    assert prompt("write to mail@memory.org") == (["[2026-03-10] likes tea"], None)
    shown, told = prompt("Please remember that my cat is Tofu")
    assert [line[13:] for line in shown] == ["likes tea", "Please remember that my cat is Tofu"]
    assert told["by"] == "phrase" and prompt("@memory more", MEMORY_MODE="agent")[1] is None
    assert prompt("@memory more", ENABLE_SAVED_MEMORY=0) == ([], None)
    assert prompt("@memory more", ENABLED_TOOL_IDS=["weather"])[1] is None and len(texts(stage)) == 2


def talk(stage: Stage, title: str, summary: str = "We spoke.", minutes: float = 60, path: str | None = None) -> None:
    given = [{"text": f"hello {title}", "sender_id": "ann", "timestamp": NOW - timedelta(minutes=minutes)}]
    answer, scope = json.dumps({"title": title, "summary": summary}), stage.scope(path or HERE)
    ended = add_recent_conversation(given, lambda _: answer, wait=True, db=stage.db, settings=PLAIN, scope=scope)
    assert ended.stored, ended


def memory(stage: Stage, **flags: Any) -> str | None:
    return conversations.get_user_memory_prompt(db=stage.db, settings=Settings(**flags), scope=stage.scope(HERE))


def parts(made: str | None) -> list[str]:
    return re.findall(r"^<(\w+)>$", made or "", re.MULTILINE)


def test_c19_the_two_switches_act_independently(stage: Stage) -> None:
    save(stage, "I like tea", who=None)

    def shown(recent: bool, saved: bool) -> list[str]:
        return parts(memory(stage, enable_recent_conversations=recent, enable_saved_memory=saved))

    switches = ((True, True), (True, False), (False, True), (False, False))
    assert [shown(*each) for each in switches] == [["saved_memories"], [], ["saved_memories"], []]
    assert memory(stage, enable_saved_memory=False) is None
    talk(stage, "Trip")
    both = ["recent_conversations", "saved_memories"]
    assert [shown(*each) for each in switches] == [both, both[:1], both[1:], []]


def test_c21_a_part_that_cannot_be_read_is_absent_and_the_other_comes(caplog: pytest.LogCaptureFixture) -> None:
    db = open_db("sqlite://")
    stage = Stage(db)
    talk(stage, "Trip")
    save(stage, "I like tea", who=None)
    db.transaction(lambda c: c.execute(sql_text("DROP TABLE conversation_summaries")), source="test")
    assert parts(memory(stage)) == ["saved_memories"]
    assert "memory_part_not_read source='conversation_summaries'" in caplog.text
    prompt, report = stage.explain("hello")
    assert prompt["context"]["saved_memories"] == ["[2026-03-10] I like tea"]
    assert "recent_conversations" not in prompt["context"] and "conversation_summaries" in failed(report)
    db.close()


def test_c22_a_system_prompt_with_memory(stage: Stage) -> None:
    call = stage.asking(HERE)
    assert get_system_prompt_with_memory("Be kind.", **call) == "Be kind."
    assert load_memory(**call) == {"recent": [], "saved": []} and memory(stage) is None
    save(stage, "I like tea", who=None)
    saved = "<saved_memories>\n- [2026-03-10] I like tea\n</saved_memories>"
    assert get_system_prompt_with_memory("Be kind.", **call) == f"Be kind.\n\n{saved}"
    talk(stage, "Trip", "We fly.")
    loaded = load_memory(**call)
    assert [one["text"] for one in loaded["saved"]] == ["I like tea"]
    recent = [(one["title"], one["time"], one["summary"]) for one in loaded["recent"]]
    assert recent == [("Trip", "2026-03-10 11:00", "We fly.")]
    assert load_memory(**{**call, "settings": Settings(memory_mode="project")}) == {"recent": [], "saved": []}


def test_c20_the_memory_prompt_selects_as_the_json_prompt_does(stage: Stage) -> None:
    """The first thing a person asked to remember is not lost because of 34 others."""
    save(stage, "I am allergic to nuts", who=None)
    for n in range(34):
        save(stage, f"fact {n}", who=None)
    shown = [line.removeprefix("- ") for line in (memory(stage) or "").splitlines() if line.startswith("- ")]
    assert shown[0] == "[2026-03-10] I am allergic to nuts" and shown == stage.context("hello")["saved_memories"]
    assert "] I am allergic to nuts" in get_system_prompt_with_memory("Base.", **stage.asking(HERE))


def test_c23_the_sections_of_the_prompt(stage: Stage) -> None:
    for n in range(30):
        talk(stage, f"T{n}", minutes=100 - n, path=f"tg/c23-{n}")
        if n < 12:
            save(stage, f"fact {n}", who=None)
    prompt, report = stage.explain("hello", SAVED_CHARS=33)
    context, told = prompt["context"], report["sections"]["saved_memories"]
    newest = [f"T{n}" for n in range(20, 30)]
    assert [one["title"] for one in context["recent_conversations"]] == newest
    assert context["recent_conversations"][-1] == {"title": "T29", "time": "2026-03-10 10:49", "summary": "We spoke."}
    assert context["saved_memories"] == [f"[2026-03-10] fact {n}" for n in range(7, 12)]
    assert (told["found"], told["kept"], reasons(report, "saved_memories")) == (12, 5, ["cut"] * 7)
    assert list(context).index("recent_conversations") < list(context).index("saved_memories")
    heads = [line for line in (memory(stage, saved_chars=8) or "").splitlines() if line.startswith(("## ", "- "))]
    assert heads == [*(f"## {title}" for title in newest), "- [2026-03-10] fact 11"]
    off, bare = stage.explain("hello", ENABLE_RECENT_CONVERSATIONS=0, ENABLE_SAVED_MEMORY=0)
    assert "recent_conversations" not in off["context"] and "saved_memories" not in off["context"]
    fewer = stage.context("hello", MAX_RECENT_CONVERSATIONS=10)
    assert [one["title"] for one in fewer["recent_conversations"]] == newest
    small, report = stage.explain("hello", max_chars=bare["size"] - 45)
    assert "saved_memories" not in small.get("context", {}) and report["sections"]["saved_memories"]["kept"] == 0


def test_c23_pinned_ones_come_first_then_those_that_match_then_the_newest() -> None:
    texts = ["old pinned", "old tofu", "tofu with rice", "new", "newest"]
    rows = [SavedText(n, text, int(n == 0), None, None, None) for n, text in enumerate(texts)]

    def chosen(chars: int, *words: str) -> list[int]:
        return [row.id for row in choose_saved(rows, words, Settings(saved_chars=chars))]

    assert [chosen(chars, "tofu", "rice") for chars in (10, 24, 32, 38)] == [[0], [0, 2], [0, 1, 2], [0, 1, 2, 4]]
    assert chosen(12) == [0], "a longer one makes room for none"
    assert [row.id for row in choose_saved(rows[1:], (), Settings(saved_chars=9))] == [3, 4]


def test_c23_a_saved_memory_that_matches_is_shown_before_all_that_do_not(stage: Stage) -> None:
    asked = {"What is the garage code?": "My garage code is 8812", "Where is my boat?": "The boat is at pier nine"}
    for text in asked.values():
        save(stage, text, who=None)
        stage.remember(f"Somebody said: {text}!", path=HERE)
    for n in range(80):
        save(stage, f"Sample {n} lies in rack {n % 7} of drawer {n % 5}", who=None)
    for (question, text), chars in itertools.product(asked.items(), (1500, 4000)):
        context = stage.context(question, max_chars=chars)
        lines = context["saved_memories"]
        assert f"[2026-03-10] {text}" in lines and len(lines) > 3, (question, chars)
        assert context["memories"][0]["snippet"].startswith("Somebody said: ")
        prompt = build_messages(message(question), max_chars=chars, **stage.asking(HERE))
        assert f"\n- [2026-03-10] {text}\n" in str(prompt[-1]["content"]), (question, chars)


def test_p40_lite_mode_keeps_ten_saved_memories_and_two_conversations(stage: Stage) -> None:
    for n in range(40):
        save(stage, f"fact {n}", who=None)
    for n in range(4):
        stage.say(f"we spoke of trip {n}", f"tg/trip{n}", minutes=5000 - n)
        ended = add_recent_conversation(wait=True, **stage.asking(f"tg/trip{n}"))
        assert ended.stored, ended
    context = stage.context("hello", UNIFIED_HISTORY=0)
    lite = stage.context("hello", PROMPT_LITE_MODE=1, UNIFIED_HISTORY=0)
    assert (len(context["saved_memories"]), len(context["recent_conversations"])) == (40, 4)
    assert lite["saved_memories"] == [f"[2026-03-10] fact {n}" for n in range(30, 40)]
    assert len(lite["recent_conversations"]) == 2


def listed(stage: Stage, path: str = HERE, who: str = "ann") -> list[str]:
    return texts(stage, path, who, "instruction")


def shown(stage: Stage, path: str = HERE, **more: Any) -> list[str]:
    """Return the standing instructions in a prompt, without their days."""
    found: list[str] = stage.context("hello", path=path, **more).get("standing_wishes", [])
    assert all(re.match(r"\[20\d\d-\d\d-\d\d\] \S", line) for line in found)
    return [line[13:] for line in found]


def call(stage: Stage, path: str = HERE, **flags: Any) -> dict[str, Any]:
    return stage.asking(path, "tg/ann", **flags)


WISHES: list[list[str]] = [
    # nothing is asked for, or not by a person
    ["call me ", "From now on, please", "Please remember that"],
    # a newer one about the same takes the place of an older one; one that is stored late changes nothing
    ["-I am vegetarian", "+Call me Jo", "+I'm vegan now"], ["+Call me Kim", "+Don't call me Jo anymore"],
    # said again it is one, and what is taken back ends
    ["+I am vegan", "i am  vegan"], ["-Call me Jo", LATEX, "Don't call me Jo anymore"],
    ["-Always answer in German", LATEX, "you can answer in English again"],
    ["-I am vegetarian", LATEX, "Actually I'm no longer vegetarian."],
    ["-Never use emojis", LATEX, "You can use emojis again"],
    ["-I'm allergic to nuts", LATEX, "I'm not allergic to nuts anymore"],
    ["-Nenn mich Jo", LATEX, "Nenn mich bitte nicht mehr Jo"], ["-Appelle-moi Jo", LATEX, "Ne m'appelle plus Jo"],
    ["-Please call me Admiral from now on.", LATEX, "Don't call me Admiral anymore."],
    # a former name again
    ["-Always call me Captain.", "+You can call me Ben again."], ["-Don't call me Jo", "+You can call me Jo again"],
    ["-Call me Kim", "+Feel free to call me Jo again"], ["-Llámame Kim", "+Ya puedes volver a llamarme Jo"],
    ["-别叫我小王", "+你可以重新叫我小王了"], ["+Call me Max", "Everyone calls me Maxi at work"],
    ["-Call me Max", "Everyone calls me Maxi at work", LATEX, "Don't call me Max anymore"],
    ["+Call me Kim", "+Never call me Jo again"],
    # another name instead of the former one
    ["-nenn mich Ben", "+ab jetzt bitte Benni statt Ben"],
    ["-nenn mich Ben", "-ab jetzt bitte Benni statt Ben", "+nenn mich Max"],
    ["-Call me Jo", "+From now on always use Al instead of Jo."],
    ["+nenn mich Ben", "+ab jetzt bitte Tee statt Kaffee"],
    ["+Call me Jo", "+From now on always use lists instead of tables."],
    ["+Call me Basil", "+From now on use oregano instead of basil."],
    ["-call me jo", "+from now on always use al instead of jo"], ["+Nenn mich Tom", "+Nenn mich nie wieder Idiot"],
    ["-Call me Jo", "Stop calling me that."], ["-Call me Jo instead", "Don't call me Jo anymore"],
    ["-Call me Jo instead of Joanna", "Don't call me Jo"], ["-Nenn mich stattdessen Jo", "Nenn mich nicht mehr Jo"],
    ["+Call me Jo instead", "+Don't call me Joanna"], ["+I'm allergic to cats", "My cats are fine now."],
    ["-I don't eat fish", "I eat fish again."],
    ["-Estoy embarazada, nada de sushi.", "-Estoy embarazada, nada de queso crudo.", "Ya nació mi hijo."],
    ["+Estoy embarazada, nada de sushi.", "+Estoy embarazada, nada de queso crudo."],
    # a diet has begun; a taste, and an order between people, are none
    ["-I've gone vegan", LATEX, "I eat meat again"], ["-I've cut out dairy", LATEX, "I'm back on dairy"],
    ["+Ich verzichte auf Gluten", "-Virei vegana", "+Me volví vegano"],
    ["I prefer tea over coffee", "always bring snacks", "never play with Max"], ["Ich mag lieber Tee als Kaffee"],
    ["+I prefer Celsius over Fahrenheit"],
    # what is allowed is less than what is forbidden
    ["+No spoilers please", "+You can spoil Dune"], ["+No spoilers please", "+You can spoil Dune again"],
    ["-No spoilers please", "Now you can finally post spoilers again"],
    ["-No spoilers please", "Feel free to spoil it, I changed my mind"],
    ["-Benutze nie Emojis", "+Du darfst Emojis in Glückwünschen benutzen", "Du darfst Emojis benutzen"],
    ["-I don't eat fish", "I eat fish again, it is ok to suggest it"], ["+I don't eat meat", "+I eat fish again"],
    ["-I don't eat meat", "I eat fish and meat again"], ["+Ich esse kein Fleisch", "+Ich esse wieder Fisch"],
    ["+肉を食べません", "+また魚を食べています"], ["-肉を食べません", "また肉を食べています"],
    ["+我不吃肉", "+我又吃鱼了"], ["-我不吃肉", "我又吃肉了"],
    ["-I've gone vegan", "I eat fish again"], ["+不要剧透", "+你可以剧透沙丘"], ["-不要剧透", "现在可以给我剧透了"],
    ["+政治の話はしないで", "+地方の政治の話はしていいよ"], ["-政治の話はしないで", "政治の話をしてもいいよ"],
    ["-Nunca use emojis", "Os emojis são permitidos novamente"],
    # without a word for what ends
    ["+Always answer in rhymes", "-Never use emojis", "scrap that"],
    ["+Always answer in rhymes", "A fox came by.", "scrap that"],
    ["-Always answer in rhymes", "A fox came by.", "Forget that rule, please."],
    ["+I'm allergic to nuts", "scrap that", "forget that rule"],
    # in sloppy words
    ["-I'm vegetarian", "not vegetarian any more, had a burger"],
    ["-i can't have dairy", "+i have epilepsy, warn me", "I can have dairy again"],
    ["-Milch vertrag ich nicht", "+hab Epilepsie", "Milch vertrage ich wieder"],
    ["+doc says im lactose intolerant", "+le médecin dit que je suis diabétique",
     "my doctor says my mother is diabetic"],
    ["vegan here in town is hard to find", "i can't have another coffee", "deine Witze vertrag ich nicht"],
    # forgotten in the words in which it was said
    ["-please remember that I'm allergic to nuts", "please forget that I'm allergic to cats",
     "people forget that I'm allergic to nuts", "please forget that I'm allergic to nuts"],
    ["-Merk dir, dass ich gegen Nüsse allergisch bin", "Bitte vergiss, dass ich gegen Nüsse allergisch bin"],
    ["+Je suis allergique aux noix", "+N'oublie pas que je suis allergique aux noix"],
    # of several wishes in one sentence, only what is named ends
    ["+I prefer short answers, no bullet lists pls", "+you can use bullet lists again"],
    ["+call me Bo and write short mails for me", "+you don't have to call me Bo any more"],
    ["If I am tired, call me Bo and don't use emojis"],
    # a fact joined to a wish is none
    ["+From now on answer in English and work with metric units"],
    ["+My name is Jo and I live in Rome, but call me Al"],
    # in spoken words
    ["-My pronouns are she/her", "+my pronouns are they/them now"],
    ["-ich bin Vegetarier", LATEX, "ich ess jetzt wieder Fisch"],
    ["-keine Emojis mehr bitte", "doch wieder Emojis bitte"], ["-duz mich bitte", "+siez mich doch lieber"],
]  # fmt: skip
"""What somebody says in turn. A plus stands before what holds afterwards, a minus before what was ended."""


def split_marks(said: list[str]) -> tuple[list[str], list[str], list[str]]:
    """Return what is said, what holds, and what was ended, the newest first."""
    held, ended = ([text[1:] for text in said if text[0] == mark] for mark in "+-")
    return [text.lstrip("+-") for text in said], held, ended[::-1]


@pytest.mark.parametrize(("said", "holding", "ended"), [
    *map(split_marks, WISHES),
    # of several wishes in one text, only what is named ends; a fact joined to a wish is none
    ([("Call me Iris", {"who": "self"}), ("Always answer in French.", {"role": "narrator"})], [], []),
    (["Call me Jo", ("Call me Jonathan", {"minutes": 500})], ["Call me Jo"], []),
    (["Call me Jo and I'm allergic to nuts", "Call me Kim"], ["I'm allergic to nuts", "Call me Kim"], ["Call me Jo"]),
    (["I love tea and I'm vegan", "I'm not vegan after all"], [], ["I'm vegan"]),
    # the old state and the new one in one sentence
    (["im vegan", "im vegetarian now, no longer vegan"], ["im vegetarian now"], ["im vegan"]),
    (["im vegan", "im not vegan anymore, im vegetarian now"], ["im vegetarian now"], ["im vegan"]),
    (["im vegetarian", "i eat meat again but no pork"], ["no pork"], ["im vegetarian"]),
    (["Ich bin vegan", "Ich bin jetzt Vegetarier, nicht mehr vegan"], ["Ich bin jetzt Vegetarier"], ["Ich bin vegan"]),
    (["call me Jo", "stop calling me Jo, call me Kim"], ["call me Kim"], ["call me Jo"]),
    (["call me Emo from now on", "call me Emil again pls"], ["call me Emil again pls"], ["call me Emo from now on"]),
    (["no emojis please", "one emoji per message is fine"], ["one emoji per message is fine"], ["no emojis please"]),
    (["vegan here", "ok so i'm not vegan anymore, vegetarian now"], ["vegetarian now"], ["vegan here"]),
    (["Call me Bo from now on, and never use emojis", "Emojis are fine again"], ["Call me Bo from now on"],
     ["never use emojis"]),
    (["Nenn mich Bo und benutze keine Emojis", "Nenn mich nicht mehr Bo"], ["benutze keine Emojis"], ["Nenn mich Bo"]),
    (["hallo, ich heiße Ben und wohne in Kassel"], ["hallo, ich heiße Ben"], []),
    (["My name is Jo and I live in Rome."], ["My name is Jo"], []),
    (["My name is Ann, I live in Hamburg and I work as a nurse."], ["My name is Ann"], []),
    (["My name is Tim, my girlfriend is Lea."], ["My name is Tim"], []),
    (["mi chiamo Ben e vivo a Kassel"], ["mi chiamo Ben"], []),
    (["Me llamo Lucía, vivo en Sevilla."], ["Me llamo Lucía"], []),
    (["Ich heiße Jana, ich wohne in Leipzig."], ["Ich heiße Jana"], []),
    (["Je m'appelle Claire, j'habite à Nantes"], ["Je m'appelle Claire"], []),
    (["ich heiße Ben und bin Vegetarier"], ["ich heiße Ben", "bin Vegetarier"], []),
], ids=str)  # fmt: skip
def test_c12_which_wishes_hold(stage: Stage, said: list[Any], holding: list[str], ended: list[str]) -> None:
    for n, each in enumerate(said):
        text, more = each if isinstance(each, tuple) else (each, {})
        stage.say(text, **{"minutes": 90 - n, **more})
    items = conversations.list_saved_memories(kind="instruction", **call(stage))
    gone = lifelong.search_items(archived=True, **call(stage))["items"]
    assert sorted(shown(stage)) == sorted(holding) and listed(stage) == holding
    assert [each["text"] for each in gone] == ended
    if said == ["I am vegan", "i am  vegan"]:
        assert [item["saved_at"] for item in items] == [(NOW - timedelta(minutes=89)).isoformat()]


@pytest.mark.parametrize(("text", "more", "holds"), [
    ("@Anna please answer me in English", {}, False), ("@Anna Lee, call me Jo", {}, False),
    ("<@77> please answer me in English", {}, False), ("<@1000> please answer me in English", {}, True),
    ("@Iris please answer me in English", {}, True), ("@iris_tea please answer me in English", {}, True),
    ("@tea_house_bot please answer me in English", {}, True), ("@Luna please answer me in English", {}, True),
    ("@Luna please answer me in English", {"is_addressed": True}, True),
    ("@Luna please answer me in English", {"is_addressed": False}, False),
    ("please answer me in English", {"reply_to_message": {"text": "hi", "from_user": ANNA}}, False),
    ("please answer me in English", {"reply_to_message": {"text": "hi", "from_user": {"id": "ann"}}}, True),
    ("please answer me in English", {"reply_to_message": {"text": "hi", "sender_id": "self"}}, True),
    ("please answer me in English", {"reply_to_message": {"message_id": "own", "from_user": {"id": "99"}}}, True),
    ("Iris, call me Jo", {"reply_to_message": {"text": "hi", "from_user": ANNA}}, True),
    ("I'm allergic to nuts", {"reply_to_message": {"text": "hi", "from_user": ANNA}}, True),
    ("@Anna I'm vegan", {}, True),
], ids=str)  # fmt: skip
def test_c12_what_is_said_to_others_is_no_wish(stage: Stage, text: str, more: dict[str, Any], holds: bool) -> None:
    """`@Anna please answer me in English` was from then on asked of the persona. A fact about the speaker is kept."""
    stage = Stage(stage.db, f"iris-{stage.persona}")
    asking: dict[str, Any] = {"db": stage.db, "scope": Scope(stage.persona)}
    stage.say("welcome", who="self", message_id="own", minutes=40)
    stage.say("hello", who="77", minutes=30)
    stage.say("hello", who="Anna", minutes=30)
    said = {**message("please always answer me in German"), "date": NOW - 20 * MINUTE, "message_id": "m1"}
    assert save_message(said, **asking).stored
    assert save_message({**said, "text": text, "date": NOW - 9 * MINUTE, "message_id": "m2", **more}, **asking).stored
    held = ["please always answer me in German"]
    assert [each for each in listed(stage) if each not in held] == ([text] if holds else [])
    assert holds or listed(stage) == held
    assert edit_chat_message("m2", text + "!", interface_path=HERE, **asking).stored
    assert [each for each in listed(stage) if each not in held] == ([text + "!"] if holds else [])


def test_f12_a_wish_of_a_direct_message_holds_there_alone_and_a_public_one_in_its_server(stage: Stage) -> None:
    """What somebody tells in private is not to be acted upon in front of others."""
    stage.say("Call me Jo", DIRECT, minutes=50)
    stage.say("I am vegan", HERE, minutes=40, server="s1")
    assert shown(stage, "tg/44", scope=stage.scope(server="s1")) == ["I am vegan"]
    assert shown(stage, "tg/45", scope=stage.scope(server="s2")) == [] and "Call me Jo" in shown(stage, DIRECT)
    stage.say("I'm not vegan anymore", DIRECT, minutes=30)  # of what is not seen there, nothing is changed
    assert listed(stage, HERE) == ["I am vegan"]


def test_f12_what_ends_in_a_direct_message_holds_there_and_not_in_the_server(stage: Stage) -> None:
    """With SERVER_IN_DIRECT a direct message followed the room's `no emojis` after `you can use emojis again`."""
    room = {"path": "tg/44", "scope": stage.scope(server="s1")}
    for n, text in enumerate(("Please never use emojis", "I'm allergic to nuts", "Never mention my boat")):
        stage.say(text, HERE, minutes=50 - n, server="s1")
    given = shown(stage, DIRECT, SERVER_IN_DIRECT=True)
    assert given == shown(stage, **room) and len(given) == 3
    asking = {**call(stage, DIRECT), "settings": Settings(server_in_direct=True)}
    for text in ("You can use emojis again", "Tables are fine again"):
        save_chat_message(DIRECT, text, "Ann", "ann", NOW - 30 * MINUTE, **asking)
    assert shown(stage, **room) == given
    held = shown(stage, DIRECT, SERVER_IN_DIRECT=True)
    assert held == ["Never mention my boat", "You can use emojis again", "I'm allergic to nuts"]
    stage.say("No emojis after all, please", DIRECT, minutes=10)
    assert "You can use emojis again" not in shown(stage, DIRECT, SERVER_IN_DIRECT=True)
    save_chat_message(DIRECT, "Emojis are fine again", "Ann", "ann", NOW - 9 * MINUTE, **asking)
    assert shown(stage, DIRECT, SERVER_IN_DIRECT=True)[1] == "Emojis are fine again"


@pytest.mark.engines()
def test_c12_whose_wishes_hold_where(stage: Stage) -> None:
    stage.say("Call me Jo", HERE, minutes=50)
    stage.say("Call me Captain", DIRECT, minutes=40)
    stage.say("Call me Bobby", who="Bob")
    assert (shown(stage, DIRECT), shown(stage, HERE)) == (["Call me Captain"], ["Call me Jo"])
    assert shown(stage, who="Bob") == listed(stage, who="bob") == ["Call me Bobby"]
    assert shown(stage, who="Cid") == listed(Stage(stage.db)) == []
    stage.say("Call me Kim", "dc/7", who="Ann", minutes=10)
    link_participants("dc/ann", "tg/ann", **stage.asking())
    assert shown(stage, HERE) == ["Call me Kim"]
    stage.say("Don't call me Kim anymore", HERE, minutes=5)
    assert shown(stage, HERE) == ["Call me Jo"]
    stage.say("Call me Ada", "dc/7", who="Ann", minutes=4)
    stage.say("Don't call me Ada anymore", HERE, minutes=3)
    assert shown(stage, HERE) == []
    stage.say("I am vegan", HERE, minutes=2)
    stage.say("I'm not vegan anymore", DIRECT, minutes=1)
    assert (shown(stage, DIRECT), shown(stage, HERE)) == (["Call me Captain"], [])


@pytest.mark.parametrize(("level", "kept"), [("none", 1), ("partial", 0), ("full", 0)])
def test_f20_who_may_not_be_remembered_has_no_wishes(stage: Stage, level: str, kept: int) -> None:
    set_privacy("tg/ann", level, **stage.asking())
    chat_history_cache.save_chat_message(HERE, "Call me Jo", "Ann", "ann", **call(stage))
    assert len(listed(stage)) == kept
    again = conversations.add_saved_memory("I am vegan", kind="instruction", **call(stage))
    assert again.reason == ("" if kept else "privacy")


def test_c12_the_newest_instructions_are_shown_others_reported(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.say_all((f"I don't eat {food}." for food in ("pork", "beef", "fish", "garlic")), minutes=90)
    monkeypatch.setattr(section_instructions, "INSTRUCTIONS_IN_PROMPT", 2)
    prompt, report = stage.explain("hello")
    assert prompt["context"]["standing_wishes"] == [f"[2026-03-10] I don't eat {food}." for food in ("fish", "garlic")]
    assert reasons(report, "standing_wishes") == ["cut", "cut"]
    assert "standing_wishes" not in stage.context("hello", MEMORY_MODE="project")


def test_c12_an_illness_is_shown_however_much_is_asked_for_later(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.say("I'm allergic to nuts.", minutes=90)
    stage.say_all((f"I don't eat {food}." for food in ("pork", "beef", "fish")), minutes=80)
    stage.say("Call me Kim, I'm diabetic.", minutes=70)
    stage.say("Call me Jo.", minutes=60)
    monkeypatch.setattr(section_instructions, "INSTRUCTIONS_IN_PROMPT", 3)
    assert shown(stage) == ["Call me Jo.", "I'm allergic to nuts.", "Call me Kim, I'm diabetic."]


@pytest.mark.parametrize("switch", ["ENABLE_SAVED_MEMORY", "RECORD_WISHES"])
def test_c12_each_switch_neither_stores_nor_shows_wishes(stage: Stage, switch: str) -> None:
    stage.say("Call me Jo")
    assert shown(stage) == ["Call me Jo"] and shown(stage, **{switch: 0}) == []
    off = call(stage, **{switch: False})
    chat_history_cache.save_chat_message(HERE, "I am vegan.", "Ann", "ann", **off)
    assert conversations.add_saved_memory("I don't eat pork", kind="instruction", **off).reason == "disabled"
    assert listed(stage) == ["Call me Jo"]
    context = stage.context("Am I vegan?", CONTEXT_VERBOSITY=0, **{switch: 0})
    assert "saved_memories" not in context and "standing_wishes" not in context


@pytest.mark.engines()
def test_c12_instructions_are_refused_listed_added_deleted_and_restored(stage: Stage) -> None:
    assert conversations.add_saved_memory(" \n ", kind="instruction", **call(stage)).reason == "empty"
    assert conversations.add_saved_memory("x" * 301, kind="instruction", **call(stage)).reason == "too_long"
    with pytest.raises(MessageError):
        conversations.add_saved_memory("x", kind="wish", **call(stage))
    made = conversations.add_saved_memory("  Call me\nJo ", kind="instruction", **call(stage))
    assert made.stored
    again = conversations.add_saved_memory("call me jo", kind="instruction", **call(stage))
    assert again == (False, made.id, "duplicate")
    newer = conversations.add_saved_memory("Call me Kim", kind="instruction", **call(stage))
    assert listed(stage) == ["Call me Kim"] and conversations.list_saved_memories(**call(stage)) == []
    assert conversations.delete_saved_memory(newer.id, **call(stage)) == (True, newer.id, "")
    assert conversations.delete_saved_memory(newer.id, **call(stage)).reason == "unchanged" and listed(stage) == []
    assert conversations.delete_saved_memory(newer.id, restore=True, **call(stage)).stored
    assert conversations.delete_saved_memory(made.id, restore=True, **call(stage)).stored
    assert listed(stage) == ["Call me Jo"], "what is restored takes the place of what held"
    assert conversations.delete_saved_memory(made.id, restore=True, **call(stage)).reason == "unchanged"
    assert lifelong.restore_items([newer.id], **call(stage)).count == 1 and listed(stage) == ["Call me Kim"]
    assert lifelong.edit_item(newer.id, "I am vegan", **call(stage)).stored
    assert conversations.add_saved_memory("Call me Max", kind="instruction", **call(stage)).stored
    assert listed(stage) == ["I am vegan", "Call me Max"]
    assert lifelong.search_items(archived=True, **call(stage))["total"] == 1


def test_c12_a_wish_out_of_sight_is_as_one_that_never_was(stage: Stage) -> None:
    private = conversations.add_saved_memory("Call me Jo", kind="instruction", **call(stage, DIRECT)).id
    for number in (private, 12345, 0):
        for restore in (False, True):
            assert not conversations.delete_saved_memory(number, restore=restore, **call(stage, HERE)).stored
    assert listed(stage, DIRECT) == ["Call me Jo"]


@pytest.mark.engines()
def test_g16_a_wish_and_its_message_are_stored_together_or_not(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_instructions, "record_instructions", Mock(side_effect=RuntimeError("no")))
    with pytest.raises((RuntimeError, StoreWriteError)):
        stage.say("Call me Jo")
    monkeypatch.undo()
    assert chat_history_cache.load_chat_history(HERE, **stage.asking(HERE)) == [] == listed(stage)


def test_c12_a_wish_that_was_saved_as_well_is_shown_once_and_no_hit_twice(stage: Stage) -> None:
    """The message is read by itself, and the model's tool saves the same words a moment later."""
    stage.say("I am vegan", minutes=20)
    conversations.add_saved_memory("I am  vegan", **call(stage))
    conversations.add_saved_memory("I live in Rome", **call(stage))
    prompt, report = stage.explain("hello")
    assert prompt["context"]["standing_wishes"] == ["[2026-03-10] I am vegan"]
    assert prompt["context"]["saved_memories"] == ["[2026-03-10] I live in Rome"]
    assert reasons(report, "saved_memories") == ["duplicate"]
    found = [hit["snippet"] for hit in stage.context("vegan recipes?", CONTEXT_VERBOSITY=5)["memories"]]
    assert found.count("I am vegan") <= 1
