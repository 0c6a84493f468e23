"""Routes for hosts. Each reads scope and message, calls one public function, and returns its result."""

from itertools import chain, islice
from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import APIRouter, Depends, Path, Query, Request

from .. import chat_history_cache, lifelong, prompt_engine, synth_core_memory
from ..context.incoming import read_part
from ..db import insert_memory
from ..privacy import scope_of
from ..scope import KEY_BYTES, Scope
from ..shapes import WriteResult
from ..text.strict_json import make_strict
from ..tokens import may_change
from ..tokens.shapes import is_own_place
from ..transcripts import build_reply
from ..transcripts import save_turn as store_turn
from . import access, answers, bodies
from .errors import Refused, refuse_bad_values

router: APIRouter = APIRouter(prefix="/v1", tags=["For hosts"])


class HostCall:
    def __init__(self, request: Request) -> None:
        context = request.app.state.context
        self.token = access.get_token(request)
        self.asking: dict[str, Any] = {"db": context.database(), "settings": context.values()}

    def by(self, who: bodies.Who) -> dict[str, Any]:
        """Return the arguments db, settings and scope (of `who`); raise if the token does not allow that scope."""
        return {**self.asking, "scope": self._narrow(who)}

    def _narrow(self, who: bodies.Who | Scope) -> Scope:
        return access.read_scope(self.token, **{name: getattr(who, name) for name in _WHO})

    def read_message(self, message: bodies.HostMessage) -> tuple[dict[str, Any], Scope]:
        """Return (a message as public functions expect it, its scope); raise if the token does not allow that scope."""
        plain = message.model_dump(exclude_unset=True)
        with refuse_bad_values():
            said = scope_of(plain, scope=Scope(self.token.persona), **self.asking)
        return plain, said if self.token.kind == "host" else self._narrow(said)


_WHO = tuple(bodies.Who.model_fields)
Host = Annotated[HostCall, Depends(HostCall)]


@router.post("/prompt")
def build_prompt(host: Host, body: bodies.PromptBody) -> answers.PromptAnswer:
    """Return the prompt for one message: its memories and history, within the limit."""
    message, scope = host.read_message(body.message)
    limits = {"max_chars": body.max_chars, "limit_tokens": body.limit_tokens}
    asked: dict[str, Any] = {**limits, "scope": scope, **host.asking}
    prompt, messages = None, None
    with refuse_bad_values():
        if body.style == "prompt":
            prompt, report = prompt_engine.explain_json_prompt(message, body.context_memory, **asked)
        else:
            asked["dialect"] = body.style
            messages, report = prompt_engine.explain_messages(message, body.context_memory, **asked)
    return answers.PromptAnswer(
        prompt=make_strict(prompt)[0],
        messages=make_strict(messages)[0],
        report=dict(make_strict(report)[0]) if body.report else None,
    )


@router.post("/messages")
def save_messages(host: Host, body: bodies.MessagesBody) -> answers.SavedMessagesAnswer:
    """Store all messages, oldest first, with the persona's replies, or none. A message already stored is skipped."""
    lines = [_read_lines(host, each, f"messages.{at}.message.") for at, each in enumerate(body.messages)]
    results = iter(chat_history_cache.save_together([*chain.from_iterable(lines)], **host.asking))
    return answers.SavedMessagesAnswer(messages=[_answer(*islice(results, len(each))) for each in lines])


@router.post("/turns")
def save_turn(host: Host, body: bodies.TurnBody) -> answers.SavedAnswer:
    """Store a whole turn: the message, the persona's reply, and a short-term entry of both."""
    (message, scope), (reply, _) = _read_lines(host, body)
    return _answer(*store_turn(message, reply, name=body.reply.name, scope=scope, **host.asking))


def _read_lines(host: HostCall, new: bodies.NewMessage, inside: str = "message.") -> list[tuple[dict[str, Any], Scope]]:
    """Return (message, scope) for a message with its conversation filled in, and for the persona's reply if given."""
    message, scope = host.read_message(new.message)
    path = message.get("interface_path") or scope.conversation
    if not path:
        raise Refused(422, f"{inside}interface_path is missing.", fields=(f"{inside}interface_path",))
    messages = [{**message, "interface_path": path}]
    if new.reply is not None:
        at = read_part(message, "time") if new.reply.date is None else new.reply.date
        given: dict[str, Any] = {"name": new.reply.name, "at": at, "message_id": new.reply.message_id}
        messages.append(build_reply(new.reply.text, path, scope.persona, **given))
    return [(each, scope) for each in messages]


def _answer(saved: WriteResult, reply: WriteResult | None = None) -> answers.SavedAnswer:
    answer = answers.SavedAnswer.of_result(saved)
    answer.reply = None if reply is None else answers.WrittenAnswer.of_result(reply)
    return answer


ConversationPath = Annotated[
    str, Path(min_length=1, max_length=KEY_BYTES["conversation"], description="Conversation key, slashes not encoded.")
]
MessageId = Annotated[str, Path(min_length=1, max_length=191, description="Id on its platform, a slash as %2F.")]


def _change_place(host: Host, request: Request, conversation: ConversationPath, id: MessageId) -> dict[str, Any]:  # noqa: A002 - the documented name
    """Return the arguments for changing a message; raise if a participant may not change it (shared conversations)."""
    sent = unquote(bytes(request.scope.get("raw_path") or b"").rpartition(b"/")[2].decode("latin-1"))
    if (whole := f"{conversation}/{id}").endswith(f"/{sent}"):
        conversation, id = whole.removesuffix(f"/{sent}"), sent  # noqa: A001
    if host.token.kind == "scope" and not is_own_place(conversation, host.token.participant or ""):
        raise Refused(403, access.FORBIDDEN)
    scope = access.read_scope(host.token, conversation=conversation)
    return {**host.asking, "message": id, "interface_path": conversation, "scope": scope}


ChangePlace = Annotated[dict[str, Any], Depends(_change_place)]


@router.patch("/messages/{conversation:path}/{id}", responses=bodies.NOT_FOUND)
def edit_message(place: ChangePlace, body: bodies.MessageEditBody) -> answers.WrittenAnswer:
    """Change the text of a stored message."""
    return _answer_change(chat_history_cache.edit_chat_message(message_text=body.text, **place))


@router.delete("/messages/{conversation:path}/{id}", responses=bodies.NOT_FOUND)
def delete_message(place: ChangePlace) -> answers.WrittenAnswer:
    """Delete a stored message for good."""
    return _answer_change(chat_history_cache.delete_chat_message(**place))


def _answer_change(done: WriteResult) -> answers.WrittenAnswer:
    if done.reason == "not_found":
        raise Refused(404, "There is no such message.")
    return answers.WrittenAnswer.of_result(done)


@router.post("/search")
def search(host: Host, body: bodies.SearchBody) -> answers.HitsAnswer:
    """Search memories, diary and chat within the scope. Hits come newest first, in mode `all` oldest first."""
    if not (body.tags or body.keywords or (body.query or "").strip()):
        raise Refused(422, "query is missing. Give query, tags or keywords.", fields=("query",))
    asked = body.model_dump(exclude=set(_WHO))
    with refuse_bad_values():
        hits, report = synth_core_memory.explain_search(**asked, **host.by(body))
    return answers.HitsAnswer(hits=hits, total=report.get("total"), notes=report["notes"])


@router.post("/memories")
def add_memory(host: Host, body: bodies.MemoryBody) -> answers.StoredMemoryAnswer:
    """Store one memory item, visible in its scope."""
    if not body.text.strip():
        raise Refused(422, "text is blank. A memory needs one.", fields=("text",))
    more = body.model_dump(include={"kind", "importance"}, exclude_none=True)
    asking = host.by(body)
    with refuse_bad_values():
        row = insert_memory(
            body.text, body.author, "api", body.tags, timestamp=body.date, pinned=body.pinned, **more, **asking
        )
    return answers.StoredMemoryAnswer(id=row)


def _read_asking(host: Host, who: Annotated[bodies.WhoAsks, Query()]) -> dict[str, Any]:
    return host.by(who)


Asking = Annotated[dict[str, Any], Depends(_read_asking)]


@router.get("/memories")
def list_memories(asking: Asking, asked: Annotated[bodies.ItemList, Query()]) -> lifelong.ItemPage:
    """Return a page of the memory items that the scope sees, newest first."""
    with refuse_bad_values():
        return lifelong.search_items(**asked.model_dump(), **asking)


@router.get("/profile")
def read_profile(asking: Asking, asked: Annotated[bodies.ProfileQuery, Query()]) -> answers.ProfileAnswer:
    """Return the statements of a person about themselves that the scope may see."""
    return answers.ProfileAnswer(statements=lifelong.profile(asked.about, limit=asked.limit, **asking))


@router.delete("/memories/{id}", responses=bodies.NOT_FOUND)
def delete_memory(host: Host, asking: Asking, id: Annotated[bodies.ItemId, Path()]) -> answers.DeletedAnswer:  # noqa: A002 - as above
    """Archive a memory item; an operator can restore it. A repeated request deletes 0."""
    if host.token.kind == "scope" and not may_change(id, **asking):
        raise Refused(403, access.FORBIDDEN)
    done = lifelong.delete_items([id], **asking)
    if done.unknown:
        raise Refused(404, f"No item {id} is here. Correct it, or send conversation and participant.", fields=("id",))
    return answers.DeletedAnswer(deleted=done.count)
