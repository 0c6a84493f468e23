"""Why: a message, the prompt and the messages it would get, what was chosen and why, what was cut."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from starlette.responses import Response

from .... import lifelong
from ....access import table_overview
from ....errors import ItemNotFoundError, PromptTooLargeError
from ....prompt_engine import explain_messages, to_json
from ....scope import Destination
from ....text.sizes import resolve_counter
from ...bodies import ExplainBody
from ...errors import Refused
from ..operations import explain_message
from .page import Key, Page

TEMPLATE = "why.html.j2"
MAX_IDS = 20
"""Ids of left-out rows that are shown for one section and reason."""


class Lost(NamedTuple):
    """Items left out of one section for one reason."""

    section: str
    reason: str
    ids: list[tuple[str, int | None]]
    """What is shown of an id, and the memory item it leads to, where it is one."""
    items: int


class Question(ExplainBody):
    """What the form says, as it is shown in it again."""

    text: str = ""
    conversation: Key | None = None
    user_id: Key | None = None
    destination: Destination = "remote"


def show(page: Page) -> Response:
    return page.render(TEMPLATE, title="Why", screen="why", given=Question(), shown=None, problem="")


def ask(page: Page) -> Response:
    """Return the form with the prompt of its message. Nothing is stored."""
    asked = page.read(Question)
    if not asked.text:
        raise Refused(422, "The message is blank. Write one.")
    shown, problem, place = None, "", asked.conversation
    try:
        messages, _ = explain_message(page.admin, asked, explain_messages)
        shown = _build_shown(page, *explain_message(page.admin, asked), messages)
        if place and table_overview.find_conversation(page.db, page.persona, place) is None:
            note = f"Nothing is stored of the conversation {place!r}: it is taken for a new one. See its key."
            shown["report"] = {**shown["report"], "notes": [note, *shown["report"]["notes"]]}
    except PromptTooLargeError as error:
        problem = str(error)
    return page.render(TEMPLATE, title="Why", screen="why", given=asked, shown=shown, problem=problem)


def _build_shown(page: Page, prompt: dict[str, Any], report: dict[str, Any], messages: Any) -> dict[str, Any]:
    count, counter = resolve_counter(None)
    return {
        "messages": list(messages),
        "prompt": json.dumps(prompt, ensure_ascii=False, indent=2),
        "report": report,
        "chosen": list_chosen(page, prompt, report),
        "lost": list_lost(report),
        "size": report["size"],
        "tokens": report["tokens"] if report["tokens"] is not None else count(to_json(prompt)),
        "counter": report["counter"] or counter,
        "errors": report["errors"],
    }


def list_chosen(page: Page, prompt: Mapping[str, Any], report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the hits of the search, best first, with their texts, their reasons and whether they are in the prompt."""
    kept = {(hit.get("source"), hit.get("id")): hit for hit in prompt.get("context", {}).get("memories") or ()}
    hits = []
    for hit in (report.get("search") or {}).get("hits", ()):
        there = kept.get((hit["source"], hit["id"]))
        text, at = (there["snippet"], there["timestamp"]) if there else _read_text(page, hit["source"], hit["id"])
        reasons = list_reasons(hit.get("reasons") or {})
        hits.append({**hit, "is_kept": there is not None, "text": text, "timestamp": at, "reasons": reasons})
    return sorted(hits, key=lambda each: int(each["rank"]))


def list_reasons(given: Mapping[str, float]) -> list[tuple[str, float, float]]:
    """Return what a score is made of, the largest part first."""
    parts = [(name, float(value)) for name, value in given.items() if isinstance(value, (int, float)) and value]
    whole = sum(abs(value) for _, value in parts) or 1.0
    parts.sort(key=lambda part: (-abs(part[1]), part[0]))
    return [(name, value, round(100 * abs(value) / whole, 1)) for name, value in parts]


def _read_text(page: Page, source: str, row_id: int) -> tuple[str, str]:
    """Return text and time of a hit that is not in the prompt."""
    if source != "memories":
        return "", ""
    try:
        item = lifelong.get_item(row_id, **page.operating())
    except ItemNotFoundError:
        return "", ""
    return item["text"], item["timestamp"]


def list_lost(report: Mapping[str, Any]) -> list[Lost]:
    """Return what is not in the prompt, by section and reason, in the order it was left out."""
    groups: dict[tuple[str, str], list[str]] = {}
    for each in report["left_out"]:
        groups.setdefault((each["section"], each["reason"]), []).append(str(each["id"]))
    return [
        Lost(section, reason, [_link_id(section, row) for row in ids if row][:MAX_IDS], len(ids))
        for (section, reason), ids in groups.items()
    ]


def _link_id(section: str, row: str) -> tuple[str, int | None]:
    """Return an id of the report, `source/id` or the id alone, and the item it is of."""
    source, _, number = row.rpartition("/")
    is_item = (source or section) == "memories" and number.isascii() and number.isdigit()
    return row, int(number) if is_item else None
