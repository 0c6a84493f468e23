"""DOOR: the names of the other doors, awaitable.

`await aio.search_memories(tags=["cat"])` takes the arguments of `synth_core_memory.search_memories`, gives its
result and raises its exceptions. The function is looked up by name in its own module at the moment of the call and runs
in a pool of AIO_WORKERS threads with the caller's context variables, `use_scope` among them.

A door is imported at its first call, in the thread that serves it. An await that is cancelled stops waiting; a call
that has begun goes on to its end in its thread, a write included.

What this gives is a loop that stays free: while a prompt is built, everything else is answered. It does not make more
of a processor: fifty prompts asked for at once take as long as fifty in turn where one core does the work.

What type checkers and editors read stands in `aio.pyi`; `make docs` writes it from the doors.

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
import contextvars
import inspect
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module
from typing import Any

from .calls import defaults

DOORS = {
    ".prompt_engine": """
        build_json_prompt explain_json_prompt fit_prompt parse_answer reduce_json_text_for_transmission
        reduce_prompt_for_llm_limit set_hook to_json to_messages
    """,
    ".history_engine": "build_context",
    ".synth_tagging": "add_alias add_tag expand_tags extract_keywords extract_tags link_tags list_tags",
    ".synth_core_memory": """
        explain_search free_memory_search memory_search_action preview_search search_memories should_remember
        silently_record_memory
    """,
    ".chat_history_cache": """
        clear_chat_history delete_chat_message edit_chat_message get_cache_stats load_chat_history
        load_global_chat_history save_chat_message save_message
    """,
    ".ai_diary": """
        add_diary_entry cleanup_old_entries get_entries_by_tags get_entries_with_person get_recent_entries
        unarchive_entries
    """,
    ".conversations": """
        add_recent_conversation add_saved_memory close_conversation delete_saved_memory export_markdown
        get_system_prompt_with_memory get_user_memory_prompt import_markdown list_recent_conversations
        list_saved_memories load_memory memory_tools parse_tool_call run_tool_call saved_memory_history
        update_saved_memory
    """,
    ".values": """
        change_values delete_expired_values find_values list_value_namespaces list_values search_values texts_in
    """,
    ".wishes": "add_wish change_wish delete_wish list_wishes restore_wish",
    ".short_term": """
        build_short_term_context clear_by_channel clear_by_server clear_by_user clear_expired get_for_server
        get_for_user get_stats relative_age store_short_term_memory update_short_term_memory write_turn
    """,
    ".semantic": "count_vectors drop_vectors embed_rows",
    ".relationships": "adjust decay_all ensure_and_touch get history list_recent relationship_text",
    ".doctor": "examine",
    ".forgetting": "delete_quarantined",
    ".privacy": """
        link_participants list_quarantined release scope_of set_conversation_local_only set_conversation_privacy
        set_privacy set_screen unlink_participant
    """,
    ".stories": """
        accept_refused add_alternative add_running_recap_version add_scene_break auto_hide_plan
        branch_conversation check_message_exclusion choose_alternative choose_scene_recap clear_all
        concatenate_recap copy_recaps delete_running_recap_version dismiss_refused edit_memory edit_scene_break
        from_number get_data get_memory get_recap_text get_running_recap get_running_recap_injection
        get_running_recap_storage get_running_recap_versions get_scene_range get_scene_recaps
        get_short_token_limit list_alternatives list_refused list_scenes queue_recaps refresh_memory
        remove_scene_break role_from_number role_to_number set_current_running_recap set_data set_scene_recap
        switch_stories to_number to_numbers update_message_inclusion_flags
    """,
    ".lifelong": """
        add_facts_with_meta classify_items compact consolidate_history deep_consolidation delete_item delete_items
        edit_item get_item get_item_history health list_duplicates merge_items on_stream_end pin_item pin_items
        prune_ltm prune_session_by_ttl purge_items restore_item restore_items retag_items run_cycle search_items
        trigger_memory_consolidation
    """,
    ".jobs": """
        cancel clear_queue count_operations enqueue_operation list_operations operation_scope register_handler
        retry_operation run_pending
    """,
    ".tokens": "add_token find_token list_tokens narrow_scope revoke_token",
    ".transcripts": "save_transcript",
    ".transfer": "export_items export_values import_items import_values",
    ".transfer.exports": "export_chat",
    ".transfer.imports": "import_file",
    ".config": "set_value",
    ".db": """
        check_server configure current_database default_database forget insert_memory migrate open_database
        pack_index reindex verify_index
    """,
}
"""Module to the names it is asked for: every function of its `__all__`, and what `HistoryEngine()` does."""

_pools: dict[tuple[int, int], ThreadPoolExecutor] = {}
_making = threading.Lock()


def _pool(workers: int) -> ThreadPoolExecutor:
    """Return the threads of this process for this number of workers; a forked child has none of its parent's."""
    key = os.getpid(), workers
    with _making:
        if key not in _pools:
            _pools[key] = ThreadPoolExecutor(workers, thread_name_prefix="prompt-engine-aio")
        return _pools[key]


def _awaitable(find: Callable[[], Callable[..., Any]]) -> Callable[..., Coroutine[Any, Any, Any]]:
    """Return the awaitable form of the function that `find` looks up at each call."""

    async def call(*args: Any, **kwargs: Any) -> Any:
        settings = defaults.known_settings(kwargs.get("settings"), kwargs.get("db"))
        context = contextvars.copy_context()
        loop = asyncio.get_running_loop()
        result = await loop.run_in_executor(
            _pool(settings.aio_workers), lambda: context.run(lambda: find()(*args, **kwargs))
        )
        # What a host puts in a function's place may be async.
        return await result if inspect.isawaitable(result) else result

    return call


def _find_function(module: str, name: str) -> Callable[..., Any]:
    door = import_module(module, __package__)
    function: Callable[..., Any] = getattr(door.HistoryEngine() if name == "build_context" else door, name)
    return function


def _add_names() -> list[str]:
    """Put an awaitable of every name into this module and return the names, sorted."""
    modules = {name: module for module, names in DOORS.items() for name in names.split()}
    for name, module in modules.items():
        call = _awaitable(partial(_find_function, module, name))
        call.__name__ = call.__qualname__ = name  # tracebacks and help() say the name that was called
        globals()[name] = call
    return sorted(modules)


__all__ = _add_names()  # noqa: PLE0605 - they are known when this module is imported
