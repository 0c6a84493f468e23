"""Alternatives of a message: other versions of the same reply, each with its own recap."""

from __future__ import annotations

from typing import TypedDict, Unpack

from ..calls.call import CallOptions, open_call
from ..database import rows
from ..database.engine import Connection
from ..errors import MessageError
from ..jobs import handlers
from ..messages import table_lines, table_recaps
from ..messages.table_recaps import Alternative
from ..shapes import WriteResult
from .calls import NO_MESSAGE, no_such_message, open_message
from .refresh import refresh

_CHOOSE = f"{__package__.partition('.')[0]}.forgetting.table_followers:choose_alternative"
"""Function that changes a message and everything made from it; loaded by name, since its module imports this one."""


class AlternativeShown(TypedDict):
    """One alternative in the result of `list_alternatives`. JSON keys appear in this order."""

    number: int
    text: str
    is_current: bool


def list_alternatives(
    message: object, *, interface_path: object = None, **options: Unpack[CallOptions]
) -> list[AlternativeShown]:
    """Return the alternatives of a message, in order; [] if it has only one version or was hidden by `forget`."""
    call = open_message(open_call(**options), message, interface_path).redacted()
    line = None if call.row_id is None else table_lines.find_facts(call.db.read, call.persona, call.row_id)
    if line is None or line.is_withdrawn:
        return []
    alternatives = table_recaps.read_alternatives(call.db.read, call.persona, line.row_id)
    return [{"number": each.number, "text": each.text, "is_current": each.is_current} for each in alternatives]


def add_alternative(
    message: object, text: object, *, interface_path: object = None, **options: Unpack[CallOptions]
) -> int:
    """Store another version of a message and return its number; the current version stays the same.

    The first call also stores the message's own text as number 0, which is current.

    Args:
        text: the other version.

    Returns:
        The number: 1 for the first version added, 2 for the next, and so on.

    Raises:
        MessageError: the scope sees no such message; the sender, or the person answered, is at privacy level full; the
            text is blank, of another type or over 16 MB.
    """
    content = rows.text(text, "text")
    if not content.strip():
        raise MessageError("text is blank. An alternative needs a text.", fields=("text",))
    call = open_message(open_call(**options), message, interface_path)
    row_id = call.row_id
    if row_id is None:
        raise no_such_message()

    def work(connection: Connection) -> int:
        row = table_lines.hold_line(connection, call.persona, row_id)
        if row is None:
            raise no_such_message()
        if not table_lines.is_open(connection, call.persona, row, call.settings.privacy_default):
            raise MessageError(
                "Nothing of who said this message, or whom it answers, may be kept: their privacy level is full. "
                "Nothing was stored.",
                fields=("message",),
            )
        stored = table_recaps.read_alternatives(connection.execute, call.persona, row_id)
        new = [] if stored else [Alternative(0, row.text, is_current=True)]
        number = stored[-1].number + 1 if stored else 1
        added = [(row_id, each) for each in (*new, Alternative(number, content))]
        table_recaps.insert_alternatives(connection, call.persona, added)
        return number

    return call.db.transaction(work, source="message_alternatives")


def choose_alternative(
    message: object, number: int, *, interface_path: object = None, **options: Unpack[CallOptions]
) -> WriteResult:
    """Make an alternative current: the message is edited to its text, and its recap is shown.

    A new alternative has no recap; with RECAP_ON_MESSAGE a recap is queued. The choice of included recaps is refreshed.

    Args:
        number: 0 is the original text.

    Returns:
        `(True, row id, "")`; reason `unchanged` if it is current already, `not_found` if there is no such message.

    Raises:
        ValueError: the message has no such alternative; the error names the existing numbers.
    """
    call = open_message(open_call(**options), message, interface_path)
    row_id = call.row_id
    if row_id is None:
        return NO_MESSAGE
    result: WriteResult = handlers.load(_CHOOSE)(call, call.viewer, call.conversation, row_id, number)
    if result.stored:
        refresh(call)
    return result
