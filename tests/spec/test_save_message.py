"""P70: an incoming message is stored with everything in it, by one call that takes what `build_json_prompt` takes."""

from __future__ import annotations

from typing import Any

import pytest

from core.chat_history_cache import load_chat_history, save_chat_message, save_message
from core.config import Settings
from core.database.engine import Database
from core.errors import MessageError
from core.prompt_engine import build_json_prompt
from tests.spec.stage import Stage, message


@pytest.fixture
def by(db: Database) -> dict[str, Any]:
    return {"db": db, "settings": Settings()}


def said(number: int, text: str, **more: Any) -> dict[str, Any]:
    return {
        "message_id": str(number),
        "date": f"2026-03-10T11:{number:02}:00Z",
        "text": text,
        "interface_path": "discord/7",
        "from_user": {"id": "ann", "full_name": "Ann", "username": "ann"},
        **more,
    }


def test_p70_replies_stand_in_the_history(db: Database) -> None:
    by: dict[str, Any] = {"db": db, "settings": Settings(chat_history=60)}
    quoted = {"text": "Who feeds the cat?", "from_user": {"username": "bob"}, "date": "2026-03-10T10:00:00Z"}
    for number in range(57):
        stored = save_message(said(number, f"I do, on day {number}", reply_to_message=quoted), **by)
        assert stored.stored and stored.id
    assert save_message(said(3, "I do, on day 3"), **by).reason == "duplicate"
    lines = load_chat_history("discord/7", 60, **by)
    assert [line["sender_name"] for line in lines] == ["Ann"] * 57
    by["settings"] = Settings(chat_history=60, history_lines=60)
    prompt = build_json_prompt(said(58, "and now?"), **by)
    shown = [line for line in prompt["context"]["history_current_chat"] if "replied to" in line]
    assert shown and all("bob" in line and "Who feeds the cat?" in line for line in shown)
    assert len(shown) == len(prompt["context"]["history_current_chat"]) == 57


def test_p70_who_is_quoted_and_what_cannot_be_read(by: dict[str, Any]) -> None:
    quoted = {"text": "Lunch?", "from_user": {"id": "9", "full_name": "Bob B"}}
    stored = save_message(said(1, "Yes", reply_to_message=quoted, is_private="true", interface_path="discord/8"), **by)
    assert stored.stored and any("is_private" in note for note in stored.notes)
    prompt = build_json_prompt(said(2, "and now?", interface_path="discord/8"), **by)
    assert 'Bob B: "Lunch?"' in prompt["context"]["history_current_chat"][0]


def test_p70_a_reply_that_names_an_id_alone_quotes_the_line_stored_under_it(by: dict[str, Any]) -> None:
    """Some platforms tell the id of the answered message and no more; a message nobody stored stays without words."""
    here = {"interface_path": "discord/21"}
    save_message(said(1, "Who feeds the cat?", **here), **by)
    save_message(said(2, "I do", reply_to_message={"message_id": 1}, **here), **by)
    save_message(said(3, "Me too", reply_to_message={"message_id": "77"}, **here), **by)
    save_message(said(4, "Nice", reply_to_message={"message_id": "1", "caption": "a cat"}, **here), **by)
    lines = load_chat_history("discord/21", **by)
    quoted = [line["metadata"]["reply_to"] for line in lines[1:]]
    named = [(each["username"], each["text"]) for each in quoted]
    assert named == [("Ann", "Who feeds the cat?"), ("", "[Non-text content]"), ("", "a cat")]


def test_p70_a_message_is_seen_where_it_was_said(by: dict[str, Any]) -> None:
    save_message(said(1, "my secret is Tofu", is_private=True, interface_path="discord/ann"), **by)
    elsewhere = build_json_prompt(said(2, "what is the secret, Tofu?"), **by)
    assert "my secret" not in str(elsewhere["context"])
    there = build_json_prompt(said(2, "what is the secret?", is_private=True, interface_path="discord/ann"), **by)
    assert "my secret" in str(there["context"])


def test_p70_a_message_of_attachments_alone_is_a_line_and_one_of_no_conversation_is_none(by: dict[str, Any]) -> None:
    picture = said(1, "", interface_path="discord/pictures", attachments=[{"filename": "cat.png"}])
    assert save_message(picture, **by).stored
    assert [line["text"] for line in load_chat_history("discord/pictures", **by)] == ["[Attached: cat.png]"]
    assert save_message(said(2, " "), **by).reason == "empty"
    with pytest.raises(MessageError, match="interface_path"):
        save_message({"message_id": "1", "date": None, "text": "hi"}, **by)


def test_p70_a_reply_is_kept_by_the_id_of_what_it_answers_or_by_its_text(by: dict[str, Any]) -> None:
    save_chat_message("discord/9", "Who feeds the cat?", "Bob", "bob", message_id="b1", **by)
    save_chat_message("discord/9", "I do", "Ann", "ann", reply_to="b1", metadata={"a": 1}, **by)
    save_chat_message("discord/9", "Me too", "Cid", "cid", reply_to={"text": "I do", "username": "Ann"}, **by)
    save_chat_message("discord/9", "Fine", "Dan", "dan", reply_to=404, **by)
    asked = said(9, "and now?", interface_path="discord/9")
    prompt = build_json_prompt(asked, **by)
    lines = prompt["context"]["history_current_chat"]
    assert '[replied to Bob: "Who feeds the cat?"]: "I do"' in lines[1]
    assert '[replied to Ann: "I do"]: "Me too"' in lines[2]
    for wrong in (1.5, True, ["b1"]):
        with pytest.raises(MessageError) as refused:
            save_chat_message("discord/9", "x", "Ann", "ann", reply_to=wrong, **by)
        assert refused.value.fields == ("reply_to",)


GREETED = "discord/c5"


def greet(stage: Stage, **fields: Any) -> None:
    saved = save_chat_message(GREETED, "zebra greeting", "Iris", "self", **stage.asking(**fields))  # fmt: skip
    assert saved.stored


def greeting_seen(stage: Stage, path: str = "discord/c6", **fields: Any) -> bool:
    return "zebra greeting" in str(stage.context("zebra", path=path, **fields))


@pytest.mark.parametrize("fields", [{}, {"privacy": "direct"}, {"server": "DM"}, {"conversation": GREETED}], ids=str)
def test_a_greeting_in_a_new_direct_chat_is_never_seen_elsewhere(stage: Stage, fields: dict[str, Any]) -> None:
    """Nobody has said yet whose chat it is: until then it is seen there alone."""
    greet(stage, **fields)
    assert not greeting_seen(stage)
    asked = message("zebra hello", GREETED, is_private=True, message_id="m1")
    assert save_message(asked, interface_name="discord", db=stage.db, scope=stage.scope()).stored
    assert not greeting_seen(stage) and not greeting_seen(stage, "discord/bob", who="Bob", is_private=True)
    assert greeting_seen(stage, GREETED, is_private=True)
    assert greeting_seen(stage, "discord/ann", is_private=True), "a direct message of the same person"


@pytest.mark.parametrize("path", [GREETED, f"{GREETED}/t1"])
def test_a_greeting_in_a_group_is_seen_once_somebody_spoke_there(stage: Stage, path: str) -> None:
    greet(stage)
    if path != GREETED:
        assert save_chat_message(path, "zebra thread", "Iris", "self", db=stage.db, scope=stage.scope()).stored
        assert "zebra thread" not in str(stage.context("zebra", path="discord/c6"))
    assert not greeting_seen(stage)
    for where in {path, GREETED}:
        asked = message("zebra hello", where, chat={"id": "c5", "type": "group"}, message_id=where)
        assert save_message(asked, interface_name="discord", db=stage.db, scope=stage.scope()).stored
    assert greeting_seen(stage)
    assert path == GREETED or "zebra thread" in str(stage.context("zebra", path="discord/c6"))
