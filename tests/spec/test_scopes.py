"""Who sees and changes what: prompts, known servers in direct messages, row ids, what stays local (F1 to F18)."""

import importlib
import inspect
import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from sqlalchemy import select

from core import Scope, ai_diary, chat_history_cache, conversations, lifelong, short_term, stories, transfer
from core.chat_history_cache import load_chat_history, load_global_chat_history
from core.config import Settings
from core.database.schema import TABLES
from core.database.schema_base import metadata
from core.errors import CoreError, ItemNotFoundError, MessageError
from core.privacy import link_participants, set_conversation_local_only, set_conversation_privacy, set_privacy
from core.synth_core_memory import search_memories, silently_record_memory
from tests.spec.stage import ELSEWHERE, HERE, NOW, Stage, reasons, said
from tests.store.world import rows_of, run_at_once, verify_index

STAFF, THREAD = "discord/c9", "discord/c9/t1"
ALL = ("staff", "thread", "sibling", "lookalike", "elsewhere", "public")
PLACES = ("public", "second", "staff", "direct")
WORD = "zqharbour"
ROOM, DIRECT = "tg/-5", "tg/ann"
OPERATORS = {"cancel", "retry_operation", "forget", "revoke_token"}
"""docs/privacy.md lists them as for operators."""
MODULES = (
    "ai_diary chat_history_cache conversations forgetting jobs lifelong privacy prompt_engine relationships short_term "
    "stories synth_core_memory tokens"
)
INCOMING = "build_json_prompt build_messages explain_json_prompt explain_messages save_message scope_of"
"""Their `message` is the host's own."""
LOCAL = "zqlocal"
COUNTED = ("chat_history_cache", "conversations", "memories", "ai_diary")


def live(text: str, who: str, **more: Any) -> dict[str, Any]:
    return {"sender_name": who, "sender_id": who.lower(), "text": text, "timestamp": NOW.isoformat(), **more}


def test_f13_live_lines_of_a_direct_message_stay_there(stage: Stage) -> None:
    stage.say("hello there", "discord/bobs", "Bob", minutes=60, privacy="direct")
    memory = {
        "discord/bobs": [live("canary stored private", "Bob")],
        "discord/bob": [live("canary chat is sender", "Bob")],
        "discord/cid": [live("canary says private", "Dan", is_private=True)],
        "discord/eve": [live("canary chat type", "Fay", chat={"type": "private"})],
        "discord/bobs/7": [live("canary thread", "Bob")],
        "discord/open": [live("fine", "Gus")],
    }
    prompt, report = stage.explain("canary", memory, path="discord/x", is_private=False)
    assert "canary" not in str(prompt["context"]) and "fine" in str(prompt["context"]["history_recent"])
    assert reasons(report, "history_recent") == ["private"] * 5


def test_f81_a_room_of_two_servers_shows_its_own_lines_stored_and_live(stage: Stage) -> None:
    room, asked = "irc/general", {"server_id": "beta", "is_private": False}
    for server in ("alpha", "beta"):
        stage.say(f"canary of {server}", room, "Bob", minutes=9, server=server)
    context = stage.context("what", {room: [live("live", "Bob")]}, path=room, **asked)
    assert said(context["history_current_chat"]) == ["canary of beta", "live"] and context["history_recent"] == []


def test_f18_local_only_rows_enter_local_prompts_alone(stage: Stage) -> None:
    stage.remember("canary kept local", ["canary"], local_only=True)
    stage.diary("canary day", local_only=True, personal_thought="canary thought")
    assert "canary" not in str(stage.context("canary"))
    inside = stage.context("canary", destination="local")
    assert "canary kept local" in str(inside["memories"])
    assert "canary day" in str(inside["ai_diary"]) and "canary thought" in str(inside["ai_diary"])
    assert "canary" not in str(stage.context("canary", AI_DIARY_FULL=0))
    assert "canary thought" in str(stage.context("canary", destination="local", AI_DIARY_FULL=0)["thoughts"])
    by_scope = Scope(persona=stage.persona, destination="local")
    assert "canary kept local" in str(stage.context("canary", scope=by_scope))
    assert "canary kept local" in str(stage.context("canary", PROMPT_DESTINATION="local"))
    with pytest.raises(ValueError, match="destination"):
        stage.prompt("canary", destination="moon")


def test_f3_what_a_message_says_of_its_persona_is_data(stage: Stage) -> None:
    other = Stage(stage.db)
    other.remember("canary of another", ["canary"])
    asked = {"persona_id": other.persona, "persona": other.persona, "payload": {"persona_id": other.persona}}
    assert "another" not in str(stage.context("canary", {"persona_id": other.persona}, **asked))


def staff(stage: Stage) -> None:
    """A restricted channel of s1 with two threads, one like it on another server, and a channel with a like name."""
    places = {"staff": STAFF, "thread": THREAD, "sibling": f"{STAFF}/t2", "lookalike": "discord/c90/t1"}
    for name, path in {**places, "elsewhere": f"{STAFF}/t3"}.items():
        server = "s1" if name in places else "s2"
        stage.say(f"zebra {name}", path, "Cid", minutes=40, server=server, privacy="restricted")


def words(context: dict[str, Any], *of: str) -> set[str]:
    return {word for word in of if f"zebra {word}" in str(context)}


def test_f12_f13_f14_a_thread_of_a_staff_channel_is_seen_in_it_stored_and_live(stage: Stage) -> None:
    staff(stage)
    stage.say("zebra public", "discord/c1", "Cid", minutes=40, server="s1")
    seen = {
        path: words(stage.context("zebra", path=path, server_id=server, is_private=private), *ALL)
        for path, server, private in (
            (STAFF, "s1", True), (THREAD, "s1", True), ("discord/c1", "s1", False), ("discord/new", "s1", True),
            ("discord/c9", "s2", True),
        )
    }  # fmt: skip
    assert seen["discord/c9"] == {"elsewhere"}, "the channel of this name on another server"
    assert seen[THREAD] == {"thread", "public"}, "there may be fewer people in a thread"
    assert seen["discord/c1"] == seen["discord/new"] == {"public"}
    live = {THREAD: [{"text": "zebra live", "sender_name": "Cid", "timestamp": "2026-03-10T11:59:00Z"}]}
    here = stage.context("zebra", live, path=STAFF, server_id="s1", is_private=True)
    elsewhere = stage.context("zebra", live, path="discord/c8", server_id="s1", is_private=True)
    assert words(here, "live") == {"live"} and words(elsewhere, "live") == set()


def town(stage: Stage) -> None:
    for who in ("Ann", "Bob"):
        low = who.lower()
        for place, path, more in (
            ("public", "discord/c1", {"server": "s1"}), ("second", "discord/c2", {"server": "s2"}),
            ("staff", STAFF, {"server": "s1", "privacy": "restricted"}),
            ("direct", f"discord/{low}", {"privacy": "direct"}),
        ):  # fmt: skip
            stage.say(f"zebra {low} {place} line", path, who, minutes=500, **more)
            stage.remember(f"zebra {low} {place} memory", ["zebra"], 60, path, participant=f"discord/{low}", **more)
            by = stage.asking(path, f"discord/{low}", **more)
            conversations.add_saved_memory(f"zebra {low} {place} saved", **by)
            chat_history_cache.save_chat_message(path, f"Call me {low} {place}", who, low, **by)
    stage.say("zebra persona line", "discord/c1", "self", minutes=50, server="s1", participant="discord/ann")


def heard(context: dict[str, Any]) -> set[str]:
    return {f"{who} {place}" for who in ("ann", "bob") for place in PLACES if f"{who} {place}" in str(context)}


def direct(stage: Stage, who: str = "ann", path: str | None = None, **flags: Any) -> dict[str, Any]:
    return stage.context("zebra", path=path or f"discord/{who}", who=who.title(), is_private=True, **flags)


def test_f16_server_in_direct_sees_what_is_public_on_the_servers_where_the_person_spoke(stage: Stage) -> None:
    town(stage)
    stage.say("zebra cid third line", "discord/c3", "Cid", minutes=50, server="s3")
    assert heard(direct(stage)) == {"ann direct"}
    known = direct(stage, SERVER_IN_DIRECT=1, CONTEXT_VERBOSITY=30)
    assert heard(known) == {"ann direct", "ann public", "ann second", "bob public", "bob second"}
    assert "cid third" not in str(known), "a server where the person has not spoken"
    texts = {hit["snippet"]: hit.get("speaker") for hit in known["memories"]}
    assert texts["zebra ann public line"] == "Ann" and texts["zebra bob second memory"] == "Bob"
    assert "zebra bob public saved" in str(known["saved_memories"])
    assert "Call me bob" not in str(known["standing_wishes"])
    # a direct conversation that is not known yet
    assert heard(direct(stage, path="discord/ann-new", SERVER_IN_DIRECT=1, CONTEXT_VERBOSITY=30)) >= {"ann public"}
    assert heard(direct(stage, "cid", SERVER_IN_DIRECT=1)) == set()


def test_f17_a_room_of_two_that_is_made_direct_still_knows_its_lines(stage: Stage) -> None:
    """It has no one person, so its rows belong to it alone; the host goes on naming the server."""
    for who in ("Ann", "Bob"):
        stage.say(f"zebra of {who}", "discord/c1", who, server="s1")
    there = stage.scope("discord/c1", participant="discord/ann", server="s1")
    assert set_conversation_privacy("discord/c1", "direct", db=stage.db, scope=there)["chat_history_cache"] == 2
    assert len(search_memories(keywords=["zebra"], db=stage.db, scope=there)) == 2
    elsewhere = stage.scope("discord/c2", participant="discord/ann", server="s1")
    assert search_memories(keywords=["zebra"], db=stage.db, scope=elsewhere) == []


def test_f16_private_stays_private_off_knows_the_server_of_the_conversation(stage: Stage) -> None:
    """A host that leaves out the server must not see less with the setting off than with it on."""
    for number, path in enumerate(("discord/c1", "discord/c2")):
        stage.say(f"line {number}", path, "Ann", server="s1")
    for server in ("s1", ""):
        lines = stage.context("hi", path="discord/c1", server_id=server, PRIVATE_STAYS_PRIVATE=0)["history_recent"]
        assert len(lines) == 1 and "line 1" in lines[0]


def test_f16_server_in_direct_takes_a_line_that_still_exists_and_a_level_that_allows_it(stage: Stage) -> None:
    stage.say("zebra ann public line", "discord/c1", "Bob", minutes=50, server="s1")
    row = stage.say("Hello", "discord/c1", "Ann", minutes=40, server="s1")
    stage.say("A reply", "discord/c2", "self", minutes=30, server="s2", participant="discord/ann")
    stage.say("zebra bob second line", "discord/c2", "Bob", minutes=30, server="s2")
    by, on = stage.asking("discord/c1", server="s1"), {"SERVER_IN_DIRECT": 1}
    for level, seen in (("none", {"ann public"}), ("partial", {"ann public"}), ("full", set())):
        set_privacy("discord/ann", level, **by)
        assert heard(direct(stage, **on)) == seen, level
    set_privacy("discord/ann", "none", **by)
    chat_history_cache.delete_chat_message(row, **by)
    assert heard(direct(stage, **on)) == set()


def test_f10_f22_prompts_and_searches_for_a_person_at_full_use_live_and_public_rows(stage: Stage) -> None:
    staff(stage)
    stage.say("zebra public", "discord/c1", "Cid", minutes=40, server="s1")
    stage.say("zebra mine", "discord/ann", "Ann", minutes=40, privacy="direct")
    direct_message: dict[str, Any] = {"path": "discord/ann", "is_private": True}
    channel: dict[str, Any] = {"path": STAFF, "server_id": "s1", "is_private": True}
    everything = {"staff", "thread", "sibling", "public"}
    for level, own, of_channel in (("partial", {"mine"}, everything), ("full", set[str](), {"public"})):
        set_privacy("discord/ann", level, **stage.asking("discord/ann"))
        for wide in (0, 1) if level == "full" else (1,):
            assert words(stage.context("zebra", **direct_message, PRIVATE_STAYS_PRIVATE=wide), *ALL, "mine") == own
            assert words(stage.context("zebra", **channel, PRIVATE_STAYS_PRIVATE=wide), *ALL) == of_channel
        asked = stage.asking("discord/ann", "discord/ann", privacy="direct")
        assert bool(search_memories(query="zebra mine", **asked)) is (level == "partial")
        assert load_chat_history("discord/ann", **asked), "a list of the own conversation is no prompt"
    live_too = stage.context("zebra", {"discord/ann": [live("zebra live", "Ann")]}, **direct_message)
    assert words(live_too, "live", "mine") == {"live"}


def test_f16_server_in_direct_is_for_the_person_and_the_identity_that_asks(stage: Stage) -> None:
    town(stage)
    stage.say("zebra bob third line", "discord/c3", "Bob", minutes=50, server="s3")
    assert "bob third" not in str(direct(stage, SERVER_IN_DIRECT=1))
    asked = direct(stage, "bob", "discord/ann", SERVER_IN_DIRECT=1, CONTEXT_VERBOSITY=30)
    assert "bob third" not in str(asked), "somebody else speaks in Ann's direct message"
    link_participants("discord/ann", "tg/ann", **stage.asking())
    known = direct(stage, path="tg/ann", SERVER_IN_DIRECT=1, CONTEXT_VERBOSITY=30, interface="tg")
    assert heard(known) == {"ann direct"}


def test_f16_server_in_direct_changes_nothing_of_a_server(stage: Stage) -> None:
    row = stage.say("zebra bob public line", "discord/c1", "Bob", minutes=50, server="s1")
    stage.say("Hello", "discord/c1", "Ann", minutes=40, server="s1")
    item = stage.remember("zebra bob memory", ["zebra"], 60, "discord/c1", server="s1")
    known = stage.asking("discord/ann", "discord/ann", privacy="direct", SERVER_IN_DIRECT=True)
    assert chat_history_cache.edit_chat_message(row, "changed", **known).reason == "not_found"
    assert chat_history_cache.delete_chat_message(row, **known).reason == "not_found"
    assert chat_history_cache.clear_chat_history("discord/c1", **known) == 0
    assert lifelong.delete_items([item], **known).count == 0
    with pytest.raises(ItemNotFoundError):
        lifelong.edit_item(item, "changed", **known)
    assert {hit["id"] for hit in search_memories(query="zebra bob", **known)} == {row, item}


def test_f16_server_in_direct_looks_at_few_servers_the_newest_first(stage: Stage) -> None:
    for number in range(12):
        stage.say(f"zebra place{number}x", f"discord/n{number}", minutes=90 - number, server=f"n{number}")
    known = str(direct(stage, SERVER_IN_DIRECT=1, CONTEXT_VERBOSITY=30))
    assert [number for number in range(12) if f"place{number}x" in known] == list(range(2, 12))


MESSAGE: dict[str, Callable[..., Any]] = {
    "get_memory": stories.get_memory,
    "get_data": stories.get_data,
    "set_data": lambda row, **by: stories.set_data(row, "memory", "other", **by),
    "edit_memory": lambda row, **by: stories.edit_memory(row, "other", **by),
    "add_scene_break": lambda row, **by: stories.add_scene_break(row, recap=False, **by),
    "edit_scene_break": lambda row, **by: stories.edit_scene_break(row, name="other", **by),
    "remove_scene_break": stories.remove_scene_break,
    "set_scene_recap": lambda row, **by: stories.set_scene_recap(row, "other", **by),
    "add_alternative": lambda row, **by: stories.add_alternative(row, "other", **by),
    "choose_alternative": lambda row, **by: stories.choose_alternative(row, 0, **by),
    "list_alternatives": stories.list_alternatives,
    "check_message_exclusion": stories.check_message_exclusion,
    "concatenate_recap": lambda row, **by: stories.concatenate_recap("", row, **by),
    "edit_chat_message": lambda row, **by: chat_history_cache.edit_chat_message(row, "other", **by),
    "delete_chat_message": chat_history_cache.delete_chat_message,
}
ITEM: dict[str, Callable[..., Any]] = {
    "get_item": lifelong.get_item,
    "get_item_history": lifelong.get_item_history,
    "edit_item": lambda row, **by: lifelong.edit_item(row, "other", **by),
    "delete_items": lambda row, **by: lifelong.delete_items([row], **by),
    "purge_items": lambda row, **by: lifelong.purge_items([row], **by),
    "restore_items": lambda row, **by: lifelong.restore_items([row], **by),
    "pin_items": lambda row, **by: lifelong.pin_items([row], **by),
    "retag_items": lambda row, **by: lifelong.retag_items([row], ["other"], **by),
    "delete_saved_memory": conversations.delete_saved_memory,
}
DIARY: dict[str, Callable[..., Any]] = {
    "archive_diary_entry": ai_diary.archive_diary_entry,
    "unarchive_entries": lambda row, **by: ai_diary.unarchive_entries([row], **by),
    "edit_diary_entry": lambda row, **by: ai_diary.edit_diary_entry(row, content="other", **by),
}
PLACE: dict[str, Callable[..., Any]] = {
    "get_running_recap": lambda place, **by: stories.get_running_recap(conversation=place, **by),
    "edit_chat_message": lambda p, **by: chat_history_cache.edit_chat_message("m1", "other", interface_path=p, **by),
    "clear_chat_history": chat_history_cache.clear_chat_history,
    "clear_all": stories.clear_all,
    "delete_running_recap_version": lambda p, **by: stories.delete_running_recap_version(0, conversation=p, **by),
    "switch_stories": lambda place, **by: stories.switch_stories(False, place, **by),
}


def test_f12_the_table_names_every_function_that_takes_a_row_id() -> None:
    modules = [importlib.import_module(f"core.{name}") for name in MODULES.split()]
    public = {name: getattr(module, name) for module in modules for name in module.__all__}
    taking = {
        name
        for name, function in public.items()
        if inspect.isfunction(function)
        and {"id", "ids", "message", "row"} & set(inspect.signature(function).parameters)
    }
    assert taking - set(INCOMING.split()) == {*MESSAGE, *ITEM, *DIARY, *OPERATORS} - {"forget"}


def everything(stage: Stage) -> dict[str, Any]:
    return {name: [tuple(row) for row in rows_of(stage.db, table, stage.persona)]
            for name, table in TABLES.items() if "persona_id" in table.c}  # fmt: skip


@pytest.mark.parametrize("kind", ["message", "item", "diary", "conversation"])
def test_f12_a_row_id_shows_and_changes_nothing_of_another_conversation(stage: Stage, kind: str) -> None:
    by: dict[str, Any] = {"db": stage.db, "settings": Settings()}
    own = {**by, "scope": Scope(stage.persona, DIRECT, "tg/ann", privacy="direct")}
    lines = [(DIRECT, f"{WORD} {n}", "Ann", "ann") for n in range(3)]
    said = [chat_history_cache.save_chat_message(*line, message_id=f"m{n}", **own).id for n, line in enumerate(lines)]
    item = conversations.add_saved_memory(f"My {WORD}", **own).id
    entry = ai_diary.add_diary_entry(f"Her {WORD}", **own).id
    stories.set_data(said[1], "memory", f"Recap of {WORD}", **own)
    stories.add_scene_break(said[1], recap=False, **own)
    stories.add_running_recap_version(f"Story of {WORD}", conversation=DIRECT, **own)
    rows = {"message": said[1], "item": item, "diary": entry, "conversation": DIRECT}
    table, row = {"message": MESSAGE, "item": ITEM, "diary": DIARY, "conversation": PLACE}[kind], rows[kind]
    before = everything(stage)
    strangers = [
        Scope(stage.persona), Scope(stage.persona, participant="tg/bob"), Scope(stage.persona, ROOM, "tg/ann"),
        Scope(stage.persona, "tg/bob", "tg/bob", privacy="direct"),
    ]  # fmt: skip
    here = strangers[2:] if kind == "conversation" else strangers  # standing nowhere, a scope may name any place
    for (name, function), scope in itertools.product(table.items(), here):
        assert WORD not in str(_try(function, row, {**by, "scope": scope})), (name, scope)
        assert everything(stage) == before, (name, scope)
    assert kind == "diary" or any(WORD in str(_try(function, row, own)) for function in table.values())


def _try(function: Callable[..., Any], row: Any, by: dict[str, Any]) -> object:
    try:
        return function(row, **by)
    except CoreError as error:
        return error


def marks(stage: Stage, conversation: str, local: bool = True, **more: Any) -> dict[str, int]:
    by: dict[str, Any] = {"db": stage.db, "settings": Settings(), "scope": Scope(stage.persona), **more}
    return set_conversation_local_only(conversation, local, **by)


def stored(stage: Stage, table: str, where: str | None = None) -> list[int]:
    t = metadata.tables[table]
    chosen = select(t.c.local_only).where(t.c.persona_id == stage.persona).order_by(t.c.id)
    if where is not None:
        chosen = chosen.where(t.c.conversation_key == where)
    return [int(row[0]) for row in stage.db.read(chosen, source=table)]


@pytest.mark.engines()
def test_f18_it_is_opened_again_and_another_persona_is_not_touched(stage: Stage) -> None:
    stage.say(f"tofu {LOCAL}")
    stage.remember(f"tofu {LOCAL}", ["tofu"], path=HERE)
    stage.remember(f"tofu {LOCAL} by itself", ["tofu"], path=HERE, local_only=True)
    stage.diary(f"tofu {LOCAL}", path=HERE)
    other = Stage(stage.db)
    other.say("tofu")
    other.remember("tofu", path=HERE)
    for given, counts, held in (
        ({}, [1, 1, 1, 1], [1, 1]), ({"local": False}, [1, 1, 0, 0], [1, 1]),
        ({"local": False, "items": True}, [0, 0, 2, 1], [0, 0]),
    ):  # fmt: skip
        moved = marks(stage, HERE, **given)
        assert ([moved[name] for name in COUNTED], stored(stage, "memories")) == (counts, held)
        assert stored(other, "memories") == stored(other, "conversations") == [0]
    assert len(load_chat_history(HERE, **stage.asking(HERE))) == 1
    assert stage.db is not None and verify_index(stage.db) == []


def test_f18_threads_follow(stage: Stage) -> None:
    stage.say("tofu", "tg/9")
    stage.say("tofu", "tg/9/1")
    stage.say("tofu", "tg/91")
    assert marks(stage, "tg/9")["conversations"] == 2
    stage.say(f"tofu {LOCAL}", "tg/9/2")
    keys = ("tg/9", "tg/9/1", "tg/9/2", "tg/91")
    assert [stored(stage, "conversations", key) for key in keys] == [[1], [1], [1], [0]]
    turn = {"user": "tg/ann", "channel": "tg/555", "parent_channel": "tg/9", "at": NOW}
    short_term.write_turn(turn, "ok", messages=[{"content": LOCAL, "sender_id": "ann"}],
                          **stage.asking("tg/555", "tg/ann"))  # fmt: skip
    assert LOCAL not in repr(short_term.get_for_user("tg/ann", **stage.asking("tg/77", "tg/ann")))
    assert marks(stage, "tg/9/1", False)["conversations"] == 1 and marks(stage, "tg/9", False)["conversations"] == 2
    set_conversation_privacy("tg/9", "restricted", db=stage.db, settings=Settings(), scope=Scope(stage.persona))
    assert marks(stage, "tg/9")["conversations"] == 3


def test_f18_before_the_first_word(stage: Stage) -> None:
    assert not any(marks(stage, "tg/new").values()) and stored(stage, "conversations") == []
    here = stage.scope("tg/new", server="s1", participant="tg/ann")
    assert marks(stage, "tg/new", scope=here)["conversations"] == 1
    stage.say(f"tofu {LOCAL}", "tg/new", server="s1")
    assert stored(stage, "conversations") == [1]
    assert load_global_chat_history(**stage.asking("tg/2", server="s1")) == []
    assert not any(marks(stage, "tg/none", False, scope=stage.scope("tg/none")).values())
    with pytest.raises(MessageError, match="local_only"):
        marks(stage, "tg/new", "yes")  # type: ignore[arg-type]


@pytest.mark.engines()
@pytest.mark.parametrize("marked_first", [True, False])
def test_f18_equal_texts_of_a_marked_and_an_open_conversation_are_two_items(stage: Stage, marked_first: bool) -> None:
    marks(stage, HERE, scope=stage.scope(HERE))
    for place in (HERE, ELSEWHERE) if marked_first else (ELSEWHERE, HERE):
        by = stage.asking(place, "tg/ann")
        stage.say("Call me Jo", place)
        conversations.add_saved_memory("Ann has a cat", **by)
        silently_record_memory("Ann likes tea", **by)
        transfer.import_items(b'{"items": ["Ann was in Oslo"]}', **by)
        lifelong.add_facts_with_meta([{"text": "Ann lives in Rome", "tags": [LOCAL] if place == HERE else []}], **by)
    by = stage.asking(ELSEWHERE, "tg/ann")
    items = lifelong.search_items(**by)["items"]
    texts = ["Ann has a cat", "Ann likes tea", "Ann lives in Rome", "Ann was in Oslo", "Call me Jo"]
    assert sorted(item["text"] for item in items) == texts and LOCAL not in repr(items)
    assert stage.context("hello", path=ELSEWHERE)["standing_wishes"] == ["[2026-03-10] Call me Jo"]


@pytest.mark.engines()
def test_f18_what_is_written_meanwhile_is_marked_too(db: Any) -> None:
    stage = Stage(db)
    stage.say("tofu")

    def write(number: int) -> None:
        for n in range(6):
            stage.say(f"tofu {number} {n}", who=f"w{number}")
            stage.remember(f"tofu item {number} {n}", ["tofu"], path=HERE)

    run_at_once([*(partial(write, number) for number in range(3)), lambda: marks(stage, HERE)])
    assert stored(stage, "memories") == [1] * 18 and verify_index(db) == []
    assert search_memories(keywords=["tofu"], limit=50, **stage.asking("tg/2")) == []
