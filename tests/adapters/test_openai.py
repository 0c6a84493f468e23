"""R28: the official OpenAI client with memory, against a model server on a socket."""

import asyncio
from collections.abc import Iterator
from typing import Any
from unittest.mock import Mock

import openai
import pytest
from starlette.responses import JSONResponse

from core import Memory, Scope, insert_memory, open_database
from core.adapters.openai import remember
from core.adapters.recall import build_recall
from core.chat_history_cache import load_chat_history
from core.database.engine import Database
from core.errors import MessageError, StoreReadError
from tests.spec.proxy_world import ModelServer, respond, serving

CAT = "My cat is called Tofu."
QUESTION = "Who is my cat?"
TURN = [("user", QUESTION), ("persona", "Tofu is your cat.")]
MESSAGES: list[Any] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION}]
SAID: dict[str, Any] = {"model": "tiny", "messages": MESSAGES}


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[ModelServer, str]]:
    model = ModelServer()
    with serving(model.app) as url:
        yield model, f"{url}/v1"


@pytest.fixture
def model(server: tuple[ModelServer, str]) -> ModelServer:
    model, _ = server
    model.requests.clear()
    model.answers[:] = ["Tofu is your cat."]
    model.reply = None
    return model


@pytest.fixture
def db() -> Iterator[Database]:
    db = open_database("sqlite://")
    Memory(db, persona="iris").remember(CAT, user="ann")
    yield db
    db.close()


@pytest.fixture
def client(server: tuple[ModelServer, str]) -> Iterator[Any]:
    with openai.OpenAI(base_url=server[1], api_key="k", max_retries=0) as client:
        yield client


def lines(db: Database, user: str = "ann") -> list[tuple[str, str]]:
    scope = Memory(db, persona="iris").scope(user)
    return [(each["role"], each["text"]) for each in load_chat_history(f"web/{user}", 99, db=db, scope=scope)]


def ask(client: Any, dialect: str, stream: bool) -> str:
    if dialect == "chat":
        answer = client.chat.completions.create(**SAID, stream=stream)
        pieces = (each.choices[0].delta.content or "" for each in answer)
        return "".join(pieces) if stream else answer.choices[0].message.content
    answer = client.responses.create(model="tiny", input=QUESTION, stream=stream)
    return "".join(each.delta for each in answer if hasattr(each, "delta")) if stream else answer.output_text


async def ask_async(url: str, db: Database, dialect: str, stream: bool) -> str:
    async with openai.AsyncOpenAI(base_url=url, api_key="k", max_retries=0) as plain:
        client: Any = remember(plain, user="ann", persona="iris", db=db)
        if dialect == "chat":
            answer = await client.chat.completions.create(**SAID, stream=stream)
            pieces = [each.choices[0].delta.content or "" async for each in answer] if stream else []
            return "".join(pieces) if stream else answer.choices[0].message.content
        answer = await client.responses.create(model="tiny", input=QUESTION, stream=stream)
        pieces = [each.delta async for each in answer if hasattr(each, "delta")] if stream else []
        return "".join(pieces) if stream else answer.output_text


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", ["chat", "responses"])
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_r28_a_client_gets_memory_and_its_turns_are_stored(
    server: Any, model: ModelServer, client: Any, db: Database, kind: str, dialect: str, stream: bool
) -> None:
    model.reply = (lambda recorded: respond(recorded, "Tofu is your cat.")) if dialect == "responses" else None
    if kind == "sync":
        said = ask(remember(client, user="ann", persona="iris", db=db), dialect, stream)
    else:
        said = asyncio.run(ask_async(server[1], db, dialect, stream))
    sent = model.last.body["input"] if dialect == "responses" else model.last.messages[-1]["content"]
    assert CAT in sent and sent.endswith(f"\n\n{QUESTION}") and said == "Tofu is your cat."
    assert lines(db) == TURN and MESSAGES[-1]["content"] == QUESTION


@pytest.mark.parametrize("room", [0, 5])
def test_r19_without_room_nothing_is_added_and_the_turn_is_stored(
    model: ModelServer, client: Any, db: Database, caplog: pytest.LogCaptureFixture, room: int
) -> None:
    ask(remember(client, user="ann", persona="iris", db=db, settings={"PROXY_CONTEXT_CHARS": room}), "chat", False)
    assert model.last.messages == MESSAGES and lines(db) == TURN and "recall_failed" not in caplog.text
    assert build_recall(QUESTION, max_chars=room, db=db, scope=Memory(db, persona="iris").scope("ann")) == ""


def test_f1_one_client_serves_users_who_see_nothing_of_others(model: ModelServer, client: Any, db: Database) -> None:
    for user in ("ann", "eve"):
        own = remember(client, user=user, persona="iris", db=db)
        own.chat.completions.create(**SAID)
        assert (CAT in str(model.last.body)) == (user == "ann")
    client.chat.completions.create(**SAID)
    assert model.last.messages == MESSAGES and lines(db, "eve")[0] == TURN[0]
    said: Any = {"model": "tiny", "messages": [{"role": "user", "content": "Is Tofu old?"}]}
    own.chat.completions.with_raw_response.create(**said)  # an answer that is not read leaves no question alone
    assert len(lines(db, "eve")) == 2
    own.copy(max_retries=1).with_options(timeout=9).chat.completions.create(**said)
    assert len(lines(db, "eve")) == 4
    for given in (client, own, own.with_options(timeout=9)):  # also a client with the memory of another
        remember(given, user="ann", persona="iris", conversation="7", db=db).chat.completions.create(**SAID)
        assert CAT in str(model.last.body) and len(lines(db)) == 2 and len(lines(db, "eve")) == 4
    with pytest.raises(MessageError, match=r"remember\(\) was not told who speaks. Pass user="):
        remember(client, db=db)
    with pytest.raises(TypeError, match="client is of type str"):
        remember("http://127.0.0.1", user="ann", db=db)  # type: ignore[type-var]


def test_r37_where_the_memory_fails_the_call_goes_on(
    model: ModelServer, client: Any, db: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    own, failure = remember(client, user="ann", persona="iris", db=db), StoreReadError("down", source="x")
    for name in ("web.proxy.recall.find_replaced", "adapters.openai.save_transcript"):
        monkeypatch.setattr(f"core.{name}", Mock(side_effect=failure))
    answer = own.chat.completions.create(**SAID)
    assert answer.choices[0].message.content == "Tofu is your cat." and model.last.messages == MESSAGES
    assert "recall_failed" in caplog.text and "turn_not_kept" in caplog.text and CAT not in caplog.text


def test_r39_an_answer_is_stored_only_if_it_did_not_break_off(model: ModelServer, client: Any, db: Database) -> None:
    own = remember(client, user="ann", persona="iris", db=db)
    with own.chat.completions.create(**SAID, stream=True) as stream:
        next(stream)
    assert lines(db) == TURN[:1]
    next(own.chat.completions.create(**SAID, stream=True))  # as in a loop that is left
    assert lines(db) == TURN[:1]
    model.answers[:] = ["Tofu is your cat."]
    for chunk in own.chat.completions.create(**SAID, stream=True):
        if chunk.choices[0].finish_reason:
            break  # what comes behind it is not waited for
    assert lines(db) == TURN
    model.reply = lambda _: JSONResponse({"error": {"message": "no"}}, 400)
    with pytest.raises(openai.BadRequestError):
        own.chat.completions.create(model="tiny", messages=[*MESSAGES, {"role": "user", "content": "and my dog?"}])
    assert lines(db) == TURN


def test_r28_objects_of_the_client_and_tool_calls_are_read(model: ModelServer, client: Any, db: Database) -> None:
    own = remember(client, scope=Scope("iris", "web/room", "web/ann"), db=db)
    insert_memory("The rehearsal is on Friday.", "Bob", "chat", [], Scope("iris", "web/room", "web/bob"), db=db)
    first = own.chat.completions.create(**SAID).choices[0].message
    model.answers[:] = ["On Friday."]
    asked = [*MESSAGES, first, {"role": "user", "content": [{"type": "text", "text": "When is the rehearsal?"}]}]
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    asked += [{"role": "assistant", "content": None, "tool_calls": [call]}]
    asked += [{"role": "tool", "tool_call_id": "c", "content": "4"}]
    own.chat.completions.create(model="tiny", messages=iter(asked))
    assert len(model.last.messages) == 6
    assert "The rehearsal is on Friday." in model.last.messages[3]["content"][0]["text"]
    scope = Scope("iris", "web/room", "web/ann")
    said = [each["text"] for each in load_chat_history("web/room", db=db, scope=scope)]
    assert said == [QUESTION, "Tofu is your cat.", "When is the rehearsal?", "On Friday."]


def test_r28_a_chain_of_responses_keeps_lines_and_objects_pass(model: ModelServer, client: Any, db: Database) -> None:
    """The model server holds the lines before, so the same words after another response are a new line."""
    call = {"type": "function_call", "id": "f", "call_id": "c", "name": "look", "arguments": "{}"}
    own = remember(client, user="ann", persona="iris", db=db)
    model.reply = lambda recorded: respond(recorded, "Let me look.", call)
    first = own.responses.create(model="tiny", input=iter([{"role": "user", "content": QUESTION}]), instructions="Hi.")
    result = {"type": "function_call_output", "call_id": "c", "output": "4"}
    model.reply = lambda recorded: respond(recorded, "Tofu.", id="r2")
    own.responses.create(model="tiny", input=[{"role": "user", "content": QUESTION}, *first.output, result])
    sent = model.last.body["input"]
    assert CAT in sent[0]["content"] and sent[-1] == result
    assert [each["type"] for each in sent[1:3]] == ["reasoning", "function_call"] and "phase" not in sent[3]
    own.responses.create(model="tiny", input=[result], previous_response_id="r2")
    for number in (3, 4, 4):
        own.responses.create(model="tiny", input="yes", previous_response_id=f"r{number}")
    own.responses.create(model="tiny", prompt={"id": "p"})
    assert "input" not in model.last.body
    said = [QUESTION, "Let me look.", "Tofu.", "Tofu.", "yes", "Tofu.", "yes", "Tofu."]
    assert [text for _, text in lines(db)] == said
