"""Chats as lines of text, tables and lists of further programs: who said what when (R21)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.errors import TransferError
from core.transfer.formats import find_export
from core.transfer.imports import import_file
from core.transfer.shapes import Left, Line, Reading

NOON, LATER = "2026-03-10 12:00", "2026-03-10 12:01"
BOTH = [(NOON, "Ann", "hi <b>"), (LATER, "Bob", "Bob waves")]

IRSSI = """--- Log opened Tue Mar 10 11:59:00 2026
11:59 -!- Ann [~a@h] has joined #garden
12:00 <@Ann> hi <b>
12:01  * Bob waves
--- Day changed Wed Mar 11 2026
08:00 < Ann> morning
"""
WEECHAT = """2026-03-10 11:59:00\t-->\tAnn (~a@h) has joined #garden
2026-03-10 12:00:00\t@Ann\thi <b>
2026-03-10 12:01:00\t *\tBob waves
"""
ZNC = """[11:59:00] *** Joins: Ann (~a@h)
[12:00:00] <Ann> hi <b>
[12:01:00] * Bob waves
"""
HEXCHAT = """**** BEGIN LOGGING AT Tue Mar 10 11:59:00 2026

Mar 10 11:59:00 *\tAnn (~a@h) has joined
Mar 10 12:00:00 <Ann>\thi <b>
Mar 10 12:01:00 *\tBob waves
"""
IMESSAGE = """Mar 10, 2026 12:00:00 PM (Read by you after 3 seconds)
+1555
hi
there

Mar 10, 2026  12:01:00 PM
Me
yes
"""
CSV = "text,is_from_me,date,id,chat_identifier\n"
LIBRE: dict[str, Any] = {"conversationId": "c1", "endpoint": "openAI", "title": "Tea", "exportAt": "10:00"}
SAID: list[dict[str, Any]] = [
    {"messageId": "1", "parentMessageId": "0", "isCreatedByUser": True, "sender": "User", "text": "tea?",
     "createdAt": "2026-03-10T12:00:00Z"},
    {"messageId": "2", "parentMessageId": "1", "isCreatedByUser": False, "sender": "m1", "text": "",
     "content": [{"type": "think", "think": "hm"}, {"type": "text", "text": {"value": "yes"}}],
     "createdAt": "2026-03-10T12:01:00Z"},
]  # fmt: skip
ANSWERED = [(NOON, "User", "tea?"), (LATER, "m1", "yes")]
CONV = {"id": "c1", "name": "Tea", "lastModified": 1773144000000, "currNode": "2"}
TURNS = [
    {"id": "0", "convId": "c1", "type": "root", "role": "system", "content": "", "parent": None, "timestamp": 1},
    {"id": "1", "convId": "c1", "role": "user", "content": "tea?", "parent": "0", "timestamp": 1773144000000},
    {"id": "3", "convId": "c1", "role": "assistant", "content": "no", "parent": "1", "timestamp": 1773144030000},
    {"id": "2", "convId": "c1", "role": "assistant", "content": "yes", "thinking": "hm", "parent": "1", "model": "m1",
     "timestamp": 1773144060000},
]  # fmt: skip


@pytest.mark.parametrize(
    ("program", "name", "content", "expected", "rooms"),
    [
        ("irc", "#garden.log", IRSSI, [*BOTH, ("2026-03-11 08:00", "Ann", "morning")], {"#garden"}),
        ("irc", "irc.x.#garden.weechatlog", WEECHAT, BOTH, {"irc.x.#garden"}),
        ("irc", "#garden_20260310.log", ZNC, BOTH, {"#garden"}),
        ("irc", "#garden.log", HEXCHAT, BOTH, {"#garden"}),
        ("whatsapp", "c.txt", "[12:00, 10/3/2026] Ann: hi\nthere\n[12:01, 13/3/2026] Bob: yes\n",
         [(NOON, "Ann", "hi\nthere"), ("2026-03-13 12:01", "Bob", "yes")], {"c"}),
        ("whatsapp", "c.txt", "[12:00 PM, 3/10/2026] Ann: hi\n[12:01 pm, 3/13/2026] Bob: yes\n",
         [(NOON, "Ann", "hi"), ("2026-03-13 12:01", "Bob", "yes")], {"c"}),
        ("telegram", "c.txt", "Ann Lee, [10.03.2026 12:00]\nhi\nthere\n\nBob, [10.03.2026 12:01]:\nyes: no\n",
         [(NOON, "Ann Lee", "hi\nthere"), (LATER, "Bob", "yes: no")], {"c"}),
        ("telegram", "c.txt", "Ann, [Mar 10, 2026 at 12:00:00 PM]:\nhi\n", [(NOON, "Ann", "hi")], {"c"}),
        ("imessage", "c.txt", IMESSAGE, [(NOON, "+1555", "hi\nthere"), (LATER, "Me", "yes")], {"c"}),
        ("imessage", "c.csv", CSV + "hi,0,794836800000000000,+1555,a\nyes,1,794836860000000000,+1555,a\n"
         "tea,0,2026-03-10 12:01:00,+1666,b\n",
         [(NOON, "+1555", "hi"), (LATER, "Me", "yes"), (LATER, "+1666", "tea")], {"a", "b"}),
        ("agnai", "c.json", json.dumps({"name": "Exported", "messages": [
            {"msg": "tea?", "userId": "u", "handle": "Ann", "createdAt": "2026-03-10T12:00:00Z"},
            {"msg": "yes", "characterId": "x", "handle": "Iris", "createdAt": "2026-03-10T12:01:00Z"}]}),
         [(NOON, "Ann", "tea?"), (LATER, "Iris", "yes")], {"c"}),
        ("librechat", "c.json", json.dumps({**LIBRE, "messages": SAID}), ANSWERED, {"c1"}),
        ("librechat", "c.json", json.dumps({**LIBRE, "recursive": True, "messages": [
            {**SAID[0], "children": [SAID[1]]}]}), ANSWERED, {"c1"}),
        ("llamacpp", "c.json", json.dumps({"conv": CONV, "messages": TURNS}), ANSWERED, {"c1"}),
        ("llamacpp", "c.json", json.dumps([{"conv": CONV, "messages": TURNS}]), ANSWERED, {"c1"}),
    ],
)  # fmt: skip
def test_r21_who_said_what_when(
    tmp_path: Path, program: str, name: str, content: str, expected: list[Any], rooms: set[str]
) -> None:
    (tmp_path / name).write_text(content)
    files = find_export(tmp_path / name)
    assert files is not None and files.format == program
    reads = [read for _, read in files.read(Reading())]
    lines = [read for read in reads if isinstance(read, Line)]
    said = [(f"{line.at:%Y-%m-%d %H:%M}", line.speaker.name if line.speaker else "", line.text)
            for line in lines if not line.is_service]  # fmt: skip
    assert (said, {line.room.id for line in lines}) == (expected, rooms)
    assert sum(line.is_service for line in lines) == (program == "irc")
    assert all(isinstance(read, (Line, Left)) for read in reads)


def test_r21_a_line_of_irc_without_a_day_is_listed(tmp_path: Path) -> None:
    (tmp_path / "x.log").write_text("12:00 <Ann> hi\n")
    result = import_file(tmp_path / "x.log", dry_run=True)
    assert (result.could_import, result.error_count) == (0, 1) and "no day is known" in result.errors[0].reason


def test_f76_a_refused_table_says_which_columns_it_needs(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("who,what,when\nAnn,hi,2026-03-10\n")
    with pytest.raises(TransferError, match="a table without the columns speaker, text and timestamp"):
        import_file(tmp_path / "x.csv", dry_run=True)
