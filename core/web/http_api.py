"""The routes for hosts. Each reads a scope and a message, calls one door, and writes what it gave."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request

from .. import chat_history_cache, lifelong, prompt_engine, synth_core_memory
from ..db import insert_memory
from ..errors import ItemNotFoundError
from ..privacy import scope_of
from ..scope import KEY_BYTES, NO_SERVER, Privacy, Scope
from ..shapes import PERSONA_SENDER, WriteResult
from ..text.hits import name_persona
from ..text.strict_json import make_strict
from ..tokens.shapes import is_own_place
from ..transcripts import finish_turn
from . import access
from .answers import (
    DeletedAnswer,
    HitsAnswer,
    ItemPageAnswer,
    PromptAnswer,
    SavedAnswer,
    SavedMessagesAnswer,
    StoredMemoryAnswer,
    WrittenAnswer,
)
from .bodies import (
    HostMessage,
    ItemId,
    Limit,
    MemoryBody,
    MessageEditBody,
    MessagesBody,
    NewMessage,
    Offset,
    PromptBody,
    SearchBody,
    TurnBody,
    Who,
    refusals,
)
from .context import WebContext
from .errors import Refused, refuse_bad_values

router: APIRouter = APIRouter(prefix="/v1", tags=["For hosts"])

SOURCE = "api"
"""Where a memory came from that a route stored."""


def _asking(request: Request) -> dict[str, Any]:
    context: WebContext = request.app.state.context
    return {"db": context.database(), "settings": context.values()}


def _read_message(request: Request, message: HostMessage) -> tuple[dict[str, Any], Scope]:
    """Return a message as the doors take it, and the scope it is said in, as far as the token stands for it."""
    token, plain = access.get_token(request), message.plain()
    asking = _asking(request)
    with refuse_bad_values():
        said = scope_of(plain, scope=Scope(token.persona), **asking)
    scope = access.read_scope(
        token,
        conversation=said.conversation,
        participant=said.participant,
        server=NO_SERVER if said.no_server else said.server,
        privacy=said.privacy,
    )
    return plain, scope


@router.post("/prompt", responses=refusals())
def build_prompt(request: Request, body: PromptBody) -> PromptAnswer:
    """Return the prompt for one message: what belongs to it of memory and history, within the limit."""
    message, scope = _read_message(request, body.message)
    with refuse_bad_values():
        prompt, report = prompt_engine.explain_json_prompt(
            message,
            body.context_memory,
            max_chars=body.max_chars,
            limit_tokens=body.limit_tokens,
            scope=scope,
            **_asking(request),
        )
    plain = make_strict(prompt)[0]
    messages = None
    if body.style != "prompt":
        messages = prompt_engine.to_messages(plain, body.style, settings=_asking(request)["settings"])
    return PromptAnswer(
        prompt=dict(plain),
        messages=make_strict(messages)[0],
        report=dict(make_strict(report)[0]) if body.report else None,
    )


@router.post("/messages", responses=refusals())
def save_messages(request: Request, body: MessagesBody) -> SavedMessagesAnswer:
    """Store messages, oldest first, each once, and the persona's replies; none is stored where one is wrong."""
    asking = _asking(request)
    read = [(each, *_read_message(request, each.message)) for each in body.messages]
    for _, message, scope in read:
        _check_place(message, scope)
    return SavedMessagesAnswer(messages=[_save(each, message, scope, asking) for each, message, scope in read])


@router.post("/turns", responses=refusals())
def save_turn(request: Request, body: TurnBody) -> SavedAnswer:
    """Store a whole turn: the message, the persona's reply, and what of it counts as said a moment ago."""
    asking = _asking(request)
    message, scope = _read_message(request, body.message)
    return _save(NewMessage(message=body.message, reply=body.reply), message, scope, asking, is_turn=True)


def _save(
    new: NewMessage, message: dict[str, Any], scope: Scope, asking: dict[str, Any], *, is_turn: bool = False
) -> SavedAnswer:
    path = _check_place(message, scope)
    said = chat_history_cache.save_message({**message, "interface_path": path}, scope=scope, **asking)
    answer = SavedAnswer.of_result(said)
    if (reply := new.reply) is not None:
        more: dict[str, Any] = {"message_id": reply.message_id, "scope": replace(scope, conversation=path), **asking}
        if is_turn:
            done = finish_turn(said, new.message.text, reply.text, name=reply.name, at=reply.date, **more)
        else:
            who = (reply.name or name_persona(scope.persona), PERSONA_SENDER, reply.date)
            done = chat_history_cache.save_chat_message(path, reply.text, *who, **more)
        answer.reply = WrittenAnswer.of_result(done)
    return answer


def _check_place(message: dict[str, Any], scope: Scope) -> str:
    """Return the conversation a message is of."""
    path = message.get("interface_path") or scope.conversation
    if not path:
        raise Refused(422, "interface_path is missing. A message that is stored needs its conversation.")
    return str(path)


ConversationPath = Annotated[
    str, Path(min_length=1, max_length=KEY_BYTES["conversation"], description="Conversation key; its slashes stay.")
]
MessageId = Annotated[str, Path(min_length=1, max_length=191, description="Id of the message on its platform.")]


@router.patch("/messages/{conversation:path}/{id}", responses=refusals(404))
def edit_message(
    request: Request,
    conversation: ConversationPath,
    id: MessageId,  # noqa: A002 - the documented name
    body: MessageEditBody,
) -> WrittenAnswer:
    """Give a stored message another text."""
    scope = _own_place(request, conversation)
    done = chat_history_cache.edit_chat_message(
        id, body.text, interface_path=conversation, scope=scope, **_asking(request)
    )
    return _answer_change(done)


@router.delete("/messages/{conversation:path}/{id}", responses=refusals(404))
def delete_message(request: Request, conversation: ConversationPath, id: MessageId) -> WrittenAnswer:  # noqa: A002 - as above
    """Delete a stored message for good."""
    scope = _own_place(request, conversation)
    done = chat_history_cache.delete_chat_message(id, interface_path=conversation, scope=scope, **_asking(request))
    return _answer_change(done)


def _own_place(request: Request, conversation: str) -> Scope:
    """Return the scope in which a message is changed: a participant changes none where others speak too."""
    token = access.get_token(request)
    if token.kind == "scope" and not is_own_place(conversation, token.participant or ""):
        raise Refused(403, access.FORBIDDEN)
    return access.read_scope(token, conversation=conversation)


def _answer_change(done: WriteResult) -> WrittenAnswer:
    if done.reason == "unchanged" and done.id is None and done.notes:
        raise Refused(404, "There is no such message.")
    return WrittenAnswer.of_result(done)


@router.post("/search", responses=refusals())
def search(request: Request, body: SearchBody) -> HitsAnswer:
    """Return what is found in memories, diary and chat, as far as the scope sees it, newest first."""
    with refuse_bad_values():
        hits = synth_core_memory.search_memories(
            tags=body.tags,
            keywords=body.keywords,
            query=body.query,
            include_chat=body.include_chat,
            limit=body.limit,
            ranking=body.ranking,
            since=body.since,
            until=body.until,
            scope=body.scope(request),
            **_asking(request),
        )
    return HitsAnswer.model_validate({"hits": hits})


@router.post("/memories", responses=refusals())
def add_memory(request: Request, body: MemoryBody) -> StoredMemoryAnswer:
    """Store one memory item; it is seen where its scope is."""
    more: dict[str, Any] = {"pinned": body.pinned}
    if body.kind is not None:
        more["kind"] = body.kind
    if body.importance is not None:
        more["importance"] = body.importance
    with refuse_bad_values():
        row = insert_memory(
            body.text, body.author, SOURCE, body.tags, body.scope(request), timestamp=body.date, **more,
            **_asking(request),
        )  # fmt: skip
    return StoredMemoryAnswer.model_validate({"id": row})


def _read_asking_scope(
    request: Request,
    conversation: Annotated[str | None, Query(max_length=512, description="Who asks: where.")] = None,
    participant: Annotated[str | None, Query(max_length=255, description="Who asks.")] = None,
    server: Annotated[str, Query(max_length=191, description="Who asks: in which community.")] = "",
    privacy: Annotated[Privacy | None, Query(description="What the host says of the conversation.")] = None,
) -> Scope:
    return Who(conversation=conversation, participant=participant, server=server, privacy=privacy).scope(request)


AskingScope = Annotated[Scope, Depends(_read_asking_scope)]


@router.get("/memories", responses=refusals())
def list_memories(
    request: Request,
    scope: AskingScope,
    q: Annotated[str, Query(max_length=10_000, description="Words; each must stand in the text. Blank lists.")] = "",
    kinds: Annotated[list[str] | None, Query(description="Only these kinds; the parameter repeated.")] = None,
    limit: Limit = 50,
    offset: Offset = 0,
) -> ItemPageAnswer:
    """Return a page of the memory items that the scope sees, newest first."""
    with refuse_bad_values():
        page = lifelong.search_items(q, kinds, limit=limit, offset=offset, scope=scope, **_asking(request))
    return ItemPageAnswer.model_validate(page)


@router.delete("/memories/{id}", responses=refusals(404))
def delete_memory(request: Request, scope: AskingScope, id: Annotated[ItemId, Path()]) -> DeletedAnswer:  # noqa: A002 - the documented name
    """Archive a memory item; an operator can bring it back."""
    done = lifelong.delete_items([id], scope=scope, **_asking(request))
    if done.unknown:
        raise ItemNotFoundError(id)
    return DeletedAnswer(deleted=done.count)
