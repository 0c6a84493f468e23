"""Arguments and answers of the tools, and errors about arguments, which never quote a given text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from ...base.wire_ids import LARGEST_ID
from ...errors import MessageError
from ...memories.rules import INSTRUCTION, KINDS
from ...shapes import WriteResult
from ..answers import WrittenAnswer
from ..problems import NOT_BOOL, describe_problem

TEXT_CHARS = 1_000_000
BLOCK_CHARS = 8_000
MOST_HITS = 200
PAGE = 50
"""Default number of rows on a page of a list."""

Kind = Literal[
    "all", "saved", "instruction", "FactsAboutUser", "PastEvents", "SelfBeliefs", "Objectives", "KeyFacts", "Emotions",
    "Mood", "chat",
]  # fmt: skip
assert {"all", INSTRUCTION, *KINDS} == set(Kind.__args__)  # type: ignore[attr-defined]


def _read_json_list(value: Any) -> Any:
    with suppress(ValueError, RecursionError):
        return json.loads(value) if isinstance(value, str) else value
    return value


def _write_number(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value) if type(value) is int else value


# some clients send a number as the text "5", or a list as the text '["tea"]'
Number = Annotated[int, NOT_BOOL]
TextList = Annotated[list[Annotated[str, Field(max_length=255)]], BeforeValidator(_read_json_list)]
Id = Annotated[Number, Field(ge=0, le=LARGEST_ID, description="Id from memory_search or memory_list.")]
Text = Annotated[str, Field(min_length=1, max_length=TEXT_CHARS)]


class Arguments(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)


class ContextArguments(Arguments):
    message: Text = Field(description="The person's latest message, word for word.")
    max_chars: Number = Field(BLOCK_CHARS, ge=500, le=200_000, description="Maximum size of the context in characters.")


class SearchArguments(Arguments):
    query: str = Field("", max_length=10_000, description="A question or words, in any language.")
    limit: Number = Field(10, ge=1, le=MOST_HITS, description="Maximum number of hits.")
    since: str = Field(
        "", max_length=64, description="Only hits since a time: ISO 8601 (2026-03-10T12:00:00Z) or words ('last week')."
    )
    until: str = Field("", max_length=64, description="Only hits before this time: ISO 8601.")
    tags: TextList = Field([], max_length=48, description="Also return hits that have one of these tags.")


class ProfileArguments(Arguments):
    limit: Number = Field(PAGE, ge=1, le=MOST_HITS, description="Maximum number of statements.")


class SaveArguments(Arguments):
    text: str = Field(max_length=TEXT_CHARS, description="One fact in one sentence that makes sense by itself.")
    tags: TextList = Field([], max_length=20, description="Words to find it by, in addition to the words of the text.")
    subject: str = Field("", max_length=255, description="Subject of the fact, such as a person, a pet or a project.")


class ListArguments(Arguments):
    kind: Kind = Field(
        "all", description="saved: memories the person asked to keep. instruction: standing instructions. all: all."
    )
    limit: Number = Field(PAGE, ge=1, le=MOST_HITS, description="Maximum number of memories on the page.")
    cursor: str = Field("", pattern="^[0-9]{0,9}$", description="next_cursor of the page before; blank for the first.")


class UpdateArguments(Arguments):
    id: Id
    text: Text = Field(description="New text of the memory or chat line.")


class DeleteArguments(Arguments):
    id: Id


class TurnArguments(Arguments):
    user_text: Text = Field(description="The person's message, word for word.")
    assistant_text: Text = Field(description="Your answer.")
    message_id: Annotated[str, BeforeValidator(_write_number)] = Field(
        "", max_length=150, description="Your own id of the person's message; a turn with the same id is stored once."
    )


def flatten_schema(schema: Any, defined: Mapping[str, Any] | None = None) -> Any:
    """Return a JSON Schema without `$ref` and `additionalProperties`, which some models refuse."""
    if isinstance(schema, list):
        return [flatten_schema(each, defined) for each in schema]
    if not isinstance(schema, dict):
        return schema
    defined = schema.get("$defs", defined or {})
    if "$ref" in schema:
        schema = {**defined[schema["$ref"].rpartition("/")[2]], **schema}
    left_out = ("$defs", "$ref", "additionalProperties")
    return {name: flatten_schema(value, defined) for name, value in schema.items() if name not in left_out}


Model = TypeVar("Model", bound=Arguments)


def read_arguments(model: type[Model], given: Mapping[str, Any]) -> Model:
    """Return the validated arguments of a tool; null counts as missing.

    Raises:
        MessageError: some do not fit; its sentences and `fields` name all of them.

    >>> read_arguments(DeleteArguments, {"id": 7}).id, read_arguments(SearchArguments, {"limit": "5"}).limit
    (7, 5)
    >>> read_arguments(DeleteArguments, {"who": "web/bob"})
    Traceback (most recent call last):
    ...
    core.errors.MessageError: id is missing. It is needed here. who is not known here. Leave it out.
    """
    try:
        return model.model_validate({name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        problems = error.errors(include_url=False)
    names = [".".join(str(part)[:60] for part in problem["loc"]) for problem in problems]
    sentences = dict.fromkeys(
        f"{name} cannot be used. It must be a text of valid Unicode."
        if problem["type"] == "string_unicode"
        else describe_problem(name, {"ctx": {"known": model.model_fields}, **problem})
        for name, problem in zip(names, problems, strict=True)
    )
    raise MessageError(" ".join(sentences), fields=tuple(dict.fromkeys(names)))


# Answers of tools that change something


class Answer(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)


class SimilarAnswer(Answer):
    id: int
    text: str
    day: str


class WriteAnswer(Answer):
    done: bool
    id: int | None = Field(description="Id of the memory; for a duplicate, of the equal memory stored before.")
    reason: str = Field(description="Reason why nothing changed, such as duplicate, privacy, unchanged; blank if done.")
    notes: list[str]
    similar: SimilarAnswer | None = Field(
        None, description="An older memory about the same subject, which may be outdated."
    )

    @classmethod
    def of_result(cls, result: WriteResult) -> WriteAnswer:
        similar = None if result.similar is None else SimilarAnswer(**result.similar)
        notes = [str(note) for note in result.notes]
        return cls(done=result.stored, id=result.id, reason=result.reason, notes=notes, similar=similar)


class TurnAnswer(Answer):
    user: WrittenAnswer
    assistant: WrittenAnswer
