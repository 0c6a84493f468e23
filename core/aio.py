"""Every public function as a coroutine with the same arguments and result, run in a thread.

`await aio.search_memories(tags=["cat"])` does what `synth_core_memory.search_memories` does, raises its exceptions and
does not block the event loop. The thread has the caller's context variables, such as `use_scope`. Cancelling an await
stops the waiting only: the call itself, writes included, runs to its end in its thread. Threads add no processor time:
fifty prompts at once take as long as fifty in turn on one core.

>>> import asyncio
>>> from prompt_engine import aio
>>> async def answer():
...     db = await aio.open_database("sqlite://")
...     await aio.insert_memory("Tofu is a grey cat.", "Ann", "notes", ["cat"], db=db)
...     return [hit["snippet"] for hit in await aio.search_memories(tags=["cat"], db=db)]
>>> asyncio.run(answer())
['Tofu is a grey cat.']
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

from . import (
    ai_diary,
    chat_history_cache,
    conversations,
    db,
    forgetting,
    history_engine,
    jobs,
    lifelong,
    personas,
    privacy,
    prompt_engine,
    relationships,
    semantic,
    short_term,
    stories,
    synth_core_memory,
    synth_tagging,
    tokens,
    transcripts,
    transfer,
)
from .transfer import exports, imports

P = ParamSpec("P")
R = TypeVar("R")


def _awaitable(function: Callable[P, R]) -> Callable[P, Coroutine[Any, Any, R]]:
    """Return a coroutine function that runs `function` in a thread."""

    @functools.wraps(function)
    async def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.to_thread(function, *args, **kwargs)

    return call


build_json_prompt = _awaitable(prompt_engine.build_json_prompt)
build_messages = _awaitable(prompt_engine.build_messages)
explain_json_prompt = _awaitable(prompt_engine.explain_json_prompt)
explain_messages = _awaitable(prompt_engine.explain_messages)
fit_prompt = _awaitable(prompt_engine.fit_prompt)
parse_answer = _awaitable(prompt_engine.parse_answer)
reduce_prompt_for_llm_limit = _awaitable(prompt_engine.reduce_prompt_for_llm_limit)
set_hook = _awaitable(prompt_engine.set_hook)
to_json = _awaitable(prompt_engine.to_json)
to_messages = _awaitable(prompt_engine.to_messages)

get_persona_text = _awaitable(personas.get_persona_text)
set_persona_text = _awaitable(personas.set_persona_text)

build_context = _awaitable(history_engine.HistoryEngine().build_context)

add_alias = _awaitable(synth_tagging.add_alias)
add_tag = _awaitable(synth_tagging.add_tag)
expand_tags = _awaitable(synth_tagging.expand_tags)
extract_keywords = _awaitable(synth_tagging.extract_keywords)
extract_tags = _awaitable(synth_tagging.extract_tags)
link_tags = _awaitable(synth_tagging.link_tags)
list_tags = _awaitable(synth_tagging.list_tags)

explain_search = _awaitable(synth_core_memory.explain_search)
free_memory_search = _awaitable(synth_core_memory.free_memory_search)
search_memories = _awaitable(synth_core_memory.search_memories)
should_remember = _awaitable(synth_core_memory.should_remember)
silently_record_memory = _awaitable(synth_core_memory.silently_record_memory)

clear_chat_history = _awaitable(chat_history_cache.clear_chat_history)
delete_chat_message = _awaitable(chat_history_cache.delete_chat_message)
edit_chat_message = _awaitable(chat_history_cache.edit_chat_message)
get_cache_stats = _awaitable(chat_history_cache.get_cache_stats)
load_chat_history = _awaitable(chat_history_cache.load_chat_history)
load_global_chat_history = _awaitable(chat_history_cache.load_global_chat_history)
save_chat_message = _awaitable(chat_history_cache.save_chat_message)
save_message = _awaitable(chat_history_cache.save_message)

add_diary_entry = _awaitable(ai_diary.add_diary_entry)
archive_diary_entry = _awaitable(ai_diary.archive_diary_entry)
cleanup_old_entries = _awaitable(ai_diary.cleanup_old_entries)
edit_diary_entry = _awaitable(ai_diary.edit_diary_entry)
get_entries_by_tags = _awaitable(ai_diary.get_entries_by_tags)
get_entries_with_person = _awaitable(ai_diary.get_entries_with_person)
get_recent_entries = _awaitable(ai_diary.get_recent_entries)
unarchive_entries = _awaitable(ai_diary.unarchive_entries)

add_recent_conversation = _awaitable(conversations.add_recent_conversation)
add_saved_memory = _awaitable(conversations.add_saved_memory)
close_conversation = _awaitable(conversations.close_conversation)
delete_saved_memory = _awaitable(conversations.delete_saved_memory)
export_markdown = _awaitable(conversations.export_markdown)
get_system_prompt_with_memory = _awaitable(conversations.get_system_prompt_with_memory)
get_user_memory_prompt = _awaitable(conversations.get_user_memory_prompt)
import_markdown = _awaitable(conversations.import_markdown)
list_recent_conversations = _awaitable(conversations.list_recent_conversations)
list_saved_memories = _awaitable(conversations.list_saved_memories)
load_memory = _awaitable(conversations.load_memory)
memory_tools = _awaitable(conversations.memory_tools)
parse_tool_call = _awaitable(conversations.parse_tool_call)
run_tool_call = _awaitable(conversations.run_tool_call)

build_short_term_context = _awaitable(short_term.build_short_term_context)
clear_by_channel = _awaitable(short_term.clear_by_channel)
clear_by_server = _awaitable(short_term.clear_by_server)
clear_by_user = _awaitable(short_term.clear_by_user)
clear_expired = _awaitable(short_term.clear_expired)
get_for_server = _awaitable(short_term.get_for_server)
get_for_user = _awaitable(short_term.get_for_user)
get_stats = _awaitable(short_term.get_stats)
relative_age = _awaitable(short_term.relative_age)
store_short_term_memory = _awaitable(short_term.store_short_term_memory)
update_short_term_memory = _awaitable(short_term.update_short_term_memory)
write_turn = _awaitable(short_term.write_turn)

count_vectors = _awaitable(semantic.count_vectors)
drop_vectors = _awaitable(semantic.drop_vectors)
embed_rows = _awaitable(semantic.embed_rows)

adjust = _awaitable(relationships.adjust)
ensure_and_touch = _awaitable(relationships.ensure_and_touch)
get = _awaitable(relationships.get)
list_recent = _awaitable(relationships.list_recent)

link_participants = _awaitable(privacy.link_participants)
list_privacy = _awaitable(privacy.list_privacy)
scope_of = _awaitable(privacy.scope_of)
set_conversation_local_only = _awaitable(privacy.set_conversation_local_only)
set_conversation_privacy = _awaitable(privacy.set_conversation_privacy)
set_privacy = _awaitable(privacy.set_privacy)
unlink_participant = _awaitable(privacy.unlink_participant)

add_alternative = _awaitable(stories.add_alternative)
add_running_recap_version = _awaitable(stories.add_running_recap_version)
add_scene_break = _awaitable(stories.add_scene_break)
auto_hide_plan = _awaitable(stories.auto_hide_plan)
check_message_exclusion = _awaitable(stories.check_message_exclusion)
choose_alternative = _awaitable(stories.choose_alternative)
clear_all = _awaitable(stories.clear_all)
concatenate_recap = _awaitable(stories.concatenate_recap)
delete_running_recap_version = _awaitable(stories.delete_running_recap_version)
edit_memory = _awaitable(stories.edit_memory)
edit_scene_break = _awaitable(stories.edit_scene_break)
from_number = _awaitable(stories.from_number)
get_data = _awaitable(stories.get_data)
get_memory = _awaitable(stories.get_memory)
get_running_recap = _awaitable(stories.get_running_recap)
get_running_recap_injection = _awaitable(stories.get_running_recap_injection)
get_running_recap_storage = _awaitable(stories.get_running_recap_storage)
get_running_recap_versions = _awaitable(stories.get_running_recap_versions)
get_short_token_limit = _awaitable(stories.get_short_token_limit)
list_alternatives = _awaitable(stories.list_alternatives)
list_scenes = _awaitable(stories.list_scenes)
queue_recaps = _awaitable(stories.queue_recaps)
refresh_memory = _awaitable(stories.refresh_memory)
remove_scene_break = _awaitable(stories.remove_scene_break)
set_current_running_recap = _awaitable(stories.set_current_running_recap)
set_data = _awaitable(stories.set_data)
set_scene_recap = _awaitable(stories.set_scene_recap)
switch_stories = _awaitable(stories.switch_stories)
to_number = _awaitable(stories.to_number)
to_numbers = _awaitable(stories.to_numbers)
update_message_inclusion_flags = _awaitable(stories.update_message_inclusion_flags)

add_facts_with_meta = _awaitable(lifelong.add_facts_with_meta)
consolidate_history = _awaitable(lifelong.consolidate_history)
deep_consolidation = _awaitable(lifelong.deep_consolidation)
delete_items = _awaitable(lifelong.delete_items)
edit_item = _awaitable(lifelong.edit_item)
get_item = _awaitable(lifelong.get_item)
get_item_history = _awaitable(lifelong.get_item_history)
on_stream_end = _awaitable(lifelong.on_stream_end)
pin_items = _awaitable(lifelong.pin_items)
prune_ltm = _awaitable(lifelong.prune_ltm)
prune_session_by_ttl = _awaitable(lifelong.prune_session_by_ttl)
purge_items = _awaitable(lifelong.purge_items)
restore_items = _awaitable(lifelong.restore_items)
retag_items = _awaitable(lifelong.retag_items)
run_cycle = _awaitable(lifelong.run_cycle)
find_similar_item = _awaitable(lifelong.find_similar_item)
profile = _awaitable(lifelong.profile)
search_items = _awaitable(lifelong.search_items)
trigger_memory_consolidation = _awaitable(lifelong.trigger_memory_consolidation)

cancel = _awaitable(jobs.cancel)
count_operations = _awaitable(jobs.count_operations)
enqueue_operation = _awaitable(jobs.enqueue_operation)
list_operations = _awaitable(jobs.list_operations)
retry_operation = _awaitable(jobs.retry_operation)
run_pending = _awaitable(jobs.run_pending)

add_token = _awaitable(tokens.add_token)
find_token = _awaitable(tokens.find_token)
list_tokens = _awaitable(tokens.list_tokens)
narrow_scope = _awaitable(tokens.narrow_scope)
revoke_token = _awaitable(tokens.revoke_token)

save_transcript = _awaitable(transcripts.save_transcript)

export_items = _awaitable(transfer.export_items)
import_items = _awaitable(transfer.import_items)

export_chat = _awaitable(exports.export_chat)

import_file = _awaitable(imports.import_file)

check_server = _awaitable(db.check_server)
configure = _awaitable(db.configure)
copy_database = _awaitable(db.copy_database)
default_database = _awaitable(db.default_database)
forget = _awaitable(forgetting.forget)
insert_memory = _awaitable(db.insert_memory)
migrate = _awaitable(db.migrate)
open_database = _awaitable(db.open_database)
pack_index = _awaitable(db.pack_index)
reindex = _awaitable(db.reindex)
