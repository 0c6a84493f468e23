"""Finds a person's older memory on the same subject as a new memory."""

from ..access.overview import read_names
from ..base.text_caches import cache_texts
from ..calls.call import Call, load_viewer
from ..shapes import SimilarMemory
from ..text.languages import languages_of
from ..text.search_words import minor_words, salient_words
from ..text.stems import stem
from ..text.words import words as plain_words
from .rules import INSTRUCTION, SAVED_MEMORY_CHARS
from .table_reading import ItemFilter, ReadScope, search

MOST_COMPARED = 1000
MOST_WORDS = 60
LEAST_SHARED = 0.5
"""Share of the shorter text's words that both texts must contain: `I live in Leeds` and `I live in Rome`."""


def find_similar(call: Call, text: str, row_id: int | None = None) -> SimilarMemory | None:
    """Return the person's memory, other than `row_id`, that shares most words with `text`; names do not count."""
    viewer, whose = load_viewer(call), call.scope.participant
    seen = ReadScope(call.persona, viewer.audiences, viewer.sees_local_only)
    wanted = ItemFilter(tier="long_term", participants=(whose,) if whose else ())
    ttl = call.settings.session_ttl_sec
    languages = tuple(languages_of(text, call.settings.languages))
    names = ["user", whose.rpartition("/")[2], *read_names(call.db, call.persona, [whose]).values()] if whose else []
    person = list_subject_words(" ".join(names), languages)
    words, best, similar = list_subject_words(text, languages) - person, 0.0, None
    for limit, skipped in ((100, 0), (MOST_COMPARED - 100, 100)):  # one of the newest may share all words
        for item in search(call.db, seen, wanted, ttl_seconds=ttl, limit=limit, offset=skipped)["items"]:
            if item["id"] == row_id or item["kind"] == INSTRUCTION or item["participant"] != whose:
                continue
            others = list_subject_words(item["text"][:SAVED_MEMORY_CHARS], languages) - person
            shared = len(words & others) / max(1, min(len(words), len(others)))
            if shared >= LEAST_SHARED and shared > best:
                similar, best = item, shared
        if best == 1:
            break
    return None if similar is None else {"id": similar["id"], "text": similar["text"], "day": similar["timestamp"][:10]}


@cache_texts(4096)  # each save compares the same memories: 1,000 took 0.4 s
def list_subject_words(text: str, languages: tuple[str, ...]) -> frozenset[str]:
    """Return the stems of the words that show the subject of a text; words with digits are left out, being values."""
    said = [*salient_words(text, languages, MOST_WORDS), *minor_words(plain_words(text), languages, MOST_WORDS)]
    return frozenset([stem(word, languages) for word in said if not any(map(str.isdecimal, word))])
