"""Files of conversations into the chat history: each message once, whole transactions, good rows beside bad ones."""

import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from core import conversations, privacy
from core.config import Settings
from core.database.engine import Database
from core.database.rows import read_list
from core.database.schema import chat_history_cache, memories, message_alternatives, participants
from core.errors import TransferError
from core.scope import Scope
from core.transfer import storage as storing
from core.transfer.imports import ImportResult, import_file
from tests.databases import watched
from tests.store.world import count, index_differences, messages_of, own_scope, rows_of


def _rows(number: int, *, conversation: str = "c", speakers: tuple[str, ...] = ("Ann", "Iris")) -> list[dict[str, Any]]:
    times = (f"2025-01-{n // 1440 + 1:02}T{n // 60 % 24:02}:{n % 60:02}:00Z" for n in range(number))
    said = [{"text": f"line {n} about topic{n % 7}", "speaker": speakers[n % len(speakers)]} for n in range(number)]
    rows = enumerate(zip(said, times, strict=True))
    return [{"conversation": conversation, "id": f"{conversation}-{n}", "timestamp": at, **s} for n, (s, at) in rows]


def _file(folder: Path, rows: list[Any], name: str = "chat.jsonl") -> Path:
    path = folder / name
    path.write_bytes("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows).encode())
    return path


def _import(db: Database, scope: Scope, path: Path, **options: Any) -> ImportResult:
    return import_file(path, db=db, scope=scope, **options)


def test_f3_a_file_cannot_say_whose_memory_it_is(db: Database, tmp_path: Path) -> None:
    scope, other = own_scope(), own_scope()
    rows = [{**_rows(1)[0], "persona_id": other.persona, "audience_id": 1, "interface_path": "x/y"}]
    _import(db, scope, _file(tmp_path, rows))
    assert len(messages_of(db, scope.persona)) == 1 and messages_of(db, other.persona) == []
    assert messages_of(db, scope.persona)[0].interface_path == "import/c"


def test_a_chat_and_a_speaker_may_be_named_by_number_and_self_is_nobody(
    db: Database, scope: Scope, tmp_path: Path
) -> None:
    path = _file(tmp_path, [{**row, "speaker_id": "7"} for row in _rows(2, speakers=("Iris",))])
    import_file(path, conversation=-100, persona=7, db=db, scope=scope)  # type: ignore[arg-type]
    assert {(row.interface_path, row.sender_id) for row in messages_of(db, scope.persona)} == {("-100", "self")}
    # `self` is the sender id of the persona's own lines (P22)
    _import(db, scope, _file(tmp_path, _rows(1, speakers=("self",))))
    (row,) = [row for row in messages_of(db, scope.persona) if row.sender_name == "self"]
    assert (row.role, row.sender_id, row.sender_name) == ("user", "name:self", "self")


@pytest.mark.parametrize(("content", "said"), [
    (b"[]\n", "is JSON without names"), (b'{"a": 1}\n', "the keys a"),
    (json.dumps(_rows(1)[0]).encode() + b"\n\xff\n", "not UTF-8"),
    (gzip.compress(b'{"a": 1}', mtime=0), "packed with gzip; unpack it first"),
])  # fmt: skip
def test_f76_nothing_is_stored_of_a_refused_file(db: Database, tmp_path: Path, content: bytes, said: str) -> None:
    scope, path = own_scope(), tmp_path / "chat.jsonl"
    path.write_bytes(content)
    with pytest.raises(TransferError, match=said):
        _import(db, scope, path)
    assert messages_of(db, scope.persona) == []


def test_f76_a_table_saved_by_a_spreadsheet_loses_no_letter_and_no_long_text(db: Database, tmp_path: Path) -> None:
    scope, path = own_scope(), tmp_path / "chat.csv"
    table = f"speaker,text,timestamp\nAnn,Grüße,2026-03-10T12:00:00Z\nAnn,{'tea ' * 50_000},2026-03-10T12:01:00Z\n"
    for encoding, errors, texts in (("latin-1", 1, 1), ("utf-8", 0, 2)):
        path.write_text(table, encoding)
        assert (_import(db, scope, path).error_count, len(messages_of(db, scope.persona))) == (errors, texts)


def _wishes(db: Database, scope: Scope, who: str, conversation: str = "import/c") -> list[str]:
    own = Scope(scope.persona, conversation, f"import/{who}")
    return [item["text"] for item in conversations.list_saved_memories(kind="instruction", db=db, scope=own)]


def test_wishes_in_an_imported_chat_hold_as_if_they_had_been_said_here(db: Database, tmp_path: Path) -> None:
    """Whoever moves here with years of chat does not say `call me Jo` again; the newest word of the file counts."""
    rows = _rows(8)
    said = {0: "Call me Jonathan.", 1: "Always answer in French.", 2: "Hi. Please always answer in metric units!"}
    for number, text in {**said, 4: "Call me Jo."}.items():
        rows[number]["text"] = text
    rows[6] |= {"text": "I am vegan", "speaker": "Bob"}
    scope, path = own_scope(), _file(tmp_path, [rows[4], *rows[:4], *rows[5:]])
    result = _import(db, scope, path, persona="Iris")
    assert (result.imported, result.instructions) == (8, 4)
    assert _wishes(db, scope, "Ann") == ["Please always answer in metric units!", "Call me Jo."]
    assert _wishes(db, scope, "Bob") == ["I am vegan"] and index_differences(db, scope.persona) == []
    by_text = {row.message_text: row.id for row in messages_of(db, scope.persona)}
    told = [row for row in rows_of(db, memories, scope.persona) if row.content == "Call me Jo."]
    assert [read_list(row.source_message_ids) for row in told] == [[by_text["Call me Jo."]]]
    # the same file again
    assert (_import(db, scope, path, persona="Iris").instructions, count(db, memories, scope.persona)) == (0, 3)


def test_of_many_wishes_each_knows_those_before(db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What holds is read once for a person and a batch: once for a wish would be the square of their number."""
    rows = _rows(14, speakers=("Ann",))
    said = ("Call me Jo.", "Call me Max.", "Call me Jo.", "I am vegan", "I am vegan", "I'm allergic to nuts.")
    for row, text in zip(rows, [*said, *(f"I'm allergic to food{n}." for n in range(8))], strict=True):
        row["text"] = text
    reads: list[str] = []

    def note(statement: str, *_: Any) -> None:
        is_read = statement.startswith("SELECT memories.id, memories.content") and "superseded_by IS NULL" in statement
        reads.extend([statement] if is_read else [])

    told = []
    with watched(db, note):
        for size in (500, 1):
            monkeypatch.setattr(storing, "BATCH", size)
            scope = own_scope()
            _import(db, scope, _file(tmp_path, rows))
            items = rows_of(db, memories, scope.persona)
            by_id = {item.id: item.content for item in items}
            told.append((sorted((i.content, i.timestamp, by_id.get(i.superseded_by)) for i in items), len(reads)))
            reads.clear()
    assert told[0][0] == told[1][0]
    assert [content for content, _, by in told[0][0] if content.startswith("Call") and by is None] == ["Call me Jo."]
    assert [count for _, count in told] == [1, 14]


def test_wishes_are_not_looked_for_where_nobody_wants_them(db: Database, tmp_path: Path) -> None:
    """RECORD_WISHES holds for an import too, and a dry run keeps nothing."""
    rows = _rows(2)
    rows[0]["text"] = "Call me Jo."
    scope, path = own_scope(), _file(tmp_path, rows)
    assert _import(db, scope, path, dry_run=True).instructions == 0
    off = import_file(path, db=db, scope=scope, settings=Settings(record_wishes=False))
    assert (off.imported, off.instructions, _wishes(db, scope, "Ann")) == (2, 0, [])


def test_f12_a_wish_of_an_imported_private_chat_stays_there(db: Database, tmp_path: Path) -> None:
    rows = _rows(4, conversation="dm")
    rows[0]["text"] = "Call me Jo."
    scope = own_scope()
    assert _import(db, scope, _file(tmp_path, rows), persona="Iris", private=True).instructions == 1
    assert _wishes(db, scope, "Ann", "import/dm") == ["Call me Jo."]
    assert _wishes(db, scope, "Ann", "import/elsewhere") == []


def test_f10_what_somebody_importing_may_not_have_meant_is_noted(db: Database, tmp_path: Path) -> None:
    """A persona without a name and a private chat made public are both found out too late otherwise."""
    path = _file(tmp_path, _rows(2))
    nobody, public = _import(db, own_scope(), path, dry_run=True).notes
    assert nobody.startswith("nobody was named as the persona (--persona-speaker)")
    assert public.startswith("without --private new conversations are public")
    assert _import(db, own_scope(), path, persona="Iris", dry_run=True).notes == (public,)
    assert _import(db, own_scope(), path, persona="Iris", private=True, dry_run=True).notes == ()


def test_f20_nothing_is_imported_of_people_who_do_not_want_it(db: Database, tmp_path: Path) -> None:
    scope, path = own_scope(), _file(tmp_path, _rows(4))
    result = import_file(path, persona="Iris", db=db, scope=scope, settings=Settings(privacy_default="full"))
    assert (result.imported, result.left_out) == (0, {"privacy": 4}) and messages_of(db, scope.persona) == []


def test_r21_a_speaker_keeps_the_name_of_the_newest_line_of_a_file(db: Database, tmp_path: Path) -> None:
    chats = [_rows(1, conversation=name, speakers=(name,))[0] | {"speaker_id": "7"} for name in ("z", "b")]
    chats[1]["timestamp"] = "2026-01-01T00:00:00Z"
    scope = own_scope()
    _import(db, scope, _file(tmp_path, chats))
    assert [row.display_name for row in rows_of(db, participants, scope.persona)] == ["b"]


def test_r23_a_colon_in_the_name_of_a_file_leads_nowhere(db: Database, tmp_path: Path) -> None:
    path = tmp_path / "chats.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("Team: tea.jsonl", "C:/tea.jsonl"):
            archive.writestr(name, json.dumps(_rows(1)[0]))
    done = _import(db, own_scope(), path)
    assert (done.imported, [fault.place for fault in done.errors]) == (1, ["C:/tea.jsonl"])


def test_f20_no_further_answer_to_somebody_at_full_is_imported(db: Database, tmp_path: Path) -> None:
    path, scope = tmp_path / "conversations.json", own_scope()
    said = {"id": "u", "text": "Is there tea?", "sender": "human", "created_at": "2026-03-10T12:00:00Z"}
    answers = [{**said, "id": each, "sender": "assistant", "text": each, "parent_message_uuid": "u"} for each in "ab"]
    for number in (1, 2):
        path.write_text(json.dumps([{"uuid": "c", "chat_messages": [said, *answers[:number]]}]))
        done = _import(db, scope, path)
        privacy.set_privacy("claude/user", "full", db=db, scope=scope)
    assert (done.edited, done.left_out) == (0, {"privacy": 1}) and count(db, message_alternatives, scope.persona) == 0


@pytest.mark.parametrize("edited", [False, True])
def test_r22_of_two_lines_with_one_id_one_counts_at_every_import(db: Database, tmp_path: Path, edited: bool) -> None:
    with_edit = {"timestampEdited": "2026-03-10T13:00:00Z"} if edited else {}
    first, second, other = ({"id": key, "timestamp": "2026-03-10T12:00:00Z", "author": {"id": "1", "name": "Ann"},
                             "content": text} for key, text in (("7", "a"), ("7", "b"), ("8", "c")))  # fmt: skip
    path, scope = tmp_path / "a.json", own_scope()
    value = {"guild": {"id": "900"}, "channel": {"id": "7"}, "messages": [{**first, **with_edit}, second, other]}
    path.write_text(json.dumps(value))
    for stored, duplicates in ((2, 1), (0, 3), (0, 3)):
        done = _import(db, scope, path)
        assert (done.imported, done.edited, done.duplicates) == (stored, 0, duplicates)
        rows = sorted(rows_of(db, chat_history_cache, scope.persona), key=lambda row: row.message_id)
        assert [row.message_text for row in rows] == ["a" if edited else "b", "c"]
