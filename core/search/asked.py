"""What a search asks for, as the ranking sees it: which words count, what each is worth, what the question tells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from ..database.dialects import microseconds
from ..index.entries import PHRASE, TAG, WORD
from ..text import times
from ..text.folding import fold
from ..text.question_words import is_question
from ..text.stems import stem
from ..text.words import words
from .question.people import named
from .question.question import Question, read_question
from .ranking.rows import Asked, Term
from .ranking.weights import INSIDE, rarity_weight
from .terms import Search

_Key = tuple[int, str]


def build_asked(search: Search, question: Question, speakers: Iterable[str], docs: Mapping[_Key, int]) -> Asked:
    """Return what a search asks for.

    Args:
        speakers: names of those whom the question may name.
        docs: in how many rows each word, tag and phrase stands.
    """
    question = with_people(question, search.query.text, speakers)
    languages = search.settings.languages
    forms: dict[str, int] = {}
    groups = [forms.setdefault(w.stem or stem(w.text, languages), len(forms)) for w in search.words]
    terms = _list_terms(search, groups)
    rows_of, whole = _count_groups(terms, len(forms), docs)
    rows, mean_words = search.count_rows(search.query.numbers)
    worth = [rarity_weight(n, rows) if n else 0.0 for n in rows_of]
    _leave_names(worth, question, search, groups)
    most = [weight if whole[group] else INSIDE * weight for group, weight in enumerate(worth)]
    beside = 0.0
    for tag in search.query.tags:
        if n := docs.get((TAG, tag)):
            group, weight = forms.get(stem(tag, languages), -1), rarity_weight(n, rows)
            terms[TAG, tag] = [Term(group, tag_worth=weight)]
            if group >= 0:
                most[group] = max(most[group], weight)
            else:
                beside += weight
    spoken = question.languages or tuple(languages)
    return Asked(
        worth,
        max(sum(most) + beside, 1e-9),
        mean_words,
        question,
        asker=search.viewer.scope.participant or "",
        has_answers=is_question(search.query.text, spoken),
        texts=search.texts,
        groups=groups,
        terms=terms,
        words={name: terms[kind, name] for kind, name in terms if kind == WORD},
        languages=spoken,
        days=[(microseconds(since), microseconds(until)) for since, until in question.days],
    )


def question_of(search: Search, now: datetime) -> Question:
    """Return what the message asks; whom it names is told when it is known who spoke."""
    if not search.query.text or search.query.ranking != "relevance":
        return Question()
    zone, languages = times.zone(search.settings.timezone) or UTC, search.settings.languages
    question = read_question(search.query.text, now=now, zone=zone, speaker_names=(), languages=languages)
    if is_question(search.query.text, question.languages):
        return question
    # `I meet Ann on Monday` names people and a day, and does not ask for what they said, or for what was said then.
    return Question(languages=question.languages)


def count_docs(search: Search, docs: Mapping[_Key, int]) -> list[int]:
    """Return in how many rows each text stands as a whole word, or, where it never does, inside others."""
    if search.index is None:  # nothing is known: all texts count alike
        return [1] * len(search.words)
    groups = list(range(len(search.words)))
    return _count_groups(_list_terms(search, groups), len(groups), docs)[0]


def with_people(question: Question, text: str, speakers: Iterable[str]) -> Question:
    """Return a question with whom of the speakers it names."""
    names = {name for name in speakers if name}
    return replace(question, people=named(text, names, question.languages)) if names else question


def _list_terms(search: Search, groups: Sequence[int]) -> dict[_Key, Sequence[Term]]:
    """Return what each word and phrase counts: once for every group of texts that it belongs to."""
    by_key: dict[_Key, dict[int, Term]] = {}
    for group, word in zip(groups, search.words, strict=True):
        chat_only = not (word.is_keyword or word.is_minor)
        keys = [((WORD, term), 1.0 if is_whole else INSIDE) for term, is_whole in word.terms.items()]
        keys += [((PHRASE, word.text), 1.0)] if word.pieces else []
        for key, factor in keys:
            same = by_key.setdefault(key, {}).get(group)
            if same is None or factor > same.factor or same.chat_only > chat_only:
                by_key[key][group] = Term(group, factor, chat_only=chat_only)
    return {key: list(terms.values()) for key, terms in by_key.items()}


def _count_groups(
    terms: Mapping[_Key, Sequence[Term]], count: int, docs: Mapping[_Key, int]
) -> tuple[list[int], list[bool]]:
    """Return in how many rows each group of texts stands, and whether as whole words."""
    whole, inner = [0] * count, [0] * count
    for key, meanings in terms.items():
        for term in meanings:
            (whole if term.factor == 1.0 else inner)[term.group] += docs.get(key, 0)
    return [n or m for n, m in zip(whole, inner, strict=True)], [n > 0 for n in whole]


def _leave_names(worth: list[float], question: Question, search: Search, groups: Sequence[int]) -> None:
    """Take their worth from the names of speakers a question names, where it asks for something else too."""
    languages = search.settings.languages
    parts = {part for name in question.people for part in words(name, 2)}
    parts |= {stem(part, languages) for part in parts}
    named_groups = {group for group, text in zip(groups, search.texts, strict=True) if fold(text) in parts}
    if any(weight for group, weight in enumerate(worth) if group not in named_groups):
        for group in named_groups:
            worth[group] = 0.0
