"""The two Markdown files that mirror recent conversations and saved memories for people.

The database is the truth. What a person changed since the file was last read or written is taken over first, then the
file is written anew from the rows, everything else of it kept. Beside the files stands `.memory.json`: whose they are,
and of every row a digest of what its section or bullet says, which is how a removed one is told from one that was never
there. Called by `conversations`.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from ..base import mirrored_file
from ..calls.defaults import handle, scope_for, settings_for
from ..config import Settings
from ..database.engine import Database
from ..errors import CoreError, MessageError, TransferError
from ..scope import Scope
from ..text.folding import clean
from . import rules_markdown as files
from .memory_file_kinds import Access, Kind, RecentFile, SavedFile
from .rules_markdown import File, Item

STATE = ".memory.json"
_FOLDERS = "memory_files"
"""Name of the cache of folders this process has written."""
ROUNDS = 20
"""How often a file is read again because somebody saved it in between."""

Given = Settings | Mapping[str, object] | None


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
    settings: Given = None,
    scope: Scope | None = None,
) -> MarkdownResult:
    """Write the two files of what the scope sees; what a person changed in them since is taken over first.

    Args:
        folder: made where it is missing; None is MEMORY_FOLDER_NAME. One folder belongs to one scope.

    Raises:
        TransferError: a file is no UTF-8, over 10 MB or cannot be written, or the folder is another scope's.
        StoreReadError: the rows cannot be read; no file is changed.
    """
    return _Mirror.of(folder, db, settings, scope).run(write=True)


def import_markdown(
    folder: str | Path | None = None,
    *,
    db: Database | None = None,
    settings: Given = None,
    scope: Scope | None = None,
) -> MarkdownResult:
    """Take over what a person changed in the two files since they were last read or written.

    A changed title or summary changes its row, the former text kept; a removed section or bullet archives its row; a
    new one adds a row. Without a file or folder nothing changes.

    Raises:
        TransferError: a file is no UTF-8 or over 10 MB, or the folder is another scope's.
        StoreWriteError: a change could not be stored; those before it are.
    """
    return _Mirror.of(folder, db, settings, scope).run(write=False)


@dataclass(slots=True)
class _Mirror:
    access: Access
    folder: Path
    state: dict[str, Any] = field(default_factory=dict)
    done: dict[str, int] = field(default_factory=lambda: {"added": 0, "changed": 0, "archived": 0})
    left_out: list[str] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: str | Path | None, db: Database | None, settings: Given, scope: Scope | None) -> _Mirror:
        """Return what a call works with."""
        known_db = handle(db)
        known = settings_for(settings, known_db)
        whose = scope_for(scope, known)
        place = _folder(known.memory_folder_name if folder is None else folder)
        return cls(Access(known_db, known, whose), place)

    def run(self, *, write: bool) -> MarkdownResult:
        """Bring files and rows together."""
        if write or self.folder.is_dir():
            with self._alone(make=write):
                self._open_state()
                for kind in self._kinds():
                    self._sync(kind, write=write)
                if write:
                    self.access.db.caches.setdefault(_FOLDERS, {})[str(self.folder.absolute())] = None
        return MarkdownResult(
            str(self.folder),
            recent=self.counts.get(RecentFile.name, 0),
            saved=self.counts.get(SavedFile.name, 0),
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
            told = f"{str(self.folder)!r} cannot be used as a folder ({type(error).__name__})."
            raise TransferError(told, path=str(self.folder)) from error

    def _kinds(self) -> list[Kind]:
        """Return the files that are switched on."""
        s = self.access.settings
        made: list[Kind] = [RecentFile(self.access)] if s.enable_recent_conversations else []
        return [*made, SavedFile(self.access)] if s.enable_saved_memory else made

    def clear(self) -> None:
        """Take every row out of the files, and forget whose they were."""
        with self._alone(make=False):
            for kind in (RecentFile(self.access), SavedFile(self.access)):
                path = self.folder / kind.name
                for _ in range(ROUNDS):
                    text = mirrored_file.read_file(path)
                    if text is None or mirrored_file.replace_file(path, kind.write(kind.read(text), []), seen=text):
                        self.written += [] if text is None else [kind.name]
                        break
            (self.folder / STATE).unlink(missing_ok=True)

    # One file

    def _sync(self, kind: Kind, *, write: bool) -> None:
        path = self.folder / kind.name
        for _ in range(ROUNDS):
            text = mirrored_file.read_file(path)
            if text is None and not write:
                return
            file, places = self._take_over(kind, path, text)
            rows = kind.rows()
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

    def _take_over(self, kind: Kind, path: Path, text: str | None) -> tuple[File, dict[int, int]]:
        """Store what a person changed; return the file and the place of each row in it."""
        file = kind.read(text or "")
        before = self._before(kind)
        if text is None:
            return file, {}
        now = file.items
        told = files.compare(before, [_hidden(item) for item in now])
        places = dict(told.places)
        rows = kind.rows()
        for row in told.changed:
            if row in rows:
                self.done["changed"] += kind.change(row, now[places[row]])
        for row in told.gone:
            if row in rows:
                self.done["archived"] += kind.archive(row)
        file, places = self._add_new(kind, file, told.new, places, rows, path)
        return file, places

    def _add_new(
        self, kind: Kind, file: File, new: Sequence[int], places: dict[int, int], rows: Mapping[int, Item], path: Path
    ) -> tuple[File, dict[int, int]]:
        now = file.items
        # What a row says that has no section yet was written by this program in a call that did not come to its end.
        waiting = {row: item for row, item in rows.items() if row not in places}
        saved_at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        refused: set[int] = set()
        for place in new:
            known = next((row for row, item in waiting.items() if item == now[place]), None)
            row = known if known is not None else kind.add(now[place], saved_at)
            if isinstance(row, str):
                refused.add(place)
                self.left_out.append(f"{kind.name}, item {place + 1}: {row}")
            elif row in places:
                refused.add(place)
            else:
                places[row] = place
                waiting.pop(row, None)
                self.done["added"] += known is None
        if not refused:
            return file, places
        kept = [place for place in range(len(now)) if place not in refused]
        at = {place: number for number, place in enumerate(kept)}
        return file.without(refused), {row: at[place] for row, place in places.items()}

    # What was last read or written

    def _open_state(self) -> None:
        path = self.folder / STATE
        asked = self.access.scope
        scope = [asked.persona, asked.conversation, asked.participant, asked.server]
        told = mirrored_file.read_file(path)
        try:
            kept = json.loads(told) if told else {}
        except ValueError:
            kept = {}
        whose = kept.get("scope") if isinstance(kept, dict) else None
        if whose is not None and whose != scope:
            raise TransferError(
                f"{str(self.folder)!r} holds the files of another scope. Give each scope a folder of its own.",
                path=str(self.folder),
            )
        files_then = kept.get("files") if isinstance(kept, dict) else None
        self.state = {"scope": scope, "files": files_then if isinstance(files_then, dict) else {}}

    def _before(self, kind: Kind) -> dict[int, Item]:
        """Return the rows the file was last written from, what they said as digests."""
        try:
            return {int(row): Item(*parts) for row, parts in self.state["files"].get(kind.name, [])}
        except (TypeError, ValueError, AttributeError):
            return {}

    def _remember(self, kind: Kind, rows: Mapping[int, Item]) -> None:
        shown = [[row, [h.title, h.time, h.text]] for row, h in ((row, _hidden(item)) for row, item in rows.items())]
        if self.state["files"].get(kind.name) == shown:
            return
        self.state["files"][kind.name] = shown
        path = self.folder / STATE
        mirrored_file.replace_file(path, json.dumps(self.state) + "\n", seen=mirrored_file.read_file(path))


# Forgetting


class Rewritten(NamedTuple):
    """What became of the files of a folder when something was forgotten."""

    written: tuple[str, ...] = ()
    """Paths."""
    left: tuple[str, ...] = ()
    """Paths of files that may still hold it, each with why."""


def folders(db: Database, settings: Settings) -> list[Path]:
    """Return the folders with files that this process knows of: those it has written, and that of the settings."""
    known = dict.fromkeys([*db.caches.get(_FOLDERS, {}), str(Path(settings.memory_folder_name).absolute())])
    return [Path(each) for each in known if Path(each).is_dir()]


def rewrite(
    folder: Path,
    db: Database,
    settings: Settings,
    persona: str,
    people: Collection[str],
    conversations: Collection[str],
) -> Rewritten:
    """Write the files of a folder anew after something was forgotten; nothing is raised, what stays is told.

    The files of somebody who was forgotten, or of a conversation that was, lose all their rows: nothing in them is
    taken over, and whose they were is forgotten too.
    """
    there = [folder / kind.name for kind in (RecentFile, SavedFile) if (folder / kind.name).exists()]
    if not there:
        return Rewritten()
    try:
        told = json.loads(mirrored_file.read_file(folder / STATE) or "null")
        whose = Scope(*told["scope"])
    except (CoreError, ValueError, TypeError, KeyError):
        return Rewritten(left=tuple(f"{path}: it is not known whose rows it holds" for path in there))
    if whose.persona != persona:
        return Rewritten()
    made = _Mirror(Access(db, settings, whose), folder)
    try:
        if whose.participant in people or whose.conversation in conversations:
            made.clear()
        else:
            made.run(write=True)
    except CoreError as error:
        return Rewritten(left=tuple(f"{path}: {type(error).__name__}" for path in there))
    return Rewritten(tuple(str(folder / name) for name in dict.fromkeys(made.written)))


def _folder(given: object) -> Path:
    """Return the folder that is meant.

    Raises:
        MessageError: it is no text or path, or one that cannot be a name.
    """
    shown = str(given) if isinstance(given, (str, Path)) else ""
    if not shown.strip() or "\0" in shown or shown != clean(shown):
        told = f"of type {type(given).__name__}" if not shown else repr(shown[:60])
        raise MessageError(f"folder is {told}. It must be the path of a folder.", fields=("folder",))
    return Path(shown)


def _hidden(item: Item) -> Item:
    """Return an item with digests in place of its texts, so that the file of states holds nothing that was said."""
    return replace(item, title=_digest(item.title), time=item.time, text=_digest(item.text))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:24] if text else ""
