"""Who said it, who somebody is, and how the persona stands to them (T33, P75, L26 to L31, F6, F20)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from core import chat_history_cache, insert_memory, lifelong, relationships
from core.chat_history_cache import delete_chat_message, save_chat_message
from core.config import Settings
from core.context.context import order_context
from core.conversations import add_saved_memory, list_saved_memories
from core.database.schema import user_relationships
from core.errors import MessageError
from core.lifelong import profile
from core.privacy import link_participants, set_privacy, unlink_participant
from core.synth_core_memory import explain_search, search_memories, silently_record_memory
from core.text.question_words import ABOUT, asked_words, asks_about_person
from tests.spec.stage import HERE, Stage, reasons, snippets
from tests.spec.web_world import Operator, World
from tests.store.world import NOW, count, rows_of

GROUP = "tg/-5"
ANN, BOB = "tg/ann", "tg/bob"
SMALL_TALK = ("I am on my way.", "I think it will rain.", "I'll tell you tomorrow.", "Nice hat!", "I see.")


def speakers(hits: Any) -> dict[str, str | None]:
    return {" ".join(hit["snippet"].split()[:3]): hit.get("speaker") for hit in hits}


def test_t33_the_name_is_that_of_the_history_and_the_personas_own_for_its_own(stage: Stage) -> None:
    stage.say("saffron one", GROUP, 'Bob "B"\nBaker')
    stage.say("saffron two", GROUP, "self", role="persona")
    by = stage.asking(GROUP)
    save_chat_message(GROUP, "saffron three", "Iris", "self", **by)
    save_chat_message(GROUP, "saffron four", None, "77", **by)
    save_chat_message(GROUP, "saffron five", role="system", **by)
    stage.diary("saffron in the soup today")
    hits = search_memories(keywords=["saffron"], limit=20, ranking="recency", **by)
    assert speakers(hits) == {
        "saffron one": "Bob 'B' Baker", "saffron two": stage.persona, "saffron three": "Iris", "saffron four": "77",
        "saffron five": None, "saffron in the": stage.persona,
    }  # fmt: skip
    assert all("speaker" not in hit for hit in hits if hit["snippet"] == "saffron five")


def test_t33_a_line_without_a_name_has_the_persons_known_name(stage: Stage) -> None:
    """One program stores Ann's name, another only her id: a prompt showed two people."""
    stage.say("hello", GROUP, "Ann")
    for who in ("ann", "881"):
        save_chat_message(GROUP, f"saffron of {who}", None, who, **stage.asking(GROUP))
    lines = stage.context("saffron?", path=GROUP, is_private=False, who="Bob")["history_current_chat"]
    assert [line.rpartition("] ")[2].partition(": ")[0] for line in lines] == ["Ann", "Ann", "881"]


def test_t33_a_memory_names_whose_statement_it_is(stage: Stage) -> None:
    stage.say("hello", GROUP, "Bob")
    silently_record_memory("I grow kohlrabi on the roof", scope=stage.scope(GROUP, participant="tg/bob"), db=stage.db)
    silently_record_memory("My kohlrabi died", scope=stage.scope(GROUP, participant="tg/881"), db=stage.db)
    insert_memory("Kohlrabi wants sun.", "Ann", "notes", [], stage.scope(), db=stage.db)
    insert_memory("Kohlrabi is a cabbage.", "synth", "notes", [], stage.scope(), db=stage.db)
    hits = search_memories(keywords=["kohlrabi"], limit=20, db=stage.db, scope=stage.scope(GROUP))
    assert speakers(hits) == {
        "I grow kohlrabi": "Bob", "My kohlrabi died": "881", "Kohlrabi wants sun.": "Ann", "Kohlrabi is a": None,
    }  # fmt: skip


def test_t33_a_saved_memory_of_somebody_else_names_them_where_several_speak(stage: Stage) -> None:
    """What Bob asked to remember in a group is not Ann's own."""
    add_saved_memory("I drink tea", db=stage.db, scope=stage.scope(GROUP, participant="tg/ann"))
    assert stage.context("hello", path=GROUP, is_private=False)["saved_memories"] == ["[2026-03-10] I drink tea"]
    stage.say("hello", GROUP, "Bob")
    stage.say("hello", GROUP, "Ann")
    add_saved_memory("I drink bob tea", db=stage.db, scope=stage.scope(GROUP, participant="tg/bob"))
    shown = stage.context("hello", path=GROUP, is_private=False)["saved_memories"]
    assert shown == ["[2026-03-10] Ann: I drink tea", "[2026-03-10] Bob: I drink bob tea"]


def test_t33_l3_an_item_names_its_person_where_several_speak_and_is_stored_once(stage: Stage) -> None:
    known: dict[str, Any] = {"db": stage.db, "settings": Settings(), "scope": stage.scope(GROUP)}
    stage.say("I love rainy days.", GROUP, "Ann", minutes=60)
    lifelong.consolidate_history(GROUP, **known)
    bob = stage.say("My name is Robert.", GROUP, "Bob", minutes=50)
    stage.say("I love rice.", GROUP, "Ann", minutes=40)
    assert lifelong.consolidate_history(GROUP, **known) == 2
    assert (done := lifelong.deep_consolidation(**known)).stored == 0 and done.merged == 3
    items = lifelong.search_items(conversation=GROUP, scope=stage.scope(GROUP), db=stage.db)["items"]
    made = sorted(item["text"] for item in items if item["provenance"] == "extract")  # the name is a wish, too
    assert made == ["Ann: I love rice.", "Bob: My name is Robert.", "I love rainy days."]
    delete_chat_message(bob, **known)
    assert lifelong.deep_consolidation(**known).stored == 0


@pytest.mark.parametrize(("language", "text", "people", "expected"), [
    ("en", "What do you know about me?", (), True), ("en", "Who am I to you?", (), True),
    ("en", "What should I cook for Ute?", ("Ute",), True), ("en", "Suggest a present", (), True),
    ("en", "Tell me about Tom Baker", ("Tom Baker",), True), ("en", "Can you do that for me please?", (), False),
    ("en", "Tell me about my trip", (), False), ("en", "What did Ute say about Tom?", ("Ute", "Tom"), False),
    ("en", "What is Ute's job?", ("Ute",), False), ("en", "Call me tomorrow", (), False),
    ("de", "Was weißt du noch über mich?", (), True), ("de", "Kannst du das für mich machen?", (), False),
    ("es", "¿Qué sabes de Luis?", ("Luis",), True), ("es", "¿Cuál es el coche de Luis?", ("Luis",), False),
    ("fr", "Que sais-tu de Paul ?", ("Paul",), True), ("fr", "Tu peux faire ça pour moi ?", (), False),
    ("it", "Che cosa sai di me?", (), True), ("pt", "O que você sabe sobre mim?", (), True),
    ("nl", "Wat weet je over mij?", (), True), ("ru", "Расскажи обо мне", (), True),
    ("ja", "私について何を知っていますか?", (), True), ("ja", "私の車はどこ?", (), False),
    ("zh", "关于我你知道什么?", (), True), ("en", "so what else have you noticed about me", (), True),
    ("en", "Could you sum me up in a line?", (), True), ("en", "Are you on the way to me?", (), False),
    ("de", "Was hast du eigentlich von Paul gehört?", ("Paul",), False),
    ("de", "Erzähl mal alles über mich", (), True), ("pl", "Powiedz mi coś o Adamie", ("Adamie",), True),
    ("pl", "Co o mnie wiesz?", (), True), ("tr", "Hakkımda neler biliyorsun?", (), True),
    ("sv", "Vad minns du om mig?", (), True), ("ko", "나에 대해 뭘 알아?", (), True), ("uk", "Хто я?", (), True),
    ("ar", "ماذا تعرف عني؟", (), True), ("cs", "Kde mě najdeš?", (), False),
])  # fmt: skip
def test_p75_a_question_is_about_one_or_not(language: str, text: str, people: tuple[str, ...], expected: bool) -> None:
    """A request to do something asks for nobody's life."""
    words = asked_words(text)
    assert {asks_about_person(words, people, each) for each in ([language], ABOUT)} == {expected}


def tell(stage: Stage) -> None:
    stage.say_all(("I play the cello in a quartet.", "I can't stand lilies.", *SMALL_TALK), minutes=90)
    stage.say("I am a plumber.", who="Bob", minutes=80)
    stage.say("I was born in Oslo.", path=f"{ANN}", privacy="direct", minutes=70)
    assert add_saved_memory("Ann keeps bees", **stage.asking(HERE, participant=ANN)).stored
    stage.say_all((f"Line {n} of the evening." for n in range(12)), minutes=30)


def texts(stage: Stage, who: str | None = None, path: str = HERE, **more: Any) -> list[str]:
    scope = stage.scope(path, participant=more.pop("participant", ANN), privacy=more.pop("privacy", None))
    return [one["text"] for one in profile(who, db=stage.db, settings=Settings(), scope=scope, **more)]


def test_p75_a_profile_holds_what_a_person_stated_with_row_day_and_who_sees_it(stage: Stage) -> None:
    tell(stage)
    assert texts(stage) == ["Ann keeps bees", "I can't stand lilies.", "I play the cello in a quartet."]
    statements = profile(**stage.asking(HERE, participant=ANN))
    assert [one["about"] for one in statements] == [[], ["taste"], ["fact"]]
    assert {one["seen_by"] for one in statements} == {"server"} and all(one["timestamp"] for one in statements)
    (hit,) = search_memories(query="cello", db=stage.db, scope=stage.scope(HERE, participant=ANN))
    assert (statements[2]["id"], statements[2]["source"]) == (hit["id"], hit["source"])
    assert texts(stage, limit=1) == ["Ann keeps bees"]


def test_p75_a_profile_holds_a_text_once_for_each_conversation(stage: Stage) -> None:
    """A line, the instruction in it and the item made of it were three statements."""
    stage.say("I'm vegan.", GROUP)
    stage.say("I love rainy days.", GROUP)
    lifelong.consolidate_history(GROUP, db=stage.db, settings=Settings(), scope=stage.scope(GROUP))
    assert sorted(texts(stage, path=GROUP)) == ["I love rainy days.", "I'm vegan."]
    stage.say("I'm vegan.", ANN, privacy="direct")
    assert sorted(texts(stage, path=ANN, privacy="direct")) == ["I love rainy days.", "I'm vegan.", "I'm vegan."]
    assert sorted(texts(stage, path=GROUP, operator=True)) == ["I love rainy days.", "I'm vegan.", "I'm vegan."]


def test_p75_small_talk_hides_no_statement(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has words such as `love` too, and only so many rows are read."""
    monkeypatch.setattr("core.search.profile.MOST_READ", 10)
    stage.say("I play the cello.", GROUP, minutes=900)
    stage.say_all((f"The trumpet player would love number {n}." for n in range(30)), GROUP, minutes=500)
    assert texts(stage, path=GROUP) == ["I play the cello."]


@pytest.mark.parametrize("text", [
    "I now live in Rome.", "I'm living in Rome.", "I no longer live in Rome.", "I'm now a cook.",
    "I also have a cat.", "My new number is 123.", "Tom and I broke up.", "Jetzt wohne ich in Rom.",
    "Ich wohne nicht mehr in Rom.", "Ahora vivo en Roma.", "Ya no vivo en Roma.", "Je n'habite plus à Rome.",
    "Non vivo più a Roma.",
])  # fmt: skip
def test_p75_a_change_is_a_statement(stage: Stage, text: str) -> None:
    stage.say(text, GROUP)
    assert texts(stage, path=GROUP) == [text]


def test_p75_a_feeling_that_a_model_named_is_no_statement(stage: Stage) -> None:
    stage.say("Hoy estoy contenta.", GROUP)
    answer = '{"emotions": [{"name": "alegría", "score": 0.8}], "facts_about_user": ["Ann tiene un gato"]}'
    by: dict[str, Any] = {"db": stage.db, "settings": Settings(), "scope": stage.scope(GROUP)}
    assert lifelong.consolidate_history(GROUP, model=lambda _: answer, **by) == 2
    assert texts(stage, path=GROUP) == ["Ann tiene un gato"]


@pytest.mark.engines()
def test_p75_a_profile_shows_nothing_that_the_scope_may_not_see(stage: Stage) -> None:
    tell(stage)
    born = "I was born in Oslo."
    assert born in texts(stage, path=ANN, privacy="direct")
    assert born not in texts(stage) and born not in texts(stage, ANN, participant=BOB)
    assert texts(stage, BOB) == ["I am a plumber."] and texts(stage, "tg/nobody") == []
    assert born in texts(stage, ANN, participant=BOB, operator=True)
    with pytest.raises(MessageError, match=r"participant is missing\..*HTTP: about"):
        texts(stage, participant=None)
    with pytest.raises(MessageError, match="limit is 0"):
        texts(stage, limit=0)


@pytest.mark.parametrize("question", ["What do you know about me?", "Who am I to you?", "Suggest a present for me."])
def test_p75_a_question_about_the_asker_is_answered_by_what_they_stated(stage: Stage, question: str) -> None:
    tell(stage)
    stated = {"Ann keeps bees", "I can't stand lilies.", "I play the cello in a quartet."}
    assert snippets_of(stage, question, limit=3) == stated
    assert "I play the cello in a quartet." in snippets(stage.context(question))


def snippets_of(stage: Stage, question: str, **more: Any) -> set[str]:
    return {hit["snippet"] for hit in search_memories(query=question, **more, **stage.asking(HERE, ANN))}


@pytest.mark.parametrize("question", ["What can I cook today?", "What should I cook for us tonight?"])
def test_p75_what_to_cook_today_asks_about_the_person(stage: Stage, question: str) -> None:
    tell(stage)
    stage.say("I eat fish again.", minutes=20 * 1440)
    assert {"I eat fish again.", "I can't stand lilies."} <= snippets_of(stage, question)


def test_f6_linked_identities_have_one_profile_and_ask_about_the_lines_of_both(stage: Stage) -> None:
    tell(stage)
    link_participants(ANN, BOB, **stage.asking())
    assert "I am a plumber." in texts(stage, ANN) and set(texts(stage, ANN)) == set(texts(stage, BOB))
    assert "I am a plumber." in snippets_of(stage, "What do you know about me?")
    hits = explain_search("When did I become a plumber?", **stage.asking(HERE, ANN))[1]["hits"]
    assert next(one["reasons"]["person"] for one in hits if "plumber" in one["words"]) > 0
    unlink_participant(BOB, **stage.asking())


def test_p75_a_question_about_somebody_named_is_answered_by_what_they_stated(stage: Stage) -> None:
    tell(stage)
    assert snippets_of(stage, "What should I cook for Bob?", limit=1) == {"I am a plumber."}
    stage.say("Bob is late again", HERE, "Cleo")
    assert snippets_of(stage, "What did Bob say?") >= {"Bob is late again", "I am a plumber."}


def test_p75_the_faces_show_the_same_profile(stage: Stage, world: World, operator: Operator) -> None:
    tell(stage)
    host = world.visitor().ask("GET", f"/v1/profile?about={ANN}&conversation={HERE}&participant={BOB}")
    assert [one["text"] for one in host["statements"]] == texts(stage)
    own = world.visitor("scope", BOB).ask("GET", f"/v1/profile?about={ANN}")["statements"]
    assert "I was born in Oslo." not in [one["text"] for one in own]
    world.visitor().ask("GET", "/v1/profile", 422)
    page = operator.ask("GET", "/page/people/one", params={"key": ANN}).text
    assert "What they told of themselves" in page and "I can&#39;t stand lilies." in page


def get(stage: Stage, who: Any = "tg/ann", **more: Any) -> Any:
    return relationships.get(who, **{**stage.asking(), **more})


def touch(stage: Stage, who: Any = "tg/ann", *name: Any, **more: Any) -> Any:
    return relationships.ensure_and_touch(who, *name, **{**stage.asking(), **more})


def adjust(stage: Stage, who: Any = "tg/ann", *deltas: Any, **more: Any) -> Any:
    own = {name: more.pop(name) for name in ("db", "settings", "scope") if name in more}
    return relationships.adjust(who, *deltas, **more, **{**stage.asking(), **own})


def rows(stage: Stage, table: Any = user_relationships) -> int:
    return count(stage.db, table, stage.persona)


@contextmanager
def later(stage: Stage, **by: float) -> Iterator[Any]:
    clock, before = stage.db.clock, stage.db.clock.now
    clock.forward(**by)
    yield clock
    clock.now = before


@pytest.mark.engines()
def test_l26_an_unknown_person_is_zeros_and_is_made_by_the_first_touch(stage: Stage) -> None:
    assert get(stage, "u9") == {
        "user_id": "u9", "username": "", "realname": "", "affinity": 0, "trust": 0, "interaction_count": 0,
        "last_interaction": None,
    }  # fmt: skip
    assert rows(stage) == 0
    told = touch(stage, "u9", "Ann")
    assert told == (True, None, "") and told.relationship == get(stage, "u9") and touch(stage, "u9", "").stored
    known = get(stage, "u9")
    assert (known["interaction_count"], known["username"], known["last_interaction"]) == (2, "Ann", NOW.isoformat())
    assert rows(stage) == 1
    assert get(Stage(stage.db), "u9")["interaction_count"] == 0  # another persona
    assert get(stage, "U9")["interaction_count"] == get(stage, "u9 ")["interaction_count"] == 0


@pytest.mark.engines()
def test_l27_d26_it_adds_and_clamps_and_counts(stage: Stage) -> None:
    bounds = [adjust(stage, "u9", delta, delta).relationship for delta in (-150, 300)]
    assert [(each["affinity"], each["trust"]) for each in bounds] == [(-100, 0), (100, 100)]
    told = adjust(stage, "u9", -30, -93, "Ann", realname="Anna")
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
        (listed,) = relationships.list_recent(**stage.asking())
        assert listed == get(stage) and adjust(stage, "tg/ann", 5).relationship["affinity"] == 35
    with later(stage, days=60):
        assert get(stage)["affinity"] == 17  # of 35, 17.5 is lost, halves up


def test_l31_the_list_takes_1_to_500(stage: Stage) -> None:
    for days, who in enumerate(("tg/a", "tg/b")):
        with later(stage, days=days):
            touch(stage, who)
    assert [each["user_id"] for each in relationships.list_recent(1, **stage.asking())] == ["tg/b"]
    assert relationships.list_recent(500, **Stage(stage.db).asking()) == []
    for bad in (501, 0, "5", True):
        with pytest.raises(ValueError, match="1 to 500"):
            relationships.list_recent(bad, **stage.asking())


def test_l26_saved_messages_count_interactions_by_themselves(stage: Stage) -> None:
    stage.say_all(("hello there", "are you in?", "well then"))
    stage.say("here I am", who="self")
    stage.say("a word of Bob", who="Bob")
    stage.say("it rains", role="narrator")
    ann = get(stage)
    assert (ann["interaction_count"], ann["username"], ann["affinity"]) == (3, "Ann", 0) and ann["last_interaction"]
    for _ in range(2):  # what is there already counts once
        chat_history_cache.save_chat_message("tg/42", "hi", "Bob", "bob", NOW, message_id="m1", **stage.asking())
    assert get(stage, "tg/bob")["interaction_count"] == 2
    assert {each["user_id"] for each in relationships.list_recent(**stage.asking())} == {"tg/ann", "tg/bob"}
    assert "relationship" not in stage.context("hi")  # nothing has moved it yet
    assert adjust(stage, "tg/ann", trust_delta=1, touch=False).stored
    assert stage.context("hi")["relationship"] == {"affinity": 0, "trust": 1, "interactions": 3}


def test_l26_l29_a_message_ends_the_fading_and_keeps_one_relationship_of_linked_people(stage: Stage) -> None:
    adjust(stage, "tg/ann", 40)
    link_participants("tg/ann", "dc/7", **stage.asking())
    with later(stage, days=30):
        stage.say("back again", path="dc/1", who="7")
        assert (get(stage)["affinity"], get(stage)["interaction_count"]) == (20, 2)
    with later(stage, days=60):
        assert get(stage)["affinity"] == 10
    assert len(relationships.list_recent(**stage.asking())) == 1


def test_l26_nothing_is_counted_of_somebody_who_wants_nothing_kept(stage: Stage) -> None:
    set_privacy("tg/bob", "partial", **stage.asking())
    stage.say("hello there", who="Bob")
    stage.say("hello there")
    set_privacy("tg/ann", "partial", **stage.asking())
    stage.say("how are you?")
    assert [get(stage, who)["interaction_count"] for who in ("tg/bob", "tg/ann")] == [0, 1]


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
    set_privacy("tg/ann", level, **stage.asking())
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


@pytest.mark.engines()
def test_f6_linked_identities_are_one_person(stage: Stage) -> None:
    adjust(stage, "tg/ann", 10, username="Ann")
    with later(stage, minutes=5):
        adjust(stage, "dc/7", 40, username="Annie")
    link_participants("tg/ann", "dc/7", **stage.asking())
    # The one with the newest interaction counts, whichever key is named; nothing is added up or lost.
    assert get(stage, "tg/ann")["affinity"] == get(stage, "dc/7")["affinity"] == 40
    assert get(stage, "tg/ann")["user_id"] == "tg/ann"
    assert stage.context("hi")["relationship"] == {"affinity": 40, "trust": 0, "interactions": 1}
    with later(stage, minutes=6):
        adjust(stage, "tg/ann", 5)
    assert get(stage, "dc/7")["affinity"] == 45 and rows(stage) == 2
    assert [each["username"] for each in relationships.list_recent(**stage.asking())] == ["Annie"]
    set_privacy("dc/7", "partial", **stage.asking())  # F23: of the whole person
    assert adjust(stage, "tg/ann", 5).reason == "privacy"
    set_privacy("dc/7", "none", **stage.asking())
    unlink_participant("dc/7", **stage.asking())
    assert (get(stage, "tg/ann")["affinity"], get(stage, "dc/7")["affinity"]) == (10, 45)


@pytest.mark.engines()
def test_f6_c14_saved_memories_of_private_chats_go_with_their_person(stage: Stage) -> None:
    """A front end's chats are separate: a link must not hide from them what was saved before it."""
    chats = [
        stage.scope(path, participant=who, privacy=privacy)
        for path, who, privacy in (
            ("tg/ann", "tg/ann", "direct"), ("dc/7", "dc/7", "direct"),
            ("proxy/1", "tg/ann", "separate"), ("proxy/2", "dc/7", "separate"), ("proxy/3", "dc/7", "separate"),
        )
    ]  # fmt: skip
    seen = lambda: [{item["text"] for item in list_saved_memories(db=stage.db, scope=chat)} for chat in chats]  # noqa: E731
    for number, chat in enumerate(chats[:4]):
        add_saved_memory(f"wish {number}", db=stage.db, scope=chat)
    anns, others = {"wish 0", "wish 2"}, {"wish 1", "wish 3"}
    assert seen() == [anns, others, anns, others, others]
    link_participants("tg/ann", "dc/7", **stage.asking())
    assert seen() == [anns | others] * 5
    stage.say("I sleep well", "dc/new", "7", privacy="separate")  # begun while they were one person
    chats.append(stage.scope("dc/new", participant="dc/7", privacy="separate"))
    unlink_participant("dc/7", **stage.asking())
    assert seen() == [anns, others, anns, others, others, others]


def test_an_id_without_interface_is_of_the_scopes(stage: Stage) -> None:
    scope = stage.scope("tg/42", participant="tg/ann")
    assert adjust(stage, "bob", 3, scope=scope).relationship["user_id"] == "tg/bob"
    assert touch(stage, None, scope=scope).relationship["user_id"] == "tg/ann"
    assert stage.context("hi", who="Bob")["relationship"]["affinity"] == 3
    assert get(stage, None, scope=scope)["interaction_count"] == 1
