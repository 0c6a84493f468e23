"""Public functions that store, search and read items; `lifelong.changes` changes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Unpack

from ..access import table_conversations as conversations
from ..access import table_participants
from ..calls.call import Call, CallOptions, find_key, load_viewer, open_call
from ..database import rows
from ..database.engine import RollbackError
from ..database.ids import retry_duplicates
from ..database.sources import MEMORIES
from ..errors import ItemNotFoundError, MessageError
from ..memories import new_item, rules, table_sources
from ..memories import table as memories
from ..memories import table_reading as items
from ..memories.new_item import NewMemory
from ..memories.rules import DEFAULT_KIND, Tier
from ..memories.shapes import Added, Item, ItemPage, ItemVersion
from ..memories.similar import find_similar
from ..memories.table_reading import ItemFilter, ReadScope
from ..scope import Scope
from ..search.query import read_bound
from ..search.rules_arguments import Bound
from ..shapes import SimilarMemory
from ..tags.rules import normal, tag_items
from ..text.folding import clean, fold
from ..text.host_values import all_items

MOST_WANTED = 200
"""Maximum number of words, and of tags, in one search: databases allow a few hundred conditions per statement."""
MOST_ENTRIES = 10_000


def open_persona_call(
    conf_uid: str | None = None, history_uid: str | None = None, **options: Unpack[CallOptions]
) -> Call:
    """Open the call for a persona and conversation; another `conf_uid` than the scope's keeps only the destination."""
    call = open_call(**options)
    own = call.scope
    if conf_uid is not None and (named := Scope(conf_uid, destination=own.destination)).persona != own.persona:
        own = named
    if history_uid is not None:
        own = replace(own, conversation=find_key(replace(call, scope=own), history_uid, "history_uid"))
    return replace(call, scope=own)


def find_seen(call: Call, operator: bool) -> ReadScope:
    """Return which audiences the call may read: those that its scope sees, or all of the persona for an operator."""
    if rows.yes_no(operator, "operator"):
        return ReadScope(call.persona)
    viewer = load_viewer(call)
    return ReadScope(call.persona, viewer.audiences, viewer.sees_local_only)


def add_facts_with_meta(
    entries: Iterable[str | Mapping[str, Any]],
    conf_uid: str | None = None,
    history_uid: str | None = None,
    default_kind: str = DEFAULT_KIND,
    *,
    message_id: object = None,
    **options: Unpack[CallOptions],
) -> Added:
    """Store facts as memory items, each once, and return the number of new items.

    Args:
        entries: texts, or mappings with `text` and any of kind, tier, importance (0 to 1), tags, emotion, timestamp,
        expires_at, pinned, provenance, source_message_ids; other keys go to metadata. At most 10,000.
        conf_uid, history_uid: ids of persona and conversation; by default those of the scope.
        default_kind: kind of entries that name no kind.
        message_id: the source message, by the platform's id in the scope's conversation or by its row id. Deleting that
        message deletes the items. Editing it changes items that repeat the whole message, and deletes the others.

    Returns:
        A number with `ids`, `merged` (entries equal to an existing item, which took over their tags, importance and
        sources), `notes`, and a `reason` (`empty`, `privacy`, `duplicate`) if some entries were not stored.

    Raises:
        MessageError: an entry cannot be used; the error gives its number. Nothing was stored.
        StoreWriteError: nothing was stored.

    >>> from prompt_engine import lifelong, open_database
    >>> db = open_database("sqlite://")
    >>> lifelong.add_facts_with_meta(["Ann likes green tea", {"text": "Ann lives in Rome", "importance": 0.9}], db=db)
    2
    >>> [(item["text"], item["importance"]) for item in lifelong.search_items("rome", db=db)["items"]]
    [('Ann lives in Rome', 0.9)]
    """
    call = open_persona_call(conf_uid, history_uid, **options)
    named, at = table_sources.find_sources(call.db, call.scope, message_id)
    new = _read_entries(call, entries, default_kind, at)
    if named:
        new = [replace(m, source_message_ids=table_sources.join_sources(m.source_message_ids, named)) for m in new]
    return _store(call, new) if new else Added(reason="empty")


@retry_duplicates
def _store(call: Call, entries: Sequence[NewMemory]) -> Added:
    db, scope, default = call.db, call.scope, call.settings.privacy_default
    row_ids = db.ids.take(len(entries))
    new = list(zip(row_ids, entries, strict=True))
    tiers, notes = {memory.tier for memory in entries}, tuple(note for memory in entries for note in memory.notes)

    def work(connection: Any) -> Added:
        place = conversations.ensure(connection, db, scope, sender=scope.participant)
        closed = {tier for tier in tiers if memories.is_private(connection, scope, tier, default, False)}
        allowed = [(row_id, memory) for row_id, memory in new if memory.tier not in closed]
        if not allowed:
            raise RollbackError(Added(notes=notes, reason="privacy"))
        done = memories.insert_each_once(connection, db, scope, allowed, place)
        reason = "privacy" if len(allowed) < len(new) else "" if done.ids else "duplicate"
        return Added(len(done.ids), ids=done.ids, merged=done.merged, notes=notes, reason=reason)

    return db.transaction(work, source="memories", confirm=rows.check_stored(MEMORIES.table, scope.persona, row_ids))


def _read_entries(call: Call, entries: object, default_kind: str, at: datetime | None) -> list[NewMemory]:
    """Build the items to store from a list of facts, without blank facts; `at` is the time of facts without a time."""
    if isinstance(entries, (str, bytes, Mapping)) or not isinstance(entries, Iterable):
        raise MessageError.of_type("entries", entries, "a list of texts or mappings")
    kind = rules.kind_of(default_kind)
    new = []
    for number, given in enumerate(entries, 1):
        if number > MOST_ENTRIES:
            text = f"entries holds more than {MOST_ENTRIES} entries. Send them in several calls."
            raise MessageError(text, fields=("entries",))
        try:
            item = _read_item(call, given, kind, at)
        except MessageError as error:
            raise MessageError(f"Entry {number}: {error}", fields=error.fields) from None
        if item is not None:
            new.append(item)
    return new


def _read_item(call: Call, given: object, kind: str, at: datetime | None) -> NewMemory | None:
    entry = rules.read_entry(given, kind)
    if entry is None:
        return None
    item = new_item.read(now=call.db.clock(), **{"author": "host", "source": "facts", "timestamp": at, **entry})
    if item is not None and item.tier == "session" and item.expires_at is None:
        return replace(item, expires_at=rules.expires_at(item.at, call.settings.session_ttl_sec))
    return item


def find_similar_item(text: str, **options: Unpack[CallOptions]) -> SimilarMemory | None:
    """Return the long-term item of the scope's person on the same subject as `text`, or None.

    Items must share at least half of the words of the shorter text; the item that shares most words is returned.

    >>> from prompt_engine import Scope, lifelong, open_database
    >>> db, ann = open_database("sqlite://"), Scope("iris", participant="tg/ann")
    >>> _ = lifelong.add_facts_with_meta(["I live in Leeds"], db=db, scope=ann)
    >>> lifelong.find_similar_item("I live in Rome now", db=db, scope=ann)["text"]
    'I live in Leeds'
    """
    return find_similar(open_call(**options), rows.text(text, "text"))


def search_items(
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
    **options: Unpack[CallOptions],
) -> ItemPage:
    """Return a page of the items that match all words and filters, newest first, and the total.

    Args:
        q: words; each must occur in the text, ignoring case and accents. Blank matches all items.
        kinds, tier, conversation: only items of these kinds, of tier session or long_term, of this conversation.
        conf_uid: id of the persona; by default the scope's persona.
        min_importance: 0 to 1.
        since, until: as in `search_memories`.
        tags: items must have all of these.
        limit, offset: size of the page, 1 to 500, and items to skip.
        participant: only items of this person or these people, by key `interface/id`.
        archived: search deleted, pruned and replaced items instead.
        operator: search all audiences of the persona.

    Returns:
        `{"items": [...], "total": n}`. Expired session items are left out, except those of the scope's conversation. If
        more than 10,000 match, `"at_least": True` says that the total is higher.

    Raises:
        MessageError: a value out of range, or an unknown kind (the error names the nearest).
        StoreReadError: nothing could be read.

    >>> from prompt_engine import lifelong, open_database
    >>> db = open_database("sqlite://")
    >>> added = lifelong.add_facts_with_meta(["Ann likes green tea", "Ann likes rice"], db=db)
    >>> page = lifelong.search_items("TEA", kinds="KeyFacts", min_importance=0.2, db=db)
    >>> page["total"], page["items"][0]["text"]
    (1, 'Ann likes green tea')
    """
    call = open_persona_call(conf_uid, **options)
    most = rules.read_number(limit, "limit", 1, 500, 50)
    skip = rules.read_number(offset, "offset", 0, 2**31 - 1, 0)
    if q is not None and not isinstance(q, str):
        raise MessageError.of_type("q", q, "a text of words")
    if tier is not None:
        rules.check_choice(tier, "tier", Tier)
    people = [participant] if isinstance(participant, str) else () if participant is None else participant
    named = () if kinds is None else [kinds] if isinstance(kinds, str) or not isinstance(kinds, Iterable) else kinds
    wanted = ItemFilter(
        words=_list_wanted(fold(clean(q or "")).split(), "q", "words"),
        kinds=tuple(dict.fromkeys(rules.kind_of(each, also=(rules.INSTRUCTION,)) for each in named)),
        tier=tier or "",
        conversation=None if conversation is None else find_key(call, conversation, "conversation"),
        participants=tuple(map(table_participants.checked_key, _list_wanted(people, "participant"))),
        min_importance=rules.read_share(min_importance, "min_importance", None),
        since=_read_bound(call, since, "since"),
        until=_read_bound(call, until, "until"),
        tags=_list_wanted(filter(None, map(normal, () if tags is None else tag_items(tags))), "tags"),
        archived=bool(rows.yes_no(archived, "archived")),
        here=call.scope.conversation,
    )
    seen = find_seen(call, operator)
    return items.search(call.db, seen, wanted, ttl_seconds=call.settings.session_ttl_sec, limit=most, offset=skip)


def _list_wanted(values: Iterable[str], name: str, what: str = "entries") -> tuple[str, ...]:
    """Remove repeated values of a filter; raise MessageError if more than MOST_WANTED remain."""
    wanted = tuple(dict.fromkeys(all_items(values, name)))
    if len(wanted) > MOST_WANTED:
        text = f"{name} has {len(wanted)} {what}. At most {MOST_WANTED} are looked for. Leave some out."
        raise MessageError(text, fields=(name,))
    return wanted


def _read_bound(call: Call, value: object, field: Bound) -> datetime | None:
    try:
        return None if value == "" else read_bound(value, field, call.settings, call.db.clock, call.settings.languages)
    except ValueError as error:
        raise MessageError(str(error), fields=(field,)) from None


def get_item(
    id: int,  # noqa: A002 - the name of the specification
    *,
    operator: bool = False,
    **options: Unpack[CallOptions],
) -> Item:
    """Return one item, even an archived one.

    Args:
        id: the item's id.
        operator: read all audiences of the persona.

    Raises:
        ItemNotFoundError: the scope sees no such item.

    >>> from prompt_engine import lifelong, open_database
    >>> db = open_database("sqlite://")
    >>> added = lifelong.add_facts_with_meta(["Ann likes green tea"], db=db)
    >>> item = lifelong.get_item(added.ids[0], db=db)
    >>> item["text"], item["kind"], item["tier"]
    ('Ann likes green tea', 'KeyFacts', 'long_term')
    """
    call = open_call(**options)
    row_id = rules.read_id(id)
    item = items.find(call.db, find_seen(call, operator), row_id)
    if item is None:
        raise ItemNotFoundError(row_id)
    return item


def get_item_history(
    id: int,  # noqa: A002 - as above
    *,
    operator: bool = False,
    **options: Unpack[CallOptions],
) -> list[ItemVersion]:
    """Return every text that an item has had, oldest first; arguments and errors are those of `get_item`.

    The last version is the current text: its `until`, `reason` and `changed_by` are blank.

    >>> from prompt_engine import lifelong, open_database
    >>> db = open_database("sqlite://")
    >>> added = lifelong.add_facts_with_meta(["Ann likes tea"], db=db)
    >>> done = lifelong.edit_item(added.ids[0], "Ann likes green tea", db=db)
    >>> [version["text"] for version in lifelong.get_item_history(added.ids[0], db=db)]
    ['Ann likes tea', 'Ann likes green tea']
    """
    call = open_call(**options)
    item = get_item(id, operator=operator, db=call.db, settings=call.settings, scope=call.scope)
    previous = table_sources.read_texts(call.db, call.persona, item["id"])
    return [*previous, {"text": item["text"], "until": "", "reason": "", "changed_by": ""}]
