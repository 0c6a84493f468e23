"""The first database read of a prompt: visible audiences, the tag vocabulary, and the words of the message."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from .. import hooks
from .. import search as searching
from ..access import table_conversations as conversations_table
from ..access.rules import parent_key, split_key
from ..access.view import AccessSnapshot, Request
from ..calls.call import Call, load_access
from ..context.live import LiveHistory
from ..database.engine import Connection, Database
from ..database.sources import BY_NUMBER
from ..scope import KEY_BYTES
from ..search.query import choose_words, fold_words
from ..search.rules_arguments import read_tags
from ..shapes import Vocabulary
from ..tags import rules as tag_rules
from ..tags import table as tags_table
from .call import PromptCall, VisibleContext

LIVE_KEYS = 400
"""Maximum number of conversations of live messages whose privacy is looked up."""
MOST_CHATS = 50


def load_visible(call: PromptCall) -> VisibleContext:
    db, s = call.db, call.settings
    may_fill = call.room is not None and call.room.chars > 0
    request = searching.SearchRequest(
        query=call.asked_text, limit=call.hits_wanted, is_limit_named=call.is_limit_named, may_fill=may_fill
    )
    query = call.guard("search_index", lambda: searching.prepare(request, s), None)
    seen = None if db is None or call.is_down else _load_snapshot(call, db)
    if db is None or seen is None:
        call.guard.lose_stored()
        known = tags_table.NO_TAGS if db is None else tags_table.get_held(db, call.scope.persona)[1]
        named, tags = find_tags(call, known)
        return VisibleContext(named_tags=named, tags=tags, keywords=query.keywords if query else ())
    if _register_private(call, db, seen):
        seen = _load_snapshot(call, db) or seen
    call.report.note(*seen.notes)
    named, tags = find_tags(call, tags_table.hold(db, call.scope.persona, seen.vocabulary_version, seen.vocabulary))
    index = None
    if ((query and query.words) or tags or s.enable_upcoming) and s.enable_memories and s.memory_ranking == "relevance":
        index = searching.read_index(seen.viewer, db)[0]
    if query is not None:
        query = query if index is None else searching.leave_persona(query, call.scope.persona, index)
        normal, notes = read_tags(tags)
        keywords = fold_words(choose_words(query.words, query.languages, index))
        now, notes = call.message.date, [*query.notes, *notes]
        query = replace(query, tags=tuple(normal), keywords=keywords, words=(), now=now, notes=tuple(notes))
    return VisibleContext(seen.viewer, seen.recent, named, tags, query.keywords if query else (), index, query)


def _load_snapshot(call: PromptCall, db: Database) -> AccessSnapshot | None:
    version = tags_table.get_held(db, call.scope.persona)[0]
    destination: Any = call.request.destination or call.scope.destination or call.settings.prompt_destination
    own = Call(db, call.settings, replace(call.scope, destination=destination))
    request = Request(live_keys(call.live), version, count_recent(call), inserted_into=tuple(BY_NUMBER), is_prompt=True)
    for step in (request, replace(request, vocabulary_version=None, inserted_into=())):
        seen = call.guard("conversations", lambda step=step: load_access(own, step), None)  # type: ignore[misc]
        if seen is not None or call.is_down:
            return seen
    return None


def _register_private(call: PromptCall, db: Database, seen: AccessSnapshot) -> bool:
    """Register a conversation that the message calls private; return True if it was public and its rows were moved."""
    scope = call.scope
    if scope.conversation is None or scope.privacy in (None, "public"):
        return False
    stored = seen.viewer.conversations.get(scope.conversation)
    if stored is not None and (stored.is_private or scope.privacy_from != "host"):
        return False

    def work(connection: Connection) -> bool:
        conversations_table.ensure(connection, db, scope, sender=scope.participant)
        return stored is not None

    return call.guard("conversations", lambda: db.transaction(work, source="conversations"), False)


def count_recent(call: PromptCall) -> int:
    """Return from how many other conversations to read lines for `history_recent`."""
    if not (call.settings.enable_history_recent and call.settings.unified_history and call.caps.recent):
        return 0
    return min(2 * call.caps.recent + 2, MOST_CHATS)


def find_tags(call: PromptCall, vocabulary: Vocabulary) -> tuple[Sequence[str], Sequence[str]]:
    """Return `(tags of the message, these tags and their linked tags)`; a failed hook adds no tags."""
    text, s = call.asked_text, call.settings
    own, other = hooks.get_hook("extract_tags"), hooks.get_hook("expand_tags")

    def extracted() -> list[str]:
        if own is not None:
            return _texts(call.ask_hook(own, {"text": text, "vocabulary": vocabulary}))
        has_tags = vocabulary.tags or vocabulary.aliases
        return tag_rules.extract(text, vocabulary=vocabulary, languages=s.languages) if has_tags else []

    def expanded() -> list[str]:
        if other is not None:
            return _texts(call.ask_hook(other, {"tags": said, "vocabulary": vocabulary}))
        return tag_rules.expand(said, vocabulary)

    said = call.guard("extract_tags", extracted, list[str]())
    return said, call.guard("expand_tags", expanded, said)


def _texts(given: Any) -> list[str]:
    if given is not None and not isinstance(given, (list, tuple, set, frozenset)):
        raise TypeError(f"A list of tags was expected, {type(given).__name__} came.")
    tags = [str(tag) for tag in given or () if isinstance(tag, (str, int))]
    return sorted(tags) if isinstance(given, (set, frozenset)) else tags


def live_keys(live: LiveHistory) -> tuple[str, ...]:
    """Return the conversation keys of the live messages and of their parents, for the look-up of their privacy."""
    names = (name for key in live.chats for name in (key, parent_key(key)) if name and _is_key(name))
    return tuple(dict.fromkeys(names))[:LIVE_KEYS]


def _is_key(text: str) -> bool:
    try:
        return len(text.encode()) <= KEY_BYTES["conversation"] and "\x00" not in text
    except UnicodeEncodeError:
        return False


def may_see(call: PromptCall, visible: VisibleContext) -> Callable[[str], str]:
    """Return a function that says, by conversation key, why live messages are left out; "" if they may be shown."""
    viewer, live, own = visible.viewer, call.live, call.message.interface_path
    asked = frozenset(live_keys(live))

    def why_not(key: str) -> str:
        if viewer is None:  # without a database only live messages of this conversation are shown
            return "" if key == own else "private"
        facts = viewer.conversations.get(key)
        if key != own:
            facts = facts or viewer.conversations.get(parent_key(key) or "")
        if facts is not None and facts.local_only and not viewer.sees_local_only:
            return "destination"
        if key == own:
            return ""
        if facts is not None:
            return "" if facts.audience_id in viewer.audiences else "private"
        if key not in asked:
            return "limit"
        senders = {entry.sender_id for entry in live.chats.get(key, ())}
        return "private" if key in live.private or split_key(key)[1] in senders - {""} else ""

    return why_not
