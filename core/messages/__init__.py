"""Stores and reads messages with their alternatives, recaps and scenes."""

from .table_batches import insert_messages as insert_messages
from .table_lines import Line as Line
from .table_lines import find_named as find_named
from .table_lines import read_lines as read_lines
from .table_lines import read_newest as read_newest
from .table_recaps import read_log as read_log
