"""Items as hosts sort them: kind and importance, and what says the same made one. Offered by `lifelong`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from ..calls.call import GivenSettings
from ..conversations import memory_folder
from ..database.engine import Database
from ..errors import ItemNotFoundError, MessageError
from ..memories import rules, table
from ..memories.rules import read_id, read_ids
from ..memories.shapes import BulkResult
from ..memories.table import NEAR_CHARS
from ..scope import Scope
from . import table_health
from . import table_item_changes as item_changes
from .call import find_seen, open_persona_call
from .condition import NEAR_LOOKED_AT, NEAR_SCORE


class Duplicates(TypedDict):
    """Items that say the same, or nearly."""

    ids: list[int]
    """The newest first; all of one audience and one person."""
    exact: bool
    """They say it letter for letter."""


def classify_items(
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
    """Give up to 1,000 items another kind or importance in one transaction; a standing wish stays one.

    Args:
        ids, conf_uid, operator: as for `delete_items`.
        kind: one of the kinds; None leaves it.
        importance: 0 to 1; None leaves it.

    Returns:
        How many items are something else now, and the ids there is no item of.

    Raises:
        MessageError: nothing to change, an unknown kind, an importance out of its range, or ids as for `delete_items`.
        StoreWriteError: nothing was changed.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.lifelong import add_facts_with_meta, classify_items, get_item
    >>> db = open_database("sqlite://")
    >>> (item,) = add_facts_with_meta(["We were in Rome"], db=db).ids
    >>> classify_items([item], "past_events", 0.8, db=db).count, get_item(item, db=db)["kind"]
    (1, 'PastEvents')
    """
    if kind is None and importance is None:
        raise MessageError("Nothing is to be changed: give kind or importance.", fields=("kind", "importance"))
    wanted = read_ids(ids)
    call = open_persona_call(db, settings, scope, conf_uid)
    done = item_changes.classify(
        call.db,
        find_seen(call, operator),
        wanted,
        kind=None if kind is None else rules.kind_of(kind),
        importance=rules.read_share(importance, "importance", None),
    )
    memory_folder.write_files(call)
    return done


def merge_items(
    keep: int,
    others: Sequence[int],
    conf_uid: str | None = None,
    *,
    operator: bool = False,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> BulkResult:
    """Let one item stand for others that say the same: it takes their tags and sources, the others go to the archive.

    Args:
        keep: id of the item that stays; its text, kind and time stay as they are.
        others: ids of up to 1,000 items of the same audience and person. `restore_items` brings them back.
        conf_uid, operator: as for `delete_items`.

    Returns:
        How many were merged, and the ids there is no item of.

    Raises:
        ItemNotFoundError: there is no item to keep, or it is archived.
        MessageError: one of another audience or person, which would show what was said to one to another; a standing
            wish; nothing to merge, or ids as for `delete_items`.
        StoreWriteError: nothing was changed.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.lifelong import add_facts_with_meta, get_item, merge_items
    >>> db = open_database("sqlite://")
    >>> facts = [{"text": "Ann likes tea", "tags": ["ann"]}, {"text": "Ann loves tea", "tags": ["tea"]}]
    >>> one, other = add_facts_with_meta(facts, db=db).ids
    >>> merge_items(one, [other], db=db).count, get_item(one, db=db)["tags"]
    (1, ['ann', 'tea'])
    """
    kept = read_id(keep)
    wanted = [each for each in read_ids(others) if each != kept]
    if not wanted:
        raise MessageError("others names no other item. Give the ids of those to be merged.", fields=("others",))
    call = open_persona_call(db, settings, scope, conf_uid)
    done = item_changes.merge(call.db, find_seen(call, operator), kept, wanted)
    if done is None:
        raise ItemNotFoundError(kept)
    memory_folder.write_files(call)
    return done


def list_duplicates(
    conf_uid: str | None = None,
    *,
    db: Database | None = None,
    settings: GivenSettings = None,
    scope: Scope | None = None,
) -> list[Duplicates]:
    """Return which of a persona's 500 newest items say the same, letter for letter or nearly: for an operator.

    Args:
        conf_uid: the persona; the scope's by default.

    Returns:
        One entry for what is said more than once, the newest first; [] where nothing is. Wishes are no duplicates.

    Raises:
        StoreReadError: nothing could be read.

    >>> from prompt_engine import open_database
    >>> from prompt_engine.lifelong import add_facts_with_meta, list_duplicates
    >>> db = open_database("sqlite://")
    >>> added = add_facts_with_meta(["Ann likes green tea", "Ann likes green teas"], db=db)
    >>> [len(each["ids"]) for each in list_duplicates(db=db)]
    [2]
    """
    call = open_persona_call(db, settings, scope, conf_uid)
    score = call.settings.near_duplicate_score or NEAR_SCORE
    groups: dict[int, Duplicates] = {}
    first: dict[tuple[int, str | None], list[tuple[int, str]]] = {}
    same: dict[tuple[int, str | None, bytes], int] = {}
    for row in table_health.newest(call.db, call.persona, NEAR_LOOKED_AT):
        whose, folded = (row.audience_id, row.participant_key), row.text_folded or ""
        exactly = (*whose, bytes(row.content_hash or b""))
        others = first.setdefault(whose, [])
        leader = same.get(exactly)
        is_exact = leader is not None
        if leader is None and len(folded) <= NEAR_CHARS:
            leader = table.nearest(folded, others, score)
        if leader is None:
            groups[row.id] = {"ids": [row.id], "exact": True}
            others.append((row.id, folded))
            same[exactly] = row.id
        else:
            group = groups[leader]
            groups[leader] = {"ids": [*group["ids"], row.id], "exact": group["exact"] and is_exact}
            same.setdefault(exactly, leader)
    return [group for group in groups.values() if len(group["ids"]) > 1]
