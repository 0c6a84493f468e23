"""Every public way to read, with a caller that takes it as a scope: the registry that the walk goes through."""

import importlib
import inspect
import io
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from core import aio, conversations, lifelong, prompt_engine, short_term, transfer, values
from core import synth_core_memory as remembering
from core.errors import CoreError
from core.history_engine import HistoryEngine
from core.transfer.exports import export_chat
from tests.api_page import DOORS
from tests.isolation.world import COMMON, MINUTE, TAG, Asking, Place, World
from tests.store.world import NOW

Level = Literal["scope", "own right", "persona"]
"""scope: F12 holds for who asks. own right: a scope that names no conversation reads the one asked for as if it stood
there. persona: a listing for an operator, who sees a persona as a whole."""

Caller = Callable[[World, Asking, Place], Any]


@dataclass(frozen=True, slots=True)
class Reader:
    call: Caller
    level: Level = "scope"
    about: bool = False
    """It is asked about a place, by its key or a row of it: it is tried with those of others."""


READERS: dict[str, Reader] = {}


def _given(world: World, asking: Asking) -> dict[str, Any]:
    return {"db": world.db, "settings": world.settings, "scope": asking.scope}


def _calls(name: str, call: Callable[..., Any], right: Level = "scope", *, about: bool = False) -> None:
    READERS[name] = Reader(lambda w, a, p: call(p, **_given(w, a)), right, about)


def _reads(name: str, *arguments: Any, right: Level = "scope", about: bool = False, **more: Any) -> None:
    """List a door with its arguments; those that are functions are called with the place."""

    def made(argument: Any, place: Place) -> Any:
        return argument(place) if callable(argument) else argument

    def call(place: Place, **by: Any) -> Any:
        named = {key: made(each, place) for key, each in more.items()}
        return pkgutil.resolve_name(name)(*(made(each, place) for each in arguments), **named, **by)

    _calls(name, call, right, about=about)


def _key(place: Place) -> str:
    return place.conversation or "tg/none"


def _person(place: Place) -> str:
    return place.participant


def _item(place: Place) -> int:
    return place.rows.get("memories", 1)


def _row(place: Place) -> int:
    return place.rows.get("chat_history_cache", 1)


# The prompt, with all its sections, and the host's live messages of everybody


def message(asking: Asking) -> dict[str, Any]:
    scope = asking.scope
    interface, _, own = (scope.participant or "web/7").partition("/")
    made: dict[str, Any] = {
        "message_id": "now", "date": NOW, "text": f"what about the {COMMON}, and who sleeps there?",
        "interface": interface, "from_user": {"id": own, "full_name": "Who", "username": "who"},
        "server_id": scope.server or None,
    }  # fmt: skip
    if scope.conversation is not None:
        made["interface_path"] = scope.conversation
    if scope.privacy is not None:
        made["is_private"] = scope.privacy != "public"
    return made


def live(world: World, asking: Asking) -> dict[str, list[dict[str, Any]]]:
    """Return the host's map of live messages: all conversations of the persona, each with a canary of its own."""
    own = asking.scope
    told: dict[str, list[dict[str, Any]]] = {}
    for place in world.by_persona[asking.scope.persona]:
        elsewhere = place.conversation == own.conversation and own.server not in ("", place.server)
        elsewhere |= bool(asking.asker.server) and world.find_room(asking.asker, place.conversation) is not place
        if place.conversation is not None and not elsewhere:
            text = f"live {COMMON} {world.live_canary(place)}"
            told[place.conversation] = [{"text": text, "sender_id": "x", "sender_name": "X", "timestamp": NOW - MINUTE}]
    return told


def _prompt(world: World, asking: Asking) -> Any:
    given = _given(world, asking)
    prompt, report = prompt_engine.explain_json_prompt(
        message(asking), live(world, asking), destination=asking.scope.destination, **given
    )
    return prompt, report, prompt_engine.to_messages(prompt)


def _prompts(name: str) -> None:
    READERS[name] = Reader(lambda w, a, p: pkgutil.resolve_name(name)(message(a), live(w, a), **_given(w, a)))


for _name in ("build_json_prompt", "explain_messages", "build_messages"):
    _prompts(f"core.prompt_engine.{_name}")
READERS["core.prompt_engine.explain_json_prompt"] = Reader(lambda w, a, p: _prompt(w, a))
READERS["core.history_engine.HistoryEngine"] = Reader(
    lambda w, a, p: HistoryEngine().build_context(message(a), live(w, a), **_given(w, a))
)

# Searches

_calls("core.synth_core_memory.search_memories",
       lambda p, **by: [remembering.search_memories(**asked, limit=50, ranking=ranking, **by)
                        for ranking in ("recency", "relevance")
                        for asked in ({"tags": [TAG]}, {"keywords": [COMMON]},
                                      {"query": f"the {COMMON} sleeps"})])  # fmt: skip
_reads("core.synth_core_memory.explain_search", tags=[TAG], keywords=[COMMON, "zq"], limit=50)
_reads("core.synth_core_memory.free_memory_search", f"{COMMON} {TAG}", 50)

# The log and the diary

_reads("core.chat_history_cache.load_chat_history", _key, 50, level=True, right="own right", about=True)
_reads("core.chat_history_cache.load_global_chat_history", 1000)
_reads("core.chat_history_cache.get_cache_stats")
_reads("core.ai_diary.get_recent_entries", 30)
_reads("core.ai_diary.get_entries_by_tags", [TAG], 1000)


def _with_person(world: World, asking: Asking, place: Place) -> Any:
    name = world.people.get(place.origin, "nobody")
    return pkgutil.resolve_name("core.ai_diary.get_entries_with_person")(name, 100, **_given(world, asking))


READERS["core.ai_diary.get_entries_with_person"] = Reader(_with_person, about=True)

# Recent conversations, saved memories, the tool

for _name in ("get_user_memory_prompt", "list_recent_conversations", "list_saved_memories", "load_memory"):
    _reads(f"core.conversations.{_name}")
_reads("core.conversations.memory_tools")
_reads("core.conversations.get_system_prompt_with_memory", "base")


def _tool(place: Place, **by: Any) -> Any:
    """What is there already is not told by the refusal to store it twice."""
    reply = '{"tool": "memoryTool", "statement": ""}'
    return [conversations.run_tool_call(call, **by) for call in conversations.parse_tool_call(reply)]


_calls("core.conversations.run_tool_call", _tool)
READERS["core.conversations.export_markdown"] = Reader(lambda w, a, p: w.markdown(a))

# A moment ago

_calls("core.short_term.get_for_user",
       lambda p, **by: [short_term.get_for_user(who, **by)
                        for who in (p.participant, by["scope"].participant or "x/y")],
       "own right", about=True)  # fmt: skip
_reads("core.short_term.get_for_server", lambda p: p.server or "none", right="own right", about=True)


def _context(place: Place, **by: Any) -> Any:
    """A server that a host names says which room of that name is meant; where it names none, the one that is stored."""
    here = by["scope"].conversation
    server = place.server if here is None else by["scope"].server
    return short_term.build_short_term_context(place.participant, here or _key(place), server or None, **by)


_calls("core.short_term.build_short_term_context", _context, "own right", about=True)
_reads("core.short_term.get_stats")

# Items and values

_calls("core.lifelong.search_items",
       lambda p, **by: [lifelong.search_items(**asked, limit=500, **by) for asked in
                        ({"q": COMMON}, {"archived": True}, {"conversation": p.conversation})],
       about=True)  # fmt: skip
_reads("core.lifelong.profile", _person, about=True)
_reads("core.lifelong.find_similar_item", f"the {COMMON}")
_reads("core.lifelong.get_item", _item, about=True)
_reads("core.lifelong.get_item_history", _item, about=True)
_calls("core.values.open_values",
       lambda p, **by: [(own.find([("notes", "file")]), own.list_below(), own.list_namespaces())
                        for own in (values.open_values(kind, **by) for kind in ("entry", "file"))])  # fmt: skip

# Stories

for _name in ("check_message_exclusion", "get_data", "get_memory", "list_alternatives"):
    _reads(f"core.stories.{_name}", _row, right="own right", about=True)
_reads("core.stories.concatenate_recap", "the text", _row, right="own right", about=True)
for _name in ("auto_hide_plan", "get_running_recap", "get_running_recap_injection",
              "get_running_recap_storage", "get_running_recap_versions", "list_scenes"):  # fmt: skip
    _reads(f"core.stories.{_name}", right="own right", about=True, conversation=_key)

# Listings for an operator, and figures

_reads("core.relationships.get", _person, right="persona", about=True)
_reads("core.relationships.list_recent", 500, right="persona")
_reads("core.jobs.list_operations", limit=1000, right="persona")
for _name in ("jobs.count_operations", "privacy.list_privacy", "synth_tagging.list_tags", "tokens.list_tokens"):
    _reads(f"core.{_name}", right="persona")
_reads("core.synth_tagging.expand_tags", [TAG, COMMON])

# Files

_calls("core.transfer.export_items",
       lambda p, **by: ["".join(transfer.export_items(fmt=fmt, **by)) for fmt in ("json", "jsonl")],
       "persona")  # fmt: skip


def _chat_file(place: Place, **by: Any) -> str:
    out = io.BytesIO()
    export_chat(out, conversation=_key(place), **by)
    return out.getvalue().decode()


_calls("core.transfer.exports.export_chat", _chat_file, "own right", about=True)

WRITERS = {
    "core.ai_diary": "add_diary_entry archive_diary_entry cleanup_old_entries edit_diary_entry unarchive_entries",
    "core.chat_history_cache": "clear_chat_history delete_chat_message edit_chat_message save_chat_message "
    "save_message",
    "core.conversations": "add_recent_conversation add_saved_memory close_conversation delete_saved_memory "
    "import_markdown",
    "core.jobs": "cancel enqueue_operation retry_operation run_pending Worker", "core.personas": "set_persona_text",
    "core.lifelong": "add_facts_with_meta consolidate_history deep_consolidation delete_items edit_item on_stream_end "
    "pin_items prune_ltm prune_session_by_ttl purge_items restore_items retag_items run_cycle "
    "trigger_memory_consolidation",
    "core.privacy": "link_participants set_conversation_local_only set_conversation_privacy set_privacy "
    "unlink_participant",
    "core.relationships": "adjust ensure_and_touch", "core.semantic": "drop_vectors embed_rows",
    "core.short_term": "clear_by_channel clear_by_server clear_by_user clear_expired store_short_term_memory "
    "update_short_term_memory write_turn",
    "core.stories": "add_alternative add_running_recap_version add_scene_break choose_alternative clear_all "
    "delete_running_recap_version edit_memory edit_scene_break queue_recaps refresh_memory remove_scene_break "
    "set_current_running_recap set_data set_scene_recap switch_stories update_message_inclusion_flags",
    "core.synth_core_memory": "silently_record_memory", "core.synth_tagging": "add_alias add_tag link_tags",
    "core.tokens": "add_token revoke_token", "core.transcripts": "save_transcript",
    "core.transfer": "import_items", "core.transfer.imports": "import_file", "core.db": "forget insert_memory",
}  # fmt: skip
"""Functions that write; what they give back is about what was just handed in, or a count."""

BARE = {
    "core.semantic": "count_vectors", "core.config": "check load set_in_file show", "core.llm": "ask",
    "core.conversations": "parse_tool_call", "core.personas": "get_persona_text", "core.privacy": "scope_of",
    "core.db": "Database check_server configure copy_database default_database migrate open_database pack_index "
    "reindex",
    "core.prompt_engine": "expand_tags extract_tags fit_prompt parse_answer reduce_prompt_for_llm_limit set_hook "
    "to_json to_messages",
    "core.scope": "use_scope", "core.short_term": "relative_age", "core.web": "create_app",
    "core.stories": "from_number get_short_token_limit to_number to_numbers",
    "core.synth_core_memory": "should_remember", "core.synth_tagging": "extract_keywords extract_tags",
    "core.tokens": "find_token narrow_scope",
}  # fmt: skip
"""Functions that read no rows of anybody: of values handed in, of settings, of the database as such."""


def public_names() -> Iterator[str]:
    for door, names in [*DOORS.items(), ("prompt_engine.values", ("open_values",))]:  # the adapters read through it
        module = importlib.import_module(door)
        for name in names if names is not None else module.__all__:
            value = getattr(module, name)
            if inspect.isroutine(value) or name in _CLASSES:
                yield f"core{door.removeprefix('prompt_engine')}.{name}"


_CLASSES = {"HistoryEngine", "Worker", "Database"}
"""Classes that hosts call; the others are shapes of results."""


def listed() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {name: ["reader"] for name in READERS}
    for kind, table in (("writer", WRITERS), ("bare", BARE)):
        for door, names in table.items():
            for name in names.split():
                found.setdefault(f"{door}.{name}", []).append(kind)
    return found


def aio_names() -> set[str]:
    """Return the names of `core.aio`; each is a public function of another module."""
    return {name for name, value in vars(aio).items() if inspect.iscoroutinefunction(value)}


def walked(world: World, asking: Asking, name: str, place: Place) -> str:
    """Return all text that a reader gives to a scope; what it refuses is what its error says."""
    try:
        return repr(READERS[name].call(world, asking, place))
    except (CoreError, ValueError) as error:
        return f"{error} {vars(error)}"
