"""D34: what is in each other's way is done again as a whole, and how often is told."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from core import conversations, lifelong, relationships, short_term
from core.ai_diary import add_diary_entry
from core.chat_history_cache import delete_chat_message, edit_chat_message, save_chat_message
from core.config import Settings
from core.conversations import add_saved_memory
from core.database.engine import Database
from core.errors import CoreError
from core.prompt_engine import build_json_prompt
from core.scope import Scope
from tests.store.world import of_today, own_scope

pytestmark = pytest.mark.dialects

DEFAULTS = Settings()

WRITERS, CALLS = 6, int(os.environ.get("WRITER_CALLS", "10"))


@pytest.fixture(scope="module")
def db(migrated_url: str) -> Iterator[Database]:
    with of_today(migrated_url, timeout_seconds=120) as made:
        yield made


@pytest.mark.slow
def test_d34_six_writers_of_all_kinds_see_no_deadlock(db: Database) -> None:
    """They write about the same few people, words and tags, as the channels of one server do."""
    scope = own_scope()
    words = [f"word{n}" for n in range(12)]
    failed: list[str] = []

    def write(number: int) -> None:
        chance = random.Random(number)
        said: list[int] = []
        for turn in range(CALLS):
            who, place = f"u{chance.randrange(3)}", f"tg/{chance.randrange(3)}"
            text = f"{' '.join(chance.sample(words, 4))} {number} {turn}"
            own = Scope(scope.persona, place, f"tg/{who}")
            given: dict[str, Any] = {"db": db, "settings": DEFAULTS, "scope": own}
            turn_of = [{"role": "user", "content": text, "speaker": who, "user_id": who}]
            doors: list[Callable[[], Any]] = [
                lambda: save_chat_message(place, text, who, who, **given),  # noqa: B023 - called at once
                lambda: add_saved_memory(text, **given),  # noqa: B023
                lambda: conversations.add_saved_memory(text, kind="instruction", **given),  # noqa: B023
                lambda: add_diary_entry(text, user_message=text, involved_users=[who], **given),  # noqa: B023
                lambda: relationships.adjust(f"tg/{who}", 1, 1, **given),  # noqa: B023
                lambda: lifelong.add_facts_with_meta([{"text": text, "tags": words[:3]}], **given),  # noqa: B023
                lambda: short_term.store_short_term_memory(who, place, turn_of, interface="tg", **given),  # noqa: B023
                lambda: edit_chat_message(said[-1], f"{text} now", **given) if said else None,  # noqa: B023
                lambda: delete_chat_message(said.pop(), **given) if said else None,  # noqa: B023
                lambda: build_json_prompt({"text": text, "interface_path": place}, **given),  # noqa: B023
            ]
            try:
                done = chance.choice(doors[:1] * 4 + doors[1:])()
            except CoreError as error:
                failed.append(f"{type(error).__name__} {getattr(error, 'number', '')}: {str(error)[:100]}")
            else:
                if isinstance(done, tuple) and done[0] and len(said) < 50 and getattr(done, "id", None):
                    said.append(done.id)  # type: ignore[attr-defined]

    threads = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"{WRITERS * CALLS} calls, run again: {dict(db.repeats)}")
    assert failed == []
