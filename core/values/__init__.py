"""Named values, which `adapters` use for frameworks that store files or entries.

A scope can use only the values of its own audience and its own speaker: a value written in a direct conversation is
read in direct conversations with the same person. Scopes without a speaker share values. Searches find the text of a
value as a memory. A value is deleted when its person, conversation or memory is forgotten.
"""

from dataclasses import replace
from typing import Unpack

from ..calls.call import CallOptions, load_viewer, open_call
from .table import Change as Change
from .table import Kind
from .table import NewValue as NewValue
from .table import Path as Path
from .table import RefusedError as RefusedError
from .table import StoredValue as StoredValue
from .table import Values as Values


def open_values(kind: Kind = "entry", **options: Unpack[CallOptions]) -> Values:
    """Return the named values of a kind (`file` or `entry`) that the scope may read and change."""
    call = open_call(**options)
    return Values(replace(call, viewer=load_viewer(call)), kind, call.db.read)
