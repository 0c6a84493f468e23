"""Imports character cards (PNG, CHARX or JSON, every version): the persona's text, and the card's lorebook entries."""

import base64
import binascii
import json
import re
import struct
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, Unpack

from ..calls.call import CallOptions, open_call
from ..errors import TransferError
from ..personas import fill_names, get_persona_text, set_persona_text
from .fields import text_at
from .files import UNREADABLE
from .items import ItemImport, import_items
from .items.formats import find_book

MOST_BYTES = 20 * 1024**2
_PNG = b"\x89PNG\r\n\x1a\n"
_PNG_BYTES = 200 * 1024**2
_KEYWORDS = (b"ccv3", b"chara")
"""Keywords of the PNG text chunks that can hold a card: version 3, which is preferred, and version 2."""
_FIELDS = {
    "name": ("nickname", "name", "char_name"),
    "system": ("system_prompt",),
    "description": ("description", "char_persona"),
    "personality": ("personality",),
    "scenario": ("scenario", "world_scenario"),
    "example": ("mes_example", "example_dialogue"),
    "greeting": ("first_mes", "char_greeting"),
}
_TITLES = {"personality": "Personality", "scenario": "Scenario", "example": "Example dialogue",
           "greeting": "First message"}  # fmt: skip
_LEFT_OUT = {"post_history_instructions": "post-history instructions", "alternate_greetings": "alternate greetings"}
"""Card fields with text for the model that are not imported, with their names in notes."""


@dataclass(frozen=True, slots=True)
class Card:
    name: str
    text: str
    """Text of the persona: description, personality, scenario, example dialogue and first message."""
    book: Mapping[str, Any] | None = None
    left_out: tuple[str, ...] = ()
    """Names of the card's fields with text for the model that are not imported."""


@dataclass(frozen=True, slots=True)
class CardImport:
    """The result of importing a card."""

    name: str
    characters: int
    file: str = ""
    """Path of the file with the persona's text; blank in a dry run."""
    items: ItemImport = field(default_factory=ItemImport)
    notes: tuple[str, ...] = ()
    dry_run: bool = False


def import_card(path: str | PathLike[str], *, dry_run: bool = False, **options: Unpack[CallOptions]) -> CardImport:
    """Make a character card's text the text of the scope's persona, and store its lorebook entries as memories.

    Args:
        path: a PNG whose text chunks hold the card, a CHARX archive, or the card as JSON.
        dry_run: return the same result and store nothing.
        options: `db`, `settings`, `scope`; without them those of the process. The scope names the persona.

    Returns:
        The character's name, the file of the persona's text, the result of importing the book, and notes, such as parts
        of the card that are not imported. Importing the same card again changes nothing.

    Raises:
        TransferError: the file holds no card, or the persona already has another text.

    >>> import json, pathlib, tempfile
    >>> from prompt_engine import Scope, open_database
    >>> from prompt_engine.transfer.cards import import_card
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> card = {"name": "Mira", "description": "{{char}} keeps bees.", "first_mes": "Hello, {{user}}."}
    >>> _ = (folder / "mira.json").write_text(json.dumps(card))
    >>> settings, db = {"PERSONA_FOLDER": str(folder)}, open_database("sqlite://")
    >>> done = import_card(folder / "mira.json", settings=settings, scope=Scope("mira"), db=db)
    >>> done.name, (folder / "mira.md").read_text().splitlines()[0]
    ('Mira', 'Mira keeps bees.')
    """
    card = read_card(Path(path))
    if card is None:
        raise TransferError(f"{str(path)!r} holds no character card. Name a card as PNG, CHARX or JSON.")
    call = open_call(**options)
    own: CallOptions = {"db": call.db, "settings": call.settings, "scope": call.scope}
    notes = (f"Not taken from the card: {', '.join(card.left_out)}",) if card.left_out else ()
    text = get_persona_text(settings=call.settings, scope=call.scope)
    if text not in ("", card.text):
        raise TransferError(
            f"The persona {call.persona!r} has another text already. Move its file in PERSONA_FOLDER away, or import "
            "the card for another persona (--persona-id)."
        )
    items = ItemImport("character_book")
    if card.book is not None:
        book = json.dumps({"data": {"name": card.name, "character_book": card.book}}).encode()
        items = import_items(book, dry_run=dry_run, max_bytes=2 * MOST_BYTES, **own)
    file = "" if dry_run else str(set_persona_text(card.text, settings=call.settings, scope=call.scope))
    return CardImport(card.name, len(card.text), file, items, notes, dry_run)


def read_card(path: Path) -> Card | None:
    try:
        if not path.is_file():
            return None
        with path.open("rb") as stream:
            begins = stream.read(len(_PNG))
            if begins == _PNG:
                return _read_png(stream.read(_PNG_BYTES + 1))
            if zipfile.is_zipfile(stream):
                return _read_charx(stream)
            if begins.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] not in (b"{", b""):
                return None
            stream.seek(0)
            return _read_json(stream.read(MOST_BYTES + 1))
    except OSError as error:
        raise TransferError(f"{str(path)!r} cannot be read: {error.strerror}.") from None


def _read_png(content: bytes) -> Card:
    """Read the card in a PNG picture; of several versions, the newest readable version."""
    if len(content) > _PNG_BYTES:
        raise TransferError(f"The picture has more than {_PNG_BYTES:,} bytes, which no card has.")
    texts = dict(_text_chunks(content))
    if not texts:
        raise TransferError(
            "The picture holds no character card. Programs that shrink or edit pictures remove it; "
            "download the original."
        )
    for keyword in filter(texts.__contains__, _KEYWORDS):
        with suppress(binascii.Error):
            if (card := _read_json(base64.b64decode(texts[keyword], validate=False))) is not None:
                return card
    raise TransferError("The card in the picture is damaged. Download it again from where it comes from.")


def _text_chunks(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = 0
    while at + 8 <= len(content):
        size, kind = struct.unpack(">I4s", content[at : at + 8])
        if kind == b"tEXt":
            keyword, _, text = content[at + 8 : at + 8 + size].partition(b"\x00")
            if keyword.lower() in _KEYWORDS:
                yield keyword.lower(), text
        at += 12 + size


def _read_charx(stream: BinaryIO) -> Card | None:
    try:
        with zipfile.ZipFile(stream) as archive, archive.open("card.json") as packed:
            return _read_json(packed.read(MOST_BYTES + 1))
    except (KeyError, ValueError, *UNREADABLE):
        return None


def _read_json(content: bytes) -> Card | None:
    try:
        value = json.loads(content.decode("utf-8-sig")) if len(content) <= MOST_BYTES else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    data = value["data"] if isinstance(value.get("data"), dict) else value
    has_fields = all(any(name in data for name in _FIELDS[part]) for part in ("name", "greeting"))
    return _build_card(data) if has_fields or str(value.get("spec", "")).startswith("chara_card") else None


def _build_card(data: Mapping[str, Any]) -> Card:
    parts = {part: text_at(data, *names).strip() for part, names in _FIELDS.items()}
    name = parts.pop("name") or "the character"
    parts["system"] = parts["system"].replace("{{original}}", "").strip()
    parts["example"] = "\n\n".join(map(str.strip, re.split("(?i)<START>", parts["example"]))).strip()
    texts = [f"{_TITLES[part]}:\n{text}" if part in _TITLES else text for part, text in parts.items() if text]
    text = re.sub(r"<(BOT|CHAR)>", "{{char}}", "\n\n".join(texts), flags=re.IGNORECASE)
    text = re.sub(r"<USER>", "{{user}}", text, flags=re.IGNORECASE)
    text = re.sub(r"\A\ufeff|\r(?=\n)", "", text).replace("\r", "\n")  # as a file of the persona gives it back
    book = find_book(data) if "character_book" in data else None
    left_out = tuple(called for field, called in _LEFT_OUT.items() if data.get(field))
    return Card(name, fill_names(text, name, "{{user}}"), book, left_out)
