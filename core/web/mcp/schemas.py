"""What the tools take and answer, and what is said of arguments that do not fit: never the text that was given.

Every id is a whole number, every time ISO 8601 in UTC, blank where there is none.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ...base.hints import hint_name
from ...base.wire_ids import LARGEST_ID
from ...errors import MessageError
from ...memories.rules import INSTRUCTION, KINDS
from ...shapes import WriteResult
from ..problems import describe_problem

TEXT_CHARS = 1_000_000
QUERY_CHARS = 10_000
BLOCK_CHARS = 8_000
LEAST_BLOCK_CHARS = 500
MOST_BLOCK_CHARS = 200_000
MOST_HITS = 200
PAGE = 50
"""Memories of one page of a list, unless told otherwise."""
NUMBER_FIELDS = ("id", "max_chars", "limit")
"""Whole numbers, which some clients send as texts."""
LIST_FIELDS = ("tags",)

Kind = Literal[
    "all", "saved", "instruction", "FactsAboutUser", "PastEvents", "SelfBeliefs", "Objectives", "KeyFacts", "Emotions",
    "Mood", "chat",
]  # fmt: skip
assert {"all", INSTRUCTION, *KINDS} == set(Kind.__args__)  # type: ignore[attr-defined]

Id = Annotated[int, Field(ge=0, le=LARGEST_ID, description="Id of a memory, as memory_list gives it.")]
Time = Annotated[str, Field(max_length=64, description="ISO 8601, such as 2026-03-10 or 2026-03-10T12:00:00Z.")]

Cursor = Annotated[str, Field(max_length=100_000, description="next_cursor of the page before; blank begins.")]


class Arguments(BaseModel):
    """Arguments of one tool; nothing else is taken."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", strict=True, frozen=True)


class ContextArguments(Arguments):
    """Of memory_context."""

    message: str = Field(min_length=1, max_length=TEXT_CHARS, description="What the person has just said, as said.")
    max_chars: int = Field(
        BLOCK_CHARS, ge=LEAST_BLOCK_CHARS, le=MOST_BLOCK_CHARS, description="Most characters of the answer's context."
    )


class SearchArguments(Arguments):
    """Of memory_search."""

    query: str = Field("", max_length=QUERY_CHARS, description="A question or words, in any language.")
    limit: int = Field(10, ge=1, le=MOST_HITS, description="Most hits.")
    since: Time = Field(
        "", description="Nothing older than this: ISO 8601, such as 2026-03-10 or 2026-03-10T12:00:00Z."
    )
    until: Time = Field("", description="Only what is older than this: ISO 8601.")
    tags: list[str] = Field([], max_length=48, description="Also what has one of these tags.")
    cursor: Cursor = ""


class SaveArguments(Arguments):
    """Of memory_save."""

    text: str = Field(max_length=TEXT_CHARS, description="One fact in one sentence that makes sense by itself.")
    tags: list[Annotated[str, Field(max_length=255)]] = Field(
        [], max_length=20, description="Words it is found by, beside those of the text."
    )
    subject: str = Field("", max_length=255, description="What it is about, such as a person, a pet or a project.")


class ListArguments(Arguments):
    """Of memory_list."""

    kind: Kind = Field(
        "all", description="saved: asked to be remembered. instruction: a standing instruction. all: everything."
    )
    limit: int = Field(PAGE, ge=1, le=MOST_HITS, description="Most memories of this page.")
    cursor: Cursor = ""


class UpdateArguments(Arguments):
    """Of memory_update."""

    id: Id
    text: str = Field(min_length=1, max_length=TEXT_CHARS, description="What it says from now on.")


class DeleteArguments(Arguments):
    """Of memory_delete."""

    id: Id


class TurnArguments(Arguments):
    """Of turn_save."""

    user_text: str = Field(min_length=1, max_length=TEXT_CHARS, description="What the person said, as said.")
    assistant_text: str = Field(min_length=1, max_length=TEXT_CHARS, description="What was answered.")
    message_id: str = Field(
        "", max_length=150, description="Your own id of the person's message: sent again, the turn is stored once."
    )


Model = TypeVar("Model", bound=Arguments)


def read_arguments(model: type[Model], given: Mapping[str, Any]) -> Model:
    """Return the arguments of a tool; null counts as left out.

    Some clients send a number as the text "5", or a list as the text '["tea"]': both are accepted.

    Raises:
        MessageError: some do not fit; its sentences and `fields` name all of them.

    >>> read_arguments(DeleteArguments, {"id": 7}).id, read_arguments(SearchArguments, {"limit": "5"}).limit
    (7, 5)
    >>> read_arguments(DeleteArguments, {"who": "web/bob"})
    Traceback (most recent call last):
    ...
    core.errors.MessageError: id is missing. It is needed here. who is not known here. Leave it out.
    """
    known = {name: _read_text_form(name, value) for name, value in given.items() if value is not None}
    try:
        return model.model_validate(known)
    except ValidationError as error:
        problems = error.errors(include_url=False)
    fields = tuple(dict.fromkeys(_name(problem["loc"]) for problem in problems))
    sentences = dict.fromkeys(_describe(model, problem) for problem in problems)
    raise MessageError(" ".join(sentences), fields=fields)


def _read_text_form(name: str, value: Any) -> Any:
    """Return a value as the model wants it where its text says nothing else; else as it came."""
    if isinstance(value, float) and value.is_integer() and name in (*NUMBER_FIELDS, "message_id"):
        value = int(value)
    if name == "message_id" and type(value) is int:
        return str(value)
    if name in NUMBER_FIELDS and isinstance(value, str):
        return int(value) if re.fullmatch(r"\s*-?[0-9]{1,18}\s*", value, re.ASCII) else value
    if name in LIST_FIELDS and isinstance(value, str):
        return _read_json_list(value)
    return value


def _read_json_list(text: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, list) else text


def _name(place: tuple[int | str, ...]) -> str:
    return ".".join(str(part)[:60] for part in place)


def _describe(model: type[Arguments], problem: Any) -> str:
    name, kind = _name(problem["loc"]), problem["type"]
    if kind == "extra_forbidden":
        return f"{name} is not known here.{hint_name(name, model.model_fields)} Leave it out."
    if kind == "string_unicode":
        return f"{name} cannot be used. It must be a text of valid Unicode."
    return describe_problem(name, problem)


# Answers


class Answer(BaseModel):
    """One answer; nothing stands in it that its schema does not name."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)


class FoundText(Answer):
    """One hit of memory_search."""

    id: int
    source: str = Field(description="memories, ai_diary or chat_history.")
    timestamp: str
    speaker: str = Field(description="Who said it; blank where it is not known.")
    text: str
    tags: list[str]


class SearchAnswer(Answer):
    """Of memory_search."""

    count: int
    hits: list[FoundText] = Field(description="Newest first.")
    next_cursor: str | None = Field(description="Gives the next best hits; null at the end.")


class WriteAnswer(Answer):
    """Of memory_save, memory_update and memory_delete."""

    done: bool
    id: int | None = Field(description="Of the memory; where it was a duplicate, of the one that says the same.")
    reason: str = Field(description="Why nothing changed: duplicate, privacy, unchanged and so on; blank where it did.")
    notes: list[str]


class ListedMemory(Answer):
    """One memory of memory_list."""

    id: int
    kind: str
    text: str
    speaker: str = Field(description="Who said it; blank where it is not known.")
    timestamp: str
    tags: list[str]


class ListAnswer(Answer):
    """Of memory_list."""

    count: int
    total: int = Field(description="How many there are in all.")
    next_cursor: str | None = Field(description="Gives the next page; null at the end.")
    memories: list[ListedMemory] = Field(description="Newest first.")


class SavedLine(Answer):
    """What became of one line of a turn."""

    stored: bool
    id: int | None
    reason: str = Field(description="Why it was not stored: duplicate, privacy, empty; blank where it was.")


class TurnAnswer(Answer):
    """Of turn_save."""

    user: SavedLine
    assistant: SavedLine
    notes: list[str]


def write_answer(result: WriteResult) -> WriteAnswer:
    """Return what a write came to."""
    return WriteAnswer(
        done=result.stored, id=result.id, reason=result.reason, notes=[str(note) for note in result.notes]
    )


def saved_line(result: WriteResult) -> SavedLine:
    """Return what became of one line."""
    return SavedLine(stored=result.stored, id=result.id, reason=result.reason)


def write_cursor(value: Any) -> str:
    """Return where a page ended, as a client hands it back.

    >>> read_cursor(write_cursor([["2026-03-10", 7]]))
    [['2026-03-10', 7]]
    """
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def read_cursor(text: str) -> list[Any]:
    """Return what a cursor holds: pairs of a text and an id; [] for a blank one.

    Raises:
        MessageError: it is none of ours.
    """
    if not text:
        return []
    try:
        value = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        if all(isinstance(name, str) and type(row_id) is int for name, row_id in value):
            return list(value)
    except (ValueError, TypeError, RecursionError):
        pass
    raise MessageError("cursor cannot be used. It must be next_cursor of an answer, or blank.", fields=("cursor",))
