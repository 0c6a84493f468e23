"""Find the index words that match each term of a query, also other forms and spellings of the words of a message."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from operator import itemgetter

from ..database import sources
from ..index.lexicon import Lexicon
from ..index.shapes import PHRASE, TAG, WORD, IndexTerm
from ..index.state import IndexState
from ..text import search_words
from ..text.folding import SPACELESS_PATTERN, fold, fold_case, word_runs
from ..text.forms import spellings
from ..text.forms.variants import find_forms, list_compounds, list_look_alikes
from ..text.kinds import find_kinds
from ..text.question_words import list_task_marks
from ..text.stems import list_forms, script_language, stem, with_prefixes
from ..text.words import Fragment, fragments, index_terms, is_short_word, stop_words
from ..text.words import words as plain_words
from .query import Query, fold_words
from .terms import Kind, Least, QueryTerm, count_alone

MINOR_SHARE = 0.1
"""Maximum share of the visible rows that hold a minor word (a rare stop word); commoner stop words are not used."""
ENOUGH_WORDS = 5
"""Number of search words up to which minor words (rare stop words) are added to a short question."""
MOST_MINOR = 8
"""Maximum number of minor words (rare stop words) that are looked up; the rarest of them are used."""
MOST_NEAR = 5
"""Maximum number of keywords whose similar spellings are looked up, the longest first."""
SHORTEST_REST = 3
"""Minimum number of letters of a compound after its first part: `corner` is not a compound of `corn`."""
SYLLABLES = frozenset({"ko", "hi", "ta", "he", "ar"})
"""Languages in which one or two more letters can make a compound."""
_FIRST_HAN = "\u3400"
_MARKS = "-'\u2019"
"""Punctuation marks inside a word that many people omit."""
SHORTEST_BEGINNING = 3
"""Minimum number of letters of a text that matches words by prefix."""


def find_terms(query: Query, index: IndexState | None) -> tuple[QueryTerm, ...]:
    """Return the terms of a query, each with the words in the index that match it."""
    languages = query.languages
    said = plain_words(query.text)
    terms = _list_words(query, said)
    tags = [QueryTerm(t, "tag", index_terms={(TAG, t): True}, stem=stem(fold(t), languages)) for t in query.tags]
    if index is not None:
        lexicon = index.lexicon
        terms = [_find_words(term, lexicon, languages) for term in terms]
        rows, _ = index.count_rows(range(len(sources.ALL)))
        if query.text:
            spoken = tuple(dict.fromkeys((*languages, *lexicon.spoken_languages(rows))))
            terms = _add_forms(query, terms, lexicon, spoken)
        if query.text and query.keywords:
            words = filter(search_words.may_be_misspelt, [term.text for term in terms if term.is_keyword])
            for word in sorted(words, key=lambda each: (-len(each), each))[:MOST_NEAR]:
                terms = _respell(word, terms, lexicon, languages)
            terms += _find_tasks(query, lexicon) or _find_minor(query, said, terms, lexicon, rows)
            terms += _find_kinds(query, said, lexicon)
    return _group([*terms, *tags], languages)


def _list_words(query: Query, said: Sequence[str]) -> list[QueryTerm]:
    """Return the keywords and tags of a query as terms, each stem replaced by its word in the message."""
    written: dict[str, str] = {}
    if said:  # a sentence's first word loses its capital, unless it is a name
        written = {word if word.isascii() else fold(word): word for word in word_runs(fold_case(query.text))}
        written |= {fold(name): name for name in search_words.inner_names(query.text)}
    tags = fold_words(query.tags)
    kinds: dict[str, Kind] = {text: "keyword and tag" if text in tags else "keyword" for text in query.keywords}
    if sources.CHAT in query.sources:
        # a stop word of the message, such as `open`, is a tag of rows only: most lines that hold it mean nothing by it
        stops = frozenset[str]().union(*map(stop_words, query.languages)) if query.is_of_text else ()
        kinds = {**kinds, **{text: "tag word" for text in tags if text not in kinds and text not in stops}}
    terms = []
    for text, kind in kinds.items():
        words = (word for word in said if text in word and search_words.search_form(word, query.languages) == text)
        word = next(words, text)
        terms.append(QueryTerm(word, kind, written=written.get(word, "")))
    return terms


def _group(terms: Sequence[QueryTerm], languages: Sequence[str]) -> tuple[QueryTerm, ...]:
    """Give each term the number of its group; a tag joins the group of the keyword with the same stem."""
    first: dict[str, int] = {}
    made = []
    for i, term in enumerate(terms):
        form = term.stem or stem(term.text, languages)
        made.append(term._replace(group=first.get(form, i) if term.kind == "tag" else first.setdefault(form, i)))
    return tuple(made)


def widen_terms(terms: Sequence[QueryTerm], lexicon: Lexicon, languages: Sequence[str]) -> tuple[QueryTerm, ...]:
    """Let each keyword among the terms also match the index words that contain it."""
    joining = [code for code in languages if spellings.joins_words(code)]
    return tuple(_with_inner(term, lexicon, joining) for term in terms)


def loosen_terms(terms: Sequence[QueryTerm]) -> tuple[QueryTerm, ...]:
    """Let short words among the terms also match inside other words."""
    return tuple(term._replace(least="inside") if term.least == "beginning" else term for term in terms)


def holds_term(folded: str, term: QueryTerm, languages: Sequence[str]) -> bool:
    """Return whether a text has a term's letters where `term.least` says: in a word, at its beginning, as a word."""
    if term.least == "inside":
        return True
    text, may_begin = term.text, term.least == "beginning"
    words = index_terms(folded)
    return bool(list_forms(words, text, languages)) or (may_begin and any(word.startswith(text) for word in words))


def _with_inner(term: QueryTerm, lexicon: Lexicon, languages: Sequence[str]) -> QueryTerm:
    """Let a keyword also match the index words that contain it, and compounds with it in these languages."""
    text = term.text
    if not (term.is_keyword and text.isalnum() and len(text) >= SHORTEST_BEGINNING - 1) or term.pieces:
        return term
    words: list[str] = list(lexicon.holding(text)) if term.least == "inside" else []
    words = [word for word in words if not (term.written and _is_beside(word, text))]
    if languages:
        words += list_compounds(term.written or text, languages, lexicon.holding)
    inner = dict.fromkeys(((WORD, word) for word in words), False)
    return term._replace(index_terms={**term.index_terms, **{o: False for o in inner if o not in term.index_terms}})


def _find_words(term: QueryTerm, lexicon: Lexicon, languages: Sequence[str]) -> QueryTerm:
    """Add to a term the words of the index that match it."""
    text, pieces = term.text, fragments(term.text)
    if len(pieces) == 1 and len(pieces[0].text) == len(text):
        if pieces[0].kind != "word":
            return term._replace(index_terms=dict.fromkeys(_words_of(pieces[0], lexicon), True))
        # Its forms are found by rules; other words that begin with it or its English stem may be compounds.
        start = search_words.search_form(text, ("en",)) if term.written and "en" in languages else text
        if len(start) <= search_words.SHORTEST_STEM:
            start = text
        counts = lexicon.commonest(start) if _is_beginning(start) else {text: lexicon.rows(text)}
        if term.written:
            others = list_look_alikes(text, "en")
            words = {w: w == text for w in counts if counts[w] and w not in others and not _is_beside(w, text)}
        else:
            form = stem(text, languages)
            for beginning in with_prefixes(form):
                counts = counts | lexicon.commonest(beginning)
            whole = set(list_forms(counts, text, languages, form))
            words = {word: word in whole for word in counts if counts[word]}
        least: Least = "inside"
        if is_short_word(text):
            is_named = term.is_keyword and not (term.written or term.is_exact)
            least = "beginning" if is_named and _is_beginning(text) else "word"
        found = {(WORD, word): is_whole for word, is_whole in words.items() if is_whole or least != "word"}
        return term._replace(index_terms=found, least=least)
    is_exact = term.is_exact or " ".join(word_runs(text)) != text
    if not pieces:
        return term._replace(is_exact=is_exact)
    words_of = tuple(tuple(_words_of(piece, lexicon)) for piece in pieces)
    return term._replace(index_terms={(PHRASE, text): True}, is_exact=is_exact, pieces=words_of)


def _is_beside(word: str, text: str) -> bool:
    """Return whether a word begins with `text` but is too short to be a compound with it: `corner` for `corn`."""
    if not word.startswith(text) or word == text or script_language(text) in SYLLABLES:
        return False
    return text.isalpha() and len(word) < len(text) + SHORTEST_REST


def _words_of(piece: Fragment, lexicon: Lexicon) -> list[IndexTerm]:
    """Return the index words that match one piece of a text: a word, or a character of a script without spaces."""
    words: Iterable[str]
    if piece.kind == "char":
        words = sorted({*lexicon.commonest(piece.text), *lexicon.holding(piece.text)})
    elif piece.kind == "word" and piece.at_end and _is_beginning(piece.text):
        words = sorted(lexicon.commonest(piece.text))
    else:
        words = [piece.text] if lexicon.rows(piece.text) else []
    return [(WORD, word) for word in words]


def _is_beginning(text: str) -> bool:
    """Return whether a text is long enough to match words by prefix; a Hangul syllable counts as two letters."""
    return len(text) >= SHORTEST_BEGINNING or (len(text) == SHORTEST_BEGINNING - 1 and not is_short_word(text))


def _respell(word: str, terms: list[QueryTerm], lexicon: Lexicon, languages: Sequence[str]) -> list[QueryTerm]:
    """Replace a keyword that no row holds by the most similar index word; if one row holds it, add that word."""
    places = [i for i, term in enumerate(terms) if term.text == word and not term.pieces]
    if not places or (rows := sum([lexicon.rows(found) for _, found in terms[places[0]].index_terms])) > 1:
        return terms
    at = places[0]
    first, second = search_words.split_halves(word)
    alike = lexicon.beginning(first) | lexicon.ending(second, word[0])
    docs = {other: n for other, n in alike.items() if (WORD, other) not in terms[at].index_terms}
    # `hedgehgo` is nearer to the stem of `hedgehogs` than to the word.
    forms = {form: other for other in sorted(docs) if other.startswith(form := stem(other, languages))}
    forms |= {other: other for other in docs}
    near = {form: docs[other] for form, other in forms.items()}
    meant = forms.get(search_words.choose_nearest(word, near, is_held=rows > 0))
    if meant is None:
        return terms
    form = stem(meant, languages)
    index_terms = {(WORD, other): True for other in docs if other == meant or stem(other, languages) == form}
    if rows:
        return [*terms, QueryTerm(meant, "keyword", index_terms=index_terms, stem=form)]
    return [*terms[:at], terms[at]._replace(index_terms=index_terms), *terms[at + 1 :]]


def _find_minor(
    query: Query, said: Sequence[str], terms: Sequence[QueryTerm], lexicon: Lexicon, rows: int
) -> list[QueryTerm]:
    """Return the rarest stop words of a short question as terms, except very common words and words in many rows."""
    if len(query.keywords) >= 2 * ENOUGH_WORDS:
        return []
    languages = query.languages
    taken = {stem(word, languages) for word in query.keywords}
    most, found = MINOR_SHARE * rows, []
    beside = dict.fromkeys(stem(word, languages) for word in search_words.minor_words(said, languages, 3 * MOST_MINOR))
    for form in [form for form in beside if form not in taken][:MOST_MINOR]:
        # The words may lack the last letter of the stem: `hike` of hiking, `studi` of study.
        beginning = form[:-1] if len(form) > search_words.SHORTEST_STEM and form[-1] in "ei" else form
        counts = lexicon.beginning(beginning)
        words = list_forms(counts, "", languages, form)
        docs = sum(map(counts.__getitem__, words))
        if 0 < docs <= most:
            index_terms: dict[IndexTerm, bool] = {(WORD, word): True for word in words}
            found.append((docs, beginning, QueryTerm(beginning, "minor", index_terms=index_terms, stem=form)))
    if not found:
        return []
    telling = {
        term.stem or stem(term.text, languages)
        for term in terms
        if not term.pieces and any(term.index_terms.values())
        if 0 < count_alone(term, lambda one: lexicon.rows(one[1])) <= most
    }
    found.sort(key=itemgetter(0, 1))
    return [term for _, _, term in found[: max(0, ENOUGH_WORDS - len(telling))]]


def _find_kinds(query: Query, said: Sequence[str], lexicon: Lexicon) -> list[QueryTerm]:
    """Return a term for each general noun of a question: `pet` matches `dog`, with the weight of a part of a word."""
    found, languages = list[QueryTerm](), query.languages
    for noun, kinds in find_kinds(query.text, said, languages).items() if query.is_question else ():
        read = [(kind, *_read_kind(kind, languages)) for kind in sorted(kinds)]
        known, words = lexicon.may_begin([beginning for *_, beginning in read]), dict[IndexTerm, bool]()
        for kind, pieces, form, beginning in read:
            if pieces:
                words |= {word: False for piece in pieces for word in _words_of(piece, lexicon)}
            elif beginning in known:
                for word in list_forms(lexicon.beginning(beginning), kind, languages, form):
                    words[WORD, word] = False
        if words:
            found.append(QueryTerm(noun, "minor", index_terms=words, stem=stem(noun, languages)))
    return found


def _find_tasks(query: Query, lexicon: Lexicon) -> list[QueryTerm]:
    """Return the marks of a task as terms of one group, if a question asks for tasks."""
    marks = list_task_marks(query.text, query.languages) if query.is_question else ()
    terms = (QueryTerm(mark.replace("_", " "), "minor", stem="todo") for mark in marks)
    found = (_find_words(term, lexicon, query.languages) for term in terms)
    return [term for term in found if term.index_terms]


@lru_cache(maxsize=4096)
def _read_kind(kind: str, languages: tuple[str, ...]) -> tuple[Sequence[Fragment], str, str]:
    """Return the index pieces of a kind in a script without spaces, its stem, and a prefix that all its forms have."""
    form, pieces = stem(kind, languages), fragments(kind) if SPACELESS_PATTERN.match(kind) else ()
    return pieces, form, form if kind.startswith(form) and len(form) >= search_words.SHORTEST_STEM else kind


# Other forms and spellings


def _add_forms(query: Query, terms: Sequence[QueryTerm], lexicon: Lexicon, languages: Sequence[str]) -> list[QueryTerm]:
    """Add to a message's terms other forms of their words, and further terms for other spellings."""
    text, own = query.text, query.languages
    made = [
        _add_words(term, find_forms(term.written or term.text, languages, lexicon.beginning))
        if _is_word(term)
        else term
        for term in terms
    ]
    if "vi" in languages:
        made = [term._replace(is_toned=not term.written.isascii()) for term in made]
    place = {term.text: at for at, term in enumerate(made)}
    quoted = [QueryTerm(phrase, "keyword", is_exact=True) for phrase in spellings.list_quoted(text)]
    beside = [_find_words(term, lexicon, own) for term in quoted]
    for joined, parts in spellings.list_joined(text).items():
        places = {place[part] for part in parts if part in place}
        near = lexicon.beginning(joined) if places else ()
        words = list_forms(near, joined, languages) if near else ()
        for at in places if words else ():
            made[at] = _add_words(made[at], words)
    list_others = (spellings.list_other_numbers, spellings.list_other_scripts)
    others = [item for list_spellings in list_others for item in list_spellings(text, languages).items()]
    for word, other in ((word, other) for word, spelt in others for other in dict.fromkeys(spelt)):
        at, is_word = place.get(word, -1), other.isalnum() and not SPACELESS_PATTERN.search(other)
        if is_word and not lexicon.beginning(fold(other)[: spellings.SHORTEST_PART]):
            continue
        if is_word and at >= 0 and _is_word(made[at]):
            made[at] = _add_words(made[at], find_forms(other, languages, lexicon.beginning))
        elif at >= 0 or not other.isdigit():  # a stop word such as `one` is not searched as a digit
            spelt = QueryTerm(fold(other), "minor", stem=stem(word, languages))
            beside.append(_find_words(spelt, lexicon, own))
    for term in made:
        if term.is_keyword and not term.pieces and not term.index_terms:
            if _is_word(term):
                beside += _split(term, lexicon, languages)
            elif min(term.text) >= _FIRST_HAN:
                # two characters that may stand apart in a text: `游了泳` for `游泳`
                apart = QueryTerm(" ".join(term.text), "minor", stem=term.text)
                beside.append(_find_words(apart, lexicon, own))
    return [*made, *(term for term in beside if term.index_terms)]


def _is_word(term: QueryTerm) -> bool:
    return term.is_keyword and not term.pieces and not SPACELESS_PATTERN.search(term.text)


def _add_words(term: QueryTerm, words: Iterable[str]) -> QueryTerm:
    return term._replace(index_terms={**term.index_terms, **dict.fromkeys([(WORD, word) for word in words], True)})


def _split(term: QueryTerm, lexicon: Lexicon, languages: Sequence[str]) -> list[QueryTerm]:
    """Return phrase terms with the parts of a compound that no row holds as one word; [] if it has no parts."""

    def find(part: str) -> list[str]:
        near = lexicon.beginning(part[: max(spellings.SHORTEST_PART, len(part) - 1)])
        forms = find_forms(part, languages, lexicon.beginning) if near else ()
        return list(dict.fromkeys([*list_forms(near, part, languages), *forms]))

    word, parts = term.text, [[part] for part in spellings.split_figures(term.text)]
    if not parts and spellings.SHORTEST_COMPOUND <= len(word) <= spellings.LONGEST_COMPOUND:
        parts = spellings.split_compound(word, find, languages)
    is_one = not parts
    if is_one:
        halves = [[word[:at], word[at:]] for at in range(1, len(word) - 1)]
        rows = lexicon.count_rows([part for both in halves for part in both])
        parts = [[part] for part in next((both for both in halves if all(map(rows.get, both))), [])]
    if not parts or not all(lexicon.rows(word) for words in parts for word in words):
        return []
    # Many rows hold both halves of no compound: only the phrases `check-in` and `o'leary` are searched for.
    phrases = [mark.join(part for part, *_ in parts) for mark in _MARKS] if is_one else [word]
    pieces = tuple(tuple((WORD, word) for word in words) for words in parts)
    kind: Kind = "keyword" if is_one else "minor"
    made = QueryTerm(word, kind, stem=stem(word, languages), pieces=pieces, is_exact=is_one)
    return [made._replace(text=phrase, index_terms={(PHRASE, phrase): True}) for phrase in phrases]
