"""The screen *Why*: a message, its prompt, the chosen memories with reasons, and the memories that were cut."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, Field
from starlette.responses import Response

from .... import memories, messages
from ....access import overview
from ....errors import PromptTooLargeError
from ....prompt_engine import explain_json_prompt, explain_messages, to_json
from ....scope import Destination, Scope
from ....text.sizes import resolve_counter
from ...errors import Refused
from .page import Key, Page

TEMPLATE = "why.html.j2"
Size = Annotated[int, Field(ge=1, le=100_000_000)]


class Question(BaseModel):
    text: Annotated[str, Field(max_length=100_000)] = ""
    conversation: Annotated[Key, Field(max_length=512)] | None = None
    user_id: Annotated[Key, Field(max_length=255)] | None = None
    destination: Destination = "remote"
    max_chars: Size | None = None
    limit_tokens: Size | None = None


def show_form(page: Page) -> Response:
    return page.render(TEMPLATE, screen="why", given=Question(), shown=None, problem="")


def explain_message(page: Page) -> Response:
    """Return the form with the prompt for the message in it, or with the error. Stores nothing."""
    asked = page.read(Question)
    if not asked.text:
        raise Refused(422, "The message is blank. Write one.")
    shown, problem, place = None, "", asked.conversation
    try:
        messages, _ = _explain(page, asked, explain_messages)
        prompt, report = _explain(page, asked, explain_json_prompt)
        if place and overview.find_conversation(page.db, page.persona, place) is None:
            note = f"Nothing is stored of the conversation {place!r}: it is taken for a new one. See its key."
            report = {**report, "notes": [note, *report["notes"]]}
        count, counter = resolve_counter(None)
        shown = {
            "messages": list(messages),
            "prompt": json.dumps(prompt, ensure_ascii=False, indent=2),
            "report": report,
            "chosen": list_chosen(page, prompt, report),
            "lost": Counter((each["section"], each["reason"]) for each in report["left_out"]),
            "tokens": report["tokens"] if report["tokens"] is not None else count(to_json(prompt)),
            "counter": report["counter"] or counter,
        }
    except PromptTooLargeError as error:
        problem = str(error)
    return page.render(TEMPLATE, screen="why", given=asked, shown=shown, problem=problem)


def _explain(page: Page, asked: Question, build: Callable[..., tuple[Any, Any]]) -> tuple[Any, Any]:
    """Return (prompt, report) without writing anything."""
    place, user_id = asked.conversation, asked.user_id
    if user_id and place and "/" not in user_id:
        user_id = f"{place.partition('/')[0]}/{user_id}"
    name = (user_id or "").rpartition("/")[2]
    message: dict[str, Any] = {"message_id": "why", "date": page.context.now(), "text": asked.text}
    message["from_user"] = {"id": name, "full_name": name}
    if place:
        message["interface_path"] = place
    reading = object.__new__(type(page.db))  # a Database cannot be copied; this one only reads
    vars(reading).update(vars(page.db), caches={}, transaction=lambda *_, **__: None)
    return build(
        message,
        max_chars=asked.max_chars,
        limit_tokens=asked.limit_tokens,
        destination=asked.destination,
        db=reading,
        settings=page.settings,
        scope=Scope(page.persona, place or None, user_id or None, destination=asked.destination),
    )


def list_chosen(page: Page, prompt: Mapping[str, Any], report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the hits of the search, best first, each with its text, reasons, and whether the prompt contains it."""
    in_prompt = {(hit["source"], hit["id"]): hit for hit in prompt.get("context", {}).get("memories") or ()}
    hits = report["search"].get("hits", ())
    ids = [hit["id"] for hit in hits if hit["source"] == "memories"]
    items = memories.read_item_texts(page.db, page.persona, ids)
    said = {row for hit in hits if hit["source"] == "chat_history" for row in (hit["id"], *hit["neighbours"])}
    lines = {line.row_id: line for line in messages.read_lines(page.db.read, page.persona, said)}
    shown = []
    for hit in sorted(hits, key=lambda each: int(each["rank"])):
        row, line = in_prompt.get((hit["source"], hit["id"])), lines.get(hit["id"])
        text = row["snippet"] if row else line.text if line else items.get(hit["id"], "")
        reasons = list_reasons(hit.get("reasons") or {})
        beside = [lines[row_id] for row_id in hit["neighbours"] if row_id in lines]
        own = {"conversation": line.conversation if line else "", "is_kept": row is not None, "text": text}
        shown.append({**hit, **own, "beside": beside, "reasons": reasons})
    return shown


def list_reasons(reasons: Mapping[str, float]) -> list[tuple[str, float, float]]:
    """Return (name, value, share in percent) for each part of a score, largest first."""
    whole = sum(map(abs, reasons.values())) or 1.0
    parts = sorted(reasons.items(), key=lambda part: (-abs(part[1]), part[0]))
    return [(name, value, round(100 * abs(value) / whole, 1)) for name, value in parts if value]
