"""What a search asks for, as the ranking sees it: which words count, what each is worth, what the question tells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, tzinfo

from ..database import sources
from ..database.dialects import microseconds
from ..index.lookups import PHRASE, TAG, WORD
from ..text import passages
from ..text.question_words import is_question
from ..text.stems import stem
from .question.people import named
from .question.question import Question, read_question
from .ranking.reasons import name_texts
from .ranking.rows import Asked, Probe
from .ranking.weights import INSIDE, rarity_weight
from .terms import Search


def build_asked(
    search: Search, question: Question, speakers: Iterable[str], docs: Mapping[tuple[int, str], int]
) -> Asked:
    """Return what a search asks for."""
    question = with_people(question, search.query.text, speakers)
    languages = search.settings.languages
    forms: dict[str, int] = {}
    groups = [forms.setdefault(w.stem or stem(w.text, languages), len(forms)) for w in search.words]
    rows_of, whole = _count_groups(search, groups, len(forms), docs)
    rows, mean_words = search.count_rows(search.query.numbers)
    worth = [rarity_weight(n, rows) if n else 0.0 for n in rows_of]
    turns, mean_turn_words = search.count_rows([sources.CHAT.number])
    _without_names(worth, question, search, groups)
    tags = {tag: rarity_weight(n, rows) for tag in search.query.tags if (n := docs.get((TAG, tag)))}
    most = [weight if whole[group] else INSIDE * weight for group, weight in enumerate(worth)]
    beside = {forms.get(stem(tag, languages), -1 - n): weight for n, (tag, weight) in enumerate(tags.items())}
    total = sum(max(weight, beside.pop(group, 0.0)) for group, weight in enumerate(most)) + sum(beside.values())
    spoken = question.languages or tuple(languages)
    return Asked(
        worth,
        max(total, 1e-9),
        mean_words,
        mean_turn_words if turns else 0.0,
        question,
        asker=search.viewer.scope.participant or "",
        has_answers=is_question(search.query.text, spoken),
        texts=search.texts,
        groups=groups,
        probes=_probes(search, groups, worth),
        tags=tags,
        languages=spoken,
        days=[(microseconds(since), microseconds(until)) for since, until in question.days],
    )


def question_of(search: Search, now: datetime) -> Question:
    """Return what the message asks; whom it names is told when it is known who spoke."""
    if not search.query.text or search.query.ranking != "relevance":
        return Question()
    zone, languages = _zone(search.settings.timezone), search.settings.languages
    made = read_question(search.query.text, now=now, zone=zone, speaker_names=(), languages=languages)
    if is_question(search.query.text, made.languages):
        return made
    # `I meet Ann on Monday` names people and a day, and does not ask for what they said, or for what was said then.
    return Question(languages=made.languages)


def text_docs(search: Search, docs: Mapping[tuple[int, str], int]) -> list[int]:
    """Return in how many rows each text stands as a whole word, or, where it never does, inside others."""
    groups = list(range(len(search.words)))
    return _count_groups(search, groups, len(groups), docs)[0]


def with_people(question: Question, text: str, speakers: Iterable[str]) -> Question:
    """Return a question with whom of the speakers it names."""
    names = {name for name in speakers if name}
    return replace(question, people=named(text, names, question.languages)) if names else question


def _zone(name: str) -> tzinfo:
    if name == "UTC":
        return UTC
    from zoneinfo import ZoneInfo  # noqa: PLC0415 - only other zones than UTC need it

    return ZoneInfo(name)


def _count_groups(
    search: Search, groups: Sequence[int], count: int, docs: Mapping[tuple[int, str], int]
) -> tuple[list[int], list[bool]]:
    """Return in how many rows each group of texts stands, and whether as whole words."""
    if search.index is None:  # nothing is known: all texts count alike
        return [1] * count, [True] * count
    words: list[dict[tuple[int, str], bool]] = [{} for _ in range(count)]
    for group, wanted in zip(groups, search.words, strict=True):
        held = words[group]
        for term, is_whole in wanted.terms.items():
            held[WORD, term] = is_whole or held.get((WORD, term), False)
        if wanted.pieces:
            held[PHRASE, wanted.text] = True
    whole, inner = [0] * count, [0] * count
    for group, held in enumerate(words):
        for key, is_whole in held.items():
            (whole if is_whole else inner)[group] += docs.get(key, 0)
    return [n or m for n, m in zip(whole, inner, strict=True)], [n > 0 for n in whole]


def _without_names(worth: list[float], question: Question, search: Search, groups: Sequence[int]) -> None:
    """Take their worth from the names of speakers a question names, where it asks for something else too."""
    if not question.people:
        return
    named = {groups[n] for n in name_texts(question.people, search.texts, search.settings.languages)}
    if any(weight for group, weight in enumerate(worth) if group not in named):
        for group in named:
            worth[group] = 0.0


def _probes(search: Search, groups: Sequence[int], worth: Sequence[float]) -> list[Probe]:
    """Return the texts to look for in the rows: a text that another of its group stands in is found with that one."""
    made: dict[tuple[int, bool, bool], list[Probe]] = {}
    for group, w in sorted(zip(groups, search.words, strict=True), key=lambda pair: len(pair[1].text)):
        if not worth[group]:
            continue
        chat_only = not (w.is_keyword or w.is_minor)
        always = bool(w.pieces) or not w.text.isalnum() or passages.is_spaceless(w.text)
        alike = made.setdefault((group, always, w.is_minor or w.whole_only), [])
        same = next((p for p in alike if p.text in w.text and p.chat_only <= chat_only), None)
        if same is None:
            same = Probe(group, w.text, {}, chat_only, always, w.is_minor or w.whole_only)
            alike.append(same)
        for term, is_whole in w.terms.items():
            same.terms[term] = is_whole or same.terms.get(term, False)
    return [probe for probes in made.values() for probe in probes]
