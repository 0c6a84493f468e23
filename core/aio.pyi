"""The names of the other doors, awaitable: signatures as the doors have them. Written by `make docs`."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, Literal, overload

from .calls import screening
from .calls.call import GivenSettings
from .calls.screening import Screen
from .chat_history_cache import CacheStats
from .config.flags import Settings
from .config.flags_stories import RecapPosition, RecapRole
from .context.injection import Injection, Numbering
from .conversations.memory_files import MarkdownResult
from .database.engine import Database
from .doctor.rules import Checkup
from .forgetting import Forgotten
from .index.differences import Difference
from .jobs.tools import Handler
from .lifelong.merging import Duplicates
from .memories.shapes import Added, BulkResult, Compacted, CycleResult, Health, Item, ItemPage, ItemVersion, Pruned
from .privacy import PrivacySet, QuarantinedItem
from .prompt.messages import Messages
from .prompt.rules_answer import Answer
from .relationships.rules import Relationship, RelationshipPoint, RelationshipResult
from .scope import Privacy, Scope
from .search.free_search import ActionResult, Shuffle
from .semantic import EmbedReport
from .shapes import (
    ChatLine,
    DiaryEntry,
    FormerText,
    Hit,
    ListedOperation,
    LoadedMemory,
    Operation,
    OperationRun,
    RecapTarget,
    RecentConversation,
    SavedMemory,
    Source,
    ToolAnswer,
    ToolCall,
    ToolForm,
    Vocabulary,
    WishItem,
    WriteResult,
)
from .short_term.shapes import ShortTermEntry, ShortTermSection, ShortTermStats, TurnResult
from .stories.branches import Branched
from .stories.recaps.alternatives import AlternativeShown
from .stories.recaps.refresh import HidePlan
from .stories.recaps.rules import Provenance, Reason
from .stories.refused import RefusedRecap
from .stories.running.injection import Refreshed
from .stories.running.versions import RunningRecapStorage, RunningRecapVersion
from .stories.scenes.breaks import SceneInfo
from .stories.scenes.versions import SceneRecap
from .synth_tagging import KnownTag
from .tags import rules
from .text.counters import Counter
from .text.sizes import Dumps
from .tokens.shapes import AccessToken, ListedToken, NewToken, TokenKind
from .transcripts import TranscriptSaved
from .transfer.exports import ExportResult, Format
from .transfer.imports import ImportResult
from .transfer.items import ItemExport, Progress
from .transfer.items.reader import Syntax
from .transfer.items.sources import Source as TransferSource
from .transfer.items.storage import ItemImport
from .transfer.values import ValueImport
from .upkeep.check import Finding
from .upkeep.migration import Migrated
from .values import _T
from .values.table import Change, Kind, StoredValue, ValueName

__all__: list[str]

async def build_json_prompt(
    message: Any,
    context_memory: Any = None,
    interface_name: str | None = None,
    image_data: Any = None,
    attachments: Any = None,
    max_chars: int | None = None,
    history_scope: str | None = None,
    *,
    limit_tokens: int | None = None,
    counter: Callable[[str], int] | None = None,
    destination: str | None = None,
    replacing: str | int | None = None,
    db: Database | None = None,
    settings: Settings | Mapping[str, Any] | None = None,
    scope: Scope | None = None,
) -> dict[str, Any]:
    """Return the finished prompt for one message: plain JSON values, never larger than its limit."""

async def explain_json_prompt(
    message: Any,
    context_memory: Any = None,
    interface_name: str | None = None,
    image_data: Any = None,
    attachments: Any = None,
    max_chars: int | None = None,
    history_scope: str | None = None,
    *,
    limit_tokens: int | None = None,
    counter: Callable[[str], int] | None = None,
    destination: str | None = None,
    replacing: str | int | None = None,
    db: Database | None = None,
    settings: Settings | Mapping[str, Any] | None = None,
    scope: Scope | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return `(prompt, report)`: the prompt of `build_json_prompt`, and what was kept, cut, left out and why."""

async def fit_prompt(
    prompt: Mapping[str, Any],
    max_chars: int | None = None,
    *,
    limit_tokens: int | None = None,
    counter: Callable[[str], int] | None = None,
    dumps: Callable[[Any], str] | None = None,
    history_floor: int = 6,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return `(prompt, report)`; the report's `over_limit` tells that what is never cut is too large by itself."""

async def parse_answer(text: object, prompt: Mapping[str, Any] | None = None) -> Answer:
    """Return the words and the actions of a model's answer, given as a JSON object or as bare text; never raises."""

async def reduce_json_text_for_transmission(text: str, max_chars: int | None) -> str:
    """Return the JSON text of a prompt, shortened for sending; what is no JSON object stays as it is."""

async def reduce_prompt_for_llm_limit(prompt: Mapping[str, Any], max_chars: int | None = None) -> dict[str, Any]:
    """Return a new prompt that fits the limit; the argument stays as it is."""

async def set_hook(name: str, function: Callable[..., Any] | None) -> None:
    """Register the host's function under a name, in place of the one before; None takes it away."""

async def to_json(value: Any, dumps: Dumps | None = None) -> str:
    """Return the value as JSON text, letters as they are."""

@overload
async def to_messages(
    prompt: Mapping[str, Any],
    dialect: Literal['openai'] = "openai",
    style: Literal['data', 'chat'] = "data",
    *,
    injection: Mapping[str, Any] | None = None,
    settings: Settings | Mapping[str, Any] | None = None,
) -> Messages: ...
@overload
async def to_messages(
    prompt: Mapping[str, Any],
    dialect: Literal['anthropic'],
    style: Literal['data', 'chat'] = "data",
    *,
    injection: Mapping[str, Any] | None = None,
    settings: Settings | Mapping[str, Any] | None = None,
) -> dict[str, Any]: ...
@overload
async def to_messages(
    prompt: Mapping[str, Any],
    dialect: str,
    style: str = "data",
    *,
    injection: Mapping[str, Any] | None = None,
    settings: Settings | Mapping[str, Any] | None = None,
) -> Messages | dict[str, Any]: ...
async def build_context(
    message: Any,
    context_memory: Any = None,
    interface_name: str | None = None,
    text: str = "",
    memories: Iterable[Hit] | None = None,
    history_scope: str | None = None,
    *,
    db: Database | None = None,
    settings: Settings | Mapping[str, Any] | None = None,
    scope: Scope | None = None,
) -> dict[str, Any]:
    """Return the `context` of a prompt, its keys in the order of `context.context.CONTEXT_KEYS`."""

async def add_alias(
    alias: object,
    tag: object,
    *,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Make another spelling of a tag known. `refused`, with a sentence in `notes`: it is a tag already, or would chain."""

async def add_tag(
    tag: object,
    *,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Make a tag known to the scope's persona. Known already: `duplicate`; blank: `empty`; too long: `too_long`."""

async def expand_tags(
    tags: Sequence[object] | str | None,
    *,
    vocabulary: Vocabulary | None = None,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> list[str]:
    """Return the tags, then those one link away, the heaviest link first, at most EXPANDED_TAGS_LIMIT in all."""

async def extract_keywords(
    text: str | None,
    *,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> list[str]:
    """Return the salient words of a text, at most KEYWORD_LIMIT. No database is touched."""

async def extract_tags(
    text: str | None,
    vocabulary: Vocabulary | rules.TagIndex | None = None,
    *,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> list[str]:
    """Return the tags of a text in order of appearance, at most TAGS_LIMIT. No database is touched."""

async def link_tags(
    a: object,
    b: object,
    weight: object = 1.0,
    *,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Link two tags, both ways, or give their link another weight. `refused`, with the sentence in `notes`: a tag with itself, a weight that is not above 0 and at most 10."""

async def list_tags(
    *, db: Database | None = None, settings: Settings | Mapping[str, object] | None = None, scope: Scope | None = None
) -> list[KnownTag]:
    """Return the vocabulary of the scope's persona, most used first, ties by name."""

async def explain_search(
    *,
    embedder: Any = None,
    db: Database | None = None,
    settings: Settings | Mapping[str, Any] | None = None,
    scope: Scope | None = None,
    **arguments: Any,
) -> tuple[list[Hit], dict[str, Any]]:
    """Return `(hits, report)`: the hits of `search_memories` and why they are these."""

async def free_memory_search(
    query: object,
    limit: object = 5,
    *,
    shuffle: Shuffle | None = None,
    db: Database | None = None,
    settings: Settings | Mapping[str, Any] | None = None,
    scope: Scope | None = None,
) -> list[str]:
    """Return the snippets of memories and diary entries that hold any of the query's words, newest first."""

async def memory_search_action(
    payload: object,
    *,
    shuffle: Shuffle | None = None,
    db: Database | None = None,
    settings: Settings | Mapping[str, Any] | None = None,
    scope: Scope | None = None,
) -> ActionResult:
    """Return the answer to a model's or person's memory_search action, plain JSON."""

async def preview_search(
    *,
    db: Database | None = None,
    settings: Settings | Mapping[str, Any] | None = None,
    scope: Scope | None = None,
    **arguments: Any,
) -> dict[str, dict[str, Any]]:
    """Return what a search sends, and per source the plain statement it stands for, without asking a database."""

async def search_memories(
    *,
    tags: object = None,
    keywords: object = None,
    query: object = None,
    include_chat: bool = True,
    limit: object = 5,
    ranking: object = None,
    exclude: object = ...,
    since: object = None,
    until: object = None,
    embedder: Any = None,
    db: Database | None = None,
    settings: Settings | Mapping[str, Any] | None = None,
    scope: Scope | None = None,
) -> list[Hit]:
    """Return the hits of a search over memories, diary and chat history, newest first."""

async def should_remember(
    user_text: str | None,
    response_text: str | None,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> bool:
    """Return whether what was said is worth keeping. Reads no table beyond the settings of a handle passed."""

async def silently_record_memory(
    user_text: object,
    response_text: object = None,
    tags: object = None,
    scope: str | Scope | None = "general",
    source: str = "chat",
    *,
    label: str | None = None,
    message_id: object = None,
    recalled: Iterable[str] = ...,
    screen: screening.Screen | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
) -> WriteResult:
    """Store what a person said as a memory item, once, and tell nobody but the caller."""

async def clear_chat_history(
    path: object,
    *,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> int:
    """Delete the messages of a conversation, those below it not, and return how many there were."""

async def delete_chat_message(
    message: object,
    *,
    interface_path: object = None,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Delete a stored message with everything made of it."""

async def edit_chat_message(
    message: object,
    message_text: object,
    *,
    interface_path: object = None,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Give a stored message another text, and bring what was made of it in step, in one transaction."""

async def get_cache_stats(
    *, db: Database | None = None, settings: Settings | Mapping[str, object] | None = None, scope: Scope | None = None
) -> CacheStats:
    """Return how much of the log the scope sees."""

async def load_chat_history(
    path: object,
    limit: object = None,
    *,
    level: bool = False,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> list[ChatLine]:
    """Return the newest messages of a conversation, oldest first."""

async def load_global_chat_history(
    limit: object = 10,
    *,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> list[ChatLine]:
    """Return the newest messages over all conversations the scope sees, oldest first."""

async def save_chat_message(
    interface_path: object,
    message_text: object,
    sender_name: object = None,
    sender_id: object = None,
    timestamp: object = None,
    metadata: object = None,
    *,
    message_id: object = None,
    role: object = None,
    triggered_by: object = None,
    title: object = None,
    reply_to: object = None,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Store one message for good, once, and say what became of it."""

async def save_message(
    message: Any,
    context_memory: Any = None,
    interface_name: str | None = None,
    *,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Store an incoming message with everything in it: text, sender, time, id, and what it replies to."""

async def add_diary_entry(
    content: object,
    personal_thought: object = None,
    emotions: object = None,
    interaction_summary: object = None,
    user_message: object = None,
    context_tags: object = None,
    involved_users: object = None,
    interface: object = None,
    chat_id: object = None,
    thread_id: object = None,
    *,
    timestamp: object = None,
    local_only: bool = False,
    message_id: object = None,
    screen: screening.Screen | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Store one entry, and say what was left out of it."""

async def cleanup_old_entries(
    days: float = 30, *, db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None
) -> int:
    """Archive the persona's entries of this age and older: kept, read by nobody. Return how many."""

async def get_entries_by_tags(
    tags: object,
    limit: object = 10,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> list[DiaryEntry]:
    """Return the newest entries that have one of the tags, newest first; no tag gives [] without a query."""

async def get_entries_with_person(
    person: str,
    limit: object = 10,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> list[DiaryEntry]:
    """Return the newest entries that name exactly this person among the involved users, newest first."""

async def get_recent_entries(
    days: float = 2,
    max_chars: int | None = None,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> list[DiaryEntry]:
    """Return the entries of the last days, newest first, whole ones up to the first that does not fit."""

async def unarchive_entries(
    ids: Iterable[int] | None = None,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> int:
    """Bring archived entries back, all or those of the ids, and return how many."""

async def add_recent_conversation(
    messages: Any = None,
    model: Any = None,
    *,
    wait: bool = False,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Report that the scope's conversation has ended, so that title and summary of it join the list."""

async def add_saved_memory(
    text: str,
    *,
    said: str | None = None,
    message_id: object = None,
    screen: screening.Screen | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Save one fact at once, because a person asked for it."""

async def close_conversation(
    conversation: str | None = None,
    model: Any = None,
    *,
    wait: bool = False,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Mark a conversation closed and report its end, in one transaction; its next message opens it again."""

async def delete_saved_memory(
    id: int,
    *,
    restore: bool = False,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Take a saved memory off the list; it is kept, and `restore=True` brings it back."""

async def export_markdown(
    folder: str | Path | None = None,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> MarkdownResult:
    """Write the two files of what the scope sees; what a person changed in them since is taken over first."""

async def get_system_prompt_with_memory(
    base: str, *, db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None
) -> str:
    """Return base, one empty line, and the memory prompt; base alone where there is none."""

async def get_user_memory_prompt(
    *, db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None
) -> str | None:
    """Return recent conversations, then saved memories, each between its two lines; None where there is nothing."""

async def import_markdown(
    folder: str | Path | None = None,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> MarkdownResult:
    """Take over what a person changed in the two files since they were last read or written."""

async def list_recent_conversations(
    *, former: bool = False, db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None
) -> list[RecentConversation]:
    """Return the conversations on the list that the scope may see, oldest first, ties by id."""

async def list_saved_memories(
    *, former: bool = False, db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None
) -> list[SavedMemory]:
    """Return all saved memories that the scope may see, oldest first, ties by id; with `former` deleted ones too."""

async def load_memory(
    *, db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None
) -> LoadedMemory:
    """Return both lists as data, `{"recent": [...], "saved": [...]}`, oldest first; one that is not read is empty."""

async def memory_tools(
    form: ToolForm = "openai", *, db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None
) -> list[dict[str, Any]]:
    """Return the tools to offer to the model now: the memory tool, or nothing while it is switched off."""

async def parse_tool_call(
    reply: Any, *, db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None
) -> list[ToolCall]:
    """Return the calls of the memory tool in a model's reply, in order; calls of other tools are left out."""

async def run_tool_call(
    call: ToolCall,
    *,
    said: str | None = None,
    message_id: object = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> ToolAnswer:
    """Do one call of the memory tool in the scope, and return success, message and the answer in the call's own form."""

async def saved_memory_history(
    id: int, *, db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None
) -> list[FormerText]:
    """Return every text a saved memory has had, the first one first; none where the scope sees no such memory."""

async def update_saved_memory(
    statement: str,
    *,
    model: Any = None,
    said: str | None = None,
    message_id: object = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Let a model rewrite what the scope's person has saved for this audience, by a statement, in one transaction."""

async def change_values(
    work: Callable[[Change], _T],
    kind: Kind = "entry",
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> _T | WriteResult:
    """Run a change of values in one transaction, alone on them, and return what it returns."""

async def delete_expired_values(
    kind: Kind = "entry", *, db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None
) -> int:
    """Delete the values of the scope whose time to live is over, at most 500 at once, and return how many."""

async def find_values(
    names: Iterable[ValueName],
    kind: Kind = "entry",
    *,
    refresh: bool = False,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> dict[ValueName, StoredValue]:
    """Return the values of these names that there are."""

async def list_value_namespaces(
    kind: Kind = "entry", *, db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None
) -> list[tuple[str, ...]]:
    """Return the namespaces that hold values, sorted."""

async def list_values(
    prefix: Sequence[str] = ...,
    kind: Kind = "entry",
    *,
    limit: int | None = None,
    offset: int = 0,
    refresh: bool = False,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> list[StoredValue]:
    """Return the values in a namespace and below it, the one changed last first."""

async def search_values(
    query: str,
    prefix: Sequence[str] = ...,
    kind: Kind = "entry",
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> list[StoredValue]:
    """Return the values below a namespace whose texts fit what is looked for, the best first, each with its score."""

async def texts_in(value: Any) -> str:
    """Return the texts of a JSON value, in its order, a line each; blank where there is none."""

async def add_wish(
    text: object,
    *,
    topic: object = None,
    message_id: object = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Store a wish of who is asking, whether or not the patterns recognise it; it takes the place of an older one."""

async def change_wish(
    id: object, text: object, *, db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None
) -> WriteResult:
    """Put another text in a wish's place; its topic, person and audience stay, the old text can be restored."""

async def delete_wish(
    id: object, *, db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None
) -> WriteResult:
    """Let a wish hold no more; `restore_wish` brings it back."""

async def list_wishes(
    *,
    everyone: bool = False,
    former: bool = False,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> list[WishItem]:
    """Return the wishes of who is asking that the scope sees, oldest first, ties by id."""

async def restore_wish(
    id: object, *, db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None
) -> WriteResult:
    """Bring a former wish back; what holds now about its topic is a former one from then on."""

async def build_short_term_context(
    user: object,
    channel: object,
    server: object = None,
    *,
    persona: object = None,
    lineage: object = None,
    is_direct: bool = False,
    interface: str | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> list[ShortTermSection]:
    """Return what a prompt in this channel shows of a moment ago, newest first."""

async def clear_by_channel(
    channel: object,
    *,
    interface: str | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> int:
    """Remove the entries of a channel, of its people and its server, within the persona; return how many there were."""

async def clear_by_server(
    server: object,
    channel: object = None,
    *,
    interface: str | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> int:
    """Remove the entries of a server, or of one channel of it, within the persona; return how many there were."""

async def clear_by_user(
    user: object,
    *,
    interface: str | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> int:
    """Remove the entries of a person over all channels, within the persona; return how many there were."""

async def clear_expired(
    *, db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None
) -> int:
    """Remove every expired entry of the scope's persona and return how many there were; for a timer of the host."""

async def get_for_server(
    server: object,
    exclude_channel: object = None,
    persona: object = None,
    lineage: object = None,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> list[ShortTermEntry]:
    """Return what is kept of a server over all channels, newest first, ties by channel; as `get_for_user` otherwise."""

async def get_for_user(
    user: object,
    exclude_channel: object = None,
    persona: object = None,
    lineage: object = None,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> list[ShortTermEntry]:
    """Return what is kept of a person over all channels, newest first, ties by channel."""

async def get_stats(
    *, db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None
) -> ShortTermStats:
    """Return what this process has counted since the handle was opened, and how many entries the persona has."""

async def relative_age(
    moment: object,
    now: object = None,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> str:
    """Return how long ago something was, in words, such as `2 minutes ago`."""

async def store_short_term_memory(
    user: object,
    channel: object,
    messages: object,
    server: object = None,
    *,
    persona: object = None,
    lineage: object = None,
    user_name: str = "",
    server_name: str = "",
    channel_name: str = "",
    parent_channel: object = None,
    is_direct: bool = False,
    is_private: bool | None = None,
    interface: str | None = None,
    at: object = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Keep messages for one persona: an entry of the user and, but for direct messages, one of the server."""

async def update_short_term_memory(
    user: object,
    channel: object,
    summary: object,
    server: object = None,
    *,
    said: str | None = None,
    persona: object = None,
    lineage: object = None,
    is_direct: bool = False,
    is_private: bool | None = None,
    interface: str | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Give a channel a summary, which other channels show in place of its lines; at most once a turn."""

async def write_turn(
    context: Any = None,
    result: Any = None,
    *,
    user: object = None,
    channel: object = None,
    server: object = None,
    messages: object = None,
    responses: object = None,
    stop: bool | None = None,
    privacy: object = None,
    is_direct: bool | None = None,
    is_private: bool | None = None,
    interface: str | None = None,
    server_name: str | None = None,
    channel_name: str | None = None,
    parent_channel: object = None,
    at: object = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> TurnResult:
    """Keep what was said in a turn that has been answered, and say what became of it. It never raises."""

async def count_vectors(
    *, db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None
) -> dict[str, int]:
    """Return the name of each model that made vectors of the persona's rows, with how many, by name."""

async def drop_vectors(
    model: str, *, db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None
) -> int:
    """Remove the vectors of the persona's rows that a model made, and return how many; it may begin again at once."""

async def embed_rows(
    limit: int | None = None,
    *,
    embedder: Any = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> EmbedReport:
    """Make the vectors that rows of the scope's persona lack, the newest rows first, and return what was made."""

async def adjust(
    user_id: str | int | None = None,
    affinity_delta: int = 0,
    trust_delta: int = 0,
    username: str | None = None,
    touch: bool = True,
    *,
    realname: str | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> RelationshipResult:
    """Add to affinity and trust of a person, both kept within their bounds, by one UPDATE."""

async def decay_all(*, db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None) -> int:
    """Write what absence has made of the persona's affinities, and return how many have changed; for a daily timer."""

async def ensure_and_touch(
    user_id: str | int | None = None,
    username: str | None = None,
    *,
    realname: str | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> RelationshipResult:
    """Count one interaction with a person now, and make the relationship where there is none."""

async def get(
    user_id: str | int | None = None,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> Relationship:
    """Return how the persona stands to a person, faded up to now; zeros for one it has no relationship with."""

async def history(
    user_id: str | int | None = None,
    limit: int = 500,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> list[RelationshipPoint]:
    """Return what a relationship was changed to and when, oldest first: one row for each change of affinity or trust."""

async def list_recent(
    limit: int = 20, *, db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None
) -> list[Relationship]:
    """Return the persona's relationships, newest interaction first, those without any last, ties by key."""

async def relationship_text(
    user_id: str | int | None = None,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> str:
    """Return the relationship as text, from `prompts/relationship.txt.j2`; blank where there is none."""

async def examine(
    url: str | None = None,
    *,
    models: bool = False,
    db: Database | None = None,
    settings: Settings | Mapping[str, Any] | None = None,
) -> Checkup:
    """Return everything that is wrong, unwise or worth knowing, errors first."""

async def delete_quarantined(
    source: Source, id: int, *, db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None
) -> bool:
    """Delete a row that the screening hook has flagged, for good; False where there is none."""

async def link_participants(
    a: object, b: object, *, db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None
) -> dict[str, int]:
    """Make two participants one person: their direct messages meet, and the stricter privacy level holds for both."""

async def list_quarantined(
    limit: object = 100, *, db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None
) -> list[QuarantinedItem]:
    """Return what the screening hook has flagged of the scope's persona, newest first, for an operator."""

async def release(
    source: Source, id: int, *, db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None
) -> bool:
    """Let a flagged row be found; False where there is none."""

async def scope_of(
    message: Any,
    *,
    interface_name: str | None = None,
    context_memory: Any = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> Scope:
    """Return the scope of a host's message; with it, what is saved of this turn is seen where it was said alone."""

async def set_conversation_local_only(
    conversation: object,
    local_only: bool = True,
    *,
    items: bool = False,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> dict[str, int]:
    """Let a conversation, with its threads, stay on this machine, or open it again; all its rows in one transaction."""

async def set_conversation_privacy(
    conversation: object,
    privacy: Privacy,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> dict[str, int]:
    """Make a conversation, with its threads, public, direct or restricted, all its rows in one transaction."""

async def set_privacy(
    participant: object,
    level: str,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> PrivacySet:
    """Set what may be kept of a person from the next write on; `full` removes their short-term entries at once."""

async def set_screen(function: Screen | None) -> None:
    """Register the function that screens what is stored; None screens nothing."""

async def unlink_participant(
    participant: object, *, db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None
) -> dict[str, int]:
    """Make a participant a person of their own again; their direct messages go with them."""

async def accept_refused(
    refused_id: int,
    *,
    conversation: object = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Store a refused text after all, as if it had not been refused, and take it from the list."""

async def add_alternative(
    message: object,
    text: object,
    *,
    interface_path: object = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> int:
    """Store another version of a message and return its number; which one is current stays as it is."""

async def add_running_recap_version(
    content: object,
    scene_count: int = 0,
    excluded_count: int = 0,
    prev_scene_index: int = 0,
    new_scene_index: int = 0,
    *,
    conversation: object = None,
    storage: Mapping[str, Any] | None = None,
    provenance: str = "model",
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> int | None:
    """Store a new version of the running recap, make it current and return its number."""

async def add_scene_break(
    message: object,
    name: object = "",
    *,
    visible: bool = True,
    recap: bool = True,
    interface_path: object = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> WriteResult:
    """End a scene with a message, and say what became of it; the scene's recap is queued."""

async def auto_hide_plan(
    count: int | None = None,
    conversation: object = None,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> HidePlan:
    """Return which messages are to be hidden and which shown, changes only, as ranges of indexes; nothing is changed."""

async def branch_conversation(
    source: object,
    target: object,
    at_message: object = None,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> Branched:
    """Take a story over into another conversation up to a message: breaks, scene recaps, versions and their counter."""

async def check_message_exclusion(
    message: object,
    *,
    interface_path: object = None,
    disabled: Collection[str] = ...,
    counter: Counter | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> Reason:
    """Return why a message takes no part in recaps: the first rule that holds, blank when it takes part."""

async def choose_alternative(
    message: object,
    number: int,
    *,
    interface_path: object = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Make an alternative the current one: its text is the message's, its recap the message's recap."""

async def choose_scene_recap(
    message: object,
    version: int,
    *,
    interface_path: object = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Make a version of a scene's recap current."""

async def clear_all(
    conversation: object = None,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> dict[str, int]:
    """Take away what is kept beside the messages of a conversation, and return how many had each key."""

async def concatenate_recap(
    recap: str,
    message: object,
    *,
    interface_path: object = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> str:
    """Return a text of recaps with that of an older message put before it; the text itself where it has none."""

async def copy_recaps(
    source: object,
    target: object,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Take what the recaps of one chat say into another, as a scene before its first message."""

async def delete_running_recap_version(
    version: int,
    *,
    conversation: object = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Delete a version of the running recap; of the current one the highest left takes the place."""

async def dismiss_refused(
    refused_id: int,
    *,
    conversation: object = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Take a refused text from the list for good."""

async def edit_memory(
    message: object,
    memory: str,
    *,
    interface_path: object = None,
    counter: Counter | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Give a message's recap the text a person wrote: marked edited, not stale, without error, reasoning and prefill."""

async def edit_scene_break(
    message: object,
    *,
    name: object = None,
    visible: object = None,
    interface_path: object = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Give a scene break another name, or let it count or not for what is hidden."""

async def from_number(number: object, numbering: Numbering | str = "host") -> RecapPosition | None:
    """Return the position of a number, None for -1, nowhere."""

async def get_data(
    message: object,
    key: str | None = None,
    *,
    interface_path: object = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> Any:
    """Return what is kept beside a message under a key, None where nothing is."""

async def get_memory(
    message: object,
    *,
    interface_path: object = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> str | None:
    """Return the recap of a message, of its current alternative, stale or not; None where there is none."""

async def get_recap_text(
    conversation: object = None,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> str:
    """Return the included recaps of a conversation, oldest first, one a line; blank without any."""

async def get_running_recap(
    version: int | None = None,
    *,
    conversation: object = None,
    storage: Mapping[str, Any] | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> RunningRecapVersion | None:
    """Return a version of the running recap, None where there is none."""

async def get_running_recap_injection(
    conversation: object = None,
    *,
    position: object = None,
    depth: object = None,
    role: object = None,
    scan: bool | None = None,
    counter: Counter | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> Injection:
    """Return what is to be put into a prompt for the running recap, and where."""

async def get_running_recap_storage(
    conversation: object = None,
    storage: Mapping[str, Any] | None = None,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> RunningRecapStorage:
    """Return the running recap of a conversation with all its versions; an empty one where there is none."""

async def get_running_recap_versions(
    conversation: object = None,
    storage: Mapping[str, Any] | None = None,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> list[RunningRecapVersion]:
    """Return the versions of a running recap that were not deleted, lowest number first."""

async def get_scene_range(
    message: object,
    *,
    interface_path: object = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> tuple[int, int]:
    """Return the indexes of the first and last message of the scene that ends with a message."""

async def get_scene_recaps(
    message: object,
    *,
    interface_path: object = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> list[SceneRecap]:
    """Return every version of the recap of the scene that ends with a message, the first one first."""

async def get_short_token_limit(
    *, db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None
) -> int:
    """Return the tokens message recaps may take together."""

async def list_alternatives(
    message: object,
    *,
    interface_path: object = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> list[AlternativeShown]:
    """Return the alternatives of a message by number; [] for one that has none but itself."""

async def list_refused(
    conversation: object = None,
    *,
    target: RecapTarget | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> list[RefusedRecap]:
    """Return the texts that were refused as recaps of a conversation, oldest first."""

async def list_scenes(
    conversation: object = None,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> list[SceneInfo]:
    """Return the scenes of a conversation, oldest first; [] without any."""

async def queue_recaps(
    conversation: object = None,
    *,
    prompt: str = "",
    prefill: str = "",
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> int:
    """Queue the recap of every message that has none or a stale one, oldest first, and return how many were queued."""

async def refresh_memory(
    conversation: object = None,
    *,
    disabled: Collection[str] = ...,
    counter: Counter | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> Refreshed:
    """Hide and show messages, work out which recaps are included, and return both with what is injected."""

async def remove_scene_break(
    message: object,
    *,
    interface_path: object = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Remove the break that lies on a message, with the recaps of its scene; the next break's scene begins earlier."""

async def role_from_number(number: object) -> RecapRole:
    """Return the role of a number."""

async def role_to_number(role: str) -> int:
    """Return the number of a role: system 0, user 1, assistant 2."""

async def set_current_running_recap(
    version: int,
    *,
    conversation: object = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Make a version of the running recap current."""

async def set_data(
    message: object,
    key: str,
    value: object,
    *,
    interface_path: object = None,
    provenance: Provenance = "manual",
    counter: Counter | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Keep a value beside a message, apart from the message's own fields, on its current alternative too."""

async def set_scene_recap(
    message: object,
    content: object,
    *,
    interface_path: object = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Store a scene's recap written by hand: another version, which is current from then on."""

async def switch_stories(
    on: bool,
    conversation: object = None,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Switch stories on or off for a conversation: off, nothing is injected and operations make nothing new."""

async def to_number(position: str | None) -> int:
    """Return the number of a position; None is -1, nowhere."""

async def to_numbers(injection: Mapping[str, Any]) -> dict[str, Any]:
    """Return an injection with numbers for position and role, as chat programs take it."""

async def update_message_inclusion_flags(
    conversation: object = None,
    *,
    disabled: Collection[str] = ...,
    counter: Counter | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> tuple[int, ...]:
    """Work out which recaps are included, and return their messages' row ids, oldest first."""

async def add_facts_with_meta(
    entries: Iterable[str | Mapping[str, Any]],
    conf_uid: str | None = None,
    history_uid: str | None = None,
    default_kind: str = "KeyFacts",
    *,
    message_id: object = None,
    screen: Screen | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> Added:
    """Store facts as memory items, each once, and return how many were new."""

async def classify_items(
    ids: Sequence[int],
    kind: str | None = None,
    importance: float | None = None,
    conf_uid: str | None = None,
    *,
    operator: bool = False,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> BulkResult:
    """Give up to 1,000 items another kind or importance in one transaction; a standing wish stays one."""

async def compact(
    conf_uid: str | None = None,
    min_age_days: int = 30,
    batch: int = 40,
    *,
    dry_run: bool = False,
    model: Any = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> Compacted:
    """Let up to `batch` old items of one tag become one, by a model; the sources are archived only when it is stored."""

async def consolidate_history(
    history_uid: str | None = None,
    limit_messages: int | None = None,
    conf_uid: str | None = None,
    *,
    model: Any = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> Added:
    """Make memory items of the newest messages of one conversation that were not consolidated yet."""

async def deep_consolidation(
    conf_uid: str | None = None,
    history_uid: str | None = None,
    reason: str = "by hand",
    *,
    model: Any = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> CycleResult:
    """Prune long-term memory, then store the facts of the newest messages anew, tagged `deep`."""

async def delete_item(
    id: int,
    conf_uid: str | None = None,
    *,
    operator: bool = False,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> int:
    """Archive an item and return 1; 0 where there is none, or it is archived already."""

async def delete_items(
    ids: Sequence[int],
    conf_uid: str | None = None,
    *,
    operator: bool = False,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> BulkResult:
    """Archive up to 1,000 items in one transaction; `restore_items` brings them back."""

async def edit_item(
    id: int,
    new_content: str,
    conf_uid: str | None = None,
    *,
    editor: str = "manual",
    operator: bool = False,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Give an item another text; id, tags, kind, importance and time stay, the former text goes to its history."""

async def get_item(
    id: int,
    conf_uid: str | None = None,
    *,
    operator: bool = False,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> Item:
    """Return one item, archived or not."""

async def get_item_history(
    id: int,
    conf_uid: str | None = None,
    *,
    operator: bool = False,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> list[ItemVersion]:
    """Return every text an item has had, the first one first, the present one last."""

async def health(
    conf_uid: str | None = None,
    *,
    check_index: bool = True,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> Health:
    """Return how the memory of a persona is doing, in numbers; nothing is changed."""

async def list_duplicates(
    conf_uid: str | None = None,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> list[Duplicates]:
    """Return which of a persona's 500 newest items say the same, letter for letter or nearly: for an operator."""

async def merge_items(
    keep: int,
    others: Sequence[int],
    conf_uid: str | None = None,
    *,
    operator: bool = False,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> BulkResult:
    """Let one item stand for others that say the same: it takes their tags and sources, the others go to the archive."""

async def on_stream_end(
    history_uid: str | None = None,
    conf_uid: str | None = None,
    *,
    wait: bool = True,
    model: Any = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> CycleResult:
    """Tell that a stream has ended: consolidate, clean up, and on every Nth end consolidate deeply."""

async def pin_item(
    id: int,
    pinned: bool = True,
    conf_uid: str | None = None,
    *,
    operator: bool = False,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> int:
    """Pin an item, so that nothing prunes it, or let it go; return 1, 0 where nothing changed."""

async def pin_items(
    ids: Sequence[int],
    pinned: bool = True,
    conf_uid: str | None = None,
    *,
    operator: bool = False,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> BulkResult:
    """Pin up to 1,000 items, or let them go."""

async def prune_ltm(
    conf_uid: str | None = None,
    max_age_days: int | None = None,
    max_importance: float | None = None,
    mode: str | None = None,
    *,
    protect_importance: float | None = None,
    dry_run: bool = False,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> Pruned:
    """Archive the long-term items of the persona that are too old or too unimportant, and return how many."""

async def prune_session_by_ttl(
    ttl_sec: int | None = 0,
    exclude_history_uid: str | None = None,
    conf_uid: str | None = None,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> Pruned:
    """Archive the session items of the persona that have expired, and return how many."""

async def purge_items(
    ids: Sequence[int],
    conf_uid: str | None = None,
    *,
    operator: bool = False,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> BulkResult:
    """Remove up to 1,000 items for good, with their former texts; nothing brings them back."""

async def restore_item(
    id: int,
    conf_uid: str | None = None,
    *,
    operator: bool = False,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> int:
    """Bring an archived or replaced item back and return 1; 0 where there is none, or it holds."""

async def restore_items(
    ids: Sequence[int],
    conf_uid: str | None = None,
    *,
    operator: bool = False,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> BulkResult:
    """Bring up to 1,000 archived or replaced items back."""

async def retag_items(
    ids: Sequence[int],
    add: Iterable[str] = ...,
    remove: Iterable[str] = ...,
    tags: Iterable[str] | None = None,
    conf_uid: str | None = None,
    *,
    operator: bool = False,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> BulkResult:
    """Change the tags of up to 1,000 items in one transaction, index rows and uses of tags with them."""

async def run_cycle(
    conf_uid: str | None = None,
    reason: str = "interval",
    *,
    model: Any = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> CycleResult:
    """Run one cycle of a persona, as the scheduler does: all conversations with something new, then clean up."""

async def search_items(
    q: str | None = "",
    kinds: Iterable[str] | str | None = None,
    tier: str | None = None,
    conf_uid: str | None = None,
    conversation: str | None = None,
    min_importance: float | None = None,
    since: datetime | str | None = None,
    until: datetime | str | None = None,
    tags: Iterable[str] | str | None = None,
    limit: int = 50,
    offset: int = 0,
    *,
    participant: Iterable[str] | str | None = None,
    archived: bool = False,
    operator: bool = False,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> ItemPage:
    """Return a page of the items that hold all words and filters, newest first, and how many there are in all."""

async def trigger_memory_consolidation(
    reason: str = "by hand",
    conf_uid: str | None = None,
    history_uid: str | None = None,
    *,
    wait: bool = True,
    model: Any = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> CycleResult:
    """Consolidate the conversation named, or all that have something new, then archive what has expired."""

async def cancel(
    id: int, *, db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None
) -> WriteResult:
    """Cancel an operation of the scope's persona that has not ended; the result of a running one is dropped."""

async def clear_queue(*, db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None) -> int:
    """Cancel every operation of the scope's persona that has not ended, and return how many."""

async def count_operations(
    *, db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None
) -> dict[str, dict[str, int]]:
    """Return how many operations of the scope's persona there are: type to state to number, without zeros."""

async def enqueue_operation(
    type: str,
    priority: str = "NORMAL",
    metadata: Mapping[str, Any] | None = None,
    depends_on: Iterable[int] = ...,
    *,
    conversation: str | None = None,
    participant: str | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> int:
    """Put an operation into the queue of the scope's persona and return its id."""

async def list_operations(
    states: str | Iterable[str] = ...,
    types: str | Iterable[str] = ...,
    limit: int = 100,
    *,
    conversation: str | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> list[ListedOperation]:
    """Return operations of the scope's persona: running ones, those to come in the order of their turns, ended ones."""

async def operation_scope(operation: Operation) -> Scope:
    """Return the scope an operation acts in: that of the conversation it was queued for, whatever is open now."""

async def register_handler(type: str, handler: str | Handler | None) -> None:
    """Let operations of a type be done by `handler` in this process; None takes the type away again."""

async def retry_operation(
    id: int, *, db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None
) -> WriteResult:
    """Put a failed operation of the scope's persona back into the queue, with all its tries before it."""

async def run_pending(
    limit: int | None = None,
    *,
    model: Any = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> list[OperationRun]:
    """Do the operations of the scope's persona that may begin now, one after the other, and report each."""

async def add_token(
    kind: TokenKind = "scope",
    *,
    label: str = "",
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> NewToken:
    """Make a token and return it; the text under `token` is shown this once and cannot be asked for again."""

async def find_token(text: str, *, db: Database | None = None) -> AccessToken | None:
    """Return who shows a token, None for what is none, holds no more or never did."""

async def list_tokens(
    *, admin: bool = False, db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None
) -> list[ListedToken]:
    """Return the tokens of the scope's persona, the oldest first, with those that were revoked. For an operator."""

async def narrow_scope(
    token: AccessToken,
    *,
    persona: str | None = None,
    conversation: str | None = None,
    participant: str | None = None,
    server: str | None = None,
    privacy: Privacy | None = None,
) -> Scope:
    """Return the scope of a request: what its token stands for, and what it says of itself as far as that may be said."""

async def revoke_token(
    id: object,
    *,
    admin: bool = False,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> bool:
    """Let a token hold no more from now on, and return whether it did until now. For an operator."""

async def save_transcript(
    messages: Sequence[Mapping[str, Any]],
    answer: str | None = None,
    *,
    name: str | None = None,
    persona_name: str | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> TranscriptSaved:
    """Store what is new in a list of messages, and the answer to its last line."""

async def export_items(
    *,
    kind: str | Iterable[str] | None = None,
    fmt: Syntax = "json",
    limit: int = 1000,
    after: str | None = None,
    max_bytes: int | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> ItemExport:
    """Return a file of the persona's memory items, oldest first, to be iterated over piece by piece."""

async def export_values(
    *, db: Database | None = None, settings: GivenSettings = None, scope: Scope | None = None
) -> list[dict[str, Any]]:
    """Return the values a scope reaches, as `import_values` takes them, by kind, namespace and name."""

async def import_items(
    source: TransferSource,
    *,
    default_kind: str = "KeyFacts",
    fmt: Syntax | None = None,
    dry_run: bool = False,
    max_bytes: int = 20971520,
    progress: Progress | None = None,
    should_stop: Callable[[], bool] | None = None,
    screen: screening.Screen | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> ItemImport:
    """Return what became of the items of a file. The same file again stores nothing."""

async def import_values(
    values: Iterable[Mapping[str, Any]],
    *,
    dry_run: bool = False,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> ValueImport:
    """Store values as `export_values` gives them, under their names, in the scope of the call."""

async def export_chat(
    path: str | PathLike[str] | BinaryIO,
    *,
    conversation: str | None = None,
    format: Format = "sillytavern",
    overwrite: bool = True,
    progress: Progress | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> ExportResult:
    """Write a conversation into a file, and return what was written."""

async def import_file(
    path: str | PathLike[str],
    *,
    interface: str | None = None,
    conversation: str | None = None,
    persona: str | None = None,
    user: str = "",
    private: bool = False,
    time_zone: str = "UTC",
    day_first: bool | None = None,
    dry_run: bool = False,
    max_bytes: int = 2147483648,
    progress: Progress | None = None,
    should_stop: Callable[[], bool] | None = None,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> ImportResult:
    """Return what became of the messages of a file. The same file again adds nothing; a later export of the same chats adds what is new, and edits what was edited."""

async def set_value(name: str, value: object, db: Any = None) -> WriteResult:
    """Write a flag's value to the table `config`; it acts on the next call here, elsewhere within 5 seconds."""

async def check_server(db: Database | None = None, *, progress: Progress | None = None) -> list[Finding]:
    """Return what is wrong or missing on the server, each with the remedy; nothing is changed."""

async def configure(
    db: Database | str | None = None,
    *,
    settings: Settings | Mapping[str, object] | None = None,
    model: Any = None,
    embedder: Any = None,
) -> None:
    """Set what functions use from now on when they are passed nothing."""

async def current_database() -> Database:
    """Return the database of this process."""

async def default_database() -> Database:
    """Return the database of this process, opened and brought up to date at first use."""

async def forget(
    *,
    participant: object = None,
    conversation: object = None,
    memory: object = None,
    dry_run: bool = False,
    db: Database | None = None,
    settings: Settings | Mapping[str, Any] | None = None,
    scope: Scope | None = None,
) -> Forgotten:
    """Delete everything of one participant, conversation or memory: `forgetting.forget`."""

async def insert_memory(
    content: str,
    author: str | None,
    source: str | None,
    tags: Any,
    scope: str | Scope = "general",
    emotion: str | None = None,
    intensity: int | None = None,
    emotion_state: str | None = None,
    timestamp: datetime | str | float | None = None,
    *,
    label: str | None = None,
    message_id: object = None,
    db: Database | None = None,
    settings: Settings | Mapping[str, Any] | None = None,
    **more: Any,
) -> int:
    """Store one memory item and return its id."""

async def migrate(db: Database | None = None, *, progress: Progress | None = None) -> Migrated:
    """Bring the database to the present schema; a second run changes nothing and says so."""

async def open_database(
    url: str | None = None, *, settings: Settings | Mapping[str, Any] | None = None, **options: Any
) -> Database:
    """Return a handle on a database, brought up to date where it is empty."""

async def pack_index(db: Database | None = None, *, progress: Progress | None = None) -> int:
    """Pack the search index: rows that wait to be packed, and small segments into large ones."""

async def reindex(
    db: Database | None = None,
    *,
    changed: bool = False,
    settings: Settings | Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> int:
    """Build the search index of rows that are not indexed yet, then put right whatever `verify_index` lists."""

async def verify_index(db: Database | None = None, *, progress: Progress | None = None) -> list[Difference]:
    """Return every place where the search index is not what the rows give; empty when they agree."""
