"""Tables and lists of further programs: who said what when (R21)."""

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
    ("program", "content"),
    [
        ("librechat", json.dumps({**LIBRE, "messages": SAID})),
        ("librechat", json.dumps({**LIBRE, "recursive": True, "messages": [{**SAID[0], "children": [SAID[1]]}]})),
        ("llamacpp", json.dumps({"conv": CONV, "messages": TURNS})),
        ("llamacpp", json.dumps([{"conv": CONV, "messages": TURNS}])),
    ],
)
def test_r21_who_said_what_when(tmp_path: Path, program: str, content: str) -> None:
    (tmp_path / "c.json").write_text(content)
    files = find_export(tmp_path / "c.json")
    assert files is not None and files.format == program
    reads = [read for _, read in files.read(Reading())]
    lines = [read for read in reads if isinstance(read, Line)]
    said = [(f"{line.at:%Y-%m-%d %H:%M}", line.speaker.name if line.speaker else "", line.text)
            for line in lines]  # fmt: skip
    assert (said, {line.room.id for line in lines}) == (ANSWERED, {"c1"})
    assert all(isinstance(read, (Line, Left)) for read in reads)


def test_f76_a_refused_table_says_which_columns_it_needs(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("who,what,when\nAnn,hi,2026-03-10\n")
    with pytest.raises(TransferError, match="a table without the columns speaker, text and timestamp"):
        import_file(tmp_path / "x.csv", dry_run=True)
