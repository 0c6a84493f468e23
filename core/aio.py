"""DOOR: the names of the other doors, awaitable (rule G1).

`await aio.search_memories(tags=["cat"])` takes the arguments of `core.synth_core_memory.search_memories`, gives its
result and raises its exceptions. The function is looked up by name in its own module at the moment of the call (rule
G2) and runs in a pool of AIO_WORKERS threads with the caller's context variables, `use_scope` among them.

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

from core import defaults

if TYPE_CHECKING:
    from core import ai_diary as _ai_diary
    from core import chat_history_cache as _chat
    from core import db as _db
    from core import history_engine as _history
    from core import privacy as _privacy
    from core import prompt_engine as _prompt
    from core import synth_core_memory as _memory
    from core import synth_tagging as _tagging
else:

    class _Door:
        """A door that is imported when one of its names is asked for."""

        def __init__(self, module: str) -> None:
            self.module = module

        def __getattr__(self, name: str) -> Any:
            return getattr(import_module(self.module), name)

    _ai_diary = _Door("core.ai_diary")
    _chat = _Door("core.chat_history_cache")
    _db = _Door("core.db")
    _history = _Door("core.history_engine")
    _privacy = _Door("core.privacy")
    _prompt = _Door("core.prompt_engine")
    _memory = _Door("core.synth_core_memory")
    _tagging = _Door("core.synth_tagging")

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
        # What a host puts in a function's place may be async (G3).
        return await cast("Awaitable[R]", result) if inspect.isawaitable(result) else result

    return call


# The prompt


def _to_messages(prompt: Mapping[str, Any], dialect: str = "openai") -> Any:
    """One signature for all dialects; that of the door has one for each, which cannot be passed on."""
    return _prompt.to_messages(prompt, dialect)


build_json_prompt = _awaitable(lambda: _prompt.build_json_prompt)
explain_json_prompt = _awaitable(lambda: _prompt.explain_json_prompt)
fit_prompt = _awaitable(lambda: _prompt.fit_prompt)
reduce_prompt_for_llm_limit = _awaitable(lambda: _prompt.reduce_prompt_for_llm_limit)
reduce_json_text_for_transmission = _awaitable(lambda: _prompt.reduce_json_text_for_transmission)
to_json = _awaitable(lambda: _prompt.to_json)
to_messages = _awaitable(lambda: _to_messages)
set_hook = _awaitable(lambda: _prompt.set_hook)
build_context = _awaitable(lambda: _history.HistoryEngine().build_context)
"""`core.history_engine.HistoryEngine().build_context`, awaitable."""

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

# Privacy

set_privacy = _awaitable(lambda: _privacy.set_privacy)
set_conversation_privacy = _awaitable(lambda: _privacy.set_conversation_privacy)
link_participants = _awaitable(lambda: _privacy.link_participants)
unlink_participant = _awaitable(lambda: _privacy.unlink_participant)
list_quarantined = _awaitable(lambda: _privacy.list_quarantined)
release = _awaitable(lambda: _privacy.release)
scope_of = _awaitable(lambda: _privacy.scope_of)
set_screen = _awaitable(lambda: _privacy.set_screen)

# The database

configure = _awaitable(lambda: _db.configure)
current_database = _awaitable(lambda: _db.current_database)
default_database = _awaitable(lambda: _db.default_database)
open_database = _awaitable(lambda: _db.open_database)
insert_memory = _awaitable(lambda: _db.insert_memory)
check_server = _awaitable(lambda: _db.check_server)
migrate = _awaitable(lambda: _db.migrate)
reindex = _awaitable(lambda: _db.reindex)
verify_index = _awaitable(lambda: _db.verify_index)

__all__ = [
    "add_alias",
    "add_diary_entry",
    "add_tag",
    "build_context",
    "build_json_prompt",
    "check_server",
    "cleanup_old_entries",
    "clear_chat_history",
    "configure",
    "current_database",
    "default_database",
    "delete_chat_message",
    "edit_chat_message",
    "expand_tags",
    "explain_json_prompt",
    "explain_search",
    "extract_keywords",
    "extract_tags",
    "fit_prompt",
    "free_memory_search",
    "get_cache_stats",
    "get_entries_by_tags",
    "get_entries_with_person",
    "get_recent_entries",
    "insert_memory",
    "link_participants",
    "link_tags",
    "list_quarantined",
    "list_tags",
    "load_chat_history",
    "load_global_chat_history",
    "memory_search_action",
    "migrate",
    "open_database",
    "preview_search",
    "reduce_json_text_for_transmission",
    "reduce_prompt_for_llm_limit",
    "reindex",
    "release",
    "save_chat_message",
    "scope_of",
    "search_memories",
    "set_conversation_privacy",
    "set_hook",
    "set_privacy",
    "set_screen",
    "should_remember",
    "silently_record_memory",
    "to_json",
    "to_messages",
    "unarchive_entries",
    "unlink_participant",
    "verify_index",
]  # fmt: skip

for _name in __all__:  # tracebacks and help() say the name that was called
    globals()[_name].__name__ = globals()[_name].__qualname__ = _name
