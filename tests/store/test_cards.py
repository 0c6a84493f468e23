"""Character cards become the persona's text, their book memories (issue 30, item 6)."""

import base64
import json
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pytest

from core import cli, prompt_engine, synth_core_memory
from core.config import Settings
from core.database.engine import Database
from core.errors import TransferError
from core.personas import get_persona_text
from core.scope import Scope
from core.transfer.cards import import_card
from tests.store.world import own_scope

V1 = {
    "name": "Mira", "description": "{{char}} keeps bees.", "personality": "calm", "scenario": "<USER> visits <BOT>.",
    "first_mes": "Hello, {{user}}.", "mes_example": "<START>\r\n{{user}}: Honey?\r\n{{char}}: Take some.",
}  # fmt: skip
BOOK = {"name": "Lore", "entries": [
    {"keys": ["hive", "bees"], "content": "The old hive stands under the linden tree.", "enabled": True},
    {"keys": [], "content": ""},
]}  # fmt: skip
V2 = {"spec": "chara_card_v2", "spec_version": "2.0", "data": {**V1, "character_book": BOOK, "tags": ["village"]}}
V3 = {"spec": "chara_card_v3", "spec_version": "3.0", "data": {**V1, "nickname": "Mi", "character_book": BOOK}}
TEXT = """Mira keeps bees.

Personality:
calm

Scenario:
{{user}} visits Mira.

Example dialogue:
{{user}}: Honey?
Mira: Take some.

First message:
Hello, {{user}}."""


def png(*chunks: tuple[bytes, bytes]) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    pixel = chunk(b"IDAT", zlib.compress(b"\x00\x00"))
    return b"\x89PNG\r\n\x1a\n" + head + pixel + b"".join(chunk(*each) for each in chunks) + chunk(b"IEND", b"")


def told(card: Any) -> bytes:
    return base64.b64encode(json.dumps(card).encode())


def write(path: Path, form: str) -> Path:
    if form == "json":
        path.write_text(json.dumps(V2), encoding="utf-8-sig")
    elif form == "charx":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("assets/icon/main.png", png())
            archive.writestr("card.json", json.dumps(V2))
    else:
        path.write_bytes(png(in_chunk(b"Software", b"x"), in_chunk(b"chara", told(V1 if form == "v1" else V2))))
    return path


def in_chunk(keyword: bytes, text: bytes) -> tuple[bytes, bytes]:
    return b"tEXt", keyword + b"\x00" + text


@pytest.mark.parametrize("form", ["v1", "v2", "charx", "json"])
def test_l41_every_form_of_a_card_gives_text_and_lore(db: Database, tmp_path: Path, form: str) -> None:
    scope, settings = own_scope(), Settings(persona_folder=str(tmp_path / "personas"))
    path = write(tmp_path / "card", form)
    own: dict[str, Any] = {"db": db, "settings": settings, "scope": scope}
    looked = import_card(path, dry_run=True, **own)
    assert (looked.name, looked.file) == ("Mira", "") and get_persona_text(settings=settings, scope=scope) == ""
    done = import_card(path, **own)
    assert get_persona_text(settings=settings, scope=scope) == TEXT
    assert done.items.imported == looked.items.imported == (0 if form == "v1" else 1)
    hits = synth_core_memory.search_memories(query="where is the hive?", **own)
    lore = [("The old hive stands under the linden tree.", ["hive", "bees"])]
    assert [(hit["snippet"], hit["tags"]) for hit in hits] == ([] if form == "v1" else lore)
    again = import_card(path, **own)
    assert (again.items.imported, again.items.duplicates) == (0, done.items.imported)


def test_l41_what_is_not_taken_of_a_card_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    card = {**V1, "post_history_instructions": "Stay calm.", "alternate_greetings": []}
    Path("mira.json").write_text(json.dumps({**V2, "data": card}))
    assert cli.main(["import", "mira.json", "--database", "sqlite:///a.db", "--text"]) == 0
    shown = capsys.readouterr()
    assert "Not taken from the card: post-history instructions." in shown.err and "Imported" not in shown.out


@pytest.mark.engines("sqlite")
def test_l41_the_newest_version_in_a_picture_counts(db: Database, tmp_path: Path) -> None:
    path = tmp_path / "card.png"
    older, newer, damaged = in_chunk(b"chara", told(V1)), in_chunk(b"ccv3", told(V3)), in_chunk(b"ccv3", b"broken")
    other_case = in_chunk(b"Ccv3", told(V3))
    given = (((older, newer), "Mi"), ((newer, older), "Mi"), ((other_case,), "Mi"), ((damaged, older), "Mira"))
    for number, (chunks, name) in enumerate(given):
        settings = Settings(persona_folder=str(tmp_path / str(number)))
        path.write_bytes(png(*chunks))
        assert import_card(path, db=db, settings=settings, scope=own_scope()).name == name


def test_l41_a_text_written_by_hand_is_not_lost(db: Database, tmp_path: Path) -> None:
    scope, settings = own_scope(), Settings(persona_folder=str(tmp_path))
    (tmp_path / f"{scope.persona}.md").write_text("Mine.")
    path = write(tmp_path / "card.png", "v2")
    with pytest.raises(TransferError, match="another text already"):
        import_card(path, db=db, settings=settings, scope=scope)
    assert (tmp_path / f"{scope.persona}.md").read_text() == "Mine."
    assert synth_core_memory.search_memories(query="hive", db=db, settings=settings, scope=scope) == []


@pytest.mark.parametrize(("content", "said"), [
    (png(), "no character card"), (png((b"tEXt", b"chara\x00%%%")), "damaged"),
    (png((b"tEXt", b"Comment\x00broken")), "no character card"),
    (b"\x89PNG\r\n\x1a\n\xff\xff\xff\xffIDAT", "no character card"), (b'{"spec": "other"}', "no character card"),
    (b"PK\x03\x04 broken", "no character card"), (b"[" * 100_000, "no character card"),
])  # fmt: skip
def test_l41_what_is_no_card_is_refused(db: Database, tmp_path: Path, content: bytes, said: str) -> None:
    settings, path = Settings(persona_folder=str(tmp_path / "personas")), tmp_path / "card.png"
    path.write_bytes(content)
    with pytest.raises(TransferError, match=said):
        import_card(path, db=db, settings=settings, scope=own_scope())
    assert not (tmp_path / "personas").exists()


@pytest.mark.engines("sqlite")  # the command opens a database of its own
def test_l41_from_a_card_to_a_prompt_in_one_command(
    db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{tmp_path / 'own.db'}")
    assert cli.main(["import", str(write(tmp_path / "card.png", "v2")), "--persona-id", "mira"]) == 0
    assert json.loads(capsys.readouterr().out)["items"]["imported"] == 1
    message = {"message_id": "1", "text": "hi", "interface_path": "web/1", "from_user": {"id": "a", "full_name": "Ann"}}
    made = prompt_engine.build_messages(message, db=db, scope=Scope("mira"))
    assert made[0]["content"].startswith("Mira keeps bees.") and "Ann visits Mira." in made[0]["content"]
