"""The proxy (R14 to R20), asked by the official client before a model server that records what arrives."""

import contextlib
import io
import json
import logging
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import openai
import pytest
from starlette.responses import JSONResponse, Response, StreamingResponse

from core import Scope, set_persona_text
from core.config import Settings
from core.errors import ConfigError, StoreReadError
from core.privacy import set_conversation_privacy
from core.prompt.message_lines import HEAD
from core.transfer.exports import export_chat
from core.transfer.imports import import_file
from core.transfer.items import import_items
from core.web import create_app
from core.web.proxy import answer as answers
from tests.spec.proxy_world import ModelServer, ProxyWorld, chat, event, wait_until, whole
from tests.spec.stage import Stage

SHARED = {"X_Conversation_Privacy": "direct"}
"""A conversation that shares everything with its user's other ones."""
TITLE_TASK = "### Task:\nGenerate a 3-5 word title of the chat history.\n<chat_history>\nUSER: hi\n</chat_history>"
OPEN_WEBUI_HEADERS = {
    "x-openwebui-user-name": "Ann%20B", "x-openwebui-user-id": "u1", "x-openwebui-user-email": "a@b.c",
    "x-openwebui-user-role": "user", "x-openwebui-chat-id": "c1",
}  # fmt: skip


def blocks(model: ModelServer) -> list[str]:
    contents = [each["content"] for each in model.last.messages]
    parts = [part for each in contents for part in (each if isinstance(each, list) else [{"text": each}])]
    texts = [str(part.get("text", "")) for part in parts]
    return [text.partition("\n\n")[0] for text in texts if text.startswith(HEAD)]


def without_block(messages: list[Any]) -> list[Any]:
    """Return messages that arrived as they were before memory was added."""
    made = json.loads(json.dumps(messages))
    for each in made:
        parts = each["content"] if isinstance(each["content"], list) else [each]
        for part in parts:
            key = "content" if part is each else "text"
            if str(part.get(key)).startswith(HEAD):
                part[key] = part[key].partition("\n\n")[2]
    return made


def test_r14_a_missing_upstream_is_refused_at_start(db: Any) -> None:
    for value in ("", "nowhere"):
        with pytest.raises(ConfigError) as caught:
            create_app(db=db, settings=Settings(llm_base_url=value), admin=False, proxy=True)
        assert caught.value.flag == "LLM_BASE_URL"


def test_r15_every_other_byte_arrives_as_it_was_sent(proxy: ProxyWorld) -> None:
    tools = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]
    content = (
        b'{ "temperature":1.00, "model" : "tiny","x_unknown":{"b":1e2,"a":[ ]},\n"messages":[{"role":"system",'
        b'"content":"Be Iris. \\u00e9"},{"role":"user","content":[{"type":"text","text":"What is this?"},'
        b'{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}  ],"tools":'
        + json.dumps(tools).encode() + b',"seed":12345678901234567890, "response_format":{"type":"text"}}'
    )  # fmt: skip
    head = {"Content-Type": "application/json", "X-Custom": "kept", "X-OpenWebUI-User-Email": "ann@example.org"}
    answer = proxy.post(params={"api-version": "7"}, content=content, headers=head)
    assert answer.status_code == 200 and answer.json() == whole("ok 1")
    assert answer.headers["x-ratelimit-remaining-requests"] == "41" and answer.headers["x-memory"] == "empty"
    assert proxy.model.last.content == content
    sent = proxy.model.last.headers
    assert sent["x-custom"] == "kept" and sent["authorization"] == "Bearer upstream-key"
    assert not [name for name in sent if name in ("x-user-id", "cookie") or name.startswith("x-openwebui")]


@pytest.mark.parametrize(
    "content", [b"", b"{broken", b"[]", b"\xff\xfe", b'{"messages": 7}', b'{"messages": [7]}', b"[" * 50_000, b"{}x"]
)
def test_r15_what_is_no_request_is_the_upstreams_to_refuse(proxy: ProxyWorld, content: bytes) -> None:
    proxy.model.reply = lambda r: JSONResponse({"error": {"message": "bad"}}, 400)
    answer = proxy.post(content=content)
    assert (answer.status_code, answer.json()) == (400, {"error": {"message": "bad"}})
    assert proxy.model.last.content == content


def test_r12_a_refusal_is_told_to_a_client_in_its_own_dialect(proxy: ProxyWorld) -> None:
    """The official client, and the front ends, show `error.message` and nothing else of an answer."""
    for client, status, said in (
        (proxy.client("pe_1_wrong"), 401, "The token is not valid here"), (proxy.client("sk-something"), 401, "token"),
        (proxy.client(proxy.token("admin")), 403, "token"),
        (proxy.client(X_Persona_Id="juno"), 403, "X-Persona-Id is 'juno'"),
        (proxy.client(X_Conversation_Privacy="secret"), 400, "It must be public, direct, separate or restricted"),
    ):  # fmt: skip
        with pytest.raises(openai.APIStatusError, match=said) as caught:
            proxy.ask(client, "hello")
        assert caught.value.status_code == status
        assert set(caught.value.response.json()) == {"error", "message", "fields"}
    with pytest.raises(openai.AuthenticationError, match="The token is not valid here"):
        proxy.client("pe_1_wrong").models.list()
    assert not proxy.model.requests


@pytest.mark.parametrize("cut", [False, True])
def test_r15_a_stream_comes_piece_by_piece_and_one_cut_off_stores_the_question(proxy: ProxyWorld, cut: bool) -> None:
    proxy.model.paused.set()
    proxy.model.answers = ["one two three"]
    stream = proxy.client(X_User_Id="ann").chat.completions.create(model="t", messages=chat("count"), stream=True)
    assert next(stream).choices[0].delta.content == "one" and proxy.model.ended == []
    if cut:
        stream.close()
        assert wait_until(lambda: proxy.model.ended == ["cut"])
    proxy.model.paused.clear()
    assert cut or "".join(chunk.choices[0].delta.content or "" for chunk in stream) == " two three"
    stored = [("ann", "count"), ("self", "one two three")][: 1 if cut else 2]
    assert proxy.wait_for_lines(len(stored), "proxy/ann") == stored


@pytest.mark.parametrize("breaks", [True, False])
def test_r15_a_cut_stream_stores_no_half(proxy: ProxyWorld, breaks: bool, caplog: pytest.LogCaptureFixture) -> None:
    async def broken() -> Any:
        yield event({"delta": {"content": "one"}})
        if breaks:
            raise RuntimeError("gone")

    proxy.model.reply = lambda r: StreamingResponse(broken(), media_type="text/event-stream")
    client = proxy.client(X_User_Id="ann")
    asked = client.chat.completions.create(model="t", messages=chat("count"), stream=True)
    with pytest.raises(openai.APIConnectionError) if breaks else contextlib.nullcontext():
        assert len(list(asked)) == 1
    assert not breaks or wait_until(lambda: "proxy_upstream" in caplog.text)
    assert not any(record.exc_info for record in caplog.records if record.name.startswith("prompt_engine"))
    assert not wait_until(lambda: proxy.lines("proxy/ann") not in ([], [("ann", "count")]), 0.5)


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
def test_r20_an_error_of_the_upstream_comes_back_unchanged(proxy: ProxyWorld, status: int) -> None:
    said = json.dumps({"error": {"message": "no", "type": "x", "code": None}}, indent=3)
    more = {"retry-after": "7", "x-request-id": "r1"}
    proxy.model.reply = lambda r: Response(said, status, media_type="application/json", headers=more)
    with pytest.raises(openai.APIStatusError) as caught:
        proxy.ask(proxy.client(X_User_Id="ann"), "hello")
    assert (caught.value.status_code, caught.value.response.text) == (status, said)
    assert (caught.value.response.headers["retry-after"], caught.value.request_id) == ("7", "r1")
    assert proxy.lines("proxy/ann") == []


def test_r20_an_upstream_out_of_reach_is_a_502(proxy: ProxyWorld) -> None:
    beyond = proxy.served_again(llm_base_url="http://127.0.0.1:9")
    with beyond as world, pytest.raises(openai.InternalServerError) as caught:
        world.ask(world.client(X_User_Id="ann"), "hello")
    assert caught.value.status_code == 502 and "LLM_BASE_URL" in str(caught.value) and world.lines("proxy/ann") == []


def test_r20_f70_without_memory_the_request_goes_on(proxy: ProxyWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """`used` would tell the front end that the conversation is remembered."""
    unstorable = proxy.client(X_User_Id="ann", X_Conversation_Id="c" * 300)
    for client in (unstorable, proxy.client(X_User_Id="ann")):
        raw = client.chat.completions.with_raw_response.create(model="tiny", messages=chat("hello"))
        assert raw.headers["x-memory"] == "failed" and proxy.model.last.messages == chat("hello")
        monkeypatch.setattr("core.web.proxy.recall.build_records", Mock(side_effect=RuntimeError("broken 7321")))
    assert proxy.wait_for_lines(2, "proxy/ann") == [("ann", "hello"), ("self", "ok 2")]


def test_r20_without_the_database_who_was_known_goes_on(proxy: ProxyWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    client = proxy.client(X_User_Id="ann")
    proxy.ask(client, "hello")
    unseen = proxy.token()
    failure = Mock(side_effect=StoreReadError("gone", source="access_tokens"))
    for name in ("read", "transaction", "connection"):
        monkeypatch.setattr(type(proxy.db), name, failure)
    raw = client.chat.completions.with_raw_response.create(model="tiny", messages=chat("hello", "ok 1", "you?"))
    assert raw.http_response.status_code == 200 and raw.headers["x-memory"] in ("failed", "empty")
    with pytest.raises(openai.InternalServerError):
        proxy.ask(proxy.client(unseen), "hello")


@pytest.mark.parametrize("way", ["header", "model", "macro"])
def test_r40_each_character_remembers_its_own(proxy: ProxyWorld, way: str) -> None:
    token = proxy.token(personas="*")

    def ask(who: str, name: str, *texts: str) -> str:
        client = proxy.client(token, X_User_Id=who, **({"X_Persona_Id": name} if way == "header" else {}))
        system = f"You are {name}.\nX-Persona-Id: {name}\nBe kind." if way == "macro" else f"You are {name}."
        said = [{"role": "system", "content": system}, *chat(*texts)]
        model = f"tiny@{name}" if way == "model" else "tiny"
        return client.chat.completions.create(model=model, messages=said).choices[0].message.content or ""

    names = [f"{name}{way}" for name in ("Iris", "Mira", "Vera")]
    ask("ann", names[1], "Remember that the key is under the blue pot.")
    ask("bob", names[1], "Remember that my cat is called Tofu.")
    for name in names:
        ask("ann", name, "Where is the key?")
        sent = str(proxy.model.last.messages)
        assert ("blue pot" in sent) == (name == names[1]) and "Tofu" not in sent, name
        assert "X-Persona-Id" not in sent and "x-persona-id" not in proxy.model.last.headers
        assert proxy.model.last.body["model"] == "tiny"
    for name in names:
        count = 4 if name == names[1] else 2
        assert len(proxy.of(name).wait_for_lines(count, "proxy/ann")) == count


def test_r40_with_a_header_the_sign_is_part_of_the_models_name(proxy: ProxyWorld) -> None:
    own = proxy.client(X_User_Id="ann", X_Persona_Id=proxy.persona)
    own.chat.completions.create(model="llama3@mira", messages=chat("hello"))
    assert proxy.model.last.body["model"] == "llama3@mira"


def test_r40_in_a_group_each_line_has_its_speaker(proxy: ProxyWorld) -> None:
    token = proxy.token(personas="*")
    said: list[Any] = [{"role": "user", "name": "Ann", "content": "Who ate the cake?"}]
    group = [f"{name}{proxy.persona}" for name in ("Iris", "Mira", "Vera")]
    for turn in range(6):
        name = group[turn % 3]
        client = proxy.client(token, X_User_Id="ann", X_User_Name="Ann", X_Conversation_Id="party", X_Persona_Id=name)
        proxy.model.answers = [f"Line {turn} of {name}. Call me captain."]
        raw = client.chat.completions.with_raw_response.create(model="tiny", messages=said)
        assert raw.headers["x-memory"] in ("used", "empty")
        said.append({"role": "assistant", "name": name, "content": raw.parse().choices[0].message.content})
        if turn == 2:
            said.append({"role": "user", "name": "Ann", "content": "Not me!"})
    stored = proxy.of(group[2]).wait_for_lines(8, "proxy/ann/party", participant="proxy/ann", privacy="separate")
    assert [text for _, text in stored] == [each["content"] for each in said]
    for sender, text in stored:
        own = text.startswith("Line") and f"of {group[2]}." in text
        other = text.startswith("Line") and not own
        assert (sender == "self") == own and sender.startswith("%char-") == other, (sender, text)
    client = proxy.client(token, X_User_Id="ann", X_Persona_Id=group[2], X_Conversation_Privacy="direct",
                          X_Conversation_Id="after")  # fmt: skip
    proxy.ask(client, "Who said line 1?")
    sent = proxy.model.last.messages[-1]["content"]
    assert "captain" not in sent or "instruction" not in sent


def test_r40_a_speakers_name_before_a_line_is_no_part_of_it(proxy: ProxyWorld) -> None:
    client = proxy.client(X_User_Id="Ann", X_Conversation_Id="7", X_Persona_Id=proxy.persona)
    name = f"{proxy.persona[:1].upper()}{proxy.persona[1:]}"
    proxy.model.answers = [f"{name}: North."]
    proxy.ask(client, "Ann: Where do we ride: north?")
    proxy.wait_for_lines(2, "proxy/Ann/7", privacy="separate")
    proxy.ask(client, "Ann: Where do we ride: north?", f"{name}: North.", "Ann: Mira: my horse is lame.")
    assert blocks(proxy.model) == []
    stored = proxy.wait_for_lines(4, "proxy/Ann/7", privacy="separate")
    assert [text for _, text in stored][:3] == ["Where do we ride: north?", "North.", "Mira: my horse is lame."]
    file = io.BytesIO()
    export_chat(file, db=proxy.db, scope=Scope(proxy.persona, "proxy/Ann/7", "proxy/Ann", privacy="separate"))
    assert json.loads(file.getvalue().splitlines()[0])["user_name"] == stored[0][0].rpartition("/")[2] == "Ann"


def test_r16_an_imported_chat_is_made_separate_and_goes_on(proxy: ProxyWorld, tmp_path: Path) -> None:
    """The documented way hid the whole story from its user."""
    own: dict[str, Any] = {"db": proxy.db, "scope": Scope(proxy.persona)}
    for name, text in (("attic", "The brass key lies in the attic"), ("vine", "The brass key hangs on a vine")):
        file = tmp_path / f"{name}.jsonl"
        file.write_text(json.dumps({"speaker": "Ann", "text": text, "timestamp": "2026-01-01T12:00:00Z"}))
        import_file(file, conversation=f"proxy/Ann/{name}", private=True, settings=Settings(), **own)
        set_conversation_privacy(f"proxy/Ann/{name}", "separate", **own)
    for name, here, other in (("attic", "in the attic", "a vine"), ("vine", "on a vine", "the attic")):
        proxy.ask(proxy.client(X_User_Id="Ann", X_Conversation_Id=name), "Where is the brass key?")
        (block,) = blocks(proxy.model)
        assert here in block and other not in block
        assert len(proxy.wait_for_lines(3, f"proxy/Ann/{name}", privacy="separate")) == 3


def test_r16_an_imported_group_chat_goes_on_if_its_key_names_the_player(proxy: ProxyWorld, tmp_path: Path) -> None:
    """It was restricted, so its own player did not see it."""
    said = (("Mira", "The Drowned Ox."), ("Kael", "You stole my horse."), ("Ann", "The horse is in the stable."))
    lines: list[dict[str, Any]] = [
        {"name": name, "is_user": name == "Ann", "send_date": f"2025-11-20T19:0{n}:00Z", "mes": text}
        for n, (name, text) in enumerate(said)
    ]
    head, file = {"user_name": "unused", "character_name": "unused", "chat_metadata": {}}, tmp_path / "tavern.jsonl"
    file.write_text("\n".join(map(json.dumps, [head, *lines])))
    own: dict[str, Any] = {"db": proxy.db, "scope": Scope(proxy.persona), "settings": Settings()}
    for place, seen in (("proxy/Ann/tavern", True), ("proxy/Bob/tavern", False)):
        assert import_file(file, conversation=place, persona="Mira", **own).private_count == 1
        proxy.ask(proxy.client(X_User_Id=place.split("/")[1], X_Conversation_Id="tavern"), "Where is the horse?")
        assert [said[2][1] in block and said[1][1] in block for block in blocks(proxy.model)] == [True] * seen
        proxy.ask(proxy.client(X_User_Id="Ann", X_Conversation_Id="other"), "Where is the horse?")
        assert blocks(proxy.model) == []


def test_r16_without_any_name_it_is_one_conversation_of_the_token(proxy: ProxyWorld) -> None:
    for token in (proxy.host, proxy.token()):
        for count, text in ((2, "hello"), (4, "well?")):
            proxy.ask(proxy.client(token), text)
            assert len(proxy.wait_for_lines(count, f"proxy/%token-{token.split('_')[1]}")) == count
        assert proxy.model.last.messages[0]["content"].count("] User: hello") == 1


def test_r16_a_shared_room_is_shared_when_it_is_said_to_be(proxy: ProxyWorld) -> None:
    room = {"X_Conversation_Id": "kitchen", "X_Conversation_Privacy": "public", "X_Server_Id": "s1"}
    proxy.ask(proxy.client(X_User_Id="ann", **room), "The soup is in the blue pot.")
    proxy.wait_for_lines(2, "proxy/%room-kitchen", participant="proxy/ann", privacy="public", server="s1")
    proxy.ask(proxy.client(X_User_Id="bob", **room), "Where is the soup?")
    assert "blue pot" in "".join(blocks(proxy.model))
    count = len(proxy.model.requests)
    for wrong in ("secret", "PUBLIC"):
        with pytest.raises(openai.BadRequestError, match=f"'{wrong}'") as refused:
            proxy.ask(proxy.client(X_Conversation_Privacy=wrong, X_Conversation_Id="k"), "hello")
        assert refused.value.response.json()["fields"] == ["X-Conversation-Privacy"]
    with pytest.raises(openai.BadRequestError) as refused:
        proxy.ask(proxy.client(X_User_Id="ann", X_Conversation_Privacy="public"), "hello")
    assert refused.value.response.json()["fields"] == ["X-Conversation-Id"] and len(proxy.model.requests) == count


@pytest.mark.parametrize("stream", [False, True])
def test_r15_an_answer_that_is_too_long_to_keep_is_passed_on_and_told(
    proxy: ProxyWorld, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, stream: bool
) -> None:
    """Nothing of it is stored, and the log says so: half an answer would be a wrong one."""
    monkeypatch.setattr(answers, "MAX_BYTES", 50)
    answer = proxy.post(json={"model": "tiny", "messages": chat("hello"), "stream": stream})
    assert answer.status_code == 200 and "ok" in answer.text and wait_until(lambda: "proxy_not_stored" in caplog.text)
    assert proxy.wait_for_lines(1, "proxy/ann") == [("ann", "hello")]


def tell(proxy: ProxyWorld, client: openai.OpenAI, place: str, *said: str, answer: str = "") -> None:
    proxy.model.answers = [*said[1::2], *([answer] if answer else [])]
    for count in range(1, len(said) + 1, 2):
        proxy.ask(client, *said[:count])
        proxy.wait_for_lines(count + 1, place)


def test_r17_an_answer_that_is_made_again_is_not_shown_to_the_model(proxy: ProxyWorld) -> None:
    tale = ("The harbour is quiet.", "Answer one.", "Which ship is mine?")
    for texts in (tale, tale[-1:]):
        room = f"room{len(texts)}"
        client = proxy.client(X_User_Id="ann", X_Conversation_Id=room)
        tell(proxy, client, f"proxy/ann/{room}", *texts, answer="Your ship is the grey Swan.")
        proxy.ask(client, *texts)
        assert "Swan" not in str(proxy.model.last.messages)
    other = {"role": "assistant", "name": "Vera", "content": "Ask another."}  # another character spoke after it
    client.chat.completions.create(model="tiny", messages=[*chat(*texts), other])  # type: ignore[list-item]
    assert "Swan" not in str(proxy.model.last.messages)


def test_r17_an_older_line_that_is_answered_again_is_answered_without_the_lines_after_it(proxy: ProxyWorld) -> None:
    """A front end cuts the list at the line that is answered again; what was said after it has not been said yet."""
    client = proxy.client(X_User_Id="ann", X_Conversation_Id="7")
    said = ["Hello.", "Hi.", "Which ship is mine?", "The Raven.", "No, my ship is the Swan."]
    tell(proxy, client, "proxy/ann/7", *said, answer="The Swan, then.")
    said.append("The Swan, then.")
    edited = [said[0], "Hey.", said[2]], [*said[:2], "Which ship is my sister's?"]
    for again in (said[:3], said[:1], *edited):
        proxy.ask(client, *again)
        sent = str(proxy.model.last.messages)
        assert [later for later in said[len(again) :] if later in sent] == [], again
    proxy.ask(client, *said, "Does the ship sail?")
    assert "Swan" in str(proxy.model.last.messages)


def test_r17_an_edited_line_is_shown_as_it_is_now_and_the_lines_behind_it_stay_out(proxy: ProxyWorld) -> None:
    client = proxy.client(X_User_Id="ann", X_Conversation_Id="7")
    start = ["My brother is Karl.", "Noted."]
    tell(proxy, client, "proxy/ann/7", *start, "He lives in Rome.", "Nice.", "He has a boat.", answer="Fine.")
    edited = [*start, "He lives in Oslo."]
    proxy.model.answers = ["Cold."]
    proxy.ask(client, *edited)
    proxy.wait_for_lines(8, "proxy/ann/7")
    proxy.ask(client, *edited, "Cold.", "Where does my brother live, and does he have a boat?")
    sent = str(proxy.model.last.messages)
    assert "Oslo" in sent and "Rome" not in sent and "a boat." not in sent
    client = proxy.client(X_User_Id="ann", X_Conversation_Id="8")
    said = ("Noted.", "It sails on Monday.")
    tell(proxy, client, "proxy/ann/8", "My ship is the Swan.", *said, answer="Fine.")
    proxy.ask(client, "My ship is the Raven.", *said, "Fine.", "Which ship is mine?")
    assert "Swan" not in str(proxy.model.last.messages)


def test_r17_a_line_that_another_chat_of_the_person_said_before_hides_nothing(proxy: ProxyWorld) -> None:
    """Without an id all chats of a person are one conversation, and a list is a part of it."""
    client = proxy.client(X_User_Id="ann")
    tell(proxy, client, "proxy/ann", "Hello.", answer="Hi.")
    proxy.ask(client, "My ship is the Swan.")
    proxy.wait_for_lines(4, "proxy/ann")
    proxy.ask(client, "Hello.", "Hi.", "Which ship is mine?")
    assert "Swan" in str(proxy.model.last.messages)


def test_r19_standing_instructions_name_who_asked(proxy: ProxyWorld) -> None:
    for user, name, title in (
        ("ann", {"X_User_Name": "Ann Lee"}, "What Ann Lee asked of you once and for all:"),
        ("bob", {}, "Asked once and for all:"),
    ):
        client = proxy.client(X_User_Id=user, **name)
        proxy.ask(client, "From now on, always answer in German.")
        proxy.wait_for_lines(2, f"proxy/{user}")
        proxy.ask(client, "What about tea?")
        sent = str(proxy.model.last.messages)
        assert title in sent and "Unknown" not in sent


def test_p15_a_request_without_system_message_gets_its_text(proxy: ProxyWorld, stage: Stage, tmp_path: Path) -> None:
    """A front end without character cards has no other place for it; a card of the front end counts before it."""
    said, model = chat("hello"), proxy.model
    with proxy.served_again(persona_folder=str(tmp_path)) as world:
        client = world.client(X_User_Id="ann", X_User_Name="Ann")
        world.ask(client, "hello")
        assert model.last.messages == said
        set_persona_text("You are {{char}}, kind to {{user}}.", settings={"PERSONA_FOLDER": str(tmp_path)},
                         scope=stage.scope())  # fmt: skip
        named = {"role": "system", "content": f"X-Persona-Id: {stage.persona}"}
        for messages in (said, [named, *said]):
            client.chat.completions.create(model="tiny", messages=messages)
            system, last = model.last.messages
            assert system["role"] == "system" and last["content"].endswith("hello")
            name = stage.persona.capitalize()
            assert system["content"].startswith(f"You are {name}, kind to Ann.\n\nAnswer the last message")
            assert system["content"].endswith(f"You are {name}. You are talking with Ann.")
        client.chat.completions.create(model="tiny", messages=[{"role": "system", "content": "Be Vera."}, *said])
        assert model.last.messages[0]["content"] == "Be Vera." and "kind to" not in str(model.last.messages)
        model.reply = lambda r: JSONResponse(whole("ok"), 400 if "kind to" in str(r.messages) else 200)
        world.ask(client, "hello")
    assert model.last.messages == said


def test_r19_an_entry_of_a_book_stands_under_a_heading_that_is_true_of_it(proxy: ProxyWorld) -> None:
    book = {"entries": {"0": {"uid": 0, "key": ["moon"], "content": "The moon is green.", "constant": True}}}
    import_items(json.dumps(book).encode(), db=proxy.db, scope=Scope(proxy.persona))
    proxy.ask(proxy.client(X_User_Id="ann"), "hello")
    heading = "Always to be kept in mind, oldest first; a name in front is who asked:"
    assert f"{heading}\n- [2026-03-10] The moon is green." in blocks(proxy.model)[0]


def test_r16_a_room_has_a_readable_name_in_other_conversations(proxy: ProxyWorld) -> None:
    room = {"X_Conversation_Id": "the/kitchen", "X_Conversation_Privacy": "public"}
    proxy.ask(proxy.client(X_User_Id="ann", X_User_Name="Ann", **room), "The soup is in the blue pot.")
    proxy.wait_for_lines(2, "proxy/%room-the%2Fkitchen", privacy="public")
    proxy.ask(proxy.client(X_User_Id="ann", X_Conversation_Id="story"), "Where is the soup?")
    put_in = "".join(blocks(proxy.model))
    assert "Ann in proxy room the/kitchen: The soup" in put_in and "%" not in put_in


@pytest.mark.parametrize(("text", "more", "headers", "reason"), [
    (TITLE_TASK, {}, {}, "task"), ("hello", {"max_tokens": 64}, {}, "short"),
    ("hello", {"max_completion_tokens": 5}, {}, "short"), ("hello", {}, {"X_Store": "no"}, "asked"),
    (" ", {}, {}, "no_text"),
])  # fmt: skip
def test_r18_what_is_no_turn_is_passed_on_and_not_stored(
    proxy: ProxyWorld, caplog: pytest.LogCaptureFixture, text: str, more: Any, headers: Any, reason: str
) -> None:
    with caplog.at_level(logging.INFO):
        client = proxy.client(X_User_Id="ann", **headers)
        raw = client.chat.completions.with_raw_response.create(model="tiny", messages=chat(text), **more)
    assert raw.headers["x-memory"] == f"skipped; {reason}"
    assert proxy.model.last.messages == chat(text) and proxy.lines("proxy/ann") == []
    assert f"reason='{reason}'" in caplog.text and "hello" not in caplog.text


def test_r19_what_is_asked_for_in_the_request_is_not_put_in_again(proxy: ProxyWorld) -> None:
    client = proxy.client(X_User_Id="ann", X_Conversation_Id="owls", **SHARED)
    asked = {"role": "user", "content": "Hi. Please remember that my owl is called Uhu."}
    client.chat.completions.create(model="tiny", messages=[asked])
    assert str(proxy.model.last.messages).count("Uhu") == 1
    proxy.ask(proxy.client(X_User_Id="ann", X_Conversation_Id="other", **SHARED), "What is my owl called?")
    assert "- [2026-03-10] Hi. Please remember that my owl is called Uhu." in str(proxy.model.last.messages)


def test_r19_an_answer_whose_words_are_in_the_question_is_shown(proxy: ProxyWorld) -> None:
    """Else its question would stand there without it."""
    client = proxy.client(X_User_Id="ann", X_Conversation_Id="7")
    told = ("Who has the key?", "Kael.", "Where do we ride?", "North.", "Who broke the lamp?", "Bron did.", "Fine.")
    tell(proxy, client, "proxy/ann/7", *told, answer="Good night.")
    asking = {"Kael.": "Does Kael have the key?", "North.": "Do we ride north?", "Bron did.": "So Bron did break it?"}
    for answer, asked in asking.items():
        proxy.ask(client, asked)
        assert f": {answer}\n" in blocks(proxy.model)[0]
    proxy.ask(client, *told[:2], "Does Kael have the key?")
    assert ": Kael." not in blocks(proxy.model)[0]


@pytest.mark.slow
def test_r19_the_room_is_kept(proxy: ProxyWorld) -> None:
    for room, wanted in ((0, 0), (40, 0), (600, 1)):
        with proxy.served_again(proxy_context_chars=room) as world:
            for n in range(5):
                client = world.client(X_User_Id="ann", X_Conversation_Id=f"r{room}{n}", **SHARED)
                world.ask(client, f"My cat Tofu {n} likes fish of kind {n} on days like this one. " * 3)
                world.wait_for_lines(2, f"proxy/ann/r{room}{n}")
            world.ask(world.client(X_User_Id="ann", X_Conversation_Id=f"r{room}", **SHARED), "What does Tofu like?")
            put_in = blocks(proxy.model)
            assert len(put_in) == wanted and len("".join(put_in)) <= room


# As SillyTavern sends it with the source Custom (`chat-completions.js`, commit 000b092): every sampler as a field, the
# card in system messages, the author's instructions behind the lines, headers of `custom_include_headers`.
TAVERN = {
    "messages": [{"role": "system", "content": "Write Mili's next reply in a fictional chat."},
                 {"role": "system", "content": "[Start a new Chat]"},
                 {"role": "user", "content": "I have two cats"}, {"role": "assistant", "content": "How lovely."},
                 {"role": "user", "content": "Which is this one?"},
                 {"role": "system", "content": "Stay in character."}],
    "model": "tiny", "temperature": 1, "max_tokens": 300, "stream": True, "presence_penalty": 0,
    "frequency_penalty": 0, "top_p": 1, "stop": ["Ann:"], "logit_bias": {}, "seed": 7, "n": 1,
}  # fmt: skip

# As Open WebUI sends it (`routers/openai.py`, commit 004a45f): its own `metadata` is taken out before, who and where
# stand in headers where ENABLE_FORWARD_USER_INFO_HEADERS is on.
OPEN_WEBUI = {
    "stream": True, "model": "tiny", "stream_options": {"include_usage": True},
    "messages": [{"role": "user", "content": "I have two cats"}, {"role": "assistant", "content": "How lovely."},
                 {"role": "user", "content": [{"type": "text", "text": "Which is this one?"},
                                              {"type": "image_url", "image_url": {"url": "data:image/png;base64,A"}}]}],
}  # fmt: skip


@pytest.mark.parametrize(("body", "who", "headers", "place"), [
    (TAVERN, "me", {}, "proxy/me"), (OPEN_WEBUI, None, OPEN_WEBUI_HEADERS, "openwebui/u1/c1"),
], ids=["SillyTavern", "Open WebUI"])  # fmt: skip
def test_r17_requests_as_companions_send_them(proxy: ProxyWorld, body: Any, who: Any, headers: Any, place: str) -> None:
    proxy.model.answers = ["The grey one.", "Tofu."]
    answer = proxy.post(who, headers, json=body)
    assert answer.status_code == 200 and b"[DONE]" in answer.content
    lines = proxy.wait_for_lines(4, place)
    assert [text for _, text in lines] == ["I have two cats", "How lovely.", "Which is this one?", "The grey one."]
    assert {**proxy.model.last.body, "messages": without_block(proxy.model.last.messages)} == body
