"""F12: a row id is no key. Every public function that takes one acts on rows of the scope alone."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from core import (
    ai_diary,
    chat_history_cache,
    conversations,
    forgetting,
    jobs,
    lifelong,
    privacy,
    prompt_engine,
    relationships,
    short_term,
    stories,
    synth_core_memory,
    tokens,
)
from core.config import Settings
from core.database.schema import TABLES
from core.errors import CoreError
from core.scope import Scope
from tests.spec.stage import Stage
from tests.store.world import rows_of

pytestmark = pytest.mark.engines("sqlite")  # the check is one for every server

WORD = "zqharbour"
ROOM, DIRECT = "tg/-5", "tg/ann"
MESSAGE: dict[str, Callable[..., Any]] = {
    "get_memory": stories.get_memory,
    "get_data": stories.get_data,
    "set_data": lambda row, **by: stories.set_data(row, "memory", "other", **by),
    "edit_memory": lambda row, **by: stories.edit_memory(row, "other", **by),
    "add_scene_break": lambda row, **by: stories.add_scene_break(row, recap=False, **by),
    "edit_scene_break": lambda row, **by: stories.edit_scene_break(row, name="other", **by),
    "remove_scene_break": stories.remove_scene_break,
    "get_scene_recaps": stories.get_scene_recaps,
    "set_scene_recap": lambda row, **by: stories.set_scene_recap(row, "other", **by),
    "choose_scene_recap": lambda row, **by: stories.choose_scene_recap(row, 0, **by),
    "add_alternative": lambda row, **by: stories.add_alternative(row, "other", **by),
    "choose_alternative": lambda row, **by: stories.choose_alternative(row, 0, **by),
    "list_alternatives": stories.list_alternatives,
    "check_message_exclusion": stories.check_message_exclusion,
    "concatenate_recap": lambda row, **by: stories.concatenate_recap("", row, **by),
    "edit_chat_message": lambda row, **by: chat_history_cache.edit_chat_message(row, "other", **by),
    "delete_chat_message": chat_history_cache.delete_chat_message,
}
ITEM: dict[str, Callable[..., Any]] = {
    "get_item": lifelong.get_item,
    "get_item_history": lifelong.get_item_history,
    "edit_item": lambda row, **by: lifelong.edit_item(row, "other", **by),
    "delete_items": lambda row, **by: lifelong.delete_items([row], **by),
    "purge_items": lambda row, **by: lifelong.purge_items([row], **by),
    "restore_items": lambda row, **by: lifelong.restore_items([row], **by),
    "pin_items": lambda row, **by: lifelong.pin_items([row], **by),
    "retag_items": lambda row, **by: lifelong.retag_items([row], ["other"], **by),
    "classify_items": lambda row, **by: lifelong.classify_items([row], importance=0.9, **by),
    "delete_saved_memory": conversations.delete_saved_memory,
}
DIARY: dict[str, Callable[..., Any]] = {
    "archive_diary_entry": ai_diary.archive_diary_entry,
    "unarchive_entries": lambda row, **by: ai_diary.unarchive_entries([row], **by),
    "edit_diary_entry": lambda row, **by: ai_diary.edit_diary_entry(row, content="other", **by),
}
OPERATORS = {"cancel", "retry_operation", "forget", "revoke_token"}
"""docs/privacy.md lists them as for operators."""
MODULES: tuple[ModuleType, ...] = (
    ai_diary, chat_history_cache, conversations, forgetting, jobs, lifelong, privacy, prompt_engine, relationships,
    short_term, stories, synth_core_memory, tokens,
)  # fmt: skip
INCOMING = {
    "build_json_prompt",
    "build_messages",
    "explain_json_prompt",
    "explain_messages",
    "save_message",
    "scope_of",
}
"""Their `message` is the host's own."""


def test_f12_the_table_names_every_function_that_takes_a_row_id() -> None:
    public = {name: getattr(module, name) for module in MODULES for name in module.__all__}
    taking = {
        name
        for name, function in public.items()
        if inspect.isfunction(function)
        and {"id", "ids", "message", "row"} & set(inspect.signature(function).parameters)
    }
    assert taking - INCOMING == {*MESSAGE, *ITEM, *DIARY, *OPERATORS} - {"forget"}


def everything(stage: Stage) -> dict[str, Any]:
    return {name: [tuple(row) for row in rows_of(stage.db, table, stage.persona)]
            for name, table in TABLES.items() if "persona_id" in table.c}  # fmt: skip


@pytest.mark.parametrize("kind", ["message", "item", "diary"])
def test_f12_a_row_id_shows_and_changes_nothing_of_another_conversation(stage: Stage, kind: str) -> None:
    by: dict[str, Any] = {"db": stage.db, "settings": Settings()}
    own = {**by, "scope": Scope(stage.persona, DIRECT, "tg/ann", privacy="direct")}
    said = [chat_history_cache.save_chat_message(DIRECT, f"{WORD} {n}", "Ann", "ann", **own).id for n in range(3)]
    item = conversations.add_saved_memory(f"My {WORD}", **own).id
    entry = ai_diary.add_diary_entry(f"Her {WORD}", **own).id
    stories.set_data(said[1], "memory", f"Recap of {WORD}", **own)
    stories.add_scene_break(said[1], recap=False, **own)
    table, row = {"message": (MESSAGE, said[1]), "item": (ITEM, item), "diary": (DIARY, entry)}[kind]
    before = everything(stage)
    strangers = [
        Scope(stage.persona),
        Scope(stage.persona, participant="tg/bob"),
        Scope(stage.persona, ROOM, "tg/ann"),
        Scope(stage.persona, "tg/bob", "tg/bob", privacy="direct"),
    ]
    for (name, function), scope in itertools.product(table.items(), strangers):
        try:
            shown = str(function(row, **{**by, "scope": scope}))
        except CoreError as error:
            shown = str(error)
        assert WORD not in shown, (name, scope)
        assert everything(stage) == before, (name, scope)
    assert kind == "diary" or any(WORD in str(_try(function, row, own)) for function in table.values())


def _try(function: Callable[..., Any], row: Any, own: dict[str, Any]) -> object:
    try:
        return function(row, **own)
    except CoreError as error:
        return error
