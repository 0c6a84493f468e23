"""Public functions for the running recap of a conversation: its versions, and its place in a prompt."""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import TypedDict, Unpack

from ..access import table_conversations
from ..base import logs
from ..calls.call import CallOptions, open_call
from ..context import injection
from ..context.injection import Injection
from ..context.lines import mark_lines
from ..database import rows
from ..database.engine import Connection
from ..errors import MessageError
from ..shapes import WriteResult
from ..templates.words import refused_patterns
from ..text.replies import judge_refusal
from ..text.sizes import Counter
from . import table_running
from .calls import NO_CONVERSATION, StoryCall, open_conversation
from .refresh import refresh
from .rules_recaps import check_provenance
from .rules_running import Version
from .section_running import fit_version


class RunningRecapVersion(TypedDict):
    """One version of a running recap. JSON keys appear in this order."""

    version: int
    timestamp: int
    """Time in milliseconds since 1970; 0 if unreadable."""
    content: str
    scene_count: int
    excluded_count: int
    prev_scene_index: int
    """Index of the last message of the newest scene in the previous version."""
    new_scene_index: int
    """Index of the last message of the newest scene in this version."""
    provenance: str
    """Origin of the text: model, extract, manual or import."""


class RunningRecapStorage(TypedDict):
    """The running recap of a conversation. JSON keys appear in this order."""

    chat_id: str
    """Key of the conversation."""
    current_version: int
    """Number of the current version; 0 without versions."""
    versions: list[RunningRecapVersion]


def add_running_recap_version(
    content: object,
    scene_count: int = 0,
    excluded_count: int = 0,
    prev_scene_index: int = 0,
    new_scene_index: int = 0,
    *,
    conversation: object = None,
    provenance: str = "model",
    **options: Unpack[CallOptions],
) -> int | None:
    """Store a new version of the running recap, make it current and return its number.

    Numbers start at 0 and rise by one; the number of a deleted version is not used again.

    Args:
        content: the text; at most 16 MB.
        scene_count, excluded_count: number of scenes in the text, number of newest scenes left out.
        prev_scene_index, new_scene_index: index of the last message of the newest scene, in the previous version and
            in this one.
        conversation: key of the conversation; None for the scope's conversation.
        provenance: model, extract, manual or import. A `manual` text may be shorter than the current one.

    Returns:
        None if the text was refused because it is blank, looks like an error, or is far shorter than the current one;
        the log has the reason.

    Raises:
        MessageError: a value of a wrong type; the scope does not see the conversation.
        ValueError: an unknown provenance.
    """
    # 1. read the arguments
    check_provenance(provenance)
    new = Version(
        rows.text(content, "content"),
        rows.number(scene_count, "scene_count") or 0,
        rows.number(excluded_count, "excluded_count") or 0,
        rows.number(prev_scene_index, "prev_scene_index") or 0,
        rows.number(new_scene_index, "new_scene_index") or 0,
        provenance=provenance,
    )
    # 2. find the conversation
    call = open_conversation(open_call(**options), conversation)
    if call.place is None and table_conversations.find_among(call.db.read, call.persona, [call.conversation]):
        # another writer created it after the first look-up
        call = open_conversation(open_call(**options), conversation)
        if call.place is None:
            raise MessageError("There is no such conversation in this scope.", fields=("conversation",))

    # 3. store the version unless it is refused
    def work(connection: Connection) -> int | None:
        table_running.hold_current_number(connection, call.persona, call.conversation)
        current = table_running.find_current(connection.execute, call.persona, call.conversation)
        by_hand = provenance == "manual"
        before = current.content if current and not by_hand else ""
        patterns = () if by_hand else refused_patterns(call.settings.templates_dir)
        if reason := judge_refusal(new.content, before, patterns=patterns):
            logs.warning("running_recap_refused", reason=reason)
            return None
        return table_running.insert_version(connection, call.db, call.scope, new)

    return call.db.transaction(work, source="running_recaps")


def get_running_recap_storage(conversation: object = None, **options: Unpack[CallOptions]) -> RunningRecapStorage:
    """Return the running recap of a conversation with all its versions; `versions` is empty without a recap.

    Args:
        conversation: key of the conversation; None for the scope's conversation.

    Returns:
        `{chat_id, current_version, versions}`.
    """
    call = open_conversation(open_call(**options), conversation).redacted()
    if call.place is None:
        return {"chat_id": call.conversation, "current_version": 0, "versions": []}
    return {
        "chat_id": call.conversation,
        "current_version": table_running.find_current_number(call.db.read, call.persona, call.conversation) or 0,
        "versions": [
            {
                "version": version.number,
                "timestamp": int(version.created_at.timestamp() * 1000) if version.created_at else 0,
                "content": version.content,
                "scene_count": version.scene_count,
                "excluded_count": version.excluded_count,
                "prev_scene_index": version.prev_scene_index,
                "new_scene_index": version.new_scene_index,
                "provenance": version.provenance,
            }
            for version in table_running.read_versions(call.db.read, call.persona, call.conversation)
        ],
    }


def get_running_recap_versions(
    conversation: object = None, **options: Unpack[CallOptions]
) -> list[RunningRecapVersion]:
    """Return the versions of a running recap, except deleted versions, lowest number first.

    Args:
        conversation: key of the conversation; None for the scope's conversation.
    """
    return get_running_recap_storage(conversation, **options)["versions"]


def get_running_recap(
    version: int | None = None, *, conversation: object = None, **options: Unpack[CallOptions]
) -> RunningRecapVersion | None:
    """Return a version of the running recap, or None if there is no such version.

    Args:
        version: number of the version; None for the current version.
        conversation: key of the conversation; None for the scope's conversation.
    """
    number = rows.number(version, "version")
    stored = get_running_recap_storage(conversation, **options)
    wanted = stored["current_version"] if number is None else number
    return next((each for each in stored["versions"] if each["version"] == wanted), None)


def set_current_running_recap(
    version: int, *, conversation: object = None, **options: Unpack[CallOptions]
) -> WriteResult:
    """Make the version with this number current; if there is no such version, return reason `refused`."""
    number = _read_number(version)
    call = open_conversation(open_call(**options), conversation)
    if call.place is None:
        return NO_CONVERSATION
    if call.change(table_running.set_current, number):
        return WriteResult(True, number)
    versions = table_running.read_versions(call.db.read, call.persona, call.conversation)
    numbers = ", ".join(str(each.number) for each in versions) or "none"
    return WriteResult(False, None, "refused", notes=(f"there is no version {number}; there are: {numbers}",))


def delete_running_recap_version(
    version: int, *, conversation: object = None, **options: Unpack[CallOptions]
) -> WriteResult:
    """Delete the text of a version of the running recap; its number is not used again.

    If it was current, the highest remaining version becomes current. An unknown version gives reason `unchanged`.
    """
    number = _read_number(version)
    call = open_conversation(open_call(**options), conversation)
    if call.place is None:
        return NO_CONVERSATION
    is_deleted = call.change(table_running.delete_version, number, call.db.clock())
    return WriteResult(True, number) if is_deleted else WriteResult(False, None, "unchanged")


def _read_number(version: object) -> int:
    number = rows.number(version, "version")
    if number is None:
        raise MessageError("version is None. It must be the number of a version.", fields=("version",))
    return number


def get_running_recap_injection(
    conversation: object = None, *, counter: Counter | None = None, **options: Unpack[CallOptions]
) -> Injection:
    """Return the text of the running recap with its position, depth and role in a prompt (SCENE_RECAP_POSITION, _DEPTH,
    _ROLE).

    Args:
        counter: function `text -> int` that counts tokens; by default the counter of LLM_MODEL.

    Returns:
        The value is "" without a recap, with stories switched off for the conversation, and if not even one sentence
        fits into RUNNING_RECAP_CONTEXT_LIMIT.
    """
    return _build_injection(open_conversation(open_call(**options), conversation).redacted(), counter)


def _build_injection(call: StoryCall, counter: Counter | None) -> Injection:
    text, is_on = "", call.place is not None and not call.place.stories_off
    current = table_running.find_current(call.db.read, call.persona, call.conversation) if is_on else None
    if current is not None:
        fitted = fit_version(current.content, current.provenance, call.settings, counter)
        text = mark_lines(fitted.text)
        if fitted.dropped:
            logs.event(logging.INFO, "running_recap_cut", version=current.number, dropped=fitted.dropped)
    return {
        "key": injection.KEY,
        "value": text,
        "position": call.settings.scene_recap_position,
        "depth": call.settings.scene_recap_depth,
        "scan": call.settings.scene_recap_scan,
        "role": call.settings.scene_recap_role,
    }


def switch_stories(on: bool, conversation: object = None, **options: Unpack[CallOptions]) -> WriteResult:
    """Switch stories on or off for a conversation. While off, prompts have no running recap and operations make no new
    texts.

    Stored texts stay.

    Returns:
        `(True, None, "")`; reason `unchanged` if stories are in this state already or the conversation is unknown.
    """
    switched = rows.yes_no(on, "on") == 1
    call = open_conversation(open_call(**options), conversation)
    if call.place is None:
        return NO_CONVERSATION
    if bool(call.place.stories_off) is not switched:
        return WriteResult(False, None, "unchanged")
    is_known = call.change(table_running.update_conversation, stories_off=int(not switched))
    return WriteResult(True, None) if is_known else NO_CONVERSATION


class Refreshed(TypedDict):
    """The result of `refresh_memory`. JSON keys appear in this order."""

    hidden: list[tuple[int, int]]
    """Ranges of indexes that this call hid."""
    shown: list[tuple[int, int]]
    """Ranges of indexes that this call showed again."""
    included: list[int]
    """Row ids of the messages whose recaps are now included, oldest first."""
    changed: int
    """Number of recaps whose `include` changed."""
    running_recap: str
    """The running recap as the prompt shows it; "" without one."""
    injection: Injection
    """The running recap with its position."""


def refresh_memory(
    conversation: object = None,
    *,
    disabled: Collection[str] = (),
    counter: Counter | None = None,
    **options: Unpack[CallOptions],
) -> Refreshed:
    """Hide and show messages, choose the recaps that prompts include; return the changes and the running recap.

    Call it after changing a setting, a break or a recap by hand; operations call it themselves. A second call changes
    nothing.

    Args:
        disabled: sender ids or names of characters that are disabled in the group.
        counter: function `text -> int` that counts tokens; by default the counter of LLM_MODEL.
    """
    call = open_conversation(open_call(**options), conversation)
    refreshed = refresh(call, disabled, counter)
    placed = _build_injection(call.redacted(), counter)
    return {
        "hidden": refreshed.plan["hide"],
        "shown": refreshed.plan["show"],
        "included": list(refreshed.included[::-1]),
        "changed": refreshed.changed,
        "running_recap": placed["value"],
        "injection": placed,
    }
