"""The two Markdown files of memories. A person's changes in `Saved Memories.md` are read back."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, Unpack

from ..base import logs
from ..base.hints import shown
from ..base.whole_file import replace_file
from ..calls.call import Call, CallOptions, load_viewer, open_call
from ..config import Settings
from ..errors import CoreError, MessageError, TransferError
from ..memories.rules import SAVED_MEMORY_CHARS
from ..scope import Scope
from ..shapes import WriteResult
from ..text.folding import clean, fold, one_line
from ..text.hits import digest_folded
from ..text.times import zone
from . import table_saved, table_summaries
from .rules_summaries import TITLE_CHARS, UNTITLED, format_time

STATE = ".memory.json"
"""Name of the file that stores the scope and the state of the two files."""
NAMES = (RECENT, SAVED) = ("Recent Conversations.md", "Saved Memories.md")
MAX_BYTES = 10_000_000
LOCK_SECONDS = 600
HEADING, BULLET = "## ", "- "
TIME, SUMMARY = "**Time:**", "**Summary:**"
_FOLDERS = "memory_files"
"""Key in `Database.caches` of the folders that this process wrote."""


@dataclass(frozen=True, slots=True)
class MarkdownResult:
    """The result of an export or import."""

    folder: str
    recent: int = 0
    """Number of conversations that the scope sees after the export or import."""
    saved: int = 0
    """Number of saved memories that the scope sees after the export or import."""
    added: int = 0
    """Number of conversations and memories that an import added."""
    left_out: tuple[str, ...] = ()
    """Entries that were not added, each with the reason."""
    written: tuple[str, ...] = ()
    """Names of the files that were changed."""


class State(NamedTuple):
    """What the two files contained when this program last wrote them."""

    scope: Scope | None = None
    """Scope of the rows in the files; None if it is unknown."""
    lines: frozenset[str] = frozenset()
    """Digests of the saved memories in the file."""
    left: frozenset[str] = frozenset()
    """Digests of lines that a person added but that could not be stored; the lines stay in the file."""


class Section(NamedTuple):
    title: str
    time: str
    """Time as `YYYY-MM-DD HH:MM`; "" if it is missing."""
    text: str


def export_markdown(folder: str | Path | None = None, **options: Unpack[CallOptions]) -> MarkdownResult:
    """Write the conversations and memories that the scope sees into the two files.

    In `Saved Memories.md`, lines that a person added are first saved, and memories whose lines they removed are
    archived; text other than list items is kept. `Recent Conversations.md` is rewritten whole.

    Args:
        folder: created if it is missing; None is MEMORY_FOLDER_NAME. One folder belongs to one scope.

    Returns:
        Numbers of entries in both files now, and the names of the changed files.

    Raises:
        TransferError: a file cannot be read or written, `Recent Conversations.md` has another format, or the folder is
            another scope's.
        StoreReadError: the rows cannot be read; no file is changed.
    """
    call = open_call(**options)
    path = _check_folder(folder, call.settings)
    with _lock(path, make=True):
        _check_owner(path, call.scope)
        state, texts = read_state(path), {}
        if call.settings.enable_recent_conversations:
            if state.scope is None:
                _take_sections(call, path)
            texts[RECENT] = _write_sections(_read_sections(call))
        if call.settings.enable_saved_memory:
            _take_edits(call, path, state)
            texts[SAVED], state = _merge_lines(_read(path / SAVED), _read_memories(call), state)
        written = [name for name, text in texts.items() if _write(path / name, text)]
        owner = [call.scope.persona, call.scope.conversation, call.scope.participant, call.scope.server]
        held = {"scope": owner, "lines": sorted(state.lines), "left": sorted(state.left)}
        _write(path / STATE, json.dumps(held) + "\n")
    call.db.caches.setdefault(_FOLDERS, {})[str(path.absolute())] = None
    recent, saved = len(_read_sections(call)), len(_read_memories(call))
    return MarkdownResult(str(path), recent=recent, saved=saved, written=tuple(written))


def import_markdown(folder: str | Path | None = None, **options: Unpack[CallOptions]) -> MarkdownResult:
    """Add entries of the two files that the database lacks; existing rows and the files stay unchanged.

    Args:
        folder: the folder of the files; None is MEMORY_FOLDER_NAME.

    Returns:
        Number of added entries, and the entries left out with the reason.

    Raises:
        TransferError: a file is not UTF-8 or over 10 MB, or the folder is another scope's.
        StoreWriteError: a row could not be stored; the rows before it were.
    """
    call = open_call(**options)
    path = _check_folder(folder, call.settings)
    reasons: list[tuple[str, int, str]] = []
    """(File, position, reason) of each new entry; the reason is "" for an added entry."""
    if os.path.isdir(path):  # noqa: PTH112 - Path.is_dir can raise OSError
        _check_owner(path, call.scope)
        recent = read_sections(_read(path / RECENT)) if call.settings.enable_recent_conversations else []
        saved = read_bullets(_read(path / SAVED)) if call.settings.enable_saved_memory else []
        done = [(at, _insert_section(call, path, recent[at])) for at in _find_new_sections(call, recent)]
        viewer = replace(load_viewer(call), destination="local")
        kept = {one.id for one in table_summaries.read_summaries(call, viewer)}
        reasons += [(RECENT, at + 1, one.reason or ("" if one.id in kept else "limit")) for at, one in done]
        for at in _find_new(saved, _read_memories(call)):
            reasons.append((SAVED, at + 1, _insert_memory(call, path, saved[at])))
    left_out = tuple(f"{name}, item {number}: {reason}" for name, number, reason in reasons if reason)
    counts = len(_read_sections(call)), len(_read_memories(call)), len(reasons) - len(left_out)
    return MarkdownResult(str(path), *counts, left_out)


def _read_sections(call: Call) -> list[Section]:
    summaries, zone_name = table_summaries.read_summaries(call, load_viewer(call)), call.settings.timezone
    return [Section(_line(one.title), format_time(one.at, zone_name), _line(one.summary)) for one in summaries]


def _read_memories(call: Call) -> list[str]:
    return [_line(one.text) for one in table_saved.read_items(call.db, load_viewer(call))]


def _line(text: str) -> str:
    return one_line(text).strip()


def _write_sections(sections: Iterable[Section]) -> str:
    return "\n".join(f"{HEADING}{one.title}\n{TIME} {one.time}\n{SUMMARY} {one.text}\n" for one in sections)


def _merge_lines(text: str, memories: Iterable[str], state: State) -> tuple[str, State]:
    """Add lines for new memories to the file's text, remove the lines of deleted memories; return (text, new state)."""
    current = {_digest(memory): f"{BULLET}{memory}\n" for memory in memories}
    kept, seen = [], set()
    for line in io.StringIO(text):
        digests = {_digest(bullet) for bullet in read_bullets(line)}
        if not digests & state.lines - current.keys():
            kept.append(line)
            seen |= digests
    if kept and not kept[-1].endswith("\n"):
        kept.append("\n")
    added = [line for digest, line in current.items() if digest not in seen]
    return "".join([*kept, *added]), State(state.scope, frozenset(current), frozenset(seen - current.keys()))


def _digest(text: str) -> str:
    return digest_folded(fold(_line(text))).hex()


def read_sections(text: str) -> list[Section]:
    """Return the conversations in a file; each begins with a line of exactly two `#` and a space."""
    sections: list[Section] = []
    for line in _iter_lines(text):
        if line.startswith(HEADING):
            sections.append(Section(line.removeprefix(HEADING).strip(), "", ""))
        elif sections and line.startswith(TIME) and not sections[-1].time:
            sections[-1] = sections[-1]._replace(time=line.removeprefix(TIME).strip())
        elif sections and line.startswith(SUMMARY) and not sections[-1].text:
            sections[-1] = sections[-1]._replace(text=line.removeprefix(SUMMARY).strip())
    return sections


def read_bullets(text: str) -> list[str]:
    bullets = (line.removeprefix(BULLET).strip() for line in _iter_lines(text) if line.startswith(BULLET))
    return [text for text in bullets if text]


def _iter_lines(text: str) -> Iterator[str]:
    return (line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n"))


def _take_sections(call: Call, folder: Path) -> None:
    """Store conversations of the file that the database lacks; raise TransferError if its format is another."""
    text = _read(folder / RECENT)
    sections = read_sections(text)
    if _write_sections(sections).split() != text.split():
        text = f"{str(folder / RECENT)!r} was not written by this program. Import it, then move it away."
        raise TransferError(text, path=str(folder))
    for at in _find_new_sections(call, sections):
        _insert_section(call, folder, sections[at])


def _take_edits(call: Call, folder: Path, state: State) -> None:
    """Save the lines that a person added to the file; archive the memories whose lines the person removed."""
    if not (folder / SAVED).exists():
        return
    bullets = {_digest(text): text for text in read_bullets(_read(folder / SAVED))}
    viewer = load_viewer(call)
    stored = {_digest(_line(item.text)): item.id for item in table_saved.read_items(call.db, viewer)}
    for digest in sorted(state.lines & stored.keys() - bullets.keys()):
        table_saved.set_archived(call.db, viewer, stored[digest], archived=True)
    for digest, text in bullets.items():
        if digest not in state.lines | state.left | stored.keys():
            _insert_memory(call, folder, text)


def _find_new_sections(call: Call, sections: Sequence[Section]) -> list[int]:
    return _find_new([section.text for section in sections], [section.text for section in _read_sections(call)])


def _find_new(texts: Sequence[str], stored: Iterable[str]) -> list[int]:
    """Return the positions of the texts that are not in `stored`; if texts are equal, only the first position."""
    seen, new = set(map(fold, stored)), []
    for at, text in enumerate(map(fold, texts)):
        if text not in seen:
            seen.add(text)
            new.append(at)
    return new


def _insert_section(call: Call, folder: Path, section: Section) -> WriteResult:
    try:
        local = datetime.strptime(section.time, "%Y-%m-%d %H:%M")  # noqa: DTZ007 - the zone is added below
        at = local.replace(tzinfo=zone(call.settings.timezone) or UTC).astimezone(UTC)
    except ValueError:
        at = _changed_at(folder / RECENT)
    title = section.title[:TITLE_CHARS] or UNTITLED
    return table_summaries.insert_summary(call, title=title, summary=section.text, at=at)


def _insert_memory(call: Call, folder: Path, text: str) -> str:
    if len(text) > SAVED_MEMORY_CHARS:
        return f"too_long, it has {len(text)} of at most {SAVED_MEMORY_CHARS} characters"
    at = _changed_at(folder / SAVED)
    memory = table_saved.build_memory(text, now=at, source=table_saved.BY_FILE, provenance="import")
    return table_saved.insert_memory(call, memory).reason


def _changed_at(path: Path) -> datetime:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC)


def _check_folder(folder: str | Path | None, settings: Settings) -> Path:
    folder = settings.memory_folder_name if folder is None else folder
    path = str(folder) if isinstance(folder, (str, Path)) else ""
    if not path.strip() or "\0" in path or path != clean(path):
        raise MessageError(f"folder is {shown(folder)}. It must be the path of a folder.", fields=("folder",))
    return Path(path)


def _check_owner(folder: Path, scope: Scope) -> None:
    owner = read_state(folder).scope
    if owner is not None and owner != Scope(scope.persona, scope.conversation, scope.participant, scope.server):
        text = f"{str(folder)!r} holds the files of another scope. Give each scope a folder of its own."
        raise TransferError(text, path=str(folder))


@contextlib.contextmanager
def _lock(folder: Path, *, make: bool = False) -> Iterator[None]:
    """Lock the folder, so that an older export of another process cannot write forgotten rows again."""
    with _as_transfer_error(folder, "used as a folder"):
        if make:
            folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{STATE}.lock"
        lock = sqlite3.connect(file, timeout=LOCK_SECONDS, isolation_level=None)  # the file lock works on every system
    with contextlib.closing(lock):
        with _as_transfer_error(folder, "used as a folder"):
            lock.execute("BEGIN EXCLUSIVE")
            file.chmod(0o600)
        yield


def _read(path: Path) -> str:
    """Return the text of a file; "" if the file does not exist."""
    with _as_transfer_error(path, "read"), contextlib.suppress(FileNotFoundError):
        if path.stat().st_size > MAX_BYTES:
            text = f"{str(path)!r} is larger than {MAX_BYTES:,} bytes. Move part of it elsewhere."
            raise TransferError(text, path=str(path))
        try:
            return path.read_bytes().decode("utf-8")
        except UnicodeDecodeError as error:
            text = f"{str(path)!r} is not UTF-8 at byte {error.start}. Save it as UTF-8; nothing was changed."
            raise TransferError(text, path=str(path)) from None
    return ""


def _write(path: Path, text: str) -> bool:
    """Replace the text of a file atomically; only the owner can read a new file. Return whether the text changed."""
    content = text.encode("utf-8", "replace")
    with _as_transfer_error(path, "written"):
        if path.exists() and path.read_bytes() == content:
            return False
        with replace_file(path, new_mode=0o600) as part:
            part.write_bytes(content)
    return True


@contextlib.contextmanager
def _as_transfer_error(path: Path, what: str) -> Iterator[None]:
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        raise TransferError(f"{str(path)!r} cannot be {what} ({type(error).__name__}).", path=str(path)) from error


def write_files(call: Call) -> None:
    """Write the files if a folder is set and belongs to the persona; log a failure."""
    settings, name = call.settings, call.settings.memory_folder_name
    if settings.sources["MEMORY_FOLDER_NAME"] == "default" or not name.strip() or "\0" in name:
        return
    folder = Path(name).absolute()
    owner = read_state(folder).scope or call.scope
    if owner.persona != call.persona:
        return
    try:
        export_markdown(folder, db=call.db, settings=settings, scope=owner)
    except CoreError as error:
        logs.warning("memory_files_not_written", folder=str(folder), error=type(error).__name__)


def read_state(folder: Path) -> State:
    """Return the state that this program stored in a folder; an empty state if the folder has none."""
    try:
        held = json.loads(_read(folder / STATE))
        return State(Scope(*held["scope"]), frozenset(held.get("lines", ())), frozenset(held.get("left", ())))
    except (CoreError, ValueError, TypeError, KeyError, AttributeError):
        return State()


def rewrite_files(
    call: Call, people: Collection[str] = (), conversations: Collection[str] = ()
) -> tuple[list[str], list[str]]:
    """Rewrite the persona's files without forgotten rows; return (changed files, files that may still hold them)."""
    written: list[str] = []
    out_of_reach: list[str] = []
    folders = [*call.db.caches.get(_FOLDERS, {}), str(Path(call.settings.memory_folder_name).absolute())]
    for folder in map(Path, dict.fromkeys(folders)):
        if not os.path.isdir(folder):  # noqa: PTH112 - Path.is_dir can raise OSError
            continue
        paths, owner = [folder / name for name in NAMES if (folder / name).exists()], read_state(folder).scope
        if owner is None:
            out_of_reach += [f"{path}: it is unknown whose rows it contains" for path in paths]
        elif paths and owner.persona == call.persona:
            try:
                if owner.participant in people or owner.conversation in conversations:
                    with _lock(folder):
                        names = [path.name for path in paths if _write(path, "")]
                        (folder / STATE).unlink(missing_ok=True)
                else:
                    names = [*export_markdown(folder, db=call.db, settings=call.settings, scope=owner).written]
                written += [str(folder / name) for name in names]
            except (CoreError, OSError) as error:
                out_of_reach += [f"{path}: {type(error).__name__}" for path in paths]
    return written, out_of_reach
