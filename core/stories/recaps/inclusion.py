"""Which recaps of messages are included: the walk from the newest message to the limit."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from ...access import table_conversations
from ...base import logs
from ...calls.call import GivenSettings, open_call
from ...calls.defaults import settings_for
from ...config import Settings
from ...database.engine import Connection, Database
from ...database.readers import Reader, reader_in
from ...messages import table_lines, table_recaps
from ...messages.table_lines import Line
from ...scope import Scope
from ...text.sizes import Counter, resolve_counter
from ..calls import no_such_message, open_conversation, open_message
from . import rules
from .rules import INCLUDED, Reason

TOKENS_OF_ONE = 8
"""Tokens of a short recap: what the limit holds of those is the first page. Each further page is twice as long."""
SHORTEST_PAGE, LONGEST_PAGE = 32, 6400


PROGRAM, DISABLED = "program_message", "disabled"
"""Keys of a message's metadata: it is the program's own; its character was disabled in the group."""


def choose_counter(counter: Counter | None, settings: Settings) -> Counter:
    """Return the counter to use: the host's, else that of LLM_MODEL, else the estimate."""
    return functools.cache(resolve_counter(counter, settings.llm_model or None)[0])


def build_columns(memory: str | None, provenance: str, count: Counter) -> dict[str, Any]:
    """Return the columns of a recap with a new memory, which is not stale; its tokens are counted here."""
    return {
        "memory": memory,
        "stale": False,
        "provenance": provenance,
        "token_count": None if memory is None else count(memory),
        **({"include": None} if memory is None else {}),
    }


def left_out(line: Line, settings: Settings, disabled: Collection[str] = (), tokens: int | None = None) -> Reason:
    """Return the first rule by which a message is left out, blank for one that takes part.

    `tokens` are those of its text; None where MESSAGE_LENGTH_THRESHOLD does not ask.
    """
    named = [name for name in (line.sender_id, line.sender_name) if name]
    checks: tuple[tuple[Reason, bool], ...] = (
        ("program", line.metadata.get(PROGRAM) is True),
        ("excluded", line.excluded),
        ("user", line.role == "user" and not settings.include_user_messages),
        ("thought", line.role == "thought"),
        ("system", line.role == "system" and not settings.include_system_messages),
        ("narrator", line.role == "narrator" and not settings.include_narrator_messages),
        ("disabled", line.metadata.get(DISABLED) is True or any(name in disabled for name in named)),
        ("short", tokens is not None and tokens < settings.message_length_threshold),
    )
    return next((reason for reason, holds in checks if holds), "")


def read_limit(settings: Settings) -> int:
    """Return the tokens message recaps may take together."""
    limit, kind = settings.message_recap_context_limit, settings.message_recap_context_type
    if kind == "percent" and limit > 100:
        logs.warning("message_recap_context_limit", value=limit, allowed="0 to 100 percent", used=rules.DEFAULT_PERCENT)
    return rules.limit_tokens(limit, kind, settings.context_tokens)


def choose_lines(lines: Sequence[Line], settings: Settings, count: Counter) -> list[Line]:
    """Return the messages, read with their texts, that no setting leaves out."""
    measures = settings.message_length_threshold > 0
    return [
        line
        for line in lines
        if line.text.strip() and not left_out(line, settings, (), count(line.text) if measures else None)
    ]


def choose_recaps(
    read: Reader, persona: str, conversation: str, settings: Settings, count: Counter, disabled: Collection[str] = ()
) -> tuple[int, ...]:
    """Return the messages whose recaps take part and fit, newest first."""
    limit = read_limit(settings)

    def candidates() -> Iterator[tuple[int, int]]:
        for page in _iter_pages(read, persona, conversation, limit):
            sizes: dict[int, int] = {}
            if settings.message_length_threshold > 0:
                texts = table_lines.read_texts(read, persona, [line.row_id for line, _ in page])
                sizes = {row_id: count(text) for row_id, text in texts.items()}
            for line, tokens in page:
                if not left_out(line, settings, disabled, sizes.get(line.row_id)):
                    yield line.row_id, tokens

    return rules.choose(candidates(), limit, separator_tokens=count("\n"))


def _iter_pages(read: Reader, persona: str, conversation: str, limit: int) -> Iterator[list[tuple[Line, int]]]:
    before, size = None, min(max(limit // TOKENS_OF_ONE, SHORTEST_PAGE), LONGEST_PAGE)
    while True:
        page = table_recaps.read_page(read, persona, conversation, size, before=before)
        if page:
            yield page
        if len(page) < size:
            return
        before, size = page[-1][0], min(2 * size, LONGEST_PAGE)


def update_included(
    connection: Connection,
    persona: str,
    conversation: str,
    settings: Settings,
    counter: Counter | None = None,
    disabled: Collection[str] = (),
) -> tuple[tuple[int, ...], int]:
    """Store which recaps are included; return their messages, newest first, and how many recaps that changed."""
    read = reader_in(connection)
    chosen = choose_recaps(read, persona, conversation, settings, choose_counter(counter, settings), disabled)
    now = table_recaps.read_included(read, persona, conversation)
    new = [row for row in chosen if now.get(row) != INCLUDED]
    table_recaps.set_include(connection, persona, new, INCLUDED)
    table_recaps.set_include(connection, persona, now.keys() - set(chosen), None)
    return chosen, len(new) + len(now.keys() - set(chosen))


# Public functions


def check_message_exclusion(
    message: object,
    *,
    interface_path: object = None,
    disabled: Collection[str] = (),
    counter: Counter | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> Reason:
    """Return why a message takes no part in recaps: the first rule that holds, blank when it takes part.

    Args:
        message: the row id that saving returned; with `interface_path` the platform's message id.
        disabled: sender ids or names of characters that are disabled in the group.
        counter: `text -> int`; by default that of LLM_MODEL.

    Returns:
        Blank, `program`, `excluded`, `user`, `thought`, `system`, `narrator`, `disabled` or `short`.

    Raises:
        MessageError: there is no such message, or none that the scope sees.
        StoreReadError: nothing could be read.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.chat_history_cache import save_chat_message
    >>> from prompt_engine.stories import check_message_exclusion
    >>> db = open_database("sqlite://")
    >>> message = save_chat_message("web/42", "Ann left the house.", sender_id="ann", db=db).id
    >>> check_message_exclusion(message, db=db), check_message_exclusion(message, disabled=["ann"], db=db)
    ('', 'disabled')
    """
    call = open_message(open_call(db, settings, scope), message, interface_path)
    row = None if call.row_id is None else table_lines.find_facts(call.reader(), call.persona, call.row_id)
    if row is None:
        raise no_such_message()
    tokens = None
    if call.settings.message_length_threshold > 0:
        text = table_lines.read_texts(call.reader(), call.persona, [row.row_id]).get(row.row_id, "")
        tokens = choose_counter(counter, call.settings)(text)
    return left_out(row, call.settings, disabled, tokens)


def get_short_token_limit(
    *,
    db: Database | None = None,  # noqa: ARG001 - every public function takes it
    settings: GivenSettings = None,
    scope: Scope | None = None,  # noqa: ARG001 - every public function takes it
) -> int:
    """Return the tokens message recaps may take together.

    Returns:
        MESSAGE_RECAP_CONTEXT_LIMIT in tokens, worked out of CONTEXT_TOKENS where it is a share.

    Raises:
        ConfigError: the settings cannot be used.

    >>> from prompt_engine.stories import get_short_token_limit
    >>> get_short_token_limit(settings={"CONTEXT_TOKENS": 8000, "MESSAGE_RECAP_CONTEXT_LIMIT": 10})
    800
    """
    return read_limit(settings_for(settings))


def update_message_inclusion_flags(
    conversation: object = None,
    *,
    disabled: Collection[str] = (),
    counter: Counter | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> tuple[int, ...]:
    """Work out which recaps are included, and return their messages' row ids, oldest first.

    Args:
        conversation: its key; None is the scope's.
        disabled, counter: as for `check_message_exclusion`.

    Returns:
        Row ids of the messages whose recaps are included now; () without any.

    Raises:
        StoreReadError: nothing could be read.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.chat_history_cache import save_chat_message
    >>> from prompt_engine.stories import edit_memory, update_message_inclusion_flags
    >>> db = open_database("sqlite://")
    >>> message = save_chat_message("web/42", "Ann left the house.", sender_id="ann", db=db).id
    >>> edit_memory(message, "Ann left.", db=db).stored
    True
    >>> update_message_inclusion_flags("web/42", db=db) == (message,)
    True
    """
    call = open_conversation(open_call(db, settings, scope), conversation)
    if call.place is None:
        return ()

    def work(connection: Connection) -> tuple[int, ...]:
        table_conversations.find(connection, call.persona, call.conversation, lock=True)
        chosen, _ = update_included(connection, call.persona, call.conversation, call.settings, counter, disabled)
        return chosen[::-1]

    return call.db.idempotent_transaction(work, source="message_recaps")


def get_recap_text(
    conversation: object = None,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> str:
    """Return the included recaps of a conversation, oldest first, one a line; blank without any.

    Args:
        conversation: its key; None is the scope's.

    Returns:
        Lines of text, as of the last refresh.

    Raises:
        StoreReadError: nothing could be read.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.chat_history_cache import save_chat_message
    >>> from prompt_engine.stories import edit_memory, get_recap_text, refresh_memory
    >>> db = open_database("sqlite://")
    >>> message = save_chat_message("web/42", "Ann left the house.", sender_id="ann", db=db).id
    >>> edit_memory(message, "Ann left.", db=db).stored, refresh_memory("web/42", db=db)["changed"]
    (True, 1)
    >>> get_recap_text("web/42", db=db)
    'Ann left.'
    """
    call = open_conversation(open_call(db, settings, scope), conversation).redacted()
    if call.place is None:
        return ""
    rows = table_recaps.read_included(call.reader(), call.persona, call.conversation)
    return rules.concatenate(memory for _, memory in table_recaps.read_memories(call.reader(), call.persona, rows))


def concatenate_recap(
    recap: str,
    message: object,
    *,
    interface_path: object = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> str:
    """Return a text of recaps that begins with the recap of an older message, if that has one.

    Args:
        recap: what there is so far, oldest first, one a line; the walk goes from newest to oldest.
        message: as for `check_message_exclusion`.

    Returns:
        One recap a line, oldest first.

    Raises:
        StoreReadError: nothing could be read.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.chat_history_cache import save_chat_message
    >>> from prompt_engine.stories import concatenate_recap, edit_memory
    >>> db = open_database("sqlite://")
    >>> message = save_chat_message("web/42", "Ann left the house.", sender_id="ann", db=db).id
    >>> edit_memory(message, "Ann left.", db=db).stored, concatenate_recap("Ben came.", message, db=db)
    (True, 'Ann left.\\nBen came.')
    """
    call = open_message(open_call(db, settings, scope), message, interface_path).redacted()
    own = None if call.row_id is None else table_recaps.find_recap(call.reader(), call.persona, call.row_id)
    return rules.concatenate([own.memory if own and own.memory else "", *recap.splitlines()])
