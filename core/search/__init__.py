"""One search from its arguments to its hits.

| stage | returns | reads |
|---|---|---|
| `prepare` | the checked arguments: a `Query` | - |
| `load_viewer` | the audiences that the scope sees, and the tags in the text | 1 statement |
| `build_search` | the terms, with the words of the index that match them: a `Search` | 1 statement |
| `match.match` | the rows that hold these words: `Matches` | 1 statement for each kind of term |
| `rank.rank` | the best matching rows: `Ranked` | - |
| `read.read_rows` | the same `Ranked` with the texts of these rows | 1 statement for each source |
| `choose_hits` | the hits: a `Selection`, with `is_done` if a deeper round can bring nothing more | - |

`start` runs one round of `match`, `rank` and `read`; `run` runs rounds until the selection is done (`rounds`). The
public search functions and the prompt call them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .query import SearchRequest as SearchRequest
from .query import prepare as prepare

if TYPE_CHECKING:
    from .choose import Chosen as Chosen
    from .choose import Drop as Drop
    from .choose import Selection as Selection
    from .choose import build_empty as build_empty
    from .choose import build_report as build_report
    from .choose import choose_hits as choose_hits
    from .choose import describe_missed as describe_missed
    from .rank import Ranked as Ranked
    from .resolve import build_search as build_search
    from .resolve import leave_persona as leave_persona
    from .resolve import load_viewer as load_viewer
    from .resolve import read_index as read_index
    from .rounds import run as run
    from .rounds import start as start

_MODULES = {
    "choose": ("Selection", "build_empty", "build_report", "choose_hits", "describe_missed"),
    "resolve": ("build_search", "leave_persona", "load_viewer", "read_index"),
    "rounds": ("run", "start"),
}


def __getattr__(name: str) -> Any:
    """Import and return a function of a module that loads numpy, so that only a search loads numpy."""
    for module, names in _MODULES.items():
        if name in names:
            return globals().setdefault(name, getattr(import_module(f".{module}", __name__), name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
