"""Words of questions by language: whether a message asks something, such as a time, or says `I` and `you`.

The phrases are in `prompts/questions`, one file for each language (`prompts/README.md`).
"""

import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Literal

from ..base.patterns import lazy_pattern
from ..base.text_caches import cache_texts
from .extracts import sentences
from .folding import SPACELESS_PATTERN, all_runs, fold
from .languages import bare
from .words import read_lists
from .words import words as split_words

NUMBERS = ("en", "de", "fr", "es", "it", "pt", "nl", "ru", "ko", "ar", "he", "el", "hi")

ABOUT = (*NUMBERS, "ja", "zh", "th", "pl", "cs", "uk", "sv", "da", "no", "fi", "hu", "tr", "ro")
"""Languages with a list `about`; all are tried, since a few words seldom show their language."""

WITHOUT_SPACES = frozenset({"ja", "zh", "th"})
WHO = "@"
"""Placeholder, in phrases, for the person a question is about."""
MARKS = frozenset("?\uff1f\u061f\u037e\u055e\u2e2e")

Side = Literal["", "before", "after", "since"]
SIDES: tuple[Side, ...] = ("before", "after", "since")

SHORT_CHARS = 200
"""Maximum length of a text whose question is read without the other sentences, which explain it in a longer text."""
LOOKED_AT = 4_000
"""Maximum number of characters of a question that are read: a long message asks at its beginning or not at all."""


_CONTRACTED = "^is_:s_ ^are_:re_ ^cannot_:can_t_ ^cannot_:cant_ ^will_not_:won_t_ ^will_not_:wont_ _not_:n_t_ _not_:nt_"
"""Patterns of full English words in phrases, each with the contraction."""


@lru_cache(maxsize=1024)
def list_phrases(name: str, language: str) -> tuple[str, ...]:
    """Return the phrases of a list, the English ones also contracted."""
    phrases = read_lists(f"questions/{language}").get(name, "").split()
    pairs = [pair.split(":") for pair in _CONTRACTED.split()] if language == "en" else ()
    return tuple(dict.fromkeys((*phrases, *(re.sub(full, short, each) for full, short in pairs for each in phrases))))


@lru_cache(maxsize=256)
def _phrases(name: str, language: str) -> tuple[str, ...]:
    phrases = (bare(phrase).replace("_", " ") for phrase in list_phrases(name, language))
    return tuple(phrase if language in WITHOUT_SPACES else f" {phrase} " for phrase in phrases)


def asked_words(text: str) -> str:
    """Return the words of a text for a search of phrases: without accents, with one space between and around words."""
    return f" {' '.join(all_runs(bare(text[:LOOKED_AT])))} "


def holds(words: str, name: str, languages: Sequence[str]) -> bool:
    """Return whether the words contain a phrase of the list `name` in one of the languages."""
    for language in languages:
        for phrase in _phrases(name, language):  # a generator would cost a frame for each phrase
            if phrase in words:
                return True
    return False


def says_only(text: str, name: str, others: Collection[str], languages: Sequence[str]) -> bool:
    """Return whether a text has phrases of the list `name` and, apart from them, only words of `others`."""
    left = words = asked_words(text)
    for phrase in sorted({each for code in languages for each in _phrases(name, code)}, key=len, reverse=True):
        while phrase in left:
            left = left.replace(phrase, " ")
    return left != words and set(left.split()).issubset(others)


def asking_words(words: str, languages: Sequence[str]) -> set[str]:
    """Return the words of a question that only ask, such as `happened`; `words` comes from `asked_words`."""
    phrases = (
        phrase
        for language in languages
        for name in ("only_ask", "tasks")
        for phrase in _phrases(name, language)
        if phrase in words and (name == "only_ask" or " " in phrase.strip())
    )
    return {word for phrase in phrases for word in split_words(phrase, 1)}


@cache_texts(256)
def list_task_marks(text: str, languages: tuple[str, ...]) -> tuple[str, ...]:
    """Return the marks of a task (`todo`, `need_to`) in these languages and the text's if it asks for tasks."""
    words = asked_words(text)
    asking = [code for code in ABOUT if holds(words, "tasks", (code,))]
    codes = dict.fromkeys((*asking, *languages)) if asking else ()
    return tuple(dict.fromkeys(fold(mark).strip(":") for code in codes for mark in list_phrases("task", code)))


def find_side(words: str, languages: Sequence[str]) -> Side:
    """Return the side of an event about which a question asks, such as `after` for `What happened after the flood?`."""
    for language in languages if holds(words, "events", languages) else ():
        events = _phrases("events", language)
        is_last = words.strip().endswith(tuple(map(str.strip, events)))
        for side in SIDES:
            for phrase in _phrases(side, language):
                if phrase in words and (is_last or any(event + phrase.lstrip() in words for event in events)):
                    return side
    return ""


def leave_now(words: str, languages: Sequence[str]) -> str:
    """Remove words such as `today` and `tonight` from `words`, which come from `asked_words`."""
    for phrase in sorted([each for code in languages for each in _phrases("now", code)], key=len, reverse=True):
        words = words.replace(phrase, " " * phrase.startswith(" "))
    return words


def begins_with(words: str, name: str, languages: Sequence[str]) -> bool:
    """Return whether a text begins with a phrase of the list `name`; `words` comes from `asked_words`."""
    # With spaces between words, both begin with a space.
    return bool([code for code in languages if words.startswith(_phrases(name, code), int(code in WITHOUT_SPACES))])


def asks_about_now(words: str, languages: Sequence[str]) -> bool:
    """Return whether a question is about now: it has a word such as `now` or `decide`, or no word for the past."""
    known = [language for language in languages if list_phrases("past", language)]
    is_now = holds(words, "now", known) or not holds(words, "past", known)
    return bool(known) and (is_now or holds(words, "decides", known))


def asks_about_person(words: str, people: Collection[str], languages: Sequence[str]) -> bool:
    """Return whether a question is about a person as a whole: the asker or one of `people`.

    True for `What do you know about Ann?`, not for `What did Ann say about the boat?`. `words`: from `asked_words`.
    """
    names = {part for name in people for part in all_runs(bare(name))}
    for language in languages:
        own = names.union(_plain("self", language))
        if language in WITHOUT_SPACES:
            said = re.sub("|".join(map(re.escape, sorted(own, key=len, reverse=True))), WHO, words.strip())
        else:
            marked = [WHO if word in own else word for word in words.split()]
            said = re.sub(f"({WHO} )+", f"{WHO} ", f" {' '.join(marked)} ")
        for before, end in _read_about(language):
            if said.endswith(end) and before in f"{said[: -len(end)]} ":
                return True
        if holds(said, "profile", (language,)):
            return True
    return False


def may_ask_about_person(words: str) -> list[str]:
    """Return the languages in which `words` has every word of a question about a person, apart from the name."""
    by_word = _languages_by_word()
    known, likely = [], set[str]().union(*[by_word[word] for word in words.split() if word in by_word])
    for language in ABOUT:
        is_likely = language in likely or (language in WITHOUT_SPACES and not words.isascii())
        for parts in _parts_around_who(language) if is_likely else ():
            for part in parts:  # a generator would cost a frame for each phrase
                if part not in words:
                    break
            else:
                known.append(language)
                break
    return known


@lru_cache(maxsize=64)
def _read_about(language: str) -> tuple[tuple[str, str], ...]:
    """Return (part before `*`, part after it) of each phrase in the list `about`, such as `you_*_about_@`."""
    parts = (phrase.rpartition("*") for phrase in _phrases("about", language))
    return tuple((before, end) for before, _, end in parts)


@lru_cache(maxsize=1)
def _languages_by_word() -> dict[str, set[str]]:
    """Return, for the longest word of each phrase of `_parts_around_who`, the languages of the phrase."""
    found: dict[str, set[str]] = {}
    for language in ABOUT:
        for parts in _parts_around_who(language):
            found.setdefault(max(" ".join(parts).split(), key=len), set()).add(language)
    return found


@lru_cache(maxsize=64)
def _parts_around_who(language: str) -> tuple[list[str], ...]:
    """Return the parts before and after the person in each phrase of a question about a person."""
    phrases = (*_phrases("about", language), *_phrases("profile", language))
    return tuple([part for part in re.split(f"[*{WHO}]", phrase) if part.strip()] for phrase in phrases)


def self_words(languages: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(fold(word) for code in languages for word in list_phrases("self", code)))


@lru_cache(maxsize=256)
def _plain(name: str, language: str) -> tuple[str, ...]:
    return tuple(map(bare, list_phrases(name, language)))


_BY_ID = r"<@[!&]?\w+>"
MENTIONS_BY_ID = lazy_pattern(rf"\A(?:\s*{_BY_ID}[,:]?)+(?=\s*\S)")
MENTIONS = lazy_pattern(rf"\A(?:\s*(?:{_BY_ID}|@[\w.-]+)[,:]?)+(?=\s*\S)")
"""Mentions at the beginning of a text: `<@123>`, and also `@iris`."""


def is_question(text: str, languages: Sequence[str]) -> bool:
    said = MENTIONS.sub("", text[:2_000])
    if MARKS.intersection(said):
        return True
    whole, words = bare(said), asked_words(said)
    for language in languages:
        opens, inside, ends = (_plain(name, language) for name in ("opens", "inside", "ends"))
        folded = whole
        for phrase in _plain("never", language):
            folded = folded.replace(phrase.replace("_", " "), " ")
        if language in WITHOUT_SPACES:
            asks = any(word in folded for word in opens)
        else:
            opens_with = words.startswith(_phrases("opens", language)) and not begins_with(words, "never", (language,))
            asks = words.count(" ") > 2 and opens_with
        if asks or (inside and any(run.startswith(inside) for run in all_runs(folded))):
            return True
        if ends and folded.rstrip(" .!~…。！").endswith(ends):
            return True
    return opens_late(words, languages) or any(_asking(code)[1].search(words) for code in languages)


def find_asked(text: str, languages: Sequence[str]) -> str:
    """Return only the questions of a short text, if one of them ends in a question mark; else the whole text.

    The whole text is also returned if a question has hardly any words, such as `ok?` or a web address.
    """
    every = list(sentences(text)) if len(text) <= SHORT_CHARS and not MARKS.isdisjoint(text) else []
    if len(every) < 2:
        return text
    asking = [each for each in every if is_question(each, languages)]
    is_sure = any(_END_MARK.search(each) and _has_words(each) for each in asking) and all(map(_has_words, asking))
    return " ".join(asking) if is_sure and len(asking) < len(every) else text


_END_MARK = lazy_pattern("[?\uff1f\u061f][^\\w\\s]*$")


def _has_words(sentence: str) -> bool:
    found = all_runs(bare(sentence))
    return len(found) > 2 or (len(found) == 1 and SPACELESS_PATTERN.search(sentence) is not None)


def leave_call(text: str, names: Collection[str], languages: Sequence[str]) -> str:
    """Remove these names from a text where a sentence addresses them at its beginning or end.

    `@Iris what did I say?`, `Hey Iris, who won?`, `Who won, Iris?`; not `What did Iris say?` or `Who is Iris?`
    """
    forms = {form for name in names for each in (name, bare(name)) for form in (each, *each.split()[:1])}
    listed = "|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True)) or "(?!)"

    def leave(called: re.Match[str]) -> str:
        begin, end = called.span()
        comma, mark = called.groups()
        words = asked_words(_SENTENCE_END.split(text[max(0, begin - SHORT_CHARS) : begin])[-1])
        after = asked_words(_SENTENCE_END.split(mark + text[end : end + SHORT_CHARS])[0])
        is_marked = "@" in called[0]
        if words.isspace() or any(re.fullmatch(f"{_any_of(code, 'starters')}+ ", words) for code in languages):
            asks = opens_late(after, languages) or any(_asking(code)[2].match(after) for code in languages)
            return " " if is_marked or mark or asks else called[0]
        return mark if after.isspace() and (is_marked or comma) else called[0]

    pattern = rf"(?i)([,、，،]?) ?(?<![\w@])@?(?:{listed})(?![\w'’-]) ?([,!、，،！]?)"
    left = re.sub(pattern, leave, text).strip()
    return left if all_runs(left) else text


_SENTENCE_END = lazy_pattern("[.!?。！？؟\\n]")


def opens_late(words: str, languages: Sequence[str]) -> bool:
    """Return whether words from `asked_words` begin a question, maybe after words such as `hey so`."""
    return any(_asking(code)[0].match(words) for code in languages)


@lru_cache(maxsize=256)
def _any_of(language: str, *names: str) -> str:
    listed = sorted({re.escape(phrase.strip()) for name in names for phrase in _phrases(name, language)})
    return f"(?: {'| '.join(listed)})" if listed else "(?!)"


@lru_cache(maxsize=64)
def _asking(language: str) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Return patterns of question words (`ok so what`) and of verb and person, each for a text and its beginning."""
    verbs, starters = _any_of(language, "verbs"), _any_of(language, "starters")
    words, persons = f"(?!{verbs} ){_any_of(language, 'opens')}", _any_of(language, "self", "other", "subjects")
    begins, asks = f"{verbs}{persons} ", f"(?:^{starters}+|{words}){verbs}{persons} "  # `ok did I`, `since May have I`
    return re.compile(rf"{starters}*{words} (?=\S)"), re.compile(asks), re.compile(begins)
