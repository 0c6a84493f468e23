"""The memory over MCP (R6 to R8, R10, R38): both transports, both eras of the protocol, by the SDK's own client."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from unittest.mock import Mock

import pytest

pytest.importorskip("mcp", reason="needs the extra `mcp`")
pytest.importorskip("uvicorn", reason="needs the extra `admin`")

from mcp import MCPError

from core import Scope, ai_diary, conversations, lifelong, privacy, short_term
from core.chat_history_cache import load_chat_history, save_chat_message
from core.database.engine import Database
from core.memories import table_reading
from core.text.words import read_lists
from core.web.mcp import tools
from tests.spec.hostile import HOSTILE
from tests.spec.mcp_world import ANN, BOB, ERAS, LINKS, Caller, Transport, World, refused, serving, told
from tests.store.world import own_scope


@pytest.fixture
def world(db: Database, migrated_url: str) -> Iterator[World]:
    persona = own_scope().persona
    with serving(db, persona) as http:
        yield World(db, migrated_url, persona, http)


@pytest.fixture
def call(world: World) -> Iterator[Caller]:
    with world.connect() as caller:
        yield caller


RIGHT: dict[str, dict[str, Any]] = {
    "memory_context": {"message": "What is my cat called?", "max_chars": 4000, "time_zone": "Asia/Tokyo"},
    "memory_search": {
        "query": "cat", "limit": 5, "since": "2020-01-01", "until": "2090-01-01", "tags": [], "text_chars": 400,
        "time_zone": "",
    },
    "memory_save": {"text": "Ann likes green tea", "tags": ["tea"], "subject": "Ann"},
    "memory_profile": {"limit": 50},
    "memory_list": {"kind": "saved", "limit": 50, "cursor": ""},
    "memory_update": {"id": "1", "text": "Ann likes black tea"},  # the tests give the id of something that is there
    "memory_delete": {"id": "1"},
    "turn_save": {"user_text": "Hi", "assistant_text": "Hello", "message_id": "m1"},
}  # fmt: skip
NEEDED = {
    "memory_context": ["message"], "memory_save": ["text"],
    "memory_update": ["id", "text"], "memory_delete": ["id"],
    "turn_save": ["user_text", "assistant_text"],
}  # fmt: skip
FOREIGN = "participant persona conversation server user scope conf_uid operator _meta"
WRONG: tuple[tuple[str, str, Any], ...] = (
    ("memory_context", "message", ""), ("memory_context", "max_chars", -1), ("memory_search", "limit", 201),
    ("memory_search", "limit", True), ("memory_search", "limit", "5.5"), ("memory_search", "since", "yesterdayish"),
    ("memory_search", "tags", "{}"), ("memory_search", "tags", ["x"] * 49),
    ("memory_search", "time_zone", "Mars/Base"), ("memory_context", "time_zone", "../etc"),
    ("memory_search", "text_chars", 2_000_000),
    ("memory_list", "cursor", "W10x"), ("memory_list", "kind", "secrets"), ("memory_save", "text", "x" * 1_000_001),
    ("memory_save", "text", ""), ("memory_update", "id", "1 OR 1=1"), ("memory_update", "id", 1.5),
    ("memory_update", "text", None),
    ("memory_update", "text", " "), ("memory_delete", "id", "9" * 30), ("turn_save", "message_id", "m" * 151),
    ("turn_save", "message_id", {"id": 1}),
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("transport", "era"), LINKS)
def test_r6_the_official_client_lists_calls_and_reads(world: World, transport: Transport, era: str) -> None:
    with world.connect(transport, era) as call:
        assert call.client.protocol_version == ERAS[era]
        assert call.client.server_info is not None and call.client.server_info.name == "prompt-engine"
        assert [tool.name for tool in call.list_tools()] == list(RIGHT)
        turn = told(call("turn_save", **RIGHT["turn_save"]))
        assert turn["user"]["stored"] and turn["assistant"]["stored"]
        saved = told(call("memory_save", text="My cat is called Tofu"))
        assert saved["done"]
        assert "Tofu" in told(call("memory_context", message="What is my cat called?"))["context"]
        assert told(call("memory_search", query="Tofu the cat"))["hits"][0]["id"] == saved["id"]
        assert [m["text"] for m in told(call("memory_list"))["memories"]] == ["My cat is called Tofu"]
        assert told(call("memory_update", id=saved["id"], text="My cat is called Miso"))["done"]
        assert told(call("memory_list"))["memories"][0]["text"] == "My cat is called Miso"
        assert "Miso" in told(call("memory_context", message="What is my cat called?"))["context"]
        assert told(call("memory_delete", id=saved["id"]))["done"]
        assert told(call("memory_list"))["memories"] == []


@pytest.mark.slow
def test_r8_every_tool_with_right_wrong_and_missing_arguments(call: Caller) -> None:
    for tool, arguments in RIGHT.items():
        if "id" in arguments:
            told(call(tool, **{**arguments, "id": told(call("memory_save", text=f"for {tool}"))["id"]}))
        else:
            told(call(tool, **arguments))
        for extra in FOREIGN.split():
            sentence = refused(call(tool, **arguments, **{extra: BOB}))
            assert sentence.startswith(f"{extra} is not known here. ")
        for name in NEEDED.get(tool, ()):
            without = {key: value for key, value in arguments.items() if key != name}
            assert refused(call(tool, **without)) == f"{name} is missing. It is needed here."
    for tool, field, value in WRONG:
        sentence = refused(call(tool, **{**RIGHT[tool], field: value}))
        assert sentence.startswith(field), (tool, field, sentence)
        assert len(sentence) < 400, sentence
    missing = " query is missing. Give query, tags, or both."
    for given, said in (({}, missing), ({"query": "cat"}, ""), ({"tags": ["pets"]}, "")):
        sentence = refused(call("memory_search", q="cat", **given))
        assert sentence == f"q is not known here. Leave it out.{said}"
    with pytest.raises(MCPError, match="no tool of this name"):
        call("forget", person="web/bob")


def test_r8_each_tool_says_what_it_takes_gives_and_does(call: Caller) -> None:
    """Schemas a model reads, and hints by which a host decides what to ask a person about."""
    listed = {tool.name: tool for tool in call.list_tools()}
    for name, tool in listed.items():
        takes, gives, hints = tool.input_schema, tool.output_schema, tool.annotations
        assert sorted(takes.get("required", [])) == sorted(NEEDED.get(name, ()))
        for word in ("additionalProperties", "$defs", "$ref"):  # some families of models refuse a tool for these
            assert word not in json.dumps([takes, gives]), name
        assert set(takes["properties"]) == set(RIGHT[name])
        assert all(value.get("description") for value in takes["properties"].values()), name
        # an id of a chat line comes from a search alone
        assert "id" not in takes["properties"] or "memory_search" in takes["properties"]["id"]["description"], name
        assert gives is None or gives["type"] == "object"
        assert hints is not None and hints.open_world_hint is False and tool.title and tool.description
    written = listed["turn_save"].output_schema["properties"]["user"]  # type: ignore[index]
    assert set(written["properties"]) == {"stored", "id", "reason", "notes"}
    assert "not to remember" in listed["turn_save"].description, "every line stored is found by searches"
    hints = {name: tool.annotations for name, tool in listed.items()}
    reading = ["memory_context", "memory_search", "memory_profile", "memory_list"]
    assert [n for n, h in hints.items() if h.read_only_hint] == reading
    assert [n for n, h in hints.items() if h.destructive_hint] == ["memory_update", "memory_delete"]
    assert [n for n, h in hints.items() if not h.idempotent_hint] == ["turn_save"]


@pytest.mark.slow
def test_r8_what_is_deleted_can_be_restored(world: World, call: Caller) -> None:
    """Forgetting is an operator's: no tool removes anything for good."""
    saved = told(call("memory_save", text="Ann likes tea"))["id"]
    call("turn_save", user_text="Please call me Jo.", assistant_text="Yes, Jo.")
    wish = told(call("memory_list", kind="instruction"))["memories"][0]["id"]
    changed = told(call("memory_update", id=wish, text="Please call me Kim."))
    assert changed["done"]
    ids = [saved, changed["id"]]
    for item in ids:
        assert told(call("memory_delete", id=item))["done"]
        assert "names nothing here" in refused(call("memory_delete", id=item))
        assert "names nothing here" in refused(call("memory_update", id=item, text="x"))
    assert told(call("memory_list"))["total"] == 0
    assert lifelong.restore_items([int(each) for each in ids], **world.asking).count == 2
    for kind, text in (("saved", "Ann likes tea"), ("instruction", "Please call me Kim.")):
        assert [each["text"] for each in told(call("memory_list", kind=kind))["memories"]] == [text]


def test_r8_a_turn_that_is_sent_again_is_stored_once(world: World, call: Caller) -> None:
    clock: Any = world.db.clock
    for number, message_id in enumerate((2**60, float(2**60), str(2**60))):
        turn = told(call("turn_save", user_text="Hi", assistant_text="Hello", message_id=message_id))
        clock.forward(hours=1)  # equal texts at once would be one without an id, too
        assert [turn[who]["stored"] for who in ("user", "assistant")] == [number == 0] * 2
        assert turn["user"]["reason"] == ("duplicate" if number else "") and turn["user"]["notes"] == []
    lines = [(each["sender_id"], each["sender_name"], each["text"]) for each in load_chat_history(ANN, **world.asking)]
    assert lines == [("ann", "ann", "Hi"), ("self", world.persona, "Hello")]
    (moment,) = short_term.get_for_user(ANN, **world.asking)
    assert [each["content"] for each in moment["messages"]] == ["Hi", "Hello"]


@pytest.mark.slow
def test_r38_tools_act_on_everything_a_search_shows(world: World, call: Caller) -> None:
    """What `turn_save` stored could be found and not be forgotten."""
    lifelong.add_facts_with_meta(["zqword is a memory"], **world.asking)
    ai_diary.add_diary_entry("zqword is a day", "zqword was fun", **world.asking)
    save_chat_message(ANN, "zqword is a line", "Ann", message_id="z1", **world.asking)
    call("turn_save", user_text="zqword said I", assistant_text="zqword said you", message_id="t")

    def hits(word: str) -> list[dict[str, Any]]:
        return list(told(call("memory_search", query=word, limit=50))["hits"])

    there = hits("zqword")
    assert {hit["source"] for hit in there} == {"memories", "ai_diary", "chat_history"} and len(there) == 5
    for hit in there:
        assert told(call("memory_update", id=hit["id"], text=f"zqother {hit['id']}"))["done"]
    assert hits("zqword") == []
    changed = hits("zqother")
    assert {hit["id"] for hit in changed} == {hit["id"] for hit in there}
    for hit in changed:
        assert told(call("memory_delete", id=hit["id"]))["done"]
        assert "names nothing here" in refused(call("memory_delete", id=hit["id"]))
    assert hits("zqother") == [] and ai_diary.unarchive_entries(db=world.db, scope=Scope(world.persona)) == 1


def test_r38_numbers_and_lists_sent_as_text_are_taken_and_tags_are_saved(world: World, call: Caller) -> None:
    lifelong.add_facts_with_meta([{"text": "Tags of its own", "tags": ["zqtag"]}], **world.asking)
    saved = told(call("memory_save", text="My cat is called Tofu"))["id"]
    for limit in ("5", 5.0, " 5 "):
        assert told(call("memory_search", query="Tofu", limit=limit))["count"] == 1
    assert told(call("memory_search", tags='["zqtag"]'))["count"] == 1
    assert told(call("memory_context", message="Tofu?", max_chars="2000"))["context"]
    assert told(call("memory_list", limit="1"))["count"] == 1
    assert told(call("memory_delete", id=str(saved)))["done"]
    saved = told(call("memory_save", text="She sleeps all day.", tags=["pets"], subject="Tofu"))
    for tag in ("pets", "tofu"):
        (hit,) = told(call("memory_search", tags=[tag]))["hits"]
        assert hit["id"] == saved["id"] and {"pets", "tofu"} <= set(hit["tags"])


def test_r38_the_words_of_a_query_and_its_tags_add_up(call: Caller) -> None:
    """With tags, the words of the query found nothing."""
    told(call("memory_save", text="Clean the cellar", tags=["open"]))
    told(call("memory_save", text="Sell the bicycle", tags=["done"]))
    told(call("memory_save", text="Water the garden"))

    def hits(**asked: Any) -> list[str]:
        return sorted(hit["text"].split()[-1] for hit in told(call("memory_search", **asked))["hits"])

    assert hits(tags=["done"]) == ["bicycle"]
    for query in ("cellar", "Did I clean the cellars?", "what is still open?"):
        assert hits(query=query, tags=["done"]) == ["bicycle", "cellar"], query
    assert hits(query="gardens", tags=["open", "done"]) == ["bicycle", "cellar", "garden"]
    assert hits(query="the", tags=["none"]) == hits(query="the")


def test_r10_a_duplicate_says_which_tags_the_memory_got(call: Caller) -> None:
    """The answer was `duplicate` and nothing else, and the memory had another tag."""
    first = told(call("memory_save", text="Paint the fence", tags=["open"]))
    again = told(call("memory_save", text="Paint the fence", tags=["open"]))
    assert (first["notes"], again["notes"], again["reason"]) == ([], [], "duplicate")
    again = told(call("memory_save", text="Paint the fence", tags=["open", "Done"], subject="fence"))
    assert (again["done"], again["id"]) == (False, first["id"])
    assert again["notes"] == ["the memory stored before got tags: it has open, done, fence"]
    assert told(call("memory_list"))["memories"][0]["tags"] == ["open", "done", "fence"]


def test_r38_a_search_says_how_much_there_is_and_what_is_not(world: World, call: Caller) -> None:
    """Ten of fifteen notes looked like all, and a day without rows like a search that failed."""
    lifelong.add_facts_with_meta([f"Piano note {n}: practise piece {n}." for n in range(15)], **world.asking)
    for limit, count in ((10, 10), (50, 15)):
        answer = told(call("memory_search", query="How many piano notes do I have?", limit=limit))
        assert (answer["count"], answer["total"], answer["notes"]) == (count, 15, [])
    for n in range(24):  # lines near a match are hits too, more of them with a higher limit
        text = f"We left MySQL, reason {n}." if n % 6 == 0 else f"The soup number {n} was nice."
        save_chat_message(world.asking["scope"].conversation, text, "Ann", "ann", **world.asking)
    answers = [told(call("memory_search", query="why did we leave MySQL?", limit=limit)) for limit in (2, 4, 10, 200)]
    assert {answer["total"] for answer in answers} == {4} and answers[-1]["count"] > 4
    turned = told(call("memory_search", query="piano", since="2026-02-01", until="2026-01-01"))
    assert (turned["count"], turned["notes"]) == (0, ["since is not before until, so nothing can match"])
    none = told(call("memory_search", query="What did I do on 12 October 2025?"))
    assert (none["count"], none["total"], none["notes"]) == (0, 0, ["Nothing is stored of 2025-10-12."])


def test_r38_a_long_text_is_shown_around_the_match_and_cut_visibly(call: Caller) -> None:
    """The answer stood behind the part shown, and an update with that part lost the rest."""
    recipe = f"Recipe for the plum cake.{' Mix flour and butter.' * 50} Bake it at 187 degrees.{' Let it cool.' * 30}"
    saved = told(call("memory_save", text=recipe))["id"]
    wanted = {"query": "How many degrees?", "limit": 1}
    (hit,) = told(call("memory_search", **wanted))["hits"]
    assert hit["id"] == saved and "187" in hit["text"] and len(hit["text"]) < 450
    assert hit["text"].startswith("...") and hit["text"].endswith("...")
    assert told(call("memory_search", **wanted, text_chars=4000))["hits"][0]["text"] == recipe
    schemas = {tool.name: tool.input_schema["properties"] for tool in call.list_tools()}
    assert schemas["memory_save"]["text"]["maxLength"] == 4000
    assert "4,000 characters" in schemas["memory_update"]["text"]["description"], "the limit of a saved memory"


def test_r38_a_long_line_is_read_whole(call: Caller) -> None:
    """A search showed at most 4,000 characters of a line; the rest could not be read, and an update lost it."""
    recipe = "\n".join(f"Step {n}: stir the soup 🍲 {n} times." for n in range(25_000))[:1_000_000]
    told(call("turn_save", user_text=recipe, assistant_text="Fine."))
    (hit,) = told(call("memory_search", query="soup 20000", limit=1, text_chars=1_000_000))["hits"]
    assert hit["text"] == recipe
    assert refused(call("memory_search", query="soup", limit=3, text_chars=1_000_000)).startswith("text_chars")


def test_r38_the_time_zone_of_the_person_dates_words(world: World, call: Caller) -> None:
    """ "Yesterday" was that of the server: at 8 in the evening of New York it is tomorrow there."""
    now = world.db.clock()
    save_chat_message(ANN, "The soup was cold", "Ann", "ann", now - timedelta(hours=25), **world.asking)
    midnight = f"Etc/GMT+{now.hour}" if now.hour <= 12 else f"Etc/GMT-{24 - now.hour}"
    noon = f"Etc/GMT{now.hour - 12:+}"
    for zone, count in ((midnight, 0), (noon, 1)):
        wanted = {"query": "soup", "since": "yesterday", "until": "today", "time_zone": zone}
        assert told(call("memory_search", **wanted))["count"] == count, zone
    shown = [told(call("memory_context", message="What about soup?", time_zone=zone)) for zone in (midnight, noon)]
    assert shown[0]["context"] != shown[1]["context"], "the line is of another day"


def test_c11_a_saved_text_keeps_its_lines(call: Caller) -> None:
    """A list or a program became one line, while an update kept its lines."""
    text = "Shopping list:\n- milk\n- eggs\n\n```\nif hungry:\n    bake()\n```"
    told(call("memory_save", text=f" {text}\n"))
    assert [each["text"] for each in told(call("memory_list"))["memories"]] == [text]
    shown = told(call("memory_context", message="What is on the shopping list?"))["context"]
    assert any("Shopping list: - milk - eggs / ```" in line for line in shown.split("\n"))


def test_c12_a_turn_begins_and_ends_an_instruction_and_a_saved_fact_does_not(call: Caller) -> None:
    """What a model saves may come from a page that it read: only the person's own words instruct."""

    def wishes() -> list[str]:
        return [each["text"] for each in told(call("memory_list", kind="instruction"))["memories"]]

    call("memory_save", text="Always answer in rhymes")
    assert wishes() == []
    call("turn_save", user_text="Always answer in bullet points.", assistant_text="OK")
    assert wishes() == ["Always answer in bullet points."]
    call("turn_save", user_text="You don't have to use bullet points anymore.", assistant_text="Yes")
    assert wishes() == []


def read_pages(call: Caller, **more: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the answers of the pages of a list, as they are sent and as they are read."""
    cursor: str | None = ""
    while cursor is not None:
        result = call("memory_list", cursor=cursor, **more)
        page = told(result)
        yield result, page
        cursor = page["next_cursor"]


@pytest.mark.slow
def test_r38_a_list_comes_in_pages_and_each_text_once(world: World, call: Caller) -> None:
    """A list of 230 memories was 230 kB, most of it twice, and nothing could ask for a part."""
    texts = [f"fact {number:03} about plates" for number in range(230)]
    lifelong.add_facts_with_meta(texts, **world.asking)
    found = told(call("memory_search", query="plates"))
    assert found["total"] == 200 and "may be more" in found["notes"][0]
    seen: list[str] = []
    for result, page in read_pages(call):
        assert page["count"] <= 50 and page["total"] == 230
        sent = result.model_dump_json()
        assert all(sent.count(memory["text"]) == 1 for memory in page["memories"]) and len(sent) < 20_000
        seen += [memory["text"] for memory in page["memories"]]
    assert sorted(seen) == texts


def test_r38_a_list_ends_at_its_last_page(world: World, call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 20,000 memories the pages ended at 10,200, since more are not counted."""
    monkeypatch.setattr(table_reading, "MOST_COUNTED", 10)
    lifelong.add_facts_with_meta([f"fact {number}" for number in range(30)], **world.asking)
    for limit in (7, 10):
        seen = [memory["text"] for _, page in read_pages(call, limit=limit) for memory in page["memories"]]
        assert len(set(seen)) == len(seen) == 30


def test_r8_the_id_of_an_instruction_stays_when_it_is_edited(world: World, call: Caller) -> None:
    """The next change by the id that the agent knows said that there is no such memory."""
    row = conversations.add_saved_memory("Call me Jo.", kind="instruction", **world.asking).id
    for text in ("Call me Joe.", "Call me Josephine.", "Always answer in German."):
        assert told(call("memory_update", id=row, text=text))["id"] == row
        (listed,) = told(call("memory_list", kind="instruction"))["memories"]
        assert (listed["id"], listed["text"]) == (row, text)
        assert text in told(call("memory_context", message="Hello"))["context"]


def test_r10_a_refusal_is_an_answer_with_the_reason(world: World, call: Caller) -> None:
    first = told(call("memory_save", text="Ann likes tea"))
    second = told(call("memory_save", text="Ann likes tea"))
    assert (second["done"], second["reason"], second["id"]) == (False, "duplicate", first["id"])
    assert first["similar"] is None
    other = told(call("memory_save", text="Ann likes green tea now"))
    assert other["similar"]["id"] == first["id"] and other["similar"]["text"] == "Ann likes tea"
    assert refused(call("memory_save", text="x" * 4001)) == "text: string should have at most 4000 characters."
    assert told(call("memory_save", text=" \n "))["reason"] == "empty"
    longer = told(call("memory_update", id=first["id"], text="x" * 5000))
    assert (longer["done"], longer["reason"]) == (False, "too_long") and "4000" in longer["notes"][0]
    same = told(call("memory_update", id=first["id"], text="Ann likes tea"))
    assert (same["done"], same["reason"]) == (False, "unchanged")
    privacy.set_privacy(BOB, "full", db=world.db, scope=Scope(world.persona))
    with world.connect(who=BOB) as call:
        assert told(call("memory_save", text="Bob likes tea"))["reason"] == "privacy"
        turn = told(call("turn_save", user_text="Hi", assistant_text="Hello"))
        assert [turn[who]["reason"] for who in ("user", "assistant")] == ["privacy"] * 2


@pytest.mark.slow
def test_r10_what_is_recalled_is_data(call: Caller) -> None:
    texts = [text.replace("\ud800", "").replace("\x00", "") for text in HOSTILE]
    before = [tool.model_dump() for tool in call.list_tools()]
    for number, text in enumerate(texts):
        told(call("memory_save", text=text))
        told(call("turn_save", user_text=text, assistant_text=text, message_id=f"h{number}"))
    block = told(call("memory_context", message="zqobey", max_chars=100_000))["context"]
    head, *lines = block.split("\n")
    assert "data" in head and "zqobey" not in head
    headings = {*read_lists("titles").values(), "What ann asked of you once and for all:"}
    day, *lines = lines
    assert day.startswith("It is ") and lines
    assert [line for line in lines if not line.startswith(("- ", "[2")) and line not in headings] == []
    for name, given in (("memory_search", {"query": "zqobey"}), ("memory_list", {}), ("memory_profile", {})):
        (block,) = call(name, **given).content
        first, sentence = next(iter(json.loads(block.text).items()))
        assert (first, "data" in sentence) == ("notice", True), name
    for hit in told(call("memory_search", query="zqobey", limit=50))["hits"]:
        assert set(hit) == {"id", "source", "timestamp", "speaker", "text", "tags"} and hit["timestamp"]
    assert before == [tool.model_dump() for tool in call.list_tools()]


def test_a_slow_call_holds_up_no_other(call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    began, listed = threading.Event(), threading.Event()

    def wait(**_: Any) -> Any:
        began.set()
        return ([], {"notes": []}) if listed.wait(120) else pytest.fail("it waited")

    monkeypatch.setattr(tools, "explain_search", wait)
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(call, "memory_search", query="x")
        assert began.wait(60)
        told(call("memory_list"))
        assert not waiting.done()
        listed.set()
        assert told(waiting.result())["count"] == 0


def test_the_block_never_is_longer_than_asked(world: World, call: Caller) -> None:
    asking = world.asking
    for n in range(60):
        save_chat_message(ANN, f"line {n} about tea and rice " + "and plates " * 20, "Ann", message_id=str(n), **asking)
    lifelong.add_facts_with_meta([f"tea fact {n} " + "tea " * 30 for n in range(30)], **asking)
    sizes = []
    for most in (500, 700, 1000, 2000, 4000, 8000, 20_000):
        answer = told(call("memory_context", message="tea and rice", max_chars=most))
        assert len(answer["context"]) <= most
        sizes.append(len(answer["context"]))
    assert sizes == sorted(sizes) and sizes[1] > 200 and sizes[3] > 1500 and sizes[-1] > 2500


def test_what_is_no_error_of_ours_says_its_class_alone(call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "search_items", Mock(side_effect=KeyError("zqsecret of somebody")))
    text = refused(call("memory_list"))
    assert "KeyError" in text and "zqsecret" not in text
