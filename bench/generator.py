"""The rows of a benchmark database, written as one file per table, in order of time.

Memories, as many chat rows, a tenth of diary entries, 1,000 conversations, 2 years.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TextIO

from bench.words import WORDS, tag_words, vocabulary, zipf_table
from core.database.dialects import microseconds
from core.index.entries import SEPARATOR

VERSION = 2
"""Raised whenever the generated rows change."""

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
DAYS = 730
PERSONA, OTHER_PERSONA = "default", "second"
CONVERSATIONS = 1000
PEOPLE = 3000
DIRECT, ELSEWHERE, SECOND = range(930, 955), range(955, 980), range(980, 1000)
"""Conversations that are direct messages, on another server, of the second persona; all others are seen."""
WITHOUT_CONVERSATION = 0.1
DIARY_A_DAY = 4
"""Diary entries of each of the newest days: a persona writes no more a day for having written for long."""
NULL = "\\N"
_START_US = microseconds(NOW - timedelta(days=DAYS))
_SPAN_US = DAYS * 86_400_000_000
_ID_START_US = microseconds(datetime(2020, 1, 1, tzinfo=UTC))

MEMORIES, DIARY, CHAT = 0, 1, 2
PERSONA_AUDIENCE, SERVER_AUDIENCE, OTHER_SERVER, SECOND_PERSONA, FIRST_DIRECT = 11, 12, 13, 14, 20

COLUMNS: dict[str, tuple[str, ...]] = {
    "audiences": ("audience_id", "persona_id", "kind", "server_id", "ref"),
    "participants": ("persona_id", "participant_key", "person_key", "display_name"),
    "conversations": (
        "id", "persona_id", "audience_id", "conversation_key", "interface", "chat_id", "server_id", "is_private",
        "direct_person_key", "title", "last_message_at", "created_at",
    ),
    "memories": (
        "id", "persona_id", "audience_id", "timestamp", "content", "text_folded", "author", "source", "tags", "scope",
        "conversation_key", "participant_key", "content_hash", "created_at", "updated_at",
    ),
    "ai_diary": (
        "id", "persona_id", "audience_id", "content", "personal_thought", "interaction_summary", "user_message",
        "text_folded", "emotions", "context_tags", "involved_users", "timestamp", "interface", "chat_id",
        "content_hash",
    ),
    "chat_history_cache": (
        "id", "persona_id", "audience_id", "interface_path", "message_id", "sender_id", "participant_key",
        "sender_name", "role", "message_text", "text_folded", "triggered_by", "timestamp", "content_hash",
    ),
    "tags": ("persona_id", "tag", "uses"),
    "counters": ("persona_id", "name", "value"),
}  # fmt: skip
"""Table to the columns of its file, which stand between tabs; `content_hash` is written in hex."""

Progress = Callable[[str], None]


@dataclass
class Place:
    """Where a row belongs."""

    persona: str
    audience: int
    key: str
    interface: str
    chat_id: str
    server: str = ""
    person: str | None = None


def place(number: int) -> Place:
    """Return a conversation by its number, below CONVERSATIONS."""
    interface = "discord" if number % 2 else "telegram_bot"
    if number in DIRECT:
        chat = f"u{number * 3}"
        person = f"{interface}/{chat}"
        return Place(PERSONA, FIRST_DIRECT + number, person, interface, chat, "", person)
    key, chat = f"{interface}/c{number}", f"c{number}"
    if number in ELSEWHERE:
        return Place(PERSONA, OTHER_SERVER, key, interface, chat, "guild2")
    if number in SECOND:
        return Place(OTHER_PERSONA, SECOND_PERSONA, key, interface, chat)
    return Place(PERSONA, SERVER_AUDIENCE, key, interface, chat)


class Generator:
    """Makes the rows of one size.

    Args:
        size: memories, and chat rows.
    """

    def __init__(self, size: int, *, words: int = WORDS, progress: Progress = lambda _: None) -> None:
        self.size = size
        self.progress = progress
        self.words = vocabulary(words)
        self.tags = tag_words(self.words)
        self._word_table = zipf_table(len(self.words))
        self._tag_table = zipf_table(len(self.tags), 1 << 18)
        self._conversations = [place(n) for n in range(CONVERSATIONS)]
        self._last: dict[str, str] = {}
        self._uses: dict[str, Counter[str]] = {}

    def write(self, folder: Path) -> None:
        """Write all files; the same bytes every time."""
        folder.mkdir(parents=True, exist_ok=True)
        for kind, table, count, row in (
            (MEMORIES, "memories", self.size, self._memory),
            (DIARY, "ai_diary", max(1, self.size // 10), self._entry),
            (CHAT, "chat_history_cache", self.size, self._message),
        ):
            self.progress(f"making {count:,} rows of {table}")
            with open_file(folder, table) as file:
                file.writelines(self._rows(kind, count, row))
        self._small(folder)

    # Rows

    def _rows(self, kind: int, count: int, row: Callable[..., list[str]]) -> Iterator[str]:
        rng = random.Random(1000 * self.size + kind)
        for number, at in enumerate(_times(rng, count, DIARY_A_DAY if kind == DIARY else 0)):
            where = self._conversations[int(rng.random() * CONVERSATIONS)]
            row_id = ((at - _ID_START_US) // 1000 << 22) + (kind << 20) + (number & 0xFFFFF)
            moment = datetime.fromtimestamp(at // 1_000_000, UTC)
            shown = f"{moment:%Y-%m-%d %H:%M:%S}.{at % 1_000_000:06d}"
            yield "\t".join(row(rng, number, row_id, where, shown)) + "\n"

    def _text(self, rng: random.Random, least: int, most: int) -> tuple[str, str]:
        """Return a text, and the same folded."""
        numbers = rng.choices(self._word_table, k=rng.randint(least, most))
        words = self.words
        folded = " ".join([words[n] for n in numbers])
        return folded[0].upper() + folded[1:] + ".", folded + "."

    def _tagged(self, rng: random.Random, persona: str) -> str:
        numbers = list(dict.fromkeys(rng.choices(self._tag_table, k=rng.randint(2, 3))))
        texts = [self.tags[n] for n in numbers]
        self._uses.setdefault(persona, Counter()).update(texts)
        return json.dumps(texts)

    def _memory(self, rng: random.Random, number: int, row_id: int, where: Place, at: str) -> list[str]:
        said, folded = self._text(rng, 10, 14)
        tags = self._tagged(rng, where.persona)
        audience, key = where.audience, where.key
        if where.audience == SERVER_AUDIENCE and rng.random() < WITHOUT_CONVERSATION:
            audience, key = PERSONA_AUDIENCE, NULL
        who = _person(where, rng)
        fields = [
            str(row_id),
            where.persona,
            str(audience),
            at,
            said,
            folded,
            "synth",
            "chat",
            tags,
            "general",
            key,
            who,
        ]
        return [*fields, _digest(folded), at, at]

    def _entry(self, rng: random.Random, number: int, row_id: int, where: Place, at: str) -> list[str]:
        texts = [self._text(rng, *size) for size in ((10, 14), (5, 8), (5, 8), (6, 10))]
        tags = self._tagged(rng, where.persona)
        folded = SEPARATOR.join(t[1] for t in texts)
        who = json.dumps([_person(where, rng)])
        fields = [str(row_id), where.persona, str(where.audience), *(t[0] for t in texts), folded, "[]", tags, who, at]
        return [*fields, where.interface, where.chat_id, _digest(texts[0][1])]

    def _message(self, rng: random.Random, number: int, row_id: int, where: Place, at: str) -> list[str]:
        said, folded = self._text(rng, 10, 14)
        who = _person(where, rng)
        sender = who.partition("/")[2]
        told = [sender, who, f"Person {sender}", "user"] if rng.random() < 0.6 else ["self", NULL, "Iris", "persona"]
        answers = NULL if told[3] == "user" else who
        self._last[where.key] = at
        fields = [
            str(row_id),
            where.persona,
            str(where.audience),
            where.key,
            f"m{number}",
            *told,
            said,
            folded,
            answers,
            at,
        ]
        return [*fields, _digest(folded)]

    # What does not grow with the size

    def _small(self, folder: Path) -> None:
        with open_file(folder, "audiences") as file:
            file.writelines(_audiences(self._conversations))
        with open_file(folder, "conversations") as file:
            file.writelines(self._conversation_rows())
        with open_file(folder, "participants") as file:
            people = {(p.persona, _person(p, None, n)) for p in self._conversations for n in range(3)}
            file.writelines(f"{o}\t{who}\t{who}\tPerson {who.partition('/')[2]}\n" for o, who in sorted(people))
        with open_file(folder, "tags") as file:
            for persona, uses in sorted(self._uses.items()):
                file.writelines(f"{persona}\t{tag}\t{count}\n" for tag, count in sorted(uses.items()))
        with open_file(folder, "counters") as file:
            file.writelines(f"{persona}\ttag_vocabulary\t1\n" for persona in sorted(self._uses))

    def _conversation_rows(self) -> Iterator[str]:
        made = f"{NOW - timedelta(days=DAYS):%Y-%m-%d %H:%M:%S}.000000"
        for number, p in enumerate(self._conversations):
            private = int(p.person is not None)
            fields = [
                number + 1,
                p.persona,
                p.audience,
                p.key,
                p.interface,
                p.chat_id,
                p.server,
                private,
                p.person or NULL,
            ]
            yield "\t".join(map(str, [*fields, f"Room {number}", self._last.get(p.key, NULL), made])) + "\n"


def _person(where: Place, rng: random.Random | None, number: int = 0) -> str:
    """Return one of the three people of a conversation; a direct message has one."""
    if where.person is not None:
        return where.person
    chosen = number if rng is None else int(rng.random() * 3)
    return f"{where.interface}/u{int(where.chat_id[1:]) * 3 + chosen}"


def _times(rng: random.Random, count: int, a_day: int) -> Iterator[int]:
    """Yield rising times of `count` rows up to NOW; with `a_day` the newest 10 days have that many each."""
    newest = min(count // 2, 10 * a_day)
    tail_us = 10 * 86_400_000_000 if newest else 0
    for rows, start, span in (
        (count - newest, _START_US, _SPAN_US - tail_us),
        (newest, _START_US + _SPAN_US - tail_us, tail_us),
    ):
        slot = span // max(rows, 1)
        for number in range(rows):
            yield start + number * slot + int(rng.random() * 0.9 * slot)


def open_file(folder: Path, table: str) -> TextIO:
    """Return the file of a table, open for writing."""
    return (folder / f"{table}.tsv").open("w", encoding="utf-8", newline="\n", buffering=1 << 20)


def _digest(folded: str) -> str:
    return hashlib.sha256(folded.encode()).hexdigest()


def _audiences(conversations: Sequence[Place]) -> Iterator[str]:
    yield f"{PERSONA_AUDIENCE}\t{PERSONA}\tpersona\t\t\n"
    made: set[int] = set()
    for p in conversations:
        if p.audience not in made:
            made.add(p.audience)
            kind = "server" if p.person is None else "direct"
            yield f"{p.audience}\t{p.persona}\t{kind}\t{p.server}\t{p.person or ''}\n"
