"""The rows around the candidates of a search: a part of the third round trip of a prompt.

A stretch is read in the conversation of its candidate, which the statement itself looks up by the candidate's id: the
search tables do not hold it. Two limited branches walk `ix_chat_conversation` and nothing else, so that what is read
does not depend on how much was said; the rows are brought by their ids, those of all stretches at once. Which of them
are seen is decided there: a row that is not seen takes a place of the stretch. Called by `search.reading.by_id`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Integer, bindparam, column, select, table

from ...database.dialects import ID, Key, Time, from_microseconds
from ...database.schema import chat_history_cache
from ...database.statements import Part, union
from ..ranking.surroundings import Stretch

NEAR: Any = table("near_rows", column("stretch", Integer()), column("id", ID))
"""The CTE that `rows_around` gives: number of the stretch and row id."""


def rows_around(stretches: Sequence[Stretch], shared: Mapping[str, Any], family: str, into: list[Any]) -> str:
    """Return the CTE NEAR for these stretches, and append its values to `into`; "" where there are none.

    Args:
        shared: persona, `since` and `until` (None for no limit), and `without`, keys of conversations left out.
    """
    made = []
    limits = (shared["since"] is not None, shared["until"] is not None, bool(shared["without"]))
    for number, one in enumerate(stretches):
        at = from_microseconds(one.first_us)
        if at is None:
            continue
        values = {**shared, "stretch": number, "lead": one.row_id, "moment": at}
        for back, rows in ((True, one.before), (False, one.after)):
            if rows > 0:
                made.append(_branch(back, limits, family).text({**values, "rows": rows}, into))
    # SQLite would plan the whole SELECT that reads it once for each branch: 10 ms.
    kept = "MATERIALIZED " if family == "sqlite" else ""
    return f"{NEAR.name} AS {kept}({union(made, family)})" if made else ""


@lru_cache(maxsize=32)
def _branch(back: bool, limits: tuple[bool, bool, bool], family: str) -> Part:
    near, lead = chat_history_cache.alias("c"), chat_history_cache.alias("l")
    c = near.c
    conversation = select(lead.c.interface_path).where(lead.c.id == bindparam("lead", type_=ID)).scalar_subquery()
    moment = bindparam("moment", type_=Time())
    where = [
        c.persona_id == bindparam("persona", type_=Key(64)),
        c.interface_path == conversation,
        c.timestamp < moment if back else c.timestamp >= moment,
    ]
    since, until, without = limits
    if since:
        where.append(c.timestamp >= bindparam("since", type_=Time()))
    if until:
        where.append(c.timestamp < bindparam("until", type_=Time()))
    if without:
        where.append(c.interface_path.not_in(bindparam("without", expanding=True, type_=Key(512))))
    order = (c.timestamp.desc(), c.id.desc()) if back else (c.timestamp, c.id)
    made = select(bindparam("stretch", type_=Integer()).label("stretch"), c.id).where(*where).order_by(*order)
    # Left to choose, servers weigh seven indexes for every branch, and may walk all conversations of the audience.
    made = made.with_hint(near, "FORCE INDEX (ix_chat_conversation)", "mysql")
    made = made.with_hint(near, "INDEXED BY ix_chat_conversation", "sqlite")
    return Part(made.limit(bindparam("rows", type_=Integer())), family)
