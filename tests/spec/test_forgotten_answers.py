"""F87: a stored answer knows the rows that its prompt held; when one is forgotten, no recall finds the answer."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select

from core import conversations, jobs, stories
from core.chat_history_cache import load_chat_history, save_chat_message
from core.database.schema import chat_history_cache, message_recaps
from core.db import forget
from core.prompt.call import PromptRequest
from core.prompt.pipeline import build_records
from core.prompt_engine import build_json_prompt, build_messages
from core.synth_core_memory import search_memories
from core.transcripts import save_transcript
from tests.spec.stage import ELSEWHERE, HERE, Stage, message
from tests.store.world import rows_of

ANN = "tg/ann"


def calling(stage: Stage, path: str | None = None, **scope: Any) -> dict[str, Any]:
    return stage.asking(path, **scope)


@pytest.mark.parametrize("made_of", ["history", "memory", "diary"])
@pytest.mark.parametrize("build", [build_messages, build_json_prompt])
def test_f87_an_answer_made_with_what_is_forgotten_is_recalled_no_more(stage: Stage, made_of: str, build: Any) -> None:
    """The persona tells Bob what Ann said: once Ann is forgotten, her words are not his either."""
    canary, bob = "zqharbour", calling(stage, ELSEWHERE, participant="tg/bob")
    stage.say("Hi", "tg/77", "Bob")
    kept = stage.say(f"A {canary} of my own", "tg/77", "self")
    if made_of == "history":
        stage.say(f"The {canary} opens at nine", HERE, "Ann", minutes=30)
    elif made_of == "memory":
        stage.remember(f"The {canary} opens at nine", ["harbour"], path=HERE, participant=ANN)
    else:
        stage.diary(f"Ann told me of the {canary}", path=HERE, involved_users=["tg/ann"])
    asked = message(f"When does the {canary} open?", ELSEWHERE, who="Bob")
    assert canary in str(build(asked, **bob))
    ids = [
        save_chat_message(ELSEWHERE, text, "Iris", "self", triggered_by="tg/bob", **bob).id
        for text in (f"The {canary} opens at nine.", f"Ask again about the {canary}.")
    ]
    conversations.add_recent_conversation(wait=True, **bob)
    stories.set_data(ids[0], "memory", f"Recap of {canary}", **bob)
    before = forget(participant=ANN, dry_run=True, **bob)
    assert forget(participant=ANN, **bob) == before
    assert [row.hidden for row in rows_of(stage.db, chat_history_cache, stage.persona) if row.id in ids] == [3, 3]
    assert (
        stage.db.read(select(message_recaps.c.memory).where(message_recaps.c.message_row == ids[0]), source="t") == []
    )
    for path in (ELSEWHERE, "tg/78"):
        seen = str(build(message(f"What of the {canary}?", path, who="Bob"), **calling(stage, path)))
        assert "opens at nine" not in seen and "Ask again" not in seen
    found = search_memories(query=canary, limit=20, **bob)
    assert {hit["id"] for hit in found} == {kept}
    assert canary not in str(load_chat_history(ELSEWHERE, **bob))
    assert canary not in str(conversations.list_recent_conversations(**bob))
    assert jobs.run_pending(**calling(stage)) is not None
    assert canary not in str(conversations.list_recent_conversations(**bob))


def test_f87_an_answer_through_a_front_end_stays_hidden_when_the_list_comes_again(stage: Stage) -> None:
    """A front end holds its own list; what it sends again is the line that is stored."""
    stage.say("The zqharbour opens at nine", HERE, "Ann", minutes=30)
    bob = calling(stage, ELSEWHERE, participant="tg/bob")
    asked, answer = {"role": "user", "content": "When does it open?"}, "The zqharbour opens at nine."
    build_records(PromptRequest(message("When does the zqharbour open?", ELSEWHERE, who="Bob"), max_chars=4000, **bob))
    save_transcript([asked], answer, **bob)
    forget(participant=ANN, **bob)
    again = [asked, {"role": "assistant", "content": answer}, {"role": "user", "content": "Thanks"}]
    save_transcript(again, "Welcome", **bob)
    assert [line["text"] for line in load_chat_history(ELSEWHERE, **bob)] == ["When does it open?", "Thanks", "Welcome"]
