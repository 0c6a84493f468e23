"""The proxy's `/v1/responses` has the memory of `/v1/chat/completions`, asked by the official client."""

import json
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from core.personas import set_persona_text
from core.prompt.message_lines import HEAD
from tests.spec.proxy_world import ProxyWorld, respond, wait_until
from tests.spec.stage import Stage

CAT, QUESTION, ANSWER = "Please remember: my cat is called Tofu.", "What is my cat called?", "Tofu, you said."
CALL = {"type": "function_call", "id": "f1", "call_id": "t1", "name": "look", "arguments": "{}", "status": "completed"}
RESULT = {"type": "function_call_output", "call_id": "t1", "output": "nothing in the files"}
IMAGE = {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,AAAA"}


@pytest.fixture(autouse=True)
def answers(proxy: ProxyWorld) -> None:
    proxy.model.reply = lambda recorded: respond(recorded, ANSWER)


def ask(client: openai.OpenAI, said: Any, **more: Any) -> Any:
    return client.responses.with_raw_response.create(model="tiny", input=said, **more)


def teach(proxy: ProxyWorld) -> None:
    ask(proxy.client(X_User_Id="ann"), CAT)
    assert proxy.wait_for_lines(2, "proxy/ann") == [("ann", CAT), ("self", ANSWER)]


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def said_by_assistant(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": "m0", "role": "assistant", "status": "completed", "content": content}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("said", "more"), [
    (QUESTION, {}),
    (QUESTION, {"instructions": "Be Iris.", "tools": [{"type": "function", "name": "look", "parameters": {}}]}),
    ([user(QUESTION)], {"previous_response_id": "r0"}),
    ([user([IMAGE, {"type": "input_text", "text": QUESTION}])], {"conversation": "conv_1"}),
    ([user("hi"), said_by_assistant("hello"), user(QUESTION)], {"instructions": "Be Iris."}),
    ([user(QUESTION), said_by_assistant("Let me look."), CALL, RESULT], {"store": False}),
])  # fmt: skip
def test_r19_memory_goes_before_the_persons_text_and_nothing_else_changes(
    proxy: ProxyWorld, said: Any, more: dict[str, Any], stream: bool
) -> None:
    teach(proxy)
    place = {"X_User_Id": "ann", "X_Conversation_Id": "new", "X_Conversation_Privacy": "direct"}
    raw = ask(proxy.client(**place), said, stream=stream, **more)
    assert raw.headers["x-memory"] == "used"
    answer = raw.parse()
    got = "".join(each.delta for each in answer if hasattr(each, "delta")) if stream else answer.output_text
    assert got == ANSWER
    sent = json.dumps(proxy.model.last.body, ensure_ascii=False)
    block = sent[sent.index(HEAD) : sent.index(f"\\n\\n{QUESTION}")]
    assert "Tofu" in block and sent.count(HEAD) == 1
    assert json.loads(sent.replace(f"{block}\\n\\n", "")) == {"model": "tiny", "input": said, "stream": stream, **more}
    assert wait_until(lambda: proxy.lines("proxy/ann/new")[-1:] == [("self", ANSWER)])
    lines = proxy.lines("proxy/ann/new")
    assert ("ann", QUESTION) in lines and "Hm." not in str(lines)


def test_r17_a_chain_of_responses_is_one_conversation_with_every_line(proxy: ProxyWorld) -> None:
    client = proxy.client(X_User_Id="ann")
    for number, text in enumerate(("Is there tea?", "yes", "yes", "yes")):
        for answer in (f"cup {number}", f"pot {number}"):  # asked twice, as after a lost connection
            proxy.model.reply = lambda recorded, answer=answer: respond(recorded, answer)
            ask(client, text, **({"previous_response_id": f"r{number}"} if number else {}))
            proxy.wait_for_lines(2 * number + 2, "proxy/ann")
    texts = [text for _, text in proxy.lines("proxy/ann")]
    assert texts[::2] == ["Is there tea?", "yes", "yes", "yes"] and len(texts) == 8
    assert all(text in (f"cup {number}", f"pot {number}") for number, text in enumerate(texts[1::2]))
    for expected in (10, 12):
        ask(client, "yes", conversation={"id": "conv_1"})
        assert len(proxy.wait_for_lines(expected, "proxy/ann")) == expected


def test_r39_the_answer_after_a_call_is_stored_where_the_server_holds_the_question(proxy: ProxyWorld) -> None:
    client = proxy.client(X_User_Id="ann")
    proxy.model.reply = lambda recorded: respond(recorded, "", CALL)
    assert ask(client, "Is it raining?").parse().output[-1].name == "look"
    proxy.model.reply = lambda recorded: respond(recorded, "It rains.")
    raw = ask(client, [RESULT], previous_response_id="r1")
    assert raw.headers["x-memory"] == "empty" and proxy.model.last.body["input"] == [RESULT]
    assert proxy.wait_for_lines(2, "proxy/ann") == [("ann", "Is it raining?"), ("self", "It rains.")]
    assert ask(client, [RESULT]).headers["x-memory"] == "skipped; no_user_line"
    client.responses.create(prompt={"id": "p"}, previous_response_id="r2")  # the model goes on by itself
    assert "input" not in proxy.model.last.body and len(proxy.wait_for_lines(3, "proxy/ann")) == 3


@pytest.mark.parametrize("way", ["X-Store", "max_output_tokens", "chars"])
def test_r18_where_memory_is_off_a_response_passes_as_it_came(proxy: ProxyWorld, way: str) -> None:
    teach(proxy)
    head = {"Authorization": f"Bearer {proxy.host}", "X-User-Id": "ann", "Content-Type": "application/json"}
    content = json.dumps({"model": "tiny", "input": QUESTION, "x": 1.0}, indent=1).encode()
    head |= {"X-Store": "no"} if way == "X-Store" else {}
    content = content.replace(b'"x": 1.0', b'"max_output_tokens": 16') if way == "max_output_tokens" else content
    expected = {"X-Store": "skipped; asked", "max_output_tokens": "skipped; short", "chars": "empty"}[way]
    with proxy.served_again(**({"proxy_context_chars": 0} if way == "chars" else {})) as world:
        answer = httpx2.post(f"{world.url}/v1/responses", content=content, headers=head, timeout=60)
        assert answer.headers["x-memory"] == expected and proxy.model.last.content == content
        stored = 2 if expected.startswith("skipped") else 4
        assert len(proxy.wait_for_lines(stored, "proxy/ann")) == stored


@pytest.mark.parametrize(("headers", "more", "conversation", "sees"), [
    ({"X_User_Id": "ann"}, {}, "proxy/ann", True),
    ({}, {"user": "ann"}, "proxy/ann", True),
    ({}, {"metadata": {"user_id": "ann", "conversation_id": "c"}}, "proxy/ann/c", True),
    ({"X_User_Id": "bob"}, {"user": "ann", "previous_response_id": "r1"}, "proxy/bob", False),
    ({"X_OpenWebUI_User_Id": "ann"}, {}, "openwebui/ann", False),
    ({}, {"conversation": "ann"}, None, False),
])  # fmt: skip
def test_f1_a_response_knows_what_its_person_said(
    proxy: ProxyWorld, headers: Any, more: Any, conversation: str | None, sees: bool
) -> None:
    teach(proxy)
    ask(proxy.client(**headers), QUESTION, **more)
    assert ("Tofu" in str(proxy.model.last.body)) == sees
    place = conversation or f"proxy/%token-{proxy.host.split('_')[1]}"
    who = place.split("/")[1]
    assert wait_until(lambda: {(who, QUESTION), ("self", ANSWER)} <= set(proxy.lines(place)))


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("status", "is_stored"), [("failed", False), ("incomplete", True), ("queued", False)])
def test_r39_of_a_failure_the_question_is_stored(proxy: ProxyWorld, status: str, is_stored: bool, stream: bool) -> None:
    """One that reached its limit was read by the person, as a chat that ends with `length`."""
    proxy.model.reply = lambda recorded: respond(recorded, "It is", status=status)
    answer = ask(proxy.client(X_User_Id="ann"), QUESTION, stream=stream).parse()
    assert not stream or len(list(answer)) == 4
    expected = [("ann", QUESTION), ("self", "It is")][: 1 + is_stored]
    assert proxy.wait_for_lines(len(expected), "proxy/ann") == expected


def test_r40_instructions_name_a_persona_and_stand_for_its_text(proxy: ProxyWorld) -> None:
    client = proxy.client(proxy.token(personas="*"), X_User_Id="ann")
    for instructions, left in (("X-Persona-Id: mira\nBe kind.", "Be kind."), ("X-Persona-Id: mira", None)):
        ask(client, "hello, Mira", instructions=instructions)
        body = proxy.model.last.body
        assert body.get("instructions") == left and body["input"] == "hello, Mira"
    assert proxy.of("mira").wait_for_lines(2, "proxy/ann")[0] == ("ann", "hello, Mira")


def test_r40_the_personas_text_is_an_item_of_the_first_request(proxy: ProxyWorld, stage: Stage, tmp_path: Path) -> None:
    """A server that holds the lines before holds it too, where `instructions` would be gone."""
    set_persona_text("You are {{char}}.", settings={"PERSONA_FOLDER": str(tmp_path)}, scope=stage.scope())
    with proxy.served_again(persona_folder=str(tmp_path)) as world:
        client = world.client(X_User_Id="ann")
        ask(client, "hello")
        system, last = proxy.model.last.body["input"]
        assert system["role"] == "system" and system["content"].startswith(f"You are {stage.persona.capitalize()}.")
        assert last == user("hello") and "instructions" not in proxy.model.last.body
        for more in ({"previous_response_id": "r1"}, {"instructions": "Be Vera."}):
            ask(client, "hello", **more)
            assert proxy.model.last.body["input"].endswith("hello")
