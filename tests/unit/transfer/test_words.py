"""Words that stand elsewhere than in the usual field of a message: all of them come in, and nothing else does (R21)."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from core.transfer.formats import find_export
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
    return {"type": "rich_text_section", "elements": list(elements)}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


BLOCKS = [
    {"type": "header", "text": {"type": "plain_text", "text": "Menu <b>"}},
    {"type": "section", "text": {"type": "mrkdwn", "text": "Ask <@U2>"},
     "fields": [{"type": "mrkdwn", "text": "today"}]},
    {"type": "rich_text", "elements": [
        _section(_text("bring "), {"type": "link", "url": "https://x.org", "text": "this"}, _text(" "),
                 {"type": "emoji", "name": "tea"}),
        {"type": "rich_text_list", "elements": [_section(_text("oats")), _section(_text("milk"))]}]},
    {"type": "context", "elements": [{"type": "image", "image_url": "x"}, {"type": "plain_text", "text": "at noon"}]},
]  # fmt: skip
SHOWN = "Menu <b>\nAsk @U2\ntoday\nbring this (https://x.org) :tea:\n- oats\n- milk\nat noon"
EMBED = {"author": {"name": "News"}, "title": "Rain", "description": "at noon", "footer": {"text": "by Cleo"}}
ANSWER = [{"html": "<p>Noon.</p>"}]


@pytest.mark.parametrize(
    ("program", "messages", "texts", "left"),
    [
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
    ],
)  # fmt: skip
def test_r21_words_come_in_wherever_they_stand(
    tmp_path: Path, program: str, messages: list[Any], texts: list[str], left: int
) -> None:
    folder = tmp_path / "general"
    folder.mkdir()
    if program == "slack":
        (tmp_path / "users.json").write_text("[]")
        (tmp_path / "channels.json").write_text('[{"id": "C1", "name": "general"}]')
    (folder / "2026-03-10.json").write_text(json.dumps(HEADS[program](*messages)))
    counts, lines = _read(tmp_path, program)
    assert ([line.text for line in lines], sum(counts.values())) == (texts, left)


def _read(path: Path, program: str) -> tuple[Counter[str], list[Line]]:
    files = find_export(path)
    assert files is not None and files.format == program
    reads: list[Read] = [read for _, read in files.read(Reading())]
    left: Counter[str] = Counter()
    for read in reads:
        left.update({read.reason: read.count} if isinstance(read, Left) else {})
    return left, [read for read in reads if isinstance(read, Line)]
