"""Public functions for tags: tags of a text, linked tags, and the persona's tag vocabulary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict, Unpack

from .base import logs
from .base.groups import group
from .calls.call import CallOptions, open_call, settings_of
from .errors import MessageError, StoreError
from .shapes import Vocabulary, WriteResult
from .tags import rules, table
from .text.search_words import KEYWORD_LIMIT, salient_words

__all__ = ["KnownTag", "add_alias", "add_tag", "expand_tags", "extract_keywords", "extract_tags", "link_tags",
           "list_tags"]  # fmt: skip


class KnownTag(TypedDict):
    """One tag of the vocabulary. JSON keys appear in this order."""

    tag: str
    uses: int
    """Number of rows with this tag."""
    aliases: list[str]
    links: dict[str, float]
    """Weight of each linked tag."""


def extract_tags(text: str | None, vocabulary: Vocabulary | None = None, **options: Unpack[CallOptions]) -> list[str]:
    """Return the tags of a text in normal form, in order of appearance, at most 12. `db` and `scope` are not used.

    Args:
        text: the message, unchanged; None and blank give []; MessageError for another type.
        vocabulary: known tags to look for (`tags.table.load`); None takes the words of the text. Stop words of the
            text's language and of LANGUAGES are never tags.

    >>> from prompt_engine.synth_tagging import extract_tags
    >>> extract_tags("Ann drinks green tea in Rome")
    ['ann', 'drinks', 'green', 'tea', 'rome']
    """
    _check_vocabulary(vocabulary)
    settings = settings_of(options)
    return rules.extract(_text(text), vocabulary=vocabulary, languages=settings.languages)


def _check_vocabulary(vocabulary: object) -> None:
    if not isinstance(vocabulary, Vocabulary | None):
        kind = type(vocabulary).__name__
        raise TypeError(f"vocabulary is of type {kind}. It must be what tags.table.load gives, or None.")


def _text(text: object) -> str:
    if text is not None and not isinstance(text, str):
        raise MessageError.of_type("text", text, "a text or None")
    return text or ""


def extract_keywords(text: str | None, **options: Unpack[CallOptions]) -> list[str]:
    """Return the salient words of a text in their order, at most 24. `db` and `scope` are not used.

    Args:
        text: the message, unchanged; None and blank give []; MessageError for another type.

    >>> from prompt_engine.synth_tagging import extract_keywords
    >>> extract_keywords("Did Ann drink green tea in Rome?")
    ['ann', 'drink', 'green', 'tea', 'rome']
    """
    settings = settings_of(options)
    return salient_words(_text(text), settings.languages, KEYWORD_LIMIT)


def expand_tags(
    tags: Sequence[object] | str | None, *, vocabulary: Vocabulary | None = None, **options: Unpack[CallOptions]
) -> list[str]:
    """Return the tags, followed by their linked tags, the heaviest link first, at most 24 in all.

    Args:
        tags: a list, or one text; the result has each tag once, in normal form and in this order.
        vocabulary: has the links; None reads the links of the scope's persona. Unreadable links add nothing and log one
        warning.

    >>> from prompt_engine import open_database, synth_tagging
    >>> db = open_database("sqlite://")
    >>> synth_tagging.link_tags("tea", "green", db=db).stored, synth_tagging.expand_tags(["tea"], db=db)
    (True, ['tea', 'green'])
    """
    settings_of(options)  # refuses what it does not know
    _check_vocabulary(vocabulary)
    given = rules.tag_items(tags)
    if not any(map(rules.normal, given)):
        return []
    if vocabulary is None:
        try:
            call = open_call(**options)
            vocabulary = table.load(call.db, call.persona)
        except StoreError as error:
            logs.warning("tag_links_not_read", source=error.source, number=error.number)
    return rules.expand(given, vocabulary)


def add_tag(tag: object, **options: Unpack[CallOptions]) -> WriteResult:
    """Add a tag to the persona's vocabulary; reason `duplicate`, `empty`, or `too_long` for more than 255 bytes.

    >>> from prompt_engine import open_database, synth_tagging
    >>> db = open_database("sqlite://")
    >>> synth_tagging.add_tag("Green Tea", db=db).stored, synth_tagging.add_tag("green tea", db=db).reason
    (True, 'duplicate')
    >>> [known["tag"] for known in synth_tagging.list_tags(db=db)]
    ['green tea']
    """
    call = open_call(**options)
    return table.add(call.db, call.persona, tag)


def add_alias(alias: object, tag: object, **options: Unpack[CallOptions]) -> WriteResult:
    """Add another spelling of a tag to the vocabulary, and the tag if it is unknown.

    It fails with reason `refused` (see `notes`) if the alias is a tag or has aliases itself, or if `tag` is an alias.

    >>> from prompt_engine import open_database, synth_tagging
    >>> db = open_database("sqlite://")
    >>> synth_tagging.add_alias("chai", "tea", db=db).stored, synth_tagging.list_tags(db=db)[0]["aliases"]
    (True, ['chai'])
    """
    call = open_call(**options)
    return table.add_alias(call.db, call.persona, alias, tag)


def link_tags(a: object, b: object, weight: object = 1.0, **options: Unpack[CallOptions]) -> WriteResult:
    """Link two tags in both directions, or change the weight of their link; unknown tags join the vocabulary.

    Args:
        weight: strength of the link, above 0, at most 10. Another weight, or a link of a tag to itself, gives reason
        `refused`, explained in `notes`.

    >>> from prompt_engine import open_database, synth_tagging
    >>> db = open_database("sqlite://")
    >>> synth_tagging.link_tags("tea", "rome", 2, db=db).stored, synth_tagging.list_tags(db=db)[1]["links"]
    (True, {'rome': 2.0})
    """
    call = open_call(**options)
    return table.link(call.db, call.persona, a, b, weight)


def list_tags(**options: Unpack[CallOptions]) -> list[KnownTag]:
    """Return the persona's vocabulary with aliases and links, most used tags first, ties by name.

    >>> from prompt_engine import open_database, synth_tagging
    >>> db = open_database("sqlite://")
    >>> synth_tagging.add_tag("tea", db=db).stored, synth_tagging.list_tags(db=db)
    (True, [{'tag': 'tea', 'uses': 0, 'aliases': [], 'links': {}}])
    """
    call = open_call(**options)
    known = table.load(call.db, call.persona)
    aliases = group((tag, alias) for alias, tag in sorted(known.aliases.items()))
    return [
        {"tag": tag, "uses": uses, "aliases": aliases.get(tag, []), "links": dict(sorted(known.links.get(tag, ())))}
        for tag, uses in sorted(known.tags.items(), key=lambda pair: (-pair[1], pair[0]))
    ]
