"""R33: each example as somebody runs it: the framework's real classes, a model on loopback, a database of its own."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import JSONResponse

from core import Scope, open_database
from core.calls.defaults import configure
from core.chat_history_cache import load_chat_history, save_chat_message
from core.privacy import list_privacy, set_privacy
from tests.adapters.servers import Telegram, answering
from tests.package_modules import load_example
from tests.spec.proxy_world import ModelServer, serving, whole

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"

pytestmark = pytest.mark.checkout


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch, fresh_migrated_url: str) -> Iterator[ModelServer]:
    made = ModelServer()
    say(made, "Green tea.")
    with serving(made.app) as url:
        for name, value in (("MODEL_URL", f"{url}/v1"), ("MODEL_NAME", "m"), ("DATABASE_URL", fresh_migrated_url)):
            monkeypatch.setenv(name, value)
        db = open_database(fresh_migrated_url)
        configure(db)
        yield made
        configure(None)
        db.close()


def say(model: ModelServer, text: str) -> None:
    """Answer so from now on, and close the connection: the clients of examples end with their process."""
    model.reply = lambda _: JSONResponse(whole(text), headers={"Connection": "close"})


def asked(model: ModelServer) -> list[str]:
    return [str(recorded.messages) for recorded in model.requests]


def run(name: str, said: str, folder: Path) -> str:
    paths = os.pathsep.join((str(ROOT), str(ROOT / "core" / "_editable")))
    ran = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py")], input=said, cwd=folder, env={**os.environ, "PYTHONPATH": paths},
        capture_output=True, text=True, timeout=180, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def lines(path: str, scope: Scope) -> list[tuple[str, str]]:
    return [(line["sender_id"], line["text"]) for line in load_chat_history(path, scope=scope)]


def test_r33_the_discord_bot_answers_and_remembers(model: ModelServer) -> None:
    discord = pytest.importorskip("discord", reason="the extra discord is not installed")
    from tests.adapters.discord_world import ANN, BEA, BOT, World, user

    bot = load_example("discord_bot").make_bot()
    world = World(bot)
    room, me = world.channel(20), {"mentions": [user(BOT, "iris")]}
    other = Scope("iris", "discord/20", server="9")
    save_chat_message("discord/20", "We drink coffee", "Bea", message_id="1900", scope=other)
    sent: list[str] = []

    async def send_message(channel_id: int, *, params: Any) -> Any:
        sent.append(params.payload["content"])
        return world.wire(sent[-1], room, BOT)

    world.state.http.send_message = send_message

    async def talk() -> None:
        first = world.message("I like green tea", room, number=1900)
        await bot.on_message(first)
        await bot.on_message(world.message("mine", room, BOT))
        edited = world.wire("I like oolong", room, number=1900)
        now = discord.Message(state=world.state, channel=room, data=edited)
        await bot.on_raw_message_edit(discord.RawMessageUpdateEvent(edited, now))
        await bot.on_message(world.message("Which tea do I like?", room, **me))
        gone: Any = {"id": "1900", "channel_id": str(room.id)}
        await bot.on_raw_message_delete(discord.RawMessageDeleteEvent(gone))
        await bot.on_message(world.message("Buy my coins", room, BEA, number=1901))
        many: Any = {"ids": ["1901"], "channel_id": str(room.id)}
        await bot.on_raw_bulk_message_delete(discord.RawBulkMessageDeleteEvent(many))

    async def part() -> None:
        bot.model = bot.model.with_options(base_url="http://127.0.0.1:9/v1", max_retries=0)
        await bot.on_message(world.message("Are you there?", room, BEA, **me))
        await bot.on_message(world.message("Never forget me", room, BEA, **me))
        set_privacy(f"discord/{ANN}", "full", scope=here)
        await bot.on_message(world.message("Iris, forget me!", room, **me))

    asyncio.run(talk())
    assert sent == ["Green tea."] and "I like oolong" in asked(model)[0] and "I like green tea" not in asked(model)[0]
    here = Scope("iris", "discord/20", server="1")
    assert sorted(lines("discord/20", here)) == sorted([("self", "Green tea."), (str(ANN), "Which tea do I like?")])
    assert lines("discord/20", other) == [("Bea", "We drink coffee")]
    asyncio.run(part())
    assert sent[1:] == ["I cannot think just now. Please try again in a minute."] * 2 + ["I have forgotten you."]
    assert lines("discord/20", here) == [(str(BEA), "Are you there?"), (str(BEA), "Never forget me")]
    kept = [(row["user"], row["privacy"]) for row in list_privacy(scope=here) if row["user"]]
    assert kept == [(f"discord/{ANN}", "full")]


def test_r33_the_discord_bot_knows_when_it_is_asked_to_forget() -> None:
    pytest.importorskip("discord", reason="the extra discord is not installed")
    asked = "<@9> forget me 🙏/can you forget me?/Iris, forget everything about me/delete my data pls/erase my messages"
    other = "never forget me/don't forget me/forget my birthday/he will forget me/delete my account/please"
    forget = load_example("discord_bot").FORGET
    assert [text for text in asked.split("/") if not forget.fullmatch(text)] == []
    assert [text for text in other.split("/") if forget.fullmatch(text)] == []
    assert not forget.fullmatch("please " * 5_000 + "x")


def test_r33_the_telegram_bot_answers_and_remembers(model: ModelServer) -> None:
    pytest.importorskip("telegram", reason="the extra telegram is not installed")
    from telegram import Update
    from telegram.ext import Application

    from tests.adapters.test_bots import PEOPLE

    api, example = Telegram(), load_example("telegram_bot")

    def update(number: int, text: str, kind: str = "message") -> dict[str, Any]:
        message = {"message_id": number, "date": 1_773_144_000 + number, "from": PEOPLE, "text": text,
                   "chat": {"id": 7, "type": "private", "first_name": "Ann"}}  # fmt: skip
        if text.startswith("/"):
            message["entities"] = [{"type": "bot_command", "offset": 0, "length": len(text)}]
        return {"update_id": number, kind: message}

    async def talk(url: str) -> None:
        bot = example.make_bot(Application.builder().token("1:x").base_url(f"{url}/bot"))
        async with bot:
            edited = update(1, "I like oolong", "edited_message")
            for each in (update(1, "I like green tea"), edited, update(2, "Tea?")):
                await bot.process_update(Update.de_json(each, bot.bot))
            assert len(lines("telegram/7", here)) == 4
            await bot.process_update(Update.de_json(update(3, "/forget"), bot.bot))

    here = Scope("iris", "telegram/7", "telegram/7", privacy="direct")
    with answering(api) as url:
        asyncio.run(talk(url))
    assert len(api.sent) == 3 and len(model.requests) == 2
    assert "I like oolong" in asked(model)[1] and "I like green tea" not in asked(model)[1]
    assert lines("telegram/7", here) == []


def test_r33_the_chat_loop_remembers_the_next_time(model: ModelServer, tmp_path: Path) -> None:
    pytest.importorskip("openai", reason="the client of the example is not installed")
    for said in ("I like green tea\n\n", "Which tea do I like?\n\n"):
        assert "Green tea." in run("chat_loop", said, tmp_path)
    assert "I like green tea" in asked(model)[1]


def test_r33_the_role_play_carries_its_scenes_on(model: ModelServer, tmp_path: Path) -> None:
    pytest.importorskip("openai", reason="the client of the example is not installed")

    def play(*said: str) -> str:
        return run("role_play", "\n".join((*said, "", "")), tmp_path)

    say(model, "The keeper sailed away at dusk and left the lamp dark. " * 5)
    assert "No scene has ended yet." in play("/story", "The lamp of the lighthouse is out.", "/scene The harbour")
    say(model, "Nobody.")
    count = len(model.requests)
    assert "The keeper sailed away" in play("/story", "Who is at the door?") and len(model.requests) == count + 1
    assert "sailed away" in asked(model)[-1].partition("The story so far:")[2]


def test_r33_the_service_keeps_users_apart_and_forgets_them(model: ModelServer) -> None:
    from fastapi.testclient import TestClient

    with TestClient(load_example("service").app) as client:
        for user, text in (("ann", "I like oolong"), ("bob", "Which tea does Ann like?"), ("ann", "Which tea?")):
            assert client.post("/chat", json={"user": user, "text": text}).json() == {"answer": "Green tea."}
        assert "oolong" not in asked(model)[1] and "I like oolong" in asked(model)[2]
        assert client.delete("/users/ann").json()["rows"] > 0
        client.post("/chat", json={"user": "ann", "text": "Which tea?"})
    assert "oolong" not in asked(model)[3]


def test_r33_the_langgraph_agent_remembers_facts(model: ModelServer) -> None:
    pytest.importorskip("langgraph", reason="the extra langgraph is not installed")
    example = load_example("langgraph_agent")
    for who, text in (("ann", "I like oolong tea"), ("bob", "Which tea?"), ("ann", "Which tea?")):
        scope = Scope("iris", f"web/{who}", f"web/{who}", privacy="direct")
        assert example.make_graph(scope).invoke({"text": text})["answer"] == "Green tea."
    assert "oolong" not in asked(model)[1] and "I like oolong tea" in asked(model)[2]
