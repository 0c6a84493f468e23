"""One search from its arguments to its hits.

| step | does | reads |
|---|---|---|
| `prepare` | checks the arguments: a `Query` | - |
| `load_viewer` | works out what is seen, and the tags of its text | 1 statement |
| `resolve` | finds the words of the index that match its texts: a `Search` | 1 statement |
| `start` | ranks the rows that match and reads the best: a `Round` | 2 statements, and one for each source |
| `choose_hits` | chooses the hits: a `Result` that tells whether a deeper round can bring more | - |

`run` does the last two in as many rounds as it takes. Called by the search doors and by the prompt.
"""

from __future__ import annotations

from .choice import Chosen, Drop, Result, build_report, choose_hits, run, start
from .gather import Round
from .query import Query, prepare
from .resolve import Search, load_viewer, resolve

__all__ = [
    "Chosen",
    "Drop",
    "Query",
    "Result",
    "Round",
    "Search",
    "build_report",
    "choose_hits",
    "load_viewer",
    "prepare",
    "resolve",
    "run",
    "start",
]
