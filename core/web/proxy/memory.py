"""Builds the memories for requests and stores turns, in separate threads.

A slow or locked database delays only these threads: a request continues without memories after PROXY_MEMORY_SECONDS,
and storing a turn is retried after its response. This time does not include waiting for other requests.
"""

import asyncio
import logging
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ... import llm
from ...base import logs
from ...calls.call import Call
from ...config import Settings
from ...context.lines import name_after_id
from ...errors import ConfigError, StoreError
from ...personas import fill_names, get_persona_text
from ...prompt.structure import MESSAGES, write_line, write_opening
from ...scope import Scope
from ...templates.render import Renderer
from ...transcripts import save_transcript
from ..access import WebContext
from .answer import MAX_BYTES, AnswerReader
from .identity import INTERFACE, NOBODY
from .messages import strip_name
from .recall import recall

PLACES = 3
"""Maximum number of requests whose memories are built at once; more at once would not be faster."""
SAVE_DELAYS = (1, 2, 4, 8, 15, 30, 60, 60, 60)
"""Seconds to wait before each retry of storing a turn: about four minutes in total."""
EARLIER_SECONDS = 1.0
"""Longest wait of a request until the preceding turn is stored."""
STOP_SECONDS = 6.0
"""Longest wait at shutdown for turns that are being stored."""


@dataclass(frozen=True, slots=True)
class Turn:
    lines: list[dict[str, Any]]
    scope: Scope
    name: str | None
    model: str = ""
    """Model of the request, for workers without LLM_MODEL."""
    after: str = ""
    """Id of the preceding response, if the model server holds the earlier lines; else blank."""


class TurnMemory:
    def __init__(self, context: WebContext) -> None:
        self._context = context
        self._building = ThreadPoolExecutor(8, "proxy-build")
        self._saving = ThreadPoolExecutor(4, "proxy-save")
        self._tasks: dict[asyncio.Task[None], Scope] = {}
        """Tasks that store turns, with the scopes of these turns."""
        self._places = asyncio.Semaphore(PLACES)
        self._timeouts = 0
        """Number of consecutive requests whose memories were not ready in time."""

    async def build(self, turn: Turn, question: str, said: Sequence[str], settings: Settings) -> str:
        """Build the text to insert before a person's message; raise TimeoutError after PROXY_MEMORY_SECONDS.

        The limit starts once fewer than PLACES builds run. While the database hangs, it includes the wait before.
        """
        whose, began = (turn.scope.persona, turn.scope.participant), time.monotonic()
        earlier = [task for task, other in self._tasks.items() if (other.persona, other.participant) == whose]
        if earlier:  # a client may send the next message within milliseconds
            await asyncio.wait(earlier, timeout=EARLIER_SECONDS)
        async with self._places:
            if self._timeouts >= PLACES and time.monotonic() - began >= settings.proxy_memory_seconds:
                raise TimeoutError
            given = (self._context, settings, turn, question, said)
            work = asyncio.get_running_loop().run_in_executor(self._building, build_block, *given)
            done, _ = await asyncio.wait([work], timeout=settings.proxy_memory_seconds)
            self._timeouts = 0 if done else self._timeouts + 1
            if not done:
                work.cancel()
                raise TimeoutError
            return work.result()

    def save(
        self, turn: Turn, answer: str | None, settings: Settings, after: asyncio.Task[None] | None = None
    ) -> asyncio.Task[None]:
        """Start storing a turn after the task `after` ends; if `answer` is None, store only the person's lines."""
        task = asyncio.get_running_loop().create_task(self._save(turn, answer, settings, after))
        self._tasks[task] = turn.scope
        task.add_done_callback(self._tasks.pop)
        return task

    async def close(self) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=STOP_SECONDS)
        for task in self._tasks:
            task.cancel()
        self._building.shutdown(wait=False, cancel_futures=True)
        self._saving.shutdown(wait=False, cancel_futures=True)

    async def _save(self, turn: Turn, answer: str | None, settings: Settings, after: asyncio.Task[None] | None) -> None:
        def attempt() -> None:
            db = self._context.database()
            asking: dict[str, Any] = {"db": db, "settings": settings, "scope": turn.scope}
            save_transcript(turn.lines, answer, name=turn.name, after=turn.after, **asking)
            if answer is not None:
                with suppress(StoreError):
                    llm.note_request(db, turn.model)

        if after is not None:
            await asyncio.wait([after])
        for delay in (*SAVE_DELAYS, None):
            try:
                await asyncio.get_running_loop().run_in_executor(self._saving, attempt)
                return
            except Exception as error:  # noqa: BLE001 - the answer was sent; the next request repeats the lines
                if delay is None or not isinstance(error, StoreError):
                    logs.warning("proxy_not_stored", error=type(error).__name__)
                    return
            await asyncio.sleep(delay)


class OpenTurn:
    """A turn whose answer is being read. The person's lines of a streamed turn are stored before the answer.

    `length` is the number of bytes of an uncompressed answer, None if unknown.
    """

    def __init__(self, memory: TurnMemory, turn: Turn, settings: Settings, length: int | None) -> None:
        self._memory, self._turn, self._settings = memory, turn, settings
        self._reader = AnswerReader(length)
        self._is_stored = False
        # an answer of known length arrives at once: lines and answer are stored in one transaction
        self._lines = memory.save(turn, None, settings) if length is None else None

    def feed(self, chunk: bytes) -> None:
        self._reader.feed(chunk)
        if self._reader.is_complete:
            self.finish()

    def finish(self) -> None:
        """Store the answer, only once; if it is incomplete, store only the person's lines."""
        if self._is_stored:
            return
        self._is_stored, text = True, self._reader.text()
        if self._reader.is_too_long:
            logs.warning("proxy_not_stored", error="TooLong", max_bytes=MAX_BYTES)
        elif text is None:
            logs.event(logging.INFO, "proxy_not_stored", error="NoAnswer")
        if text is not None or self._lines is None:
            own = None if text is None else strip_name(text, self._turn.scope.persona)
            self._memory.save(self._turn, own, self._settings, self._lines)


def build_opening(turn: Turn, settings: Settings) -> str:
    """Build the system message for a request without one: the persona's text and instructions, or ""."""
    try:
        text = get_persona_text(settings=settings, scope=turn.scope)
    except ConfigError as error:
        logs.warning("proxy_without_persona_text", error=type(error).__name__)
        return ""
    if not text.strip():
        return ""
    persona = name_after_id(turn.scope.persona)
    asker = "the user" if turn.name in (None, NOBODY) else turn.name
    renderer, lite = Renderer(settings.templates_dir), bool(settings.prompt_lite_mode)
    line = write_line(renderer, MESSAGES["text"], INTERFACE, lite=lite)
    return "\n\n".join(write_opening(fill_names(text, persona, asker), line, persona, asker))


def build_block(context: WebContext, settings: Settings, turn: Turn, text: str, said: Sequence[str] = ()) -> str:
    """Build the text with the memories for a person's message, without the texts in `said`; "" without memories."""
    scope = turn.scope
    message: dict[str, Any] = {"text": text, "interface_path": scope.conversation}
    if turn.name and scope.participant and turn.name != NOBODY:
        message["from_user"] = {"full_name": turn.name}
    return recall(Call(context.database(), settings, scope), message, turn.lines, said, after=turn.after)
