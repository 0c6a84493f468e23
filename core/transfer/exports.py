"""Write a conversation as a SillyTavern chat file, for its folder `chats`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import accumulate, chain
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

from ..access.rules import split_key
from ..base.whole_file import replace_file
from ..calls.call import GivenSettings, open_call
from ..database.engine import Database
from ..errors import TransferError
from ..messages import table_lines
from ..messages.table_lines import Line
from ..scope import Scope
from ..shapes import Progress
from ..stories import table_imported, table_running
from ..stories.calls import StoryCall, open_conversation
from ..stories.table_imported import NOTHING
from .formats.sillytavern import lines as tavern_lines
from .formats.sillytavern import write_header

_NAMES = {"user": "User", "persona": "Character"}
"""Names of user and persona if no speaker has a name."""


@dataclass(frozen=True, slots=True)
class ExportResult:
    """The result of an export."""

    conversation: str
    path: str
    """Path of the written file; blank for a stream."""
    messages: int = 0
    bytes: int = 0


def export_chat(
    path: str | PathLike[str] | BinaryIO,
    *,
    conversation: str | None = None,
    overwrite: bool = True,
    progress: Progress | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> ExportResult:
    """Write a whole conversation into a SillyTavern file and return the result; on an error, the file stays as it was.

    All messages are written, also hidden and excluded ones, with their alternatives, recaps and scenes, and the running
    recap. Imported messages that were not changed are written as they were in the imported file.

    Args:
        path: the file, or a binary stream, which stays open.
        conversation: key of the conversation; None uses the scope's.
        overwrite: replace an existing file.
        progress: see `Progress`.
        db, settings, scope: None uses those of the process; the scope must see the conversation.

    Raises:
        TransferError: the scope sees no such conversation; the file exists, or cannot be written.
        MessageError: no conversation is named, or the key cannot be one.
        StoreReadError: nothing could be read; no file was written.

    >>> import io
    >>> from prompt_engine import Scope, open_database
    >>> from prompt_engine.chat_history_cache import save_chat_message
    >>> from prompt_engine.transfer.exports import export_chat
    >>> db, scope, file = open_database("sqlite://"), Scope("iris", conversation="telegram/7"), io.BytesIO()
    >>> _ = save_chat_message("telegram/7", "I like tea", "Ann", "7", db=db, scope=scope)
    >>> export_chat(file, db=db, scope=scope).messages, b"I like tea" in file.getvalue()
    (1, True)
    """
    asking = open_call(db, settings, scope)
    call = open_conversation(asking, conversation)
    if call.place is None or (call.place.local_only and asking.destination != "local"):
        raise TransferError(
            f"There is no conversation {call.conversation!r} that this scope sees. "
            "Name it by its key interface/chat[/thread], and its persona and server (--persona-id, --server). One "
            "that is local only needs --local."
        )
    if not isinstance(path, (str, PathLike)):
        return _write_chat(call, path, ExportResult(call.conversation, ""), progress)
    file = Path(path)
    with write_whole(file, overwrite=overwrite) as out:
        return _write_chat(call, out, ExportResult(call.conversation, str(file)), progress)


@contextmanager
def write_whole(path: Path, *, overwrite: bool) -> Iterator[BinaryIO]:
    """Yield a stream into a file that appears when it is complete, and that only its owner can read if it is new."""
    try:
        if path.is_dir():
            raise TransferError(f"{str(path)!r} is a folder. Name a file in it.")
        if not overwrite and path.exists():
            raise TransferError(
                f"{str(path)!r} is there already. Name another file, or replace it: --force, in Python overwrite=True."
            )
        with replace_file(path, new_mode=0o600) as part, part.open("wb") as out:
            yield out
    except (OSError, ValueError) as error:  # a path that no file can have raises ValueError
        reason = getattr(error, "strerror", None) or error
        raise TransferError(f"{str(path)[:100]!r} cannot be written: {reason}. Name another file.") from None


def _write_chat(call: StoryCall, out: BinaryIO, result: ExportResult, progress: Progress | None) -> ExportResult:
    size = count = 0

    def write(line: str) -> None:
        nonlocal size
        data = (line if size == 0 else "\n" + line).encode("utf-8")
        out.write(data)
        size += len(data)

    header, after = _header(call)
    write(tavern_lines.write_json(header))
    for page in table_lines.read_pages(call.db.read, call.persona, call.conversation, call.audiences):
        beside = table_imported.read_beside(call.db.read, call.persona, [row.row_id for row in page])
        for row in page:
            for line in tavern_lines.kept_lines(row.metadata, tavern_lines.BEFORE):
                write(line)
            value = tavern_lines.build_line(_with_name(row, header), beside.get(row.row_id, NOTHING))
            write(tavern_lines.write_json(value))
        count += len(page)
        if progress:
            progress("writing", count, 0)
    for line in after:
        write(line)
    return replace(result, messages=count, bytes=size)


def _with_name(row: Line, header: dict[str, Any]) -> Line:
    """Add the speaker name that SillyTavern needs to a message."""
    fallback = row.sender_id if row.role == "user" else header.get("character_name")
    name = row.sender_name or (fallback if isinstance(fallback, str) else "")
    return replace(row, sender_name=name or _NAMES["user" if row.role == "user" else "persona"])


def _header(call: StoryCall) -> tuple[dict[str, Any], list[str]]:
    """Return (the file's header line, the lines of blank messages after the last message)."""
    persona, conversation = call.persona, call.conversation
    read = call.db.read
    metadata = table_imported.read_metadata(read, persona, conversation)
    line = tavern_lines.kept(metadata) or _new_header(call)
    versions = table_running.read_versions(read, persona, conversation)
    current = table_running.find_current_number(read, persona, conversation)
    _, chat, thread = split_key(conversation)
    chat_id = f"{chat}/{thread}" if thread else chat
    header = write_header(line, versions, current, chat_id, _indexes(call) if versions else ())
    return header, tavern_lines.kept_lines(metadata, tavern_lines.AFTER)


def _indexes(call: StoryCall) -> list[int]:
    """Return the position of each message's line in the file."""
    read = call.db.read
    pages = table_lines.read_pages(read, call.persona, call.conversation, call.audiences, with_text=False)
    rows = chain.from_iterable(pages)
    sizes = (len(tavern_lines.kept_lines(row.metadata, tavern_lines.BEFORE)) + 1 for row in rows)
    return [end - 1 for end in accumulate(sizes)]


def _new_header(call: StoryCall) -> dict[str, Any]:
    """Build the header of a conversation that was not imported from SillyTavern."""
    read = call.db.read
    created, names = "", dict[str, str]()
    for row in chain.from_iterable(table_lines.read_pages(read, call.persona, call.conversation, call.audiences)):
        created = created or tavern_lines.iso(row.at)
        name = row.sender_name or (row.sender_id if row.role == "user" else "")
        if name and row.role in _NAMES and not (row.metadata or {}).get("bot"):
            names.setdefault(row.role, name)
        if len(names) == len(_NAMES):
            break
    names = _NAMES | names
    return {
        "user_name": names["user"], "character_name": names["persona"], "create_date": created, "chat_metadata": {}
    }  # fmt: skip
