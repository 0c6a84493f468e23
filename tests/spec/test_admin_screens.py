"""What an operator reads on the page, and the lists it is made of (L23, L35)."""

import html
import re
from typing import Any

import pytest

from core import Scope, chat_history_cache, jobs, llm, messages, privacy, relationships, stories
from core.access import overview as overview
from core.config import Settings
from core.database.engine import Database
from tests.spec.lifelong_world import Life
from tests.spec.stage import NOW, Stage
from tests.spec.web_world import BEARER, Operator, client_of, made

PERSONA = "an-overview"


def show(operator: Operator, screen: str, **params: Any) -> str:
    return str(operator.ask("GET", f"/page/{screen}", params=params).text)


def test_l35_the_way_to_what_was_archived_and_since_when(operator: Operator, life: Life) -> None:
    life.item("an old one", days=400, importance=0.1)
    life.item("a new one")
    assert life.prune_ltm() == 1
    life.run_cycle()
    archive = show(operator, "memory", archived="1")
    assert f'deleted or pruned <time datetime="{NOW.isoformat()}"' in archive and "a new one" not in archive
    assert "archived <time" not in show(operator, "memory")
    assert '<span class="state cancelled">No messages</span>' in show(operator, "upkeep")


def test_l23_deep_consolidation_shows_first_what_it_would_archive(operator: Operator, life: Life) -> None:
    """215 items became 31 by one click; now the click lists them, and a second one does it."""
    life.item("old and dull", days=400, importance=0.1)
    life.item("kept", days=400, importance=0.9)
    shown = operator.ask("POST", "/page/upkeep/run", data={"action": "try_deep"}).text
    assert "1 item would be archived first" in shown and "old and dull" in shown
    assert sorted(life.texts()) == ["kept", "old and dull"]
    assert "1 item archived" in operator.ask("POST", "/page/upkeep/run", data={"action": "deep"}).text
    assert life.texts() == ["kept"]


def test_l35_the_page_opens_on_the_persona_there_is(db: Database, stage: Stage) -> None:
    stage.say("Good morning", minutes=-60)
    with client_of(made(db, Settings(persona_id=stage.persona))) as client:
        there = client.get("/admin/", headers=BEARER).headers["location"]
        assert there.endswith(f"/page/memory?conf_uid={stage.persona}")
    with client_of(made(db, Settings(persona_id="nobody-yet"))) as client:
        assert client.get("/admin/", headers=BEARER).headers["location"] == there
        consent = client.get("/admin/page/programs", headers=BEARER).text  # as a program's request for a token opens it
        assert f'value="{stage.persona}" list="personas"' in consent
        assert f">{stage.persona}</a>" in Operator(client, "nobody-yet").ask("GET", "/page/memory").text


def test_l35_a_page_that_is_not_there_is_a_page(operator: Operator) -> None:
    browser = {"Accept": "text/html"}
    answer = operator.ask("GET", "/page/nothing/here", headers=browser)
    assert answer.status_code == 404
    assert 'class="screens"' in answer.text and "No screen has this address" in answer.text
    assert operator.ask("GET", "/nothing", headers=browser).json()["error"] == "not_found"
    assert "screens" not in operator.client.get("/admin/page/nothing", headers=browser).text


@pytest.mark.parametrize("screen", ["people", "conversations", "conversations/one"])
def test_l33_a_number_beyond_every_row_is_no_failure_of_the_page(operator: Operator, stage: Stage, screen: str) -> None:
    stage.say("hello", "tg/7")
    params = {"key": "tg/7", **dict.fromkeys(("offset", "before"), "9999999999999999999")}
    assert operator.ask("GET", f"/page/{screen}", params=params).status_code == (200 if "one" in screen else 422)


def test_l35_items_tell_people_and_conversations_by_their_names(operator: Operator, stage: Stage, life: Life) -> None:
    stage.say("Good morning", path="tg/42", title="Tea room")
    life.item("Tofu is a cat", path="tg/42", participant="tg/ann")
    item = life.item("Nobody named it", path="tg/43", participant="tg/bob")
    shown = show(operator, "memory")
    assert 'title="tg/ann">of Ann<' in shown and 'title="tg/42">in Tea room<' in shown
    assert ">of tg/bob<" in shown and ">in tg/43<" in shown and f">{item}<" in show(operator, "memory/item", id=item)


def test_l1_an_item_shows_the_messages_it_was_made_of(operator: Operator, stage: Stage) -> None:
    rows = [stage.say(text, path="tg/42", minutes=age) for text, age in (("second said", 1), ("first said", 2))]
    item = Life(stage).item("Made of two", source_message_ids=[*rows, "m-7", True, None, 5, 2**62])
    page = show(operator, "memory/item", id=item)
    assert 0 < page.index("first said") < page.index("second said") and "Ann <span" in page


def test_l35_the_list_is_narrowed_by_every_filter_of_its_form(operator: Operator, stage: Stage) -> None:
    life = Life(stage)
    life.item("Tofu is a cat", tags=["pet", "cat"], kind="KeyFacts", importance=0.9)
    life.item("Rex is a dog", tags=["pet"], kind="Mood", importance=0.2)
    for asked in ({"tags": "pet, cat"}, {"kinds": "KeyFacts"}, {"min_importance": "0,5"}, {"q": "cat"}):
        shown = show(operator, "memory", **asked)
        assert "Tofu is a cat" in shown and "Rex is a dog" not in shown, asked


def test_l35_two_channels_of_one_name_are_told_apart_by_their_servers(operator: Operator, stage: Stage) -> None:
    for server in ("Rust Club", "Tea House"):
        stage.say(f"Hello {server}", "discord/general", title="#general", server=server)
    listed = show(operator, "conversations")
    for server in ("Rust Club", "Tea House"):
        assert f">#general · {server}</a>" in listed and f"everybody on {server}" in listed
    assert "\x1f" not in re.sub(r'"[^"]*"', "", listed)
    other = Scope(stage.persona, "discord/general", server="Tea House")
    queued = jobs.enqueue_operation("CONVERSATION_SUMMARY", db=stage.db, scope=other)
    asked = jobs.list_operations(db=stage.db, scope=other)
    assert [(each["id"], each["conversation"]) for each in asked] == [(queued, "discord/general")]
    assert "#general · Tea House</span>" in show(operator, "upkeep")


def test_r41_what_the_worker_asked_of_a_model_is_on_the_page(operator: Operator, stage: Stage) -> None:
    assert "Nothing in the last week" in show(operator, "upkeep")
    model: Any = llm.resolve(lambda messages: "Done.", Settings(), stage.db)
    llm.ask(model, [{"role": "user", "content": "x" * 995}], Settings())
    shown = show(operator, "upkeep")
    assert "1 call today of 1,000" in shown and ">1,000</td>" in shown


def test_l35_conversations_are_listed_with_log_scenes_and_recaps(operator: Operator, stage: Stage) -> None:
    path, asking = "tg/42", stage.asking()
    rows = [stage.say(f"line {n}", path=path, minutes=200 - n, title="Tea room") for n in range(60)]
    stage.say("only here", path="tg/ann", privacy="direct")
    stories.edit_memory(rows[58], "A recap of the last line but one.", **asking)
    stories.add_scene_break(rows[40], "The harbour", recap=False, **asking)
    stories.set_scene_recap(rows[40], "They went to the harbour.", **asking)
    stories.add_running_recap_version("Much tea was drunk.", 1, conversation=path, **asking)
    privacy.set_conversation_local_only(path, **asking)
    listed = show(operator, "conversations")
    assert ">Tea room</a>" in listed and ">Chat with Ann</a>" in listed and ", local only<" in listed
    assert "Tea room" not in show(operator, "conversations", q="tg/ann")
    shown = show(operator, "conversations/one", key=path)
    for part in ("line 59", "line 10", "A recap of the last line", "The harbour", "went to the harbour", "Much tea"):
        assert part in shown, part
    assert "line 9<" not in shown
    earlier = show(operator, "conversations/one", key=path, before=rows[10])
    assert "line 9<" in earlier and "line 10<" not in earlier
    assert operator.ask("GET", "/page/conversations/one", params={"key": "tg/nowhere"}).status_code == 404


def test_l35_a_person_is_shown_and_forgotten(operator: Operator, stage: Stage, life: Life, monkeypatch: Any) -> None:
    stage.say("Good morning", path="tg/ann", privacy="direct")
    life.item("Ann likes green tea", path="tg/ann", participant="tg/ann", privacy="direct")
    life.item("Bob likes rice", path="tg/42", participant="tg/bob")
    assert ">Ann</a>" in show(operator, "people")
    shown = show(operator, "people/one", key="tg/ann")
    assert "<h1>Ann</h1>" in shown and "green tea" in shown and "rice" not in shown
    life.item("Ann likes plums", path="web/ann", participant="web/ann", privacy="direct")
    privacy.link_participants("tg/ann", "web/ann", db=stage.db, scope=Scope(stage.persona))
    monkeypatch.setattr("core.web.admin.pages.people.MOST_ITEMS", 1)
    shown = html.unescape(show(operator, "people/one", key="tg/ann"))
    (address,) = re.findall(r'href="([^"]*)">All 2 items<', shown)
    assert "1–2 of 2 items" in operator.client.get(address, headers=BEARER).text, "of every key of the person"
    tried = operator.ask("POST", "/page/forget", data={"participant": "tg/ann"}).text
    assert "Nothing was changed yet" in tried and "Forget Ann for good" in tried and "Memory items" in tried
    assert sorted(life.texts()) == ["Ann likes green tea", "Ann likes plums", "Bob likes rice"]
    done = operator.ask("POST", "/page/forget", data={"participant": "tg/ann", "action": "forget"}).text
    assert "<h1>Forgotten</h1>" in done and life.texts() == ["Bob likes rice"]
    assert operator.ask("GET", "/page/people/one", params={"key": "tg/ann"}).status_code == 404
    assert operator.ask("POST", "/page/forget", data={}).status_code == 422
    operator.ask("POST", "/page/forget", data={"conversation": "tg/42", "action": "forget"})
    assert life.texts() == []


def test_l35_a_person_nobody_has_named_is_shown_by_their_readable_key(operator: Operator, stage: Stage) -> None:
    key = "proxy/J%C3%BCrgen%2525"
    chat_history_cache.save_chat_message(key, "Tea?", None, key.partition("/")[2], **stage.asking())
    relationships.ensure_and_touch(key, **stage.asking())
    for path in ("people", "people/one", "conversations", "conversations/one"):
        shown = show(operator, path, **({"key": key} if "one" in path else {}))
        assert re.search(r">(Chat with )?proxy/Jürgen%25\s*<", shown), path
    assert f'<span class="sub">{key}</span>' in show(operator, "people")


def test_l35_an_item_is_written_by_hand(operator: Operator, life: Life) -> None:
    form = {"text": "Ann was in Rome", "kind": "KeyFacts", "importance": "0,7", "tags": "rome, ann",
            "participant": "tg/ann", "conversation": "tg/42", "pinned": "1"}  # fmt: skip
    assert "note=added" in operator.ask("POST", "/page/memory/add", data=form).headers["location"]
    (item,) = life.search_items(operator=True)["items"]
    told = {"text": "Ann was in Rome", "importance": 0.7, "tags": ["rome", "ann"], "participant": "tg/ann",
            "conversation": "tg/42", "pinned": True, "provenance": "manual"}  # fmt: skip
    assert {name: item[name] for name in told} == told


def _try(operator: Operator, **fields: str) -> Any:
    return operator.ask("POST", "/page/why", data={"text": "What is the cat called?", **fields})


def test_l35_why_says_that_it_knows_nothing_of_a_place(operator: Operator, stage: Stage) -> None:
    """A mistyped key looked like a conversation in which nobody had said anything."""
    stage.say("The cat is called Tofu", "tg/42")
    assert "Nothing is stored of the conversation" not in _try(operator, conversation="tg/42").text
    assert "Nothing is stored of the conversation 'tg/24'" in html.unescape(_try(operator, conversation="tg/24").text)


@pytest.mark.parametrize(("text", "flags"), [("👍", {}), ("?!", {}), ("cat", {"enable_memories": False})])
def test_l35_why_shows_a_prompt_for_which_nothing_is_searched(db: Database, text: str, flags: dict[str, Any]) -> None:
    with client_of(made(db, Settings(**flags))) as client:
        shown = client.post("/admin/page/why", data={"text": text}, headers=BEARER)
        assert shown.status_code == 200 and "What the model gets" in shown.text


def test_p74_why_shows_where_a_line_was_said_and_what_stands_beside_it(operator: Operator, stage: Stage) -> None:
    evening = (f"Evening {n}." for n in range(40))
    stage.say_all(("What did you name it?", "The cat is called Tofu", "A fine name!", *evening), "tg/77", minutes=900)
    shown = html.unescape(_try(operator, conversation="tg/42").text)
    assert "Said right before and after" in shown and "Ann: What did you name it?" in shown
    assert "Ann: A fine name!" in shown and "conversations/one?conf_uid=" in shown


def test_l35_conversations_and_people_are_found_by_letters_and_counted(db: Database) -> None:
    stage = Stage(db, PERSONA)
    stage.say_all((f"line {number}" for number in range(3)), "tg/42", minutes=50, title="Tea 100% room")
    stage.say("in private", path="tg/ann", privacy="direct", minutes=5)
    Stage(db, "an-overview-of-another").say("elsewhere", path="tg/77")
    shown, total = overview.list_conversations(db, PERSONA, "", 10)
    listed = [("tg/ann", 1, "direct"), ("tg/42", 3, "public")]
    assert [(each.key, each.messages, each.privacy) for each in shown] == listed
    assert total == 2 and overview.list_conversations(db, PERSONA, "", 1, 1)[0][0].key == "tg/42"
    for text, count in (("100%", 1), ("%", 1), ("tg/77", 0)):
        assert overview.list_conversations(db, PERSONA, text, 10)[1] == count
    people, known = overview.list_people(db, PERSONA, "", 10)
    assert known == 1 and (people[0].key, people[0].name, people[0].messages) == ("tg/ann", "Ann", 4)
    assert overview.find_conversation(db, PERSONA, "tg/77") is None and PERSONA in overview.list_personas(db, 10_000)


def test_l35_the_audience_of_each_conversation_is_named(operator: Operator, stage: Stage) -> None:
    """A direct message, a separate chat and a staff channel were all "private"."""
    stage.say("hi", path="tg/ann", privacy="direct")
    stage.say("hi", path="web/9", privacy="separate")
    for path, level in (("dc/staff", "restricted"), ("dc/hall", "public")):
        stage.say("hi", path=path, server="Guild", privacy=level)
    privacy.set_conversation_local_only("tg/ann", **stage.asking())
    shown = {
        "tg/ann": "direct message, local only", "web/9": "separate chat", "dc/staff": "restricted channel on Guild",
        "dc/hall": "everybody on Guild",
    }  # fmt: skip
    page = html.unescape(show(operator, "conversations"))
    cells = dict(re.findall(r'data-id="([^"@]+)[^"]*".*?data-label="Who sees it">([^<]*)<', page, re.DOTALL))
    assert {key.partition("\x1f")[0]: cell for key, cell in cells.items()} == shown
    for key, said in shown.items():
        assert f"<dd>{said}</dd>" in html.unescape(show(operator, "conversations/one", key=key)), key


def test_l35_a_log_is_read_page_by_page_without_a_gap(db: Database) -> None:
    stage = Stage(db, "a-log")
    rows = [stage.say(f"line {n}", path="tg/42", minutes=10 - n // 3) for n in range(9)]
    pages, before = [], None
    while page := messages.read_log(db, "a-log", "tg/42", 4, before):
        pages.append([line.row_id for line, _ in page])
        before = page[0][0].row_id
    assert [row for page in reversed(pages) for row in page] == rows
    assert messages.read_log(db, "a-log", "tg/43", 4, rows[0]) == []
