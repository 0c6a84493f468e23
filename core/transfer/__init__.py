"""Imports and exports of whole files: conversations and memories."""

from .items import ItemExport, ItemImport, ItemProblem, export_items, import_items

__all__ = ["ItemExport", "ItemImport", "ItemProblem", "export_items", "import_items"]
