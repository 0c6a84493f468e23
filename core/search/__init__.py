"""One search from its arguments to its hits.

| stage | returns | reads |
|---|---|---|
| `prepare` | the arguments, checked: a `Query` | - |
| `load_viewer` | what is seen, and the tags of the text | 1 statement |
| `resolve` | the terms, with the words of the index that match them: a `Search` | 1 statement |
| `match.match` | where these stand: `Matches` | 1 statement |
| `rank.rank` | the best rows that match: `Ranked` | - |
| `read.read_rows` | their texts: `Read` | 1 statement for each source |
| `choose_hits` | the hits: a `Selection`, which tells whether a deeper round can bring more | - |

`start` runs one round of `match`, `rank` and `read`; `run` runs as many as it takes (`rounds`). Called by the search
doors and by the prompt.
"""

from __future__ import annotations

from .choose import Chosen, Drop, Selection, choose_hits
from .query import Query, prepare
from .read import Read
from .report import build_report
from .resolve import Search, load_viewer, resolve
from .rounds import run, start

__all__ = [
    "Chosen",
    "Drop",
    "Query",
    "Read",
    "Search",
    "Selection",
    "build_report",
    "choose_hits",
    "load_viewer",
    "prepare",
    "resolve",
    "run",
    "start",
]
