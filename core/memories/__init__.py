"""Memory items of every kind: stored, merged, found, shown."""

from .table_reading import count_archived, count_by, count_kinds, read_item_texts

__all__ = ["count_archived", "count_by", "count_kinds", "read_item_texts"]
