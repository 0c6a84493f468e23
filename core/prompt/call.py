"""The values that the stages of a prompt share: the call, its report, and the guard that turns errors into notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from .. import hooks
from .. import search as searching
from ..access.table_conversations import resolve_scope
from ..access.view import Recent, Viewer
from ..base import logs
from ..base.hints import shown
from ..calls import defaults
from ..config import Settings
from ..context.context import LITE_HISTORY, LITE_MEMORIES, Caps, order_context
from ..context.incoming import IncomingMessage, read_message_id, read_role
from ..context.lines import NameLabels
from ..context.live import LiveHistory, add_lines, read_context_memory
from ..database.engine import Database
from ..errors import CoreError, MessageError, StoreError
from ..index.shapes import RowId
from ..scope import Scope
from ..search.query import Query, shorten_asked
from ..search.rules_arguments import MOST_HITS
from ..shapes import Citation, Hit, LeftOut
from ..text import times
from ..text.strict_json import make_strict
from .fit import Fitted, Space
from .request import PromptRequest

if TYPE_CHECKING:
    from ..index.state import IndexState

T = TypeVar("T")

USUAL_MEMORIES, FEWEST_MEMORIES = 100, 50
"""Minimum number of memories to search for: first without a character limit or for a list, second for the rest."""
SHORTEST_LINE, LONGEST_LINE = 60, 150
"""Bounds of the line length by which the character limit is divided to get the number of memories to search for."""
MAX_MESSAGE_CHARS = 500
STORED = ("chat_history_cache", "memories", "ai_diary")
"""Tables of a prompt's sections, as the report names them if no table can be read."""

SIZES = ("limit", "limit_tokens", "size", "tokens", "over_limit", "counter")

_DOWN = frozenset({None, 1040, 1044, 1045, 1049, 1129, 1130, 1203, 1698, 2002, 2003, 2005, 2006, 2013})
_OF_A_TABLE = (1146, 1142)


class Report:
    def __init__(self) -> None:
        self.search: dict[str, Any] = {"tags": [], "words": []}
        self.found: searching.Selection | None = None
        self.errors: list[dict[str, str]] = []
        self.citations: Mapping[str, Citation] | None = None
        """Stored row of each citation mark; None without citation marks."""
        self._sizes: dict[str, Any] = dict.fromkeys(SIZES) | {"over_limit": False}
        self._notes: dict[str, None] = {}
        self._kept: dict[str, int] = {}
        self._left_out: list[LeftOut] = []

    def note(self, *texts: str) -> None:
        self._notes.update(dict.fromkeys(texts))

    def leave_out(self, items: Sequence[LeftOut]) -> None:
        self._left_out.extend(items)

    def fail(self, source: str, error: BaseException) -> None:
        kind = type(error).__name__
        text = str(error)[:MAX_MESSAGE_CHARS] if isinstance(error, CoreError) else kind
        self.errors.append({"source": source, "error": kind, "message": text})

    def add(self, fitted: Fitted, space: Space, counter: str | None) -> None:
        tokens = None if space.counter is None else space.count_tokens(fitted.text)
        sizes = (space.limit_chars, space.limit_tokens, fitted.size, tokens, fitted.broken is not None, counter)
        self._sizes = dict(zip(SIZES, sizes, strict=True))
        self.leave_out(fitted.left_out)
        self._kept.update(fitted.kept)
        self.note(*fitted.notes)

    def as_dict(self) -> dict[str, Any]:
        found = Counter(self._kept)
        found.update(item.section for item in self._left_out)
        report = {
            **self._sizes,
            "sections": {section: {"found": n, "kept": self._kept.get(section, 0)} for section, n in found.items()},
            "left_out": [{"section": item.section, "reason": item.reason, "id": item.id} for item in self._left_out],
            "errors": self.errors,
            "notes": list(self._notes),
            "search": {**self.search, **(searching.build_report(self.found) if self.found else {})},
        }
        if self.citations is not None:
            report["citations"] = dict(self.citations)
        plain: dict[str, Any] = make_strict(report)[0]
        return plain


class Guard:
    """Runs the stages of one call; a stage that fails returns a default value, and the report notes it."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.db: Database | None = None
        """The database; None if it could not be opened, so that the prompt has live messages only."""
        self.down: bool = False
        """Whether the database failed to answer, after which this call reads nothing more from it."""
        self.last: Exception | None = None

    def __call__(self, source: str, work: Callable[[], T], otherwise: T) -> T:
        """Return the result of `work`; if it raises, return `otherwise`, note the error and log one warning."""
        try:
            return work()
        except Exception as error:  # noqa: BLE001 - the degrade point: whatever a source or hook raises ends here
            self.fail(source, error)
            return otherwise

    def ask(self, source: str, read: Callable[[], T], otherwise: T) -> T:
        """Return the result of `read`, or `otherwise` if it fails or the database is known to be down."""
        return otherwise if self.down else self(source, read, otherwise)

    def fail(self, source: str, error: Exception) -> None:
        """Note a failure in the report, and log one warning without any message text."""
        again = isinstance(error, StoreError) and str(self.last) == str(error)
        self.last = error
        number = None
        if isinstance(error, StoreError):
            number = error.number
            self.down = self.down or number in _DOWN
            source = error.source if number in _OF_A_TABLE and error.source else source
        if again:  # one table missing makes several statements fail
            return
        self.report.fail(source, error)
        logs.warning("source_failed", source=source, error=type(error).__name__, number=number)

    def lose_stored(self) -> None:
        error = self.last or StoreError("The database could not be read.")
        for name in STORED:
            self.report.fail(name, error)

    def hook(self, name: str, arguments: Mapping[str, Any], read: Callable[[Any], T], otherwise: T) -> T:
        """Return `read(answer of the hook)`, or `otherwise` if there is no such hook or either function fails."""
        if (function := hooks.get_hook(name)) is None:
            return otherwise
        return self(name, lambda: read(self.call(function, arguments)), otherwise)

    def call(self, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
        """Call a host's function after releasing the database connection, since the function may open one."""
        if isinstance(self.db, Database):
            self.db.release_connection()
        return hooks.call(function, arguments)


class Room(NamedTuple):
    """Size of a prompt that shows as many memories as fit."""

    chars: int
    """Limit in characters; 0 for none."""
    is_list: bool
    """Whether the message asks for a list or a count, so that memories are cut short."""

    def count_lines(self, line_chars: float = SHORTEST_LINE) -> int:
        """Return how many memories to search for if their lines have this many characters."""
        fewest = FEWEST_MEMORIES if self.chars and not self.is_list else USUAL_MEMORIES
        shown = SHORTEST_LINE if self.is_list else min(max(line_chars, SHORTEST_LINE), LONGEST_LINE)
        return max(fewest, min(int(self.chars / shown), MOST_HITS))


@dataclass(frozen=True, slots=True)
class PromptCall:
    request: PromptRequest
    message: IncomingMessage
    live: LiveHistory
    settings: Settings
    scope: Scope
    guard: Guard
    replacing: str | None = None
    room: Room | None = None
    """Size of the prompt, which sets the number of hits unless MEMORY_ITEMS does; None: CONTEXT_VERBOSITY sets it."""

    @property
    def report(self) -> Report:
        return self.guard.report

    @property
    def db(self) -> Database | None:
        return self.guard.db

    @property
    def is_down(self) -> bool:
        return self.guard.down

    @property
    def caps(self) -> Caps:
        s = self.settings
        lines = s.context_verbosity if s.history_lines is None else s.history_lines
        given = self.room.count_lines() if self.room and s.memory_items is None else s.memory_items
        hits = s.context_verbosity if given is None else given
        if s.prompt_lite_mode:
            return Caps(min(lines, LITE_HISTORY), min(s.context_verbosity, LITE_HISTORY), min(hits, LITE_MEMORIES))
        return Caps(lines, s.context_verbosity, hits)

    @property
    def hits_wanted(self) -> int:
        return max(1, self.caps.memories)

    @property
    def is_limit_named(self) -> bool:
        """Return whether the caller fixed the number of hits; if not, the prompt shows as many as fit."""
        s = self.settings
        return self.room is None or s.memory_items is not None or bool(s.prompt_lite_mode)

    @property
    def asked_text(self) -> str:
        return shorten_asked(self.message.text)

    @property
    def zone(self) -> tzinfo:
        return times.zone(self.settings.timezone) or UTC

    def one_connection(self) -> AbstractContextManager[Any]:
        return self.db.request_connection(snapshot=True) if isinstance(self.db, Database) else nullcontext()

    def ask_hook(self, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
        common = {"db": self.db, "settings": self.settings, "scope": self.scope}
        return self.guard.call(function, {**arguments, **common})


def open_call(request: PromptRequest) -> PromptCall:
    """Read message, settings and scope; without a database the prompt has live messages only."""
    if request.db is not None:
        defaults.check_handle(request.db)
    if request.destination not in (None, "remote", "local"):
        raise ValueError(f"destination is {shown(request.destination)}. It must be 'remote' or 'local'.")
    settings = defaults.settings_for(request.settings)
    now = request.db.clock if isinstance(request.db, Database) else defaults.clock()
    message = IncomingMessage.read(
        request.message, context_memory=request.context_memory, interface_name=request.interface_name, now=now()
    )
    if isinstance(request.message, (list, tuple)) and read_role(message.raw) != "user":
        raise MessageError(
            "The list ends with a line of the assistant or the result of a tool, and a prompt answers a user. Pass the "
            "messages up to the user's last one, and add the later ones to the result.",
            fields=("message",),
        )
    live = read_context_memory(request.context_memory)
    own = defaults.scope_for(request.scope, settings)
    given = defaults.scope_of(message, own, settings)
    if message.earlier:  # without a stored conversation only the message's own one is known
        message = replace(message, interface_path=message.interface_path or given.conversation or "")
        live = add_lines(live, message.interface_path or "", message.earlier, message.sender)
    report = Report()
    report.note(*message.notes_for(own), *live.notes)
    if live.skipped:
        report.note(f"context_memory: {live.skipped} things are no message and are left out")
    if live.skips_history:
        report.note("skip_history: the history lists and thoughts are empty because the host asked for it")
    guard = Guard(report)
    db = guard.db = guard("database", lambda: defaults.handle(request.db), None)

    def resolve() -> Scope | MessageError:
        try:
            return resolve_scope(db, given)
        except MessageError as refused:
            return refused

    found = guard("database", resolve, None)
    if isinstance(found, MessageError):
        raise found
    if found is None:  # the key as given may be that of another conversation
        guard.down = True
    scope = found or given
    message, live = put_under_key(message, live, scope.conversation)
    replacing = read_message_id(request.replacing, "replacing")
    return PromptCall(request, message, live, settings, scope, guard, replacing)


def with_asker_zone(call: PromptCall) -> PromptCall:
    """Return the call with the asker's time zone as TIMEZONE; an unknown zone becomes UTC, with a note."""
    s, zone = call.settings, call.message.time_zone
    if not zone or zone == s.timezone:
        return call
    unknown = times.local_time(call.message.date, zone)[1]
    call.report.note(*([unknown] if unknown else ()))
    return replace(call, settings=replace(s, timezone="UTC" if unknown else zone))


def put_under_key(message: IncomingMessage, live: LiveHistory, key: str | None) -> tuple[IncomingMessage, LiveHistory]:
    """Return message and live messages with the stored conversation key `key` in place of the host's key."""
    path = message.interface_path
    if path is None or key is None or path == key:
        return message, live
    own = [replace(entry, conversation=key) for entry in live.chats.get(path, ())]
    chats = {key if name == path else name: own if name == path else each for name, each in live.chats.items()}
    return replace(message, interface_path=key), replace(live, chats=chats)


@dataclass(frozen=True, slots=True)
class VisibleContext:
    """Result of a prompt's first database read: the audiences it may see, and the message's tags and search words."""

    viewer: Viewer | None = None
    """The viewer's audiences; None if nothing stored can be read."""
    chats: Sequence[Recent] = ()
    """Other conversations that may be seen, newest first."""
    named_tags: Sequence[str] = ()
    tags: Sequence[str] = ()
    """Tags in the message and their linked tags."""
    keywords: Sequence[str] = ()
    index: IndexState | None = None
    """State of the index for the visible audiences; None if nothing is searched or the index cannot be read."""
    query: Query | None = None
    """Query of the search for the message, with its tags and words; None if nothing stored can be read."""

    @property
    def words(self) -> tuple[str, ...]:
        return (*self.keywords, *self.tags)


@dataclass(frozen=True, slots=True)
class Recalled:
    hits: Sequence[Hit] = ()
    chosen: Sequence[searching.Chosen] = ()
    """The hits of `hits` with rank and row; empty if they came from the hook `search`."""
    gap: str = ""
    """Sentence that nothing is stored for the time span asked for; "" if something is."""
    matching: int = 0
    """Number of hits that match a question for a list or count (all hits if no hit does); 0 for other questions."""
    best: Sequence[RowId] = ()
    """The rows of the hits, and the matching rows that the history shows, best first."""


@dataclass(frozen=True, slots=True)
class Gathered:
    context: dict[str, Any] = field(default_factory=lambda: order_context({}))
    persona: str = ""
    recalled: Recalled = field(default_factory=Recalled)
    names: NameLabels = field(default_factory=NameLabels)
    ids: Mapping[str, list[str]] = field(default_factory=dict)
    words: Sequence[str] = ()
    lines: Sequence[int] = ()
    """Row ids of the stored messages in the history."""
    reply: Mapping[str, Any] = field(default_factory=dict)
    """Text, time and name of the message that the new one replies to, as far as known."""
    titles: Mapping[str, str] = field(default_factory=dict)
    """Titles of other conversations, the latest, by key."""
    places: Mapping[tuple[str, str | int], int] = field(default_factory=dict)
    """Place of each memory, by section and id, and of matching lines of the history, by index; 0 is the best."""
