"""The table of vectors: what an embedder made of the texts of rows, beside them (docs/embeddings.md).

Empty where no embedder is configured. A part of the one declaration that `database.schema` begins.
"""

from __future__ import annotations

from sqlalchemy import Column, Index, LargeBinary, PrimaryKeyConstraint, Table

from .dialects import ID, SMALL
from .schema_base import key, table

search_vector: Table = table(
    "search_vector",
    Column("audience_id", ID, nullable=False),
    key("model", 100),
    Column("at_us", ID, nullable=False),
    Column("source", SMALL, nullable=False),
    Column("row_id", ID, nullable=False),
    Column("part", SMALL, nullable=False),
    Column("vector", LargeBinary(), nullable=False),
    # newest vectors of an audience that one embedder made
    PrimaryKeyConstraint("audience_id", "model", "at_us", "source", "row_id", "part"),
    # the vectors of a row: those of candidates, and of a row that changes or goes
    Index("ix_vector_row", "audience_id", "source", "row_id"),
    clustered=True,
)
