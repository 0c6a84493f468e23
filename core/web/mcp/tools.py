"""The tools: each validates its arguments and calls one function. The answer of a failed call has the reason.

Errors about arguments never quote a given text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeAlias, TypeVar, get_type_hints

import mcp_types as types
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from ...ai_diary import archive_diary_entry, edit_diary_entry
from ...base.wire_ids import LARGEST_ID
from ...calls.call import open_call
from ...calls.defaults import settings_for
from ...chat_history_cache import delete_chat_message, edit_chat_message
from ...conversations import add_saved_memory
from ...errors import ItemNotFoundError, MessageError
from ...lifelong import delete_items, edit_item, get_item, profile, retag_items, search_items
from ...memories.rules import INSTRUCTION, KINDS, SAVED_MEMORY_CHARS
from ...prompt.message_lines import HEAD
from ...prompt.pipeline import build_records
from ...prompt.request import PromptRequest
from ...search import SearchRequest, load_viewer, prepare
from ...shapes import SimilarMemory, WriteResult
from ...synth_core_memory import explain_search
from ...text import times
from ...tokens import may_change
from ...transcripts import build_reply, save_turn
from ..answers import WrittenAnswer
from ..problems import NOT_BOOL, describe_problem
from .speaker import Speaker

TEXT_CHARS = 1_000_000
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
Zone = Annotated[str, Field(max_length=64, description="The person's time zone, for 'tomorrow'; blank if unknown.")]
Id = Annotated[Number, Field(ge=0, le=LARGEST_ID, description="Id from memory_search or memory_list.")]
Text = Annotated[str, Field(min_length=1, max_length=TEXT_CHARS)]


class Arguments(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)
    any_of: ClassVar[tuple[str, ...]] = ()
    """Names of arguments; a call must give at least one of these arguments."""


class ContextArguments(Arguments):
    message: Text = Field(description="The person's latest message, word for word.")
    max_chars: Number = Field(8_000, ge=500, le=200_000, description="Maximum size of the context in characters.")
    time_zone: Zone = ""


class SearchArguments(Arguments):
    any_of = ("query", "tags")
    query: str = Field("", max_length=10_000, description="A question or words, in any language.")
    limit: Number = Field(10, ge=1, le=MOST_HITS, description="Maximum number of hits.")
    since: str = Field("", max_length=64, description="Only hits since this time: ISO 8601, or words ('last week').")
    until: str = Field("", max_length=64, description="Only hits before this time, or until the end of this day.")
    tags: TextList = Field([], max_length=48, description="Also return hits that have one of these tags.")
    text_chars: Number = Field(400, ge=80, le=TEXT_CHARS, description="Maximum size of a hit's text in characters.")
    time_zone: Zone = ""


class ProfileArguments(Arguments):
    limit: Number = Field(PAGE, ge=1, le=MOST_HITS, description="Maximum number of statements.")


class SaveArguments(Arguments):
    text: str = Field(min_length=1, max_length=SAVED_MEMORY_CHARS, description="One fact in a standalone sentence.")
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
    text: Text = Field(description=f"New text; for a saved memory at most {SAVED_MEMORY_CHARS:,} characters.")


class DeleteArguments(Arguments):
    id: Id


class TurnArguments(Arguments):
    user_text: Text = Field(description="The person's message, word for word.")
    assistant_text: Text = Field(description="Your answer.")
    message_id: Annotated[str, BeforeValidator(_write_number)] = Field(
        "", max_length=150, description="Your own id of the person's message; a turn with the same id is stored once."
    )


def flatten_schema(schema: Any, defined: Mapping[str, Any] | None = None) -> Any:
    """Resolve `$ref` in a JSON Schema and remove `additionalProperties`, which some models reject."""
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
    """Validate the arguments of a tool; null counts as missing.

    Raises:
        MessageError: some arguments are invalid; its sentences and `fields` name all of them.

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
    if model.any_of and not any(given.get(name) for name in model.any_of):
        names.append(model.any_of[0])
        sentences[f"{names[-1]} is missing. Give {', '.join(model.any_of)}, or both."] = None
    raise MessageError(" ".join(sentences), fields=tuple(dict.fromkeys(names)))


class WriteAnswer(BaseModel):
    done: bool
    id: int | None = Field(description="Id of the memory; for a duplicate, of the equal memory stored before.")
    reason: str = Field(description="Reason why no text changed, such as duplicate, privacy, unchanged; blank if done.")
    notes: list[str] = Field(description="Other changes and limits, such as tags that a duplicate got.")
    similar: SimilarMemory | None = Field(
        None, description="An older memory that shares words; it may be of another matter."
    )

    @classmethod
    def of_result(cls, result: WriteResult) -> WriteAnswer:
        notes = [str(note) for note in result.notes]
        return cls(done=result.stored, id=result.id, reason=result.reason, notes=notes, similar=result.similar)


class TurnAnswer(BaseModel):
    user: WrittenAnswer
    assistant: WrittenAnswer


Work: TypeAlias = Callable[[Speaker, Any], BaseModel | dict[str, Any] | str]
Function = TypeVar("Function", bound=Work)


class Tool(NamedTuple):
    listed: types.Tool
    takes: type[Arguments]
    work: Work

    def run(self, speaker: Speaker, given: dict[str, Any]) -> types.CallToolResult:
        answer, structured = self.work(speaker, read_arguments(self.takes, given)), None
        if isinstance(answer, BaseModel):
            answer = structured = answer.model_dump(mode="json")
        elif isinstance(answer, dict):
            answer = {"notice": HEAD, **answer}
        text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], structured_content=structured)


TOOLS: dict[str, Tool] = {}


def _tool(
    title: str, *, reads_only: bool = False, destroys: bool = False, repeats: bool = True
) -> Callable[[Function], Function]:
    """Register a function as a tool: models read its name, docstring and annotations.

    A tool that only reads answers with text and no structured content, so that a long answer is sent once; its
    JSON begins with a notice that the rest is data. A second call of a tool with `repeats` changes nothing.
    """

    def add(work: Function) -> Function:
        hints = get_type_hints(work)
        listed = types.Tool(
            name=work.__name__,
            title=title,
            description=" ".join((work.__doc__ or "").split()),
            input_schema=flatten_schema(hints["asked"].model_json_schema()),
            output_schema=None
            if reads_only
            else flatten_schema(hints["return"].model_json_schema(mode="serialization")),
            annotations=types.ToolAnnotations(
                title=title,
                read_only_hint=reads_only,
                destructive_hint=destroys,
                idempotent_hint=repeats,
                open_world_hint=False,
            ),
        )
        TOOLS[work.__name__] = Tool(listed, hints["asked"], work)
        return work

    return add


@_tool("Memory for a message", reads_only=True)
def memory_context(speaker: Speaker, asked: ContextArguments) -> str:
    """Return everything remembered that is relevant to a message: recent lines, memories, instructions, summaries, as
    one text. Call it once before you answer a message."""
    message: dict[str, Any] = {"text": asked.message, "interface_path": speaker.scope.conversation}
    message["from_user"] = {"full_name": speaker.shown_name}
    speaker = _in_zone(speaker, asked.time_zone)
    text = build_records(PromptRequest(message, max_chars=asked.max_chars, **speaker.asking)).text
    return text or "Nothing is remembered that belongs to this message."


@_tool("Search memory", reads_only=True)
def memory_search(speaker: Speaker, asked: SearchArguments) -> dict[str, Any]:
    """Search everything remembered and said for a question or words, tags, or both, within a span of time. Call it when
    the context does not hold what you need. Hits come newest first, some only near a match; total counts the matches.
    If count equals limit, a higher limit may give more. A text that begins or ends with ... is cut: raise text_chars.
    """
    if not asked.query.strip() and not asked.tags:
        raise MessageError("query is blank. Give query, tags, or both.", fields=("query",))
    if asked.limit * asked.text_chars > 2 * TEXT_CHARS:
        raise MessageError("text_chars times limit is over 2,000,000. Lower one of the two.", fields=("text_chars",))
    speaker, own = _in_zone(speaker, asked.time_zone), {"limit", "text_chars", "time_zone"}
    wanted: Any = {**asked.model_dump(exclude=own, exclude_defaults=True), **speaker.asking}
    if asked.query.strip() and asked.tags:  # with tags, a search leaves out the words and tags of its query
        call = open_call(**speaker.asking)
        said, _ = load_viewer(call, prepare(SearchRequest(query=asked.query), call.settings))
        wanted |= {"keywords": said.keywords, "tags": [*asked.tags, *said.tags]}
    wanted["settings"] = settings_for(speaker.settings).replace(snippet_window="match", snippet_chars=asked.text_chars)
    try:
        rows, report = explain_search(limit=asked.limit, **wanted)
        total = explain_search(limit=1, mode="all", **wanted)[1]["total"] if rows else 0
    except ValueError as error:
        raise MessageError(str(error)) from None
    hits = []
    for row in rows:
        hit = {"id": row["id"], "source": row["source"], "timestamp": row["timestamp"], "tags": row["tags"]}
        hits.append({**hit, "speaker": speaker.name_person(row.get("speaker") or ""), "text": row["snippet"]})
    more = ["there may be more matches than total, which counts 200 at most"] if total >= MOST_HITS else []
    return {"count": len(hits), "total": total, "notes": [*report["notes"], *more], "hits": hits}


@_tool("Remember")
def memory_save(speaker: Speaker, asked: SaveArguments) -> WriteAnswer:
    """Save one fact for good, because the person asked you to remember it. How they want to be answered is not a fact:
    turn_save finds such instructions in their words. The answer may name a memory that shares words, often of another
    matter: call memory_delete for it only if the new fact makes its whole text untrue."""
    done = add_saved_memory(asked.text, **speaker.asking)
    answer, tags = WriteAnswer.of_result(done), [*asked.tags, *([asked.subject] if asked.subject.strip() else [])]
    if tags and done.id is not None and may_change(done.id, **speaker.asking):
        changed = retag_items([done.id], add=tags, **speaker.asking).count
        if changed and not done.stored:
            stored = ", ".join(get_item(done.id, **speaker.asking)["tags"])
            answer.notes.append(f"the memory stored before got tags: it has {stored}")
    return answer


@_tool("What the person told of themselves", reads_only=True)
def memory_profile(speaker: Speaker, asked: ProfileArguments) -> dict[str, Any]:
    """Return what the person has said about themselves: facts, tastes and standing instructions, each with its id, its
    day and who may see it. Call it when they ask what you know about them, or for advice that depends on who they
    are."""
    statements = profile(limit=asked.limit, **speaker.asking)
    return {"count": len(statements), "statements": statements}


@_tool("List memories", reads_only=True)
def memory_list(speaker: Speaker, asked: ListArguments) -> dict[str, Any]:
    """List memories with ids, newest first, all or of one kind. next_cursor: next page. Totals over 10,000 are low."""
    kinds, offset = None if asked.kind == "all" else asked.kind, int(asked.cursor or 0)
    page = search_items(kinds=kinds, limit=asked.limit, offset=offset, **speaker.asking)
    memories = []
    for item in page["items"]:
        memory = {"id": item["id"], "kind": item["kind"], "text": item["text"], "timestamp": item["timestamp"]}
        memories.append({**memory, "tags": item["tags"], "speaker": speaker.name_person(item["participant"] or "")})
    end = offset + len(memories)
    following = str(end) if memories and (end < page["total"] or "at_least" in page) else None
    return {"count": len(memories), "total": page["total"], "next_cursor": following, "memories": memories}


@_tool("Change a memory", destroys=True)
def memory_update(speaker: Speaker, asked: UpdateArguments) -> WriteAnswer:
    """Replace the whole text of a memory or chat line, by its id from a search or list. Read a cut text whole first."""
    if not asked.text.strip():
        raise MessageError("text is blank. Write one, or call memory_delete.", fields=("text",))
    _check_own(speaker, asked.id)
    with suppress(ItemNotFoundError):
        return WriteAnswer.of_result(edit_item(asked.id, asked.text, editor="mcp", **speaker.asking))
    return WriteAnswer.of_result(
        _or_none(edit_chat_message(asked.id, asked.text, **speaker.asking))
        or _or_none(edit_diary_entry(asked.id, asked.text, **speaker.asking))
        or _refuse_id(asked.id)
    )


@_tool("Delete a memory", destroys=True)
def memory_delete(speaker: Speaker, asked: DeleteArguments) -> WriteAnswer:
    """Delete one memory by its id, because the person asked for it; an operator can restore it. A chat line is deleted
    for good, with everything made from it."""
    row_id = asked.id
    _check_own(speaker, row_id)
    is_archived = delete_items([row_id], **speaker.asking).count or archive_diary_entry(row_id, **speaker.asking)
    done = WriteResult(True, row_id) if is_archived else _or_none(delete_chat_message(row_id, **speaker.asking))
    return WriteAnswer.of_result(done or _refuse_id(row_id))


def _check_own(speaker: Speaker, row_id: int) -> None:
    if not speaker.is_host and not may_change(row_id, **speaker.asking):
        raise MessageError(f"id {row_id} belongs to others. Change only what this person said.", fields=("id",))


def _in_zone(speaker: Speaker, zone: str) -> Speaker:
    if zone and times.zone(zone) is None:
        raise MessageError("time_zone is unknown. It must be a name such as Europe/Rome.", fields=("time_zone",))
    return replace(speaker, settings=settings_for(speaker.settings).replace(timezone=zone)) if zone else speaker


def _or_none(result: WriteResult) -> WriteResult | None:
    return None if result.reason in ("not_found", "unchanged") and result.id is None else result


def _refuse_id(row_id: int) -> WriteResult:
    what = f"id {row_id} names nothing here. Use an id that memory_search or memory_list gave."
    raise MessageError(what, fields=("id",))


@_tool("Save a turn", repeats=False)
def turn_save(speaker: Speaker, asked: TurnArguments) -> TurnAnswer:
    """Store what the person said and what you answered, so that it can be recalled later. Standing instructions in the
    person's words take effect or end by this call. Call it once after each answer, but not for a message that the
    person asks you not to remember."""
    place = speaker.scope.conversation or ""
    message = {"text": asked.user_text, "interface_path": place, "message_id": asked.message_id or None}
    message["sender_name"] = speaker.shown_name
    answer_id = f"{asked.message_id}/answer" if asked.message_id else None
    reply = build_reply(asked.assistant_text, place, speaker.scope.persona, message_id=answer_id)
    said, answered = save_turn(message, reply, **speaker.asking)
    return TurnAnswer(user=WrittenAnswer.of_result(said), assistant=WrittenAnswer.of_result(answered))
