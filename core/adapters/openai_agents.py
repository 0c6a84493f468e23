"""`Session`: the memory of an agent of the OpenAI Agents SDK, stored as a conversation.

Every item is stored whole and in order, as a message of the conversation. Searches, prompts and recaps use its spoken
text; only the agent gets tool calls and reasoning back.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar
from urllib.parse import quote

from ..base import logs
from ..calls.call import Call, GivenSettings, load_viewer, open_call
from ..chat_history_cache import clear_chat_history, delete_chat_message
from ..database.engine import Database
from ..memories import instructions as standing
from ..messages import Line, insert_messages, new_message, read_newest
from ..scope import Scope
from ..shapes import Role
from . import missing
from .recall import RECALL_CHARS, build_recall, find_scope

try:
    from agents.memory import SessionSettings
    from agents.memory.session_settings import coerce_session_settings, resolve_session_limit
except ImportError as _error:
    raise missing("openai-agents", "openai-agents") from _error

__all__ = ["Session"]

ITEM = "agents_item"
"""Metadata key of the item, stored as JSON text: servers would rewrite numbers in a JSON column."""
_ROLES: dict[str, Role] = {"user": "user", "assistant": "persona", "system": "system", "developer": "system"}
_ALL = 2**31 - 1
_T = TypeVar("_T")


class Session:
    """A session of the Agents SDK, for `Runner.run(agent, "Hello", session=session)`.

    Args:
        session_id: name of the speaker's session; another speaker's session of this name is separate.
        db, settings: None uses those of the process.
        scope: persona and speaker. If it has a conversation, the session is that conversation. Else only this speaker
            sees the stored items; without a speaker, only this session sees them. If a run's `context` is a `Scope`
            or has the attribute `scope`, that scope is used instead.
        session_settings: settings of the SDK, or a mapping with `limit`, the maximum number of items to read.
        recall_chars: maximum number of characters that `recall` inserts.
    """

    def __init__(
        self,
        session_id: str,
        *,
        db: Database | None = None,
        settings: GivenSettings = None,
        scope: Scope | None = None,
        session_settings: SessionSettings | dict[str, Any] | None = None,
        recall_chars: int = RECALL_CHARS,
    ) -> None:
        self.session_id = session_id
        self.session_settings: SessionSettings | None = coerce_session_settings(
            SessionSettings() if session_settings is None else session_settings
        )
        self._db, self._settings, self._scope = db, settings, scope
        self._recall_chars = recall_chars
        self._recalled: set[str] = set()

    async def get_items(self, limit: int | None = None, *, wrapper: Any = None) -> list[Any]:
        """Return the newest items, oldest first: at most `limit`, or the limit of `session_settings`, or all."""
        most = resolve_session_limit(limit, self.session_settings)
        if most is not None and most <= 0:
            return []
        lines = await asyncio.to_thread(_read_newest, self._call(wrapper), _ALL if most is None else most)
        return [_read_item(line) for line in lines]

    async def add_items(self, items: list[Any], *, wrapper: Any = None) -> None:
        """Append items in parts of 500; each part is stored whole or not at all.

        Raises:
            TypeError, ValueError: an item cannot be written as JSON.
            StoreWriteError: nothing was stored, or only whole parts of 500.
        """
        if items:
            await _settle(self._add_items, self._call(wrapper), items)

    async def pop_item(self, *, wrapper: Any = None) -> Any | None:
        """Delete and return the newest item; None without items. Two concurrent callers get different items."""
        return await _settle(_pop_item, self._call(wrapper))

    async def clear_session(self, *, wrapper: Any = None) -> None:
        """Delete every item."""
        call = self._call(wrapper)
        await _settle(clear_chat_history, call.scope.conversation, db=call.db, settings=call.settings, scope=call.scope)

    async def recall(self, history: list[Any], new_input: list[Any]) -> list[Any]:
        """Return a run's input with one message before the new input: the recalled memories, marked as data.

        Pass it as `session_input_callback`: `RunConfig(session_input_callback=session.recall)`. The inserted message is
        never stored. If nothing can be read, the run continues without it.
        """
        asked = next((_read_text(item) for item in reversed(new_input) if _role_of(item) == "user"), "")
        call = self._call(None)
        shown = [_read_text(item) for item in (*history, *new_input)]
        text = await asyncio.to_thread(
            build_recall, asked, shown=shown, max_chars=self._recall_chars,
            db=call.db, settings=call.settings, scope=call.scope,
        )  # fmt: skip
        if not text:
            return [*history, *new_input]
        self._recalled.add(text)
        return [*history, {"role": "user", "content": text}, *new_input]

    def _call(self, wrapper: Any) -> Call:
        """Return the arguments of storage calls for a run, with the session's conversation in their scope."""
        call = open_call(self._db, self._settings, find_scope(getattr(wrapper, "context", None)) or self._scope)
        if call.scope.conversation is not None:
            return call
        who = call.scope.participant
        privacy = call.scope.privacy or ("direct" if who else "restricted")
        key = "agents/" + quote(self.session_id, safe="") + ("@" + quote(who, safe="") if who else "")
        return replace(call, scope=replace(call.scope, conversation=key, privacy=privacy))

    def _add_items(self, call: Call, items: list[Any]) -> None:
        kept = [item for item in items if _read_text(item) not in self._recalled]
        stored = [json.dumps(item, ensure_ascii=True, separators=(",", ":")) for item in kept]
        now, flags = call.db.clock(), call.settings
        messages = []
        for item, text, number in zip(kept, stored, call.db.ids.take(len(kept)), strict=True):
            said = _read_text(item)
            is_blank = not said.strip()  # an item without text is hidden from searches and histories
            role = _ROLES.get(_role_of(item), "system")
            message = new_message.read_message(
                call.scope,
                call.scope.conversation,
                "-" if is_blank else said,
                now=now,
                sender_id="self" if role == "persona" else None,
                metadata={ITEM: text},
                message_id=f"agents/{number}",
                role=role,
                hidden=is_blank,
                excluded=is_blank,
            )
            assert message is not None
            stated = standing.read_instructions(said, flags, role=role, excluded=is_blank)
            messages.append(replace(message, text="" if is_blank else message.text, instructions=stated))
        results = insert_messages(
            call.db,
            call.scope,
            messages,
            privacy_default=flags.privacy_default,
            privacy={call.scope.conversation or "": call.scope.privacy} if call.scope.privacy else None,
        )
        refused = sum(result.reason == "privacy" for result in results)
        if refused:
            logs.warning("session_items_refused", reason="privacy", items=refused)


def _read_newest(call: Call, most: int) -> list[Line]:
    """Return the newest messages of the session, at most `most`, oldest first."""
    viewer = load_viewer(call)
    return read_newest(
        call.db, call.persona, viewer.audiences, most, conversation=call.scope.conversation,
        local=viewer.sees_local_only,
    )  # fmt: skip


def _pop_item(call: Call) -> Any | None:
    given: dict[str, Any] = {"db": call.db, "settings": call.settings, "scope": call.scope}
    while lines := _read_newest(call, 1):
        if delete_chat_message(lines[0].row_id, **given).stored:
            return _read_item(lines[0])
    return None


async def _settle(function: Callable[..., _T], *args: Any, **kwargs: Any) -> _T:
    """Run a change in a thread and wait until it ends, even if the caller is cancelled."""
    change = asyncio.ensure_future(asyncio.to_thread(function, *args, **kwargs))
    try:
        return await asyncio.shield(change)
    except asyncio.CancelledError:
        await asyncio.wait({change})
        raise


def _role_of(item: Any) -> str:
    return str(item.get("role", "")) if isinstance(item, Mapping) else ""


def _read_text(item: Any) -> str:
    """Return the spoken text of an item; "" for tool calls and reasoning."""
    if not isinstance(item, Mapping) or item.get("role") not in _ROLES:
        return ""
    content = item.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, (list, tuple)) else ()
    texts = [part.get("text") or part.get("refusal") for part in parts if isinstance(part, Mapping)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _read_item(line: Line) -> Any:
    """Return the item stored in a message; a message stored by another host becomes a message item."""
    stored = (line.metadata or {}).get(ITEM)
    if isinstance(stored, str):
        return json.loads(stored)
    return {"role": "assistant" if line.role == "persona" else "user", "content": line.text}
