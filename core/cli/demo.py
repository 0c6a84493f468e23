"""`prompt-engine demo`: ten months of sample chat, and a question about something said long ago."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ..base.yaml_text import read_value
from ..scope import Scope
from ..shapes import PERSONA_SENDER
from . import output
from .run import Run, command

if TYPE_CHECKING:
    from ..database.engine import Database
    from ..prompt.messages import Messages

FILE = "prompt-engine-demo.sqlite3"
INTERFACE, KITCHEN, PERSONA = "demo", "demo/kitchen", "Iris"
_SAMPLE = Path(__file__).resolve().parent / "sample"
_LIMIT = 4_000
_MOST_ITEMS = 8
_REASONS = {
    "visible": "in the chat's newest lines already",
    "limit": f"that match less: {_MOST_ITEMS} memories are the limit here (MEMORY_ITEMS)",
    "duplicate": "that say the same as another",
    "cut": "that did not fit into the limit of characters",
}


@command("demo", without={"database", "persona_id"})
def demo(run: Run) -> None:
    """Show the prompt for a question about a sample conversation.

    It prints how many rows it finds, who may see them, and the messages for the model; --json prints the JSON
    prompt instead. The first run stores the sample in a database file in this folder.
    """
    from .. import db as door
    from ..prompt_engine import build_json_prompt

    sample: Any = read_value((_SAMPLE / "sample.yaml").read_text(encoding="utf-8"))
    is_new = not Path(FILE).exists()
    with closing(door.open_database(f"sqlite:///{FILE}", clock=lambda: sample["today"])) as db:
        stored = _store_sample(db, sample) if is_new else "stored by an earlier run"
        message = _build_message(sample)
        if run.asks_json:
            output.print_json(build_json_prompt(message, max_chars=_LIMIT, db=db, scope=Scope(PERSONA)))
            return
        output.say(f"Ten months in the flat of Mara, Jonas and the persona Iris: {stored}, in {FILE}.")
        _tell_story(db, message)
    output.heading("Next")
    output.say(f"  export DATABASE_URL=sqlite:///{FILE} PERSONA_ID={PERSONA}")
    output.say(f"  prompt-engine explain 'Who repairs the oven?' --conversation {KITCHEN}")


def _store_sample(db: Database, sample: Mapping[str, Any]) -> str:
    """Store the sample and return a sentence about its size."""
    from .. import ai_diary, synth_tagging
    from .. import db as door
    from ..transfer.imports import import_file

    own: Any = {"db": db, "scope": Scope(PERSONA)}
    messages = 0
    with output.bar() as bar:
        for name in ("kitchen", "mara", "jonas"):
            place: Any = {"interface": INTERFACE, "persona": PERSONA, "private": name != "kitchen"}
            messages += import_file(_SAMPLE / f"{name}.jsonl", progress=bar, **place, **own).imported
    for each in sample["memories"]:
        more = {"timestamp": each["time"], "label": each["label"]}
        door.insert_memory(each["text"], PERSONA_SENDER, "demo", each["tags"], own["scope"], db=db, **more)
    for entry in sample["diary"]:
        ai_diary.add_diary_entry(**entry, **own)
    for alias, tag in sample["aliases"].items():
        synth_tagging.add_alias(alias, tag, **own)
    for tag, other, weight in sample["links"]:
        synth_tagging.link_tags(tag, other, weight, **own)
    return f"{messages} messages, {len(sample['memories'])} memories, {len(sample['diary'])} diary entries"


def _build_message(sample: Mapping[str, Any]) -> dict[str, Any]:
    asked = sample["message"]
    return {
        "message_id": "demo-1",
        "date": sample["today"],
        "text": asked["text"],
        "interface_path": KITCHEN,
        "from_user": {"id": asked["speaker"], "full_name": asked["speaker"], "username": asked["speaker"].lower()},
        "chat": {"id": "kitchen", "type": "group"},
    }


def _tell_story(db: Database, message: Mapping[str, Any]) -> None:
    from ..prompt_engine import build_messages, explain_messages

    asking: Any = {"db": db, "scope": Scope(PERSONA), "settings": {"MEMORY_ITEMS": _MOST_ITEMS}}
    sent, report = explain_messages(message, max_chars=_LIMIT, **asking)
    messages = cast("Messages", sent)
    began = time.perf_counter()  # now every module is loaded, as in a running program
    build_messages(message, max_chars=_LIMIT, **asking)
    milliseconds = (time.perf_counter() - began) * 1000

    output.heading(f"Asked by {message['from_user']['full_name']} in the kitchen chat")
    output.indented(message["text"])
    output.heading(f"Found: {report['sections']['memories']['found']} rows, by words and tags, without a model")
    output.indented(f"Kept: the best {report['sections']['memories']['kept']}. Left out:")
    reasons = Counter(one["reason"] for one in report["left_out"] if one["section"] == "memories")
    for reason, words in _REASONS.items():
        if reasons[reason]:
            output.indented(f"{reasons[reason]} {words}")
    output.heading("Who may see it")
    output.indented("Everyone in the kitchen chat: it was said or saved there.")
    hidden = _count_hidden(db, message["text"])
    output.indented(f"Not seen here: {hidden} more from the private chats of Mara and of Jonas with {PERSONA}.")
    size = sum(len(each["content"]) for each in messages)
    output.heading(f"Sent to the model: {len(messages)} messages, {size:,} characters, built in {milliseconds:.0f} ms")
    output.indented(f"The persona, {len(messages) - 2} lines of the chat, and at last:")
    for line in messages[-1]["content"].splitlines():
        output.indented(line, style="dim")


def _count_hidden(db: Database, text: str) -> int:
    """Return the number of matching rows in direct messages, which a prompt in the demo's kitchen chat may not show."""
    from ..synth_core_memory import search_memories

    def find(place: str, name: str) -> set[int]:
        scope = Scope(PERSONA, f"{INTERFACE}/{place}", f"{INTERFACE}/{name}")
        return {hit["id"] for hit in search_memories(query=text, limit=100, db=db, scope=scope)}

    return len((find("Mara", "Mara") | find("Jonas", "Jonas")) - find("kitchen", "Mara"))
