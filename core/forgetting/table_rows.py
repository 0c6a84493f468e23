"""Deletes rows with their index entries, vectors and tags, and counts them per table."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Table, delete, or_, select

from ..database.compiled import chunks
from ..database.engine import Database
from ..database.registry import REGISTRY
from ..database.schema import audiences, counters, search_gone, search_vector, tag_aliases, tag_links
from ..database.schema import tags as tag_table
from ..database.schema_base import metadata
from ..database.sources import SourceTable
from ..index import embeddings, indexed
from ..index.entries import Stored, calendar_of
from ..jobs import table as jobs_table
from ..tags import table as tags_table

MADE = ("model", "extract")
"""Provenances of texts that background operations wrote."""


@dataclass
class Removal:
    """A transaction that deletes rows of a persona, and counts them."""

    connection: Connection
    db: Database
    persona: str
    counts: Counter[str] = field(default_factory=Counter)
    """Number of rows deleted or changed, by table."""
    operations: int = 0
    shown: set[str] = field(default_factory=set)
    """Deleted rows, as `source number/id`; answers whose prompts contained them are withdrawn."""
    keeps_names: bool = False  # whether scenes keep their names
    _tags: Counter[str] = field(default_factory=Counter)
    _audiences: set[int] = field(default_factory=set)
    """Ids of the audiences with deleted or changed rows."""

    # Any table

    def delete(self, table: Table, *where: Any) -> int:
        statement = delete(table).where(table.c.persona_id == self.persona, *where)
        deleted = int(self.connection.execute(statement).rowcount)
        self.counts[table.name] += deleted
        return deleted

    def delete_in(self, table: Table, column: Any, values: Iterable[Any], *where: Any) -> int:
        """Delete the persona's rows that have one of these values in a column, with AT_ONCE values per statement."""
        return sum(self.delete(table, column.in_(part), *where) for part in chunks(sorted(set(values))))

    def read_rows(self, statement: Any) -> Sequence[Any]:
        return self.connection.execute(statement).all()

    def read_in(self, statement: Any, column: Any, values: Iterable[Any]) -> list[Any]:
        """Return the persona's rows of a SELECT whose column has one of these values; AT_ONCE values per statement."""
        mine = statement.where(column.table.c.persona_id == self.persona)
        return [row for part in chunks(sorted(set(values))) for row in self.read_rows(mine.where(column.in_(part)))]

    def find_values(self, column: Any, *where: Any) -> set[Any]:
        mine = select(column).where(column.table.c.persona_id == self.persona, *where)
        return set(self.connection.execute(mine).scalars())

    def queue(self, kind: str, conversation: str, **more: Any) -> int | None:
        """Queue an operation that makes a deleted text again; return its id. `more` goes to `jobs.table.enqueue`."""
        self.operations += 1
        return jobs_table.enqueue(self.connection, self.db, self.persona, kind, conversation=conversation, **more)

    # Rows that are searched

    def delete_rows(self, source: SourceTable, ids: Iterable[int]) -> int:
        """Delete rows with their index rows and vectors; return the number of deleted rows."""
        table, deleted = source.table, 0
        for part in chunks(sorted(set(ids))):
            held = indexed.lock(self.connection, source, self.persona, part)
            if not held:
                continue
            numbers = [row.id for row in held]
            self.delete(table, table.c.id.in_(numbers))
            for entry in REGISTRY:
                if entry.row_table == table.name and entry.table != "scenes":  # breaks of scenes move to other messages
                    beside = metadata.tables[entry.table]
                    self.delete(beside, beside.c[entry.row_of].in_(numbers))
            self._drop_vectors(source, held)
            self._drop_entries(source, held)
            self._tags.update(tag for row in held for tag in row.tags)
            deleted += len(held)
        return deleted

    def _drop_entries(self, source: SourceTable, rows: Sequence[Stored]) -> None:
        places = [(row.audience_id, row.id) for row in rows if row.findable]
        self.counts["search_fresh"] += indexed.remove_entries(self.connection, source.number, places)
        self._audiences.update(audience for audience, _ in places)

    def exchange_rows(self, source: SourceTable, old: Sequence[Stored], new: Sequence[Stored]) -> None:
        """Replace the index entries of rows whose texts changed from `old` to `new`."""
        calendar = calendar_of(self.db)
        for before, after in zip(old, new, strict=True):
            self._drop_vectors(source, [before], again=True)
            if not before.findable:
                continue
            now = after.entry(source, calendar)
            if before.entry(source, calendar) != now:
                self._drop_entries(source, [before])
                indexed.add_entries(self.connection, [now])

    def _drop_vectors(self, source: SourceTable, rows: Sequence[Stored], *, again: bool = False) -> None:
        places = [(row.audience_id, row.id) for row in rows]
        self.counts[search_vector.name] += embeddings.drop(self.connection, source, places, again=again)

    # The end

    def note_gone(self) -> None:
        """Let `purge_index` also clean audiences that lost rows earlier, whose index may still hold deleted words."""
        a, gone = audiences.c, search_gone.c
        found = select(a.audience_id).join(search_gone, gone.audience_id == a.audience_id).distinct()
        self._audiences.update(self.connection.execute(found.where(a.persona_id == self.persona)).scalars())

    def purge_index(self) -> None:
        """Rewrite the packed index segments, leaving out the deleted rows."""
        from ..index import packing  # noqa: PLC0415 - loads numpy

        packing.purge(self.connection, self._audiences)

    def settle_tags(self) -> None:
        if not self._tags:
            return
        t, persona = tag_table.c, self.persona
        tags_table.lower(self.connection, persona, self._tags)
        rows = self.read_in(select(t.tag, t.uses).order_by(t.tag).with_for_update(), t.tag, self._tags)
        deleted = [row.tag for row in rows if row.uses <= 0]
        self.delete_in(tag_table, t.tag, deleted)
        self.counts[tag_table.name] += len(rows) - len(deleted)
        if not deleted:
            return
        while deleted:
            deleted = self._drop_tags(deleted)
        tags_table.raise_version(self.connection, self.db, persona)
        self.counts[counters.name] += 1

    def _drop_tags(self, deleted: Collection[str]) -> list[str]:
        """Delete aliases and links of deleted tags; delete and return tags that now have no use, link or alias."""
        t, a, n, persona = tag_table.c, tag_aliases.c, tag_links.c, self.persona
        self.delete_in(tag_aliases, a.tag, deleted)
        near: set[str] = set()
        for one, other in ((n.tag, n.related_tag), (n.related_tag, n.tag)):
            near |= {row[0] for row in self.read_in(select(other), one, deleted)}
            self.delete_in(tag_links, one, deleted)
        alone: list[str] = []
        for tag in sorted(near - set(deleted)):
            linked = select(n.tag).where(n.persona_id == persona, or_(n.tag == tag, n.related_tag == tag)).limit(1)
            named = select(a.alias).where(a.persona_id == persona, a.tag == tag).limit(1)
            unused = not self.read_rows(linked) and not self.read_rows(named)
            if unused and self.delete(tag_table, t.tag == tag, t.uses <= 0):
                alone.append(tag)
        return alone
