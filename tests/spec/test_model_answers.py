"""What models are shown, and what becomes of their answers (F18, F20, F21, F33, F47, P69, S9, S47, G22)."""

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from sqlalchemy import update

from core import chat_history_cache, jobs, short_term, stories
from core.config import Settings
from core.conversations import add_recent_conversation
from core.database import schema
from core.database.schema import TABLES, conversations
from core.errors import MessageError, ModelError
from core.privacy import set_privacy
from core.stories import rules_scenes
from tests.spec.stage import HERE, Stage
from tests.spec.story import Model, Story
from tests.store.world import count, rows_of

CANARY = "xylofant"
MADE = (
    schema.message_recaps, schema.message_alternatives, schema.scene_recaps, schema.running_recaps,
    schema.conversation_summaries, schema.short_term_memories, schema.memory_jobs, schema.memories,
)  # fmt: skip
"""Tables of texts that are made of messages."""


def echo(request: str) -> str:
    return f"They spoke of {CANARY if CANARY in request else 'tea'} at length."


def where(story: Story) -> list[str]:
    tables = [(table.name, rows_of(story.db, table, story.persona)) for table in MADE]
    return [name for name, rows in tables if any(CANARY in str(tuple(row)) for row in rows)]


def level(story: Story, to: str = "full", who: str = "tg/ann") -> None:
    set_privacy(who, to, **story.given)


def conversation(story: Story) -> tuple[list[int], list[int]]:
    ann = [story.say(f"The {CANARY} walked to house {n}.", minutes=60 - n) for n in range(4)]
    bob = [story.say(f"Bob bought lamp {n} in Rome.", who="Bob", minutes=50 - n) for n in range(4)]
    return ann, bob


@pytest.fixture
def every_break(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules_scenes, "OFFSET", 0)


@pytest.mark.usefixtures("every_break")
@pytest.mark.parametrize("by_model", [True, False])
def test_f20_recaps_of_scenes_are_made_without_the_lines_of_people_at_full(story: Story, by_model: bool) -> None:
    _, bob = conversation(story)
    level(story)
    model = Model(echo)
    stories.add_scene_break(bob[-1], **story.given)
    jobs.enqueue_operation("SCENE_DETECTION", **{**story.given, "scope": story.scope(HERE)})
    stories.queue_recaps(HERE, **story.given)
    story.run(model if by_model else None, scene_min_length=1)
    assert where(story) == [] and CANARY not in str(model.asked)
    assert stories.list_scenes(HERE, **story.given)[0]["recap"] != ""
    assert stories.get_running_recap(conversation=HERE, **story.given) is not None


def test_f20_answers_to_people_at_full_are_left_out_and_a_scene_of_nothing_else_is_skipped(story: Story) -> None:
    story.say(f"The {CANARY} walked home.")
    asking = {**story.given, "scope": story.scope(HERE, participant="tg/ann")}
    answer = (HERE, f"Did the {CANARY} come?", "Iris", "self")
    row = chat_history_cache.save_chat_message(*answer, triggered_by="tg/ann", **asking).id
    level(story)
    stories.add_scene_break(row, **story.given)
    model = Model(echo)
    assert [each.state for each in story.run(model)] == ["completed"] and model.asked == []
    assert stories.list_scenes(HERE, **story.given)[0]["recap_index"] is None


def test_f20_no_alternative_is_added_to_what_somebody_at_full_said(story: Story) -> None:
    ann, bob = conversation(story)
    level(story)
    with pytest.raises(MessageError, match="privacy level is full"):
        stories.add_alternative(ann[0], f"another {CANARY}", **story.given)
    assert where(story) == [] and stories.add_alternative(bob[0], "another lamp", **story.given) == 1


def _running(story: Story, rows: list[int]) -> None:
    stories.add_scene_break(rows[-1], recap=False, **story.given)
    stories.set_scene_recap(rows[-1], f"They met the {CANARY}.", **story.given)


WORK: dict[str, Callable[[Story, list[int]], Any]] = {
    "SCENE_RECAP": lambda story, rows: stories.add_scene_break(rows[-1], **story.given),
    "RUNNING_SCENE_RECAP": _running,
    "RECAP": lambda story, rows: jobs.enqueue_operation(
        "RECAP", metadata={"message_id": rows[1]}, conversation=HERE, **story.given),
    "CONVERSATION_SUMMARY": lambda story, rows: add_recent_conversation(
        **{**story.given, "scope": story.scope(HERE)}),
    **{kind: lambda story, rows, kind=kind: jobs.enqueue_operation(kind, conversation=HERE, **story.given)
       for kind in ("SCENE_DETECTION", "CONSOLIDATION", "DEEP_CONSOLIDATION")},
}  # fmt: skip
"""What queues each type of operation, after the last of these messages."""
CHANGES: dict[str, Callable[[Story, int], Any]] = {
    "clear": lambda story, row: chat_history_cache.clear_chat_history(HERE, **story.given),
    "full": lambda story, row: level(story),
    "delete": lambda story, row: chat_history_cache.delete_chat_message(row, **story.given),
    "edit": lambda story, row: chat_history_cache.edit_chat_message(row, "Ann saw nothing.", **story.given),
}
HAND_MADE = {("RUNNING_SCENE_RECAP", "full"), ("RUNNING_SCENE_RECAP", "edit")}
"""A recap that somebody wrote stays, and with it what is made of it."""


@pytest.mark.usefixtures("every_break")
@pytest.mark.parametrize("destination", ["remote", "local"])
def test_f18_no_remote_model_sees_local_lines(story: Story, destination: str) -> None:
    rows = [story.say(f"I like the {CANARY} in house {n}.", minutes=60 - n) for n in range(4)]
    for begin in WORK.values():
        begin(story, rows)
    mine = update(conversations).where(conversations.c.persona_id == story.persona).values(local_only=1)
    story.db.transaction(lambda connection: connection.execute(mine), source="conversations")
    model = Model(echo)
    flags = {"prompt_destination": destination, "scene_min_length": 1}
    assert "completed" in {each.state for each in story.run(model, **flags)}
    assert bool(model.asked) is (destination == "local")
    if destination == "remote":
        tables = (schema.scene_recaps, schema.memories, schema.conversation_summaries)
        made = [row for table in tables for row in rows_of(story.db, table, story.persona)]
        assert {row.provenance for row in made} == {"extract", "manual"}
        items = rows_of(story.db, schema.memories, story.persona)
        assert items and {row.local_only for row in items} == {1}


@pytest.mark.usefixtures("every_break")
@pytest.mark.engines("sqlite", "mariadb")
@pytest.mark.parametrize(("kind", "change"), [pair for pair in product(WORK, CHANGES) if pair not in HAND_MADE])
def test_f21_f47_p69_s9_what_changes_while_a_model_writes_is_nowhere(story: Story, kind: str, change: str) -> None:
    """Its messages are of this work already: nothing would take the former text out of it later."""
    rows = []
    for n in range(12):
        who, seen = ("Ann", CANARY) if n == 1 else ("Bob", "sea")
        rows.append(story.say(f"{who} saw the {seen} from house {n}.", who=who, minutes=60 - n))
    WORK[kind](story, rows)
    asked: list[str] = []

    def meanwhile(request: str) -> str:
        if not asked:
            assert CANARY in request
            CHANGES[change](story, rows[1])
        asked.append(request)
        if kind == "SCENE_DETECTION":
            return '{"sceneBreakAt": 5}'
        return json.dumps({"key_facts": [echo(request)]}) if "CONSOLIDATION" in kind else echo(request)

    assert story.run(Model(meanwhile), scene_min_length=1) and where(story) == []
    if kind in ("SCENE_RECAP", "CONSOLIDATION", "RECAP", "DEEP_CONSOLIDATION"):
        is_whole = kind in ("SCENE_RECAP", "CONSOLIDATION")
        is_made_again = (is_whole and change != "clear") or (kind, change) == ("RECAP", "edit")
        assert (len(asked) > 1) is is_made_again
    if change == "clear":
        made = [table.name for table in (*MADE, schema.scenes) if count(story.db, table, story.persona)]
        assert made == ["memory_jobs"]


@pytest.mark.parametrize("kind", WORK)
def test_f47_a_refused_answer_of_what_is_cleared_is_kept_nowhere(story: Story, kind: str) -> None:
    WORK[kind](story, [story.say(f"The {CANARY} walked to house {n}.", minutes=60 - n) for n in range(12)])

    def meanwhile(_: str) -> str:
        chat_history_cache.clear_chat_history(HERE, **story.given)
        return f"Error 429: {CANARY}"

    assert story.run(Model(meanwhile), scene_min_length=1) and where(story) == []


def test_p69_an_edit_leaves_no_made_text_of_what_was_said_before(story: Story) -> None:
    rows = [story.say(f"Ann saw {CANARY if n == 3 else 'the sea'} from house {n}.", minutes=60 - n) for n in range(6)]
    for row in (rows[1], rows[3], rows[5]):
        stories.add_scene_break(row, **story.given)
        story.run(Model(echo))
    stories.set_scene_recap(rows[3], "Ann looked out.", **story.given)
    story.work("SCENE_RECAP", Model(echo), row=rows[3])
    assert {"scene_recaps", "running_recaps"} <= set(where(story))
    before = len(stories.get_running_recap_versions(HERE, **story.given))
    assert chat_history_cache.edit_chat_message(rows[3], "Ann saw nothing.", **story.given).stored
    recaps = [scene["recap"] for scene in stories.list_scenes(HERE, **story.given)]
    assert where(story) == [] and all(recaps) and len(recaps) == 3 and recaps[1] == "Ann looked out."
    assert stories.get_data(rows[3], "scene_recap_versions", **story.given) == ["Ann looked out."]
    assert 0 < len(stories.get_running_recap_versions(HERE, **story.given)) < before
    assert "SCENE_RECAP" in dict(story.states())
    story.run(Model(echo))
    assert where(story) == [] and stories.list_scenes(HERE, **story.given)[1]["provenance"] == "model"


def test_p44_clearing_takes_the_short_term_entries_of_the_channel_along(story: Story) -> None:
    """What was cleared here must not be told in the next channel as said a moment ago."""
    for path in ("tg/43", HERE):
        asking = {**story.given, "scope": story.scope(path, participant="tg/ann", server="s1")}
        story.say(f"I like the {CANARY}.", path, server="s1")
        said = [{"role": "user", "content": f"I like the {CANARY}."}]
        assert short_term.store_short_term_memory("tg/ann", path, said, "s1", **asking).stored
    assert count(story.db, schema.short_term_memories, story.persona) == 2
    assert chat_history_cache.clear_chat_history(HERE, **asking) == 1
    assert [row.channel_id for row in rows_of(story.db, schema.short_term_memories, story.persona)] == ["tg/43"]


@pytest.mark.parametrize("messages", [
    [f"hello, the {CANARY} is here"],
    [{"role": "user", "content": f"hello, the {CANARY} is here"}],
    [{"role": "user", "content": "hello"}, {"role": "assistant", "content": f"Is the {CANARY} here?"}],
])  # fmt: skip
def test_f20_a_line_handed_in_that_does_not_say_whose_it_is_is_of_who_speaks(story: Story, messages: list[Any]) -> None:
    scope = story.scope("tg/ann", participant="tg/ann", privacy="direct")
    given = {"db": story.db, "settings": Settings(), "scope": scope}
    level(story)
    for wait in (True, False):
        assert add_recent_conversation(messages, wait=wait, **given).reason == "privacy"
    strict = story.asking("tg/44", PRIVACY_DEFAULT="full")
    assert add_recent_conversation(["who said this"], **strict).reason == "privacy" and where(story) == []
    others = {**given, "scope": replace(scope, participant="tg/bob", conversation="tg/bob")}
    assert add_recent_conversation(messages, wait=True, **others).stored


def test_f21_whose_turn_an_answer_handed_in_is_of_is_known_when_it_is_summarised(story: Story) -> None:
    given = story.asking(HERE, participant="tg/ann")
    said = [{"text": "hello", "sender_id": "ann"}, {"role": "assistant", "content": f"Is the {CANARY} here?"}]
    assert add_recent_conversation(said, **given).stored
    level(story)
    assert [each.state for each in story.run()] == ["completed"] and where(story) == []


@pytest.mark.parametrize("reply", ['{"sceneBreakAt": 4}', "```json\n[1, 2]\n```x```", '[{"a": 1}]', "y" * 1_000_001])
@pytest.mark.parametrize("kind", ["RECAP", "SCENE_RECAP", "RUNNING_SCENE_RECAP"])
def test_g22_an_answer_that_is_no_text_is_no_recap(story: Story, kind: str, reply: str) -> None:
    rows = story.tell(4)
    if kind == "RECAP":
        jobs.enqueue_operation(kind, metadata={"message_id": rows[0]}, conversation=HERE, **story.given)
    elif kind == "SCENE_RECAP":
        stories.add_scene_break(rows[-1], **story.given)
    else:
        _running(story, rows)
    (run,) = [each for each in story.run(Model(reply)) if each.type == kind]
    assert (run.state, run.error) == ("retrying", "ModelError: unreadable")
    assert stories.get_memory(rows[0], **story.given) is None
    assert stories.get_running_recap(conversation=HERE, **story.given) is None


def test_g11_names_of_short_term_entries_are_cleaned(story: Story) -> None:
    names = dict.fromkeys(("user_name", "server_name", "channel_name"), "A\x00nn\ud800")
    asking = {**story.given, "scope": story.scope("tg/1", server="s1")}
    assert short_term.store_short_term_memory("u1", "1", [{"text": "hi"}], **names, **asking).stored
    (entry,) = short_term.get_for_user("u1", **{**asking, "scope": story.scope("tg/2", server="s1")})
    assert (entry["channel_name"], entry["messages"][0]["speaker"]) == ("Ann\ufffd", "Ann\ufffd")


def begin(story: Story, kind: str) -> list[int]:
    mine = []
    for n in range(40):
        who = "Ann" if n % 2 else "Bob"
        mine.append(story.say(f"line {n} about boats and tea in the harbour", HERE, who, minutes=300 - n))
    WORK[kind](story, mine)
    return mine


def _reply(other: Stage, foreign: int) -> str:
    """Return a reply that tries everything: foreign ids, another persona, operations, settings."""
    said = "They talk about boats and tea in the harbour."
    tries: dict[str, Any] = {
        **dict.fromkeys(("persona_id", "persona"), other.persona),
        **dict.fromkeys(("conversation", "conversation_key"), "tg/other"),
        **dict.fromkeys(("participant", "participant_key"), "tg/eve"),
        **{key: [foreign] for key in ("source_ids", "source_message_ids", "sources")},
        **dict.fromkeys(("id", "message_id", "superseded_by"), foreign),
        **{key: {"PRIVATE_STAYS_PRIVATE": 0} for key in ("config", "settings")},
        "operations": [{"type": "RECAP", "payload": {"message_id": foreign}}], "audience_id": 1, "pinned": True,
        "enqueue": "CLEAR", "type": "CONSOLIDATION", "PRIVATE_STAYS_PRIVATE": 0,
    }  # fmt: skip
    fact = {"text": said, **tries}
    made = {
        "title": said, "summary": said, "recap": said, "memory": said, "developments": [said],
        "key_facts": [fact], "facts_about_user": [fact], "sceneBreakAt": foreign, **tries,
    }  # fmt: skip
    return json.dumps(made)


@pytest.mark.parametrize("kind", WORK)
def test_f33_a_reply_names_nothing_it_was_not_given(kind: str, story: Story) -> None:
    other = Stage(story.db)
    foreign, mine = other.say("a secret of the other persona", HERE), begin(story, kind)

    def stored(persona: str) -> dict[str, list[Any]]:
        return {name: rows_of(story.db, table, persona) for name, table in TABLES.items() if "persona_id" in table.c}

    before, theirs = stored(story.persona), stored(other.persona)
    model = Model(_reply(other, foreign))
    ran = story.run(model)
    after = stored(story.persona)
    assert model.asked and any(run.type == kind for run in ran) and stored(other.persona) == theirs
    for name in ("audiences", "participants"):
        assert len(after[name]) == len(before[name])
    assert [row.conversation_key for row in after["conversations"]] == [HERE]
    for row in after["memories"]:
        assert (row.conversation_key, row.pinned, row.superseded_by) == (HERE, 0, None)
        assert row.participant_key in (None, "tg/ann", "tg/bob")
        assert set(json.loads(row.source_message_ids or "[]")) <= set(mine)
    assert not any(row.break_row == foreign for row in after["scenes"])
    follows = {"SCENE_RECAP": {"RUNNING_SCENE_RECAP"}, "SCENE_DETECTION": {"SCENE_RECAP", "RUNNING_SCENE_RECAP"}}
    assert {row.type for row in after["memory_jobs"]} <= {kind} | follows.get(kind, set())


@pytest.mark.parametrize("kind", WORK)
def test_s46_with_a_refused_key_every_operation_fails_at_once(kind: str, story: Story) -> None:
    begin(story, kind)
    done = [(run.state, run.error) for run in story.run(Model(ModelError("auth", status=401))) if run.type == kind]
    assert done == [("failed", "ModelError: auth (401)")]


@pytest.mark.parametrize("kind", WORK)
@pytest.mark.parametrize("reply", ["no JSON at all" * 2, "[]", None], ids=["words", "list", "unnamed"])
def test_s47_an_operation_without_a_usable_answer_says_so(kind: str, reply: str | None, story: Story) -> None:
    begin(story, kind)
    flags = {} if reply is not None else {"llm_base_url": "http://127.0.0.1:9/v1"}
    (run,) = [run for run in story.run(reply and Model(reply), **flags) if run.type == kind]
    (stored,) = [row for row in rows_of(story.db, schema.memory_jobs, story.persona) if row.id == run.id]
    assert (stored.status, stored.error or "") == (run.state, run.error)
    if reply is None:
        assert (run.state, run.error) == ("completed", "NoModel: LLM_MODEL is not set")
    elif reply == "[]" or kind in ("CONSOLIDATION", "DEEP_CONSOLIDATION", "SCENE_DETECTION"):  # words are a recap
        assert run.error == "ModelError: unreadable"
