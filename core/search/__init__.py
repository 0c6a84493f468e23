"""One search from its arguments to its hits, in steps that a prompt runs along with its other reading.

| step | does | reads |
|---|---|---|
| `prepare` | checks the arguments: a `Query` | - |
| (`audience.view_statement.look`) | works out what is seen, and which known words hold the texts | 1 round trip |
| `resolve` | joins the two into a `Search`, which nothing changes | - |
| `gather` | brings candidates from the search tables, or by the plain predicates: a `Round` | 1 round trip |
| `rows_wanted` | names the rows to bring; the caller reads them, or `read_rows` | 1 round trip |
| `compare` | with an embedder, compares older rows that stand around candidates | 1 statement, seldom |
| `finish` | chooses the hits: a `Result`, and whether a deeper round can bring nothing more | - |

`run` does all of it from `gather` on, in as many rounds as it takes. Called by the search doors and by the prompt.
"""

from __future__ import annotations

from .choice import Chosen, Drop
from .query import Query, prepare
from .rounds import Result, Round, compare, failed, finish, gather, read_rows, rows_wanted, run
from .terms import Search, resolve

__all__ = [
    "Chosen",
    "Drop",
    "Query",
    "Result",
    "Round",
    "Search",
    "compare",
    "failed",
    "finish",
    "gather",
    "prepare",
    "read_rows",
    "resolve",
    "rows_wanted",
    "run",
]
