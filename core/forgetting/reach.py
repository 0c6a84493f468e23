"""Where forgetting reaches beyond the tables: what this process keeps, and the Markdown files.

Called by `forgetting` after the rows are gone. Other processes ask the table for versions at each read, and
keep nothing of a row that is not there.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from ..audience import table as audiences
from ..config import Settings
from ..conversations import memory_files
from ..conversations.memory_files import Rewritten
from ..database import written_files as forgetting_files
from ..database.engine import Database
from ..memories import table_recalls as recalls
from ..search import language as speaking
from ..search.question import people as question_people
from ..short_term import cache as short_term_cache
from ..stories import delayed_writes as saving
from ..tags import rules_index as tag_index
from ..text import near_duplicates, stems
from .table import Done

_BY_PERSONA = ("tags", "prompt.vocabulary")
"""Caches of a handle whose keys are personas."""


class Files(NamedTuple):
    """What became of files."""

    written: tuple[str, ...] = ()
    out_of_reach: tuple[str, ...] = ()


def settle(db: Database) -> None:
    """Write what this process keeps back, so that nothing of it is written after the rows are gone."""
    db.settle()
    recalls.flush(db)


def empty_caches(db: Database, persona: str, done: Done) -> None:
    """Drop what this process keeps of a persona's texts, words and ids."""
    short_term_cache.of(db).drop(persona)
    recalls.forget(db, persona, done.items)
    audiences.forget_cached(db)
    for name in _BY_PERSONA:
        db.caches.get(name, {}).pop(persona, None)
    private = db.caches.get("history.private", {})
    for key in [key for key in list(private) if key[0] == persona and key[1] in done.conversations]:
        private.pop(key, None)
    for conversation in sorted(done.conversations):
        saving.of(db).forget(persona, conversation)
    tag_index.forget_kept()
    for module in (stems, near_duplicates, question_people, speaking):
        module.forget_kept()


def rewrite_files(db: Database, persona: str, settings: Settings, done: Done) -> Files:
    """Write the Markdown files anew that this process knows of; those it cannot are told, with why."""
    written: list[str] = []
    away: list[str] = []
    for folder in memory_files.folders(db, settings):
        made: Rewritten = memory_files.rewrite(folder, db, settings, persona, done.people, done.conversations)
        written += made.written
        away += made.left
    return Files(tuple(written), (*away, *_exported(db, persona)))


def _exported(db: Database, persona: str) -> Collection[str]:
    return [f"{path}: an exported file" for path in forgetting_files.listed(db, persona)]
