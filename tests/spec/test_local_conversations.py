"""F18: a whole conversation that stays on this machine, with what was said in it and what is made of it."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from sqlalchemy import select

from core import conversations, jobs, lifelong, short_term, stories
from core.ai_diary import get_recent_entries
from core.chat_history_cache import load_chat_history, load_global_chat_history
from core.config import Settings
from core.database.schema_base import metadata
from core.errors import MessageError
from core.privacy import set_conversation_local_only, set_conversation_privacy
from core.scope import Scope
from core.synth_core_memory import search_memories
from tests.spec.stage import ELSEWHERE, HERE, NOW, Stage
from tests.spec.test_injection import FLAGS, plant
from tests.store.world import verify_index

pytestmark = pytest.mark.engines("sqlite", "mariadb", extras=True)

WORD = "zqlocal"
PLACES = (HERE, ELSEWHERE, "tg/44")
MARKED = ("conversations", "memories", "ai_diary", "conversation_summaries", "short_term_memories")
TABLES = ("chat_history_cache", *MARKED)


class InOnePlace(Stage):
    """What is remembered and noted comes from a conversation."""

    def say(self, text: str, path: str = HERE, who: str = "Ann", minutes: float = 60, message_id: str | None = None,
            **scope: Any) -> int:  # fmt: skip
        return super().say(text, path, who, minutes, message_id and f"{message_id}{text}", **scope)

    def remember(self, text: str, tags: Any = (), minutes: float = 60, path: str | None = HERE, **more: Any) -> int:
        return super().remember(text, tags, minutes, path, **more)

    def diary(self, content: str, minutes: float = 60, path: str | None = HERE, **parts: Any) -> int:
        return super().diary(content, minutes, path, **parts)


def marks(stage: Stage, conversation: str, local: bool = True, **more: Any) -> dict[str, int]:
    """Mark a conversation as an operator does."""
    by: dict[str, Any] = {"db": stage.db, "settings": Settings(), "scope": Scope(stage.persona), **more}
    return set_conversation_local_only(conversation, local, **by)


def stored(stage: Stage, table: str, where: str | None = None) -> list[int]:
    t = metadata.tables[table]
    chosen = select(t.c.local_only).where(t.c.persona_id == stage.persona).order_by(t.c.id)
    if where is not None:
        chosen = chosen.where(t.c.conversation_key == where)
    return [int(row[0]) for row in stage.db.read(chosen, source=table)]


def shown(stage: Stage, destination: Any) -> str:
    """Return what a prompt of another conversation, and the readers, show there."""
    scope = stage.scope("tg/77", participant="tg/bob", destination=destination)
    by: dict[str, Any] = {"db": stage.db, "settings": Settings(**FLAGS), "scope": scope}
    asked = stage.context(f"tofu {WORD}", path="tg/77", who="Bob", **by)
    asked.pop("relationship", None)
    return json.dumps(asked, default=str) + repr([
        load_global_chat_history(100, **by),
        [load_chat_history(place, **by) for place in PLACES],
        search_memories(keywords=["tofu"], limit=100, **by),
        get_recent_entries(30, **by),
        conversations.list_saved_memories(**by), conversations.list_recent_conversations(**by),
        [stories.get_recap_text(place, **by) for place in PLACES],
        [stories.get_running_recap_injection(place, **by) for place in PLACES],
        short_term.get_for_user("tg/ann", **by),
        lifelong.search_items(q="tofu", limit=100, **by),
    ])  # fmt: skip


@pytest.mark.slow
def test_f18_a_marked_conversation_is_in_local_prompts_alone(db: Any) -> None:
    stage = InOnePlace(db)
    plant(stage, WORD)
    before = shown(stage, None)
    assert WORD in before and before.count(WORD) > 10
    moved = [marks(stage, place) for place in PLACES]
    total = {table: sum(each[table] for each in moved) for table in TABLES}
    assert total["conversations"] == 3 and total["chat_history_cache"] == 3
    assert all(total.values()), total
    assert WORD not in shown(stage, None)
    assert shown(stage, "local").count(WORD) == before.count(WORD)
    assert [marks(stage, place) for place in PLACES] == [dict.fromkeys(moved[0], 0)] * 3
    # said later
    plant(stage, f"later {WORD}")
    jobs.run_pending(db=stage.db, settings=Settings(**FLAGS), scope=Scope(stage.persona))
    assert WORD not in shown(stage, None)
    assert "later" in shown(stage, "local")
    assert stage.db is not None and verify_index(stage.db) == []


def test_f18_it_is_opened_again_and_another_persona_is_not_touched(stage: Stage) -> None:
    stage.say(f"tofu {WORD}")
    stage.remember(f"tofu {WORD}", ["tofu"], path=HERE)
    stage.remember(f"tofu {WORD} by itself", ["tofu"], path=HERE, local_only=True)
    stage.diary(f"tofu {WORD}", path=HERE)
    other = Stage(stage.db)
    other.say("tofu")
    other.remember("tofu", path=HERE)
    moved = marks(stage, HERE)
    assert [moved[name] for name in TABLES[:4]] == [1, 1, 1, 1]
    assert stored(stage, "memories") == [1, 1]
    assert stored(other, "memories") == [0] and stored(other, "conversations") == [0]
    moved = marks(stage, HERE, False)
    assert [moved[name] for name in TABLES[:4]] == [1, 1, 0, 0]
    assert stored(stage, "memories") == [1, 1]
    assert len(load_chat_history(HERE, **stage.asking(HERE))) == 1
    moved = marks(stage, HERE, False, items=True)
    assert [moved[name] for name in TABLES[:4]] == [0, 0, 2, 1]
    assert stored(stage, "memories") == [0, 0]
    assert stage.db is not None and verify_index(stage.db) == []


def test_f18_threads_follow(stage: Stage) -> None:
    stage.say("tofu", "tg/9")
    stage.say("tofu", "tg/9/1")
    stage.say("tofu", "tg/91")
    assert marks(stage, "tg/9")["conversations"] == 2
    stage.say(f"tofu {WORD}", "tg/9/2")
    told = {key: stored(stage, "conversations", key) for key in ("tg/9", "tg/9/1", "tg/9/2", "tg/91")}
    assert told == {"tg/9": [1], "tg/9/1": [1], "tg/9/2": [1], "tg/91": [0]}
    own = {"db": stage.db, "settings": Settings(**FLAGS), "scope": stage.scope("tg/77", participant="tg/ann")}
    turn = [{"content": WORD, "sender_id": "ann"}]
    short_term.write_turn(None, "ok", user="tg/ann", channel="tg/555", parent_channel="tg/9", messages=turn, at=NOW,
                          **{**own, "scope": stage.scope("tg/555", participant="tg/ann")})  # fmt: skip
    assert WORD not in repr(short_term.get_for_user("tg/ann", **own))
    assert marks(stage, "tg/9/1", False)["conversations"] == 1
    assert marks(stage, "tg/9", False)["conversations"] == 2
    set_conversation_privacy("tg/9", "restricted", db=stage.db, settings=Settings(), scope=Scope(stage.persona))
    assert marks(stage, "tg/9")["conversations"] == 3


def test_f18_before_the_first_word(stage: Stage) -> None:
    assert not any(marks(stage, "tg/new").values())
    assert stored(stage, "conversations") == []
    here = stage.scope("tg/new", server="s1", participant="tg/ann")
    assert marks(stage, "tg/new", scope=here)["conversations"] == 1
    stage.say(f"tofu {WORD}", "tg/new", server="s1")
    assert stored(stage, "conversations") == [1]
    by = stage.asking("tg/2", server="s1")
    assert load_global_chat_history(**by) == []
    assert not any(marks(stage, "tg/none", False, scope=stage.scope("tg/none")).values())
    with pytest.raises(MessageError, match="local_only"):
        marks(stage, "tg/new", "yes")  # type: ignore[arg-type]


def test_f18_what_is_written_meanwhile_is_marked_too(db: Any) -> None:
    """Whoever writes while the mark is set is before it, and marked by it, or after it, and inherits it."""
    stage = Stage(db)
    stage.say("tofu")
    failed: list[Exception] = []

    def write(number: int) -> None:
        try:
            for n in range(6):
                stage.say(f"tofu {number} {n}", who=f"w{number}")
                stage.remember(f"tofu item {number} {n}", ["tofu"], path=HERE)
        except Exception as error:  # noqa: BLE001 - told by the assertion below
            failed.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    marks(stage, HERE)
    for thread in threads:
        thread.join()
    assert failed == []
    assert stored(stage, "memories") == [1] * 18
    assert verify_index(db) == []
    by: dict[str, Any] = {"db": db, "settings": Settings(), "scope": stage.scope("tg/2")}
    assert search_memories(keywords=["tofu"], limit=50, **by) == []
