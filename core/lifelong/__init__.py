"""Memory that lasts: items, session and long-term tiers, consolidation, pruning.

Session items expire; long-term items stay until they are pruned. Functions for items act in a scope, or with
`operator=True` on all audiences of one persona; cycles and pruning act on the whole persona. `history_uid` is the key
of a conversation to use in place of the scope's.
"""

from ..memories.rules import KINDS as KINDS
from ..memories.shapes import Added, BulkResult, CycleResult, Item, ItemPage, ItemVersion, Pruned
from .changes import delete_items, edit_item, pin_items, purge_items, restore_items, retag_items
from .cycles import consolidate_history, deep_consolidation, on_stream_end, run_cycle, trigger_memory_consolidation
from .items import add_facts_with_meta, find_similar_item, get_item, get_item_history, search_items
from .pruning import prune_ltm, prune_session_by_ttl
from .statements import profile
from .table_runs import read_runs as read_runs

__all__ = ["Added", "BulkResult", "CycleResult", "Item", "ItemPage",
           "ItemVersion", "Pruned", "add_facts_with_meta",
           "consolidate_history", "deep_consolidation", "delete_items", "edit_item",
           "find_similar_item", "get_item", "get_item_history", "on_stream_end",
           "pin_items", "profile", "prune_ltm", "prune_session_by_ttl", "purge_items", "restore_items", "retag_items",
           "run_cycle", "search_items", "trigger_memory_consolidation"]  # fmt: skip
