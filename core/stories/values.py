"""Public functions for the values stored with a message, such as its recap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

from ..calls.call import CallOptions, open_call
from ..database import rows
from ..database.compiled import chunks
from ..database.engine import Connection
from ..jobs import handlers
from ..messages import table_hidden, table_lines, table_recaps
from ..messages.table_recaps import Recap
from ..shapes import WriteResult
from ..text.sizes import Counter
from . import rules_recaps, table_imported
from .calls import NO_MESSAGE, StoryCall, choose_counter, open_conversation, open_message
from .refresh import refresh
from .rules_recaps import Provenance

_EXCLUDE = f"{__package__.partition('.')[0]}.forgetting.table_followers:set_excluded"
"""Function that also changes everything made from the message; loaded by name, since its module imports this folder."""
CLEARED = dict.fromkeys(("error", "reasoning", "prefill"))
"""Values that are removed when a recap gets a new text."""


def set_data(
    message: object,
    key: str,
    value: object,
    *,
    interface_path: object = None,
    provenance: Provenance = "manual",
    counter: Counter | None = None,
    **options: Unpack[CallOptions],
) -> WriteResult:
    """Store an additional value of a message, such as its recap, for the message's current alternative.

    Args:
        key: such as `memory` or `exclude`; the error for an unknown key lists all keys.
        value: a text or switch, depending on the key; None removes it.
        provenance: origin of a recap.
        counter: function `text -> int` that counts a recap's tokens; by default the counter of LLM_MODEL.

    Returns:
        `(True, row id, "")`; reason `unchanged` if the value is the same, `not_found` if the scope sees no such
        message, `privacy` for a text if the sender, or the person answered, has privacy level `full`.

    Raises:
        ValueError: an unknown key (the error names the nearest), a key of a scene, or an unknown provenance.
    """
    rules_recaps.check_key(key)
    if key in rules_recaps.SCENE:
        raise ValueError(
            f"{key} belongs to the scene that ends with the message. Use add_scene_break, edit_scene_break, "
            "remove_scene_break or set_scene_recap."
        )
    rules_recaps.check_provenance(provenance)
    new = _read_stored(key, value)
    call = open_message(open_call(**options), message, interface_path)
    columns: dict[str, Any] = {"edited": bool(new)} if key == "edited" else {}
    if key == "memory":
        columns = build_columns(new, provenance, choose_counter(counter, call.settings))
    data = {key: new} if key in rules_recaps.IN_DATA else None

    def work(connection: Connection, row_id: int) -> bool:
        if key == "include":
            return table_recaps.set_include(connection, call.persona, [row_id], new) > 0
        return table_recaps.update_recap(connection, call.db, call.persona, call.conversation, row_id, columns, data)

    if key != "exclude" or call.row_id is None:
        return _change_message(call, work, keeps_text=new is not None and rules_recaps.KINDS[key] != "switch")
    excluded: WriteResult = handlers.load(_EXCLUDE)(call, call.viewer, call.conversation, call.row_id, bool(new))
    if excluded.stored:  # an excluded message must leave the next prompt
        refresh(call, counter=counter)
    return excluded


def build_columns(memory: str | None, provenance: str, count: Counter) -> dict[str, Any]:
    return {
        "memory": memory,
        "stale": False,
        "provenance": provenance,
        "token_count": None if memory is None else count(memory),
        **({"include": None} if memory is None else {}),
    }


def _read_stored(key: str, value: object) -> Any:
    """Check a value and return it in its stored form: texts are cleaned, a blank recap becomes None."""
    stored = rules_recaps.read_value(key, value)
    if not isinstance(stored, str):
        return stored
    text = rows.text(stored, key)
    if key == "include":
        return text[:40] or None
    return None if key == "memory" and not text.strip() else text


def _change_message(call: StoryCall, work: Callable[[Connection, int], bool], *, keeps_text: bool) -> WriteResult:
    """Run a change in a transaction that locks the message; refuse texts about people at privacy level full."""

    def change(connection: Connection) -> WriteResult:
        row = None if call.row_id is None else table_lines.hold_line(connection, call.persona, call.row_id)
        if row is None:
            return NO_MESSAGE
        if keeps_text and not table_lines.is_open(connection, call.persona, row, call.settings.privacy_default):
            return WriteResult(False, call.row_id, "privacy")
        changed = work(connection, row.row_id)
        return WriteResult(changed, row.row_id, "" if changed else "unchanged")

    return call.db.idempotent_transaction(change, source="message_recaps")


def edit_memory(
    message: object,
    memory: str,
    *,
    interface_path: object = None,
    counter: Counter | None = None,
    **options: Unpack[CallOptions],
) -> WriteResult:
    """Store a person's own recap of a message, mark it as edited, and clear its `stale`, error, reasoning and prefill.

    A blank text removes the recap. `counter` and result are those of `set_data`.
    """
    text = _read_stored("memory", memory)
    call = open_message(open_call(**options), message, interface_path)
    columns = build_columns(text, "manual", choose_counter(counter, call.settings)) | {"edited": text is not None}

    def work(connection: Connection, row_id: int) -> bool:
        recap = table_recaps.find_recap(connection.execute, call.persona, row_id)
        if recap is not None and recap.memory == text and not recap.stale:
            return False
        return table_recaps.update_recap(connection, call.db, call.persona, call.conversation, row_id, columns, CLEARED)

    return _change_message(call, work, keeps_text=text is not None)


def get_data(
    message: object, key: str | None = None, *, interface_path: object = None, **options: Unpack[CallOptions]
) -> Any:
    """Return a value stored with a message; None if it is not set.

    Args:
        key: as for `set_data`, or `stale` or `provenance`; None returns a dict of all values, in a fixed order.

    Raises:
        ValueError: an unknown key; the error names the nearest.
    """
    if key is not None:
        rules_recaps.check_key(key, rules_recaps.READABLE)
    call = open_message(open_call(**options), message, interface_path).redacted()
    values = {} if call.row_id is None else _read_all(call, call.row_id, key)
    return values if key is None else values.get(key)


def _read_all(call: StoryCall, row_id: int, key: str | None) -> dict[str, Any]:
    """Return the values stored with a message; if `key` is given, only the table that holds this key is read."""
    read, values = call.db.read, dict[str, Any]()
    if key not in rules_recaps.SCENE and key != "exclude":
        recap = table_recaps.find_recap(read, call.persona, row_id) or Recap()
        values = {"memory": recap.memory, "include": recap.include, **recap.data}
        values |= {"edited": recap.edited or None, "stale": recap.stale or None}
        values["provenance"] = recap.provenance if recap.memory is not None else None
    is_wanted = key is None or key in rules_recaps.SCENE
    scene = table_imported.read_scenes(read, call.persona, [row_id]).get(row_id) if is_wanted else None
    if scene is not None:
        values |= {
            "scene_break": True,
            "scene_break_visible": scene.visible or None,
            "scene_break_name": scene.name or None,
            "scene_recap_versions": list(scene.versions) or None,
            "scene_recap_memory": None if scene.current is None else scene.versions[scene.current],
            "scene_recap_current_index": scene.current,
            "scene_recap_metadata": scene.metadata or None,
        }
    if key in (None, "exclude"):
        facts = table_lines.find_facts(read, call.persona, row_id)
        values["exclude"] = True if facts is not None and facts.excluded else None
    return {name: values[name] for name in rules_recaps.READABLE if values.get(name) is not None}


def get_memory(message: object, *, interface_path: object = None, **options: Unpack[CallOptions]) -> str | None:
    """Return the recap of a message's current alternative, even if stale; None without a recap."""
    memory: str | None = get_data(message, "memory", interface_path=interface_path, **options)
    return memory


def clear_all(conversation: object = None, **options: Unpack[CallOptions]) -> dict[str, int]:
    """Remove the values stored with the messages of a conversation, and return how many messages had each key.

    Scenes and the running recap stay.

    Returns:
        Number of messages by key, without keys that no message had.
    """
    call = open_conversation(open_call(**options), conversation)
    if call.place is None:
        return {}

    def work(connection: Connection) -> dict[str, int]:
        counts = table_recaps.clear_conversation(connection, call.persona, call.conversation)
        excluded = table_hidden.clear_excluded(connection, call.persona, call.conversation)
        return counts | ({"exclude": excluded} if excluded else {})

    counts = call.db.idempotent_transaction(work, source="message_recaps")
    return {name: counts[name] for name in rules_recaps.KINDS if name in counts}


def queue_recaps(conversation: object = None, **options: Unpack[CallOptions]) -> int:
    """Queue the recap of every message whose recap is missing or stale, oldest first, and return how many were queued.

    Only messages of people and the persona get recaps. Messages marked `exclude`, and those whose recap is queued
    already, are skipped. An import queues no recaps by itself.

    Returns:
        The number queued by this call; 0 while stories are switched off for the conversation.
    """
    call = open_conversation(open_call(**options), conversation)
    if call.place is None or call.place.stories_off:
        return 0
    waiting = table_recaps.read_without_recap(call.db.read, call.persona, call.conversation)
    for part in chunks(waiting, 200):  # in one transaction

        def work(connection: Connection, part: list[int] = part) -> None:
            for row_id in part:
                table_recaps.queue_recap(connection, call.db, call.persona, call.conversation, row_id)

        call.db.transaction(work, source="memory_jobs")
    return len(waiting)
