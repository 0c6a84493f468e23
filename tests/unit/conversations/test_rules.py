"""Titles and summaries of conversations that ended, and the memory tool (C1, C4 to C7, C10, C26 to C28)."""

import json
from typing import Any

import jsonschema
import pytest

from core.conversations import rules_summaries as summaries
from core.conversations.memory_tool import NAME, build_answer, build_definition, read_native_calls, read_text_calls
from core.conversations.rules_summaries import Summary, build_substitute, read_messages, read_reply
from core.shapes import Line, ToolCall

SAID = ("ok", "We fly to Rome on Friday at seven.")
LINES = [*(Line(text=text, sender_name="Ann", participant="tg/ann") for text in SAID),
         Line(text="Ada brings the tickets.", sender_name="Iris", role="persona")]  # fmt: skip
EXTRACT = summaries.extract_summary(LINES).text
PATTERNS = (r"(?i)^\s*error\b",)


@pytest.mark.parametrize(("reply", "title", "summary"), [
    ('Sure!\n```json\n{"title": "Trip", "summary": "We fly."}\n```', "Trip", "We fly."),
    ('Here: {"title": "Trip", "summary": "We fly. {at seven}"} done', "Trip", "We fly. {at seven}"),
    ('{"title": 7, "summary": "Ok."}', "Untitled conversation", "Ok."), ('{"title": "Trip"}', "Trip", EXTRACT),
    ('{"title": "  ## Trip\\nto Rome ", "summary": "One.\\n\\nTwo."}', "Trip to Rome", "One. Two."),
    ("We spoke of the\ntrip.", "Untitled conversation", "We spoke of the trip."),
    ('{"title": "Trip", "summary": "Error 429: too many requests"}', "Trip", EXTRACT),
])  # fmt: skip
def test_c4_replies_are_taken_as_the_table_says(reply: str, title: str, summary: str) -> None:
    assert read_reply(reply, LINES, patterns=PATTERNS) == Summary(title, summary, "model")


@pytest.mark.parametrize("reply", ["", " \n", "Error: overloaded", '{"foo": 1}', '{"title": "", "summary": " "}'])
def test_c4_what_cannot_be_used_leaves_the_extract(reply: str) -> None:
    """G23: no error text of a model is ever stored."""
    assert read_reply(reply, LINES, patterns=PATTERNS) == build_substitute(LINES)
    assert build_substitute(LINES) == Summary("Untitled conversation", EXTRACT, "extract")


def test_c4_titles_and_summaries_are_one_line_and_bounded() -> None:
    made = read_reply(f'{{"title": "{"t" * 300}", "summary": "{"s" * 3000}"}}', [], patterns=())
    assert (len(made.title), len(made.text)) == (200, 2000)
    for breaks in ("\n", "\r\n", "\x85", "\u2028", "\v"):
        assert summaries.read_title(f"a{breaks}## b") == "a ## b" and summaries.read_summary(f"a{breaks}b") == "a b"
    assert summaries.read_title("# # x") == "x" and summaries.read_title("## ") == ""


def test_c1_messages_are_read_in_the_forms_hosts_have() -> None:
    given: list[Any] = [
        *("plain", "  ", 7, None),
        {"text": "live", "sender_id": "7", "sender_name": "Ann", "timestamp": "2026-03-10T12:00:00Z"},
        {"text": "mine", "sender_id": "self", "sender_name": "Iris"},
        {"role": "user", "content": "asked"},
        {"role": "assistant", "content": "answered"},
        {"role": "system", "content": "You are Iris."},
        {"role": "tool", "content": "secret of a tool"},
    ]
    assert [(line.text, line.is_persona, line.participant) for line in read_messages(given, "tg/42")] == [
        ("plain", False, None), ("live", False, "tg/7"), ("mine", True, None), ("asked", False, None),
        ("answered", True, None),
    ]  # fmt: skip
    for wrong in ("text", {"text": "x"}):
        with pytest.raises(TypeError, match="messages"):
            read_messages(wrong, None)


def xml(content: str, name: str = NAME) -> str:
    return f"<use_tool><name>{name}</name><memoryContent>{content}</memoryContent></use_tool>"


def test_c26_three_forms_of_one_definition() -> None:
    openai, anthropic, written = (build_definition(form) for form in ("openai", "anthropic", "xml"))
    assert openai["type"] == "function" and openai["function"]["name"] == anthropic["name"] == written["name"] == NAME
    assert openai["function"]["parameters"] == anthropic["input_schema"]
    assert openai["function"]["description"] == anthropic["description"] == written["description"]
    assert read_text_calls(written["call"])[0].content == "..."
    with pytest.raises(ValueError, match="'json'"):
        build_definition("json")
    check = jsonschema.Draft202012Validator(anthropic["input_schema"])
    assert check.is_valid({"memoryContent": "I like tea", "statement": "I like tea"})
    for wrong in ({}, {"memoryContent": 7}, {"memoryContent": "x", "persona_id": "other"}, {"text": "x"}):
        assert not check.is_valid(wrong), wrong


@pytest.mark.parametrize(("reply", "contents"), [
    (f"Sure!\n{xml('one')} and {xml('two')} done", ["one", "two"]),
    ("<use_tool>\n<name> memoryTool </name>\n<memoryContent>\n tea \n</memoryContent>\n</use_tool>", ["tea"]),
    ("< use_tool ><name>memoryTool</name><memoryContent>x</memoryContent></ use_tool >", ["x"]),
    ("<use_tool><name>memoryTool</name><statement>x</statement></use_tool>", ["x"]),
    (xml("Tom &amp; Ann &lt;3 &quot;tea&quot; &#169; &amp;lt;"), ['Tom & Ann <3 "tea" © &lt;']), (xml(""), [""]),
    ("<use_tool><name>otherTool</name><memoryContent>", []), (f"{xml('x', 'otherTool')}{xml('mine')}", ["mine"]),
])  # fmt: skip
def test_c27_calls_are_found_anywhere_in_a_reply(reply: str, contents: list[str]) -> None:
    found = read_text_calls(reply)
    assert [call.content for call in found] == contents
    assert all(call.error == "" and call.form == "xml" for call in found)


@pytest.mark.parametrize(("reply", "why"), [
    ("<use_tool><name>memoryTool</name><memoryContent>I like tea</use_tool>", "</memoryContent> is missing"),
    ("<use_tool><name>memoryTool</name><memoryContent>I like tea</memoryContent>", "</use_tool> is missing"),
    ("<use_tool><name>memoryTool</name></use_tool>", "<memoryContent> is missing"),
    ("<use_tool><memoryContent>x</memoryContent></use_tool>", "<name> is missing"),
])  # fmt: skip
def test_c27_a_broken_call_is_an_error_with_its_reason(reply: str, why: str) -> None:
    (found,) = read_text_calls(reply)
    assert found.content == "" and why in found.error
    assert [call.content for call in read_text_calls(reply + xml("good"))][-1] == "good"


def test_c27_native_calls_of_both_kinds_are_read() -> None:
    arguments = json.dumps({"memoryContent": "I like tea"})
    function = {"id": "c1", "type": "function", "function": {"name": NAME, "arguments": arguments}}
    other = {"id": "c2", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    message = {"role": "assistant", "content": None, "tool_calls": [other, function]}
    assert read_native_calls(message) == [ToolCall(NAME, "I like tea", "openai", "c1")]
    block = {"type": "tool_use", "id": "t1", "name": NAME, "input": {"statement": "I like tea"}}
    content = {"role": "assistant", "content": [{"type": "text", "text": "ok"}, block]}
    assert read_native_calls(content) == read_native_calls([block]) == [ToolCall(NAME, "I like tea", "anthropic", "t1")]
    assert read_native_calls([7, "x", None]) == read_native_calls({}) == read_native_calls("x") == []


@pytest.mark.parametrize(("arguments", "why"), [
    ("{broken", "no JSON"), ("[" * 100_000, "no JSON"), ("{}", "memoryContent is missing"),
    ('{"memoryContent": 7}', "no text"),
    ('{"memoryContent": "x", "persona_id": "other"}', "'persona_id' is no argument"),
])  # fmt: skip
def test_c26_native_arguments_of_another_shape_are_refused(arguments: str, why: str) -> None:
    """F3: a call cannot name a persona, a participant or anything else beside the text."""
    (found,) = read_native_calls([{"id": "c1", "function": {"name": NAME, "arguments": arguments}}])
    assert why in found.error and found.content == "" and found.call_id == "c1"


def test_c28_the_answer_has_the_form_of_the_call() -> None:
    told = {"success": False, "message": "empty: <b>"}
    said = "<success>false</success><message>empty: &lt;b&gt;</message>"
    written = build_answer(ToolCall(NAME, ""), False, "empty: <b>")
    assert written == f"<tool_result><name>{NAME}</name>{said}</tool_result>"
    openai = build_answer(ToolCall(NAME, "", "openai", "c1"), False, "empty: <b>")
    assert (openai["role"], openai["tool_call_id"], json.loads(openai["content"])) == ("tool", "c1", told)
    anthropic = build_answer(ToolCall(NAME, "", "anthropic", "t1"), False, "empty: <b>")
    assert (anthropic["type"], anthropic["tool_use_id"], anthropic["is_error"]) == ("tool_result", "t1", True)
    assert json.loads(anthropic["content"]) == told
