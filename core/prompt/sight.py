"""The first round trip of a prompt: who sees what, which words are known, what changed since this process
last looked.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from ..audience import table_conversations as conversations_table
from ..audience.view import Request, Seen
from ..calls.call import look_around
from ..database.engine import Connection, Database
from ..search.query import is_newest_first
from ..search.terms import read_index
from ..shapes import Vocabulary
from . import live_visibility, reading
from .call import MessageTags, PromptCall, Sight
from .words import choose_words, find_tags, salient_words

if TYPE_CHECKING:
    from ..index.state import IndexState

Reason = Literal["privacy", "memory"]
"""Why there is a second look. privacy: the conversation was public until this message said otherwise, and its rows have
moved. memory: the message asked to remember something, and the first memory of a conversation makes an audience to be
seen."""

_MOST_VOCABULARIES = 256
"""Most personas whose vocabulary is kept in a process."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a look asks, and what of the message it is made from."""

    words: list[str]
    tags: MessageTags
    request: Request


@dataclass(frozen=True, slots=True)
class FirstLook:
    """What the first look asked and brought."""

    question: Question
    seen: Seen | None
    """None when nothing stored can be read."""
    held_private: frozenset[str]


def look(call: PromptCall) -> FirstLook:
    """Ask what the scope sees and which words of the message are known, planned with what this process knows."""
    held = live_visibility.held_private(call.db, call.scope.persona)
    question = _plan_question(call)
    if call.db is None:
        call.guard.lose_stored()
        return FirstLook(question, None, held)
    seen = ask(call, call.db, question.request)
    if seen is None:
        return FirstLook(question, None, held)
    _keep_vocabulary(call.db, call.scope.persona, seen)
    return FirstLook(question, seen, held)


def complete_sight(call: PromptCall, first: FirstLook, reasons: Collection[Reason]) -> Sight:
    """Return what is seen, after a second look where there is a reason for one."""
    question, seen, db = first.question, first.seen, call.db
    if seen is not None and seen.vocabulary is not None:
        question = _plan_question(call)
    if db is not None and seen is not None and reasons:
        again = ask(call, db, question.request)
        seen = again or seen
        if again is not None and again.vocabulary is not None:
            _keep_vocabulary(db, call.scope.persona, again)
            question = replace(question, tags=find_tags(call, again.vocabulary))
    tags = question.tags
    if db is None or seen is None:
        keywords = choose_words(call, question.words, None, None)
        return Sight(tags=tags, keywords=keywords, held_private=first.held_private)
    index = _read_index(call, seen, db) if question.words or tags.expanded else None
    keywords = choose_words(call, question.words, seen.viewer, index)
    live_visibility.remember_private(db, seen.viewer)
    return Sight(seen.viewer, seen.recent, tags, keywords, index, first.held_private)


def _read_index(call: PromptCall, seen: Seen, db: Database) -> IndexState | None:
    """Return what the index holds of what may be seen; a search that finds none tells why."""
    if not call.settings.enable_memories or is_newest_first(call.settings):
        return None
    return read_index(seen.viewer, db)[0]


def ask(call: PromptCall, db: Database, request: Request) -> Seen | None:
    """Return what the scope sees; None when that cannot be told."""
    bare = Request(live_keys=request.live_keys, recent=request.recent, bare=True)
    without = replace(request, vocabulary_version=None)
    for step in dict.fromkeys((request, without, bare)):
        seen = call.guard(
            "conversations",
            lambda step=step: look_around(call.for_database(db), step),  # type: ignore[misc]
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
    return Request(live_keys=live_visibility.live_keys(call.live), recent=reading.count_recent(call))


def _plan_question(call: PromptCall) -> Question:
    """Return what is asked about the message."""
    words = salient_words(call)
    known = None if call.db is None else _vocabularies(call.db).get(call.scope.persona)
    version, vocabulary = known or (0, Vocabulary())
    request = replace(request_for_lines(call), vocabulary_version=version)
    return Question(words, find_tags(call, vocabulary), request)


def _vocabularies(db: Database) -> dict[str, tuple[int, Vocabulary]]:
    """Return the vocabularies this process has seen, with their version, by persona."""
    kept: dict[str, tuple[int, Vocabulary]] = db.caches.setdefault("prompt.vocabulary", {})
    return kept


def _keep_vocabulary(db: Database, persona: str, seen: Seen) -> None:
    kept = _vocabularies(db)
    if seen.vocabulary is None and persona in kept:
        return
    if len(kept) >= _MOST_VOCABULARIES and persona not in kept:
        kept.pop(next(iter(kept)))
    kept[persona] = (0, Vocabulary()) if seen.vocabulary is None else (seen.vocabulary_version, seen.vocabulary)


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
