"""DOOR: tags of a text, tags linked to tags, and the persona's tag vocabulary."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict

from .base import logs
from .calls.defaults import handle, scope_for, settings_for
from .config import Settings
from .database.engine import Database
from .errors import MessageError, StoreError
from .scope import Scope
from .shapes import Vocabulary, WriteResult
from .tags import rules, table
from .text.words import salient_words

__all__ = ["KnownTag", "add_alias", "add_tag", "expand_tags", "extract_keywords", "extract_tags", "link_tags",
           "list_tags"]  # fmt: skip


class KnownTag(TypedDict):
    """One tag of the vocabulary. Keys stand in this order."""

    tag: str
    uses: int
    """Rows that have it."""
    aliases: list[str]
    links: dict[str, float]
    """Linked tag to weight."""


def extract_tags(
    text: str | None,
    vocabulary: Vocabulary | rules.TagIndex | None = None,
    *,
    db: Database | None = None,  # noqa: ARG001 - every door takes it
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,  # noqa: ARG001
) -> list[str]:
    """Return the tags of a text in order of appearance, at most TAGS_LIMIT. No database is touched.

    Args:
        text: as said; None and blank give [].
        vocabulary: the known tags to look for (`tags.table.current`); None takes the words of the text.
    """
    if vocabulary is not None and not hasattr(vocabulary, "aliases"):
        raise TypeError(
            f"vocabulary is of type {type(vocabulary).__name__}. It must be what tags.table.current gives, or None."
        )
    settings = settings_for(settings)
    return rules.extract(
        _text(text),
        vocabulary=vocabulary,
        limit=settings.tags_limit,
        languages=settings.languages,
        fuzzy_score=settings.tag_fuzzy_score,
    )


def _text(text: object) -> str:
    if text is not None and not isinstance(text, str):
        raise MessageError(f"text is of type {type(text).__name__}. It must be a text or None.", fields=("text",))
    return text or ""


def extract_keywords(
    text: str | None,
    *,
    db: Database | None = None,  # noqa: ARG001 - every door takes it
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,  # noqa: ARG001
) -> list[str]:
    """Return the salient words of a text, at most KEYWORD_LIMIT. No database is touched."""
    settings = settings_for(settings)
    return salient_words(_text(text), settings.languages, settings.keyword_limit)


def expand_tags(
    tags: Sequence[object] | str | None,
    *,
    vocabulary: Vocabulary | None = None,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> list[str]:
    """Return the tags, then those one link away, the heaviest link first, at most EXPANDED_TAGS_LIMIT in all.

    Args:
        tags: taken in normal form, unique, in the order given. Nothing in it: [] without a query.
        vocabulary: holds the links; None reads those of the scope's persona. Links that cannot be read add nothing,
            and one warning is logged.
    """
    if not rules.expand(rules.tag_items(tags), None, 1):
        return []
    settings = settings_for(settings, None)
    if vocabulary is None:
        try:
            handle_ = handle(db)
            vocabulary = table.current(handle_, scope_for(scope, settings_for(settings, handle_)).persona)
        except StoreError as error:
            logs.warning("tag_links_not_read", source=error.source, number=error.number)
    return rules.expand(rules.tag_items(tags), vocabulary, settings.expanded_tags_limit)


def add_tag(
    tag: object,
    *,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Make a tag known to the scope's persona. Known already: `duplicate`; blank: `empty`; too long: `too_long`.

    Raises:
        StoreWriteError: nothing was stored.
    """
    db = handle(db)
    return table.add(db, scope_for(scope, settings_for(settings, db)).persona, tag)


def add_alias(
    alias: object,
    tag: object,
    *,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Make another spelling of a tag known. `refused`, with a sentence in `notes`: it is a tag already, or would chain.

    Raises:
        StoreWriteError: nothing was stored.
    """
    db = handle(db)
    return table.add_alias(db, scope_for(scope, settings_for(settings, db)).persona, alias, tag)


def link_tags(
    a: object,
    b: object,
    weight: object = 1.0,
    *,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> WriteResult:
    """Link two tags, both ways, or give their link another weight. `refused`, with the sentence in `notes`: a tag with
    itself, a weight that is not above 0 and at most 10.

    Raises:
        StoreWriteError: nothing was stored.
    """
    db = handle(db)
    return table.link(db, scope_for(scope, settings_for(settings, db)).persona, a, b, weight)


def list_tags(
    *,
    db: Database | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    scope: Scope | None = None,
) -> list[KnownTag]:
    """Return the vocabulary of the scope's persona, most used first, ties by name.

    Raises:
        StoreReadError: it could not be read.
    """
    db = handle(db)
    known = table.load(db, scope_for(scope, settings_for(settings, db)).persona)
    aliases: dict[str, list[str]] = {}
    for alias, tag in sorted(known.aliases.items()):
        aliases.setdefault(tag, []).append(alias)
    return [
        {"tag": tag, "uses": uses, "aliases": aliases.get(tag, []), "links": dict(sorted(known.links.get(tag, ())))}
        for tag, uses in sorted(known.tags.items(), key=lambda pair: (-pair[1], pair[0]))
    ]


ORIGINALS: dict[str, Callable[..., Any]] = {"extract_tags": extract_tags, "expand_tags": expand_tags}
"""What stands here while no host has put something else in its place; noted at once, before anybody can."""
