"""R33: messages of discord.py and python-telegram-bot as ours, with the libraries' own classes."""

import asyncio
from typing import Any

import pytest

pytest.importorskip("discord", reason="the extra discord is not installed")
pytest.importorskip("telegram", reason="the extra telegram is not installed")

import discord
from telegram import Update

from core.adapters import discord as discord_adapter
from core.adapters import telegram as telegram_adapter
from core.chat_history_cache import load_chat_history, save_message
from core.context.incoming import IncomingMessage
from core.conversations import list_saved_memories
from core.database.engine import Database
from core.errors import MessageError
from core.scope import Scope
from tests.adapters.discord_world import ANN, BEA, BOT, World

PEOPLE = {"id": 7, "is_bot": False, "first_name": "Ann", "last_name": "Lee", "username": "ann"}
GROUP = {"id": -100, "type": "supergroup", "title": "Tea", "is_forum": True}


@pytest.fixture
def world() -> World:
    return World(discord.Client(intents=discord.Intents.all()))


def test_r33_a_discord_message_says_where_and_how_private(world: World, db: Database) -> None:
    where = {"open": world.channel(20), "closed": world.channel(21), "thread": world.channel(30),
             "private thread": world.channel(31), "lost thread": world.channel(32), "direct": world.direct}  # fmt: skip
    read = {name: IncomingMessage.read(discord_adapter.message_of(world.message("hi", channel)), now=db.clock())
            for name, channel in where.items()}  # fmt: skip
    assert not any(each.notes for each in read.values())
    told = {name: (each.interface_path, each.server_id, each.is_private) for name, each in read.items()}
    assert {each.sender.id for each in read.values()} == {str(ANN)} and told == {
        "open": ("discord/20", "1", False), "closed": ("discord/21", "1", True),
        "thread": ("discord/20/30", "1", False), "private thread": ("discord/20/31", "1", True),
        "lost thread": ("discord/99/32", "1", True), "direct": ("discord/40", "", True),
    }  # fmt: skip


def test_r33_a_discord_message_brings_reply_mentions_and_files(world: World, db: Database, persona: str) -> None:
    room = world.channel(20)
    bea = {"id": str(BEA), "username": "bea", "discriminator": "0", "avatar": None, "global_name": "Bea"}
    first = world.wire(f"I like <@{BEA}>'s tea", room, mentions=[bea], number=1500)
    files = [{"id": "5", "filename": "tea.png", "size": 9, "url": "u", "proxy_url": "p", "content_type": "image/png"}]
    reply = world.message("me too", room, BEA, attachments=files, referenced_message=first, type=19,
                          message_reference={"message_id": "1500", "channel_id": "20", "guild_id": "1"})  # fmt: skip
    made = discord_adapter.message_of(reply)
    assert made["reply_to_message"]["text"] == "I like @Bea's tea"
    assert made["reply_to_message"]["from_user"]["id"] == str(ANN)
    assert made["attachments"] == [{"filename": "tea.png", "content_type": "image/png", "size": 9, "url": "u"}]
    assert made["from_user"] == {"id": str(BEA), "username": "bea", "full_name": "Bea"}
    assert made["chat"] == {"id": "20", "type": "guild", "title": "room20"}
    for channel in (room, world.direct):
        assert discord_adapter.message_of(world.message("x", channel, BOT))["sender_id"] == "self"
    scope = Scope(persona)
    assert save_message(made, db=db, scope=scope).stored
    line = load_chat_history("discord/20", db=db, scope=scope)[0]
    assert (line["sender_name"], line["metadata"]["reply_to"]["text"]) == ("Bea", "I like @Bea's tea")


def test_c12_a_wish_on_discord_is_for_whom_it_mentions(world: World, db: Database, persona: str) -> None:
    """The adapter knows the bot's account, whatever the persona's id; an edit asks the same of the same person."""
    room, call = world.channel(20), {"db": db, "scope": Scope(persona, "discord/20", f"discord/{ANN}", server="1")}
    people = {n: {"id": str(n), "username": name, "discriminator": "0", "avatar": None, "global_name": name.title()}
              for n, name in ((BOT, "iris"), (BEA, "bea"))}  # fmt: skip
    for n, (who, count) in enumerate(((BEA, 0), (BOT, 1))):
        for wish in ("please always answer in German", "please always answer in French"):
            text = f"<@{who}> {wish}"
            said = world.message(text, room, number=1700 + n, mentions=[people[who]])
            stored = save_message(discord_adapter.message_of(said), db=db, scope=Scope(persona)).stored
            assert stored or asyncio.run(discord_adapter.on_edit(said, db=db, scope=Scope(persona))).stored
            held = [each["text"] for each in list_saved_memories(kind="instruction", **call)]
            assert held == [f"@Iris {wish}"] * count
    assert discord_adapter.message_of(world.message("hi", room))["is_addressed"] is None


def test_r33_edits_and_deletions_on_discord_reach_the_line(world: World, db: Database, persona: str) -> None:
    scope, room = Scope(persona), world.channel(30)
    save_message(discord_adapter.message_of(world.message("I like oolng", room, number=1600)), db=db, scope=scope)
    edited = world.message("I like oolong", room, number=1600)
    assert asyncio.run(discord_adapter.on_edit(edited, db=db, scope=scope)).stored
    assert asyncio.run(discord_adapter.on_edit(edited, db=db, scope=scope)).reason == "unchanged"
    assert [line["text"] for line in load_chat_history("discord/20/30", db=db, scope=scope)] == ["I like oolong"]
    bare = world.message("", room, number=1600, attachments=[{"id": "4", "filename": "tea.png", "size": 9, "url": "u",
                         "proxy_url": "u"}])  # fmt: skip
    assert asyncio.run(discord_adapter.on_edit(bare, db=db, scope=scope)).stored
    assert [line["text"] for line in load_chat_history("discord/20/30", db=db, scope=scope)] == ["[Attached: tea.png]"]
    assert asyncio.run(discord_adapter.on_delete(edited, db=db, scope=scope)).stored
    assert asyncio.run(discord_adapter.on_delete(edited, db=db, scope=scope)).reason == "not_found"
    assert load_chat_history("discord/20/30", db=db, scope=scope) == []


# Telegram


def telegram(text: str | None = "hi", kind: str = "message", **more: Any) -> Update:
    message = {"message_id": 5, "date": 1_773_144_000, "chat": {"id": 7, "type": "private", "first_name": "Ann"},
               "from": PEOPLE, **({} if text is None else {"text": text}), **more}  # fmt: skip
    made = Update.de_json({"update_id": 1, kind: message}, None)
    assert made is not None
    return made


def test_r33_a_telegram_update_says_where_and_how_private(db: Database) -> None:
    cases = [telegram(), telegram(chat=GROUP), telegram(chat=GROUP, message_thread_id=3, is_topic_message=True),
             telegram(chat=GROUP, message_thread_id=3)]  # fmt: skip
    read = [IncomingMessage.read(telegram_adapter.message_of(each), now=db.clock()) for each in cases]
    assert [(each.interface_path, each.server_id, each.is_private, each.sender.id, each.notes) for each in read] == [
        ("telegram/7", "", True, "7", ()), ("telegram/-100", "-100", False, "7", ()),
        ("telegram/-100/3", "-100", False, "7", ()), ("telegram/-100", "-100", False, "7", ()),
    ]  # fmt: skip
    assert (read[0].sender.name, read[0].sender.username) == ("Ann Lee", "ann")


def test_r33_a_telegram_update_brings_captions_replies_quotes_and_media() -> None:
    photo = [{"file_id": "s", "file_unique_id": "s", "width": 1, "height": 1},
             {"file_id": "l", "file_unique_id": "l", "width": 9, "height": 8}]  # fmt: skip
    quoted = {"message_id": 4, "date": 1_773_143_000, "chat": GROUP, "from": {**PEOPLE, "id": 8, "first_name": "Bea"},
              "text": "green or black?"}  # fmt: skip
    more = {"reply_to_message": quoted, "quote": {"text": "green", "position": 0}}
    made = telegram_adapter.message_of(telegram(None, chat=GROUP, caption="this one", photo=photo, **more))
    assert (made["text"], made["chat"]["title"]) == ("this one", "Tea")
    assert made["attachments"] == [{"type": "photo", "file_id": "l", "width": 9, "height": 8}]
    assert made["reply_to_message"]["text"] == "green" and made["reply_to_message"]["from_user"]["id"] == "8"
    opened = {**quoted, "forum_topic_created": {"name": "t", "icon_color": 1}}
    assert "reply_to_message" not in telegram_adapter.message_of(telegram(chat=GROUP, reply_to_message=opened))
    post = Update.de_json({"update_id": 1, "channel_post": {"message_id": 5, "date": 1_773_144_000, "text": "news",
                           "chat": {"id": -5, "type": "channel", "title": "News"}}}, None)  # fmt: skip
    assert telegram_adapter.message_of(post)["from_user"] == {"id": "-5", "username": "", "full_name": "News"}
    with pytest.raises(MessageError, match="holds no message"):
        telegram_adapter.message_of(Update(1))


def test_r33_an_edit_on_telegram_reaches_the_line(db: Database, persona: str) -> None:
    scope = Scope(persona)
    save_message(telegram_adapter.message_of(telegram("oolng")), db=db, scope=scope)
    edited = telegram("oolong", "edited_message", edit_date=1_773_144_100)
    assert asyncio.run(telegram_adapter.on_edit(edited, db=db, scope=scope)).stored
    assert [line["text"] for line in load_chat_history("telegram/7", db=db, scope=scope)] == ["oolong"]
    photo = [{"file_id": "l", "file_unique_id": "l", "width": 9, "height": 8}]
    for caption, text in (({"caption": "cold"}, "cold"), ({}, "[Attached: photo]")):
        edited = telegram(None, "edited_message", edit_date=1_773_144_100, photo=photo, **caption)
        assert asyncio.run(telegram_adapter.on_edit(edited, db=db, scope=scope)).stored
        assert [line["text"] for line in load_chat_history("telegram/7", db=db, scope=scope)] == [text]
