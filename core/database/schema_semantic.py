"""The tables of vectors: what an embedder made of the texts of rows, beside them (docs/embeddings.md)."""

from __future__ import annotations

from sqlalchemy import Column, Index, LargeBinary, PrimaryKeyConstraint, Table, text

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
    # VECTOR is a reserved word of MariaDB since 11.7
    Column("vector", LargeBinary(), nullable=False, quote=True),
    # version of the audience that it came with
    Column("stamp", ID, nullable=False, server_default=text("0")),
    # newest vectors of an audience that one embedder made
    PrimaryKeyConstraint("audience_id", "model", "at_us", "source", "row_id", "part"),
    # the vectors of a row: those of candidates, and of a row that changes or goes
    Index("ix_vector_row", "audience_id", "source", "row_id"),
    # what came since a process read the others
    Index("ix_vector_stamp", "audience_id", "model", "stamp"),
    clustered=True,
)

search_vector_version: Table = table(
    "search_vector_version",
    Column("audience_id", ID, nullable=False, autoincrement=False),
    # rises with every change of the vectors of the audience
    Column("version", ID, nullable=False),
    # whether what a process holds is what is stored
    PrimaryKeyConstraint("audience_id"),
)

search_vector_gone: Table = table(
    "search_vector_gone",
    Column("audience_id", ID, nullable=False),
    # version of the audience since when they are gone
    Column("stamp", ID, nullable=False),
    Column("source", SMALL, nullable=False),
    Column("row_id", ID, nullable=False),
    # rows whose vectors went since a process read them; the last thousand versions
    PrimaryKeyConstraint("audience_id", "stamp", "source", "row_id"),
    clustered=True,
)
