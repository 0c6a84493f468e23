"""`prompt-engine demo`: ten months of talk in a flat, and the prompt for a question about something said long ago."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import StoreError
from ..scope import Scope
from . import output
from .run import Run

if TYPE_CHECKING:
    from ..database.engine import Database

FILE = "prompt-engine-demo.sqlite3"
INTERFACE, KITCHEN, PERSONA = "demo", "demo/kitchen", "Iris"
_SAMPLE = Path(__file__).resolve().parent / "sample"
_PERSONA_ID = "demo"
_MARK = 0x50454431
"""SQLite's application_id of a database that the demo made. Nothing else is ever removed."""


def demo(run: Run) -> None:
    """Import a sample conversation and print a prompt.

    The prompt goes to standard output as JSON, what was done to standard error. The database is a file in this folder,
    made anew each time.
    """
    from ..prompt_engine import explain_json_prompt

    sample = _read_sample()
    file = Path.cwd() / FILE
    db = _open_new(file, sample["today"])
    run.use(db)
    stored = _store_sample(db, sample)
    prompt, report = explain_json_prompt(_build_message(sample), max_chars=12_000, db=db, scope=Scope(_PERSONA_ID))
    output.print_json(prompt)
    _print_account(file, stored, sample, prompt, report)


def _read_sample() -> dict[str, Any]:
    import yaml

    loaded = yaml.safe_load((_SAMPLE / "sample.yaml").read_text(encoding="utf-8"))
    assert isinstance(loaded, dict)
    return loaded


def _open_new(file: Path, today: datetime) -> Database:
    """Return the demo's database, made anew, with a clock that stands at the sample's day.

    Raises:
        StoreError: the folder cannot be written, or the file there is not the demo's own.
    """
    import sqlite3

    from .. import db as door

    if file.exists():
        _remove_own(file)
    db = door.open_database(f"sqlite:///{file}", clock=lambda: today)
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(f"PRAGMA application_id = {_MARK}")
    return db


def _remove_own(file: Path) -> None:
    """Remove a database that an earlier demo made and that holds no other persona's rows; refuse any other file."""
    import sqlite3

    try:
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as connection:
            marked = connection.execute("PRAGMA application_id").fetchone()[0] == _MARK
            others = connection.execute(_OTHERS, {"own": _PERSONA_ID}).fetchone() if marked else None
    except sqlite3.Error:
        marked, others = False, None
    if not marked or others:
        why = "holds memories that are not the demo's" if marked else "was not made by this demo"
        raise StoreError(f"{str(file)!r} {why}. Move it away, or run the demo in another folder.", source=FILE)
    for ending in ("", "-wal", "-shm", "-journal"):
        file.with_name(file.name + ending).unlink(missing_ok=True)


_OTHERS = """
SELECT 1 FROM chat_history_cache WHERE persona_id <> :own UNION ALL
SELECT 1 FROM memories WHERE persona_id <> :own UNION ALL SELECT 1 FROM ai_diary WHERE persona_id <> :own LIMIT 1
"""


def _store_sample(db: Database, sample: Mapping[str, Any]) -> dict[str, int]:
    """Store the sample and return how much of what there is."""
    from .. import ai_diary, synth_tagging
    from .. import db as door
    from ..transfer.imports import import_file

    scope = Scope(_PERSONA_ID)
    messages = 0
    with output.bar() as bar:
        for name in ("kitchen", "mara", "jonas"):
            imported = import_file(
                _SAMPLE / f"{name}.jsonl",
                interface=INTERFACE,
                persona=PERSONA,
                private=name != "kitchen",
                progress=bar,
                db=db,
                scope=scope,
            )
            messages += imported.imported
    for memory in sample["memories"]:
        door.insert_memory(
            memory["text"],
            PERSONA,
            "demo",
            memory["tags"],
            scope,
            timestamp=memory["time"],
            label=memory["label"],
            db=db,
        )
    for entry in sample["diary"]:
        ai_diary.add_diary_entry(
            entry["content"],
            personal_thought=entry["thought"],
            interaction_summary=entry.get("summary"),
            context_tags=entry["tags"],
            involved_users=entry["people"],
            timestamp=entry["time"],
            db=db,
            scope=scope,
        )
    for alias, tag in sample["aliases"].items():
        synth_tagging.add_alias(alias, tag, db=db, scope=scope)
    for tag, other, weight in sample["links"]:
        synth_tagging.link_tags(tag, other, weight, db=db, scope=scope)
    return {"messages": messages, "memories": len(sample["memories"]), "diary entries": len(sample["diary"])}


def _build_message(sample: Mapping[str, Any]) -> dict[str, Any]:
    said = sample["message"]
    return {
        "message_id": "demo-1",
        "date": sample["today"],
        "text": said["text"],
        "interface_path": KITCHEN,
        "from_user": {"id": said["speaker"], "full_name": said["speaker"], "username": said["speaker"].lower()},
        "chat": {"id": "kitchen", "type": "group"},
    }


def _print_account(
    file: Path,
    stored: Mapping[str, int],
    sample: Mapping[str, Any],
    prompt: Mapping[str, Any],
    report: Mapping[str, Any],
) -> None:
    what = ", ".join(f"{count} {name}" for name, count in stored.items())
    context = prompt["context"]
    oldest = min((hit["timestamp"] for hit in context["memories"] if hit["timestamp"]), default="")[:10]
    lines = len(context["history_current_chat"])
    if sys.stdout.isatty():
        output.note("")
    for line in (
        f"Above is the prompt for a message of {sample['message']['speaker']} in a flat's chat on 10 March 2026.",
        f"Stored before: {what}, in {file.name} (SQLite, in this folder).",
        f"In the prompt: {len(context['memories'])} memories, the oldest of {oldest}, and {lines} lines of the chat.",
        f"It takes {report['size']} characters, at most {report['limit']} were allowed.",
        "Not in it: what Mara and Jonas told Iris in private.",
        "Try next:",
        f"  export DATABASE_URL=sqlite:///{file.name} PERSONA_ID={_PERSONA_ID}",
        f"  {_program_name()} explain 'Who repairs the oven?' --conversation {KITCHEN}",
        f"  {_program_name()} search 'spare key'",
        f"  {_program_name()} import YOUR-CHAT.jsonl --dry-run",
    ):
        output.note(line)


def _program_name() -> str:
    """Return how to call this command here: by its name where the shell finds it, else by its path."""
    called = Path(sys.argv[0])
    if shutil.which("prompt-engine") or called.name != "prompt-engine":
        return "prompt-engine"
    return os.path.relpath(called)
