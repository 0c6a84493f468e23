"""Door: the `context` of a prompt from history, diary, thoughts and the memories found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo
from typing import Any

from ..ai_diary.rules import diary_lines, thought_lines
from ..audience.table_rooms import resolve_scope
from ..calls import defaults
from ..config import Settings
from ..context import context as context_rules
from ..context.context import read_hits
from ..context.history import HistoryLists, HistoryOptions, build_lists
from ..context.incoming import read_message
from ..context.live import read_context_memory
from ..context.plan import CURRENT, RECENT
from ..context.section_base import Asked
from ..context.shown import Replaced
from ..database.engine import Database
from ..scope import Scope
from ..search.table_lines import Brought
from ..shapes import Hit, IncomingMessage, LeftOut
from ..text.times import zone as find_zone
from . import reading, sight
from .call import PromptCall, Sight, put_under_key
from .live_visibility import held_private, may_see
from .reading import StoredLines
from .report import Guard, Report
from .sections import BuiltSections, build_sections, plan_sections

ROUNDS = 6
"""Most further readings of one call."""


class HistoryEngine:
    """Builds the context of a prompt."""

    def build_context(
        self,
        message: Any,
        context_memory: Any = None,
        interface_name: str | None = None,
        text: str = "",
        memories: Iterable[Hit] | None = None,
        *,
        db: Database | None = None,
        settings: Settings | Mapping[str, Any] | None = None,
        scope: Scope | None = None,
    ) -> dict[str, Any]:
        """Return the `context` of a prompt, its keys in the order of `context.context.CONTEXT_KEYS`.

        Args:
            message: the host's message, an object or a dict.
            context_memory: chat map, metadata dict or both.
            interface_name: surface of the message; None takes it from the conversation key.
            text: the message's text, for hooks.
            memories: hits, of which as many are shown as MEMORY_ITEMS allows; None for none.

        Returns:
            `history_current_chat`, `history_recent`, `thoughts` and what else there is. A source that cannot be read
            gives an empty section and one warning.

        Raises:
            MessageError: the message cannot be used.

        Example:
            >>> from prompt_engine import open_database
            >>> db = open_database("sqlite://")
            >>> message = {"message_id": 2, "date": "2026-03-10T12:00:00Z", "text": "Tea?", "interface_path": "web/7"}
            >>> said = {"text": "Hello.", "sender_name": "Ann", "timestamp": "2026-03-10T11:59:00Z"}
            >>> HistoryEngine().build_context(message, {"web/7": [said]}, db=db)["history_current_chat"]
            ['[2026-03-10 11:59] Ann: "Hello."']
            >>> db.close()
        """
        known = settings if isinstance(settings, Settings) else defaults.settings_for(settings)
        clock = defaults.clock(db)
        read = (
            message
            if isinstance(message, IncomingMessage)
            else read_message(message, context_memory=context_memory, interface_name=interface_name, now=clock())
        )
        guard = Guard(Report())
        where = defaults.scope_of(read, scope, known)
        arguments = {
            "message": message,
            "context_memory": context_memory,
            "interface_name": interface_name,
            "text": text,
        }
        destination = where.destination or known.prompt_destination
        handle = guard.open(db)
        where = resolve_scope(handle, where)
        read, live = put_under_key(read, read_context_memory(context_memory), where.conversation)
        call = PromptCall(read, live, arguments, known, where, destination, handle, guard)
        return _read_and_compose(call, read_hits(memories)[0])


def _read_and_compose(call: PromptCall, memories: Sequence[Hit]) -> dict[str, Any]:
    """Read what the context needs when no prompt has read it before, and compose it."""
    held = held_private(call.db, call.scope.persona)
    seen = sight.ask(call, call.db, sight.request_for_lines(call)) if call.db is not None else None
    seeing = Sight(held_private=held) if seen is None else Sight(seen.viewer, seen.recent, held_private=held)
    lines, sections, brought = StoredLines(), None, Brought()
    if seen is not None and call.db is not None:
        wanted = reading.plan_lines(call, seeing)
        sections = Asked(call.settings, seen.viewer, call.message, call.db.clock())
        brought = reading.read_stored(call, seen.viewer, wanted, plan_sections(call.guard, sections))
        lines = StoredLines(brought.current, brought.recent, brought.diary, wanted)
    lists = fill_lists(call, seeing, lines, build_history(call, seeing, lines))
    built = BuiltSections() if sections is None else build_sections(call.guard, sections, brought.sections, lists)
    return compose(call, ContextParts(lists, lines, built, memories)).context


def zone_of(settings: Settings) -> tzinfo:
    """Return the zone times are shown in."""
    return find_zone(settings.timezone) or UTC


def _options(call: PromptCall, replaced: Replaced | None) -> HistoryOptions:
    """Return how lines are chosen and look."""
    return HistoryOptions(
        now=call.message.date,
        zone=zone_of(call.settings),
        replaced=replaced,
        persona=call.scope.persona,
    )


def build_history(call: PromptCall, seeing: Sight, lines: StoredLines) -> HistoryLists:
    """Return the two history lists and the account of every line found."""
    return build_lists(
        message=call.message,
        live=call.live,
        stored_current=lines.current,
        stored_recent=lines.recent,
        plan=call.plan,
        caps=call.caps,
        options=_options(call, lines.replacing),
        may_see=may_see(call, seeing),
    )


def fill_lists(call: PromptCall, seeing: Sight, lines: StoredLines, lists: HistoryLists) -> HistoryLists:
    """Return the lists, with older rows read as long as they are needed to fill them."""
    for _ in range(ROUNDS):
        if call.db is None or seeing.viewer is None or call.is_down:
            break
        further = reading.read_further(call, call.db, seeing, lines, lists)
        if further is None:
            break
        lines = further
        lists = build_history(call, seeing, lines)
    return replace(lists, whole=_shown_whole(call, lines, lists))


def _shown_whole(call: PromptCall, lines: StoredLines, lists: HistoryLists) -> frozenset[str]:
    """Return the conversations of which every stored message was read and none is over the limit of its list."""
    over = {item.section for item in lists.left_out if item.reason == "limit"}
    asked, whole = lines.wanted, set()
    if CURRENT not in over and len(lines.current) < asked.current and call.message.interface_path is not None:
        whole.add(call.message.interface_path)
    if RECENT not in over and len(lines.recent) < asked.recent_most:
        counts = Counter(entry.conversation for entry in lines.recent)
        whole |= {key for key, count in counts.items() if count < asked.recent_rows}
    return frozenset(whole)


@dataclass(frozen=True, slots=True)
class Composed:
    """A context and the account of its sections."""

    context: dict[str, Any]
    left_out: tuple[LeftOut, ...]
    ids: dict[str, list[str]]
    """Section to the ids of its items, in order, for the account of what reduction cuts."""


@dataclass(frozen=True, slots=True)
class ContextParts:
    """What a context is composed of."""

    lists: HistoryLists
    lines: StoredLines
    sections: BuiltSections
    memories: Sequence[Hit]
    """Of these as many are shown as `Caps` says."""


def shown_diary(call: PromptCall, lines: StoredLines) -> frozenset[int]:
    """Return the ids of the diary entries that the prompt shows as lines."""
    s = call.settings
    if not (s.enable_ai_diary and s.ai_diary_full):
        return frozenset()
    lost = {item.id for item in diary_lines(lines.diary, s.diary_chars, zone_of(s))[1]}
    return frozenset(entry.id for entry in lines.diary if str(entry.id) not in lost)


def compose(call: PromptCall, parts_given: ContextParts) -> Composed:
    """Return the context from lists, diary, sections and memories."""
    s, caps, tz, lists = call.settings, call.caps, zone_of(call.settings), parts_given.lists
    parts: dict[str, Any] = {"history_current_chat": lists.current, "history_recent": lists.recent}
    left_out = list(lists.left_out)
    entries = parts_given.lines.diary if s.enable_ai_diary else []
    thoughts: list[str] = []
    diary: list[str] = []
    if s.enable_ai_diary and s.ai_diary_full:
        diary, lost = diary_lines(entries, s.diary_chars, tz)
        left_out += lost
    if s.enable_thoughts and not call.skips_history:
        thoughts, lost = thought_lines(entries, caps.thoughts, tz, shown=diary)
        left_out += lost
    parts["thoughts"] = thoughts
    kept, beyond = list(parts_given.memories[: caps.memories]), parts_given.memories[caps.memories :]
    left_out += [LeftOut("memories", "limit", f"{h['source']}/{h['id']}") for h in beyond]
    if s.enable_memories:
        parts["memories"] = kept
    if s.enable_tags_placeholder and not s.prompt_lite_mode:
        parts["tags_placeholder"] = []
    if s.enable_ai_diary and s.ai_diary_full:
        parts["ai_diary"] = diary
    parts |= parts_given.sections.values
    left_out += parts_given.sections.left_out
    ids = {"memories": [f"{h['source']}/{h['id']}" for h in kept], **parts_given.sections.ids}
    return Composed(context_rules.order_context(parts), tuple(left_out), ids)
