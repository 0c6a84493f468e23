"""Give items another kind or importance. Offered by `lifelong`."""

from __future__ import annotations

from collections.abc import Sequence

from ..calls.call import GivenSettings
from ..conversations import memory_files
from ..database.engine import Database
from ..errors import MessageError
from ..memories import rules
from ..memories.rules import read_ids
from ..memories.shapes import BulkResult
from ..scope import Scope
from . import table_item_changes as item_changes
from .call import find_seen, open_persona_call


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
    """Give up to 1,000 items another kind or importance in one transaction; a standing instruction stays one.

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
    memory_files.write_files(call)
    return done
