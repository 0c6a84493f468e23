"""The two Markdown files that mirror recent conversations and saved memories for people."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ..audience.view import Viewer
from ..base import mirrored_file
from ..calls import screening
from ..calls.call import Call, GivenSettings, look_around, open_call
from ..config import Settings
from ..database.engine import Database
from ..errors import CoreError, MessageError, TransferError
from ..scope import Scope
from ..text.folding import clean
from ..text.times import zone
from . import rules_markdown, table_saved, table_summaries
from .rules_markdown import File, Item
from .rules_summaries import TITLE_CHARS, UNTITLED, format_time

STATE = ".memory.json"
BY = "file"
"""Who changed a text, in its history."""
_FOLDERS = "memory_files"
"""Name of the cache of folders this process has written."""
NAMES = (_RECENT, _SAVED) = ("Recent Conversations.md", "Saved Memories.md")
ROUNDS = 20
"""How often a file is read again because somebody saved it in between."""


@dataclass(frozen=True, slots=True)
class MarkdownResult:
    """What became of the two files."""

    folder: str
    recent: int = 0
    """Conversations the scope has now."""
    saved: int = 0
    """Saved memories the scope has now."""
    added: int = 0
    changed: int = 0
    archived: int = 0
    """What was taken over from the files."""
    left_out: tuple[str, ...] = ()
    """What was not taken over, and why: it stays in the file as text."""
    written: tuple[str, ...] = ()
    """Names of the files that were changed."""


def export_markdown(
    folder: str | Path | None = None,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> MarkdownResult:
    """Write the two files of what the scope sees; what a person changed in them since is taken over first.

    Args:
        folder: made where it is missing; None is MEMORY_FOLDER_NAME. One folder belongs to one scope.

    Returns:
        What both files hold now, what was taken over before, and the names of the files that were changed.

    Raises:
        TransferError: a file is no UTF-8, over 10 MB or cannot be written, or the folder is another scope's.
        StoreReadError: the rows cannot be read; no file is changed.

    >>> from tempfile import TemporaryDirectory
    >>> from prompt_engine import Scope, open_database
    >>> from prompt_engine.conversations import add_saved_memory, export_markdown
    >>> db, scope, folder = open_database("sqlite://"), Scope("iris", "tg/42", "tg/7"), TemporaryDirectory()
    >>> _ = add_saved_memory("Ann likes tea", db=db, scope=scope)
    >>> export_markdown(folder.name, db=db, scope=scope).saved
    1
    >>> db.close(), folder.cleanup()
    (None, None)
    """
    return _open_mirror(folder, open_call(db, settings, scope)).run(write=True)


def import_markdown(
    folder: str | Path | None = None,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> MarkdownResult:
    """Take over what a person changed in the two files since they were last read or written.

    A changed title or summary changes its row, the former text kept; a removed section or bullet archives its row; a
    new one adds a row. Without a file or folder nothing changes.

    Args:
        folder: where the files lie; None is MEMORY_FOLDER_NAME.

    Returns:
        How much was taken over, and what was not, with the reason; no file is written.

    Raises:
        TransferError: a file is no UTF-8 or over 10 MB, or the folder is another scope's.
        StoreWriteError: a change could not be stored; those before it are.

    >>> from tempfile import TemporaryDirectory
    >>> from prompt_engine import Scope, open_database
    >>> from prompt_engine.conversations import import_markdown
    >>> db, folder = open_database("sqlite://"), TemporaryDirectory()
    >>> import_markdown(folder.name, db=db, scope=Scope("iris", "tg/42")).added
    0
    >>> db.close(), folder.cleanup()
    (None, None)
    """
    return _open_mirror(folder, open_call(db, settings, scope)).run(write=False)


# What the two files stand for


@dataclass(slots=True)
class _Access:
    """Whose rows a call works with."""

    call: Call
    viewer: Viewer = field(init=False)

    def __post_init__(self) -> None:
        self.look_again()

    def look_again(self) -> None:
        """Work out again what the scope sees: its first row makes its audience."""
        self.viewer = look_around(self.call).viewer


class _Kind(Protocol):
    """One of the two files."""

    name: str

    @property
    def read(self) -> Callable[[str], File]:
        """Return what takes the file apart."""

    @property
    def write(self) -> Callable[[File, Sequence[tuple[Item, int | None]]], str]:
        """Return what puts rows into it."""

    def read_rows(self) -> dict[int, Item]:
        """Return the rows the scope sees, oldest first, and what each says as the file shows it."""

    def update_row(self, row: int, item: Item) -> bool:
        """Let a row say what its section says now."""

    def archive_row(self, row: int) -> bool:
        """Take a row off the list."""

    def insert_row(self, item: Item, at: datetime) -> int | str:
        """Store a new one, said at `at` where it names no time; return its row id, or why it is not taken."""


class _RecentFile:
    """Recent conversations, a section each."""

    name = _RECENT
    read = staticmethod(rules_markdown.read_sections)
    write = staticmethod(rules_markdown.write_sections)

    def __init__(self, access: _Access) -> None:
        self._access, self._call = access, access.call

    def read_rows(self) -> dict[int, Item]:
        most, zone_name = self._call.settings.max_recent_conversations, self._call.settings.timezone
        rows = table_summaries.read_summaries(self._call.db, self._access.viewer, most=most)
        items = ((one.id, Item(one.title, format_time(one.at, zone_name), one.summary)) for one in rows)
        return rules_markdown.build_rows(items)

    def update_row(self, row: int, item: Item) -> bool:
        title = item.title[:TITLE_CHARS] or UNTITLED
        at = self._read_time(item.time)
        call = self._call
        return table_summaries.update_summary(call.db, call.persona, row, title=title, summary=item.text, at=at, by=BY)

    def archive_row(self, row: int) -> bool:
        return table_summaries.archive_summary(self._call.db, self._call.persona, row)

    def insert_row(self, item: Item, at: datetime) -> int | str:
        stored = table_summaries.insert_summary(
            self._call.db,
            self._call.scope,
            title=item.title[:TITLE_CHARS] or UNTITLED,
            summary=item.text,
            at=self._read_time(item.time) or at,
            most=self._call.settings.max_recent_conversations,
        )
        self._access.look_again()
        return stored.id if stored.id is not None else stored.reason

    def _read_time(self, shown: str) -> datetime | None:
        """Return a time as a person wrote it, None where it cannot be read."""
        try:
            local = datetime.strptime(shown, "%Y-%m-%d %H:%M")  # noqa: DTZ007 - the zone is put in below
        except ValueError:
            return None
        return local.replace(tzinfo=zone(self._call.settings.timezone) or UTC).astimezone(UTC)


class _SavedFile:
    """Saved memories, a bullet each."""

    name = _SAVED
    read = staticmethod(rules_markdown.read_bullets)
    write = staticmethod(rules_markdown.write_bullets)

    def __init__(self, access: _Access) -> None:
        self._access, self._call = access, access.call

    def read_rows(self) -> dict[int, Item]:
        rows = table_saved.read_items(self._call.db, self._access.viewer)
        return rules_markdown.build_rows((one.id, Item(text=one.text)) for one in rows)

    def update_row(self, row: int, item: Item) -> bool:  # noqa: ARG002 - as the other file has it
        """Do nothing: a bullet that says something else is another memory."""
        return False

    def archive_row(self, row: int) -> bool:
        return table_saved.archive_memory(self._call.db, self._access.viewer, row).stored

    def insert_row(self, item: Item, at: datetime) -> int | str:
        db, settings = self._call.db, self._call.settings
        most = settings.saved_memory_chars
        if len(item.text) > most:
            return f"too_long, it has {len(item.text)} of at most {most} characters"
        flagged, notes = screening.is_flagged(item.text, "memory")
        memory = table_saved.build_memory(item.text, now=at, source=table_saved.BY_FILE, provenance="import")
        memory = replace(memory, quarantined=int(flagged), notes=(*memory.notes, *notes))
        stored = table_saved.insert_memory(db, self._call.scope, memory, privacy_default=settings.privacy_default)
        self._access.look_again()
        return stored.id if stored.id is not None else stored.reason


# Bringing files and rows together


@dataclass(slots=True)
class _Mirror:
    access: _Access
    folder: Path
    state: dict[str, Any] = field(default_factory=dict)
    done: dict[str, int] = field(default_factory=lambda: {"added": 0, "changed": 0, "archived": 0})
    left_out: list[str] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def run(self, *, write: bool) -> MarkdownResult:
        """Bring files and rows together."""
        if write or self.folder.is_dir():
            with self._alone(make=write):
                self._open_state()
                for kind in self._kinds():
                    self._sync(kind, write=write)
                if write:
                    self.access.call.db.caches.setdefault(_FOLDERS, {})[str(self.folder.absolute())] = None
        return MarkdownResult(
            str(self.folder),
            recent=self.counts.get(_RecentFile.name, 0),
            saved=self.counts.get(_SavedFile.name, 0),
            **self.done,
            left_out=tuple(self.left_out),
            written=tuple(dict.fromkeys(self.written)),
        )

    @contextlib.contextmanager
    def _alone(self, *, make: bool) -> Iterator[None]:
        try:
            if make:
                self.folder.mkdir(parents=True, exist_ok=True)
            with mirrored_file.lock_file(self.folder / f"{STATE}.lock"):
                yield
        except OSError as error:
            text = f"{str(self.folder)!r} cannot be used as a folder ({type(error).__name__})."
            raise TransferError(text, path=str(self.folder)) from error

    def _kinds(self) -> list[_Kind]:
        """Return the files that are switched on."""
        settings = self.access.call.settings
        kinds: list[_Kind] = [_RecentFile(self.access)] if settings.enable_recent_conversations else []
        return [*kinds, _SavedFile(self.access)] if settings.enable_saved_memory else kinds

    def clear(self) -> None:
        """Take every row out of the files, and forget whose they were."""
        with self._alone(make=False):
            for kind in (_RecentFile(self.access), _SavedFile(self.access)):
                path = self.folder / kind.name
                for _ in range(ROUNDS):
                    text = mirrored_file.read_file(path)
                    if text is None or mirrored_file.replace_file(path, kind.write(kind.read(text), []), seen=text):
                        self.written += [] if text is None else [kind.name]
                        break
            (self.folder / STATE).unlink(missing_ok=True)

    # One file

    def _sync(self, kind: _Kind, *, write: bool) -> None:
        path = self.folder / kind.name
        for _ in range(ROUNDS):
            text = mirrored_file.read_file(path)
            if text is None and not write:
                return
            file, places = self._take_over(kind, path, text)
            rows = kind.read_rows()
            self.counts[kind.name] = len(rows)
            wanted = text or ""
            if write:
                wanted = kind.write(file, [(item, places.get(row)) for row, item in rows.items()])
                if wanted != text and not mirrored_file.replace_file(path, wanted, seen=text):
                    continue
                self.written += [kind.name] if wanted != text else []
            self._remember(kind, rows if write else {row: file.items[place] for row, place in places.items()})
            return
        raise TransferError(
            f"{str(path)!r} was saved by somebody {ROUNDS} times while it was to be written. Try again later.",
            path=str(path),
        )

    def _take_over(self, kind: _Kind, path: Path, text: str | None) -> tuple[File, dict[int, int]]:
        """Store what a person changed; return the file and the place of each row in it."""
        file = kind.read(text or "")
        before = self._read_before(kind)
        if text is None:
            return file, {}
        now = file.items
        changes = rules_markdown.compare_items(before, [_hide_texts(item) for item in now])
        places = dict(changes.places)
        rows = kind.read_rows()
        for row in changes.changed:
            if row in rows:
                self.done["changed"] += kind.update_row(row, now[places[row]])
        for row in changes.gone:
            if row in rows:
                self.done["archived"] += kind.archive_row(row)
        file, places = self._add_new(kind, file, changes.new, places, rows, path)
        return file, places

    def _add_new(
        self, kind: _Kind, file: File, new: Sequence[int], places: dict[int, int], rows: Mapping[int, Item], path: Path
    ) -> tuple[File, dict[int, int]]:
        now = file.items
        # What a row says that has no section yet was written by this program in a call that did not come to its end.
        waiting = {row: item for row, item in rows.items() if row not in places}
        saved_at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        refused: set[int] = set()
        for place in new:
            written = next((row for row, item in waiting.items() if item == now[place]), None)
            row = written if written is not None else kind.insert_row(now[place], saved_at)
            if isinstance(row, str):
                refused.add(place)
                self.left_out.append(f"{kind.name}, item {place + 1}: {row}")
            elif row in places:
                refused.add(place)
            else:
                places[row] = place
                waiting.pop(row, None)
                self.done["added"] += written is None
        if not refused:
            return file, places
        kept = [place for place in range(len(now)) if place not in refused]
        at = {place: number for number, place in enumerate(kept)}
        return file.without(refused), {row: at[place] for row, place in places.items()}

    # What was last read or written

    def _open_state(self) -> None:
        path = self.folder / STATE
        asked = self.access.call.scope
        scope = [asked.persona, asked.conversation, asked.participant, asked.server]
        text = mirrored_file.read_file(path)
        try:
            state = json.loads(text) if text else {}
        except ValueError:
            state = {}
        whose = state.get("scope") if isinstance(state, dict) else None
        if whose is not None and whose != scope:
            raise TransferError(
                f"{str(self.folder)!r} holds the files of another scope. Give each scope a folder of its own.",
                path=str(self.folder),
            )
        files_then = state.get("files") if isinstance(state, dict) else None
        self.state = {"scope": scope, "files": files_then if isinstance(files_then, dict) else {}}

    def _read_before(self, kind: _Kind) -> dict[int, Item]:
        """Return the rows the file was last written from, what they said as digests."""
        try:
            return {int(row): Item(*parts) for row, parts in self.state["files"].get(kind.name, [])}
        except (TypeError, ValueError, AttributeError):
            return {}

    def _remember(self, kind: _Kind, rows: Mapping[int, Item]) -> None:
        shown = [
            [row, [h.title, h.time, h.text]] for row, h in ((row, _hide_texts(item)) for row, item in rows.items())
        ]
        if self.state["files"].get(kind.name) == shown:
            return
        self.state["files"][kind.name] = shown
        path = self.folder / STATE
        mirrored_file.replace_file(path, json.dumps(self.state) + "\n", seen=mirrored_file.read_file(path))


def _open_mirror(folder: str | Path | None, call: Call) -> _Mirror:
    """Return what a call works with."""
    access = _Access(call)
    given = call.settings.memory_folder_name if folder is None else folder
    shown = str(given) if isinstance(given, (str, Path)) else ""
    if not shown.strip() or "\0" in shown or shown != clean(shown):
        what = f"of type {type(given).__name__}" if not shown else repr(shown[:60])
        raise MessageError(f"folder is {what}. It must be the path of a folder.", fields=("folder",))
    return _Mirror(access, Path(shown))


# Forgetting


class Rewritten(NamedTuple):
    """What became of the files of a folder when something was forgotten."""

    written: tuple[str, ...] = ()
    """Paths."""
    left: tuple[str, ...] = ()
    """Paths of files that may still hold it, each with why."""


def find_owner(folder: Path) -> Scope | None:
    """Return whose rows the files of a folder hold, None where that is not known."""
    try:
        return Scope(*json.loads(mirrored_file.read_file(folder / STATE) or "null")["scope"])
    except (CoreError, ValueError, TypeError, KeyError):
        return None


def find_folders(db: Database, settings: Settings) -> list[Path]:
    """Return the folders with files that this process knows of: those it has written, and that of the settings."""
    known = dict.fromkeys([*db.caches.get(_FOLDERS, {}), str(Path(settings.memory_folder_name).absolute())])
    return [Path(each) for each in known if Path(each).is_dir()]


def rewrite_folder(
    folder: Path,
    db: Database,
    settings: Settings,
    persona: str,
    people: Collection[str],
    conversations: Collection[str],
) -> Rewritten:
    """Write the files of a folder anew after something was forgotten; nothing is raised, what stays is told."""
    there = [folder / kind.name for kind in (_RecentFile, _SavedFile) if (folder / kind.name).exists()]
    if not there:
        return Rewritten()
    whose = find_owner(folder)
    if whose is None:
        return Rewritten(left=tuple(f"{path}: it is not known whose rows it holds" for path in there))
    if whose.persona != persona:
        return Rewritten()
    mirror = _Mirror(_Access(Call(db, settings, whose)), folder)
    try:
        if whose.participant in people or whose.conversation in conversations:
            mirror.clear()
        else:
            mirror.run(write=True)
    except CoreError as error:
        return Rewritten(left=tuple(f"{path}: {type(error).__name__}" for path in there))
    return Rewritten(tuple(str(folder / name) for name in dict.fromkeys(mirror.written)))


def _hide_texts(item: Item) -> Item:
    """Return an item with digests in place of its texts, so that the file of states holds nothing that was said."""
    return replace(item, title=_digest(item.title), time=item.time, text=_digest(item.text))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:24] if text else ""
