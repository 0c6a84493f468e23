"""Whose live lines may be seen: the host's messages are held to the privacy of their conversation."""

from __future__ import annotations

from collections.abc import Callable

from ..audience.rules import parent_key, split_key
from ..audience.view import ConversationFacts, Viewer
from ..audience.view_statement import LIVE_KEYS
from ..context.live import LiveHistory
from ..database.engine import Database
from ..scope import KEY_BYTES
from .call import PromptCall, Sight

_REMEMBERED = 10_000
"""Most conversations kept in mind as private or local."""


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


def may_see(call: PromptCall, sight: Sight) -> Callable[[str], str]:
    """Return what tells why live messages of a conversation stay out, blank when they may be seen."""
    viewer, held, live, own = sight.viewer, sight.held_private, call.live, call.message.interface_path
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
