"""Why: a message, the prompt and the messages it would get, what was chosen and why, what was cut."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from starlette.responses import Response

from ... import lifelong, llm
from ...audience import table_places
from ...audience.rules import split_key
from ...config import Settings
from ...config.bad_values import BadValueError
from ...config.levels import known_flag
from ...errors import ConfigError, ItemNotFoundError, ModelError, PromptTooLargeError
from ...prompt_engine import explain_json_prompt, to_json, to_messages
from ...scope import Scope
from ...text.counters import resolve_counter
from ..playground import without_writing
from . import form_values
from .page import Page, PageError

TEMPLATE = "playground.html.j2"
EMPTY: Mapping[str, str] = {
    "text": "",
    "participant": "",
    "conversation": "",
    "destination": "remote",
    "max_chars": "",
    "limit_tokens": "",
    "style": "data",
    "others": "",
}

COMPARED = frozenset(
    ("Prompt", "History", "Diary and thoughts", "Memories", "Tags and words", "Conversations", "Short-term memory",
     "Stories")
)  # fmt: skip
"""Groups of settings that another prompt can be tried with: those that say what is in it, none that leads elsewhere."""


MOST_IDS = 20


class Chosen(NamedTuple):
    """One hit of the search."""

    source: str
    id: int
    rank: int
    score: float
    is_kept: bool
    text: str
    timestamp: str
    tags: list[str]
    words: list[str]
    reasons: list[tuple[str, float, float]]
    """Name, what it adds to the score, and its share of all of them, 0 to 100."""
    is_context: bool


class Lost(NamedTuple):
    """Items left out of one section for one reason."""

    section: str
    reason: str
    ids: list[tuple[str, int | None]]
    """What is shown of an id, and the memory item it leads to, where it is one."""
    items: int


def show(page: Page) -> Response:
    """Return the form alone."""
    return page.render(TEMPLATE, title="Why", screen="playground", given=EMPTY, shown=None, other=None,
                       answer="", flash=None)  # fmt: skip


def ask(page: Page) -> Response:
    """Return the form with the prompt of its message. Nothing is stored and no recall counted."""
    given = {name: page.field(name) or default for name, default in EMPTY.items()}
    if not given["text"].strip():
        raise PageError("The message is blank. Write one.")
    limit = form_values.parse_whole(given["max_chars"], "characters") or None
    tokens = form_values.parse_whole(given["limit_tokens"], "tokens") or None
    shown: dict[str, Any] | None
    other: dict[str, Any] | None = None
    answer = ""
    others = read_settings(page.settings, given["others"])
    try:
        prompt, report = _explain(page, page.settings, given, limit, tokens)
        shown = _build_shown(page, prompt, report, given)
        if others != page.settings:
            other = _build_shown(page, *_explain(page, others, given, limit, tokens), given, others)
        if page.field("action") == "send":
            answer = _send(page, given, shown["messages"])
        conversation = given["conversation"].strip()
        if conversation and not table_places.is_known(page.db, page.persona, conversation):
            note = f"Nothing is stored of the conversation {conversation!r}: it is taken for a new one. See its key."
            shown["report"] = {**shown["report"], "notes": [note, *shown["report"]["notes"]]}
        problem = ""
    except PromptTooLargeError as error:
        shown, problem = None, str(error)
    except ModelError as error:  # the prompt is shown all the same
        problem = str(error)
    return page.render(
        TEMPLATE, title="Why", screen="playground", given=given, shown=shown, other=other, answer=answer,
        problem=problem, flash=None,
    )  # fmt: skip


def read_settings(settings: Settings, lines: str) -> Settings:
    """Return the settings with those of a text put in their place: a line each, `NAME: value` or `NAME value`."""
    changes: dict[str, Any] = {}
    for line in filter(str.strip, lines.splitlines()):
        name, _, value = line.strip().replace(":", " ", 1).replace("=", " ", 1).partition(" ")
        try:
            declared = known_flag(name)
            if declared.group not in COMPARED or declared.secret or declared.name.startswith("EMBEDDER"):
                raise PageError(f"{declared.name} says nothing of what is in a prompt. Leave it out.")
            changes[declared.name.lower()] = declared.kind.read_text(value.strip())
        except BadValueError as error:
            raise PageError(str(declared.refusal(value.strip(), "argument", "the form", hint=error.hint))) from None
        except ConfigError as error:
            raise PageError(str(error)) from None
    return settings.replace(**changes) if changes else settings


def _send(page: Page, given: Mapping[str, str], messages: list[dict[str, Any]]) -> str:
    """Return what the configured model answers."""
    if given["destination"] == "local" and page.settings.prompt_destination != "local":
        raise PageError(
            "This prompt holds what may not leave this machine, and PROMPT_DESTINATION says the model is elsewhere. "
            "Choose a remote model, then send."
        )
    model = llm.resolve(page.context.model, page.settings)
    if model is None:
        raise PageError("No model is configured. Set LLM_BASE_URL and LLM_MODEL, then send.")
    return llm.ask(model, messages, page.settings)


def _explain(
    page: Page, settings: Settings, given: Mapping[str, str], limit: int | None, tokens: int | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    person, conversation = given["participant"].strip(), given["conversation"].strip()
    interface = (split_key(conversation)[0] if conversation else "") or (split_key(person)[0] if person else "")
    name = person.rpartition("/")[2] or "somebody"
    message = {
        "message_id": "playground",
        "date": page.context.now(),
        "text": given["text"].replace("\r\n", "\n"),
        "from_user": {"id": name, "full_name": name, "username": name},
    }
    if conversation:
        message["interface_path"] = conversation
    return explain_json_prompt(
        message,
        interface_name=interface or None,
        max_chars=limit,
        limit_tokens=tokens,
        destination=given["destination"],
        db=without_writing(page.db),
        settings=replace(settings, record_recalls=False),
        scope=_scope_of(page, given),
    )


def _scope_of(page: Page, given: Mapping[str, str]) -> Scope:
    return Scope(page.persona, given["conversation"].strip() or None, given["participant"].strip() or None)


def _build_shown(
    page: Page,
    prompt: dict[str, Any],
    report: dict[str, Any],
    given: Mapping[str, str],
    settings: Settings | None = None,
) -> dict[str, Any]:
    count, counter = resolve_counter(None)
    used = settings or page.settings
    return {
        "messages": list(to_messages(prompt, style="chat" if given["style"] == "chat" else "data", settings=used)),
        "prompt": json.dumps(prompt, ensure_ascii=False, indent=2),
        "report": report,
        "chosen": list_chosen(page, prompt, report),
        "lost": list_lost(report),
        "size": report["size"],
        "tokens": report["tokens"] if report["tokens"] is not None else count(to_json(prompt)),
        "counter": report["counter"] or counter,
        "errors": [{**error, "stage": stage["stage"]} for stage in report["stages"] for error in stage["errors"]],
    }


def list_chosen(page: Page, prompt: Mapping[str, Any], report: Mapping[str, Any]) -> list[Chosen]:
    """Return what the search brought, best first, and whether it is in the prompt."""
    kept = {(hit.get("source"), hit.get("id")): hit for hit in prompt.get("context", {}).get("memories") or ()}
    hits = []
    for hit in (report.get("search") or {}).get("hits", ()):
        there = kept.get((hit["source"], hit["id"]))
        text, at = (there["snippet"], there["timestamp"]) if there else _read_text(page, hit["source"], hit["id"])
        hits.append(
            Chosen(
                hit["source"],
                hit["id"],
                hit["rank"],
                hit["score"],
                there is not None,
                text,
                at,
                hit["tags"],
                hit["words"],
                list_reasons(hit.get("reasons") or {}),
                bool(hit.get("context")),
            )
        )
    return sorted(hits, key=lambda each: each.rank)


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
        Lost(section, reason, [_link_id(section, row) for row in ids if row][:MOST_IDS], len(ids))
        for (section, reason), ids in groups.items()
    ]


def _link_id(section: str, row: str) -> tuple[str, int | None]:
    """Return an id of the report, `source/id` or the id alone, and the item it is of."""
    source, _, number = row.rpartition("/")
    is_item = (source or section) == "memories" and number.isascii() and number.isdigit()
    return row, int(number) if is_item else None
