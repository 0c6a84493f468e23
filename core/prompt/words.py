"""Words, tags and the first round trip of a prompt: what the message asks for, and what its scope sees.

Called by `prompt.stages`.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from .. import synth_tagging
from ..audience.view import Request, Seen, Viewer
from ..config import database_values_of
from ..database import sources
from ..database.engine import Database
from ..search.language import spoken_in, with_languages_of
from ..search.query import minors, nears, pieces
from ..shapes import Vocabulary
from ..tags import rules as tag_rules
from ..text import words as word_rules
from ..text.folding import fold
from ..text.words import Fragment
from . import sources as history_sources
from .run import Run

MOST_WORDS = 1000
"""Most words of a message that are counted to find the rarest."""
_PLANNED, _PLANNED_CHARS = 24, 1000
"""Most stretches of a message that are counted before its persona's tags are known, and where they are looked for."""
_WORD = re.compile(r"[^\W_]+")


def _known_vocabulary(db: Database, persona: str) -> tuple[int, Vocabulary] | None:
    kept: dict[str, tuple[int, Vocabulary]] = db.caches.setdefault("prompt.vocabulary", {})
    return kept.get(persona)


def _keep_vocabulary(db: Database, persona: str, version: int, vocabulary: Vocabulary) -> None:
    kept: dict[str, tuple[int, Vocabulary]] = db.caches.setdefault("prompt.vocabulary", {})
    if len(kept) >= 256 and persona not in kept:
        kept.pop(next(iter(kept)))
    kept[persona] = (version, vocabulary)


def find_tags(run: Run, vocabulary: Vocabulary) -> list[str]:
    """Return the tags of the message, expanded; what fails leaves none, or those before expansion."""
    text, s = run.message.text, run.settings
    own, other = replacement("extract_tags"), replacement("expand_tags")

    def extracted() -> list[str]:
        if own is None and not (vocabulary.tags or vocabulary.aliases):
            return []
        if own is None:
            return tag_rules.extract(
                text, vocabulary=vocabulary, limit=s.tags_limit, languages=s.languages, fuzzy_score=s.tag_fuzzy_score
            )
        return _texts(run.stand_in(own, {"text": text, "vocabulary": vocabulary}))

    def expanded() -> list[str]:
        if other is None:
            return tag_rules.expand(found, vocabulary, s.expanded_tags_limit)
        return _texts(run.stand_in(other, {"tags": found, "vocabulary": vocabulary}))

    found = run.report.tags = run.guard("tags", "extract_tags", extracted, [])
    made = run.guard("tags", "expand_tags", expanded, found)
    run.report.expansion = [tag for tag in made if tag not in found]
    return made


def _texts(given: Any) -> list[str]:
    """Return the texts of what a stand-in gave for a list of tags.

    Raises:
        TypeError: it gave no list.
    """
    if given is not None and not isinstance(given, (list, tuple, set, frozenset)):
        raise TypeError(f"A list of tags was expected, {type(given).__name__} came.")
    return [str(tag) for tag in given or () if isinstance(tag, (str, int))]


_OWN = synth_tagging.ORIGINALS
_PROMPT_ENGINE = synth_tagging.__name__.replace("synth_tagging", "prompt_engine")
"""The door that offers them too, if it is loaded: it stands above this module."""


def replacement(name: str) -> Callable[..., Any] | None:
    """Return a host's stand-in for a tagging function, set in a module that offers it; None when there is none."""
    for module in (sys.modules.get(_PROMPT_ENGINE), synth_tagging):
        function: Callable[..., Any] = getattr(module, name, _OWN[name])
        if function is not _OWN[name]:
            return function
    return None


def _chat_rows(viewer: Viewer, words: Sequence[str], languages: Sequence[str]) -> dict[str, int]:
    """Return in how many visible chat rows each word stands, by its stem."""
    rows: dict[str, dict[str, int]] = {}
    seen = set()
    chat = sources.CHAT.number
    for c in viewer.counts:
        if c.source == chat and (c.audience_id, c.term) not in seen:
            seen.add((c.audience_id, c.term))
            by_term = rows.setdefault(word_rules.stem(c.term, languages), {})
            by_term[c.term] = by_term.get(c.term, 0) + c.docs
    return {w: max(rows.get(word_rules.stem(w, languages), {}).values(), default=0) for w in words}


def spoken(run: Run) -> tuple[str, ...]:
    """Return the languages whose stop words and endings count for the message: its own, then LANGUAGES."""
    return spoken_in(run.message.text, run.settings.languages)


def salient_words(run: Run) -> list[str]:
    """Return what the message has to look for: its salient words, of a message without words its symbols."""
    text = run.message.text
    words = word_rules.salient_words(text, spoken(run), MOST_WORDS)
    return words or word_rules.telling_symbols(text, run.settings.tags_limit)


def choose_words(run: Run, words: Sequence[str]) -> list[str]:
    """Return the words looked for, in their search form: neither common nor more than KEYWORD_LIMIT."""
    s = run.settings
    if run.viewer is not None and words:
        rows = _chat_rows(run.viewer, words, spoken(run))
        visible = run.viewer.visible_rows(sources.CHAT.number)
        words = word_rules.drop_common(words, rows, visible, s.common_word_share, s.common_word_min_rows)
        words = word_rules.choose_rarest(words, rows, s.keyword_limit)
    words = list(words)[: s.keyword_limit]
    return list(dict.fromkeys(word_rules.search_form(w, spoken(run)) for w in words))


def prepare_words(run: Run, words: Sequence[str], tags: Sequence[str]) -> Request:
    """Return the part of the request that counts words and tags.

    The first KEYWORD_LIMIT words are looked up inside known words too, of more the others as whole words.
    """
    s = run.settings
    forms = [word_rules.search_form(w, spoken(run)) for w in words]
    asked = [*forms[: s.keyword_limit], *tags]
    wanted = tuple(
        dict.fromkeys([*(p for text in asked for p in pieces(text)), *_beside(run, forms[: s.keyword_limit])])
    )
    whole = () if len(words) <= s.keyword_limit else tuple(dict.fromkeys([*words, *forms]))
    return Request(fragments=wanted, whole_words=whole, tags=tuple(tags))


def _beside(run: Run, forms: Sequence[str]) -> list[Fragment]:
    """Return the pieces of what is looked for beside the words: their other forms, their near spellings."""
    s, text = with_languages_of(run.message.text, run.settings), run.message.text
    if s.memory_ranking == "recency":
        return []
    made = [one.piece for one in minors(text, forms, s)]
    return made + [piece for one in nears(text, forms, s) for piece in one.pieces]


def close(run: Run, words: Sequence[str]) -> None:
    """Take what is known of the words looked for as all there is to know, where there were too many to ask for all.

    Those that were not asked for are found as whole words. Looking for the others further would read whole tables for
    every long message.
    """
    if run.viewer is None or len(words) <= run.settings.keyword_limit or run.settings.memory_ranking == "recency":
        return
    wanted = dict.fromkeys(piece for text in (*run.keywords, *run.tags) for piece in pieces(text))
    known = run.viewer.fragments
    run.viewer = replace(run.viewer, fragments=(*known, *(piece for piece in wanted if piece not in known)))


# Looking: the first round trip


def look(run: Run, live_keys: Sequence[str], recent: int) -> Seen | None:
    """Work out what the scope sees and which words are known; None when nothing stored can be read.

    It is one round trip. A second one follows where the vocabulary changed since this process saw it and brings tags
    that stand in the message under another name: an alias, a linked tag, another ending or a near spelling.
    """
    s, db = run.settings, run.db
    words = salient_words(run)
    known = _known_vocabulary(db, run.scope.persona) if db is not None else None
    version, vocabulary = known or (0, Vocabulary())
    run.tags = find_tags(run, vocabulary)
    run.keywords = choose_words(run, words)
    if db is None:
        run.guard.lose_stored("look")
        return None
    planned = run.tags if known else list(dict.fromkeys([*run.tags, *_stretches(run)]))
    request = prepare_words(run, words, planned)
    request = replace(request, live_keys=tuple(live_keys), recent=recent, vocabulary_version=version)
    request = replace(request, exact=s.memory_ranking == "recency", want_config=_config_is_stale(run))
    seen = _look(run, request)
    if seen is None:
        return None
    run.viewer = seen.viewer
    if seen.vocabulary is None and known is None:
        _keep_vocabulary(db, run.scope.persona, 0, vocabulary)
    if seen.vocabulary is not None:
        _keep_vocabulary(db, run.scope.persona, seen.vocabulary_version, seen.vocabulary)
        run.tags = find_tags(run, seen.vocabulary)
        more = prepare_words(run, words, run.tags)
        if not (set(more.fragments) <= set(request.fragments) and set(more.tags) <= set(request.tags)):
            again = replace(request, fragments=more.fragments, tags=more.tags, want_config=False)
            run.viewer = (_look(run, replace(again, vocabulary_version=None)) or seen).viewer
    run.keywords = choose_words(run, words)
    close(run, words)
    return seen


def _stretches(run: Run) -> list[str]:
    """Return stretches of one to three words of the message that may be tags, where no vocabulary is known yet."""
    said = list(itertools.islice(_WORD.findall(fold(run.message.text[:_PLANNED_CHARS])), _PLANNED))
    made = (" ".join(said[at : at + length]) for length in (1, 2, 3) for at in range(len(said) - length + 1))
    return list(itertools.islice(dict.fromkeys(made), _PLANNED))


def _look(run: Run, request: Request) -> Seen | None:
    assert run.db is not None
    return history_sources.look(run.guard, run.db, run.scope, run.settings, run.destination, request)


def _config_is_stale(run: Run) -> bool:
    return run.db is not None and database_values_of(run.db).is_stale()
