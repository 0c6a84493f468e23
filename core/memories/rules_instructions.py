"""Rules for standing instructions: which instructions a new instruction replaces, and which a sentence cancels."""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from ..text.folding import SPACELESS_PATTERN, fold, word_runs
from ..text.forms.variants import find_forms
from ..text.languages import likely_languages
from ..text.remember_phrases import (
    DOUBTS,
    MEDICAL,
    Phrases,
    are_synonyms,
    cut_health,
    find_name,
    find_objects,
    find_values,
    holds_word,
    is_repeated,
    phrase_form,
)  # fmt: skip
from ..text.search_words import salient_words
from ..text.stems import stem
from ..text.time import mask_time
from ..text.words import stop_words

MOST_CHARS = 300
_MOST = 0.67
"""Share of an instruction's words that a sentence must repeat to cancel it, if the topic is diet, units or similar."""
_STEM_CHARS, _ENDING_CHARS = 4, 3
"""Minimum number of letters that two forms of a word share at the start, and maximum length of their endings."""
_ADDED = frozenset({"pregnancy", MEDICAL})
"""Topics on which a newer instruction does not replace an older one: somebody may avoid several foods."""
_ENDINGS = ("endings", "returns", "stops", "permits", "leads", "explicit")
"""Groups of phrases whose words are ignored when looking for the object of a sentence that cancels an instruction."""
_FRAME = ("permits", "vague", "openings", "adverbs")
"""Groups of phrases whose words are ignored when looking for the thing that a sentence allows."""
_ENOUGH = 0.5
"""The share for instructions on other topics. To cancel a name, a sentence must repeat more than this share of it."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """A sentence that gives a standing instruction, cancels an earlier instruction, or does both."""

    text: str
    topics: frozenset[str] = frozenset()
    """Topics of the instruction, from `text.remember_phrases.TOPICS`."""
    begins: bool = True
    ends: bool = False
    means_that_name: bool = False
    """Whether the sentence cancels a name without naming it, as in `don't call me that`."""
    is_stop: bool = False
    """Whether the sentence tells the persona to stop something."""
    is_permit: bool = False
    """Whether the sentence only allows something, as in `you can use emojis`."""
    means_last_wish: bool = False
    """Whether the sentence cancels the instruction in the person's previous message, as in `scrap that`."""
    means_newest: bool = False
    """Whether the sentence cancels the newest instruction, as in `forget that rule`."""
    sees_servers: bool = False
    """Whether a direct chat sees the instructions given in the person's servers (SERVER_IN_DIRECT)."""
    phrases: Sequence[Phrases] = field(default=(), compare=False, repr=False)
    """Phrases of the languages of the text."""
    find_phrases: Callable[[str], Sequence[Phrases]] = field(default=lambda _: (), compare=False, repr=False)
    """Function that returns the phrases of a text's languages."""

    @property
    def held_topics(self) -> frozenset[str]:
        """Return the topics on which this sentence replaces older instructions; none for `don't call me Jo`."""
        return frozenset() if self.ends else self.topics


def replaces(newer: Collection[str], older: Collection[str]) -> bool:
    return bool(older) and _ADDED.isdisjoint(older) and set(older) <= set(newer)


def takes_back(ending: Instruction, text: str, topics: Collection[str]) -> bool:
    """Return whether the sentence `ending` cancels the instruction with this text and topics."""
    own = ending.find_phrases(text) or ending.phrases
    if ending.ends and not ending.begins and is_repeated(text, ending.text, ending.phrases):
        return True
    about = cut_health(text, own)
    if about is not None and _says_more(ending, text, own):
        return False
    if "name" in ending.topics:  # giving a name cancels the refusal of that name
        share = 0 if _is_partly(ending, topics) else _ENOUGH
        return ("name" in topics) is ending.ends and (ending.means_that_name or _is_named(ending, text, share))
    if about is not None and SPACELESS_PATTERN.search(text):
        if holds_word(text, MEDICAL, own):
            return _names_illness(ending.text, text, own)
        if about.strip() and about.strip() in phrase_form(ending.text):
            return True
        about = ""
    forbids, both = bool(find_values(text, ("stays",), own)), ending.topics.intersection(topics)
    if ending.is_permit and not forbids:  # `you can write more` ends `be brief`, and not `be brief and friendly`
        held, values = find_values(text, both, own), find_values(ending.text, both, ending.phrases)
        bare = [_leave_vague(each, ending.phrases, ()).strip() for each in values]  # `english` of `english please`
        return not all(any(each in value for value in held) for each in bare)
    topics = set(topics) - {MEDICAL}
    if ending.topics and not ending.is_stop and topics:  # `I eat fish again` ends `I am vegetarian`
        return not ending.topics.isdisjoint(topics)
    if ending.is_stop and forbids:
        return False
    if about is None and SPACELESS_PATTERN.search(text):
        pieces, form = _find_pieces(text, own), phrase_form(ending.text)
        return sum(piece in form for piece in pieces) >= _ENOUGH * len(pieces) > 0
    mine, theirs, languages = _list_languages(text, ending.text)
    said = find_objects(ending.text, salient_words(ending.text, theirs), ending.phrases)
    words, only = (find_objects(each, salient_words(each, mine), own) for each in (text, about or ""))
    words = only or words
    # `allergic` and `allergy` are forms of one word, but not the same statement about oneself
    alike = _is_alike if about is None or only else lambda word, other, *_: word == other
    shared = [word for word in words if any(alike(word, other, languages, ending.phrases) for other in said)]
    if ending.is_stop and any(
        not any(alike(word, part, languages, ending.phrases) for word in words) for part in _narrow(ending, theirs)
    ):
        return False
    is_exact = not set(topics) <= {"name", "form", "voice", "person", "tense"}
    is_part = about is None and not is_exact and not ending.begins  # it may name a part of the wish
    count = min(len(words), len(said)) if is_part else len(words)
    return bool(shared) and len(shared) >= (_MOST if is_exact or only else _ENOUGH) * count


def _is_partly(ending: Instruction, topics: Collection[str]) -> bool:
    return not ending.topics.isdisjoint(topics) and not ending.topics >= set(topics)


def is_narrower(permit: Instruction, text: str, topics: Collection[str] = ()) -> bool:
    """Return whether a sentence allows less than an instruction forbids: `you can spoil Dune`, after `no spoilers`.

    Also true: `emojis are fine` after `be brief, no emojis`; `I eat fish again` after `no meat`. Not true: `I eat fish
    again` after `I'm vegetarian`, which names no food.
    """
    if _is_partly(permit, topics):
        return True
    own, said = permit.find_phrases(text) or permit.phrases, cut_health(permit.text, permit.phrases)
    about, known = cut_health(text, own), (*own, *permit.phrases)
    if "pregnancy" in permit.topics or holds_word(text, MEDICAL, own) or not find_values(text, ("stays",), own):
        return False
    mine, theirs, languages = _list_languages(text, permit.text)
    is_spaceless = SPACELESS_PATTERN.search(text) is not None
    if about is not None and not (_find_nouns(about, own) if is_spaceless else salient_words(about, mine)):
        return False
    if said is None and not permit.is_permit and (about or not find_values(permit.text, ("permits",), permit.phrases)):
        return False
    if is_spaceless:  # `你可以剧透沙丘`, after `不要剧透`
        return not _find_nouns(said or permit.text, known).issubset(phrase_form(text))
    rest = permit.text if said is None else cut_health(permit.text, permit.phrases, _ENDINGS) or ""
    held, kept = find_objects(text, salient_words(text, mine), own), salient_words(rest, theirs)
    frame = word_runs(fold(" ".join(find_values(permit.text, _FRAME, permit.phrases))))
    ands = "|".join(rf"\b{each}\b" for phrases in permit.phrases[:1] for each in phrases["ands"])
    clauses = []
    for clause in re.split(f"[,;–—]|{ands or ','}", mask_time(permit.text, theirs)):
        words = [word for word in salient_words(clause, theirs) if word in kept and word not in frame]
        shared = [word for word in words if any(_is_alike(word, other, languages, known) for other in held)]
        clauses.append((len(shared), shared != words))
    return max(clauses)[1]


def _find_nouns(text: str, known: Sequence[Phrases]) -> set[str]:
    """Return the characters of the nouns of a text in a script without spaces; a verb ends with hiragana."""
    stopped = {word for language in likely_languages(text) for word in stop_words(language) if len(word) > 1}
    form = _leave_vague(text, known, (*find_values(text, ("adverbs",), known), *stopped))
    return set("".join(re.findall(r"[^\W\dぁ-ゟ]+(?![ぁ-ゟ])", form)))


def _says_more(ending: Instruction, text: str, own: Sequence[Phrases]) -> bool:
    """Return whether a sentence must not cancel an instruction on health: it has another subject, or sounds unsure.

    `Peanuts are fine again` may be about the shop; `I can eat nuts again, if the doctor agrees` is unsure.
    """
    rest = cut_health(ending.text, ending.phrases, _ENDINGS)
    if rest is None or not holds_word(text, MEDICAL, own):
        return rest is None
    if holds_word(ending.text, DOUBTS, ending.phrases):
        return True
    mine, theirs, languages = _list_languages(text, ending.text)
    held, more = salient_words(text, mine), salient_words(mask_time(rest, theirs), theirs)
    more = [word for word in more if not holds_word(word, "vague", ending.phrases)]
    return not SPACELESS_PATTERN.search(text) and any(
        not any(_is_alike(word, other, languages, ending.phrases) for other in held) for word in more
    )


def _list_languages(text: str, other: str) -> tuple[Sequence[str], Sequence[str], Sequence[str]]:
    """Return the likely languages of `text`, of `other`, and of both: English `not` is no form of Dutch `noten`."""
    joined = likely_languages(f"{text} {other}", ("en",))
    mine, theirs = (likely_languages(each, (*joined, "en")) for each in (text, other))
    return mine, theirs, [language for language in mine if language in theirs]


def _names_illness(said: str, text: str, own: Sequence[Phrases]) -> bool:
    """Return whether `said` names the thing or illness in instruction `text`: `花生` in `我对花生过敏`, or `糖尿病`."""
    illness = find_values(text, (MEDICAL,), own)
    stopped = {word for language in likely_languages(text) for word in stop_words(language) if word in text}
    pieces = _find_pieces(text, own, (*illness, *stopped)) or illness
    # `ナッツ` is not in `ピーナッツ`, but in `ナッツアレルギー`
    form = re.sub("|".join(map(re.escape, illness)), r" \g<0> ", phrase_form(said))
    return all(re.search(rf"(?<![ァ-ヺー]){re.escape(piece)}(?![ァ-ヺー])", form) for piece in pieces)


def _find_pieces(text: str, known: Sequence[Phrases], more: Sequence[str] = ()) -> list[str]:
    """Return a text's parts without hiragana (verb endings), vague words and `more` words: `剧透` of `别剧透`."""
    left = _leave_vague(text, known, more)
    return re.findall(r"[^\Wぁ-ゟ]+", left) or re.findall(r"\w+", left)


def _leave_vague(text: str, known: Sequence[Phrases], more: Collection[str]) -> str:
    vague = sorted({*find_values(text, ("vague",), known), *more}, key=len, reverse=True)
    return re.sub("|".join(map(re.escape, vague)) or "(?!)", " ", phrase_form(text))


def _narrow(ending: Instruction, languages: Sequence[str]) -> list[str]:
    """Return the word that limits a sentence that stops something: `mother` in `stop joking about my mother`; or []."""
    form = fold(ending.text)
    rests = [form.partition(f" {word} ")[2] for each in ending.phrases for word in each["narrows"]]
    return salient_words(max(rests, key=len, default=""), languages)[:1]


def _is_named(instruction: Instruction, text: str, share: float) -> bool:
    """Return whether `instruction` has more than `share` of the name's words in `text`; Mr Smith is not Mr Jones."""
    languages = likely_languages(text)
    said, words = (find_name(each, instruction.phrases) for each in (instruction.text, text))
    salient = salient_words(text, languages)
    words = [word for word in words if len(word) <= 2 or word in salient] or words  # many names have two letters
    forms = {stem(word, languages) if len(word) > _STEM_CHARS else word for word in said}  # Luca is not Luce
    named = [word for word in words if not forms.isdisjoint((word, stem(word, languages)))]
    return len(named) > share * len(words)


def is_other_name(instruction: Instruction, text: str, topics: Collection[str]) -> bool:
    """Return whether an instruction such as `From now on Al instead of Jo` replaces the name that `text` asks for."""
    said = " ".join(word_runs(fold(instruction.text)))
    name = " ".join(find_name(text, instruction.phrases)) if "name" in topics else ""
    words = [word for each in instruction.phrases for word in each["instead"]]
    written = re.search(rf"\b{re.escape(name)}\b", text, re.IGNORECASE)
    if written is not None and written.group() not in instruction.text and not instruction.text.islower():
        return False  # basil is not Basil
    return bool(name) and any(f" {word} {name} " in f" {said} " for word in words)


def _is_alike(word: str, other: str, languages: Sequence[str], known: Sequence[Phrases]) -> bool:
    """Return whether two words are equal, synonyms, or forms of one word, such as `call` and `calling`."""
    shared = max(_STEM_CHARS, len(word) - _ENDING_CHARS, len(other) - _ENDING_CHARS)
    return (
        word[:shared] == other[:shared]
        or are_synonyms((word, other), known)
        or bool(find_forms(word, languages, lambda start: [other] if other.startswith(start) else []))
    )


def choose_holding(topics: Sequence[Collection[str]]) -> list[int]:
    """Return, in order, the positions of the instructions that no newer instruction replaces."""
    newest = {frozenset(own): at for at, own in enumerate(topics)}
    return [
        at
        for at, own in enumerate(topics)
        if not any(replaces(newer, own) for newer, later in newest.items() if later > at)
    ]
