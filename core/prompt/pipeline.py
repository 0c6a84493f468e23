"""One message to one prompt: what belongs to it is gathered (`gather.py`), written and fitted.

assemble, fit    as a JSON prompt                            structure.py, fit.py
MessageLines     as chat messages, or as one text of records for somebody else's request    message_lines.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from .. import hooks
from ..base.limits import read_engine_limit, read_limit_argument
from ..database import stored_values
from ..database.engine import Database
from ..errors import PromptTooLargeError
from ..memories import shown_texts
from ..text.hits import content_digest
from ..text.sizes import resolve_counter
from .call import PromptCall, PromptRequest, in_zone_of_asker, open_call
from .fit import Fitted, Space, fit
from .gather import Gathered, gather
from .message_lines import MOST_MEMORIES, MessageLines
from .messages import Messages, check_dialect
from .report import Report
from .structure import ask_actions, assemble

LONGEST_RECORDS = 1_000_000
"""Most characters of records where nothing else limits them."""


def build(request: PromptRequest) -> tuple[dict[str, Any], Report]:
    """Return prompt and report; see `prompt_engine.explain_json_prompt`."""
    space, counter = _read_space(request)
    call = _open(request, space)
    with _note_repairs(call):
        gathered = _gather(call)
        prompt = assemble(call, gathered, ask_actions(call))
        parts: dict[str, Any] = {"rank": gathered.rank, "ids": gathered.ids, "words": gathered.words}
        fitted = _fit(call, space, counter, lambda limits: fit(prompt, limits, **parts))
    _note_shown(call, gathered, fitted.memories)
    return fitted.prompt, call.report


def build_messages(request: PromptRequest, dialect: str) -> tuple[Messages | dict[str, Any], Report]:
    """Return chat messages and report; see `prompt_engine.explain_messages`."""
    check_dialect(dialect)
    space, counter = _read_space(request)
    call = _for_lines(_open(request, space))
    with _note_repairs(call):
        gathered = _gather(call)
        lines = MessageLines(call, gathered, ask_actions(call))
        fitted = _fit(call, space, counter, lambda limits: lines.write_messages(dialect, limits))
    _note_shown(call, gathered, fitted.memories)
    return fitted.prompt, call.report


def build_records(request: PromptRequest, held: Sequence[str] = ()) -> Fitted:
    """Return what belongs to a message as one text of plain lines, for a request that somebody else writes.

    Args:
        held: texts that the request has already.
    """
    limit_chars = read_limit_argument("max_chars", request.max_chars)
    call = _for_lines(_open(request, Space(limit_chars)))
    gathered = gather(call)
    lines = MessageLines(call, gathered, ask_actions(call), as_turns=False)
    records = lines.write_records(limit_chars or call.settings.max_prompt_chars or LONGEST_RECORDS, held)
    _note_shown(call, gathered, records.memories)
    return records


def _read_space(request: PromptRequest) -> tuple[Space, str | None]:
    """Return the limits that were asked for, and the name of the counter of tokens, None where there is none."""
    limit_chars = read_limit_argument("max_chars", request.max_chars)
    if request.counter is None and request.limit_tokens is None:
        return Space(limit_chars), None
    count, name = resolve_counter(request.counter)
    return Space(limit_chars, request.limit_tokens, count), name


def _open(request: PromptRequest, space: Space) -> PromptCall:
    call = open_call(request)
    limit_chars = space.limit_chars or (0 if hooks.get_hook("engine_limit") else call.settings.max_prompt_chars)
    return replace(call, limit_chars=limit_chars)


def _for_lines(call: PromptCall) -> PromptCall:
    """Return the call with as many memories as fit where nobody says how many, and times in the asker's zone."""
    return replace(in_zone_of_asker(call), most_memories=MOST_MEMORIES)


def _gather(call: PromptCall) -> Gathered:
    if call.limit_chars and len(call.message.text) > call.limit_chars:
        call.report.note("text alone is over the limit; nothing was searched or read for it")
        return Gathered()
    return gather(call)


@contextmanager
def _note_repairs(call: PromptCall) -> Iterator[None]:
    """Note what was repaired and repeated while a prompt was built."""

    def count() -> tuple[int, int]:
        return stored_values.count_repairs(), call.db.count_repeats() if isinstance(call.db, Database) else 0

    before = count()
    yield
    repairs, repeats = (now - then for now, then in zip(count(), before, strict=True))
    if repairs:
        call.report.note(f"{repairs} stored values could not be read as they are; `prompt-engine db check` names them")
    if repeats:
        call.report.note(f"{repeats} statements were repeated on a new connection")


def _fit(call: PromptCall, space: Space, counter: str | None, write: Callable[[Space], Fitted]) -> Fitted:
    """Return what `write` gives within the limits, entered in the report; a counter that fails counts for nothing."""
    if space.limit_chars is None:  # where the caller says nothing, the hook, else the setting
        nothing: tuple[int | None, str | None] = (None, None)
        limit, note = call.guard.hook("engine_limit", {}, read_engine_limit, nothing)
        call.report.note(*([note] if note else ()))
        space = Space(limit or call.settings.max_prompt_chars or None, space.limit_tokens, space.counter)

    def work(limits: Space) -> Fitted:
        fitted = write(limits)
        call.report.add(fitted, limits, counter)
        return fitted

    fitted = call.guard("counter", lambda: work(space), None)
    if fitted is None:
        space = Space(space.limit_chars)
        fitted = work(space)
    if fitted.broken is not None:
        in_tokens = fitted.broken == "tokens"
        size, most = (sum(fitted.parts.values()), space.limit_tokens) if in_tokens else (fitted.size, space.limit_chars)
        raise PromptTooLargeError(size, most or 0, fitted.parts, unit=fitted.broken)
    return fitted


def _note_shown(call: PromptCall, gathered: Gathered, shown: Sequence[Any]) -> None:
    """Keep which memories are in the prompt: what repeats them is not stored as something new."""
    if call.db is None:
        return
    chosen = {(one.hit["source"], one.hit["id"]): one.row.digest for one in gathered.recalled.chosen}
    texts = {chosen.get((hit.get("source"), hit.get("id"))) for hit in shown}
    said = content_digest(call.message.text)
    shown_texts.note_turn(call.db, call.scope, (text for text in texts if text and text != said))
