"""The surfaces over the doors: admin routes and commands see one persona; and a conversation that turns private."""

import contextlib
import json
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import typer.main
from sqlalchemy import text

import core.cli
from core import ai_diary, chat_history_cache, conversations, lifelong, privacy, prompt_engine, short_term
from core.cli.app import app as cli_app
from core.config import Settings
from core.errors import MessageError
from core.scope import Scope
from tests.isolation.oracle import may_see
from tests.isolation.world import CANARY, COMMON, SETTINGS, TAG, World
from tests.spec.stage import message
from tests.store.world import NOW, open_db

TOKEN = "a-token-of-thirty-two-characters"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with contextlib.closing(open_db(f"sqlite:///{tmp_path_factory.mktemp('surfaces') / 'own.db'}")) as db:
        yield World(db, 38)


@pytest.mark.slow
def test_f2_no_admin_route_shows_another_persona(world: World) -> None:
    testclient = pytest.importorskip("starlette.testclient")
    from core.web import create_app

    app = create_app(db=world.db, settings=Settings(admin_token=TOKEN))
    client = testclient.TestClient(app, base_url="http://127.0.0.1:8000")
    head = {"Authorization": f"Bearer {TOKEN}"}
    paths = client.get("/openapi.json").json()["paths"]
    paths = {path: each for path, each in paths.items() if path.startswith("/admin/")}
    mine, theirs = (world.by_persona[name] for name in list(world.by_persona)[:2])
    persona = mine[0].origin.persona
    shown, asked = set(), 0
    for path, methods in paths.items():
        if "get" not in methods:
            continue
        for place in (mine[0], theirs[0]):
            where = path.format(id=place.rows["memories"], import_id="1")
            query = {"conf_uid": persona, "user_id": place.participant, "q": COMMON, "limit": 50}
            names = {each["name"] for each in methods["get"].get("parameters", ())}
            if place is theirs[0] and "id" not in names and "user_id" not in names:
                query["conversation"] = place.conversation or ""
            answer = client.get(where, headers=head, params={k: v for k, v in query.items() if k in names})
            assert answer.status_code in (200, 400, 404, 422), (path, answer.status_code)
            asked += answer.status_code == 200
            found = set(CANARY.findall(answer.text))
            assert {world.origins[each].persona for each in found} <= {persona}, path
            shown |= found
    assert asked > 10 and shown
    for path, body in {
        "/admin/memory/edit": {"id": theirs[0].rows["memories"], "content": "x", "new_content": "x"},
        "/admin/memory/delete": {"ids": [theirs[0].rows["memories"]]},
        "/admin/memory/purge": {"ids": [theirs[0].rows["memories"]]},
    }.items():
        answer = client.post(path, headers=head, params={"conf_uid": persona}, json=body)
        found = set(CANARY.findall(answer.text))
        assert {world.origins[each].persona for each in found} <= {persona}, path
    there = {"db": world.db, "settings": SETTINGS, "scope": Scope(theirs[0].origin.persona)}
    item = lifelong.get_item(theirs[0].rows["memories"], operator=True, **there)
    assert CANARY.search(item["text"]) and not item["archived_at"]


@pytest.mark.slow
def test_f12_no_tool_shows_what_is_not_seen(world: World) -> None:
    pytest.importorskip("mcp")
    from core.web.mcp import tools
    from core.web.mcp.speaker import Speaker

    standing = [asking for asking in world.askings if asking.scope.conversation is not None]
    shown, foreign, changed = set(), [], 0
    for number, asking in enumerate(standing):
        speaker = Speaker(asking.scope, db=world.db, settings=SETTINGS)
        places = [world.places[(7 * number + step) % len(world.places)] for step in range(3)]

        def call(name: str, speaker: Speaker = speaker, **arguments: Any) -> str:
            return str(tools.TOOLS[name].run(speaker, arguments).content[0].text)  # type: ignore[union-attr]

        answers = [
            call("memory_context", message=f"what about the {COMMON}?", max_chars=200_000),
            call("memory_search", query=f"the {COMMON} sleeps", limit=200),
            call("memory_search", tags=[TAG], limit=200),
        ]
        cursor: str | None = ""
        while cursor is not None:
            answers.append(call("memory_list", limit=200, cursor=cursor))
            cursor = json.loads(answers[-1])["next_cursor"]
        for place in places:
            for row_id in () if may_see(asking.asker, place.origin) else place.rows.values():
                for name, more in (("memory_delete", {}), ("memory_update", {"text": "x"})):
                    with contextlib.suppress(MessageError):
                        call(name, id=str(row_id), **more)
                        changed += 1
        found = set(CANARY.findall("".join(answers)))
        foreign += [(asking, world.names[each]) for each in found if not may_see(asking.asker, world.origins[each])]
        shown |= found
    assert foreign == [] and changed == 0
    assert len(standing) > 20 and len(shown) > 100


COMMANDS = {
    "build": ["build", f"the {COMMON}"], "explain": ["explain", f"the {COMMON}"], "search": ["search", COMMON],
    "conversations": ["conversations"], "privacy": ["privacy"], "export": None, "db check": ["db", "check"],
    "jobs list": ["jobs", "list"], "mcp": None,
}  # fmt: skip
"""What reads, and how it is called; None for one that is tried by itself, or tells of the server alone."""
IN_A_CONVERSATION = ("build", "explain", "search")
"""What shows the rows of a conversation's scope; the rest is for an operator, of a whole persona."""
OTHERS = {
    "remember", "import", "forget", "worker", "serve", "demo", "db init", "db migrate", "db reindex", "db pack",
    "db maintenance", "config list", "config check", "memory consolidate", "memory prune", "jobs cancel", "jobs retry",
    "token add", "token list", "token revoke", "config preset", "config set", "db backup", "db copy", "db restore",
}  # fmt: skip
"""What writes, or reads no rows of anybody."""


def commands(group: Any, above: str = "") -> Iterator[str]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{above}{name} ")
        else:
            yield f"{above}{name}"


def test_every_command_is_listed() -> None:
    there = set(commands(typer.main.get_command(cli_app)))
    assert there - set(COMMANDS) - OTHERS == set() and set(COMMANDS) <= there


@pytest.mark.slow
def test_f12_no_command_shows_what_is_not_seen(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (row, *_) = world.db.read(text("PRAGMA database_list"), source="the file")
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{row[2]}")
    monkeypatch.chdir(tmp_path)
    seen = 0
    for asking in [a for a in world.askings if a.scope.conversation and a.asker.kind == "public"][:2]:
        scope = asking.scope
        for name, words in COMMANDS.items():
            if words is None:
                continue
            more = ["--persona-id", scope.persona]
            if name in IN_A_CONVERSATION:
                more += ["--conversation", str(scope.conversation)]
                more += ["--server", scope.server] if scope.server else []
            capsys.readouterr()
            core.cli.main([*words, *more, "--json"])
            told = capsys.readouterr()
            for token in set(CANARY.findall(told.out + told.err)):
                seen += 1
                origin = world.origins[token]
                assert origin.persona == scope.persona, name
                assert name not in IN_A_CONVERSATION or may_see(asking.asker, origin), (name, origin)
    assert seen > 10


@pytest.mark.slow
def test_f17_no_prompt_and_no_list_holds_a_half(tmp_path: Path) -> None:
    """While it turns private and public again, other prompts hold all that is derived of it, or nothing."""
    turning = open_db(f"sqlite:///{tmp_path / 'own.db'}")  # two threads need a file
    here, there = "tg/turning", Scope("p", "tg/other", "tg/bob", "s1", None, "public")
    own = Scope("p", here, "tg/ann", "s1", None, "public")
    by: dict[str, Any] = {"db": turning, "settings": SETTINGS, "scope": own}
    words = [f"zq{n:07d}x" for n in range(1, 7)]
    chat_history_cache.save_chat_message(here, f"{COMMON} {words[0]}", "Ann", "ann", NOW, message_id="m", **by)
    for n in range(60):  # more than a history shows, so that what is remembered of the conversation is told, too
        at = NOW - timedelta(minutes=60 - n)
        chat_history_cache.save_chat_message(here, f"filler {n}", "Ann", "ann", at, message_id=f"f{n}", **by)
    lifelong.add_facts_with_meta([{"text": f"{COMMON} {words[1]}", "tags": [TAG]}], **by)
    ai_diary.add_diary_entry(f"{COMMON} {words[2]}", context_tags=[TAG], **by)
    conversations.add_saved_memory(f"{COMMON} {words[3]}", **by)
    answer = json.dumps({"title": "t", "summary": f"{COMMON} {words[4]}"})
    conversations.close_conversation(here, lambda messages: answer, wait=True, **by)
    turn = [{"content": f"{COMMON} {words[5]}", "sender_id": "ann"}]
    short_term.write_turn(None, "ok", user="tg/ann", channel=here, server="s1", messages=turn, at=NOW, **by)
    conversations.add_saved_memory(f"Please greet me with {words[0]}", kind="instruction", **by)
    asked = {**message(f"the {COMMON}", "tg/other", who="Bob"), "server_id": "s1"}
    done, failed = threading.Event(), []

    def turn_it() -> None:
        try:
            for _ in range(12):
                for kind in ("restricted", "public"):
                    privacy.set_conversation_privacy(here, kind, db=turning, settings=SETTINGS, scope=Scope("p"))  # type: ignore[arg-type]
        except Exception as error:  # noqa: BLE001 - told by the assertion below
            failed.append(error)
        finally:
            done.set()

    thread = threading.Thread(target=turn_it)
    seen: set[frozenset[str]] = set()
    thread.start()
    while not done.is_set():
        prompt, _ = prompt_engine.explain_json_prompt(asked, db=turning, settings=SETTINGS, scope=there)
        seen.add(frozenset(CANARY.findall(json.dumps(prompt["context"]))))
        lines = chat_history_cache.load_global_chat_history(20, db=turning, settings=SETTINGS, scope=there)
        assert len(lines) in (0, 20)
    thread.join()
    assert failed == []
    # What is searched for, and which conversations are recent, is known a moment before the rest is read: of one that
    # has just turned public they may be missing, of one that has turned private nothing is left.
    recap, sections = words[4], frozenset(words[2:])
    whole = [frozenset(), frozenset(words), sections]
    assert all(each in whole or each | {recap} in whole for each in seen), seen
    last, _ = prompt_engine.explain_json_prompt(asked, db=turning, settings=SETTINGS, scope=there)
    assert frozenset(CANARY.findall(json.dumps(last["context"]))) == frozenset(words)
    turning.close()
