"""What the tests of whole prompts share: one persona with its rows, and the message that asks for a prompt."""

import itertools
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

from sqlalchemy import select

from core import Scope, ai_diary, chat_history_cache, explain_json_prompt, insert_memory
from core.access.rules import split_key
from core.config import Settings
from core.database.engine import Database
from core.database.registry import REGISTRY
from core.database.schema_base import metadata
from tests.store.world import NOW

HERE, ELSEWHERE = "tg/42", "tg/43"
_personas = itertools.count(1)
MINUTE = timedelta(minutes=1)
_CALL = (
    "interface_name", "image_data", "attachments", "max_chars", "limit_tokens", "counter",
    "destination", "db", "replacing", "settings", "scope",
)  # fmt: skip


class Stage:
    """One persona of its own in a shared database, so that tests do not see each other's rows."""

    def __init__(self, db: Database | None, persona: str | None = None) -> None:
        self.db = db
        self.persona = persona or f"stage{next(_personas)}"

    def scope(self, conversation: str | None = None, **fields: Any) -> Scope:
        return Scope(persona=self.persona, conversation=conversation, **fields)

    def asking(self, conversation: str | None = None, participant: str | None = None, **more: Any) -> dict[str, Any]:
        """Return database, settings and scope of a call; flags in upper case are settings, the rest is the scope's."""
        flags = {name.lower(): more.pop(name) for name in list(more) if name.isupper()}
        scope = self.scope(conversation, participant=participant, **more)
        return {"db": self.db, "settings": Settings(**flags), "scope": scope}

    def say(
        self, text: str, path: str = HERE, who: str = "Ann", minutes: float = 60, message_id: str | None = None,
        **scope: Any,
    ) -> int:  # fmt: skip
        """Store a line said some minutes ago; the sender `self` is the persona."""
        sender = "self" if who == "self" else who.lower()
        fields = {"participant": f"{split_key(path)[0]}/{sender}", **scope}
        extra = {name: fields.pop(name) for name in ("metadata", "title", "role") if name in fields}
        asking = {**self.asking(path, **fields), **extra, "message_id": message_id}
        result = chat_history_cache.save_chat_message(path, text, who, sender, NOW - minutes * MINUTE, **asking)
        assert result.stored and result.id is not None, result
        return result.id

    def say_all(self, texts: Iterable[str], *at: str, minutes: float = 60, step: float = 1, **more: Any) -> list[int]:
        return [self.say(text, *at, minutes=minutes - step * n, **more) for n, text in enumerate(texts)]

    def remember(self, text: str, tags: Any = (), minutes: float = 60, path: str | None = None, **more: Any) -> int:
        asking = self.asking(path, **{k: more.pop(k) for k in ("participant", "server", "privacy") if k in more})
        moment = NOW - minutes * MINUTE
        return insert_memory(text, "synth", "chat", list(tags), timestamp=moment, **asking, **more)

    def diary(self, content: str, minutes: float = 60, path: str | None = None, **parts: Any) -> int:
        moment = NOW - minutes * MINUTE
        result = ai_diary.add_diary_entry(content, timestamp=moment, **self.asking(path), **parts)
        assert result.id is not None, result
        return result.id

    def explain(
        self, text: Any = "hello", context_memory: Any = None, *arguments: Any, **more: Any
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return prompt and report for a message; flags in upper case are settings, the rest as the door takes it."""
        flags = {name.lower(): more.pop(name) for name in list(more) if name.isupper()}
        call = {name: more.pop(name) for name in list(more) if name in _CALL}
        asked = message(text, **more)
        settings = call.pop("settings", None) or Settings(**flags)
        scope = call.pop("scope", None) or Scope(persona=self.persona)
        return explain_json_prompt(
            asked, context_memory, *arguments, db=call.pop("db", self.db), settings=settings, scope=scope, **call
        )

    def prompt(self, text: Any = "hello", context_memory: Any = None, *arguments: Any, **more: Any) -> dict[str, Any]:
        return self.explain(text, context_memory, *arguments, **more)[0]

    def context(self, text: Any = "hello", context_memory: Any = None, *arguments: Any, **more: Any) -> dict[str, Any]:
        context: dict[str, Any] = self.explain(text, context_memory, *arguments, **more)[0]["context"]
        return context


def tables_with(db: Database, persona: str, word: str) -> set[str]:
    """Return the tables in whose texts a word stands, of those with a persona in hers."""
    found = set()
    for entry in REGISTRY:
        table = metadata.tables[entry.table]
        asked = select(*(table.c[name] for name in entry.texts))
        asked = asked.where(table.c.persona_id == persona) if entry.persona == "persona_id" else asked
        if entry.texts and word.lower() in str([tuple(row) for row in db.read(asked, source=entry.table)]).lower():
            found.add(entry.table)
    return found


def at_once(call: Callable[[], Any], times: int) -> list[Any]:
    with ThreadPoolExecutor(times) as pool:
        return [each.result() for each in [pool.submit(call) for _ in range(times)]]


def message(text: Any = "hello", path: str | None = HERE, **fields: Any) -> dict[str, Any]:
    who = fields.pop("who", "Ann")
    sender = {"id": who.lower(), "full_name": who, "username": who.lower()}
    made = {"message_id": "m-now", "date": NOW, "text": text, "from_user": sender, **fields}
    return made if path is None else {"interface_path": path, **made}


def said(lines: list[str]) -> list[str]:
    return [line[line.index('"') + 1 : -1] for line in lines]


def snippets(context: Mapping[str, Any]) -> list[str]:
    return [hit["snippet"] for hit in context["memories"]]


def failed(report: Mapping[str, Any]) -> list[str]:
    return list(dict.fromkeys(e["source"] for e in report["errors"]))


def reasons(report: Mapping[str, Any], section: str) -> list[str]:
    return [item["reason"] for item in report["left_out"] if item["section"] == section]
