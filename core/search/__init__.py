"""One search from its arguments to its hits.

| stage | returns | reads |
|---|---|---|
| `prepare` | the checked arguments: a `Query` | - |
| `load_viewer` | the audiences that the scope sees, and the tags in the text | 1 statement |
| `resolve` | the terms, with the words of the index that match them: a `Search` | 1 statement |
| `match.match` | the rows that hold these words: `Matches` | 1 statement for each kind of term |
| `rank.rank` | the best matching rows: `Ranked` | - |
| `read.read_rows` | the texts of these rows: `Read` | 1 statement for each source |
| `choose_hits` | the hits: a `Selection`, with `is_done` if a deeper round can bring nothing more | - |

`start` runs one round of `match`, `rank` and `read`; `run` runs rounds until the selection is done (`rounds`). The
public search functions and the prompt call them.
"""

from __future__ import annotations

from .choose import Chosen as Chosen
from .choose import Drop as Drop
from .choose import Selection as Selection
from .choose import choose_hits as choose_hits
from .query import SearchRequest as SearchRequest
from .query import prepare as prepare
from .read import Read as Read
from .report import build_empty as build_empty
from .report import build_report as build_report
from .resolve import load_viewer as load_viewer
from .resolve import resolve as resolve
from .rounds import run as run
from .rounds import start as start
