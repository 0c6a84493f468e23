"""The call of a prompt: arguments, stages, hooks, search, counts, limits, report (P1 to P6, P40, P50 to P63, D35)."""

import json
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from operator import itemgetter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core import Scope, prompt_engine, search, synth_tagging
from core.calls import defaults
from core.config import Settings
from core.conversations import add_saved_memory
from core.database.engine import Database
from core.errors import PromptTooLargeError
from core.prompt import pipeline
from core.prompt_engine import build_json_prompt, explain_json_prompt, explain_messages, set_hook, to_json
from core.synth_core_memory import explain_search, search_memories
from tests.databases import traced
from tests.spec.stage import ELSEWHERE, HERE, NOW, Stage, failed, message, said, snippets
from tests.spec.story import by_words
from tests.store.world import open_db, url_of

ACTIONS = {"message_web": {"brief": "Say something.", "schema": {"text": "text"}, "source": "core"}}
COMMON = ("Where do I work?", "What do I have?", "Was I in the ER?")  # stop words alone, and what people ask
LIVE = ["tofu here number 3", "b", " "]
LIST_SECTIONS = ("history_current_chat", "history_recent", "thoughts", "memories", "ai_diary")


def fill(stage: Stage) -> None:
    stage.say_all((f"we talked about tofu number {n}" for n in range(4)), minutes=23)
    stage.say_all((f"over there number {n}" for n in range(4)), ELSEWHERE, "Bob", minutes=33)
    stage.remember("Ann cooks pizza on fridays", ["pizza"], minutes=600)
    stage.remember("Ann has a cat called tofu", ["cat"], minutes=700)
    stage.diary("a quiet day", personal_thought="she is kind", interaction_summary="we cooked", minutes=90)


def test_t58_a_tag_that_is_a_stop_word_recalls_rows_by_a_question_alone(stage: Stage) -> None:
    """Notes with the state `open` were not found by the question for open ones; the word in a text says nothing."""
    stage.remember("Orion is a club", ["the", "club"], minutes=600)
    assert snippets(stage.context("how was the weather?")) == []
    assert snippets(stage.context("which club?")) == ["Orion is a club"]
    stage.remember("Fix the boiler", ["open"], minutes=600)
    stage.remember("Pay the rent", ["done"], minutes=610)
    stage.say("we left the door open all day", ELSEWHERE, "Bob", minutes=620)
    assert snippets(stage.context("what is still to be done?")) == ["Pay the rent"]
    assert snippets(stage.context("which chores are open?")) == ["Fix the boiler"]
    assert snippets(stage.context("I left all windows open this morning")) == []
    found = search_memories(query="Which chores are open?", db=stage.db, scope=Scope(stage.persona))
    assert [hit["snippet"] for hit in found] == ["Fix the boiler"]


def test_p1_positional_arguments_stand_in_the_seeds_order(stage: Stage) -> None:
    given = ({"chat_id": 1}, "discord", {"type": "photo"}, [{"type": "file", "name": "a.txt"}], 50_000)
    made = build_json_prompt(message(path=None), *given, **stage.asking())["input"]
    assert (made["interface"], made["payload"]["image"]) == ("discord", {"type": "photo"})
    assert made["payload"]["attachments"]


def _raise(*_: Any, **__: Any) -> Any:
    raise RuntimeError("canary-text")


@pytest.mark.parametrize(("name", "gone"), {
    "context": ["weather"], "actions": [], "engine_limit": [],
    "extract_tags": [], "expand_tags": [], "search": ["memories"],
    "history": ["history_current_chat", "history_recent"],
    "prepare": ["memories"], "build_search": ["memories"], "start": ["memories"], "choose_hits": ["memories"],
}.items(), ids=str)  # fmt: skip
def test_p3_what_raises_is_named_and_costs_a_section(stage: Stage, name: str, gone: Any, monkeypatch: Any) -> None:
    """Hooks and steps of the search, and the keys of the context that are absent or empty when they raise."""
    fill(stage)
    set_hook("context", lambda: {"weather": "rain"})
    set_hook("actions", lambda: {"wave": {"brief": "Wave."}})
    undisturbed = stage.prompt("tell me of pizza please")
    if hasattr(search, name):
        monkeypatch.setattr(search, name, _raise)
    else:
        set_hook(name, _raise)
    prompt, report = stage.explain("tell me of pizza please")
    assert (name in failed(report)) is not hasattr(search, name)
    assert failed(report) and "canary-text" not in json.dumps(report)
    assert not any(prompt["context"].get(key) for key in gone)
    free = {*gone, *(("memories",) if name in ("history", "extract_tags", "expand_tags") else ())}
    kept = {key: value for key, value in undisturbed["context"].items() if key not in free}
    assert {key: value for key, value in prompt["context"].items() if key not in free} == kept
    assert prompt["actions"] == ({} if name == "actions" else undisturbed["actions"])
    assert (prompt["input"], prompt["instructions"]) == (undisturbed["input"], undisturbed["instructions"])


def test_p3_without_a_database_all_that_is_stored_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(defaults, "handle", _raise)
    lost = failed(explain_json_prompt(message("tofu"), {})[1])
    assert lost == ["database", "chat_history_cache", "memories", "ai_diary"]


def test_p3_a_counter_that_fails_removes_the_limit_of_tokens_alone(stage: Stage, monkeypatch: Any) -> None:
    undisturbed = stage.prompt("hello", max_chars=50_000)
    prompt, report = stage.explain("hello", max_chars=50_000, limit_tokens=10, counter=_raise)
    assert prompt == undisturbed
    assert (failed(report), report["limit_tokens"], report["tokens"]) == (["counter"], None, None)
    with pytest.raises(PromptTooLargeError):
        stage.explain("hello", max_chars=100, limit_tokens=10, counter=_raise)
    real = pipeline.fit
    monkeypatch.setattr(pipeline, "fit", lambda *given, **more: _raise() if given[1].counter else real(*given, **more))
    with pytest.raises(RuntimeError, match="canary-text"):
        stage.explain("hello", limit_tokens=10, counter=len)


def test_p4_the_search_gets_tags_words_and_the_text_and_is_not_called_for_nothing(stage: Stage) -> None:
    stage.remember("x", ["cat", "pet"])
    synth_tagging.link_tags("cat", "pet", db=stage.db, scope=stage.scope())
    calls: list[dict[str, Any]] = []
    set_hook("search", lambda **given: calls.append(given) or [])
    stage.prompt("the cat likes recipes", CONTEXT_VERBOSITY=10)
    stage.prompt("ok")
    stage.prompt("retrodeck", ENABLE_MEMORIES=0)
    (call,) = calls
    wanted = {"tags": ["cat", "pet"], "keywords": ["cat", "like", "recip"], "query": "the cat likes recipes",
              "include_chat": True, "limit": 10}  # fmt: skip
    assert {name: call[name] for name in wanted} == wanted


def test_p5_hooks_get_what_the_table_says(stage: Stage) -> None:
    seen: dict[str, dict[str, Any]] = {}
    for name in ("context", "actions", "engine_limit"):
        set_hook(name, lambda name=name, **given: seen.update({name: given}))  # type: ignore[misc]
    memory = {"tg/42": []}
    stage.prompt("hi there", memory, "tg")
    given = seen.pop("context")
    assert (given["interface_name"], given["text"]) == ("tg", "hi there")
    assert given["context_memory"] is memory and "message" in given
    assert seen == {"actions": {"interface_name": "tg"}, "engine_limit": {}}


def line(stage: Stage, **flags: Any) -> str:
    made: str = stage.prompt("hello", **flags)["instructions"]
    assert "\n" not in made and "  " not in made and len(made) < 1600
    return made


@pytest.mark.parametrize("lite", [0, 1])
def test_p13_plain_words_are_asked_for_unless_there_are_actions(stage: Stage, lite: int) -> None:
    for none in (None, {}, {"nameless": {}}):
        set_hook("actions", lambda none=none: none)
        shown = line(stage, PROMPT_LITE_MODE=lite)
        assert "{" not in shown and "actions" not in shown and "JSON" in line(stage, ANSWER_FORMAT="actions")
    set_hook("actions", lambda: ACTIONS)
    for chosen in ("auto", "actions"):
        shown = line(stage, ANSWER_FORMAT=chosen, PROMPT_LITE_MODE=lite)
        assert all(word in shown for word in ("JSON", "type", "payload", "thread_id", "actions"))
    assert "{" not in line(stage, ANSWER_FORMAT="text", PROMPT_LITE_MODE=lite)


def test_g2_a_hook_acts_on_the_next_prompt(stage: Stage) -> None:
    fill(stage)
    hit = {"source": "memories", "id": 1, "timestamp": "", "snippet": "mine", "tags": []}
    set_hook("search", lambda tags, keywords: [hit])
    assert snippets(stage.context("pizza")) == ["mine"]
    report = stage.explain("pizza", {HERE: [{"sender_name": "Ann", "text": "mine"}]})[1]
    assert {"section": "memories", "reason": "visible", "id": "memories/1"} in report["left_out"]
    set_hook("extract_tags", lambda text: [text.upper()])
    assert stage.explain("pizza")[1]["search"]["tags"] == ["PIZZA"]
    line = {"sender_name": "Zoe", "text": "from the host", "timestamp": NOW.isoformat()}
    there = {**line, "text": "elsewhere", "interface_path": ELSEWHERE}
    set_hook("history", lambda interface_path: [there, {**line, "interface_path": interface_path}])
    context = stage.context("pizza")
    assert said(context["history_current_chat"]) == ["from the host"]
    assert said(context["history_recent"]) == ["elsewhere"]


@pytest.mark.parametrize(
    "rubbish", [True, "text", b"x", [1, None, "x"], {"a": object()}, object(), [[[]]], float("nan"), {3: 4}]
)
def test_f57_rubbish_from_every_hook_leaves_a_prompt(stage: Stage, rubbish: Any) -> None:
    fill(stage)
    undisturbed = stage.context("pizza")
    for name in ("context", "actions", "engine_limit"):
        set_hook(name, lambda: rubbish)
    prompt = stage.prompt("pizza")
    for key in ("history_current_chat", "thoughts", "memories", "ai_diary"):
        assert prompt["context"][key] == undisturbed[key]
    json.dumps(prompt, allow_nan=False)
    for name in ("search", "extract_tags"):
        set_hook(name, lambda: rubbish)
    context = stage.context("pizza")
    assert (context["memories"], context["history_current_chat"]) == ([], undisturbed["history_current_chat"])


def test_g24_the_report_names_the_counter_and_the_limit_holds(stage: Stage) -> None:
    fill(stage)
    limit = stage.explain("tofu and pizza", limit_tokens=100_000, counter=by_words)[1]["tokens"] - 20
    prompt, report = stage.explain("tofu and pizza", limit_tokens=limit, counter=by_words)
    assert (report["counter"], report["limit_tokens"]) == ("by_words", limit) and limit > 80
    assert report["tokens"] == by_words(json.dumps(prompt, ensure_ascii=False)) <= limit
    assert stage.explain("hi", limit_tokens=100_000)[1]["counter"]


def test_t10_a_word_of_most_lines_counts_next_to_nothing(stage: Stage) -> None:
    stage.say_all((f"{'kitchen' if n < 100 else 'other'} {n}" for n in range(120)), "tg/crowd", "Zoe", minutes=900)
    stage.say("the retrodeck is broken", "tg/crowd", "Zoe", minutes=9000)
    hits = search_memories(query="kitchen retrodeck", limit=1, **stage.asking("tg/crowd"))
    assert [hit["snippet"] for hit in hits] == ["the retrodeck is broken"]
    assert search_memories(query="kitchen", **stage.asking("tg/crowd"))


def test_t11_of_too_many_words_the_rarest_known_stay(stage: Stage) -> None:
    stage.say("the zanzibar trip", ELSEWHERE, "Bob", minutes=500)
    text = " ".join(f"filler{n}q" for n in range(299)) + " zanzibar"
    prompt, report = stage.explain(text, UNIFIED_HISTORY=0)
    assert len(report["search"]["words"]) == 24 and "zanzibar" in report["search"]["words"]
    assert snippets(prompt["context"]) == ["the zanzibar trip"]


@pytest.mark.parametrize("text", [*COMMON, "How is felix?", "tofu " + " ".join(f"word{n}x" for n in range(40))])
def test_t59_a_message_finds_what_a_search_for_it_finds(stage: Stage, text: str) -> None:
    """One function chooses the words, and both know the tags and aliases that stand in a text."""
    for fact in ("I work as a nurse", "I have a piano", "I spent the night in the ER"):
        stage.remember(fact, [], 900)
    stage.remember("the grey one sleeps a lot", ["cat"], 900)
    stage.remember("Ann cooks tofu", ["food"], 950)
    synth_tagging.add_alias("felix", "cat", **stage.asking())
    found = search_memories(query=text, limit=10, **stage.asking(HERE))
    assert found and snippets(stage.context(text)) == [hit["snippet"] for hit in found]


@pytest.mark.parametrize("is_stored", [True, False])
def test_t59_a_question_by_pronoun_also_finds_what_the_turns_before_it_name(stage: Stage, is_stored: bool) -> None:
    stage.remember("Mara has a flat in Bristol", [], 900)
    for n in range(9):
        stage.remember(f"friend number {n} lives in Cork", [], 800 - n)
    turns = [("user", "Did I mention my sister Mara?"), ("assistant", "Yes!"), ("user", "Is she well?")]
    for n, (role, text) in enumerate(turns if is_stored else ()):
        stage.say(text, who="Ann" if role == "user" else "self", minutes=9 - n)
    for text, finds in (("Where does she live?", True), ("Where does friend number 3 live?", False)):
        listed = [{"role": role, "content": said} for role, said in (*turns, ("user", text))]
        asked: Any = message(text) if is_stored else listed
        prompt, report = explain_messages(asked, **stage.asking(HERE, MEMORY_ITEMS=2))
        assert ("Bristol" in str(prompt)) is ("mara" in report["search"]["words"]) is finds


@pytest.mark.parametrize(("minutes", "finds"), [(40, True), (13 * 60, False)])
def test_t59_the_turns_before_are_found_among_lines_of_other_people(stage: Stage, minutes: int, finds: bool) -> None:
    stage.remember("Mara has a flat in Bristol", [], 900)
    stage.say("Did I mention my sister Mara?", minutes=minutes)
    stage.say_all((f"nobody answers door number {n}" for n in range(30)), who="Bob", minutes=35)
    _, report = explain_messages(message("Where does she live?"), **stage.asking(HERE))
    assert ("mara" in report["search"]["words"]) is finds


def test_t59_a_question_by_pronoun_finds_a_line_next_to_a_match(stage: Stage) -> None:
    lines = ["My parrot Kiwi is ill", "Oh no, what does it eat?", "Only sunflower seeds and mango", "Kiwi is well"]
    told = {stage.say(text, who="Bob", minutes=9000 - n) for n, text in enumerate(lines)}
    stage.say_all((f"nobody answers door number {n}" for n in range(60)), who="Bob", minutes=8000)
    stage.say("Do you know the parrot of Bob?", minutes=9)
    stage.say("Kiwi, the green one.", who="self", minutes=8)
    _, report = explain_messages(message("What does it eat?"), max_chars=4000, **stage.asking(HERE))
    found = [hit for hit in sorted(report["search"]["hits"], key=itemgetter("rank")) if hit["score"]]
    assert told <= {hit["id"] for hit in found[:5]}


@pytest.mark.parametrize("text", ["Where is the flute?", "Where is that flute?", "And the flute?"])
def test_t59_words_of_the_turns_before_hide_no_answer_beside_a_rarer_word(stage: Stage, text: str) -> None:
    """`that` was read as referring back, and lines with words of the last turns came before the answer."""
    stage.say_all(["I ask Sella where the flute is.", "In the tower of Count Orlec."], minutes=9000)
    for n in range(90):
        stage.say(f"We feed the pony near mill {n}.", minutes=8000 - 4 * n)
        stage.say(f"The pony and the miller like song {n}.", minutes=7998 - 4 * n, who="self")
    stage.say_all(["Is the pony at the mill?", "The pony sleeps."], minutes=9)
    messages, _ = explain_messages(message(text), **stage.asking(HERE, MEMORY_ITEMS=8))
    assert "In the tower of Count Orlec." in str(messages)


@pytest.fixture
def fresh(stage: Stage) -> Iterator[Database]:
    """Another handle of the database, to which nothing of a persona with many rows is known yet."""
    for n in range(40):
        stage.say(f"tofu here {n}", minutes=90 - n)
        stage.say(f"tofu there {n}", f"tg/{43 + n % 12}", "Bob", minutes=90 - n)
    stage.remember("Ann cooks pizza and tofu", ["pizza", "tofu"], 900)
    stage.diary("tofu day", personal_thought="hm", context_tags=["tofu"])
    with closing(open_db(url_of(stage.db))) as made:
        yield made


@pytest.mark.parametrize(
    "text",
    ["tofu and pizza please", "", "ok", "pizza " * 30, "a " + " ".join(f"word{n}x" for n in range(60)), "数学の宿題"],
)
def test_d35_a_prompt_sends_few_statements_cold_and_warm(stage: Stage, fresh: Database, text: str) -> None:
    live = {HERE: [{"text": "live", "sender_name": "Ann"}], ELSEWHERE: [{"text": "live", "sender_name": "Bob"}]}
    for _ in range(3):
        with traced(fresh) as statements:
            build_json_prompt(message(text), live, db=fresh, settings=Settings(), scope=stage.scope())
        assert len(statements) <= 14


def test_t5_the_first_prompt_of_a_process_finds_what_the_later_ones_find(stage: Stage, fresh: Database) -> None:
    stage.remember("night of rounds", ["pizza night"], 2000)
    stage.remember("feline matters", ["pet"], 2100)
    synth_tagging.link_tags("tofu", "pet", db=stage.db, scope=stage.scope())
    first, later = (stage.prompt("a Pizza  Night with tofu", db=fresh) for _ in range(2))
    assert {"night of rounds", "feline matters"} <= set(snippets(first["context"])) and later == first


@pytest.fixture(scope="module")
def crowded(db: Database) -> Stage:
    stage = Stage(db)
    for n in range(14):
        stage.say(f"tofu here number {n}", minutes=100 - n)
        stage.say(f"tofu there number {n}", ELSEWHERE, "Bob", minutes=90 - n)
        stage.remember(f"tofu memory number {n}", ["tofu"], 1000 + n)
        stage.diary(f"tofu day {n}", minutes=80 - n, personal_thought=f"tofu thought {n}")
    return stage


@pytest.mark.parametrize(("flags", "counts"), [
    ({}, (10, 10, 10)), ({"CONTEXT_VERBOSITY": 3}, (3, 3, 3)),
    ({"CONTEXT_VERBOSITY": 3, "HISTORY_LINES": 4, "MEMORY_ITEMS": 12}, (4, 3, 12)),
    ({"HISTORY_LINES": 14, "MEMORY_ITEMS": 0}, (14, 10, 0)), ({"HISTORY_LINES": 0}, (0, 10, 10)),
    ({"PROMPT_LITE_MODE": 1, "HISTORY_LINES": 9, "MEMORY_ITEMS": 9}, (3, 3, 2)),
], ids=str)  # fmt: skip
def test_p40_each_list_has_a_count_of_its_own(crowded: Stage, flags: dict[str, int], counts: tuple[int, ...]) -> None:
    context = crowded.context("tofu", **flags)
    assert tuple(len(context[key]) for key in ("history_current_chat", "history_recent", "memories")) == counts


def test_p40_lite_mode_shows_the_best_memories(stage: Stage) -> None:
    best = ["pizza zucchini quark on fridays", "pizza zucchini quark at home"]
    for n, text in enumerate([*best, "pizza alone", "pizza cold"]):
        stage.remember(text, minutes=4000 - n)
    asked: dict[str, Any] = {"db": stage.db, "scope": stage.scope(), "settings": Settings(prompt_lite_mode=True)}
    assert sorted(snippets(stage.context("pizza zucchini quark", PROMPT_LITE_MODE=1))) == sorted(best)
    shown = prompt_engine.build_messages(message("pizza zucchini quark"), **asked)[-1]["content"]
    assert all(text in shown for text in best) and "alone" not in shown


def test_p50_the_argument_comes_before_the_hook_and_the_hook_before_the_flag(crowded: Stage) -> None:
    set_hook("engine_limit", lambda: 30000)
    assert crowded.explain("tofu", max_chars=52000)[1]["limit"] == 52000
    assert crowded.explain("tofu", MAX_PROMPT_CHARS=40000)[1]["limit"] == 30000
    set_hook("engine_limit", None)
    assert crowded.explain("tofu", MAX_PROMPT_CHARS=40000)[1]["limit"] == 40000
    assert crowded.explain("tofu")[1]["limit"] is None
    set_hook("engine_limit", lambda: "many")
    report = crowded.explain("tofu")[1]
    assert report["limit"] is None and "engine_limit" in str(report["notes"])
    set_hook("engine_limit", lambda: None)
    assert crowded.explain("tofu", MAX_PROMPT_CHARS=40000)[1]["limit"] == 40000


def test_p53_the_memory_that_fits_worst_goes_first(stage: Stage) -> None:
    stage.remember("pizza zucchini quark " + "x" * 30, ["pizza", "quark"], 3000)
    stage.remember("pizza alone " + "y" * 30, ["pizza"], 10)
    whole = stage.prompt("pizza zucchini quark")
    assert len(whole["context"]["memories"]) == 2
    prompt = stage.prompt("pizza zucchini quark", max_chars=len(to_json(whole)) - 90)
    assert [hit["snippet"][:14] for hit in prompt["context"]["memories"]] == ["pizza zucchini"]


@pytest.mark.parametrize("sign", ["word%d ", "\u6570%d", '"\n%d'])
def test_f62_a_megabyte_is_looked_at_no_further_than_it_matters(stage: Stage, sign: str) -> None:
    text = "".join(sign % n for n in range(200_000))[:1_000_000]
    stage.prompt("tofu")
    start = time.process_time()
    with pytest.raises(PromptTooLargeError) as caught:
        stage.prompt(text, max_chars=52_000)
    assert time.process_time() - start < 5.0 and caught.value.parts["input"] > 900_000
    prompt, report = stage.explain(text)
    assert len(prompt["input"]["payload"]["text"]) == len(text) and "are searched for" in str(report["notes"])
    assert time.process_time() - start < 30.0


@pytest.mark.parametrize(
    "text", ["a" * 1_000_000, "cat boat " * 110_000, "line one\n\n" * 90_000], ids=["word", "few", "lines"]
)
def test_f62_a_search_for_a_megabyte_is_bounded_and_finds_what_its_end_asks_for(stage: Stage, text: str) -> None:
    """One word of a megabyte was taken apart as a compound, letter by letter, for many minutes."""
    stage.remember("The quagga likes rain", ["quagga"])
    start = time.process_time()
    hits, report = explain_search(f"{text} what of the quagga?", db=stage.db, scope=stage.scope())
    assert time.process_time() - start < 5.0 and snippets({"memories": hits}) == ["The quagga likes rain"]
    assert any("are searched for" in note for note in report["notes"])
    assert stage.context(f"{text[:60_000]} what of the quagga?")["memories"]


def accounted(report: dict[str, Any], prompt: dict[str, Any]) -> None:
    assert all(set(item) == {"section", "reason", "id"} for item in report["left_out"])
    lost = Counter(item["section"] for item in report["left_out"])
    for name, section in report["sections"].items():
        assert section["found"] == section["kept"] + lost[name], name
    for name in LIST_SECTIONS:
        there = prompt.get("context", {}).get(name)
        assert there is None or report["sections"][name]["kept"] == len(there), name


@pytest.mark.slow
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    limit=st.one_of(st.none(), st.integers(2200, 9000)),
    verbosity=st.integers(0, 20),
    live=st.lists(st.tuples(st.sampled_from([HERE, ELSEWHERE, "tg/45"]), st.sampled_from(LIVE)), max_size=8),
    lite=st.booleans(), unified=st.booleans(), skip=st.booleans(),
)  # fmt: skip
def test_p60_kept_and_left_out_are_what_was_found(
    crowded: Stage, limit: int | None, verbosity: int, lite: bool, live: Any, unified: bool, skip: bool
) -> None:
    memory: dict[str, Any] = {"skip_history": skip}
    for path, text in live:
        memory.setdefault(path, []).append({"text": text, "sender_name": "Ann", "timestamp": NOW.isoformat()})
    prompt, report = crowded.explain(
        "tofu", memory, max_chars=limit, CONTEXT_VERBOSITY=verbosity, PROMPT_LITE_MODE=lite, UNIFIED_HISTORY=unified,
    )  # fmt: skip
    assert limit is None or len(to_json(prompt)) == report["size"] <= limit
    accounted(report, prompt)
    if limit is None and not skip and not lite:
        own = [text for path, text in live if path == HERE]
        found = report["sections"]["history_current_chat"]["found"]
        assert found >= min(14, verbosity) + (len(own) if verbosity else 0)


def test_g8_a_set_of_tags_from_a_hook_is_taken_in_order(stage: Stage) -> None:
    """The order of a set depends on the hash seed of the process."""
    tags = [f"tag{n:02}" for n in range(12)]
    set_hook("extract_tags", lambda text: set(tags))
    assert stage.explain("pizza")[1]["search"]["tags"] == tags


def test_p72_hits_of_a_hook_that_another_list_shows_are_left_out(stage: Stage) -> None:
    scope = stage.scope(participant="discord/ann")
    saved = add_saved_memory("I love green tea", db=stage.db, scope=scope)
    found = {"source": "memories", "id": saved.id, "snippet": "I love green tea"}
    set_hook("search", lambda tags: [found])
    prompt, report = stage.explain("any tea?", scope=scope)
    assert prompt["context"]["saved_memories"] and prompt["context"]["memories"] == []
    assert {"section": "memories", "reason": "visible", "id": f"memories/{saved.id}"} in report["left_out"]


def test_p60_a_chat_line_that_is_cut_is_named_by_its_id(stage: Stage) -> None:
    stage.say_all((f"line {n} " * 60 for n in range(6)), minutes=25)
    for explain, limit in ((explain_json_prompt, 1500), (explain_messages, 1000)):
        report = explain(message("tea?"), max_chars=limit, **stage.asking())[1]
        cut = [each["id"] for each in report["left_out"] if each["reason"] == "cut"]
        assert cut and "" not in cut and len(set(cut)) == len(cut)


def test_p12_messages_take_an_unknown_zone_as_utc_too(stage: Stage) -> None:
    asked = message("tea?", time_zone="Mars/Base")
    messages, report = explain_messages(asked, **stage.asking(TIMEZONE="Asia/Tokyo"))
    assert NOW.strftime("%Y-%m-%d %H:%M") in messages[-1]["content"]  # type: ignore[index]
    assert report["notes"] == ["time zone 'Mars/Base' is unknown, UTC is used"]
