"""P50 to P59: what stays of a prompt, in which order it is added, and that the limit is never exceeded."""

import json
import os
import random
import time
from copy import deepcopy
from statistics import mean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.prompt.fit import Fitted, Item, Space, cut_recap, cut_text, order_items
from core.prompt.fit import fit as fit_into
from core.prompt_engine import fit_prompt, reduce_prompt_for_llm_limit
from core.text.sizes import size, to_json


def fit(prompt: Any, chars: Any = None, limit_tokens: Any = None, counter: Any = None, **more: Any) -> Fitted:
    return fit_into(prompt, Space(chars, limit_tokens, counter), **more)


def example() -> dict[str, Any]:
    memories = [{"source": "memories", "id": n, "snippet": f"memory {n}"} for n in (1, 2, 3)]
    context = {"history_current_chat": [f"c{n}" for n in range(1, 5)],
               "history_recent": [f"r{n}" for n in range(1, 7)], "thoughts": ["t1", "t2"], "memories": memories,
               "tags_placeholder": [], "running_recap": "so far", "persona": "Iris"}  # fmt: skip
    return {"context": context, "input": {"payload": {"text": "hi"}}, "instructions": "Answer in JSON.",
            "__pre_reduction_size": 321, "actions": {"message": {"brief": "b"}}}  # fmt: skip


def order(names: list[str], best: Any, space: int, filling: Any = (), long: str = "") -> list[str]:
    """Return items in the order in which they are added; the first letter of a name tells the section."""
    items = [Item(SECTIONS[name[0]], None, name, 200 if name[0] == long else 100) for name in names]
    return [names[n] for n in order_items(items, best, space, **({"filling": filling} if filling else {}))]


SECTIONS = {"c": "history_current_chat", "r": "history_recent", "m": "memories", "w": "weather", "x": "running_recap",
            "s": "saved_memories", "a": "standing_wishes"}  # fmt: skip


def test_c12_p53_items_are_added_in_the_order_of_what_they_are_worth_and_what_people_asked_for_first() -> None:
    names = [*("c0", "c1", "c2"), *("r0", "r1"), "m0", "m1", "m2", "w0", "w1"]
    best = [names.index(name) for name in ("m1", "m2", "m0")]
    assert " ".join(order(names, best, 300)) == "c2 m1 m2 r1 w0 m0 c1 c0 r0 w1"
    assert " ".join(order(names, best, 900)) == "c2 c1 m1 m2 m0 r1 w0 c0 r0 w1"
    assert " ".join(order(names, best, 10)) == "c2 m1 r1 w0 m2 m0 c1 c0 r0 w1"
    assert " ".join(order(names, best, 900, best[1:])) == "c2 c1 m1 r1 w0 m2 m0 c0 r0 w1"
    memories = [f"m{n}" for n in range(9)]
    names = [*memories, "s0", "s1", "s2", "a0", "a1", "c0"]
    assert order(names, range(9), 1600)[:6] == ["c0", "a1", "a0", "s2", "s1", "m0"]  # the newest first, up to a quarter
    assert order(names, range(9), 300)[:2] == ["c0", "a1"]  # the newest at least
    first = order([*memories, "w0", "c0", "x0"], range(9), 600, long="x")[:6]
    assert first == ["c0", "x0", "m0", "m1", "m2", "w0"]


def test_p53_a_recap_keeps_its_title_and_its_end_and_recaps_of_messages_lose_the_oldest() -> None:
    text = "The story so far:\nAnn left the inn at dawn. Bob found a key! It opens the tower.\nNobody knows."
    assert cut_recap(text, 200) == text
    assert cut_recap(text, 70) == "The story so far:\n…Bob found a key! It opens the tower.\nNobody knows."
    assert cut_recap(text, 60) == "The story so far:\n…It opens the tower.\nNobody knows."
    assert cut_recap(text, 35) == "The story so far:\n…Nobody knows."
    assert cut_recap("one two three four five", 14) == "…four five"  # no sentence fits: from a word
    assert cut_recap("猫は家にいる。犬は外にいる。", 10) == "…犬は外にいる。"
    recaps = "\n".join(f"Ann walked to house {n}. It rained." for n in range(50))
    prompt = {"context": {"message_recaps": recaps, "memories": HITS}, "input": {"text": "?"}, "instructions": ""}
    shown = fit(prompt, 2_000).prompt["context"]["message_recaps"]
    assert recaps.endswith(shown[1:]) and 300 < len(shown) <= 500 and shown.startswith(("…Ann walked", "…It rained."))


HITS = [{"source": "memories", "id": n, "snippet": f"memory {n} " + "y" * 60} for n in range(40)]


def test_p53_one_long_line_takes_a_quarter_and_nothing_else_goes() -> None:
    lines = [f'[2026-03-10 12:0{n}] Ann: "short line {n}"' for n in range(8)]
    context = {"history_current_chat": lines, "history_recent": ["Bob: " + "word " * 20_000], "memories": HITS[:10]}
    prompt = {"context": context, "input": {"text": "?"}, "instructions": "Answer. " * 100, "actions": {}}
    fitted = fit(prompt, 30_000)
    left = fitted.prompt["context"]
    (line,) = left.pop("history_recent")
    assert fitted.size <= 30_000 and left == {key: context[key] for key in ("history_current_chat", "memories")}
    assert 7_000 < len(line) <= 30_000 // 4
    assert line.endswith("word…") and str(context["history_recent"][0]).startswith(line[:-1])
    assert (fitted.left_out, fitted.notes) == ((), ("history_recent: 1 shown in part, for the limit",))


def test_p53_room_that_is_left_goes_to_shortened_lines_up_to_a_quarter_and_memories_stay() -> None:
    lines = [f'[2026-03-10 12:0{n}] Ann: "short line {n}"' for n in range(8)]
    lines[4] = f"[2026-03-10 12:04] Ann: {'word ' * 200}The treasure is under the oak."
    lines[2] = f"[2026-03-10 12:02] Bob: {'word ' * 2000}"
    prompt = {"context": {"history_current_chat": lines}, "input": {"text": "?"}, "instructions": "", "actions": {}}
    shown = fit(prompt, 6_000).prompt["context"]["history_current_chat"]
    assert shown[4] == lines[4] and 1_200 < len(shown[2]) <= 1_500
    context = {"history_current_chat": ["word " * 400] * 10, "memories": HITS, "thoughts": ["t" * 300] * 20}
    fitted = fit({"context": context, "input": "x"}, 6_000)
    assert sum(size(hit) for hit in fitted.prompt["context"]["memories"]) > 6_000 / 2
    assert len(fitted.prompt["context"]["history_current_chat"]) > 2


def test_p53_a_long_memory_is_cut_around_its_match() -> None:
    text = "lorem ipsum " * 400 + "the zebra ran " + "dolor sit " * 400
    prompt = {"context": {"memories": [{"source": "memories", "id": 1, "snippet": text}]}, "input": "x"}
    (hit,) = fit(prompt, 4_000, words=("zebra",)).prompt["context"]["memories"]
    assert "zebra" in hit["snippet"] and len(hit["snippet"]) < 1_100
    assert cut_text("one two three", 8) == "one two…" and cut_text("one two", 7) == "one two"


def test_p53_without_a_rank_the_memories_with_the_words_of_the_message_stay() -> None:
    """A prompt lists memories newest first, so reducing it kept the newest ones, not the better ones."""
    chat = [{"source": "chat_history", "id": n, "snippet": f"so I said the {n}. thing of the day"} for n in range(9)]
    best = {"source": "memories", "id": 1, "snippet": "lorem ipsum " * 400 + "Zebras ran off. " + "dolor sit " * 400}
    given = {"payload": {"text": "What of the zebras and the lost camera?"}}
    second = {"source": "memories", "id": 2, "snippet": "A camera was left on the train."}
    for memories in ([*chat, best, second], [second, *chat, best]):
        prompt = {"context": {"memories": memories}, "input": given}
        left = reduce_prompt_for_llm_limit(prompt, 800)["context"]["memories"]
        assert {hit["id"] for hit in left if hit["source"] == "memories"} == {1, 2} and "Zebras" in str(left)
    assert reduce_prompt_for_llm_limit({"context": {"memories": chat}}, 250)["context"]["memories"] == chat[:2]


def test_p59_an_entry_is_shortened_inside_and_names_and_times_stay() -> None:
    entry = {"title": "Tea", "time": "2026-03-10", "summary": "they talked of tea " * 5000}
    recap = f"So far:\n{'they met ' * 5000}and part now"
    prompt = {"context": {"recent_conversations": [entry], "running_recap": recap}, "input": "x"}
    left = fit(prompt, 8_000).prompt["context"]
    assert (left["recent_conversations"][0]["title"], left["recent_conversations"][0]["time"]) == ("Tea", "2026-03-10")
    assert left["recent_conversations"][0]["summary"].endswith("…")
    assert left["running_recap"].startswith("So far:\n…") and left["running_recap"].endswith("met and part now")
    assert 5_000 < len(left["running_recap"]) < 6_000, "a quarter, and the room that is left"


def test_p52_p54_a_prompt_that_fits_comes_back_equal_and_new_and_all_but_the_context_is_never_cut() -> None:
    prompt = example()
    fitted = fit(prompt, 1)
    assert fitted.prompt == {**prompt, "context": {}} and list(fitted.prompt) == list(prompt)
    for limit in (None, size(prompt), 10**9):
        fitted = fit(prompt, limit)
        assert fitted.prompt == prompt and fitted.prompt is not prompt
        assert list(fitted.prompt["context"]) == list(prompt["context"])
        assert (fitted.left_out, fitted.broken, fitted.parts, fitted.size) == ((), None, {}, size(prompt))


def test_p51_base64_is_not_cut_for() -> None:
    prompt = example()
    prompt["input"]["payload"]["attachments"] = [{"type": "image", "data": "A" * 1_000_000}]
    fitted = fit(prompt, 5000, 2000, lambda text: len(text) // 4)
    assert fitted.prompt == prompt
    fitted = fit(prompt, 350)
    assert fitted.left_out and fitted.prompt["input"] == prompt["input"]


def test_p56_over_limit_names_each_part() -> None:
    prompt = {**example(), "input": "i" * 3000}
    fitted = fit(prompt, 1500)
    sizes = {"input": 3002, "instructions": size(prompt["instructions"]), "actions": size(prompt["actions"])}
    assert (fitted.broken, fitted.parts) == ("characters", sizes)
    assert fitted.size == size(fitted.prompt) > 1500 and not fitted.prompt.get("context")
    by_tokens = fit(prompt, 10**6, 2, lambda text: len(text.split()))
    assert (by_tokens.broken, by_tokens.parts) == ("tokens", {"input": 1, "instructions": 3, "actions": 3})


def test_p57_a_megabyte_takes_no_longer_than_it_must() -> None:
    lines = [f"line {n} {'x' * 90}" for n in range(8_000)]
    memories = [{"source": "memories", "id": n, "snippet": "y" * 60, "tags": ["a"]} for n in range(1_500)]
    best = {}
    for count in (1, 2):
        context = {"history_recent": lines * count, "memories": memories * count}
        prompt, taken = {"context": context, "input": "i", "instructions": "j"}, []
        for _ in range(5):
            start = time.process_time()
            fit(prompt, 50_000)
            taken.append(time.process_time() - start)
        best[count] = min(taken)
    assert best[2] < 3.5 * best[1], best


ALPHABETS = ["abcdefgh ijk", "абвгде жз", "数学の宿題", '"\\\n{}[]', "\U0001f600é%_"]
STREAMS = ["".join(random.Random(alphabet).choices(alphabet, k=50_000)) for alphabet in ALPHABETS]
SOURCES = ("memories", "ai_diary", "chat_history")


def random_prompt(rng: random.Random, most: int = 50) -> dict[str, Any]:
    def line(longest: int) -> str:
        start = rng.randrange(4000)
        if rng.random() < 0.01:
            longest *= 100
        return rng.choice(STREAMS)[start : start + rng.randint(1, longest)]

    def hit(n: int) -> dict[str, Any]:
        return {"source": rng.choice(SOURCES), "id": n, "timestamp": "", "snippet": line(4 * most), "tags": ["a"]}

    chats = ("history_current_chat", "history_recent")
    context: dict[str, Any] = {name: [line(4 * most) for _ in range(rng.randint(0, most))] for name in chats}
    context |= {"memories": [hit(n) for n in range(rng.randint(0, most))], "tags_placeholder": []}
    context["relationship"] = {"affinity": 3, "name": line(most)}
    for name in rng.sample(["thoughts", "ai_diary", "short_term", "saved_memories", 'a "key"'], rng.randint(0, 5)):
        context[name] = [line(2 * most) for _ in range(rng.randint(1, most))]
    if rng.random() < 0.3:
        context["running_recap"] = line(80 * most)
    actions = {f"message_{n}": {"brief": line(most)} for n in range(rng.randint(0, 5))}
    given = {"type": "message", "payload": {"text": line(6 * most)}}
    return {"context": context, "input": given, "instructions": line(16 * most), "actions": actions}


SMALL = st.integers(0, 10**6).map(lambda seed: random_prompt(random.Random(seed), 4))
PLACES = st.dictionaries(st.tuples(st.just("memories"), st.sampled_from("01234")), st.integers(0, 4))


def is_part(left: Any, whole: Any) -> bool:
    if isinstance(left, str) and isinstance(whole, str):
        return left == whole or left.strip("….") in whole
    if isinstance(left, dict) and isinstance(whole, dict):
        return list(left) == list(whole) and all(is_part(left[key], whole[key]) for key in left)
    return bool(left == whole)


def is_cut_of(left: list[Any], whole: list[Any]) -> bool:
    rest = iter(whole)
    return all(any(is_part(item, other) for other in rest) for item in left)


@given(SMALL, st.integers(1, 900), PLACES)
def test_p53_p55_p59_p60_parts_stay_in_order_and_the_account_is_exact(prompt: Any, limit: int, places: Any) -> None:
    before, fitted = deepcopy(prompt), fit(prompt, limit, places=places)
    assert prompt == before
    left = fitted.prompt.get("context", {})
    for key, value in prompt.get("context", {}).items():
        lost = sum(item.section == key and item.reason == "cut" for item in fitted.left_out)
        whole, shown = (len(each) if isinstance(each, list) else 1 for each in (value, left.get(key, [])))
        assert whole == shown + lost
        if key in left:
            assert is_cut_of(left[key], value) if isinstance(value, list) else is_part(left[key], value)
    assert fitted.size == size(fitted.prompt) == len(json.dumps(fitted.prompt, ensure_ascii=False))
    assert bool(fitted.broken) is (fitted.size > limit)
    if fitted.broken:
        assert not fitted.prompt.get("context")
    assert fit(fitted.prompt, limit).prompt == fitted.prompt


@given(SMALL, st.integers(0, 5), st.integers(1, 200), st.integers(1, 900))
def test_p55_no_counter_breaks_a_limit(prompt: dict[str, Any], seed: int, limit: int, chars: int) -> None:
    def counter(text: str) -> int:  # with no sense at all, but the same for the same text
        return random.Random(f"{seed}{text}").randrange(200)

    fitted = fit(prompt, chars, limit, counter)
    assert fitted.broken or (counter(to_json(fitted.prompt)) <= limit and fitted.size <= chars)


def test_p60_ids_of_what_was_cut() -> None:
    fitted = fit(example(), 1, ids={"history_recent": ["901", "902", "903"]})
    lost = [(item.section, item.id) for item in fitted.left_out]
    ids = {"history_current_chat": [""] * 4, "history_recent": ["901", "902", "903", "", "", ""], "thoughts": [""] * 2}
    ids |= {"memories": ["1", "2", "3"], "running_recap": [""], "persona": [""]}
    assert lost == [(section, row) for section, rows in ids.items() for row in rows]


@pytest.mark.parametrize(
    "context", [None, [], "text", 7, {}, {"history_recent": "text", "memories": {"a": 1}, "history_current_chat": None}]
)
def test_f64_a_context_of_another_shape_is_only_ever_cut_whole(context: Any) -> None:
    prompt = {"context": context, "input": "x" * 50}
    for limit in (1, 70, 80, 200):
        fitted = fit(prompt, limit)
        assert (fitted.broken or fitted.size <= limit) and fitted.size == size(fitted.prompt)
    assert fit({}, 1).broken and fit({}, 2).prompt == {}


def test_p18_a_prompt_that_is_no_strict_json_is_made_so_and_noted() -> None:
    prompt, report = fit_prompt({"context": {"memories": [float("nan"), {1}]}, "input": b"x"}, 40)
    assert prompt == {"context": {}, "input": "bytes"} and (len(report["notes"]), report["size"]) == (3, 33)


@pytest.mark.parametrize("bad", ["3", None, float("nan"), -1, True, float("inf")], ids=repr)
def test_g24_a_counter_that_gives_no_number_is_named(bad: Any) -> None:
    with pytest.raises(ValueError, match="counter"):
        fit(example(), limit_tokens=5)
    with pytest.raises(TypeError, match="token counter"):
        fit(example(), limit_tokens=5, counter=lambda text: bad)
    assert Space(counter=lambda text: 2.1).count_tokens("x") == 3  # type: ignore[arg-type,return-value]


PROMPTS = int(os.environ.get("PROMISE_PROMPTS", "200"))
"""How many random prompts are fitted; the promise was measured with 10,000."""


@pytest.mark.slow
def test_p53_the_limit_is_never_exceeded_and_the_room_is_filled() -> None:
    rng = random.Random(20261121)
    fillings, overruns = [], 0
    for _ in range(PROMPTS):
        prompt = random_prompt(rng)
        whole = size(prompt)
        limit = rng.randint(1, 60_000) if rng.random() < 0.2 else rng.randint(whole // 6, whole + 200)
        fitted = fit(prompt, limit)
        real = len(json.dumps(fitted.prompt, ensure_ascii=False))
        assert real == fitted.size
        if fitted.broken:
            assert not fitted.prompt.get("context")
            continue
        overruns += real > limit
        if fitted.left_out:
            fillings.append(real / limit)
    assert overruns == 0 and len(fillings) > PROMPTS / 2
    assert mean(fillings) > 0.97, mean(fillings)


@pytest.mark.parametrize("most_chars", [1000, 60])
def test_g12_a_fitted_prompt_shares_no_container_with_the_one_given(most_chars: int) -> None:
    prompt: dict[str, Any] = {"context": {"history_current_chat": ["a" * 30, "b"]}, "input": {"payload": {"text": "x"}}}
    before = deepcopy(prompt)
    for made in (reduce_prompt_for_llm_limit(prompt, most_chars), fit_prompt(prompt, most_chars)[0]):
        made["input"]["payload"]["text"] = "y"
        made.get("context", {}).setdefault("history_current_chat", []).append("z")
    assert prompt == before
