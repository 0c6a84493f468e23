"""What the functions of `lifelong` do with items, apart from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from ..audience import table_conversations as conversations
from ..audience.view import Request
from ..audience.view_statement import look
from ..calls import screening
from ..calls.defaults import call_with
from ..config import Settings
from ..database.engine import Database
from ..database.rows import text as read_text
from ..errors import ItemNotFoundError, MessageError
from ..memories import (
    new_item as memory_input,
)
from ..memories import rules
from ..memories import rules_retention as retention
from ..memories import (
    table as memories,
)
from ..memories import (
    table_history as item_history,
)
from ..memories import (
    table_merges as item_merging,
)
from ..memories import (
    table_reading as items,
)
from ..memories.new_item import NewMemory
from ..memories.rules import WISH
from ..memories.shapes import Added, BulkResult, Item, ItemPage, ItemVersion, Pruned
from ..memories.table_reading import Filters, Seen
from ..scope import Scope
from ..shapes import WriteResult
from ..tags.rules import normal, stored_form, tag_items
from ..text.folding import clean
from ..text.times import read_time
from . import table_item_changes as item_changes
from . import table_pruning as pruning

AUTHOR = "host"
MOST_PAGE = 500
MOST_WANTED = 200
"""Words, and tags, of one search: each is a condition of the statement, and a database takes a few hundred."""
MOST_ENTRIES = 10_000

Given = Settings | Mapping[str, object] | None


def asking(
    db: Database | None, settings: Given, scope: Scope | None, conf_uid: str | None, history_uid: str | None = None
) -> tuple[Database, Settings, Scope]:
    """Return what a call works with; another persona's scope has nothing of the scope's conversation."""
    known_db, known, own = call_with(db, settings, scope)
    if conf_uid is not None and str(conf_uid) != own.persona:
        own = Scope(conf_uid, destination=own.destination)
    if history_uid is not None:
        own = replace(own, conversation=history_uid)
    return known_db, known, own


def seen_by(db: Database, settings: Settings, scope: Scope, operator: bool) -> Seen:
    """Return what a scope sees; an operator sees all audiences of the persona.

    Raises:
        StoreReadError: it could not be worked out.
    """
    if operator:
        return Seen(scope.persona)
    viewer = look(
        db,
        scope,
        Request(bare=True),
        destination=scope.destination or settings.prompt_destination,
        private_stays_private=settings.private_stays_private,
    ).viewer
    return Seen(scope.persona, viewer.audiences, viewer.sees_local_only)


# Storing


def add(
    db: Database, settings: Settings, scope: Scope, entries: object, default_kind: str, screen: Any = None
) -> Added:
    """Store facts; see `lifelong.add_facts_with_meta`."""
    # 1. what is to be stored
    read = read_entries(db, settings, entries, default_kind, screen)
    if not read:
        return Added(reason="empty")
    ready = list(zip(db.ids.take(len(read)), read, strict=True))
    notes = tuple(note for memory in read for note in memory.notes)

    # 2. each once, those that privacy allows
    def work(connection: Any) -> Added:
        mine = [
            (row_id, memory)
            for row_id, memory in ready
            if not memories.is_private(connection, scope, memory.tier, settings.privacy_default, False)
        ]
        if not mine:
            return Added(notes=notes, reason="privacy")
        place = conversations.ensure(connection, db, scope, sender=scope.participant)
        done = item_merging.add(connection, db, scope, mine, place, near_score=settings.near_duplicate_score)
        reason = "privacy" if len(mine) < len(ready) else "" if done.ids else "duplicate"
        return Added(len(done.ids), ids=done.ids, merged=done.joined, notes=notes, reason=reason)

    def confirm(connection: Any) -> Added | None:
        there = item_merging.present(connection, scope.persona, [row_id for row_id, _ in ready])
        return Added(len(there), ids=there, notes=notes) if there else None

    return db.transaction(work, source="memories", confirm=confirm)


def read_entries(
    db: Database, settings: Settings, entries: object, default_kind: str, screen: Any = None
) -> list[NewMemory]:
    """Return the items that a list of facts holds, blank ones left out.

    Raises:
        MessageError: it is no list, or an entry cannot be used; the message names its number.
    """
    if isinstance(entries, (str, bytes, Mapping)) or not isinstance(entries, Iterable):
        raise MessageError(
            f"entries is of type {type(entries).__name__}. It must be a list of texts or mappings.", fields=("entries",)
        )
    kind = rules.kind_of(default_kind)
    made = []
    for number, given in enumerate(entries, 1):
        if number > MOST_ENTRIES:
            raise MessageError(
                f"entries holds more than {MOST_ENTRIES} entries. Send them in several calls.", fields=("entries",)
            )
        try:
            item = read_item(db, settings, given, kind, screen)
        except MessageError as error:
            raise MessageError(f"Entry {number}: {error}", fields=error.fields) from None
        if item is not None:
            made.append(item)
    return made


def read_item(db: Database, settings: Settings, given: object, kind: str, screen: Any = None) -> NewMemory | None:
    """Return one entry ready to be stored, None for a blank one.

    Raises:
        MessageError: it cannot be used.
    """
    entry = rules.read_entry(given, kind)
    if entry is None:
        return None
    more = {"author": AUTHOR, "source": "facts", **entry.more}
    item = memory_input.read(entry.text, now=db.clock(), kind=entry.kind, **more)
    if item is None:
        return None
    if item.tier == "session" and item.expires_at is None:
        item = replace(item, expires_at=retention.expires_at(item.at, settings.session_ttl_sec))
    flagged, notes = screening.is_flagged(item.content, "memory", settings=settings, screen=screen)
    return replace(item, quarantined=int(flagged or item.quarantined), notes=(*item.notes, *notes))


# Looking


def search(
    db: Database,
    settings: Settings,
    scope: Scope,
    operator: bool,
    q: object,
    *,
    limit: object,
    offset: object,
    kinds: object,
    tier: object,
    conversation: object,
    min_importance: object,
    since: object,
    until: object,
    tags: object,
    archived: bool,
) -> ItemPage:
    """Return a page of items; see `lifelong.search_items`."""
    if q is not None and not isinstance(q, str):
        raise MessageError(f"q is of type {type(q).__name__}. It must be a text of words.", fields=("q",))
    if tier is not None and tier not in rules.TIERS:
        raise MessageError(f"tier is {str(tier)[:40]!r}. It must be session or long_term.", fields=("tier",))
    most = rules.read_number(limit, "limit", 1, MOST_PAGE, 50)
    skip = rules.read_number(offset, "offset", 0, 2**31 - 1, 0)
    words = items.folded_words(clean(q or ""))
    wanted = () if tags is None else tuple(dict.fromkeys(made for each in tag_items(tags) if (made := normal(each))))
    for name, what, given in (("q", "words", words), ("tags", "entries", wanted)):
        if len(given) > MOST_WANTED:
            raise MessageError(
                f"{name} has {len(given)} {what}. At most {MOST_WANTED} are looked for. Leave some out.", fields=(name,)
            )
    asked = Filters(
        words,
        _kinds(kinds),
        str(tier or ""),
        None if conversation is None else Scope(scope.persona, conversation).conversation,  # type: ignore[arg-type]
        None,
        rules.read_share(min_importance, "min_importance", None),
        _moment(since, "since"),
        _moment(until, "until"),
        wanted,
        archived,
        scope.conversation,
    )
    seen = seen_by(db, settings, scope, operator)
    found = items.search(db, seen, asked, ttl_seconds=settings.session_ttl_sec, limit=most, offset=skip)
    page: ItemPage = {"items": found.items, "total": found.total}
    return {**page, "at_least": True} if found.at_least else page


def _kinds(kinds: object) -> tuple[str, ...]:
    if kinds is None:
        return ()
    listed = [kinds] if isinstance(kinds, str) or not isinstance(kinds, Iterable) else kinds
    return tuple(dict.fromkeys(rules.kind_of(each, also=(WISH,)) for each in listed))


def _moment(value: object, name: str) -> datetime | None:
    if value is None or value == "":
        return None
    moment, _ = read_time(value)
    if moment is None:
        raise MessageError(
            f"{name} is {str(value)[:40]!r}. It must be a time, such as 2026-03-10T12:00:00Z.", fields=(name,)
        )
    return moment


def get(db: Database, seen: Seen, row_id: object) -> Item:
    """Return an item.

    Raises:
        ItemNotFoundError: there is none that may be seen.
    """
    known = rules.read_id(row_id)
    found = items.find(db, seen, known)
    if found is None:
        raise ItemNotFoundError(known)
    return found


def versions(db: Database, seen: Seen, row_id: object) -> list[ItemVersion]:
    """Return the texts an item has had, the first one first, the present one last."""
    item = get(db, seen, row_id)
    made: list[ItemVersion] = [
        {
            "text": old.text,
            "until": old.at.isoformat() if old.at else "",
            "reason": old.reason,
            "changed_by": old.changed_by,
        }
        for old in item_history.of(db, seen.persona, "memories", [item["id"]])
    ]
    return [*made, {"text": item["text"], "until": "", "reason": "", "changed_by": ""}]


# Changing


def edit(db: Database, settings: Settings, seen: Seen, row_id: object, text: object, editor: str) -> WriteResult:
    """Give an item another text; see `lifelong.edit_item`."""
    known = rules.read_id(row_id)
    if not isinstance(text, str):
        raise MessageError(f"new_content is of type {type(text).__name__}. It must be a text.", fields=("new_content",))
    made = read_text(text, "new_content")
    if not made.strip():
        raise MessageError(
            "new_content is blank. An item needs a text; delete_item archives it.", fields=("new_content",)
        )
    flagged, notes = screening.is_flagged(made, "memory", settings=settings)
    done = item_changes.edit(db, seen, known, made, editor=str(editor), quarantined=flagged)
    if done is None:
        raise ItemNotFoundError(known)
    return WriteResult(*done, notes=notes) if notes else done


def archive(db: Database, seen: Seen, ids: Sequence[int], *, archived: bool) -> BulkResult:
    """Archive items or bring them back."""
    return item_changes.set_archived(db, seen, ids, archived=archived)


def retag(db: Database, seen: Seen, ids: object, add: object, remove: object, only: object) -> BulkResult:
    """Change the tags of items; see `lifelong.retag_items`."""
    known = rules.read_ids(ids)
    if only is not None and (add or remove):
        raise MessageError("tags stands beside add or remove. Give one or the other.", fields=("tags",))
    if only is None and not add and not remove:
        raise MessageError("Nothing is to be changed: give add, remove or tags.", fields=("add", "remove", "tags"))
    return item_changes.retag(
        db,
        seen,
        known,
        add=_tags(add, "add"),
        remove=set(_tags(remove, "remove")),
        only=None if only is None else _tags(only, "tags"),
    )


def _tags(value: object, name: str) -> list[str]:
    """Return tags as they are stored.

    Raises:
        MessageError: no texts, or one that is too long.
    """
    try:
        made, dropped = stored_form(value)
    except TypeError as error:
        raise MessageError(f"{name} holds something that is no tag. {error}", fields=(name,)) from None
    if dropped:
        raise MessageError(f"{name} holds a tag of {dropped[0]} bytes. At most 255 are allowed.", fields=(name,))
    return made


# Pruning


def prune_session(db: Database, settings: Settings, scope: Scope, ttl_sec: object, active: object) -> Pruned:
    """Archive session items that have expired; see `lifelong.prune_session_by_ttl`."""
    seconds, notes = retention.session_ttl(ttl_sec, settings.session_ttl_sec)
    key = Scope(scope.persona, active).conversation if active is not None else scope.conversation  # type: ignore[arg-type]
    gone = pruning.archive_expired(db, scope.persona, seconds, given=bool(ttl_sec), active=key)
    return Pruned(len(gone), gone, notes=notes)


def prune_long_term(
    db: Database,
    settings: Settings,
    scope: Scope,
    *,
    max_age_days: object,
    max_importance: object,
    mode: object,
    dry_run: bool,
) -> Pruned:
    """Archive long-term items; see `lifelong.prune_ltm`."""
    share = rules.read_share(max_importance, "max_importance", settings.prune_max_importance)
    assert share is not None
    limits = pruning.Limits(
        rules.read_number(max_age_days, "max_age_days", 1, 36_500, settings.prune_max_age_days),
        share,
        retention.read_mode(mode, settings.prune_mode),
        settings.prune_protect_importance,
    )
    gone = pruning.prune(db, scope.persona, limits, dry_run=dry_run)
    return Pruned(len(gone), gone)
