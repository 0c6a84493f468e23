"""How servers are started, guarded and ended: MCP by both transports, several processes (R6, R7, R11, R39)."""

import asyncio
import builtins
import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from starlette.responses import StreamingResponse

import core.cli
from core import Scope, lifelong, open_database, privacy, tokens
from core.ai_diary import add_diary_entry
from core.chat_history_cache import load_chat_history, save_chat_message
from core.cli import app as command_app
from core.conversations import list_saved_memories
from core.database.engine import Database
from core.web import connections, create_app
from core.web.mcp import stdio, tools
from core.web.mcp.speaker import Speaker, build_scope
from tests.servers.base import free_port
from tests.spec.mcp_world import ANN, BOB, ROOT, HttpServer, asked, command, environment, serving, speaker_of
from tests.spec.proxy_world import ModelServer, ProxyWorld, chat, event, is_up, wait_until
from tests.spec.proxy_world import serving as serving_app
from tests.store.world import own_scope

pytest.importorskip("mcp", reason="needs the extra `mcp`")
pytest.importorskip("uvicorn", reason="needs the extra `admin`")
INITIALIZE = {"method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {},
                                                 "clientInfo": {"name": "x", "version": "1"}}}  # fmt: skip
REQUESTS = 8


@pytest.fixture
def persona() -> str:
    return own_scope().persona


@pytest.fixture
def http(db: Database, persona: str) -> Iterator[HttpServer]:
    with serving(db, persona) as made:
        yield made


def read(answer: httpx2.Response) -> Any:
    return json.loads(answer.json()["result"]["content"][0]["text"])


def test_r7_who_speaks_is_said_by_the_token_alone(db: Database, persona: str, http: HttpServer) -> None:
    scope = Scope(persona, participant="web/cy")
    revoked = tokens.add_token(db=db, scope=scope)
    assert tokens.revoke_token(revoked["id"], db=db, scope=scope)
    host, admin = (tokens.add_token(kind, db=db, scope=scope)["token"] for kind in ("host", "admin"))
    good = http.tokens[ANN]
    wrong = ["", "x", good[:-1], f"{good}x", good.upper(), revoked["token"], BOB, good.replace("pe_", "pe_1")]
    answers = [http.post({"Authorization": f"Bearer {text}"} if text else {}) for text in wrong]
    assert {answer.status_code for answer in answers} == {401} and len({answer.text for answer in answers[1:]}) == 1
    assert "not valid here" in answers[1].json()["error"]["message"]
    assert "token is needed" in answers[0].json()["error"]["message"]
    for text, header in ((f"Basic {good}", 401), (f"bearer {good}", 200)):
        assert http.post({"Authorization": text}).status_code == header
    for text in (host, admin):
        answer = http.post({"Authorization": f"Bearer {text}"})
        assert answer.status_code == 403 and persona not in answer.text and "web/" not in answer.text
    # What a request says of itself beside its token counts for nothing.
    save_chat_message(BOB, "zqsecret", db=db, scope=speaker_of(db, persona, BOB).scope)
    said = {"X-User-Id": BOB, "X-Conversation-Id": BOB, "X-Persona-Id": persona, "Cookie": f"participant={BOB}"}
    search = asked("memory_search", query="zqsecret")
    answer = http.post({**http.headers(ANN), **said}, search, params={"participant": BOB, "token": http.tokens[BOB]})
    assert answer.status_code == 200 and read(answer)["count"] == 0
    assert read(http.post(http.headers(BOB), search))["count"] == 1


def test_r7_the_name_given_at_the_start_stands_from_the_first_line_on(db: Database, persona: str) -> None:
    """Before anything was said, what was saved was of `me`."""
    speaker = Speaker(build_scope(persona), "Ann", db)
    tools.memory_save(speaker, tools.SaveArguments(text="Ann's cat is called Tofu"))
    (hit,) = tools.memory_search(speaker, tools.SearchArguments(query="cat Tofu"))["hits"]
    (listed,) = tools.memory_list(speaker, tools.ListArguments())["memories"]
    assert (hit["speaker"], listed["speaker"]) == ("Ann", "Ann")
    tools.turn_save(speaker, tools.TurnArguments(user_text="Is there tea?", assistant_text="Green tea."))
    hits = tools.memory_search(speaker, tools.SearchArguments(query="Is there tea?"))["hits"]
    assert {each["speaker"] for each in hits if "there tea" in each["text"]} == {"Ann"}


def test_r7_over_http_a_header_names_the_person_and_no_session_stays(
    db: Database, persona: str, http: HttpServer
) -> None:
    turn = asked("turn_save", user_text="The tea is green.", assistant_text="Fine.")
    for name, status in (("Zoë".encode(), 200), (b"Zo%C3%AB", 200), (b"\xeb", 400)):
        assert http.post({**http.headers(ANN), "X-User-Name": name}, turn).status_code == status
    lines = load_chat_history(ANN, db=db, scope=speaker_of(db, persona, ANN).scope)
    assert {line["sender_name"] for line in lines if "tea" in line["text"]} == {"Zoë"}
    begun = http.post(http.headers(ANN), {"jsonrpc": "2.0", "id": 0, **INITIALIZE})
    assert begun.status_code == 200 and "mcp-session-id" not in begun.headers
    save = asked("memory_save", text="of Bob")
    assert http.post({**http.headers(BOB), "mcp-session-id": "a" * 32}, save).status_code == 200
    assert read(http.post({**http.headers(ANN), "mcp-session-id": "a" * 32}))["total"] == 0


def test_r6_a_token_of_a_conversation_speaks_there(db: Database, persona: str, http: HttpServer) -> None:
    save_chat_message("web/town", "Tea at five?", "Cy", db=db, scope=Scope(persona, "web/town", "web/cy"))
    made = tokens.add_token(db=db, scope=Scope(persona, "web/town", "web/dan"))
    turn = asked("turn_save", user_text="Yes!", assistant_text="See you.")
    headers = {"Authorization": f"Bearer {made['token']}"}
    assert http.post(headers, turn).json()["result"]["structuredContent"]["user"]["stored"]
    lines = load_chat_history("web/town", db=db, scope=Scope(persona, "web/town"))
    said = [("Cy", "Tea at five?"), ("dan", "Yes!"), (persona, "See you.")]
    assert [(line["sender_name"], line["text"]) for line in lines] == said


def test_r38_tools_change_what_the_person_said_alone(db: Database, persona: str, http: HttpServer) -> None:
    """Bob's token could rewrite, and delete for good, what Gus said in a public channel."""

    def say(who: str, text: str) -> int | None:
        return save_chat_message("web/club", text, who, who, db=db, scope=Scope(persona, "web/club", f"web/{who}")).id

    club = {"db": db, "scope": Scope(persona, "web/club", privacy="public")}
    everybody = {"db": db, "scope": Scope(persona)}
    (seats,) = lifelong.add_facts_with_meta(["The zqclub room has 30 seats."], **everybody).ids
    foreign = [say("gus", "The zqclub has 900 euros."), seats, add_diary_entry("A zqclub day.", **club).id]
    privacy.link_participants("tg/bob", BOB, **everybody)
    as_linked = {"db": db, "scope": Scope(persona, "web/club", "tg/bob", privacy="public")}
    own = [say("bob", "I like the zqclub."), *lifelong.add_facts_with_meta(["Bob likes the zqclub."], **as_linked).ids]

    def ask(tool: str, **arguments: Any) -> Any:
        return http.post(http.headers(BOB), asked(tool, **arguments)).json()["result"]

    hits = json.loads(ask("memory_search", query="zqclub", limit=50)["content"][0]["text"])["hits"]
    assert {hit["id"] for hit in hits} == {*foreign, *own}
    for row in foreign:
        for tool, more in (("memory_update", {"text": "hacked"}), ("memory_delete", {})):
            answer = ask(tool, id=row, **more)
            assert answer["isError"] and f"id {row} belongs to others" in answer["content"][0]["text"]
    assert ask("memory_save", text="The zqclub room has 30 seats.", tags=["zqtag"])["structuredContent"]["id"]
    assert lifelong.get_item(seats, **everybody)["tags"] == []
    for row in own:
        assert ask("memory_update", id=row, text=f"zqown {row}")["structuredContent"]["done"]
        assert ask("memory_delete", id=row)["structuredContent"]["done"]
    host = Speaker(build_scope(persona), db=db, is_host=True)
    assert tools.memory_delete(host, tools.DeleteArguments(id=seats)).done


def test_requests_that_are_none_are_refused_and_the_server_goes_on(http: HttpServer) -> None:
    headers = http.headers(ANN)
    for method in ("GET", "DELETE", "PUT"):
        answer = httpx2.request(method, http.url, headers={**headers, "accept": "application/json"}, timeout=120)
        assert answer.status_code == 405
    assert http.post({**headers, "content-type": "text/plain"}).status_code in (400, 415)
    for body in (b"", b"null", b"[1]", b'{"jsonrpc": "2.0", "id": 1}'):
        assert 400 <= http.post(headers, body).status_code < 500, body
    for arguments in ({"text": "a\x00b"}, {"text": "\ud800"}, [], {"": 1}, {"text": {"text": "x"}}):
        save = {**asked("memory_save"), "params": {"name": "memory_save", "arguments": arguments}}
        answer = http.post(headers, json.dumps(save))
        assert answer.status_code < 500 and "Traceback" not in answer.text, arguments
    left = read(http.post(headers))["memories"]
    assert [memory["text"] for memory in left] == ["ab"]  # of all of them one could be stored


@pytest.mark.slow
def test_r38_what_is_in_progress_when_the_input_ends_is_answered(migrated_url: str, persona: str) -> None:
    """A program that sends its last calls and closes its end had them done and none answered."""
    messages: list[Any] = [{"id": 0, **INITIALIZE}, {"method": "notifications/initialized"}]
    messages += [{**asked("memory_save", text=f"fact {n}"), "id": n} for n in range(1, 7)]
    lines = [json.dumps({"jsonrpc": "2.0", **each}) for each in messages]
    lines[2:2] = ["{not json", '{"jsonrpc": "2.0", "id": 99}', "[]", '{"jsonrpc": "2.0", "id": 98, "method": 5}']
    done = subprocess.run(
        command(persona, "--participant", ANN), env=environment(migrated_url), input="\n".join(lines) + "\n",
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert {answer["id"] for answer in answers if "result" in answer} == set(range(7)), done.stderr
    assert done.returncode == 0 and "Traceback" not in done.stderr


@pytest.mark.slow
def test_r38_a_program_that_goes_away_leaves_no_traceback(migrated_url: str, persona: str) -> None:
    child = subprocess.Popen(
        command(persona), env=environment(migrated_url), text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert child.stdin is not None and child.stdout is not None and child.stderr is not None
    child.stdout.close()
    with contextlib.suppress(BrokenPipeError):
        print(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}), file=child.stdin, flush=True)
        child.stdin.close()
    assert child.wait(120) == 1 and "Traceback" not in child.stderr.read()
    child.stderr.close()


def test_r7_options_and_environment_say_who_speaks(migrated_url: str, db: Any, persona: str, monkeypatch: Any) -> None:
    """In this process, with calls in place of standard input: the command alone takes seconds to start."""

    def save(text: str, *words: str, **variables: str) -> None:
        def call(make_speaker: Callable[[], Speaker]) -> None:
            speaker = make_speaker()
            assert tools.memory_save(speaker, tools.SaveArguments(text=text)).done
            turn = tools.TurnArguments(user_text=f"I said {text}", assistant_text="Yes.")
            assert tools.turn_save(speaker, turn).user.stored
            calls.append(text)

        with monkeypatch.context() as own:
            own.setattr(stdio, "serve_stdio", call)
            for name, value in {"DATABASE_URL": migrated_url, **variables}.items():
                own.setenv(name, value)
            assert command_app.run_command(["mcp", *words]) == 0
        assert calls.pop() == text

    calls: list[str] = []
    given = {"PERSONA_ID": persona, "MCP_PARTICIPANT": "desk/eve", "MCP_NAME": "Eve"}
    options = ["--persona-id", persona, "--participant", "desk/fay", "--name", "Fay"]
    place = ["--conversation", "web/hall", "--server", "s1", "--privacy", "restricted"]
    save("by options", *options, **given)
    save("by nobody", PERSONA_ID=persona)
    save("by variables in a hall", *place, **given)
    for scope, text, who, name in (
        (build_scope(persona, "desk/fay"), "by options", "fay", "Fay"),
        (build_scope(persona), "by nobody", "me", "me"),
        (build_scope(persona, "desk/eve", "web/hall", "s1"), "by variables in a hall", "eve", "Eve"),
    ):
        assert [each["text"] for each in list_saved_memories(db=db, scope=scope)] == [text]
        line = load_chat_history(scope.conversation, db=db, scope=scope)[0]
        assert (line["sender_id"], line["sender_name"], line["text"]) == (who, name, f"I said {text}")
    for server in (None, "s1"):
        assert list_saved_memories(db=db, scope=Scope(persona, "web/town", "desk/eve", server)) == []


@pytest.mark.checkout
def test_r6_the_first_answer_waits_for_no_database() -> None:
    heavy = ("sqlalchemy", "alembic", "numpy", "jinja2", "core.database.engine", "core.search", "rich", "sqlite3")
    code = f"import sys, core.cli.app, core.web.mcp.server; print([m for m in {heavy!r} if m in sys.modules])"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run([sys.executable, "-c", code], env=env, check=True, capture_output=True, text=True, timeout=180)
    assert ran.stdout.strip() == "[]"


@pytest.mark.slow
def test_r6_a_database_out_of_reach_is_each_calls_answer(persona: str) -> None:
    words, env = command(persona), environment("mysql://nobody:canary-word@127.0.0.1:1/nowhere")
    child = StdioServerParameters(command=words[0], args=words[1:], env=env)

    async def ask() -> None:
        async with Client(child) as client:
            assert len((await client.list_tools()).tools) == 8
            for _ in range(2):
                answer = await client.call_tool("memory_list", {})
                text = str(answer.content)
                assert answer.is_error and "could not be reached" in text and "canary-word" not in text

    asyncio.run(ask())


def test_a_missing_extra_and_a_wrong_option_are_told(monkeypatch: Any, tmp_path: Path, capsys: Any) -> None:
    known = builtins.__import__

    def imported(name: str, *more: Any, **given: Any) -> Any:
        if name == "mcp" or name.startswith(("mcp.", "mcp_types")):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return known(name, *more, **given)

    def run(command: str, *words: str) -> tuple[int, str]:
        code = command_app.run_command([command, "--database", f"sqlite:///{tmp_path / 'a.db'}", *words])
        return code, " ".join(capsys.readouterr().err.split())

    for words, status, said in ((("--privacy", "secret"), 2, "--privacy"), (("--persona-id", " "), 1, "persona")):
        code, told = run("mcp", *words)
        assert code == status and said in told
    for module in [name for name in sys.modules if ".web.mcp" in name]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(builtins, "__import__", imported)
    for line, extra in (("mcp", "mcp"), ("serve --mcp --no-admin", "admin,mcp")):
        code, told = run(*line.split())
        assert code == 2 and f"prompt-engine[{extra}]" in told


@contextmanager
def serve(url: str, port: int) -> Iterator[subprocess.Popen[bytes]]:
    words = ["serve", "--mcp", "--no-admin", "--no-worker", "--share-port", "--port", str(port)]
    child = subprocess.Popen([sys.executable, "-m", str(core.cli.__name__), *words], env=environment(url), cwd=ROOT)
    try:
        yield child
    finally:
        child.terminate()
        child.wait(60)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system does not spread connections")
def test_r11_any_of_several_processes_answers_any_request(tmp_path: Path) -> None:
    url, port = f"sqlite:///{tmp_path / 'serve.db'}", free_port()
    place = f"http://127.0.0.1:{port}"
    with closing(open_database(url)) as db, ExitStack() as stack:
        http = HttpServer({ANN: tokens.add_token(db=db, scope=Scope("iris", participant=ANN))["token"]}, port)
        first = stack.enter_context(serve(url, port))
        assert wait_until(lambda: is_up(f"{place}/health/live"))
        saved = http.post(http.headers(ANN), asked("memory_save", text="Ann likes green tea.")).json()
        assert saved["result"]["structuredContent"]["done"]
        second = stack.enter_context(serve(url, port))
        listening = lambda: Path("/proc/net/tcp").read_text().count(f":{port:04X} 00000000:0000 0A")  # noqa: E731
        assert wait_until(lambda: listening() == 2)
        for _ in range(REQUESTS):
            listed = read(http.post(http.headers(ANN)))
            assert [each["text"] for each in listed["memories"]] == ["Ann likes green tea."]
        first.terminate()
        first.wait(60)
        assert all(is_up(f"{place}/health/live") for _ in range(REQUESTS)) and second.poll() is None


def test_r11_a_shared_port_is_refused_for_the_page(tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    """Somebody who logged in at one process would be a stranger to the next."""
    monkeypatch.setenv("ADMIN_TOKEN", "a-token-of-the-tests-0001")
    words = ["serve", "--port", str(free_port()), "--database", f"sqlite:///{tmp_path / 'serve.db'}", "--share-port"]
    assert command_app.run_command(words) == 2 and "--no-admin" in " ".join(capsys.readouterr().err.split())


ENDING = """
import sys
import {package}.cli.serve as serve
serve.STREAM_SECONDS = 1
from {package}.cli import app
sys.exit(app.run_command(sys.argv[1:]))
"""


@pytest.mark.slow
def test_r39_a_server_that_ends_stores_what_streams_brought(tmp_path: Path, model: ModelServer) -> None:
    """A model that thinks for an hour must not hold it: the supervisor would kill it, and everything be lost."""
    url, port = f"sqlite:///{tmp_path / 'serve.db'}", free_port()
    place, model.reply, over = f"http://127.0.0.1:{port}", None, threading.Event()
    said, stop = event({"delta": {"content": "Hello."}}), event({"delta": {}, "finish_reason": "stop"})

    async def pieces(recorded: Any) -> Any:
        yield said + (stop if recorded.messages[-1]["content"] == "whole" else b"")
        while not over.is_set():  # noqa: ASYNC110 - set by the test, in another thread
            await asyncio.sleep(0.005)

    model.reply = lambda r: StreamingResponse(pieces(r), media_type="text/event-stream")
    words = ["serve", "--proxy", "--no-admin", "--no-worker", "--port", str(port)]
    program = ENDING.format(package=core.cli.__name__.removesuffix(".cli"))
    env = environment(url, LLM_BASE_URL=f"{model.url}/v1")
    with closing(open_database(url)) as db, ExitStack() as stack:
        world = ProxyWorld(db, "default", place, model)
        stack.callback(world.close)
        stack.callback(over.set)
        command = [sys.executable, "-c", program, *words]
        child = stack.enter_context(subprocess.Popen(command, env=env, cwd=ROOT, stderr=subprocess.PIPE))
        stack.callback(child.kill)
        assert wait_until(lambda: is_up(f"{place}/health/live"))
        for who, text in (("ann", "whole"), ("bob", "half")):
            asked = world.client(X_User_Id=who).chat.completions
            stream = stack.enter_context(asked.create(model="t", messages=chat(text), stream=True))
            assert next(iter(stream)).choices[0].delta.content == "Hello."
        child.terminate()
        _, told = child.communicate(timeout=120)
        assert b"Traceback" not in told and b"Stopped." in told, told
        assert world.lines("proxy/ann") == [("ann", "whole"), ("self", "Hello.")]
        assert world.lines("proxy/bob") == [("bob", "half")]


@pytest.mark.engines("sqlite")
def test_r13_a_connection_whose_head_never_ends_is_closed(db: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each costs its client a few bytes, and the server a place."""
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.5)
    whole, half = b"GET /health/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"GET /health/live HTTP/1.1\r\nX-A: "

    def ask(client: socket.socket) -> None:
        got = b""
        client.sendall(whole)
        while b'"ok"}' not in got:
            got += client.recv(65_536)

    with serving_app(create_app(db=db, admin=False), http=connections.HeadTimedProtocol) as url:
        address = ("127.0.0.1", int(url.rpartition(":")[2]))
        for asks, sent in ((0, b""), (0, half), (1, half)):
            with socket.create_connection(address, timeout=30) as client:
                for _ in range(asks):
                    ask(client)
                client.sendall(sent)
                assert client.recv(65_536) == b""
        with socket.create_connection(address, timeout=30) as client:
            ask(client)
            time.sleep(0.7)  # one that is kept open between requests is not held to it
            ask(client)
