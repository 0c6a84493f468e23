"""G22, R37, S33: model answers are read in one order and mended where nearly right; thoughts and refusals stay out."""

import json
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.templates.words import refused_patterns
from core.text.replies import MAX_CHARS, MAX_KEY_CHARS, beginning, judge_refusal, read_object, strip_thoughts
from core.text.strict_json import make_strict

TRIP = {"title": "Trip", "summary": "Ok."}
KEYS = ("title", "summary")
PLAIN = '{"title": "Trip", "summary": "Ok."}'

READ = {
    "fenced with json": f"Here it is:\n```json\n{PLAIN}\n```\nAnything else?", "fenced bare": f"```\n{PLAIN}\n```",
    "fenced on one line": f"```json {PLAIN} ```", "fenced, not closed": f"```json\n{PLAIN}", "plain object": PLAIN,
    "words around an object": f"Sure! {PLAIN} Have fun.", "two objects": '{"note": 1} ' + PLAIN,
    "line breaks in it": '{\n  "title": "Trip",\n  "summary": "Ok."\n}', "inside another": f'{{"answer": {PLAIN}}}',
    "the fitting one first": PLAIN + ' {"note": 1}', "a smile before": "{smiles} {} { " + PLAIN,
    "trailing comma": '{"title": "Trip", "summary": "Ok.",}', "missing comma": '{"title": "Trip" "summary": "Ok."}',
    "missing comma between lines": '{"title": "Trip"\n"summary": "Ok."}',
    "single quotes": "{'title': 'Trip', 'summary': 'Ok.'}", "no quotes around keys": '{title: "Trip", summary: "Ok."}',
    "no quotes at all": "{title: Trip, summary: Ok.}", "curly quotes": "{“title”: “Trip”, “summary”: “Ok.”}",
    "wide punctuation": '{"title"："Trip"，"summary"："Ok."}',
    "comments": '{"title": /* why */ "Trip", // a line\n /* two\nlines */ "summary": "Ok." # the end\n}',
    "cut off behind a text": '{"title": "Trip", "summary": "Ok."',
    "cut off in a text": '{"title": "Trip", "summary": "Ok.',
    "a fence inside a think-block": '<think>```json\n{"title": "no"}\n```</think>\n' + PLAIN,
}  # fmt: skip
NOTHING = {"no JSON": "We talked about the trip to Rome.", "empty": "", "another object": '{"note": 1}',
           "a list": '["title", "summary"]', "prose with braces": "Use { to open and } to close, {like this}.",
           "only thoughts": f"<think>{PLAIN}</think>", "thoughts not closed": f"<think>{PLAIN}"}  # fmt: skip


@pytest.mark.parametrize("name", [*READ, *NOTHING])
def test_g22_an_object_is_found_wherever_and_however_it_stands(name: str) -> None:
    """Small models wrap their answer in words, fences and thoughts, and write JSON by ear."""
    assert read_object({**READ, **NOTHING}[name], KEYS) == (TRIP if name in READ else None)


@pytest.mark.parametrize(("reply", "found"), [
    # the first fence wins over an object before it
    ('{"title": "before"} ```json\n{"title": "fenced"}\n```', {"title": "fenced"}),
    ('```\n{"note": 1}\n``` {"title": "after"}', {"title": "after"}),
    # quotes inside of a text belong to it
    ("{'title': 'it's Bob's', 'summary': 'Ok.'}", {"title": "it's Bob's", "summary": "Ok."}),
    ('{"title": "He said "hi", then left", "summary": "a\\"b\\n\\u00e9"}',
     {"title": 'He said "hi", then left', "summary": 'a"b\né'}),
    ("{'title': 'it\\', x: y',}", {"title": "it', x: y"}),
    ('{"title": ["a "b", c", "d",]}', {"title": ['a "b", c', "d"]}),
    # a member whose value is missing is left out
    ('{"title": "Trip", "summary":', {"title": "Trip"}), ('{"title": "Trip", "sum', {"title": "Trip"}),
    ('{"title": , "summary": "Ok."}', {"summary": "Ok."}),
])  # fmt: skip
def test_g22_fences_quotes_and_missing_values(reply: str, found: dict[str, Any]) -> None:
    assert read_object(reply, KEYS) == found


def test_g22_a_quoted_key_is_bounded_and_may_hold_its_quote() -> None:
    for chars, is_key in ((MAX_KEY_CHARS, True), (MAX_KEY_CHARS + 1, False)):
        for key in ("k" * chars, "\\'" + "k" * (chars - 2)):
            assert len(read_object("{'title': 1, '" + key + "': 7,}", KEYS) or ()) == 1 + is_key
    assert read_object("{'it\\'s\\'': 7, '\\\\': 8}", ("it's'",)) == {"it's'": 7, "\\": 8}
    # what fits is up to the caller
    reply = '{"title": 7} {"title": "Trip"}'
    assert read_object(reply, KEYS) == {"title": 7}
    assert read_object(reply, KEYS, fits=lambda found: isinstance(found["title"], str)) == {"title": "Trip"}
    assert read_object("{'title': 7,}", KEYS, fits=lambda found: False) is None


def test_g22_too_long_or_too_deep_is_no_answer() -> None:
    """A failure, never a hang; the caller tries again."""
    fill = " " * (MAX_CHARS - len(PLAIN))
    assert read_object(fill + PLAIN, KEYS) == TRIP and read_object(fill + " " + PLAIN, KEYS) is None
    for opening, closing, levels in (('{"title": ', "}", 100), ("{title: ", "}", 100), ('{"title": [', "]}", 50)):
        assert read_object(opening * levels + "1" + closing * levels, KEYS) is not None
        assert read_object(opening * (levels + 1) + "1" + closing * (levels + 1), KEYS) is None
    assert read_object('{"title": 1, "deep": ' + "[" * 101 + "]" * 101 + "}", KEYS) is None


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["title", "x"]), values, min_size=1), st.booleans())
def test_g22_every_json_object_comes_back_as_written(value: dict[str, Any], escaped: bool) -> None:
    value = {**value, "title": value.get("title")}
    written = json.dumps(value, ensure_ascii=escaped)
    if "<" not in written and "`" not in written:
        assert read_object(f"So:\n{written}\nOk.", ("title",)) == make_strict(value)[0]


@given(st.dictionaries(st.sampled_from(["title", "summary", "x"]), values, min_size=1), st.integers(0, 200))
def test_g22_a_reply_cut_off_anywhere_gives_none_or_keys_that_were_there(value: dict[str, Any], cut: int) -> None:
    found = read_object(json.dumps(value)[:cut], KEYS) or {}
    assert found.keys() <= value.keys()
    whole = make_strict(value)[0]
    assert all(found[key] == whole[key] for key in [*found][:-1]), "only the last one may be cut"


SAID = ("<b>Hello</b> Ann.", "[i]Hello[/i] Ann.", "<answer>Green tea.</answer> Enjoy.", "<action>waves</action> Hello.",
        '<use_tool>{"name": "x"}</use_tool> Done.', '<notes>{"a": 1}</notes> Done.', "<notes>Only this.</notes>",
        "<notes>Never closed. Hello.", "[link](https://example.org)", '["tea", "coffee"]', "<|endoftext|>", "a < b",
        "Write `<think>` first, then the answer.", "Put <think> in front of it.")  # fmt: skip


@pytest.mark.parametrize(("reply", "said"), [
    *((reply, reply) for reply in SAID), ("", ""), ("  Hello <b>there</b>. ", "Hello <b>there</b>."),
    ("a<think>b</think>c<thinking>d</thinking>e", "ace"), ("<think>I could write <reasoning> here</think>Yes.", "Yes."),
    ("<think>never closed", ""), ("<think/>Yes. <thinker>No.</thinker>", "Yes. <thinker>No.</thinker>"),
    ("So: <think>a <think>b</think> c</think>yes.", "So: yes."),
    *((f"{before}Hello.", "Hello.") for before in (
        "It began before the reply.</think>\n\n", "<THINK>Loud.</THINK>", "<thought>Gemini</thought>",
        "<seed:think>Seed</seed:think>", "◁think▷Kimi◁/think▷", "[THINK]Magistral[/THINK]", "<mm:think>Hm.</mm:think>",
        '<details type="reasoning" done="true">\n<summary>Thought</summary>\n> Hm.\n</details>\n',
        "<|channel|>analysis<|message|>Hm.<|end|>", "<|channel>thought\nHm.<channel|>", "<analysis>Hm.</analysis>\n",
        "<scratchpad>\nHm.\n</scratchpad>\n\n<plan>Say hello.</plan>", "[REFLECTION]Hm.[/REFLECTION] ",
        "<|plan|>Hm.<|/plan|>", "analysisWe look.assistantcommentary to=functions.look json{}assistantfinal",
    )),
    ("<details><summary>Kept</summary></details>", "<details><summary>Kept</summary></details>"),
    ("<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hello.<|return|>",
     "Hello."),
    ("<|channel|>analysis<|message|>Hm.", ""), ("assistantanalysisWe look.", ""),
    (("analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions.look "
     "<|constrain|>json<|message|>{}<|call|><|start|>assistant<|channel|>final<|message|>Hello."), "Hello."),
    ("analysis of tea", "analysis of tea"), ("<think>Hm.</thinking>Green tea.", "Green tea."),
    ("<think>Write </thinking> first.</think>Green tea.", "Green tea."),
    ("So <mm:think>Hm.</mm:think>Hello.", "So Hello."), ("<|channel>thought\nHm.", ""),
    ("<|begin_of_thought|>Hm.<|end_of_thought|>\n\n<|begin_of_solution|>Hello.<|end_of_solution|>", "Hello."),
    ("<|START_THINKING|>Hm.<|END_THINKING|><|START_RESPONSE|>Hello.<|END_RESPONSE|>", "Hello."),
    ("<|START_THINKING|>Hm.", ""), ("Hello.<|im_end|>", "Hello."),
])  # fmt: skip
def test_r37_only_what_was_said_is_left(reply: str, said: str) -> None:
    assert strip_thoughts(reply) == said


@pytest.mark.parametrize("part", ["x<think/>", "<think>a</think>b", "<|a|> ", "<plan>a</plan>"])
def test_g22_many_marks_take_time_in_proportion_to_their_number(part: str) -> None:
    began = process_time()
    strip_thoughts(f"{part * 100_000}y")
    assert process_time() - began < 30  # the square of their number took minutes


SAMPLES = Path(__file__).parents[2] / "samples" / "refusals"
PATTERNS = refused_patterns()


def why(new: str, current: str = "") -> str:
    return judge_refusal(new, current, patterns=PATTERNS)


def test_s33_errors_and_refusals_are_told_from_ordinary_texts_by_the_beginning_whatever_marks_are_before() -> None:
    refused, recaps = ((SAMPLES / f"{name}.txt").read_text("utf-8").splitlines() for name in ("refused", "recaps"))
    assert len(refused) >= 100 and len(recaps) >= 90
    assert [text for text in refused if why(text.replace("\\n", "\n")) != "error_like"] == []
    assert [text for text in recaps if why(text)] == []
    for before in ("", "  \n", "**", "> ", "# ", '"', "“", "⚠️ ", "- "):
        text = f"{before}Error 429: too many requests"
        assert why(text) == "error_like"
        assert judge_refusal(text, "", patterns=()) == "", "by hand it may be written"
    assert why("Ann came home. Error 429: too many requests") == "" and beginning("x" * 10_000) == "x" * 2000


def test_s33_a_blank_text_is_refused_whatever_is_there_and_the_shortest_share_is_exact() -> None:
    for blank in ("", " ", "\n\t ", "\u200b\ufeff", "\u3000", "\x00"):
        assert why(blank) == why(blank, "x") == why(blank, "x" * 1000) == "empty"
    for had in range(200, 3000, 7):
        fewest = -(-3 * had // 10)
        assert why("x" * fewest, "y" * had) == "" and why("x" * (fewest - 1), "y" * had) == "shorter"
    assert why("x", "y" * 200) == "shorter"
    assert why(f"  {'x' * 59}  ", f"{'y' * 200}   ") == "shorter", "outer white space is no length"
