"""Who said what when (R21), wherever the words stand: all of them come in, and nothing else does."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.errors import TransferError
from core.transfer.formats import find_export
from core.transfer.imports import import_file
from core.transfer.shapes import Left, Line, Read, Reading

HEADS: dict[str, Any] = {
    "discord": lambda *messages: {
        "guild": {"id": "900"}, "channel": {"id": "7", "type": "GuildTextChat", "name": "g"},
        "messages": [{"id": str(n), "timestamp": "2026-03-10T12:00:00Z", "author": {"id": "1", "name": "Ann"}, **each}
                     for n, each in enumerate(messages)],
    },
    "slack": lambda *messages: [{"ts": f"17488584{n:02}.000100", "user": "U1", **each}
                                for n, each in enumerate(messages)],
    "gemini": lambda *entries: [{"header": "Gemini", "products": ["Gemini"], "time": "2026-03-10T12:00:00Z", **each}
                                for each in entries],
    "openwebui": lambda *messages: [{"id": "w", "chat": {"history": {"messages": {
        str(n): {"id": str(n), "parentId": str(n - 1) if n else None, "role": "assistant", "timestamp": 1700000000 + n,
                 **each} for n, each in enumerate(messages)}}}}],
}  # fmt: skip


def _section(*elements: Any) -> dict[str, Any]:
    made = [{"type": "text", "text": each} if isinstance(each, str) else each for each in elements]
    return {"type": "rich_text_section", "elements": made}


BLOCKS = [
    {"type": "header", "text": {"type": "plain_text", "text": "Menu <b>"}},
    {"type": "section", "text": {"type": "mrkdwn", "text": "Ask <@U2>"},
     "fields": [{"type": "mrkdwn", "text": "today"}]},
    {"type": "rich_text", "elements": [
        _section("bring ", {"type": "link", "url": "https://x.org", "text": "this"}, " ",
                 {"type": "emoji", "name": "tea"}),
        {"type": "rich_text_list", "elements": [_section("oats"), _section("milk")]}]},
    {"type": "context", "elements": [{"type": "image", "image_url": "x"}, {"type": "plain_text", "text": "at noon"}]},
]  # fmt: skip
SHOWN = "Menu <b>\nAsk @U2\ntoday\nbring this (https://x.org) :tea:\n- oats\n- milk\nat noon"
EMBED = {"author": {"name": "News"}, "title": "Rain", "description": "at noon", "footer": {"text": "by Cleo"}}
ANSWER = [{"html": "<p>Noon.</p>"}]


@pytest.mark.parametrize(("program", "messages", "texts", "left"), [
    ("slack", [{"text": "", "blocks": BLOCKS}], [SHOWN], 0),
    ("slack", [{"text": "", "attachments": [{"fallback": "[no preview]", "blocks": BLOCKS}]}], [SHOWN], 0),
    ("slack", [{"text": "", "blocks": [{"type": "image"}, 7]}], [], 1),
    ("discord", [{"content": "", "embeds": [EMBED]}], ["News\nRain\nat noon\nby Cleo"], 0),
    ("discord", [{"content": "", "forwardedMessage": {"content": "", "embeds": [EMBED]}}],
     ["News\nRain\nat noon\nby Cleo"], 0),
    ("discord", [{"content": "", "forwardedMessage": {"content": "see", "attachments": []}}], ["see"], 0),
    ("openwebui", [{"content": None, "output": [
        {"type": "reasoning", "content": [{"type": "output_text", "text": "hm"}]},
        {"type": "message", "content": [{"type": "output_text", "text": "255"}]}]}], ["255"], 0),
    ("openwebui", [{"content": "a"}, {"content": None, "output": [{"type": "function_call", "name": "f"}]}],
     ["a"], 1),
    *(("gemini", [{"title": f"{label}Wann ist Mittag: heute?", "safeHtmlItem": ANSWER},
                  {"title": f"{label}Und du?"}, {"title": "Feedback: gut"}],
       ["Wann ist Mittag: heute?", "Noon.", "Und du?"], 1)
      for label in ("Prompted ", "Eingegebener Prompt: ", "Eingegebener Prompt:\u00a0", "Requête envoyée : ",
                    "Petición enviada: ", "Preguntaste ", "送信したメッセージ: ")),
    ("gemini", [{"title": "Tea: the question: yes", "safeHtmlItem": ANSWER}],
     ["Tea: the question: yes", "Noon."], 0),
])  # fmt: skip
def test_r21_all_words_come_in(tmp_path: Path, program: str, messages: list[Any], texts: list[str], left: int) -> None:
    folder = tmp_path / "general"
    folder.mkdir()
    if program == "slack":
        (tmp_path / "users.json").write_text("[]")
        (tmp_path / "channels.json").write_text('[{"id": "C1", "name": "general"}]')
    (folder / "2026-03-10.json").write_text(json.dumps(HEADS[program](*messages)))
    counted, lines = _read(tmp_path, program)
    assert ([line.text for line in lines], counted) == (texts, left)


def _read(path: Path, program: str) -> tuple[int, list[Line]]:
    files = find_export(path)
    assert files is not None and files.format == program
    reads: list[Read] = [read for _, read in files.read(Reading())]
    assert all(isinstance(read, (Line, Left)) for read in reads)
    left = sum(read.count for read in reads if isinstance(read, Left))
    return left, [read for read in reads if isinstance(read, Line)]


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


@pytest.mark.parametrize(("program", "content"), [
    ("librechat", json.dumps({**LIBRE, "messages": SAID})),
    ("librechat", json.dumps({**LIBRE, "recursive": True, "messages": [{**SAID[0], "children": [SAID[1]]}]})),
    ("llamacpp", json.dumps({"conv": CONV, "messages": TURNS})),
    ("llamacpp", json.dumps([{"conv": CONV, "messages": TURNS}])),
])  # fmt: skip
def test_r21_who_said_what_when(tmp_path: Path, program: str, content: str) -> None:
    (tmp_path / "c.json").write_text(content)
    _, lines = _read(tmp_path / "c.json", program)
    said = [(f"{line.at:%Y-%m-%d %H:%M}", line.speaker and line.speaker.name, line.text) for line in lines]
    assert (said, {line.room.id for line in lines}) == (ANSWERED, {"c1"})


def test_f76_a_refused_table_says_which_columns_it_needs(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("who,what,when\nAnn,hi,2026-03-10\n")
    with pytest.raises(TransferError, match="a table without the columns speaker, text and timestamp"):
        import_file(tmp_path / "x.csv", dry_run=True)
