"""Door: the `context` of a prompt from history, diary, thoughts and the memories found.

`build_context` reads and composes on its own. A prompt does the same in steps, since memories need to know which lines
are visible: `prompt.sources` reads, `lists_of` and `compose` make lists and context.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import Any

from ..ai_diary.rules import diary_lines, thought_lines
from ..audience.view import Request, Seen
from ..calls import defaults
from ..config import Settings
from ..context import context as rules
from ..context.context import read_hits
from ..context.history import HistoryLists, HistoryOptions, build_lists
from ..context.incoming import read_message
from ..context.labels import label
from ..context.live import read_context_memory
from ..database.engine import Database
from ..scope import Scope
from ..shapes import Hit, IncomingMessage, LeftOut
from ..text.times import zone as find_zone
from . import live_visibility, sections
from . import sources as history_sources
from .guard import Guard
from .report import Report
from .sources import Sources, plan_sources


class HistoryEngine:
    """Builds the context of a prompt."""

    def build_context(
        self,
        message: Any,
        context_memory: Any = None,
        interface_name: str | None = None,
        text: str = "",
        memories: Iterable[Hit] | None = None,
        history_scope: str | None = None,
        *,
        db: Database | None = None,
        settings: Settings | Mapping[str, Any] | None = None,
        scope: Scope | None = None,
    ) -> dict[str, Any]:
        """Return the dict of P8, its keys in order.

        Args:
            message: the host's message, an object or a dict.
            context_memory: chat map, metadata dict or both.
            interface_name: surface of the message; None takes it from the conversation key.
            text: the message's text, for hooks.
            memories: hits, cut by P40; None for none.
            history_scope: `local`, `recent` or `unified` for this call.

        Returns:
            `history_current_chat`, `history_recent`, `thoughts` and the other keys of P8. A source that cannot be read
            gives an empty section and one warning.

        Raises:
            MessageError: the message cannot be used.
        """
        known = settings if isinstance(settings, Settings) else defaults.settings_for(settings, None)
        clock = db.clock if db is not None else defaults.clock()
        read = (
            message
            if isinstance(message, IncomingMessage)
            else read_message(message, context_memory=context_memory, interface_name=interface_name, now=clock())
        )
        guard = Guard(Report(), float(known.hook_timeout_seconds))
        sources = plan_sources(read, read_context_memory(context_memory), known, history_scope)
        arguments = {
            "message": message,
            "context_memory": context_memory,
            "interface_name": interface_name,
            "text": text,
        }
        return _alone(sources, db, defaults.scope_of(read, scope, known), guard, arguments, memories)


def _alone(
    sources: Sources,
    db: Database | None,
    scope: Scope,
    guard: Guard,
    arguments: Mapping[str, Any],
    memories: Any,
) -> dict[str, Any]:
    """Read what the context needs when no prompt has read it before, and compose it."""
    handle: Database | None = guard("open", "database", lambda: defaults.handle(db), None)
    guard.db = handle
    if isinstance(handle, Database):
        handle.settle()
    sources.held_private = live_visibility.held_private(handle, scope.persona)
    seen = _look(sources, handle, scope, guard) if handle is not None else None
    if seen is not None and handle is not None:
        sources.viewer, sources.chats = seen.viewer, seen.recent
        lines = history_sources.wanted(sources)
        history_sources.plan_sections(guard, sources, seen.viewer, handle.clock())
        brought = history_sources.read(guard, handle, seen.viewer, None, lines, sources.sections.parts)
        history_sources.take(sources, brought, lines)
    sources.contributions = contributions(sources, arguments, guard)
    lists = lists_of(sources)
    if handle is not None:
        lists = history_sources.deepen(sources, lists, lambda: lists_of(sources), handle, guard)
    sections.build(guard, sources.sections, lists)
    return compose(sources, lists, read_hits(memories)[0]).context


def _look(sources: Sources, db: Database, scope: Scope, guard: Guard) -> Seen | None:
    destination = defaults.destination_for(scope, sources.settings)
    wanted = Request(live_keys=live_visibility.live_keys(sources), recent=history_sources.recent_wanted(sources))
    return history_sources.look(guard, db, scope, sources.settings, destination, wanted)


def contributions(sources: Sources, arguments: Mapping[str, Any], guard: Guard) -> Any:
    """Return what the hook `history_contributions` gives, None when there is none or it fails."""

    def listed(given: Any) -> Any:
        # An iterator is used up by its first reader, and there are several.
        return given if given is None or isinstance(given, (list, tuple, Mapping)) else as_list(given)

    return guard.hook("history_contributions", {**arguments, "limit": sources.caps.history}, listed, None)


def as_list(given: Any) -> Any:
    """Return what an iterator gives as a list; anything else as it is."""
    return list(given) if hasattr(given, "__next__") else given


def zone_of(settings: Settings) -> tzinfo:
    """Return the zone times are shown in."""
    return find_zone(settings.timezone) or UTC


def options_of(sources: Sources) -> HistoryOptions:
    """Return how lines are chosen and look."""
    s = sources.settings
    return HistoryOptions(
        now=sources.message.date,
        zone=zone_of(s),
        age_marker_minutes=s.history_age_marker_minutes,
        reply_quote_chars=s.reply_quote_chars,
        echo_window_seconds=s.echo_window_seconds,
        noise_prefixes=tuple(s.noise_prefixes),
        exchange_window=s.context_exchange_window,
        exchange_char_cap=s.context_exchange_char_cap,
    )


def lists_of(sources: Sources) -> HistoryLists:
    """Return the two history lists and the account of every line found."""
    return build_lists(
        message=sources.message,
        live=sources.live,
        stored_current=sources.current,
        stored_recent=sources.recent,
        plan=sources.plan,
        caps=sources.caps,
        contributions=sources.contributions,
        options=options_of(sources),
        may_see=live_visibility.may_see(sources),
        flags=sources.flags,
    )


@dataclass(frozen=True, slots=True)
class Composed:
    """A context and the account of its sections."""

    context: dict[str, Any]
    left_out: tuple[LeftOut, ...]
    ids: dict[str, list[str]]
    """Section to the ids of its items, in order, for the account of what reduction cuts."""
    memories: tuple[Hit, ...] = ()


def compose(
    sources: Sources,
    lists: HistoryLists,
    memories: Sequence[Hit],
    places: Mapping[tuple[str, int], str] | None = None,
) -> Composed:
    """Return the context of P8 from lists, diary and memories.

    Args:
        sources: what was read.
        lists: from `lists_of`.
        memories: hits, cut by P40.
        places: `(source, id)` of a hit to its conversation, for labels.
    """
    s, caps, tz = sources.settings, sources.caps, zone_of(sources.settings)
    parts: dict[str, Any] = {"history_current_chat": lists.current, "history_recent": lists.recent}
    left_out = list(lists.left_out)
    skipped = sources.skipped
    entries = sources.diary if s.enable_ai_diary else []
    thoughts: list[str] = []
    if s.enable_thoughts and not skipped:
        thoughts, lost = thought_lines(entries, sources.contributions, caps.thoughts, tz, flags=sources.flags)
        left_out += lost
    parts["thoughts"] = thoughts
    parts["history_scope"] = sources.plan.scope
    kept = list(memories)[: caps.memories]
    left_out += [LeftOut("memories", "limit", f"{h['source']}/{h['id']}") for h in list(memories)[caps.memories :]]
    if s.enable_memories:
        parts["memories"] = [_labelled(h, places or {}, tz) for h in kept] if s.memory_labels else kept
    if s.enable_tags_placeholder and not s.prompt_lite_mode:
        parts["tags_placeholder"] = []
    if s.enable_ai_diary and s.ai_diary_full:
        parts["ai_diary"], lost = diary_lines(entries, s.diary_chars, tz)
        left_out += lost
    parts |= sources.sections.values | lists.extra
    left_out += sources.sections.left_out
    ids = {"memories": [f"{h['source']}/{h['id']}" for h in kept], **sources.sections.ids}
    return Composed(rules.order_context(parts), tuple(left_out), ids, tuple(kept))


def _labelled(hit: Hit, places: Mapping[tuple[str, int], str], tz: tzinfo) -> Hit:
    return {**hit, "label": label(hit["source"], hit["timestamp"], places.get((hit["source"], hit["id"])), tz)}


ORIGINAL_BUILD = HistoryEngine.build_context
"""What stands here while no host has put something else in its place; noted at once, before anybody can."""
