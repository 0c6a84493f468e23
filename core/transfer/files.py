"""The files of an export. An export is one file, a folder, or a zip archive. Nothing is unpacked to disk."""

import io
import re
import stat
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, TextIO

from ..errors import TransferError
from .shapes import Fault

MAX_BYTES = 2 * 1024**3
MAX_MEMBERS = 50_000
BOMB_RATIO = 200
BOMB_FREE_BYTES = 64 * 1024**2
"""Largest size of a file whose compression ratio is not checked. Chats compress by 3 to 20, never by BOMB_RATIO."""
_SAYS_UTF8 = 0x800
_ENDINGS = (".json", ".jsonl", ".txt", ".csv", ".af")
_ARCHIVES = (".zip", ".7z", ".rar", ".tar", ".gz", ".tgz", ".bz2", ".xz")
_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError)


@dataclass(frozen=True, slots=True)
class Member:
    name: str
    size: int
    open: Callable[[], Any]
    changed: datetime
    export: str = ""

    @property
    def stem(self) -> str:
        return PurePosixPath(self.name).stem

    @property
    def folder(self) -> str:
        return PurePosixPath(self.name).parent.name

    @contextmanager
    def guarded(self, faults: list[Fault]) -> Iterator[TextIO]:
        """Yield the file as text, with invalid UTF-8 replaced; add an error of opening or reading to `faults`."""
        with ExitStack() as stack:
            text: io.StringIO | io.TextIOWrapper = io.StringIO()
            try:
                raw = stack.enter_context(self.open())
                buffered = raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(raw, 1 << 16)
                encoding = next((name for mark, name in _MARKS if buffered.peek(4).startswith(mark)), "utf-8")
                text = io.TextIOWrapper(buffered, encoding=encoding, errors="replace", newline="")
            except UNREADABLE as error:
                faults.append(Fault(self.name, f"the file cannot be read: {_why(error)}"))
            try:
                yield text
            except UNREADABLE as error:
                faults.append(Fault(self.name, f"the file cannot be read to its end: {_why(error)}"))


def _why(error: Exception) -> str:
    if isinstance(error, RuntimeError) and "password" in str(error).lower():
        return "it is locked with a password"
    if isinstance(error, NotImplementedError):
        return "it is packed in a way that is not known"
    return "it is damaged"


def check_bytes(most: int) -> int:
    if most < 1:
        raise ValueError(f"max_bytes is {most}. It must be a whole number of at least 1.")
    return most


class Export:
    def __init__(self, path: Path, max_bytes: int = MAX_BYTES) -> None:
        check_bytes(max_bytes)
        self._name = path.absolute().stem
        self.faults: list[Fault] = []
        self.members: list[Member] = []
        self.is_zip: bool = False
        try:
            if path.is_dir():
                self._add_folder(path)
            elif not path.is_file():
                what = "does not exist" if not path.exists() else "is not a regular file"
                raise TransferError(f"{str(path)!r} {what}. Name the export: a file, a folder or a zip archive.")
            elif zipfile.is_zipfile(path) or path.suffix.lower() == ".zip":
                self.is_zip = True
                self._add_zip(path)
            else:
                self._add_file(path, path.name)
        except OSError as error:
            raise TransferError(f"{str(path)!r} cannot be read: {error.strerror}.") from None
        if sum(member.size for member in self.members) > max_bytes:
            raise TransferError(f"{str(path)!r} is larger than {max_bytes} bytes. Import its files one by one.")
        self.members.sort(key=lambda member: member.name)

    def _add_file(self, path: Path, name: str) -> None:
        facts = path.stat()
        changed = datetime.fromtimestamp(facts.st_mtime, UTC)
        self.members.append(Member(name, facts.st_size, lambda: path.open("rb"), changed, self._name))

    def _add_folder(self, folder: Path) -> None:
        paths = list(islice(folder.rglob("*"), MAX_MEMBERS + 1))
        if len(paths) > MAX_MEMBERS:
            what = f"{str(folder)!r} holds more than {MAX_MEMBERS:,} files. Name the folder of the export."
            raise TransferError(what)
        for path in sorted(paths):
            name = unicodedata.normalize("NFC", path.relative_to(folder).as_posix())
            if path.is_file() and not path.is_symlink() and _may_hold(name):
                self._add_file(path, name)

    def _add_zip(self, path: Path) -> None:
        try:
            # kept open for its members: opening it for each member would read the list of all entries each time
            archive = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, NotImplementedError, ValueError):
            raise TransferError(f"{str(path)!r} is a broken or cut off zip archive. Copy it again.") from None
        entries = archive.infolist()
        if len(entries) > MAX_MEMBERS:
            what = f"{str(path)!r} holds {len(entries):,} files; at most {MAX_MEMBERS:,} are read. Import it in parts."
            raise TransferError(what)
        for entry in entries:
            name = _name(entry)
            if entry.is_dir() or not entry.file_size or _is_litter(name):
                continue
            if refused := _refusal(entry, name):
                self.faults.append(Fault(name[:200], refused))
            elif _may_hold(name):
                opened = partial(archive.open, entry)
                self.members.append(Member(name, entry.file_size, opened, _changed(entry), self._name))


def _name(entry: zipfile.ZipInfo) -> str:
    """Normalise the path of an archive entry: with slashes, in composed Unicode (NFC)."""
    name = entry.filename
    if not entry.flag_bits & _SAYS_UTF8:
        with suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    return unicodedata.normalize("NFC", name.replace("\\", "/"))


def _refusal(entry: zipfile.ZipInfo, name: str) -> str:
    is_out = name.startswith("/") or ".." in name.split("/") or name[1:2] == ":" or "\x00" in name
    if is_out or stat.S_ISLNK(entry.external_attr >> 16):
        return "its path leads out of the archive"
    if name.lower().endswith(_ARCHIVES):
        return "an archive inside an archive; unpack it and import it by itself"
    if entry.file_size > BOMB_FREE_BYTES and entry.file_size > BOMB_RATIO * max(entry.compress_size, 1):
        return f"it unpacks to over {BOMB_RATIO} times its size, which no conversation does"
    return ""


def _changed(entry: zipfile.ZipInfo) -> datetime:
    try:
        return datetime(*entry.date_time, tzinfo=UTC)
    except ValueError:
        return datetime(1980, 1, 1, tzinfo=UTC)


def _may_hold(name: str) -> bool:
    return name.lower().endswith(_ENDINGS) and not _is_litter(name)


def _is_litter(name: str) -> bool:
    """Return whether an operating system created the file `name`, such as `.DS_Store`."""
    parts = name.replace("\\", "/").split("/")
    return "__MACOSX" in parts or parts[-1].startswith("._")


# Files that cannot be imported

_LOOKED_AT = 4096
_KEYS = 8

WHAT_TO_DO = (
    "Import takes exports of the programs that docs/import.md lists, JSON lines of {conversation, timestamp, "
    "speaker, text}, CSV files with the columns speaker, text and timestamp, and {items: [...]}; another file needs to "
    "be rewritten as one of these."
)


def describe_file(path: Path) -> str:
    """Describe a file for error messages: its format and field names, never its texts."""
    if path.is_dir():
        return "it is a folder without a chat"
    try:
        with path.open("rb") as stream:
            head = stream.read(_LOOKED_AT)
    except OSError:
        return "it cannot be read"
    text = head.decode("utf-8-sig", errors="replace").lstrip()
    if not text:
        return "it is empty"
    if head.startswith(b"\x1f\x8b"):
        return "it is packed with gzip; unpack it first"
    if text.startswith(("{", "[")):
        keys = ", ".join(dict.fromkeys(re.findall(r'"([A-Za-z_][\w .-]{0,39})"\s*:', text)[:_KEYS]))
        return f"it is JSON with the keys {keys}" if keys else "it is JSON without names"
    if re.match(r"<(?:!doctype|html)", text, re.IGNORECASE):
        return "it is a page of HTML; export as JSON or text instead"
    if "\x00" in text or text.count("\ufffd") > len(text) // 10:
        return "it is no text"
    if path.suffix.lower() in (".csv", ".tsv"):
        return "it is a table without the columns speaker, text and timestamp in its first line, parted by commas"
    return "it is a text that is neither JSON nor a chat of WhatsApp"
