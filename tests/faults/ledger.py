"""What hosts were told, held against what is stored: nothing acknowledged is lost, nothing is there twice."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence

from sqlalchemy import select

from core.database import schema
from core.database.engine import Database
from core.lifelong import table_runs
from tests.faults.host import PERSON, Told
from tests.store.world import index_differences, rows_of, verify_index

TEXTS = {
    "message": (schema.chat_history_cache, "message_text"), "import": (schema.chat_history_cache, "message_text"),
    "break": (schema.chat_history_cache, "message_text"), "item": (schema.memories, "content"),
    "saved": (schema.memories, "content"), "entry": (schema.ai_diary, "content"),
    "turn": (schema.short_term_memories, "messages"), "job": (schema.memory_jobs, "payload"),
    "version": (schema.running_recaps, "content"),
}  # fmt: skip
"""Where the text of each kind of write stands."""
IDS = {
    "message": schema.chat_history_cache, "item": schema.memories, "saved": schema.memories,
    "entry": schema.ai_diary, "job": schema.memory_jobs, "break": schema.scenes,
}  # fmt: skip
"""Where the id of each kind of write stands."""


def wrong(db: Database, persona: str, told: Sequence[Told]) -> list[str]:
    found = [*_texts(db, persona, told), *_ids(db, persona, told), *_numbers(db, persona, told)]
    return [*found, *_once(db, persona), *index_differences(db, persona), *map(str, verify_index(db))]


def _texts(db: Database, persona: str, told: Iterable[Told]) -> Iterable[str]:
    stored: dict[str, Counter[str]] = {}
    for kind, (table, column) in TEXTS.items():
        texts = [str(getattr(row, column)) for row in rows_of(db, table, persona)]
        if kind not in stored:
            stored[kind] = Counter(mark for text in texts for mark in _marks(text))
    for each in told:
        if each.kind not in TEXTS:
            continue
        (mark,) = _marks(each.text)
        there = stored[each.kind][mark]
        most = 2 if each.kind in ("item", "saved") else 1  # what is saved, and what is consolidated of a message
        if each.state == "stored" and not there:
            yield f"lost: {each.kind} {each.text!r} was acknowledged"
        elif each.state in ("failed", "none") and there:
            yield f"there: {each.kind} {each.text!r} was refused ({each.error})"
        elif there > most:
            yield f"twice: {each.kind} {each.text!r} is there {there} times"


def _marks(text: str) -> list[str]:
    words = text.replace('"', " ").replace(",", " ").replace("}", " ").replace(".", " ").split()
    return [word for word in dict.fromkeys(words) if word[:1] == "x" and "q" in word and word[1:2].isdigit()]


def _ids(db: Database, persona: str, told: Iterable[Told]) -> Iterable[str]:
    there = {kind: {row.id for row in rows_of(db, table, persona)} for kind, table in IDS.items()}
    for each in told:
        if each.kind in IDS and each.state == "stored" and each.id not in there[each.kind]:
            yield f"lost: {each.kind} with the id {each.id} was acknowledged"
    ends = {row.id for row in rows_of(db, schema.conversation_summaries, persona)}
    waiting = " ".join(str(row.payload) for row in rows_of(db, schema.memory_jobs, persona))
    for each in told:
        if each.kind == "end" and each.state == "stored" and each.id not in ends and str(each.id) not in waiting:
            yield f"lost: the end {each.id} was acknowledged and nobody will summarise it"


def _numbers(db: Database, persona: str, told: Sequence[Told]) -> Iterable[str]:
    by, c = Counter((each.kind, each.state) for each in told), schema.counters.c
    asked = select(c.value).where(c.persona_id == persona, c.name == table_runs.STREAMS)
    ended = db.read(asked, source="counters")
    people = [row for row in rows_of(db, schema.user_relationships, persona) if row.user_id == PERSON]
    numbers = {"stream": ended[0].value if ended else 0, "person": people[0].interaction_count if people else 0}
    for kind, there in numbers.items():
        least = by[kind, "stored"]
        if not least <= there <= least + by[kind, "unsure"]:
            yield f"{kind}: counted {there}, acknowledged {least}, unsure {by[kind, 'unsure']}"


def _once(db: Database, persona: str) -> Iterable[str]:
    """Look for what must never be there twice, whoever wrote it."""
    memories = rows_of(db, schema.memories, persona)
    made = Counter((row.kind, row.content, row.conversation_key) for row in memories if row.source_message_ids)
    yield from (f"consolidated twice: {key}" for key, number in made.items() if number > 1)
    numbers: dict[str, list[int]] = {}
    for row in rows_of(db, schema.running_recaps, persona):
        numbers.setdefault(row.conversation_key, []).append(row.version)
    held = {row.conversation_key: row for row in rows_of(db, schema.conversations, persona)}
    for key, listed in numbers.items():
        if max(listed) + 1 != held[key].next_recap_version:
            yield f"the next version of {key} is {held[key].next_recap_version}, the newest is {max(listed)}"
    breaks = rows_of(db, schema.scenes, persona)
    recaps = Counter(row.type for row in rows_of(db, schema.memory_jobs, persona) if row.type == "SCENE_RECAP")
    if breaks and recaps["SCENE_RECAP"] != len(breaks):
        yield f"{len(breaks)} breaks and {recaps['SCENE_RECAP']} operations for them"
    tags = Counter(tag for row in memories for tag in _tags(row.tags))
    tags.update(tag for row in rows_of(db, schema.ai_diary, persona) for tag in _tags(row.context_tags))
    uses = {row.tag: row.uses for row in rows_of(db, schema.tags, persona)}
    for tag in tags.keys() | uses.keys():
        if tags[tag] != uses.get(tag, 0):
            yield f"tag {tag!r} is used {tags[tag]} times and counted {uses.get(tag, 0)} times"


def _tags(stored: str | None) -> list[str]:
    return [str(each) for each in json.loads(stored or "[]")]
