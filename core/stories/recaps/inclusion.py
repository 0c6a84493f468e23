"""Which recaps of messages are included: the walk from the newest message to the limit."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ...audience import table_conversations
from ...base import logs
from ...calls.call import GivenSettings, open_call
from ...calls.defaults import settings_for
from ...config import Settings
from ...database import rows as values
from ...database.engine import Connection, Database
from ...database.readers import Reader, reader_in
from ...errors import MessageError
from ...messages import table_lines, table_recaps
from ...messages.table_lines import Line
from ...messages.table_recaps import RecapLine
from ...scope import Scope
from ...text.counters import Counter
from .. import token_counts
from ..calls import StoryCall, no_such_message, open_conversation, open_message
from ..derived_changes import DerivedChange
from ..token_counts import Counting
from . import rules
from .rules import INCLUDED, Candidate, Reason

TOKENS_OF_ONE = 8
"""Tokens of a short recap: what the limit holds of those is the first page. Each further page is twice as long."""
SHORTEST_PAGE, LONGEST_PAGE = 32, 6400
AT_ONCE = 50
"""Texts brought together, of those that have no count."""

PROGRAM, DISABLED = "program_message", "disabled"
"""Keys of a message's metadata: it is the program's own; its character was disabled in the group."""


def build_rules(settings: Settings, disabled: Collection[str] = ()) -> rules.Rules:
    """Return the settings that decide whether a message takes part."""
    is_list = isinstance(disabled, Collection) and not isinstance(disabled, (str, bytes))
    if not is_list or not all(isinstance(name, str) for name in disabled):
        raise MessageError.of_type("disabled", disabled, "a list of sender ids or names")
    return rules.Rules(
        user=settings.include_user_messages,
        system=settings.include_system_messages,
        narrator=settings.include_narrator_messages,
        threshold=settings.message_length_threshold,
        factor=settings.token_correction,
        disabled=frozenset(disabled),
    )


def read_limit(settings: Settings) -> int:
    """Return the tokens message recaps may take together."""
    limit, kind = settings.message_recap_context_limit, settings.message_recap_context_type
    if kind == "percent" and limit > 100:
        logs.warning("message_recap_context_limit", value=limit, allowed="0 to 100 percent", used=rules.DEFAULT_PERCENT)
    return rules.limit_tokens(limit, kind, settings.context_tokens)


@dataclass(slots=True)
class Walk:
    """One walk over the recaps of a conversation, newest first."""

    read: Reader
    persona: str
    conversation: str
    counting: Counting
    rules: rules.Rules
    limit: int = 0
    """Most tokens of all together."""
    recap_counts: dict[int, int] = field(default_factory=dict)
    """Counts made by this walk, by message row."""
    text_counts: dict[int, int] = field(default_factory=dict)

    def candidates(self) -> Iterator[Candidate]:
        """Yield the recaps that take part, with their tokens; what is counted on the way is kept."""
        for page in self._pages():
            texts: dict[int, str] = {}
            memories: dict[int, str] = {}
            for at, (line, *_) in enumerate(page):
                row_id = line.row_id
                # The length is asked last, of those alone that nothing else leaves out.
                if rules.left_out(build_message(line, 2 * self.rules.threshold), self.rules):
                    continue
                if self.rules.threshold > 0:
                    if self._text_tokens(line) is None:
                        if row_id not in texts:
                            missing = [each.line.row_id for each in page[at:] if self._text_tokens(each.line) is None]
                            texts = table_lines.read_texts(self.read, self.persona, missing[:AT_ONCE])
                        self.text_counts[row_id] = self.counting.count(texts.get(row_id, ""))
                    if rules.is_short(self._text_tokens(line) or 0, self.rules):
                        continue
                if self._recap_tokens(page[at]) is None:
                    if row_id not in memories:
                        missing = [each.line.row_id for each in page[at:] if self._recap_tokens(each) is None]
                        memories = dict(table_recaps.read_memories(self.read, self.persona, missing[:AT_ONCE]))
                    self.recap_counts[row_id] = self.counting.count(memories.get(row_id, ""))
                yield Candidate(row_id, self._recap_tokens(page[at]) or 0)

    def _pages(self) -> Iterator[list[RecapLine]]:
        before, size = None, min(max(self.limit // TOKENS_OF_ONE, SHORTEST_PAGE), LONGEST_PAGE)
        while True:
            page = table_recaps.read_page(self.read, self.persona, self.conversation, size, before=before)
            if page:
                yield page
            if len(page) < size:
                return
            before, size = page[-1].line, min(2 * size, LONGEST_PAGE)

    def _text_tokens(self, line: Line) -> int | None:
        return self._known(line.row_id, line.tokens, line.counter, self.text_counts)

    def _recap_tokens(self, each: RecapLine) -> int | None:
        return self._known(each.line.row_id, each.tokens, each.counter, self.recap_counts)

    def _known(self, row_id: int, stored: int | None, counter: str, counted: Mapping[int, int]) -> int | None:
        return counted.get(row_id, stored if counter == self.counting.name else None)


def build_message(line: Line, tokens: int | None = None) -> rules.Message:
    """Return what decides about a message."""
    return rules.Message(
        role=line.role,
        is_program=line.metadata.get(PROGRAM) is True,
        is_excluded=line.excluded,
        sender_id=line.sender_id,
        sender_name=line.sender_name,
        is_disabled=line.metadata.get(DISABLED) is True,
        tokens=tokens,
    )


def count_tokens(line: Line, by: Counting) -> int:
    """Return the tokens of a message's text, as stored where they were counted by the same counter."""
    return line.tokens if line.tokens is not None and line.counter == by.name else by.count(line.text)


def choose_lines(lines: Sequence[Line], settings: Settings, by: Counting) -> list[Line]:
    """Return the messages, read with their texts, that no setting leaves out."""
    chosen = build_rules(settings)
    return [
        line
        for line in lines
        if line.text.strip()
        and not rules.left_out(build_message(line, count_tokens(line, by) if chosen.threshold > 0 else None), chosen)
    ]


def plan_inclusion(
    db: Database,
    read: Reader,
    persona: str,
    conversation: str,
    settings: Settings,
    counted_by: Counting,
    disabled: Collection[str] = (),
) -> tuple[tuple[int, ...], DerivedChange]:
    """Return the messages whose recaps are included, newest first, and what is to be changed for that."""
    limit = read_limit(settings)
    walk = Walk(read, persona, conversation, counted_by, build_rules(settings, disabled), limit)
    chosen = rules.choose(
        walk.candidates(),
        limit,
        separator_tokens=counted_by.separator(db),
        factor=settings.token_correction,
    )
    now = dict(table_recaps.read_included(read, persona, conversation))
    wanted = set(chosen)
    include: dict[int, str | None] = {row: INCLUDED for row in chosen if now.get(row) != INCLUDED}
    include |= {row: None for row, value in now.items() if value is not None and row not in wanted}
    return chosen, DerivedChange(
        include=include, recap_counts=walk.recap_counts, text_counts=walk.text_counts, counter=counted_by.name
    )


# The doors


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
    chosen, tokens = build_rules(call.settings, disabled), None
    if chosen.threshold > 0:
        tokens = _text_tokens(call, row, token_counts.choose_counter(counter, call.settings))
    return rules.left_out(build_message(row, tokens), chosen)


def _text_tokens(call: StoryCall, row: Line, by: Counting) -> int:
    """Return the tokens of a message's text as stored, else counted now."""
    if row.tokens is not None and row.counter == by.name:
        return row.tokens
    return by.count(table_lines.read_texts(call.reader(), call.persona, [row.row_id]).get(row.row_id, ""))


def get_short_token_limit(
    *,
    db: Database | None = None,  # noqa: ARG001 - every door takes it
    settings: GivenSettings = None,
    scope: Scope | None = None,  # noqa: ARG001 - every door takes it
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
    by = token_counts.choose_counter(counter, call.settings)
    chosen, change = plan_inclusion(
        call.db, call.reader(), call.persona, call.conversation, call.settings, by, disabled
    )
    if not change:
        return chosen[::-1]

    def work(connection: Connection) -> tuple[int, ...]:
        table_conversations.find(connection, call.persona, call.conversation, lock=True)
        chosen, change = plan_inclusion(
            call.db, reader_in(connection), call.persona, call.conversation, call.settings, by, disabled
        )
        change.write(connection, call.persona, call.conversation)
        return chosen[::-1]

    return call.db.repeat(work, source="message_recaps")


def read_included_rows(read: Reader, persona: str, conversation: str) -> list[int]:
    """Return the messages whose recaps are included now."""
    now = table_recaps.read_included(read, persona, conversation)
    return [row for row, value in now.items() if value is not None]


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
        Lines of text; what is included was worked out by `refresh_memory`, an operation or a prompt before.

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
    call = open_conversation(open_call(db, settings, scope), conversation).handed_out()
    if call.place is None:
        return ""
    rows = read_included_rows(call.reader(), call.persona, call.conversation)
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
    """Return a text of recaps with that of an older message put before it; the text itself where it has none.

    Args:
        recap: what there is so far, oldest first, one a line; the walk goes from newest to oldest.
        message: as for `check_message_exclusion`.

    Returns:
        One recap a line, oldest first.

    Raises:
        MessageError: `recap` is no text.
        StoreReadError: nothing could be read.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.chat_history_cache import save_chat_message
    >>> from prompt_engine.stories import concatenate_recap, edit_memory
    >>> db = open_database("sqlite://")
    >>> message = save_chat_message("web/42", "Ann left the house.", sender_id="ann", db=db).id
    >>> edit_memory(message, "Ann left.", db=db).stored, concatenate_recap("Ben came.", message, db=db)
    (True, 'Ann left.\\nBen came.')
    """
    known = values.text(recap, "recap")
    call = open_message(open_call(db, settings, scope), message, interface_path).handed_out()
    own = None if call.row_id is None else table_recaps.find_recap(call.reader(), call.persona, call.row_id)
    return rules.concatenate([own.memory if own and own.memory else "", *known.splitlines()])
