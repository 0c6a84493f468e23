"""The memory tool's definition in three forms, and calls of it read from replies (C26 to C28, F30)."""

from __future__ import annotations

import json

import jsonschema
import pytest

from core.conversations import memory_tool as tool_calls
from core.conversations.memory_tool import NAME, build_answer, build_definition, read_native_calls, read_text_calls
from core.shapes import ToolCall


def xml(content: str, name: str = NAME) -> str:
    """Return a call as the seed writes it."""
    return f"<use_tool><name>{name}</name><memoryContent>{content}</memoryContent></use_tool>"


def test_c26_three_forms_of_one_definition() -> None:
    openai, anthropic, written = (build_definition(form) for form in ("openai", "anthropic", "xml"))
    assert openai["type"] == "function" and openai["function"]["name"] == anthropic["name"] == written["name"] == NAME
    assert openai["function"]["parameters"] == anthropic["input_schema"] == tool_calls.build_schema()
    assert openai["function"]["description"] == anthropic["description"] == written["description"]
    assert read_text_calls(written["call"])[0].content == "..."
    with pytest.raises(ValueError, match="'json'"):
        build_definition("json")


def test_c26_the_schema_takes_one_required_text_and_nothing_unknown() -> None:
    check = jsonschema.Draft202012Validator(tool_calls.build_schema())
    assert check.is_valid({"memoryContent": "I like tea"})
    assert check.is_valid({"memoryContent": "I like tea", "statement": "I like tea"})
    for wrong in ({}, {"memoryContent": 7}, {"memoryContent": "x", "persona_id": "other"}, {"text": "x"}):
        assert not check.is_valid(wrong), wrong


@pytest.mark.parametrize(
    ("reply", "contents"),
    [
        (f"Sure!\n{xml('one')} and {xml('two')} done", ["one", "two"]),
        ("<use_tool>\n<name> memoryTool </name>\n<memoryContent>\n tea \n</memoryContent>\n</use_tool>", ["tea"]),
        ("< use_tool ><name>memoryTool</name><memoryContent>x</memoryContent></ use_tool >", ["x"]),
        ("<use_tool><name>memoryTool</name><statement>x</statement></use_tool>", ["x"]),
        (xml("Tom &amp; Ann &lt;3 &quot;tea&quot; &#169; &amp;lt;"), ['Tom & Ann <3 "tea" © &lt;']),
        (xml(""), [""]),
        ("<use_tool><name>otherTool</name><memoryContent>", []),
        (f"{xml('x', 'otherTool')}{xml('mine')}", ["mine"]),
    ],
)  # fmt: skip
def test_c27_calls_are_found_anywhere_in_a_reply(reply: str, contents: list[str]) -> None:
    found = read_text_calls(reply)
    assert [call.content for call in found] == contents
    assert all(call.error == "" and call.form == "xml" for call in found)


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("<use_tool><name>memoryTool</name><memoryContent>I like tea</use_tool>", "</memoryContent> is missing"),
        ("<use_tool><name>memoryTool</name><memoryContent>I like tea</memoryContent>", "</use_tool> is missing"),
        ("<use_tool><name>memoryTool</name></use_tool>", "<memoryContent> is missing"),
        ("<use_tool><memoryContent>x</memoryContent></use_tool>", "<name> is missing"),
    ],
)
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


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ("{broken", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ("{}", "memoryContent is missing"),
        ('{"memoryContent": 7}', "no text"),
        ('{"memoryContent": "x", "persona_id": "other"}', "'persona_id' is no argument"),
    ],
)
def test_c26_native_arguments_of_another_shape_are_refused(arguments: str, why: str) -> None:
    """F3: a call cannot name a persona, a participant or anything else beside the text."""
    (found,) = read_native_calls([{"id": "c1", "function": {"name": NAME, "arguments": arguments}}])
    assert why in found.error and found.content == "" and found.call_id == "c1"


def test_c28_the_answer_has_the_form_of_the_call() -> None:
    told = {"success": False, "message": "empty: <b>"}
    assert build_answer(ToolCall(NAME, ""), False, "empty: <b>") == (
        f"<tool_result><name>{NAME}</name><success>false</success><message>empty: &lt;b&gt;</message></tool_result>"
    )
    openai = build_answer(ToolCall(NAME, "", "openai", "c1"), False, "empty: <b>")
    assert (openai["role"], openai["tool_call_id"], json.loads(openai["content"])) == ("tool", "c1", told)
    anthropic = build_answer(ToolCall(NAME, "", "anthropic", "t1"), False, "empty: <b>")
    assert (anthropic["type"], anthropic["tool_use_id"], anthropic["is_error"]) == ("tool_result", "t1", True)
    assert json.loads(anthropic["content"]) == told
