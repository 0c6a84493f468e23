"""What is kept of a person at each level (F20, cell by cell), and that nothing is left of what was forgotten (F46)."""

import functools
import gc
import io
import json
import logging
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, insert, select, update

from core import explain_json_prompt, forget, jobs, lifelong, relationships, short_term, stories, synth_tagging
from core.ai_diary import add_diary_entry
from core.chat_history_cache import save_chat_message
from core.config import Settings
from core.conversations import add_saved_memory, close_conversation, export_markdown
from core.database import registry
from core.database.engine import Database
from core.database.schema import TABLES, memory_jobs, search_segment
from core.database.sources import MEMORIES
from core.index import indexed, packing, segment
from core.privacy import set_privacy
from core.synth_core_memory import search_memories, silently_record_memory
from core.transfer import export_items
from core.transfer.exports import export_chat
from tests.spec.stage import Stage, message
from tests.store.world import index_differences, verify_index

GROUP, HER, WORD = "tg/g1", "tg/ann", "zqharbour"
FLAGS = Settings(record_wishes=0)
LEVELS = ("none", "partial", "full")
HI = [{"role": "user", "content": "hi", "speaker": "Ann", "user_id": "ann"}]
FACT = {"text": "Ann likes tea", "tier": "long_term"}
CANARY = "zqcanary"
WHO, BOB, ROOM, OTHER = f"{CANARY}ann", "bob", f"tg/{CANARY}room", "tg/lobby"
ANN = f"tg/{WHO}"
SETTINGS = Settings()
NOT_OF_A_CONVERSATION = {"participants", "user_relationships"}
OF_A_MEMORY = {"memories", "item_history", "tags", "tag_aliases", "tag_links", "search_fresh",
               "search_block", "stored_values"}  # fmt: skip
OF_FRESH, OF_PACKED = {"search_fresh"}, {"search_block"}


class Cell:
    """One persona in which Ann has a level and everybody has spoken before it was set."""

    def __init__(self, stage: Stage, level: str) -> None:
        self.stage = stage
        self.given = {"db": stage.db, "settings": FLAGS, "scope": stage.scope(GROUP, participant=HER)}
        self.asked: list[str] = []
        stage.say("Bob talks of boats and trains here", GROUP, "Bob", minutes=50)
        self.hers = stage.say(f"Ann talks of the {WORD} and of tea", GROUP, minutes=45)
        self.last = stage.say("Bob has something to add to that", GROUP, "Bob", minutes=40)
        set_privacy(HER, level, **self.given)

    def model(self, messages: list[dict[str, str]]) -> str:
        """Answer with what was read, so that what a text was made of is seen in it."""
        self.asked.append(messages[-1]["content"])
        said = f"They talk of the {WORD}." if WORD in self.asked[-1] else "They talk of boats."
        keys = ("title", "summary", "recap", "memory")
        return json.dumps({**dict.fromkeys(keys, said), "developments": [said], "key_facts": [said]})

    def count(self, table: str) -> int:
        t = TABLES[table]
        chosen = select(func.count()).select_from(t).where(t.c.persona_id == self.stage.persona)
        return int(self.stage.db.read(chosen, source=table)[0][0])

    def texts(self, table: str) -> str:
        t = TABLES[table]
        return repr(self.stage.db.read(select(t).where(t.c.persona_id == self.stage.persona), source=table))

    def run(self, kind: str, **more: Any) -> None:
        jobs.enqueue_operation(kind, conversation=GROUP, **more, **self.given)
        jobs.run_pending(model=self.model, **self.given)


def _scene(cell: Cell) -> None:
    assert stories.add_scene_break(cell.last, **cell.given).stored
    jobs.run_pending(model=cell.model, **cell.given)


WRITERS: dict[str, tuple[str, tuple[int, int, int], Callable[[Cell], Any]]] = {
    "their line": ("chat_history_cache", (1, 1, 0), lambda c: save_chat_message(GROUP, "hi", "Ann", "ann", **c.given)),
    "the persona's answer": ("chat_history_cache", (1, 1, 0), lambda c: save_chat_message(
        GROUP, "the answer", "Iris", "self", triggered_by=HER, **c.given)),
    "short-term capture": ("short_term_memories", (1, 1, 0), lambda c: short_term.store_short_term_memory(
        "ann", GROUP, HI, interface="tg", **c.given)),
    "short-term summary": ("short_term_memories", (1, 1, 0), lambda c: short_term.update_short_term_memory(
        "ann", GROUP, "They talk of boats and tea.", interface="tg", **c.given)),
    "session item": ("memories", (1, 1, 0), lambda c: lifelong.add_facts_with_meta(
        [{**FACT, "tier": "session"}], **c.given)),
    "captured memory": ("memories", (1, 0, 0), lambda c: silently_record_memory("I like tea", "ok", **c.given)),
    "saved memory": ("memories", (1, 0, 0), lambda c: add_saved_memory("I like tea", **c.given)),
    "long-term item": ("memories", (1, 0, 0), lambda c: lifelong.add_facts_with_meta([FACT], **c.given)),
    "diary entry": ("ai_diary", (1, 1, 1), lambda c: add_diary_entry(
        "a day", user_message=WORD, involved_users=["Ann", "Bob"], **c.given)),
    "conversation summary": ("conversation_summaries", (1, 1, 1), lambda c: close_conversation(
        GROUP, c.model, wait=True, **c.given)),
    "message recap": ("message_recaps", (1, 1, 0), lambda c: c.run("RECAP", metadata={"message_id": c.hers})),
    "scene recap": ("scene_recaps", (1, 1, 1), _scene), "running recap": ("running_recaps", (1, 1, 1), _scene),
    "consolidated items": ("memories", (1, 1, 1), lambda c: c.run("CONSOLIDATION")),
}  # fmt: skip
"""Writer to its table, the rows it adds at none, partial and full, and what it does."""


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("level", LEVELS)
def test_f20_each_cell_of_the_table(db: Database, writer: str, level: str) -> None:
    cell = Cell(Stage(db), level)
    table, added, write = WRITERS[writer]
    before = cell.count(table)
    write(cell)
    assert cell.count(table) - before == added[LEVELS.index(level)]
    told = cell.texts(table) if table != "chat_history_cache" else ""
    holds = {"conversation summary": ("none", "partial"), "message recap": ("none", "partial"),
             "scene recap": ("none", "partial"), "running recap": ("none", "partial"), "diary entry": ("none",),
             "consolidated items": ("none",)}.get(writer)  # fmt: skip
    assert holds is None or (WORD in told) == (level in holds)
    shown = level in (holds or ()) or not cell.asked
    assert shown or not any(WORD in each for each in cell.asked), "not shown to a model either"
    names = [r for r in db.read(select(TABLES["participants"]), source="x") if r.persona_id == cell.stage.persona]
    assert {(r.participant_key, r.display_name) for r in names} >= {(HER, "" if level == "full" else "Ann")}
    levels = [r for r in db.read(select(TABLES["privacy_levels"]), source="x") if r.participant_key == HER]
    assert [r.level for r in levels] == [level]


class Planting:
    """Plants words that say where they were planted."""

    def __init__(self, stage: Stage) -> None:
        self.stage, self.db, self.persona = stage, stage.db, stage.persona
        self.given = {"db": stage.db, "settings": SETTINGS, "scope": stage.scope()}

    def word(self, where: str) -> str:
        return f"{CANARY}{where.replace('_', '')}"

    def put(self, table: str, where: Mapping[str, Any], *columns: str) -> None:
        t = TABLES[table]
        found = [t.c.persona_id == self.persona, *(t.c[name] == value for name, value in where.items())]
        values = {name: self._value(table, name) for name in columns}
        done = self.db.transaction(lambda c: c.execute(update(t).where(*found).values(values)).rowcount, source=table)
        assert done, (table, where)

    def add(self, table: str, **values: Any) -> int:
        t = TABLES[table]
        texts = {name: self._value(table, name) for name in registry.BY_TABLE[table].texts if name not in values}
        row = {"persona_id": self.persona, **texts, **values}
        row |= {"id": self.db.ids.one()} if "id" in t.c and "id" not in row else {}
        self.db.transaction(lambda c: c.execute(insert(t).values(row)), source=table)
        return int(row.get("id", 0))

    def _value(self, table: str, column: str) -> Any:
        word = self.word(table + column)
        return {"said": word} if type(TABLES[table].c[column].type).__name__ == "JsonText" else word

    def held(self) -> dict[tuple[str, str], str]:
        """Return table and column to one text of it that holds a canary, over the whole database."""
        found = {}
        for name, table in TABLES.items():
            for row in self.db.read(select(table), source=name):
                for column, value in row._mapping.items():
                    shown = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
                    if CANARY in shown.casefold():
                        found[name, str(column)] = shown[:80]
        return found

    def lines(self, path: str, who: str, **more: Any) -> tuple[int, int]:
        word = self.word("chat")
        row = self.stage.say(f"the {word} sings", path, who, message_id=f"{CANARY}1", metadata={"a": word}, **more)
        return row, self.stage.say("Bob listens quietly", path, BOB, minutes=30)

    def story(self, path: str, row: int, bob: int) -> None:
        here = {**self.given, "scope": self.stage.scope(path)}
        assert stories.add_scene_break(bob, self.word("scenename"), recap=False, **here).stored
        assert stories.set_scene_recap(bob, f"a {self.word('scene')}", **here).stored
        scene = next(r for r in self.rows("scenes") if r.break_row == bob)
        self.put("scene_recaps", {"scene_id": scene.id}, "metadata")
        index = len([r for r in self.rows("chat_history_cache") if r.interface_path == path]) - 1
        stories.add_running_recap_version(f"a {self.word('running')}", 1, 0, 0, index, conversation=path, **self.given)
        self.put("running_recaps", {"conversation_key": path}, "data")
        self.add("conversation_summaries", conversation_key=path, last_message_row=bob)
        self.add("message_recaps", message_row=row, alternative=-1, conversation_key=path)
        self.add("message_alternatives", message_row=row, alternative=0)

    def item(self, path: str | None, participant: str | None, **more: Any) -> int:
        tag = self.word("tag")
        row = self.stage.remember(
            f"a {self.word('content')}", [tag, "shared"], path=path, participant=participant, emotion=self.word("em"),
            **more,
        )  # fmt: skip
        columns = ("response_text", "author", "source", "scope", "emotion_state", "source_message_ids", "metadata")
        self.put("memories", {"id": row}, *(name for name in columns if name not in more))
        self.add("item_history", item_id=row)
        synth_tagging.add_alias(self.word("alias"), tag, **self.given)
        synth_tagging.link_tags(tag, self.word("linked"), **self.given)
        synth_tagging.link_tags(tag, "shared", **self.given)
        return row

    def diary(self, path: str | None, involved: list[str]) -> None:
        w = self.word
        self.stage.diary(
            w("entry"), path=path, personal_thought=w("thought"), emotions=[w("feels")], user_message=w("message"),
            interaction_summary=w("summary"), context_tags=[w("tag")], involved_users=involved,
        )  # fmt: skip
        self.put("ai_diary", {}, "source_message_ids", "participant_keys")

    def short(self, path: str, owner: str, *lines: tuple[str, str]) -> None:
        said = [{"role": "user", "content": text, "speaker": who, "user_id": who} for who, text in lines]
        given = {**self.given, "scope": self.stage.scope(path, participant=f"tg/{owner}", server="s1")}
        short_term.store_short_term_memory(owner, path, said, "s1", interface="tg", user_name=owner, **given)

    def rows(self, table: str) -> list[Any]:
        t = TABLES[table]
        key = next(iter(t.primary_key.columns))
        chosen = select(t).where(t.c.persona_id == self.persona).order_by(t.c.id if "id" in t.c else key)
        return list(self.db.read(chosen, source=table))


def plant_participant(p: Planting) -> dict[str, Any]:
    stage, w = p.stage, p.word
    row, bob = p.lines(OTHER, WHO, minutes=60)
    p.story(OTHER, row, bob)
    stage.say(f"secret {w('direct')}", ANN, WHO, privacy="direct", title=w("title"))
    p.put("conversations", {"conversation_key": ANN}, "server_name", "metadata")
    p.add("consolidation_runs", conversation_key=ANN)
    p.item(None, ANN)
    p.item(OTHER, None, source_message_ids=[row])
    p.diary(None, [ANN])
    stage.diary(
        "a walk", involved_users=[WHO, BOB], user_message=w("said"), personal_thought=f"{WHO} {w('kind')}",
        interaction_summary=f"with {WHO}",
    )  # fmt: skip
    quoted = {"reply_to": {"from_user": {"id": WHO, "full_name": WHO}, "text": f"the {w('chat')} sings"}}
    stage.say("indeed", OTHER, BOB, metadata=quoted)
    p.short(OTHER, WHO, (WHO, w("short")), (BOB, "hm"))
    p.put("short_term_memories", {}, "server_name", "channel_name")
    p.put("short_term_memories", {"channel_id": OTHER}, "summary")
    relationships.adjust(ANN, 5, username=w("username"), realname=w("realname"), **p.given)
    p.add("memory_jobs", type="HOST", participant_key=ANN)
    p.add("access_tokens", kind="scope", token_hash=bytes(32), participant_key=ANN)
    p.add("stored_values", kind="entry", audience_id=1, participant_key=ANN, namespace=w("space"), name=w("name"))
    p.add("memory_jobs", type="HOST", conversation_key=ANN)
    p.add("stored_values", kind="entry", audience_id=1, conversation_key=ANN, name=w("direct"))
    p.add("access_tokens", kind="scope", token_hash=bytes(32), conversation_key=ANN)
    texts = [{"text": w("handed"), "who": WHO, "participant": ANN}, {"text": "hm", "who": BOB, "participant": "tg/bob"}]
    job = {"payload": {"summary": 5, "last": bob, "rows": [None, None], "texts": texts}, "depends_on": None}
    p.add("memory_jobs", type="CONVERSATION_SUMMARY", conversation_key=OTHER, error=None, **job)
    add_saved_memory(f"I like {w('saved')}", db=p.db, settings=SETTINGS, scope=stage.scope(participant=ANN))
    return {"participant": ANN}


def plant_conversation(p: Planting) -> dict[str, Any]:
    stage, w = p.stage, p.word
    stage.say("quite other things", OTHER, "carol")
    row, bob = p.lines(ROOM, "carol", minutes=60, title=w("title"), server="s1")
    p.put("conversations", {"conversation_key": ROOM}, "server_name", "metadata")
    named = (ROOM, "hm", f"{CANARY}name", "carol")
    assert save_chat_message(*named, db=p.db, settings=SETTINGS, scope=stage.scope(ROOM, server="s1")).stored
    p.story(ROOM, row, bob)
    p.add("consolidation_runs", conversation_key=ROOM)
    p.item(ROOM, "tg/carol")
    p.item(None, None, source_message_ids=[row])
    p.diary(ROOM, ["carol", f"{CANARY}guest"])
    p.short(ROOM, "carol", ("carol", w("short")))
    p.put("short_term_memories", {"channel_id": ROOM}, "server_name", "channel_name", "summary")
    p.add("memory_jobs", type="HOST", conversation_key=ROOM)
    p.add("access_tokens", kind="scope", token_hash=bytes(32), participant_key="tg/carol", conversation_key=ROOM)
    p.add("stored_values", kind="entry", audience_id=1, conversation_key=ROOM, namespace=w("space"), name=w("name"))
    # A name goes by its person, whom nobody forgets here.
    for table, column in (("participants", "display_name"), ("user_relationships", "username")):
        names = TABLES[table]
        change = update(names).where(names.c.persona_id == p.persona).values({column: "someone"})
        p.db.transaction(lambda c, change=change: c.execute(change), source="participants")
    return {"conversation": ROOM}


def plant_memory(p: Planting) -> dict[str, Any]:
    p.stage.say("quite other things", OTHER, BOB)
    item = p.item(None, None)
    former = p.stage.remember(f"a {p.word('former')}")
    change = lambda c: indexed.set_columns(c, p.db, MEMORIES, p.persona, [former], superseded_by=item)  # noqa: E731
    p.db.transaction(change, source="memories")
    p.add("stored_values", kind="entry", audience_id=1, memory_id=item, name=p.word("name"))
    return {"memory": item}


def asked(stage: Stage, *paths: str) -> str:
    shown = []
    for path in paths:
        for text in ("what sings in the choir? shared tag", "what did we do on that walk, and who is Bob?"):
            asking = message(text, path, who="Bob")
            made = explain_json_prompt(asking, {}, db=stage.db, settings=SETTINGS, scope=stage.scope())
            shown.append(json.dumps(made, default=str, ensure_ascii=False))
    return "\n".join(shown)


def kept_in_process(db: Database) -> list[str]:
    """Return canaries in caches of the handle, and in every cache of a function of the package."""
    found: list[str] = []
    seen: set[int] = set()

    def walk(value: Any, where: str, depth: int = 0) -> None:
        if isinstance(value, (int, float, type(None))) or id(value) in seen or depth > 12:
            return
        seen.add(id(value))
        if isinstance(value, (str, bytes)):
            text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
            if CANARY in text.casefold():
                found.append(f"{where}: {text[:80]}")
        elif not isinstance(value, (type, Database)) and not callable(value) and type(value).__name__ != "module":
            for each in gc.get_referents(value):
                walk(each, where, depth + 1)

    walk(dict(db.caches), "db.caches")
    for name, module in list(sys.modules.items()):
        for attribute, value in list(vars(module).items()) if name.startswith("core") else ():
            if isinstance(value, functools._lru_cache_wrapper):
                for each in gc.get_referents(value):
                    walk(each, f"{name}.{attribute}")
            elif attribute.startswith("_") and isinstance(value, (dict, list, set)) and attribute != "__builtins__":
                walk(value, f"{name}.{attribute}")
    return found


def pack(p: Planting) -> None:

    def work(connection: Any) -> None:
        for row in p.rows("audiences"):
            packing.pack_fresh(connection, row.audience_id)

    p.db.transaction(work, source="the search index")


def packed_names(p: Planting) -> str:
    """Return who spoke and where, as the packed parts of the index say it; they are stored compressed."""
    heads = p.db.read(select(search_segment.c.head).where(search_segment.c.segment_id > 0), source="search_segment")
    rows = [segment.read_head(bytes(row[0])) for row in heads]
    return json.dumps([[*each.threads, *each.speakers] for each in rows]).casefold()


@pytest.mark.parametrize("is_packed", [False, True], ids=["", "packed"])
@pytest.mark.parametrize(("case", "plant", "is_of"), [
    ("participant", plant_participant, lambda table: True),
    ("conversation", plant_conversation, lambda table: table not in NOT_OF_A_CONVERSATION),
    ("memory", plant_memory, lambda table: table in OF_A_MEMORY),
])  # fmt: skip
def test_f46_a_canary_in_every_text_column_is_nowhere_afterwards(
    case: str, plant: Any, is_of: Any, is_packed: bool, db: Database, tmp_path: Path, caplog: Any
) -> None:
    stage = Stage(db)
    p = Planting(stage)
    what = plant(p)
    if is_packed:
        pack(p)
        assert case == "memory" or CANARY in packed_names(p)
    elsewhere = OF_FRESH if is_packed else OF_PACKED
    wanted = {(e.table, column) for e in registry.REGISTRY for column in e.texts if is_of(e.table)}
    wanted = {(table, column) for table, column in wanted if table not in elsewhere}
    assert wanted - set(p.held()) == set(), "plant something in these columns, and let it be forgotten"
    assert index_differences(db, stage.persona) == []
    folder = tmp_path / "files"
    files = {"db": db, "settings": SETTINGS, "scope": stage.scope()}
    export_markdown(folder, **files)
    if case == "participant":
        assert CANARY in "".join(path.read_text() for path in folder.glob("*.md"))
    search_memories(keywords=[CANARY], **files)
    asked(stage, OTHER, ROOM, ANN)
    stage.prompt(f"what of {p.word('content')} and {WHO}?", path=OTHER, db=db)
    caplog.clear()
    with caplog.at_level(logging.INFO):
        done = forget(**what, db=db, settings=SETTINGS, scope=stage.scope())
    assert CANARY not in caplog.text.casefold() and "forgotten" in caplog.text
    assert done.total and CANARY not in json.dumps(done.as_dict()).casefold().replace(str(folder).casefold(), "")
    assert p.held() == {} and CANARY not in packed_names(p) and kept_in_process(db) == []
    assert [path for path in folder.rglob("*") if CANARY in path.read_text().casefold()] == []
    assert CANARY not in asked(stage, OTHER).casefold()
    out = io.BytesIO()
    export_chat(out, conversation=OTHER, **files)
    assert CANARY not in out.getvalue().decode().casefold()
    assert CANARY not in "".join(export_items(**files)).casefold()
    waiting = [row.payload for row in p.rows("memory_jobs") if row.type == "CONVERSATION_SUMMARY"]
    assert case != "participant" or any("tg/bob" in payload for payload in waiting)
    assert (index_differences(db, stage.persona), verify_index(db)) == ([], [])
    drop = memory_jobs.delete().where(memory_jobs.c.persona_id == stage.persona)
    db.transaction(lambda c: c.execute(drop), source="memory_jobs")


@pytest.mark.parametrize("level", LEVELS)
def test_f46_at_each_level_everything_of_a_person_is_found(level: str, db: Database) -> None:
    cell = Cell(Stage(db), level)
    for write in dict.fromkeys(write for _, _, write in WRITERS.values()):
        write(cell)
    add_diary_entry(f"She spoke of the {WORD}", user_message="tea", involved_users=["Ann"], **cell.given)
    forget(participant="tg/ann", **cell.given)
    for name in (name for name, table in TABLES.items() if "persona_id" in table.c):
        assert not re.search(rf"\b({WORD}|ann|tea)\b", cell.texts(name), re.IGNORECASE), name
    assert index_differences(db, cell.stage.persona) == []
