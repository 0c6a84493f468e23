"""Imports and exports of whole files: conversations and memories.

Names of `transfer.items` are loaded at their first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .items import ItemExport, ItemImport, ItemProblem, export_items, import_items

__all__ = ["ItemExport", "ItemImport", "ItemProblem", "export_items", "import_items"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module(".items", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
