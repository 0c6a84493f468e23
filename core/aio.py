"""DOOR: the names of the other doors, awaitable.

`await aio.search_memories(tags=["cat"])` takes the arguments of `synth_core_memory.search_memories`, gives its
result and raises its exceptions. The function is looked up by name in its own module at the moment of the call and runs
in a pool of AIO_WORKERS threads with the caller's context variables, `use_scope` among them.

A door is imported at its first call, in the thread that serves it. An await that is cancelled stops waiting; a call
that has begun goes on to its end in its thread, a write included.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from .calls import defaults

if TYPE_CHECKING:
    from . import ai_diary as _ai_diary
    from . import chat_history_cache as _chat
    from . import conversations as _conversations
    from . import db as _db
    from . import doctor as _doctor
    from . import history_engine as _history
    from . import jobs as _jobs
    from . import lifelong as _lifelong
    from . import privacy as _privacy
    from . import prompt_engine as _prompt
    from . import relationships as _relationships
    from . import semantic as _semantic
    from . import short_term as _short_term
    from . import stories as _stories
    from . import synth_core_memory as _memory
    from . import synth_tagging as _tagging
    from . import transfer as _transfer
    from . import wishes as _wishes
else:

    class _Door:
        """A door that is imported when one of its names is asked for."""

        def __init__(self, module: str) -> None:
            self.module = module

        def __getattr__(self, name: str) -> Any:
            return getattr(import_module(self.module), name)

    _ai_diary = _Door("core.ai_diary")
    _chat = _Door("core.chat_history_cache")
    _conversations = _Door("core.conversations")
    _db = _Door("core.db")
    _doctor = _Door("core.doctor")
    _history = _Door("core.history_engine")
    _jobs = _Door("core.jobs")
    _lifelong = _Door("core.lifelong")
    _privacy = _Door("core.privacy")
    _prompt = _Door("core.prompt_engine")
    _relationships = _Door("core.relationships")
    _semantic = _Door("core.semantic")
    _short_term = _Door("core.short_term")
    _stories = _Door("core.stories")
    _memory = _Door("core.synth_core_memory")
    _tagging = _Door("core.synth_tagging")
    _transfer = _Door("core.transfer")
    _wishes = _Door("core.wishes")

P = ParamSpec("P")
R = TypeVar("R")

_pools: dict[tuple[int, int], ThreadPoolExecutor] = {}
_making = threading.Lock()


def _pool(workers: int) -> ThreadPoolExecutor:
    """Return the threads of this process for this number of workers; a forked child has none of its parent's."""
    key = os.getpid(), workers
    with _making:
        if key not in _pools:
            _pools[key] = ThreadPoolExecutor(workers, thread_name_prefix="prompt-engine-aio")
        return _pools[key]


def _awaitable(find: Callable[[], Callable[P, R]]) -> Callable[P, Coroutine[Any, Any, R]]:
    """Return the awaitable form of the function that `find` looks up at each call."""

    async def call(*args: P.args, **kwargs: P.kwargs) -> R:
        settings = defaults.known_settings(cast("Any", kwargs.get("settings")), kwargs.get("db"))
        context = contextvars.copy_context()
        loop = asyncio.get_running_loop()
        result = await loop.run_in_executor(
            _pool(settings.aio_workers), lambda: context.run(lambda: find()(*args, **kwargs))
        )
        # What a host puts in a function's place may be async.
        return await cast("Awaitable[R]", result) if inspect.isawaitable(result) else result

    return call


# The prompt


def _to_messages(
    prompt: Mapping[str, Any],
    dialect: str = "openai",
    *,
    injection: Mapping[str, Any] | None = None,
    settings: Any = None,
) -> Any:
    """One signature for all dialects; that of the door has one for each, which cannot be passed on."""
    return _prompt.to_messages(prompt, dialect, injection=injection, settings=settings)


build_json_prompt = _awaitable(lambda: _prompt.build_json_prompt)
explain_json_prompt = _awaitable(lambda: _prompt.explain_json_prompt)
fit_prompt = _awaitable(lambda: _prompt.fit_prompt)
reduce_prompt_for_llm_limit = _awaitable(lambda: _prompt.reduce_prompt_for_llm_limit)
reduce_json_text_for_transmission = _awaitable(lambda: _prompt.reduce_json_text_for_transmission)
to_json = _awaitable(lambda: _prompt.to_json)
to_messages = _awaitable(lambda: _to_messages)
set_hook = _awaitable(lambda: _prompt.set_hook)
build_context = _awaitable(lambda: _history.HistoryEngine().build_context)
"""`history_engine.HistoryEngine().build_context`, awaitable."""

# Tags and words

extract_tags = _awaitable(lambda: _tagging.extract_tags)
extract_keywords = _awaitable(lambda: _tagging.extract_keywords)
expand_tags = _awaitable(lambda: _tagging.expand_tags)
add_tag = _awaitable(lambda: _tagging.add_tag)
add_alias = _awaitable(lambda: _tagging.add_alias)
link_tags = _awaitable(lambda: _tagging.link_tags)
list_tags = _awaitable(lambda: _tagging.list_tags)

# Searching and saving memories

search_memories = _awaitable(lambda: _memory.search_memories)
explain_search = _awaitable(lambda: _memory.explain_search)
preview_search = _awaitable(lambda: _memory.preview_search)
free_memory_search = _awaitable(lambda: _memory.free_memory_search)
memory_search_action = _awaitable(lambda: _memory.memory_search_action)
should_remember = _awaitable(lambda: _memory.should_remember)
silently_record_memory = _awaitable(lambda: _memory.silently_record_memory)

# The log of what was said

save_chat_message = _awaitable(lambda: _chat.save_chat_message)
load_chat_history = _awaitable(lambda: _chat.load_chat_history)
load_global_chat_history = _awaitable(lambda: _chat.load_global_chat_history)
edit_chat_message = _awaitable(lambda: _chat.edit_chat_message)
delete_chat_message = _awaitable(lambda: _chat.delete_chat_message)
clear_chat_history = _awaitable(lambda: _chat.clear_chat_history)
get_cache_stats = _awaitable(lambda: _chat.get_cache_stats)

# The diary

add_diary_entry = _awaitable(lambda: _ai_diary.add_diary_entry)
get_recent_entries = _awaitable(lambda: _ai_diary.get_recent_entries)
get_entries_by_tags = _awaitable(lambda: _ai_diary.get_entries_by_tags)
get_entries_with_person = _awaitable(lambda: _ai_diary.get_entries_with_person)
cleanup_old_entries = _awaitable(lambda: _ai_diary.cleanup_old_entries)
unarchive_entries = _awaitable(lambda: _ai_diary.unarchive_entries)

# Recent conversations and saved memories

add_recent_conversation = _awaitable(lambda: _conversations.add_recent_conversation)
add_saved_memory = _awaitable(lambda: _conversations.add_saved_memory)
close_conversation = _awaitable(lambda: _conversations.close_conversation)
delete_saved_memory = _awaitable(lambda: _conversations.delete_saved_memory)
export_markdown = _awaitable(lambda: _conversations.export_markdown)
get_system_prompt_with_memory = _awaitable(lambda: _conversations.get_system_prompt_with_memory)
get_user_memory_prompt = _awaitable(lambda: _conversations.get_user_memory_prompt)
import_markdown = _awaitable(lambda: _conversations.import_markdown)
list_recent_conversations = _awaitable(lambda: _conversations.list_recent_conversations)
list_saved_memories = _awaitable(lambda: _conversations.list_saved_memories)
load_memory = _awaitable(lambda: _conversations.load_memory)
memory_tools = _awaitable(lambda: _conversations.memory_tools)
parse_tool_call = _awaitable(lambda: _conversations.parse_tool_call)
run_tool_call = _awaitable(lambda: _conversations.run_tool_call)
saved_memory_history = _awaitable(lambda: _conversations.saved_memory_history)
update_saved_memory = _awaitable(lambda: _conversations.update_saved_memory)

# Standing wishes

add_wish = _awaitable(lambda: _wishes.add_wish)
change_wish = _awaitable(lambda: _wishes.change_wish)
delete_wish = _awaitable(lambda: _wishes.delete_wish)
list_wishes = _awaitable(lambda: _wishes.list_wishes)
restore_wish = _awaitable(lambda: _wishes.restore_wish)

# What was said a moment ago

build_short_term_context = _awaitable(lambda: _short_term.build_short_term_context)
clear_by_channel = _awaitable(lambda: _short_term.clear_by_channel)
clear_by_server = _awaitable(lambda: _short_term.clear_by_server)
clear_by_user = _awaitable(lambda: _short_term.clear_by_user)
clear_expired = _awaitable(lambda: _short_term.clear_expired)
get_for_server = _awaitable(lambda: _short_term.get_for_server)
get_for_user = _awaitable(lambda: _short_term.get_for_user)
get_stats = _awaitable(lambda: _short_term.get_stats)
relative_age = _awaitable(lambda: _short_term.relative_age)
store_short_term_memory = _awaitable(lambda: _short_term.store_short_term_memory)
update_short_term_memory = _awaitable(lambda: _short_term.update_short_term_memory)
write_turn = _awaitable(lambda: _short_term.write_turn)

# Embeddings

count_vectors = _awaitable(lambda: _semantic.count_vectors)
drop_vectors = _awaitable(lambda: _semantic.drop_vectors)
embed_rows = _awaitable(lambda: _semantic.embed_rows)

# How the persona stands to people

adjust = _awaitable(lambda: _relationships.adjust)
decay_all = _awaitable(lambda: _relationships.decay_all)
ensure_and_touch = _awaitable(lambda: _relationships.ensure_and_touch)
get = _awaitable(lambda: _relationships.get)
history = _awaitable(lambda: _relationships.history)
list_recent = _awaitable(lambda: _relationships.list_recent)
relationship_text = _awaitable(lambda: _relationships.relationship_text)

# What is wrong with an installation

examine = _awaitable(lambda: _doctor.examine)

# Privacy

set_privacy = _awaitable(lambda: _privacy.set_privacy)
set_conversation_local_only = _awaitable(lambda: _privacy.set_conversation_local_only)
set_conversation_privacy = _awaitable(lambda: _privacy.set_conversation_privacy)
link_participants = _awaitable(lambda: _privacy.link_participants)
unlink_participant = _awaitable(lambda: _privacy.unlink_participant)
list_quarantined = _awaitable(lambda: _privacy.list_quarantined)
release = _awaitable(lambda: _privacy.release)
scope_of = _awaitable(lambda: _privacy.scope_of)
set_screen = _awaitable(lambda: _privacy.set_screen)

# Stories

accept_refused = _awaitable(lambda: _stories.accept_refused)
add_alternative = _awaitable(lambda: _stories.add_alternative)
add_running_recap_version = _awaitable(lambda: _stories.add_running_recap_version)
add_scene_break = _awaitable(lambda: _stories.add_scene_break)
auto_hide_plan = _awaitable(lambda: _stories.auto_hide_plan)
branch_conversation = _awaitable(lambda: _stories.branch_conversation)
check_message_exclusion = _awaitable(lambda: _stories.check_message_exclusion)
choose_alternative = _awaitable(lambda: _stories.choose_alternative)
choose_scene_recap = _awaitable(lambda: _stories.choose_scene_recap)
clear_all = _awaitable(lambda: _stories.clear_all)
concatenate_recap = _awaitable(lambda: _stories.concatenate_recap)
copy_recaps = _awaitable(lambda: _stories.copy_recaps)
delete_running_recap_version = _awaitable(lambda: _stories.delete_running_recap_version)
dismiss_refused = _awaitable(lambda: _stories.dismiss_refused)
edit_memory = _awaitable(lambda: _stories.edit_memory)
edit_scene_break = _awaitable(lambda: _stories.edit_scene_break)
from_number = _awaitable(lambda: _stories.from_number)
get_data = _awaitable(lambda: _stories.get_data)
get_memory = _awaitable(lambda: _stories.get_memory)
get_recap_text = _awaitable(lambda: _stories.get_recap_text)
get_running_recap = _awaitable(lambda: _stories.get_running_recap)
get_running_recap_injection = _awaitable(lambda: _stories.get_running_recap_injection)
get_running_recap_storage = _awaitable(lambda: _stories.get_running_recap_storage)
get_running_recap_versions = _awaitable(lambda: _stories.get_running_recap_versions)
get_scene_range = _awaitable(lambda: _stories.get_scene_range)
get_scene_recaps = _awaitable(lambda: _stories.get_scene_recaps)
get_short_token_limit = _awaitable(lambda: _stories.get_short_token_limit)
list_alternatives = _awaitable(lambda: _stories.list_alternatives)
list_refused = _awaitable(lambda: _stories.list_refused)
list_scenes = _awaitable(lambda: _stories.list_scenes)
queue_recaps = _awaitable(lambda: _stories.queue_recaps)
refresh_memory = _awaitable(lambda: _stories.refresh_memory)
remove_scene_break = _awaitable(lambda: _stories.remove_scene_break)
role_from_number = _awaitable(lambda: _stories.role_from_number)
role_to_number = _awaitable(lambda: _stories.role_to_number)
set_current_running_recap = _awaitable(lambda: _stories.set_current_running_recap)
set_data = _awaitable(lambda: _stories.set_data)
set_scene_recap = _awaitable(lambda: _stories.set_scene_recap)
switch_stories = _awaitable(lambda: _stories.switch_stories)
to_number = _awaitable(lambda: _stories.to_number)
to_numbers = _awaitable(lambda: _stories.to_numbers)
update_message_inclusion_flags = _awaitable(lambda: _stories.update_message_inclusion_flags)

# Memory that lasts

add_facts_with_meta = _awaitable(lambda: _lifelong.add_facts_with_meta)
compact = _awaitable(lambda: _lifelong.compact)
consolidate_history = _awaitable(lambda: _lifelong.consolidate_history)
deep_consolidation = _awaitable(lambda: _lifelong.deep_consolidation)
delete_item = _awaitable(lambda: _lifelong.delete_item)
delete_items = _awaitable(lambda: _lifelong.delete_items)
edit_item = _awaitable(lambda: _lifelong.edit_item)
get_item = _awaitable(lambda: _lifelong.get_item)
get_item_history = _awaitable(lambda: _lifelong.get_item_history)
health = _awaitable(lambda: _lifelong.health)
on_stream_end = _awaitable(lambda: _lifelong.on_stream_end)
pin_item = _awaitable(lambda: _lifelong.pin_item)
pin_items = _awaitable(lambda: _lifelong.pin_items)
prune_ltm = _awaitable(lambda: _lifelong.prune_ltm)
prune_session_by_ttl = _awaitable(lambda: _lifelong.prune_session_by_ttl)
purge_items = _awaitable(lambda: _lifelong.purge_items)
restore_item = _awaitable(lambda: _lifelong.restore_item)
restore_items = _awaitable(lambda: _lifelong.restore_items)
retag_items = _awaitable(lambda: _lifelong.retag_items)
run_cycle = _awaitable(lambda: _lifelong.run_cycle)
search_items = _awaitable(lambda: _lifelong.search_items)
trigger_memory_consolidation = _awaitable(lambda: _lifelong.trigger_memory_consolidation)

# Work in the background

cancel = _awaitable(lambda: _jobs.cancel)
clear_queue = _awaitable(lambda: _jobs.clear_queue)
count_operations = _awaitable(lambda: _jobs.count_operations)
enqueue_operation = _awaitable(lambda: _jobs.enqueue_operation)
list_operations = _awaitable(lambda: _jobs.list_operations)
operation_scope = _awaitable(lambda: _jobs.operation_scope)
register_handler = _awaitable(lambda: _jobs.register_handler)
retry_operation = _awaitable(lambda: _jobs.retry_operation)
run_pending = _awaitable(lambda: _jobs.run_pending)

# Files

export_items = _awaitable(lambda: _transfer.export_items)
import_items = _awaitable(lambda: _transfer.import_items)

# The database

configure = _awaitable(lambda: _db.configure)
current_database = _awaitable(lambda: _db.current_database)
default_database = _awaitable(lambda: _db.default_database)
open_database = _awaitable(lambda: _db.open_database)
forget = _awaitable(lambda: _db.forget)
insert_memory = _awaitable(lambda: _db.insert_memory)
check_server = _awaitable(lambda: _db.check_server)
migrate = _awaitable(lambda: _db.migrate)
reindex = _awaitable(lambda: _db.reindex)
verify_index = _awaitable(lambda: _db.verify_index)

__all__ = [
    "accept_refused",
    "add_alias",
    "add_alternative",
    "add_diary_entry",
    "add_facts_with_meta",
    "add_recent_conversation",
    "add_running_recap_version",
    "add_saved_memory",
    "add_scene_break",
    "add_tag",
    "add_wish",
    "adjust",
    "auto_hide_plan",
    "branch_conversation",
    "build_context",
    "build_json_prompt",
    "build_short_term_context",
    "cancel",
    "change_wish",
    "check_message_exclusion",
    "check_server",
    "choose_alternative",
    "choose_scene_recap",
    "cleanup_old_entries",
    "clear_all",
    "clear_by_channel",
    "clear_by_server",
    "clear_by_user",
    "clear_chat_history",
    "clear_expired",
    "clear_queue",
    "close_conversation",
    "compact",
    "concatenate_recap",
    "configure",
    "consolidate_history",
    "copy_recaps",
    "count_operations",
    "count_vectors",
    "current_database",
    "decay_all",
    "deep_consolidation",
    "default_database",
    "delete_chat_message",
    "delete_item",
    "delete_items",
    "delete_running_recap_version",
    "delete_saved_memory",
    "delete_wish",
    "dismiss_refused",
    "drop_vectors",
    "edit_chat_message",
    "edit_item",
    "edit_memory",
    "edit_scene_break",
    "embed_rows",
    "enqueue_operation",
    "ensure_and_touch",
    "examine", "expand_tags",
    "explain_json_prompt",
    "explain_search",
    "export_items",
    "export_markdown",
    "extract_keywords",
    "extract_tags",
    "fit_prompt",
    "forget",
    "free_memory_search",
    "from_number",
    "get",
    "get_cache_stats",
    "get_data",
    "get_entries_by_tags",
    "get_entries_with_person",
    "get_for_server",
    "get_for_user",
    "get_item",
    "get_item_history",
    "get_memory",
    "get_recap_text",
    "get_recent_entries",
    "get_running_recap",
    "get_running_recap_injection",
    "get_running_recap_storage",
    "get_running_recap_versions",
    "get_scene_range",
    "get_scene_recaps",
    "get_short_token_limit",
    "get_stats",
    "get_system_prompt_with_memory",
    "get_user_memory_prompt",
    "health",
    "history",
    "import_items",
    "import_markdown",
    "insert_memory",
    "link_participants",
    "link_tags",
    "list_alternatives",
    "list_operations",
    "list_quarantined",
    "list_recent",
    "list_recent_conversations",
    "list_refused",
    "list_saved_memories",
    "list_scenes",
    "list_tags",
    "list_wishes",
    "load_chat_history",
    "load_global_chat_history",
    "load_memory",
    "memory_search_action",
    "memory_tools",
    "migrate",
    "on_stream_end",
    "open_database",
    "operation_scope",
    "parse_tool_call",
    "pin_item",
    "pin_items",
    "preview_search",
    "prune_ltm",
    "prune_session_by_ttl",
    "purge_items",
    "queue_recaps",
    "reduce_json_text_for_transmission",
    "reduce_prompt_for_llm_limit",
    "refresh_memory",
    "register_handler",
    "reindex",
    "relationship_text",
    "relative_age",
    "release",
    "remove_scene_break",
    "restore_item",
    "restore_items",
    "restore_wish",
    "retag_items",
    "retry_operation",
    "role_from_number",
    "role_to_number",
    "run_cycle",
    "run_pending",
    "run_tool_call",
    "save_chat_message",
    "saved_memory_history",
    "scope_of",
    "search_items",
    "search_memories",
    "set_conversation_local_only",
    "set_conversation_privacy",
    "set_current_running_recap",
    "set_data",
    "set_hook",
    "set_privacy",
    "set_scene_recap",
    "set_screen",
    "should_remember",
    "silently_record_memory",
    "store_short_term_memory",
    "switch_stories",
    "to_json",
    "to_messages",
    "to_number",
    "to_numbers",
    "trigger_memory_consolidation",
    "unarchive_entries",
    "unlink_participant",
    "update_message_inclusion_flags",
    "update_saved_memory",
    "update_short_term_memory",
    "verify_index",
    "write_turn",
]  # fmt: skip

for _name in __all__:  # tracebacks and help() say the name that was called
    globals()[_name].__name__ = globals()[_name].__qualname__ = _name
