"""Exports of other programs into the chat history (R21 to R27): what comes in, how often, whose it is, who sees it."""

import copy
import json
import os
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from core import Scope, build_json_prompt, search_memories, use_scope
from core.chat_history_cache import edit_chat_message, save_chat_message
from core.config import Settings
from core.database.engine import Database
from core.database.rows import read_object
from core.database.schema import audiences, chat_history_cache, conversations, memories, message_alternatives
from core.errors import TransferError
from core.privacy import set_conversation_privacy, set_privacy
from core.stories import refresh_memory
from core.transfer.imports import ImportResult, import_file
from tests.store.world import count, index_differences, messages_of, own_scope, rows_of

DEFAULTS = Settings()
SAMPLES = Path(__file__).parents[1] / "samples" / "exports"
CALL = '<tool_call>{"name": "f"}</tool_call>'
HEADER = {"user_name": "Ann", "character_name": "Iris", "chat_metadata": {}}


def _import(db: Database, scope: Scope, path: Path, **options: Any) -> ImportResult:
    return import_file(path, db=db, scope=scope, settings=DEFAULTS, **options)


def _import_new(db: Database, path: Path, **options: Any) -> tuple[Scope, ImportResult]:
    scope = own_scope()
    return scope, _import(db, scope, path, **options)


def _rows(db: Database, scope: Scope, conversation: str | None = None) -> list[Any]:
    return [row for row in messages_of(db, scope.persona) if conversation in (None, row.interface_path)]


def _texts(db: Database, scope: Scope, conversation: str | None = None) -> list[str]:
    return [row.message_text for row in _rows(db, scope, conversation) if row.role != "system"]


def _facts(row: Any) -> dict[str, Any]:
    return dict(read_object(row.metadata) or {})


def _audience(db: Database, scope: Scope, key: str) -> tuple[str, str, str]:
    (place,) = [row for row in rows_of(db, conversations, scope.persona) if row.conversation_key == key]
    (found,) = [row for row in rows_of(db, audiences, scope.persona) if row.audience_id == place.audience_id]
    return found.kind, found.server_id, found.ref


def _zip(path: Path, files: Mapping[str, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def _zip_folder(path: Path, source: Path) -> Path:
    files = [file for file in sorted(source.rglob("*")) if file.is_file()]
    return _zip(path, {file.relative_to(source).as_posix(): file.read_bytes() for file in files})


def _changed(folder: Path, name: str, change: Callable[[Any], None]) -> Path:
    value = json.loads((SAMPLES / name).read_text(encoding="utf-8"))
    change(value)
    path = folder / Path(name).name
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


EXPECTED: dict[str, Any] = {
    "chatgpt": (6, 0, 0, {"chatgpt/conv-1", "chatgpt/conv-2"}, {"User": 3, "ChatGPT": 3}),
    "claude": (4, 0, 3, {"claude/k-1"}, {"Ann Example": 2, "Claude": 2}),
    "discord": (7, 1, 0, {"discord/601", "discord/701", "discord/701/801"}, None),
    "openwebui": (2, 0, 0, {"openwebui/w-1"}, {"User": 1, "m1": 1}),
    "slack": (6, 1, 0, {"slack/C1", "slack/C1/1748772000.000100", "slack/D1", "slack/G1"}, None),
    "telegram": (4, 1, 0, {"telegram/-1001500", "telegram/12"}, None),
    "whatsapp": (8, 2, 0, {"whatsapp/Ann", "whatsapp/ios"}, None),
    "meta": (2, 0, 0, {"meta/inbox_ann_12"}, {"Ann Müller": 1, "Bob": 1}),
    "googlechat": (2, 0, 0, {"googlechat/Space 1"}, {"Ann": 1, "Bob": 1}),
    "sharegpt": (4, 0, 0, {"sharegpt/s1", "sharegpt/s2"}, {"User": 2, "Assistant": 2}),
    "openai": (2, 0, 0, None, {"User": 1, "Assistant": 1}),
    "letta": (2, 0, 1, {"letta/iris"}, {"User": 1, "Assistant": 1}),
    "signal": (2, 0, 0, {"signal/Ann"}, {"Ann": 1, "Me": 1}),
    "risuai": (2, 0, 0, {"risuai/Tea house"}, {"Assistant": 1, "User": 1}),
    "table": (2, 0, 0, {"table/kitchen"}, {"Ann": 1, "Bob": 1}),
    "characterai": (4, 0, 0, {"characterai/h1", "characterai/h2"}, {"Iris": 2, "Ann": 2}),
    "oobabooga": (3, 0, 0, None, {"Assistant": 2, "User": 1}),
    "gemini": (2, 0, 0, {"gemini/gemini"}, {"User": 1, "Assistant": 1}),
    "librechat": (2, 0, 0, {"librechat/l-1"}, None),
    "llamacpp": (2, 0, 0, {"llamacpp/p-1"}, None),
}
"""Messages, lines of the program, memories, conversations (None where a file gives its name), lines of speakers."""


@pytest.mark.parametrize("form", ["folder", "zip"])
@pytest.mark.parametrize("name", EXPECTED)
def test_r21_r22_every_format_is_found_and_comes_in_once(db: Database, tmp_path: Path, name: str, form: str) -> None:
    scope, path = own_scope(), SAMPLES / name
    path = _zip_folder(tmp_path / "anything.zip", path) if form == "zip" else path
    messages, service, items, keys, speakers = EXPECTED[name]
    looked = _import(db, scope, path, dry_run=True)
    assert (looked.format, looked.could_import, looked.service, looked.memories) == (name, messages, service, items)
    assert speakers in (None, looked.speakers) and keys in (None, set(looked.conversations))
    assert count(db, chat_history_cache, scope.persona) == 0
    done = _import(db, scope, path)
    assert (done.imported, done.service, done.memories) == (messages, service, items)
    assert done.edited == done.duplicates == 0
    assert all(getattr(looked, name) == getattr(done, name) for name in ("participants", "private_count", "notes"))
    assert {row.interface_path for row in _rows(db, scope)} == set(looked.conversations)
    assert index_differences(db, scope.persona) == []
    before, items = _rows(db, scope), count(db, memories, scope.persona)
    assert len(before) == messages + service
    again = _import(db, scope, path)
    assert (again.imported, again.edited, again.memories, again.service, again.duplicates) == (0, 0, 0, 0, messages)
    assert _rows(db, scope) == before and count(db, memories, scope.persona) == items


def test_r21_signal_comes_from_the_json_of_signal_export(db: Database) -> None:
    """The same chat lies beside it as Markdown, which is not read."""
    scope, done = _import_new(db, SAMPLES / "signal")
    texts = {row.message_text: _facts(row) for row in _rows(db, scope)}
    assert done.left_out == {"deleted there": 1} and set(texts) == {"The beans grow", "Good.\nWater them."}
    assert texts["The beans grow"]["reactions"] == [{"emoji": "🌱", "count": 1}]
    assert texts["The beans grow"]["attachments"] == [{"name": "beans.jpg"}]


def test_r21_what_letta_sent_by_its_tool_is_what_it_said(db: Database, tmp_path: Path) -> None:
    """In older agents the content is a thought."""

    def change(value: Any) -> None:
        call = {"function": {"name": "send_message", "arguments": json.dumps({"message": "Try Assam"})}}
        value["agents"][0]["messages"][1] |= {"content": [{"type": "text", "text": "Hm, tea."}], "tool_calls": [call]}

    scope, done = _import_new(db, _changed(tmp_path, "letta/agent.json", change))
    assert "Try Assam" in _texts(db, scope) and "Hm, tea." not in _texts(db, scope) and done.memories == 1


def test_r21_chats_of_several_programs_in_one_zip(db: Database, tmp_path: Path) -> None:
    line = {"conversation": "kitchen", "timestamp": "2026-03-10T12:00:00Z", "speaker": "Ann", "text": "It sings."}
    path = _zip(tmp_path / "all.zip", {
        "chats/Iris.jsonl": (SAMPLES.parent / "tavern_chat.jsonl").read_bytes(), "lines.jsonl": json.dumps(line),
        "broken.jsonl": json.dumps(line).encode() + b"\n\xff", "photo.txt": "nothing of the kind",
        "kitchen.csv": (SAMPLES / "table" / "kitchen.csv").read_bytes(),
    })  # fmt: skip
    scope, done = _import_new(db, path)
    assert set(done.format.split("+")) == {"sillytavern", "records", "table"}
    assert set(done.conversations) == {"import/Iris", "import/kitchen", "table/kitchen"}
    assert (done.imported, done.story["alternatives"]) == (15, 5)
    assert done.left_out == {"files that hold no chat": 1, "notices and comments of SillyTavern": 1}
    (problem,) = done.errors
    assert problem.place == "broken.jsonl" and "not UTF-8" in problem.reason
    assert _import(db, scope, path).imported == 0


@pytest.mark.parametrize("name", ["sharegpt", "openai"])
def test_r21_one_chat_a_line_is_read_alike(db: Database, tmp_path: Path, name: str) -> None:
    """Sets for training are files of lines; a copy with another time of the file adds nothing."""
    (sample,) = (SAMPLES / name).iterdir()
    path, chats = tmp_path / "train.jsonl", json.loads(sample.read_text())
    path.write_text("\n".join(json.dumps(chat) for chat in chats))
    scope, done = _import_new(db, path)
    assert (done.format, done.imported) == (name, EXPECTED[name][0]) and "Assam" in _texts(db, scope)
    os.utime(path, (1, 1))
    assert _import(db, scope, path).imported == 0
    unnamed = [{key: value for key, value in chat.items() if key != "id"} for chat in (*chats, chats[0])]
    path.write_text("\n".join(map(json.dumps, unnamed)))
    scope, done = _import_new(db, path)
    assert (len(done.conversations), done.duplicates) == (len(unnamed), 0)  # chats without ids are several chats
    assert _import(db, scope, path).imported == 0
    path.write_text(json.dumps(unnamed[0]).replace("Assam", "Oolong"))  # another file of this name overwrites nothing
    assert _import(db, scope, path).edited == 0 and {"Assam", "Oolong"} <= set(_texts(db, scope))


def test_r21_one_conversation_as_an_object_and_several_files(db: Database, tmp_path: Path) -> None:
    """Later exports of ChatGPT come in parts, some tools save one conversation."""
    both, scope = json.loads((SAMPLES / "chatgpt" / "conversations.json").read_text(encoding="utf-8")), own_scope()
    (tmp_path / "one.json").write_text(json.dumps(both[0]), encoding="utf-8")
    assert _import(db, scope, tmp_path / "one.json").imported == 4
    (tmp_path / "parts").mkdir()
    for number, each in enumerate(both[:2]):
        (tmp_path / "parts" / f"conversations-{number:03}.json").write_text(json.dumps([each]), encoding="utf-8")
    again = _import(db, scope, tmp_path / "parts")
    assert (again.imported, again.duplicates) == (2, 4)


def test_r21_memories_of_claude_belong_to_the_account(db: Database) -> None:
    """What another assistant knew of a person is that person's, not everybody's."""
    scope, _ = _import_new(db, SAMPLES / "claude")
    rows = rows_of(db, memories, scope.persona)
    assert {row.participant_key for row in rows} == {"claude/acc-1"}
    assert {row.timestamp for row in rows} == {datetime(2025, 6, 3, 10, tzinfo=UTC)}
    found = {row.content: (_facts(row).get("heading"), _facts(row).get("project")) for row in rows}
    assert found == {"Ann bakes bread for a café.": ("Work", None), "She has two cats.": ("Home", None),
                     "The café opens at seven.": (None, "proj-1")}  # fmt: skip
    for place, who, hits in (("claude/k-1", "claude/acc-1", 1), ("web/x", "web/x", 0)):
        by = Scope(scope.persona, place, who, privacy="direct")
        assert len(search_memories(keywords=["bakes"], db=db, settings=DEFAULTS, scope=by)) == hits


def _grow_discord(value: Any) -> None:
    messages = value["messages"]
    messages[0] |= {"content": "Hello all", "timestampEdited": "2025-04-09T10:00:00+02:00"}
    messages[2]["content"], messages[2]["timestampEdited"] = "Very nice!", "2025-04-09T10:00:00+02:00"
    messages += [{**messages[0], "id": f"5{n}", "content": f"new {n}", "timestampEdited": None} for n in range(5)]


def _grow_claude(value: Any) -> None:
    messages = value[0]["chat_messages"]
    messages[0]["content"][0]["text"] = "How warm should the dough be?"
    messages[4]["text"] = "A very nice recipe."
    for n in range(5):
        parent = messages[-1]["uuid"] if n else "m4"
        messages.append({**messages[3], "uuid": f"n{n}", "parent_message_uuid": parent, "text": f"new {n}",
                         "attachments": []})  # fmt: skip
    value[0]["current_leaf_message_uuid"] = "n4"


@pytest.mark.parametrize(
    ("name", "grow"),
    [("discord/Garden - general [701] [part 1].json", _grow_discord), ("claude/conversations.json", _grow_claude)],
)
def test_r22_a_later_export_adds_and_edits(db: Database, tmp_path: Path, name: str, grow: Any) -> None:
    scope = own_scope()
    first, later = SAMPLES / name, _changed(tmp_path, name, grow)
    _import(db, scope, first)
    for counts in ((5, 2), (0, 0)):
        grown = _import(db, scope, later)
        assert (grown.imported, grown.edited) == counts
    texts = _texts(db, scope)
    old = _import(db, scope, later if "claude" in name else first)  # Claude says no time of an edit that was undone
    assert (old.imported, old.edited, _texts(db, scope)) == (0, 0, texts)
    assert index_differences(db, scope.persona) == []


def test_r22_r25_a_later_export_without_ids_adds_and_an_opened_group_stays_open(db: Database, tmp_path: Path) -> None:
    """WhatsApp has no ids: time and text are one, so an edited line comes in beside the first."""
    scope, path = own_scope(), tmp_path / "WhatsApp Chat with Ann.txt"
    text = (SAMPLES / "whatsapp" / path.name).read_text(encoding="utf-8")
    path.write_text(text, encoding="utf-8")
    assert _import(db, scope, path).private_count == 1
    set_conversation_privacy("whatsapp/Ann", "public", db=db, scope=scope)
    text = text.replace("to you", "to you, Nan")
    text += "".join(f"02/01/25, 08:0{n} - Ann: new {n}\n" for n in range(5))
    path.write_text(text, encoding="utf-8")
    again = _import(db, scope, path)
    assert (again.imported, again.private_count) == (6, 0) and _audience(db, scope, "whatsapp/Ann")[0] == "server"
    assert {"Happy new year: to you", "Happy new year: to you, Nan"} <= set(_texts(db, scope))
    assert _import(db, scope, path).imported == 0


def test_r22_lines_that_two_exports_of_one_zip_share_come_in_once(db: Database, tmp_path: Path) -> None:
    head, name = "13/03/2026, 12:0", "WhatsApp Chat with Ann"
    first = f"{head}0 - Ann: ha\n{head}0 - Ann: ha\n{head}1 - Bob: yes"
    later = f"{first}\n{head}2 - Ann: see you"
    path = _zip(tmp_path / "both.zip", {f"{name}.txt": first, f"{name} (1).txt": later})
    scope, _ = _import_new(db, path)
    assert sorted(_texts(db, scope)) == ["ha", "ha", "see you", "yes"] and _import(db, scope, path).imported == 0


def test_r22_what_was_edited_here_stays(db: Database) -> None:
    scope, _ = _import_new(db, SAMPLES / "discord")
    (row,) = [row for row in _rows(db, scope) if row.message_text == "Which seeds?"]
    there = replace(scope, conversation="discord/701", server=_audience(db, scope, "discord/701")[1])
    edit_chat_message(row.id, "Which seed?", db=db, settings=DEFAULTS, scope=there)
    assert _import(db, scope, SAMPLES / "discord").edited == 0 and "Which seed?" in _texts(db, scope)


def test_r22_an_answer_regenerated_later_takes_the_place_of_the_first(db: Database, tmp_path: Path) -> None:
    scope = own_scope()

    def change(value: Any) -> None:
        new = value[0]["mapping"]["a9"] = copy.deepcopy(value[0]["mapping"]["a2"])
        new["id"] = new["message"]["id"] = value[0]["current_node"] = "a9"
        new["message"]["content"]["parts"] = ["Water them evenly."]

    _import(db, scope, SAMPLES / "chatgpt" / "conversations.json")
    later = _import(db, scope, _changed(tmp_path, "chatgpt/conversations.json", change))
    assert (later.imported, later.edited) == (0, 1)
    last = _rows(db, scope, "chatgpt/conv-1")[-1]
    assert (last.message_id, last.message_text) == ("a9", "Water them evenly.")
    assert [text[:10] for text in _alternatives(db, scope, last)] == ["They lack ", "Frost.", "*Water the"]


def _alternatives(db: Database, scope: Scope, message: Any) -> list[str]:
    """Return the versions of a message, the current one with a star."""
    held = [row for row in rows_of(db, message_alternatives, scope.persona) if row.message_row == message.id]
    return ["*" * row.is_current + row.text for row in sorted(held, key=lambda row: row.alternative)]


def test_r23_a_bad_message_is_listed_and_the_others_are_taken(db: Database, tmp_path: Path) -> None:
    text = (SAMPLES / "telegram" / "result.json").read_text(encoding="utf-8")
    text = text.replace('"text": "Hi Bob",', '"text": "Hi Bob", "date": "soon", "date_unixtime": [],')
    path = tmp_path / "result.json"
    path.write_text(text, encoding="utf-8")
    scope, done = _import_new(db, path)
    assert (done.imported, done.error_count) == (3, 2)
    assert [e.place for e in done.errors] == [f"result.json: chats {n} message {n}" for n in (1, 2)]
    assert "Welcome" in _texts(db, scope)
    # a title that is too long for a key, in a format whose chats have no id
    chats = [{"title": title, "messages": [{"role": "user", "content": "hi"}]} for title in ("茶" * 200, "tea")]
    chats[1]["messages"].append(7)  # type: ignore[arg-type]
    path.write_text(json.dumps(chats), encoding="utf-8")
    _, done = _import_new(db, path)
    assert (done.imported, done.error_count, "bytes" in done.errors[1].reason) == (1, 2, True)
    assert done.errors[0].place.endswith("message 2")


def test_r23_a_broken_member_leaves_the_others(db: Database, tmp_path: Path) -> None:
    path = _zip_folder(tmp_path / "discord.zip", SAMPLES / "discord")
    with zipfile.ZipFile(path) as archive:
        entry = archive.getinfo("Direct - Ann [601].json")
    content = bytearray(path.read_bytes())
    start = entry.header_offset + 30 + len(entry.filename.encode())
    content[start + 5 : start + 40] = bytes(35)
    path.write_bytes(bytes(content))
    scope, done = _import_new(db, path)
    assert done.imported == 5
    (problem,) = done.errors
    assert (problem.place, problem.reason) == ("Direct - Ann [601].json", "the file cannot be read: it is damaged")
    assert "See you" in _texts(db, scope, "discord/701")


def test_r23_nothing_of_an_archive_leaves_it_and_one_without_a_chat_is_refused(db: Database, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    refused = {"../outside.json": b"[]", "/etc/outside.json": b"[]", "more.zip": b"PK\x05\x06" + bytes(18),
               "bomb.json": b"[" + b" " * (80 * 1024**2) + b"]"}  # fmt: skip
    taken = {"chats.json": (SAMPLES / "openwebui" / "chats.json").read_bytes()}
    path = _zip(tmp_path / "in" / "chat.zip", refused | taken)
    before = sorted(tmp_path.rglob("*"))
    _, done = _import_new(db, path)
    assert done.imported == 2 and {e.place for e in done.errors} == set(refused)
    assert sorted(tmp_path.rglob("*")) == before
    with pytest.raises(TransferError, match=r"holds no chat of a program that is known: ChatGPT, Claude"):
        _import(db, own_scope(), _zip(tmp_path / "photos.zip", {"a.jpg": b"x"}))


def test_r24_the_shown_branch_is_taken_and_others_are_versions(db: Database) -> None:
    scope, done = _import_new(db, SAMPLES / "chatgpt")
    rows = _rows(db, scope, "chatgpt/conv-1")
    assert [row.message_id for row in rows] == ["u1", "a1b", "u2", "a2"]
    assert [row.role for row in rows] == ["user", "persona", "user", "persona"]
    assert _alternatives(db, scope, rows[1]) == ["In May.", "*After the last frost, in the middle of May."]
    assert "Frost." in _alternatives(db, scope, rows[3])  # an answer to a question that is not shown
    assert done.story == {"alternatives": 6}


@pytest.mark.parametrize(("where", "value"), [
    ("metadata", {"is_visually_hidden_from_conversation": True}), ("weight", 0), ("recipient", "python"),
    ("channel", "analysis"), ("content", {"content_type": "thoughts", "parts": ["In May."]}),
    ("author", {"role": "tool"}),
])  # fmt: skip
def test_r24_each_sign_alone_hides_a_message(db: Database, tmp_path: Path, where: str, value: Any) -> None:
    def change(sample: Any) -> None:
        sample[0]["mapping"]["a1b"]["message"][where] = value

    scope, _ = _import_new(db, _changed(tmp_path, "chatgpt/conversations.json", change))
    assert [row.message_id for row in _rows(db, scope, "chatgpt/conv-1")] == ["u1", "u2", "a2"]


def test_r25_direct_messages_are_private_and_channels_belong_to_their_server(db: Database) -> None:
    scope, _ = _import_new(db, SAMPLES / "discord", persona="Iris")
    assert _audience(db, scope, "discord/601") == ("direct", "", "discord/501")
    assert _audience(db, scope, "discord/701") == ("server", "900", "")
    assert _audience(db, scope, "discord/701/801") == ("server", "900", "")
    parents = {row.conversation_key: row.parent_key for row in rows_of(db, conversations, scope.persona)}
    assert parents["discord/701/801"] == "discord/701"
    _import(db, scope, SAMPLES / "slack")
    assert _audience(db, scope, "slack/C1") == ("server", "T1", "")
    assert (_audience(db, scope, "slack/G1")[0], _audience(db, scope, "slack/D1")[0]) == ("conversation", "direct")
    _import(db, scope, SAMPLES / "telegram")
    assert _audience(db, scope, "telegram/-1001500")[0] == "conversation"


def test_r25_private_server_and_person_are_the_importers_choice(db: Database) -> None:
    closed, moved = own_scope(), own_scope(server="s9")
    _import(db, closed, SAMPLES / "discord", private=True)
    assert {_audience(db, closed, key)[0] for key in ("discord/701", "discord/701/801")} == {"conversation"}
    _import(db, moved, SAMPLES / "discord")
    assert _audience(db, moved, "discord/701") == ("server", "s9", "")
    scope, _ = _import_new(db, SAMPLES / "chatgpt", interface="web", user="ann")
    assert {row.participant_key for row in _rows(db, scope) if row.role == "user"} == {"web/ann"}
    assert _audience(db, scope, "web/conv-1") == ("direct", "", "web/ann")


def test_r25_public_opens_groups_but_no_direct_message_and_nothing_stored_as_private(db: Database) -> None:
    for name, group, server in (("telegram", "telegram/-1001500", ""), ("slack", "slack/G1", "T1")):
        scope, done = _import_new(db, SAMPLES / name, private=False)
        closed = [key for key in done.conversations if _audience(db, scope, key)[0] != "server"]
        assert _audience(db, scope, group) == ("server", server, "") and len(closed) == done.private_count == 1
        assert any("1 stays private" in note and "set_conversation_privacy" in note for note in done.notes)
        scope, before = _import_new(db, SAMPLES / name)
        again = _import(db, scope, SAMPLES / name, private=False)
        assert _audience(db, scope, group)[0] == "conversation" and again.private_count == before.private_count == 2
        assert any("2 stay private" in note for note in again.notes) and "stay" not in str(before.notes)
    assert any("1 stays private" in n for n in import_file(SAMPLES / name, private=False, dry_run=True).notes)


@pytest.mark.parametrize("known", [False, True])
def test_r25_the_notes_tell_what_is_private_of_the_new_conversations(db: Database, tmp_path: Path, known: bool) -> None:
    table, scope = tmp_path / "tea.csv", own_scope()
    said = "".join(f"{who},I like tea,2026-03-10T12:0{at}:00Z\n" for at, who in enumerate(("Ann", "Bob", "Iris")))
    table.write_text(f"speaker,text,timestamp\n{said}", encoding="utf-8")
    if known:
        save_chat_message("discord/11", "hello", "Ann", "Ann", db=db, scope=scope)
    for dry_run in (True, False):
        done = _import(db, scope, table, conversation="discord/11", persona="Iris", dry_run=dry_run)
        assert done.private_count == (not known)
        assert [note.partition(":")[0] for note in done.notes] == ([] if known else ["1 new conversation is private"])
        assert known or ("--public" in done.notes[0] and "set_conversation_privacy" in done.notes[0])
        assert done.participants == {"discord/Ann": "Ann", "discord/Bob": "Bob"}
    again = _import(db, scope, table, conversation="discord/11", persona="Iris")
    assert (again.private_count, again.notes) == (not known, ())


def test_c12_f20_a_reply_of_an_export_is_read_as_one_said_live(db: Database, tmp_path: Path) -> None:
    """A wish said to Anna is not the persona's, and the words of somebody at level `full` are kept nowhere."""
    scope = own_scope()
    set_privacy("telegram/913", "full", db=db, scope=scope)
    said = [("Anna", 1, "hello", None), ("Kim", 2, "please answer me in English", 1), ("Iris", 9, "hello Kim", None),
            ("Kim", 2, "call me Jo", 3), ("Lee", 913, "my secret", None), ("Kim", 2, "oh", 5)]  # fmt: skip
    lines = [
        {"id": n, "type": "message", "date": f"2025-04-01T08:0{n}:00", "date_unixtime": str(1743494400 + 60 * n),
         "from": name, "from_id": f"user{who}", "text": text} | ({"reply_to_message_id": to} if to else {})
        for n, (name, who, text, to) in enumerate(said, 1)
    ]  # fmt: skip
    path = tmp_path / "result.json"
    path.write_text(json.dumps({"name": "Tea", "type": "public_supergroup", "id": 5, "messages": lines}), "utf-8")
    done = _import(db, scope, path, persona="Iris")
    facts = {row.message_text: _facts(row) for row in _rows(db, scope)}
    assert done.instructions == 1 and len(facts) == 5
    assert facts["call me Jo"]["reply_to"]["role"] == "persona" and "reply_to" not in facts["oh"]


def test_r25_bots_service_lines_replies_reactions_and_edits_come_along(db: Database) -> None:
    scope, _ = _import_new(db, SAMPLES / "discord")
    rows = {row.message_text: row for row in _rows(db, scope, "discord/701")}
    joined, weather = rows["Joined the server."], rows["Weather\nRain at noon"]
    assert (joined.role, bool(joined.hidden), _facts(joined)["service"]) == ("system", True, True)
    assert (weather.role, weather.participant_key, _facts(weather)["bot"]) == ("user", "discord/503", True)
    assert "bot" not in _facts(rows["See you"])
    there = replace(scope, conversation="discord/701", server=_audience(db, scope, "discord/701")[1])
    refresh_memory("discord/701", db=db, settings=DEFAULTS, scope=there)  # works out anew what is hidden
    asked = {"text": "And now?", "interface_path": "discord/701", "server_id": there.server}
    every_line = Settings(history_lines=500, enable_history_recent=False)
    prompt = build_json_prompt(asked, db=db, settings=every_line, scope=there)
    lines = str(prompt["context"]["history_current_chat"])
    assert "See you" in lines and "Joined the server." not in lines
    nice = _facts(rows["Nice!"])
    reply = [nice["reply_to"][name] for name in ("username", "text", "sender_id", "role")]
    assert reply == ["Ann", "Hello @Bob, look :leaf:", "501", "user"]
    assert nice["reactions"] == [{"emoji": "👍", "count": 2}]
    assert nice["imported"]["edited"] == "2025-04-01T08:03:00+00:00"
    slack, _ = _import_new(db, SAMPLES / "slack")
    assert "Hi @Bob, read this (https://example.org) & tell #general" in _texts(db, slack)


def test_r25_the_persona_is_asked_for_and_guessed_only_where_the_format_says_it(db: Database) -> None:
    """A chat among people has no persona until somebody says who it is."""
    scope, done = _import_new(db, SAMPLES / "discord" / "Direct - Ann [601].json", persona="iris")
    assert done.persona == ("Iris",)
    assert [(row.sender_id, row.triggered_by) for row in _rows(db, scope)][1] == ("self", "discord/501")
    assert _rows(db, scope)[0].sender_id == "501"
    scope, done = _import_new(db, SAMPLES / "discord")
    assert done.persona == () and not [row for row in _rows(db, scope) if row.sender_id == "self"]
    assert _import_new(db, SAMPLES / "claude")[1].persona == ("Claude",)
    with pytest.raises(TransferError, match="Nobody called 'Zoe' speaks in"):
        _import(db, own_scope(), SAMPLES / "discord", persona="Zoe")


@pytest.mark.parametrize("told", [{"discriminator": "0000"}, {}])
def test_r25_characters_of_one_webhook_are_several_people(db: Database, tmp_path: Path, told: dict[str, str]) -> None:
    """Tupperbox and PluralKit post everybody's characters through one webhook."""

    def change(value: Any) -> None:
        value["messages"] = [
            {**value["messages"][0], "id": str(900 + n), "author": {"id": "500", "name": name, "isBot": True, **told}}
            for n, name in enumerate(("Luna", "Sol", "Luna"))
        ]

    scope = own_scope()
    path = _changed(tmp_path, "discord/Garden - general [701] [part 1].json", change)
    assert _import(db, scope, path).imported == 3
    rows = _rows(db, scope)
    assert rows[0].sender_id == rows[2].sender_id != rows[1].sender_id
    assert [row.sender_name for row in rows] == ["Luna", "Sol", "Luna"]


@pytest.mark.parametrize("slash", ["/", "\\"])
def test_r21_a_zip_of_any_system_is_read_alike(db: Database, tmp_path: Path, monkeypatch: Any, slash: str) -> None:
    """Windows writes backslashes, older programs names without saying that they are UTF-8."""
    day = [{"type": "message", "user": "U1", "text": "hello", "ts": "1748772000.000100"}]
    rooms, people = [{"id": "C1", "name": "caf\u00e9"}], [{"id": "U1", "name": "ann"}]
    files: dict[str, Any] = {"channels.json": rooms, "users.json": people}
    if slash == "/":
        monkeypatch.setattr(zipfile.ZipInfo, "_encodeFilenameFlags", lambda self: (self.filename.encode(), 0))
    files[f"caf\u00e9{slash}2025-06-01.json"] = day
    path = _zip(tmp_path / "export.zip", {name: json.dumps(value) for name, value in files.items()})
    done = _import(db, own_scope(), path)
    assert (done.imported, done.conversations, done.private_count) == (1, ("slack/C1",), 0)


@pytest.mark.parametrize("form", ["openai", "sillytavern"])
def test_r24_thoughts_are_left_out_in_every_format(db: Database, tmp_path: Path, form: str) -> None:
    said, path = "<think>she is sad</think>Hello Ann", tmp_path / "chat.jsonl"
    if form == "openai":
        messages = [
            {"role": "assistant", "content": "<think>only a thought</think>"},
            {"role": "assistant", "content": f"<think>hm</think>{CALL}\n{CALL}"},
            {"role": "assistant", "content": [{"type": "thinking", "text": "hm"}, {"type": "tool_use", "text": "f"}]},
            {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f"}}]},
            {"role": "assistant", "content": said},
        ]
        path.write_text(json.dumps({"messages": messages}))
    else:
        line = {"name": "Iris", "is_user": False, "mes": said, "send_date": "2026-03-10T12:00:00Z"}
        lines = [{"user_name": "Ann", "character_name": "Iris"}, {**line, "mes": f"<think>hm</think>{CALL}"}, line]
        path.write_text("\n".join(map(json.dumps, lines)))
    scope, done = _import_new(db, path)
    assert _texts(db, scope) == ["Hello Ann"] and done.imported == done.could_import == 1


def _tavern(folder: Path, header: dict[str, Any], names: list[str]) -> Path:
    lines: list[dict[str, Any]] = [header]
    lines += [{"name": name, "is_user": name == "Ann", "is_system": False, "mes": f"{name} says {n}",
               "send_date": f"2026-03-10T12:0{n}:00Z", "original_avatar": f"{name}.png", "extra": {}}
              for n, name in enumerate(names)]  # fmt: skip
    path = folder / "group.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def test_r25_in_sillytavern_one_is_the_persona_and_chats_are_private_unless_told(db: Database, tmp_path: Path) -> None:
    path = _tavern(tmp_path, {**HEADER, "character_name": "unused"}, ["Ann", "Iris", "Bran", "Iris"])
    scope, done = _import_new(db, path)
    assert done.persona == () and {row.role for row in _rows(db, scope)} == {"user"}
    assert any("Bran" in note and "--persona-speaker" in note for note in done.notes)
    scope, done = _import_new(db, path, persona="Iris")
    roles = [("user", "Ann"), ("persona", "Iris"), ("user", "Bran"), ("persona", "Iris")]
    assert done.persona == ("Iris",) and [(row.role, row.sender_name) for row in _rows(db, scope)] == roles
    assert _import_new(db, _tavern(tmp_path, HEADER, ["Ann", "Iris", "Bran"]))[1].persona == ("Iris",)
    for names, options, kind in (
        (["Ann", "Iris"], {}, "direct"), (["Ann", "Iris"], {"private": False}, "server"),
        (["Ann", "Iris", "Bran"], {}, "conversation"),
    ):  # fmt: skip
        scope, done = _import_new(db, _tavern(tmp_path, HEADER, names), **options)
        assert _audience(db, scope, done.conversations[0])[0] == kind
        assert ("conversations are public" in str(done.notes)) == (kind == "server")


@pytest.mark.parametrize("options", [{}, {"private": True}, {"conversation": "play/Ann/one"}], ids=str)
def test_f82_an_import_in_a_separate_scope_makes_separate_chats(db: Database, tmp_path: Path, options: Any) -> None:
    """Nothing said that the scope's privacy was ignored, and stories of one player showed each other."""
    scope = replace(own_scope(), privacy="separate")
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        path = _tavern(tmp_path / name, HEADER, ["Ann", "Iris"]).rename(tmp_path / name / f"{name}.jsonl")
        done = _import(db, scope, path, **options)
        assert done.private_count == 1 and "public" not in str(done.notes)
        (key,) = done.conversations
        assert _audience(db, scope, key) == ("conversation", "", key)
    group = _import(db, scope, _tavern(tmp_path, HEADER, ["Ann", "Iris", "Bran"]), conversation="play/group")
    assert _audience(db, scope, group.conversations[0])[0] == "conversation" and group.private_count == 1
    lines = tmp_path / "lines.jsonl"
    line = {"conversation": "c1", "speaker": "Ann", "text": "I like tea", "timestamp": "2026-03-10T12:00:00Z"}
    lines.write_text(json.dumps(line))
    with use_scope(scope):
        assert import_file(lines, db=db, dry_run=True).private_count == 1
