"""Rules for tags: their normal form, known tags in a text, links between tags."""

import json
import math
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import suppress
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from ..base.groups import group
from ..base.hints import shown
from ..base.patterns import lazy_pattern
from ..base.text_caches import cache_texts
from ..shapes import Vocabulary
from ..text.folding import SPACELESS, SPACELESS_PATTERN, clean, fold, fold_case, marks_class
from ..text.host_values import all_items
from ..text.languages import common_words, languages_of
from ..text.question_words import asked_words, is_question
from ..text.search_words import FEW_WORDS, TAGS_LIMIT
from ..text.stems import stems
from ..text.words import MIN_CHARS, stop_words
from ..text.words import words as plain_words

TAG_BYTES = 255
"""Maximum number of UTF-8 bytes of a stored tag."""

FUZZY_SCORE = 91.0
"""Similarity (100 is equal) at which a misspelt word counts as a known tag: one of seven letters may be missing."""
EXPANDED_LIMIT = 24
"""Maximum number of tags in one search, linked tags included: more tags make the search slower, not better."""
_SHORT_NAME = 2

WEIGHTS = (0.0, 10.0)
"""Range of a link's weight: above the first number, at most the second."""

MOST_WORDS = 3
"""Maximum number of words of a tag that is found in texts; longer tags are not searched for."""

FUZZY_CHARS = 5

FUZZY_COMPARISONS = 1_000_000
"""Maximum number of comparisons for one text: a megabyte of unknown words takes well under a second."""

_CONTROLS = lazy_pattern("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")
_SPACES = lazy_pattern(r"\s+")
_DOTTED = lazy_pattern("i\u0307+")
"""The Turkish capital letter `İ` after case folding."""
_TOKENS = lazy_pattern(f"[{SPACELESS}]+|(?:(?![{SPACELESS}])[\\w{marks_class()}])+|[^\\w\\s\x00-\x7f]")
_LEADING = lazy_pattern(r"^\W+")


def normal(tag: str) -> str:
    """Normalize a tag: lower case, single spaces, no control characters or outer blanks; "" if the tag is blank."""
    # Control characters are removed first: one between a letter and its accent keeps the two apart.
    text, folded = "", _CONTROLS.sub("", clean(tag))
    # Folding can leave a letter before a mark that joins it (`ß` and an accent); folding again must change nothing.
    for _ in range(5):
        if folded == text:
            break
        text, folded = folded, _DOTTED.sub("i", fold_case(folded))
    return _SPACES.sub(" ", folded).strip()


def tag_items(value: object, name: str = "tags") -> list[str]:
    """Return the elements of a list or iterator as texts, without None; another value becomes one text."""
    if isinstance(value, (str, bytes, bytearray, Mapping)) or not isinstance(value, Iterable):
        return [] if value is None else [_text(value)]
    elements = list(value) if isinstance(value, Sized) else all_items(value, name)
    for at, element in enumerate(elements):
        if isinstance(element, (list, tuple, set, frozenset)):
            raise TypeError(f"{name}[{at}] is of type {type(element).__name__}. Pass one flat list of texts.")
    texts = [_text(element) for element in elements if element is not None]
    return sorted(texts) if isinstance(value, (set, frozenset)) else texts


def _text(value: object) -> str:
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode("utf-8", "replace")
    if isinstance(value, str):
        return value
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - an object of the host's may raise anything, a number be too long to write
        raise TypeError(f"A value of type {type(value).__name__} has no text. Pass texts.") from None


def stored_form(value: object) -> tuple[list[str], list[int]]:
    """Return the tags to store, and the length in bytes of each tag that is too long."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    tags: list[str] = []
    dropped: list[int] = []
    for tag in dict.fromkeys(map(normal, tag_items(value))):
        size = len(tag.encode("utf-8"))
        if size > TAG_BYTES:
            dropped.append(size)
        elif tag:
            tags.append(tag)
    return tags, dropped


def extract(text: str | None, *, vocabulary: Vocabulary | None, languages: Sequence[str]) -> list[str]:
    """Return a text's tags in order: known tags, or without `vocabulary` words; stop words as `_list_named` says."""
    if not text or (vocabulary is not None and not (vocabulary.tags or vocabulary.aliases)):
        return []
    spoken = languages_of(text, languages)
    tags = plain_words(text) if vocabulary is None else dict.fromkeys(index_of(vocabulary, tuple(languages)).find(text))
    named = set() if vocabulary is None else _list_named(text, vocabulary, spoken)
    telling = (tag for tag in tags if tag in named or not any(_is_stop_word(tag, language) for language in spoken))
    return list(islice(telling, TAGS_LIMIT))


def _list_named(text: str, vocabulary: Vocabulary, languages: Sequence[str]) -> set[str]:
    """Return words of a question, or of a text of a few words, that are tags even if they are stop words."""
    if not is_question(text, languages) and len(asked_words(text).split()) > FEW_WORDS:
        return set()
    common = frozenset[str]().union(*map(common_words, languages))
    if sum(word in vocabulary.tags for word in common) > 1:  # all words of some texts are tags, none on purpose
        return set()
    return {vocabulary.aliases.get(word, word) for word in plain_words(text) if word not in common}


def _is_stop_word(tag: str, language: str) -> bool:
    word = fold(tag)
    if word.isascii() and len(word) <= _SHORT_NAME:
        # The lists contain all letters and most pairs of letters, but tags such as `c` and `ai` are names.
        return len(word) == _SHORT_NAME and word in common_words(language)
    return word in stop_words(language)


def expand(tags: Iterable[object], vocabulary: Vocabulary | None) -> list[str]:
    """Return the tags, followed by their linked tags, the heaviest link first."""
    originals = dict.fromkeys(tag for tag in map(normal, tag_items(list(tags))) if tag)
    reached: dict[str, float] = {}
    links = {} if vocabulary is None else vocabulary.links
    for tag in originals:
        for linked, weight in links.get(tag, ()):
            if linked not in originals and weight > reached.get(linked, 0.0):
                reached[linked] = weight
    return [*originals, *sorted(reached, key=lambda tag: (-reached[tag], tag))][:EXPANDED_LIMIT]


def _checked(tag: object, name: str) -> str:
    text = normal(_text(tag)) if tag is not None else ""
    if not text:
        raise ValueError(f"{name} is blank. A tag needs at least one visible character.")
    size = len(text.encode("utf-8"))
    if size > TAG_BYTES:
        raise ValueError(f"{name} is {size} bytes long. At most {TAG_BYTES} bytes are allowed. Use a shorter one.")
    return text


def check_alias(alias: object, tag: object, vocabulary: Vocabulary) -> tuple[str, str]:
    other, known = _checked(alias, "alias"), _checked(tag, "tag")
    if other == known:
        raise ValueError(f"alias {other!r} is the tag itself. An alias must be another spelling.")
    if other in vocabulary.tags:
        raise ValueError(f"alias {other!r} is a tag already. Link the two tags, or choose another alias.")
    if known in vocabulary.aliases:
        raise ValueError(
            f"tag {known!r} is itself an alias of {vocabulary.aliases[known]!r}. Aliases do not chain: name that tag."
        )
    if other in vocabulary.aliases.values():
        raise ValueError(f"alias {other!r} has aliases of its own. Aliases do not chain: choose another alias.")
    return other, known


def check_link(a: object, b: object, weight: object = 1.0) -> tuple[str, str, float]:
    """Return both tags in normal form and the weight; raise ValueError if the tags cannot be linked."""
    first, second = _checked(a, "a"), _checked(b, "b")
    if first == second:
        raise ValueError(f"a and b are both {first!r}. A link joins two different tags.")
    low, high = WEIGHTS
    number = weight if isinstance(weight, (int, float)) and not isinstance(weight, bool) else math.nan
    if not low < number <= high:
        raise ValueError(f"weight is {shown(weight)}. It must be a number above {low:g} and at most {high:g}.")
    return first, second, float(number)


class _Token(NamedTuple):
    start: int
    end: int
    text: str
    spaceless: bool


def _plain(text: str) -> str:
    """Return a text as tags are compared: folded, single spaces, straight apostrophes."""
    return _SPACES.sub(" ", fold(clean(text)).replace("\u2019", "'"))


def _tokens(plain: str) -> Iterator[_Token]:
    for match in _TOKENS.finditer(plain):
        text = match.group()
        start = match.start()
        if not text.isascii():
            if SPACELESS_PATTERN.match(text):
                yield _Token(start, match.end(), text, True)
                continue
            # Leading marks belong to the character before them, such as the variation selector of an emoji.
            if unicodedata.category(text[0])[0] != "L" and (len(text) > 1 or unicodedata.category(text) != "So"):
                start += len(text) - len(_LEADING.sub("", text))
                text = _LEADING.sub("", text)
        if word := text.strip("_"):
            start += len(text) - len(text.lstrip("_"))
            yield _Token(start, start + len(word), word, False)


class TagIndex:
    """The known tags and aliases of one vocabulary, indexed by words, stem and first letter."""

    def __init__(self, vocabulary: Vocabulary, languages: Sequence[str]) -> None:
        self.languages = tuple(languages)
        self._uses = vocabulary.tags
        # An alias that is also a tag does not hide the tag.
        self._names = {**vocabulary.aliases, **{tag: tag for tag in vocabulary.tags}}
        self._words: dict[str, list[tuple[str, int, str]]] = {}
        """By the words of a tag or alias: (spelling if it has punctuation, start of its first word, tag)."""
        self._longest: dict[str, int] = {}
        self._spaceless: dict[str, str] = {}
        self._lengths: dict[str, list[int]] = {}
        """By first character: the lengths of tags and aliases in scripts without spaces, longest first."""
        for name, tag in self._names.items():
            self._add(_plain(name), tag)

    def _add(self, plain: str, tag: str) -> None:
        if not plain.isascii() and SPACELESS_PATTERN.search(plain):
            self._spaceless[plain] = tag
            self._lengths[plain[0]] = sorted({len(plain), *self._lengths.get(plain[0], ())}, reverse=True)
            return
        tokens = list(_tokens(plain))
        if 0 < len(tokens) <= MOST_WORDS:
            head, words = tokens[0].text, " ".join(token.text for token in tokens)
            self._longest[head] = max(len(tokens), self._longest.get(head, 0))
            # Punctuation is part of such a tag: "c++" is not "c", and "o'brien" is not "o brien".
            self._words.setdefault(words, []).append((plain if words != plain else "", tokens[0].start, tag))

    def find(self, text: str) -> Iterator[str]:
        """Yield the tags of a text in order of appearance, some tags more than once."""
        plain = _plain(text)
        tokens = list(_tokens(plain))
        tried: set[str] = set()
        covered, comparisons = 0, FUZZY_COMPARISONS
        for at, token in enumerate(tokens):
            hits = [*self._find_inside(plain, token), *self._find_stretches(plain, tokens, at)]
            for end, tag in sorted(hits, key=lambda hit: -hit[0]) if not token.spaceless else hits:
                covered = max(covered, end)
                yield tag
            word = token.text
            if covered >= token.end or token.spaceless or len(word) < MIN_CHARS or word.isdigit() or word in tried:
                continue
            tried.add(word)
            forms = (form for form in stems(word, self.languages) if form in self._by_stem)
            near = self._by_stem.get(next(forms, ""))
            if near is None and len(word) >= FUZZY_CHARS:
                names = self._by_letter.get(word[0], [])
                comparisons -= len(names)
                near = self._find_nearest(word, names) if names and comparisons >= 0 else None
            if near is not None:
                yield near

    def _find_stretches(self, plain: str, tokens: list[_Token], at: int) -> Iterator[tuple[int, str]]:
        """Yield `(end, tag)` for the tags that begin at the token number `at`."""
        for size in range(0 if tokens[at].spaceless else self._longest.get(tokens[at].text, 0), 0, -1):
            stretch = tokens[at : at + size]
            if len(stretch) < size or any(token.spaceless for token in stretch):
                continue
            for spelling, lead, tag in self._words.get(" ".join(token.text for token in stretch), ()):
                if not spelling or plain.startswith(spelling, max(stretch[0].start - lead, 0)):
                    yield stretch[-1].end, tag

    def _find_inside(self, plain: str, token: _Token) -> Iterator[tuple[int, str]]:
        for start in range(token.start, token.end if token.spaceless else token.start + 1) if self._lengths else ():
            for size in self._lengths.get(plain[start], ()):
                tag = self._spaceless.get(plain[start : start + size])
                if tag is not None and _ends_well(plain, start + size):
                    yield start + size, tag

    def _order(self, tag: str) -> tuple[int, str]:
        """Return the sort key of a tag: the most used first, then by name."""
        return -self._uses.get(tag, 0), tag

    @cached_property
    def _by_stem(self) -> dict[str, str]:
        """Return, for each stem in any of the languages, the most used one-word tag that has this stem."""
        best: dict[str, str] = {}
        for words, names in self._words.items():
            tags = [tag for spelling, _, tag in names if not spelling]
            if " " in words or len(words) < MIN_CHARS or not tags:
                continue
            for form in stems(words, self.languages):
                known = [best[form]] if form in best else []
                best[form] = min([*tags, *known], key=self._order)
        return best

    @cached_property
    def _by_letter(self) -> dict[str, list[str]]:
        return group((name[0], name) for name in self._names if len(name) >= FUZZY_CHARS)

    def _find_nearest(self, word: str, names: list[str]) -> str | None:
        from rapidfuzz import fuzz, process  # noqa: PLC0415 - 40 ms that only words like a tag need

        hits = process.extract(word, names, scorer=fuzz.ratio, score_cutoff=FUZZY_SCORE, limit=None)
        ranked = min(((-ratio, self._order(self._names[name])) for name, ratio, _ in hits), default=None)
        return None if ranked is None else ranked[1][1]


def _ends_well(plain: str, end: int) -> bool:
    """Return whether a tag may end at `end`: not inside a word of a script with spaces."""
    if end >= len(plain) or SPACELESS_PATTERN.match(plain[end - 1]) or SPACELESS_PATTERN.match(plain[end]):
        return True
    return not (plain[end].isalnum() or plain[end] == "_")


@cache_texts(32)
def index_of(vocabulary: Vocabulary, languages: tuple[str, ...]) -> TagIndex:
    """Return the index of a vocabulary; the indexes of 32 personas are cached, since each takes up to 45 ms to make."""
    return TagIndex(vocabulary, languages)
