"""Memory items of every kind: rules, reading, writing, and their sections in a prompt."""

from .table_reading import count_archived as count_archived
from .table_reading import count_kinds as count_kinds
from .table_reading import read_item_texts as read_item_texts
