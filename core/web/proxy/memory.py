"""Build what is added to a request and store turns, in threads of their own.

A database that is locked or slow holds up these threads and nothing else: a request goes on without memory after
PROXY_MEMORY_SECONDS, and a turn is stored after its response, again and again until the database takes it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ...base import logs
from ...config import Settings
from ...context.lines import find_persona_name
from ...errors import ConfigError, StoreError
from ...llm import table_usage as usage
from ...memories.rules_modes import MODES
from ...personas import fill_names, get_persona_text
from ...prompt.message_lines import HEAD
from ...prompt.pipeline import build_records
from ...prompt.request import PromptRequest
from ...prompt.structure import MESSAGES, write_line, write_opening
from ...scope import Scope
from ...templates.render import Renderer
from ...transcripts import find_replaced, save_transcript
from ..access import WebContext
from .identity import INTERFACE, NOBODY

BUILD_THREADS = 8
SAVE_THREADS = 4
SAVE_DELAYS = (1, 2, 4, 8, 15, 30, 60, 60, 60)
"""Seconds before each further attempt to store a turn: about four minutes in all."""
EARLIER_SECONDS = 1.0
"""Longest wait of a request for the turn before it, which is being stored."""
STOP_SECONDS = 30.0
"""Longest wait at the end for turns that are being stored."""


@dataclass(frozen=True, slots=True)
class Turn:
    lines: list[dict[str, Any]]
    scope: Scope
    name: str | None
    model: str = ""
    """Asked by workers that have no LLM_MODEL."""


class TurnMemory:
    def __init__(self, context: WebContext) -> None:
        self._context = context
        self._building = ThreadPoolExecutor(BUILD_THREADS, "proxy-build")
        self._saving = ThreadPoolExecutor(SAVE_THREADS, "proxy-save")
        self._tasks: set[asyncio.Task[None]] = set()
        self._running: dict[asyncio.Future[None], Scope] = {}
        """Turns that are being written at this moment, and whose they are."""

    async def build(self, turn: Turn, question: str, said: Sequence[str], settings: Settings) -> str:
        """Return what is put in front of a person's message; raises TimeoutError after PROXY_MEMORY_SECONDS."""
        scope = turn.scope
        async with asyncio.timeout(settings.proxy_memory_seconds):
            earlier = [
                work
                for work, other in self._running.items()
                if (other.persona, other.participant) == (scope.persona, scope.participant)
            ]
            if earlier:  # the next message may come within milliseconds of the answer
                await asyncio.wait(earlier, timeout=EARLIER_SECONDS)
            return await asyncio.get_running_loop().run_in_executor(
                self._building, build_block, self._context, settings, turn, question, said
            )

    def save(self, turn: Turn, answer: str, settings: Settings) -> None:
        task = asyncio.get_running_loop().create_task(self._save(turn, answer, settings))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=STOP_SECONDS)
        for task in self._tasks:
            task.cancel()
        self._building.shutdown(wait=False, cancel_futures=True)
        self._saving.shutdown(wait=False, cancel_futures=True)

    async def _save(self, turn: Turn, answer: str, settings: Settings) -> None:
        def attempt() -> None:
            db = self._context.database()
            save_transcript(turn.lines, answer, name=turn.name, db=db, settings=settings, scope=turn.scope)
            with suppress(StoreError):
                usage.note_request(db, turn.model)

        for delay in (*SAVE_DELAYS, None):
            work = asyncio.get_running_loop().run_in_executor(self._saving, attempt)
            self._running[work] = turn.scope
            try:
                await work
                return
            except Exception as error:  # noqa: BLE001 - the answer was given; the next request brings the lines again
                if delay is None or not isinstance(error, StoreError):
                    logs.warning("proxy_not_stored", error=type(error).__name__)
                    return
            finally:
                del self._running[work]
            await asyncio.sleep(delay)


def build_opening(turn: Turn, settings: Settings) -> str:
    """Return the system message of a request that has none: the persona's text first; blank where it has none."""
    try:
        text = get_persona_text(settings=settings, scope=turn.scope)
    except ConfigError as error:
        logs.warning("proxy_without_persona_text", error=type(error).__name__)
        return ""
    if not text.strip():
        return ""
    persona = find_persona_name(turn.scope.persona, [])
    asker = "the user" if turn.name in (None, NOBODY) else turn.name
    line = write_line(
        Renderer(settings.templates_dir), MESSAGES["text"], INTERFACE, lite=bool(settings.prompt_lite_mode)
    )
    return "\n\n".join(write_opening(fill_names(text, persona, asker), line, persona, asker))


def build_block(context: WebContext, settings: Settings, turn: Turn, text: str, said: Sequence[str] = ()) -> str:
    """Return what is put in front of a person's message, blank where nothing belongs to it."""
    limit_chars = settings.proxy_context_chars
    if limit_chars <= len(HEAD):
        return ""
    scope, db = turn.scope, context.database()
    message: dict[str, Any] = {"message_id": None, "date": None, "text": text, "interface_path": scope.conversation}
    if turn.name and scope.participant and turn.name != NOBODY:
        message["from_user"] = {"full_name": turn.name}
    if MODES[settings.memory_mode].how == "tool":  # the model is offered no tool here: the words themselves save
        settings = settings.replace(memory_mode="plus")
    replaced = find_replaced(turn.lines, db=db, settings=settings, scope=scope)
    request = PromptRequest(
        message, max_chars=limit_chars, db=db, settings=settings, scope=scope, replaced_rows=replaced
    )
    return build_records(request, said).text
