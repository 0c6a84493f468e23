"""Chats of SillyTavern into the database and out again, with everything in them (S48)."""

import io
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import update

from core import stories
from core.chat_history_cache import edit_chat_message, save_chat_message
from core.config import Settings
from core.database import schema
from core.database.engine import Database
from core.database.schema import chat_history_cache, conversations, message_recaps
from core.errors import StoreWriteError, TransferError
from core.messages.table_hidden import AT_SOURCE, BY_SCENES
from core.prompt_engine import build_json_prompt
from core.scope import Scope
from core.stories import table_imported as beside
from core.transfer.exports import export_chat
from core.transfer.imports import ImportResult, import_file
from tests.store.world import count, index_differences, messages_of, own_scope, rows_of
from tests.unit.transfer import tavern_world as world

CHAT = "import/tavern_chat"
RUNNING = "auto_recap_running_scene_recaps"


def _import(db: Database, scope: Scope, path: Path, **options: Any) -> ImportResult:
    return import_file(path, db=db, scope=scope, **options)


def _export(db: Database, scope: Scope, conversation: str, **options: Any) -> bytes:
    out = io.BytesIO()
    export_chat(out, conversation=conversation, db=db, scope=scope, **options)
    return out.getvalue()


def _lines(data: bytes) -> list[Any]:
    return [json.loads(line) for line in data.decode().split("\n")]


def _file(path: Path, values: list[Any]) -> Path:
    path.write_bytes("\n".join(v if isinstance(v, str) else world.dump(v) for v in values).encode())
    return path


def test_s28_a_version_of_a_file_that_was_deleted_here_is_not_current(db: Database, tmp_path: Path) -> None:
    scope = own_scope()
    here: dict[str, Any] = {"db": db, "scope": replace(scope, conversation="import/c")}
    for count_of in (2, 3):
        recap = {"current_version": 1, "versions": world.versions_of([*range(count_of)])}
        header = {"user_name": "Ann", "character_name": "Iris", "chat_metadata": {RUNNING: recap}}
        _import(db, scope, _file(tmp_path / "c.jsonl", [header, _say(0)]))
        stories.delete_running_recap_version(1, **here)
    assert stories.get_running_recap_storage(**here)["current_version"] == 2


def _say(n: int, **fields: Any) -> dict[str, Any]:
    said = {"name": "Iris" if n % 2 else "Ann", "is_user": n % 2 == 0, "is_system": False, "mes": f"line {n}"}
    return {**said, "send_date": f"2025-01-01T{n // 60 % 24:02}:{n % 60:02}:00.000Z", "extra": {}, **fields}


def test_s48_the_sample_comes_in_with_everything_and_goes_out_as_it_was(db: Database) -> None:
    scope, persona = (made := own_scope()), made.persona
    first = _import(db, scope, world.SAMPLE)
    assert (first.imported, first.skipped, first.error_count) == (12, 2, 0)
    assert first.story == {"alternatives": 5, "recaps": 5, "scenes": 2, "running_recaps": 2}
    assert (first.first, first.last) == ("2025-11-02T18:04:00+00:00", "2025-11-02T18:30:00+00:00")
    out = _export(db, scope, CHAT)
    assert out == world.SAMPLE.read_bytes()
    again = _import(db, scope, world.SAMPLE)
    assert (again.imported, again.duplicates, again.story) == (0, 12, {}) and _export(db, scope, CHAT) == out
    held = {"message_alternatives": 5, "scenes": 2, "scene_recaps": 3, "running_recaps": 2}
    assert {name: count(db, schema.TABLES[name], persona) for name in held} == held
    assert [(r.alternative, r.provenance) for r in rows_of(db, message_recaps, persona)].count((-1, "import")) == 5
    assert index_differences(db, persona) == []


def test_s48_a_chat_that_another_program_wrote_goes_out_as_sillytavern_writes(db: Database, tmp_path: Path) -> None:
    values = [{"user_name": "Ann", "character_name": "Iris", "chat_metadata": {"n": 1.0}},
              {**_say(1), "mes": "Caf\u00e9, <think>hm</think>now"}, {"mes": "", "name": "Ann"},
              {**_say(2), "swipes": ["a", "b\u00e9"], "swipe_id": 0, "mes": "a"}]  # fmt: skip
    path = tmp_path / "chat.jsonl"
    path.write_text("\n".join(map(json.dumps, values)), encoding="utf-8")
    scope = own_scope()
    assert _export(db, scope, _import(db, scope, path).conversations[0]).decode() == "\n".join(map(world.dump, values))


def test_s48_what_came_in_is_what_the_doors_give(db: Database, scope: Scope) -> None:
    _import(db, scope, world.SAMPLE)
    here: dict[str, Any] = {"db": db, "scope": replace(scope, conversation=CHAT)}
    rows = {row.message_text: row for row in messages_of(db, scope.persona)}
    roles = "persona user persona user narrator thought user persona user persona user persona"
    assert [row.role for row in messages_of(db, scope.persona)] == roles.split()
    greeting, asked = rows["The lamp turns. “You came,” Iris says."], rows["Then lift it."]
    assert [one["is_current"] for one in stories.list_alternatives(greeting.id, **here)] == [False, True, False]
    stories.choose_alternative(greeting.id, 0, **here)
    assert stories.get_memory(greeting.id, **here) == "Iris waves."
    stories.choose_alternative(greeting.id, 1, **here)
    assert stories.get_memory(greeting.id, **here) == "Iris greets Ann at the lighthouse."
    persona = [row for row in messages_of(db, scope.persona) if row.role == "persona"]
    moved = next(row for row in persona if row.message_text.startswith("Moved"))
    stories.choose_alternative(moved.id, 1, **here)  # the file has no copy beside number 0
    assert stories.get_memory(moved.id, **here) is None
    stories.choose_alternative(moved.id, 0, **here)
    assert stories.get_memory(moved.id, **here) == "Iris moves up."
    found = stories.get_data(asked.id, **here)
    assert (found["edited"], found["scene_break_name"], found["provenance"]) == (True, "The lighthouse", "import")
    assert found["scene_recap_versions"][1] == found["scene_recap_memory"]
    assert (found["scene_recap_current_index"], found["scene_recap_metadata"]["model"]) == (1, "local-8b")
    assert [(s["last_index"], s["visible"]) for s in stories.list_scenes(CHAT, **here)] == [(3, True), (7, False)]
    storage = stories.get_running_recap_storage(CHAT, **here)
    told = [(v["version"], v["timestamp"], v["new_scene_index"]) for v in storage["versions"]]
    assert (storage["current_version"], told) == (1, [(0, 1762107000123, 3), (1, 1762110600456, 7)])
    added = stories.add_running_recap_version("They sleep; the storm is over by morning.", conversation=CHAT, **here)
    assert added == 2
    assert (rows["What about the keeper?"].hidden, rows["He sleeps. 灯台 — אור — 👩‍🚀"].excluded) == (AT_SOURCE, 1)


def test_s48_what_was_hidden_by_hand_stays_so_through_every_change(db: Database, tmp_path: Path) -> None:
    scope, alternatives = own_scope(), {"swipes": ["line 3", "another 3"], "swipe_id": 0}
    lines = [{"user_name": "Ann", "character_name": "Iris"}, *map(_say, range(6))]
    lines[2]["is_system"], lines[4] = True, {**lines[4], **alternatives}
    _import(db, scope, _file(tmp_path / "by_hand.jsonl", lines))
    rows, chat = [row.id for row in messages_of(db, scope.persona)], "import/by_hand"
    here: dict[str, Any] = {"db": db, "scope": replace(scope, conversation=chat)}
    asked = {"message_id": "now", "text": "And then?", "interface_path": chat, "from_user": {"id": "Ann"}}

    def history() -> str:
        return json.dumps(build_json_prompt(asked, **here)["context"])

    assert "line 0" in history()
    for change in (
        lambda: stories.choose_alternative(rows[3], 1, **here),
        lambda: stories.set_data(rows[4], "exclude", True, **here),
        lambda: edit_chat_message(rows[1], "line 1", **here),
        lambda: edit_chat_message(rows[4], "other line 4", **here),
        lambda: stories.add_scene_break(rows[0], **here),
        lambda: stories.add_scene_break(rows[2], **here),
        lambda: stories.edit_scene_break(rows[2], visible=False, **here),
        lambda: stories.remove_scene_break(rows[2], **here),
        lambda: stories.remove_scene_break(rows[0], **here),
        lambda: stories.refresh_memory(chat, **here),
    ):
        change()
        said = history()
        assert "line 1" not in said and "line 5" in said
        assert next(row for row in messages_of(db, scope.persona) if row.id == rows[1]).hidden == AT_SOURCE
    assert "line 0" in said and "another 3" in said
    assert stories.auto_hide_plan(1, chat, **here) == {"hide": [], "show": []}


@pytest.mark.parametrize(("kind", "shown"), [
    ({"name": "System"}, {"name": "System", "is_system": True, "extra": {"type": "narrator"}}),
    ({"name": "Note", "extra": {"type": "comment"}}, {"name": "Note", "extra": {"type": "comment"}}),
], ids=["notice", "comment"])  # fmt: skip
def test_s48_notices_and_comments_are_in_the_file_alone(db: Database, tmp_path: Path, kind: Any, shown: Any) -> None:
    """SillyTavern sends neither to a model, and their author is no character; what it shows is a line like others."""
    scope, hidden = own_scope(), {**kind, "is_user": False, "is_system": True, "mes": "Chat was renamed."}
    seen = {**_say(3), **shown, "mes": "Night falls."}
    lines = [_say(0), {**_say(1), **hidden}, _say(2), seen, {**_say(4), **hidden}]
    file = _file(tmp_path / "noted.jsonl", [{"user_name": "Ann", "character_name": "Iris"}, *lines])
    done = _import(db, scope, file)
    assert done.left_out == {"notices and comments of SillyTavern": 2}
    assert not any("characters" in note for note in done.notes)
    assert [row.message_text for row in messages_of(db, scope.persona)] == ["line 0", "line 2", "Night falls."]
    assert _export(db, scope, "import/noted") == file.read_bytes()


def test_s48_what_the_scenes_of_the_file_hid_is_shown_again_by_them(db: Database, scope: Scope, tmp_path: Path) -> None:
    ends = {"extra": {"auto_recap": {"scene_break": True, "scene_break_visible": True}}}
    lines = [{"user_name": "Ann", "character_name": "Iris"}, *map(_say, range(6))]
    lines[2] |= ends
    for at in (1, 2, 4):
        lines[at]["is_system"] = True
    _import(db, scope, _file(tmp_path / "by_scenes.jsonl", lines))
    assert [row.hidden for row in messages_of(db, scope.persona)] == [BY_SCENES, BY_SCENES, 0, AT_SOURCE, 0, 0]
    for scenes, shown in ((1, []), (2, [(0, 1)])):
        plan = stories.auto_hide_plan(scenes, "import/by_scenes", db=db, scope=scope)
        assert plan == {"hide": [], "show": shown}


def test_s48_what_is_not_known_has_no_effect(db: Database, scope: Scope, tmp_path: Path) -> None:
    """Fields named like ours are kept and are nothing but text: no other persona, nothing hidden, no program's own."""
    _import(db, scope, world.SAMPLE)
    (row,) = [row for row in messages_of(db, scope.persona) if row.message_text.startswith("He sleeps")]
    assert (row.persona_id, row.role, row.hidden) == (scope.persona, "persona", 0)
    assert list(json.loads(row.metadata)) == ["sillytavern", "sillytavern_digest", "sillytavern_before"]
    assert rows_of(db, chat_history_cache, "mallory") == []
    message = {"message_id": "1", "date": "2025-11-03T00:00:00Z", "text": "Where is the map?", "interface_path": CHAT}
    assert "mallory" not in json.dumps(build_json_prompt(message, db=db, scope=replace(scope, conversation=CHAT)))
    hostile = '"z":"\\ud800 \\u0000 é","y":[18446744073709551616,-0.0,1e+300],"metadata":{"b":1,"a":2}'
    line = f'{world.dump(_say(0))[:-1]},{hostile},"x":{"[" * 90}{"]" * 90}}}'
    path = _file(tmp_path / "h.jsonl", ['{"chat_metadata":{"q":"\\udfff"}}', line])
    assert _import(db, scope, path).imported == 1 and _export(db, scope, "import/h") == path.read_bytes()


def test_s48_a_broken_line_is_reported_and_the_others_are_taken(db: Database, scope: Scope, tmp_path: Path) -> None:
    storage = {"chat_id": "c", "current_version": 0, "versions": world.versions_of([0])}
    storage["versions"][0] |= {"prev_scene_index": 40, "new_scene_index": 50}
    breaks = {50: {"auto_recap": {"scene_break": True, "scene_recap_memory": "So far."}}}
    values = [_say(n, extra=breaks.get(n, {})) for n in range(100)]
    whole = [world.dump(value) for value in values]
    path = _file(tmp_path / "c.jsonl", [*whole[:6], whole[6][:40], *whole[7:]])
    first, second = _import(db, scope, path), _import(db, scope, path)
    assert (first.imported, [problem.row for problem in first.errors]) == (99, [7])
    assert first.errors[0].reason.startswith("not JSON: ")
    assert (second.imported, second.duplicates, len(messages_of(db, scope.persona))) == (0, 99, 99)
    told = _lines(_export(db, scope, "import/c"))
    assert told[1:] == [value for n, value in enumerate(values) if n != 6]
    with_header = own_scope()
    path = _file(path, [{"chat_metadata": {RUNNING: storage}}, *whole[:6], whole[6][:40], *whole[7:]])
    _import(db, with_header, path)
    versions = stories.get_running_recap_versions("import/c", db=db, scope=with_header)
    scene = stories.list_scenes("import/c", db=db, scope=with_header)[0]
    told = versions[0]["prev_scene_index"], versions[0]["new_scene_index"], scene["last_index"]
    assert told == (39, 49, 49)
    header = _lines(_export(db, with_header, "import/c"))[0]
    assert header["chat_metadata"][RUNNING]["versions"][0]["new_scene_index"] == 49


def test_s48_the_order_is_that_of_the_file(db: Database, scope: Scope, tmp_path: Path) -> None:
    dates = ["June 19, 2023 4:13pm", "June 19, 2023 4:13pm", "", None, "June 18, 2023 4:13pm", "June 19, 2099 4:13pm",
             "June 19, 2023 4:13pm", "2023-06-19T16:15:00.000Z", "June 19, 2023 4:14pm", "1687191400000"]  # fmt: skip
    values = [_say(n, send_date=date, mes=("yes" if n in (0, 6) else f"line {n}")) for n, date in enumerate(dates)]
    path = _file(tmp_path / "c.jsonl", values[:5])
    _import(db, scope, path)
    _file(path, values)
    grown = _import(db, scope, path)
    assert (grown.imported, grown.duplicates) == (5, 5) and _lines(_export(db, scope, "import/c"))[1:] == values
    times = [row.timestamp for row in messages_of(db, scope.persona)]
    assert times == sorted(times) and times[-1].year == 2023
    assert any("does not fit their place" in note for note in grown.notes)
    path = _file(tmp_path / "d.jsonl", [_say(0, send_date="2024-05-05T05:05:05.000Z")])
    _import(db, scope, path)
    values = [json.loads(path.read_text()), *(_say(n) | {"send_date": f"2023-01-0{n}T00:00:00Z"} for n in range(1, 5))]
    _import(db, scope, _file(path, values))
    assert _lines(_export(db, scope, "import/d"))[1:] == values


def test_s48_what_is_done_here_stands_in_the_next_file(db: Database, scope: Scope, tmp_path: Path) -> None:
    _import(db, scope, world.SAMPLE)
    settings = Settings(auto_hide_scene_count=-1)
    here: dict[str, Any] = {"db": db, "scope": replace(scope, conversation=CHAT), "settings": settings}
    rows = {row.message_text: row.id for row in messages_of(db, scope.persona)}
    before = _lines(world.SAMPLE.read_bytes())
    edit_chat_message(rows["Under the third board."], "Under the fourth board.", **here)
    stories.add_alternative(rows["Good night."], "Sleep well.", **here)
    stories.choose_alternative(rows["Good night."], 1, **here)
    stories.set_data(rows["I did. Is the map still here?"], "memory", "Ann asks for the map.", **here)
    stories.set_data(rows["I did. Is the map still here?"], "exclude", True, **here)
    stories.set_data(rows["I did. Is the map still here?"], "include", "Recap of message(s)", **here)
    stories.delete_running_recap_version(0, conversation=CHAT, **here)
    after = _lines(_export(db, scope, CHAT))
    assert {at for at, (one, other) in enumerate(zip(before, after, strict=True)) if one != other} == {0, 2, 3, 14}
    assert [v["version"] for v in after[0]["chat_metadata"][RUNNING]["versions"]] == [1]
    recap = {"memory": "Ann asks for the map.", "include": "Recap of message(s)", "exclude": True}
    assert after[2]["extra"]["auto_recap"] == recap
    assert (after[3]["mes"], after[3]["swipes"]) == ("Under the fourth board.", ["Under the fourth board."])
    assert after[3]["extra"]["auto_recap"]["stale"] is True
    assert (after[3]["extra"]["api"], after[3]["gen_started"]) == ("openai", "2025-11-02T18:05:31.000Z")
    assert (after[14]["mes"], after[14]["swipe_id"]) == ("Sleep well.", 1)
    assert after[14]["swipes"] == ["Good night.", "Sleep well."]
    again = own_scope()
    _import(db, again, _file(tmp_path / "next.jsonl", after))
    assert _lines(_export(db, again, "import/next")) == after


def test_s48_a_conversation_of_our_own_goes_out_and_comes_back(db: Database, tmp_path: Path) -> None:
    scope = own_scope(conversation="web/7/2")
    here: dict[str, Any] = {"db": db, "scope": scope}
    texts = ["hi \ud800 \x00 there", "😀" * 250_000, '"}\n{"mes": "x"}', "\u2028 \x1b[31m", "plain"]
    ids: list[Any] = []
    for n, text in enumerate(texts):
        who = {"sender_name": "Ann", "sender_id": "7"} if n % 2 == 0 else {"sender_id": "self"}
        saved = save_chat_message("web/7/2", text, timestamp=f"2026-01-01T00:00:0{n}.00000{n}Z", **who, **here)  # type: ignore[arg-type]
        ids.append(saved.id)
    for role in ("system", "narrator", "thought"):
        save_chat_message("web/7/2", role, role=role, timestamp="2026-01-01T00:01:00Z", **here)
    stories.set_data(ids[0], "memory", "Ann greets.", **here)
    stories.add_alternative(ids[1], "another", **here)
    stories.set_data(ids[1], "memory", "Many faces.", **here)
    stories.add_scene_break(ids[2], name="one", **here)
    stories.set_scene_recap(ids[2], "They greet.", **here)
    stories.add_running_recap_version("So far.", 1, new_scene_index=2, **here)
    path = tmp_path / "own.jsonl"
    result = export_chat(path, **here)
    assert (result.messages, result.bytes, result.path) == (8, path.stat().st_size, str(path))
    told = _lines(path.read_bytes())
    assert list(told[0]) == ["user_name", "character_name", "create_date", "chat_metadata"]
    assert (told[0]["user_name"], told[0]["create_date"]) == ("Ann", "2026-01-01T00:00:00.000Z")
    assert [line["mes"] for line in told[1:6]] == ["hi \ufffd  there", *texts[1:]]
    assert told[2]["swipe_info"][0]["extra"]["auto_recap"]["memory"] == "Many faces."
    other = own_scope()
    assert _import(db, other, path).imported == 8 and _export(db, other, "import/own") == path.read_bytes()
    shown = [(r.role, r.hidden) for r in messages_of(db, other.persona)]
    assert shown == [(r.role, r.hidden) for r in messages_of(db, scope.persona)]


def test_s48_a_chat_that_comes_back_into_its_own_conversation_adds_nothing(db: Database, tmp_path: Path) -> None:
    scope, path = own_scope(conversation="web/7"), tmp_path / "own.jsonl"
    here: dict[str, Any] = {"db": db, "scope": scope}
    said = [("Tea?", "Ann", "7"), ("Tea?", "Jo", "8"), ("ok", "Ann", "7"), ("ok", "Ann", "7"), ("Yes", "Iris", "self")]
    for n, (text, name, sender) in enumerate(said):
        moment = f"2026-01-01T00:00:{n // 2 * 10:02d}.000123Z"
        save_chat_message("web/7", text, name, sender, moment, message_id=n or None, **here)
    assert _import(db, scope, _file(path, [_say(n, mes="ok") for n in (1, 2)]), conversation="web/7").imported == 2
    edit_chat_message(messages_of(db, scope.persona)[-1].id, "fine", **here)
    before = messages_of(db, scope.persona)
    export_chat(path, overwrite=True, **here)
    result = _import(db, scope, path, conversation="web/7")
    assert (result.imported, result.edited, result.duplicates) == (0, 0, 7) and messages_of(db, scope.persona) == before
    _file(path, [*path.read_text().split("\n"), _say(1, mes="ok", send_date="2026-01-01T00:00:10.000123Z")])
    assert _import(db, scope, path, conversation="web/7").imported == 1, "a third line of these words is new"


def test_s48_the_user_of_a_group_is_no_other_character(db: Database, tmp_path: Path) -> None:
    """Where no person speaks, or later than the characters; the file has no header that names them."""
    lines = [_say(n, name=name, is_user=name == "Ann") for n, name in enumerate(("Iris", "Bran", "Iris", "Ann"))]
    for spoken, user in ((lines[:3], "User"), (lines, "Ann")):
        scope = own_scope()
        _import(db, scope, _file(tmp_path / "group.jsonl", spoken), persona="Iris")
        header = _lines(_export(db, scope, "import/group"))[0]
        assert (header["user_name"], header["character_name"]) == (user, "Iris")


def test_s48_a_scope_that_does_not_see_a_conversation_exports_nothing(db: Database, tmp_path: Path) -> None:
    """F12, F18: not another persona, not from a conversation that does not see it; and no file is left behind."""
    scope, path = own_scope(), tmp_path / "out.jsonl"
    _import(db, scope, _file(tmp_path / "c.jsonl", [_say(n) for n in range(3)]), private=True)
    for other in (own_scope(), replace(scope, conversation="import/other", participant="import/Bob")):
        with pytest.raises(TransferError, match="no conversation 'import/c' that this scope sees"):
            export_chat(path, conversation="import/c", db=db, scope=other)
    assert [each.name for each in tmp_path.iterdir()] == ["c.jsonl"]
    assert len(_lines(_export(db, scope, "import/c"))) == 4
    mine = conversations.c.persona_id == scope.persona
    db.transaction(lambda c: c.execute(update(conversations).where(mine).values(local_only=1)), source="conversations")
    with pytest.raises(TransferError, match=r"that this scope sees.*--persona-id, --server.*--local"):
        _export(db, scope, "import/c")
    assert len(_lines(_export(db, replace(scope, destination="local"), "import/c"))) == 4


@pytest.mark.engines("sqlite")
def test_g16_a_failure_stores_none_of_its_batch(db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scope = own_scope()
    values = [_say(n, extra={"auto_recap": {"memory": f"m{n}"}}) for n in range(600)]
    for value in values[50:400]:
        value["send_date"] = values[400]["send_date"]  # pages of an export end among messages of one time
    path = _file(tmp_path / "c.jsonl", [{"chat_metadata": {"a": 1}}, *values])
    insert, calls = beside.insert_beside, []

    def failing(*arguments: Any) -> None:
        insert(*arguments)
        calls.append(1)
        if len(calls) == 2:
            raise StoreWriteError("message_recaps could not be written.", source="message_recaps")

    with monkeypatch.context() as patched:
        patched.setattr(beside, "insert_beside", failing)
        with pytest.raises(TransferError, match="All messages up to row 501 are stored"):
            _import(db, scope, path)
    assert count(db, chat_history_cache, scope.persona) == count(db, message_recaps, scope.persona) == 500
    assert rows_of(db, conversations, scope.persona)[0].metadata is None
    assert _import(db, scope, path).imported == 100 and _export(db, scope, "import/c") == path.read_bytes()


@pytest.mark.posix
@pytest.mark.engines("sqlite")
def test_s48_a_file_that_cannot_be_written_leaves_the_old_one(db: Database, tmp_path: Path) -> None:
    scope, path = own_scope(), tmp_path / "out.jsonl"
    _import(db, scope, world.SAMPLE)
    here: dict[str, Any] = {"conversation": CHAT, "db": db, "scope": scope}
    path.write_text("old")
    path.chmod(0o640)
    with pytest.raises(TransferError, match="is there already"):
        export_chat(path, overwrite=False, **here)
    with pytest.raises(KeyboardInterrupt):
        export_chat(path, progress=Mock(side_effect=KeyboardInterrupt), **here)
    assert (path.read_text(), len(list(tmp_path.iterdir()))) == ("old", 1)
    unusable = {tmp_path: "is a folder", tmp_path / "no" / "x": "cannot be written", path / "x": "cannot be"}
    for wrong, said in unusable.items():
        with pytest.raises(TransferError, match=said):
            export_chat(wrong, **here)
    export_chat(str(path), **here)
    assert path.read_bytes() == world.SAMPLE.read_bytes() and path.stat().st_mode & 0o777 == 0o640
    export_chat(tmp_path / "new", **here)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o600 or os.name == "nt"


@pytest.mark.engines("sqlite")
@settings(max_examples=15, deadline=None)
@given(st.lists(world.lines(), max_size=8), st.lists(st.integers(0, 9), max_size=3, unique=True), world.PLAIN_JSON)
def test_s48_any_chat_goes_in_and_out(db: Database, tmp_path_factory: Any, lines: Any, numbers: Any, more: Any) -> None:
    scope, folder = own_scope(), tmp_path_factory.mktemp("chat")
    storage = {"chat_id": "x", "current_version": max(numbers, default=0), "versions": world.versions_of(numbers)}
    header = {"user_name": "unused", "character_name": "unused", "chat_metadata": {RUNNING: storage, "more": more}}
    # the newest scenes of these versions lie behind the last message, or the file would say other indexes again
    for version in storage["versions"]:
        version["new_scene_index"] = version["prev_scene_index"] = -1
    path = _file(folder / "c.jsonl", [header, *lines])
    assert _import(db, scope, path).imported == len(lines)
    assert not lines or _export(db, scope, "import/c") == path.read_bytes()
