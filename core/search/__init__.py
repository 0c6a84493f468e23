"""One search from its arguments to its hits, in steps that a prompt runs along with its other reading.

| step | does | reads |
|---|---|---|
| `prepare` | checks the arguments | - |
| (`audience.view_statement.look`) | works out what is seen, and which known words hold the texts | 1 round trip |
| `resolve` | joins the two into a `Search` | - |
| `Search.gather` | brings candidates from the search tables, or by the plain predicates | 1 round trip |
| `Search.rows_wanted`, `rows_wanted` | name the rows to bring; the caller reads them | 1 round trip |
| `Search.compare` | with an embedder, compares older rows that stand around candidates | 1 statement, seldom |
| `Search.finish` | chooses the hits | - |
| `deeper` | goes on where too few came out and `Search.is_done` says no | more |

`run` does all of it from `gather` on. Called by the search doors and by the prompt.
"""

from __future__ import annotations

from .query import Query, prepare
from .rounds import deeper, read_rows, rows_wanted, run
from .state import Chosen, Drop, Search, SourceReport, resolve

__all__ = [
    "Chosen",
    "Drop",
    "Query",
    "Search",
    "SourceReport",
    "deeper",
    "prepare",
    "read_rows",
    "resolve",
    "rows_wanted",
    "run",
]
