"""The first round trip of a prompt: who sees what, which words are known, what changed since this process
last looked.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from .. import hooks
from ..access import table_conversations as conversations_table
from ..access.load import LIVE_KEYS
from ..access.rules import parent_key, split_key
from ..access.view import AccessSnapshot, ConversationFacts, Request, Viewer
from ..calls.call import load_access
from ..context.live import LiveHistory
from ..database.engine import Connection, Database
from ..scope import KEY_BYTES
from ..search.message import choose_words, keep_vocabulary, known_vocabulary, list_words
from ..search.query import is_newest_first, spoken_in
from ..search.terms import read_index
from ..shapes import Vocabulary
from ..tags import rules as tag_rules
from .call import MessageTags, PromptCall, VisibleContext

if TYPE_CHECKING:
    from ..index.state import IndexState

Reason = Literal["privacy", "memory"]
"""Why there is a second look. privacy: the conversation was public until this message said otherwise, and its rows have
moved. memory: the message asked to remember something, and the first memory of a conversation makes an audience to be
seen."""

MOST_CHATS = 50
"""Most other conversations read at once."""
_REMEMBERED = 10_000
"""Most conversations kept in mind as private or local."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a look asks, and what of the message it is made from."""

    tags: MessageTags
    request: Request


@dataclass(frozen=True, slots=True)
class FirstLook:
    """What the first look asked and brought."""

    question: Question
    seen: AccessSnapshot | None
    """None when nothing stored can be read."""
    held_private: frozenset[str]


def load_visible(call: PromptCall) -> FirstLook:
    """Ask what the scope sees and which words of the message are known, planned with what this process knows."""
    held = held_private(call.db, call.scope.persona)
    question = _plan_question(call)
    if call.db is None:
        call.guard.lose_stored()
        return FirstLook(question, None, held)
    seen = ask(call, call.db, question.request)
    if seen is None:
        return FirstLook(question, None, held)
    keep_vocabulary(call.db, call.scope.persona, seen)
    return FirstLook(question, seen, held)


def complete_access(call: PromptCall, first: FirstLook, reasons: Collection[Reason]) -> VisibleContext:
    """Return what is seen, after a second look where there is a reason for one."""
    question, seen, db = first.question, first.seen, call.db
    if seen is not None and seen.vocabulary is not None:
        question = _plan_question(call)
    if db is not None and seen is not None and reasons:
        again = ask(call, db, question.request)
        seen = again or seen
        if again is not None and again.vocabulary is not None:
            keep_vocabulary(db, call.scope.persona, again)
            question = replace(question, tags=find_tags(call, again.vocabulary))
    tags, languages = question.tags, spoken_in(call.asked_text, call.settings.languages)
    words = list_words(call.asked_text, languages)
    if db is None or seen is None:
        keywords = choose_words(words, languages, None)
        return VisibleContext(tags=tags, keywords=keywords, held_private=first.held_private)
    index = _read_index(call, seen, db) if words or tags.expanded else None
    keywords = choose_words(words, languages, index)
    remember_private(db, seen.viewer)
    return VisibleContext(seen.viewer, seen.recent, tags, keywords, index, first.held_private)


def _read_index(call: PromptCall, seen: AccessSnapshot, db: Database) -> IndexState | None:
    """Return what the index holds of what may be seen; a search that finds none tells why."""
    if not call.settings.enable_memories or is_newest_first(call.settings):
        return None
    return read_index(seen.viewer, db)[0]


def ask(call: PromptCall, db: Database, request: Request) -> AccessSnapshot | None:
    """Return what the scope sees; None when that cannot be told."""
    for step in dict.fromkeys((request, replace(request, vocabulary_version=None, inserted_into=()))):
        seen = call.guard(
            "conversations",
            lambda step=step: load_access(call.for_database(db), step),  # type: ignore[misc]
            None,
        )
        if seen is not None:
            return seen
        if call.guard.down:
            break
    call.guard.lose_stored()
    return None


def request_for_lines(call: PromptCall) -> Request:
    """Return the part of the request that the history lists need: live conversations, other conversations."""
    return Request(live_keys=live_keys(call.live), recent=count_recent(call))


def _plan_question(call: PromptCall) -> Question:
    """Return what is asked about the message."""
    version, vocabulary = (0, Vocabulary()) if call.db is None else known_vocabulary(call.db, call.scope.persona)
    request = replace(request_for_lines(call), vocabulary_version=version)
    return Question(find_tags(call, vocabulary), request)


def register_private(call: PromptCall, first: FirstLook) -> bool:
    """Register the conversation as private where the message says so and it is not stored as such."""
    db, scope, seen = call.db, call.scope, first.seen
    if (
        db is None
        or seen is None
        or scope.conversation is None
        or scope.privacy not in ("direct", "separate", "restricted")
    ):
        return False
    stored = seen.viewer.conversations.get(scope.conversation)
    if stored is not None and stored.is_private:
        return False

    def work(connection: Connection) -> bool:
        conversations_table.ensure(connection, db, scope, sender=scope.participant)
        return stored is not None

    return call.guard("conversations", lambda: db.transaction(work, source="conversations"), False)


def count_recent(call: PromptCall) -> int:
    """Return how many other conversations are asked for, to fill history_recent."""
    if not (call.settings.enable_history_recent and call.settings.unified_history and call.caps.recent):
        return 0
    return min(2 * call.caps.recent + 2, MOST_CHATS)


# What the message asks for: its tags and its words


def find_tags(call: PromptCall, vocabulary: Vocabulary) -> MessageTags:
    """Return the tags of the message; what fails leaves none, or those before expansion."""
    text, s = call.asked_text, call.settings
    own, other = hooks.get_hook("extract_tags"), hooks.get_hook("expand_tags")

    def extracted() -> list[str]:
        if own is None and not (vocabulary.tags or vocabulary.aliases):
            return []
        if own is None:
            return tag_rules.extract(text, vocabulary=vocabulary, languages=s.languages)
        return _texts(call.ask_hook(own, {"text": text, "vocabulary": vocabulary}))

    def expanded() -> list[str]:
        if other is None:
            return tag_rules.expand(said, vocabulary)
        return _texts(call.ask_hook(other, {"tags": said, "vocabulary": vocabulary}))

    none: list[str] = []
    said = call.guard("extract_tags", extracted, none)
    return MessageTags(said, call.guard("expand_tags", expanded, said))


def _texts(given: Any) -> list[str]:
    """Return the texts of what a hook gave as a list of tags."""
    if given is not None and not isinstance(given, (list, tuple, set, frozenset)):
        raise TypeError(f"A list of tags was expected, {type(given).__name__} came.")
    return [str(tag) for tag in given or () if isinstance(tag, (str, int))]


# Whose live lines may be seen


def live_keys(live: LiveHistory) -> tuple[str, ...]:
    """Return the conversations of the live messages whose privacy is asked for; of too many, those with the newest."""
    chats = live.chats
    newest = list(chats)
    if len(newest) > LIVE_KEYS // 2:
        timed = {key: max((e.time.timestamp() for e in chats[key] if e.time), default=0.0) for key in newest}
        newest.sort(key=lambda key: -timed[key])
    wanted = dict.fromkeys(name for key in newest for name in (key, parent_key(key)) if name and _is_key(name))
    return tuple(wanted)[:LIVE_KEYS]


def _is_key(text: str) -> bool:
    """Return whether a text can be the key of a stored conversation."""
    try:
        return len(text.encode()) <= KEY_BYTES["conversation"] and "\x00" not in text
    except UnicodeEncodeError:
        return False


def remember_private(db: Database, viewer: Viewer) -> None:
    """Keep which conversations are private or local, for the time the database does not answer."""
    kept: dict[tuple[str, str], None] = db.caches.setdefault("history.private", {})
    persona = viewer.scope.persona
    for key, facts in viewer.conversations.items():
        if facts.is_private or facts.local_only:
            while len(kept) >= _REMEMBERED:
                kept.pop(next(iter(kept)), None)
            kept[persona, key] = None
        else:
            kept.pop((persona, key), None)


def held_private(db: Database | None, persona: str) -> frozenset[str]:
    """Return the conversations of a persona this process has seen to be private or local."""
    kept = db.caches.get("history.private", {}) if db is not None else {}
    return frozenset(key for who, key in list(kept) if who == persona)


def may_see(call: PromptCall, visible: VisibleContext) -> Callable[[str], str]:
    """Return what tells why live messages of a conversation stay out, blank when they may be seen."""
    viewer, held, live, own = visible.viewer, visible.held_private, call.live, call.message.interface_path
    known = viewer.conversations if viewer is not None else {}
    asked = frozenset(live_keys(live)) if len(live.chats) > LIVE_KEYS // 2 else None

    def why_not(key: str) -> str:
        facts = known.get(key)
        if key == own:
            return "destination" if facts is not None and viewer is not None and _is_closed(facts, viewer) else ""
        facts = facts or known.get(parent_key(key) or "")
        if facts is not None and viewer is not None:
            if _is_closed(facts, viewer):
                return "destination"
            return "" if facts.audience_id in viewer.audiences else "private"
        if asked is not None and key not in asked:
            return "limit"
        if key in live.private or key in held or parent_key(key) in held:
            return "private"
        chat = split_key(key)[1]
        senders = {entry.sender_id for entry in live.chats.get(key, ())}
        return "private" if chat and chat in senders else ""

    return why_not


def _is_closed(facts: ConversationFacts, viewer: Viewer) -> bool:
    return bool(facts.local_only) and not viewer.sees_local_only
