"""Extracts of messages, made of chosen sentences and words, for hosts without a model."""

import math
import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ..base.patterns import lazy_pattern
from .folding import SPACELESS, clean, fold, normalize, runs
from .languages import read_language
from .words import small_words, stop_words, words

FEWEST_WORDS = 3
"""Minimum number of words of a sentence for an extract if all of them are stop words."""
AGAIN = 0.3
"""Factor for the rarity of a word that an already chosen sentence contains."""
_PERSONAL, _TELLS, _ASKS, _ONE_WORD = 1.35, 1.15, 0.5, 0.3
"""Score factors of a sentence: in the first person, with a number or name, as a question, of a single word."""

_WIDE = "。！？｡"
_CLOSING = "\"'”’»›)\\]}」』）】"
_STOP = lazy_pattern(
    rf"[{_WIDE}]+[{_CLOSING}]*"  # written without a space behind
    rf"|[.!?…؟۔।॥።]+[{_CLOSING}*_~]*(?=\s|\Z|[{SPACELESS}])"
    r"|\n+"
)
_SENTENCE_END = lazy_pattern(r"(?<=[.!?…。！？])(?=\s)|(?<=[。！？])|(?<=\n)")
_SHORTENED = lazy_pattern(
    r"(?:^|[\s(\"'“„])(?:[^\W\d_]|mrs?|ms|dr|prof|st|jr|sr|vs|no|nr|fig|ca|bzw|mme|sra?|dept|approx|\d{1,3}"
    r"|(?:[^\W\d_]\.)+[^\W\d_])\.\Z",
    re.IGNORECASE,
)
_LOOK_BACK = 12
_LEADING = lazy_pattern(r"(?:[-*•>#|]+\s+)+")
_TRAILING = " \t,;:-–—/|*_~"
_ENDED = lazy_pattern(rf"[.!?…؟۔।॥።{_WIDE}][{_CLOSING}*_~]*\Z")
_NAME_OR_NUMBER = lazy_pattern(r"\d|(?<=[^\W\d_] )[^\W\d_a-zà-ÿа-я]\w")
_QUESTION = lazy_pattern(rf"[?？؟][{_CLOSING}!.]*\Z|(?:吗|嗎|呢|か|かな|ไหม|มั้ย)[。.]*\Z")
_FIRST_PERSON_INSIDE = lazy_pattern("私|僕|俺|わたし|うちの|我|咱|ฉัน|ผม|ดิฉัน|หนู|เรา")
_QUOTES = (('"', '"'), ("“", "”"), ("«", "»"), ("「", "」"), ("『", "』"))
_HAN = lazy_pattern("[\u3040-\u30ff\u3400-\u9fff]")
_THAI = lazy_pattern("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")  # these scripts have no full stop


@dataclass(frozen=True, slots=True)
class _Sentence:
    text: str
    speaker: str
    words: frozenset[str]
    worth: float
    """Score factor of the sentence: the rarity of each of its words is multiplied by this number."""

    @property
    def named(self) -> str:
        return f"{self.speaker}: {self.text}" if self.speaker else self.text


def build_extract(
    texts: Sequence[str], *, speakers: Sequence[str] = (), most_sentences: int = 3, most_chars: int = 600
) -> str:
    """Return the most informative sentences, in the order they were said; "" if no sentence is useful."""
    useful = _useful(texts, speakers)
    counts = Counter(word for each in useful for word in each.words)
    rarity = {word: math.log1p(len(useful) / rows) for word, rows in counts.items()}
    chosen: list[int] = []
    room, said = most_chars, set[str]()

    def score(at: int) -> tuple[float, int]:
        told = sum(rarity[word] * (AGAIN if word in said else 1.0) for word in sorted(useful[at].words))
        return round(useful[at].worth * told / math.sqrt(len(useful[at].words) + 2), 9), -at

    while len(chosen) < most_sentences:
        left = (at for at in range(len(useful)) if at not in chosen)
        fitting = [at for at in left if len(useful[at].named) + bool(chosen) <= room]
        if not fitting:
            break
        best = max(fitting, key=score)
        room -= len(useful[best].named) + bool(chosen)
        chosen.append(best)
        said |= useful[best].words
    if not chosen and useful and most_sentences > 0:
        return _cut(useful[max(range(len(useful)), key=score)].named, most_chars)
    extract, before = "", ""
    for sentence in (useful[at] for at in sorted(chosen)):
        extract += " " if extract and extract[-1] not in _WIDE else ""
        extract += sentence.text if sentence.speaker == before else sentence.named
        before = sentence.speaker
    return extract


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text, trimmed, each on one line, with their final punctuation."""
    start = 0
    known = clean(text)
    for stop in _STOP.finditer(known):
        before = known[max(start, stop.end() - _LOOK_BACK) : stop.end()]
        if stop.group() == "." and _SHORTENED.search(before):
            continue
        yield from _one_line(known[start : stop.end()])
        start = stop.end()
    yield from _one_line(known[start:])


def _one_line(text: str) -> Iterator[str]:
    line = " ".join(text.replace("**", "").split())
    marks = _LEADING.match(line)
    if line and (marks is None or marks.end() < len(line)):
        yield line[marks.end() :] if marks else line


def _paired(sentence: str) -> str:
    """Return the sentence with an unpaired quotation mark removed at its ends, or closed if it is inside."""
    for opening, closing in _QUOTES:
        opened = sentence.count(opening) - (0 if opening == closing else sentence.count(closing))
        if (opened % 2 == 0) if opening == closing else (opened == 0):
            continue
        if sentence.startswith(opening) and (opening == closing or opened > 0):
            return sentence[1:].lstrip()
        if sentence.endswith(closing) and (opening == closing or opened < 0):
            return sentence[:-1].rstrip()
        if re.search(rf"(?<=\s){re.escape(opening)}(?=\w)[^{opening}{closing}]*\Z", sentence):
            return sentence + closing
    return sentence


def _ended(sentence: str) -> str:
    """Add a full stop to a sentence without final punctuation, so that another sentence can follow."""
    if _ENDED.search(sentence):
        return sentence
    bare = sentence.rstrip(_TRAILING)
    if not bare or unicodedata.category(bare[-1])[0] not in "LNM" or _THAI.search(bare[-1]):
        return bare
    return bare + ("。" if _HAN.search(bare[-1]) else ".")


def _useful(texts: Sequence[str], speakers: Sequence[str]) -> list[_Sentence]:
    said: dict[str, tuple[str, str]] = {}
    for at, text in enumerate(texts):
        speaker = " ".join(speakers[at].split()) if speakers else ""
        for sentence in sentences(text):
            said.setdefault(" ".join(run for run, _ in runs(fold(sentence))), (_ended(_paired(sentence)), speaker))
    stops = _stops([text for text, _ in said.values()])
    useful = []
    for text, speaker in said.values():
        salient = frozenset(words(text)) - stops
        asks = _QUESTION.search(text) is not None
        all_runs = list(runs(text))
        if not salient and (asks or len(all_runs) < FEWEST_WORDS):
            continue
        tokens = (token.strip('.,!?…;:()"“”') for token in fold(text).split())
        is_personal = not small_words("first_person").isdisjoint(tokens) or _FIRST_PERSON_INSIDE.search(text)
        worth = _ASKS if asks else 1.0
        worth *= _ONE_WORD if len(all_runs) == 1 and not all_runs[0][1] else 1.0
        worth *= _PERSONAL if is_personal else 1.0
        worth *= _TELLS if _NAME_OR_NUMBER.search(text) else 1.0
        useful.append(_Sentence(text, speaker, salient, worth))
    return useful


def _stops(texts: Sequence[str]) -> frozenset[str]:
    language, _ = read_language(" ".join(texts))
    return stop_words("en") | (stop_words(language) if language not in ("", "en") else frozenset())


def _cut(text: str, most_chars: int) -> str:
    if most_chars < 1:
        return ""
    kept = text[: most_chars - 1]
    space = kept.rfind(" ")
    if space > len(kept) // 2 and not text[len(kept) : len(kept) + 1].isspace():
        kept = kept[:space]
    return kept.rstrip(_TRAILING + ".") + "…"


def rarest_words(texts: Sequence[str], among: Sequence[str], most: int = 8) -> list[str]:
    """Return, in text order, the `most` words of `texts` that are rarest in `among`; they serve as a title."""
    text = normalize(clean("\n".join(texts)))
    stops = _stops(texts)
    rows = Counter(word for other in among for word in words(other))
    salient = [word for word in words(text) if word not in stops]
    left = set(sorted(salient, key=lambda word: rows[word])[: max(most, 0)])
    return [spelling for run, spaceless in runs(text) for spelling in _spell(run, spaceless, left)]


def _spell(run: str, spaceless: bool, left: set[str]) -> Iterator[str]:
    """Yield, in their original spelling, the words of a text run that are in `left`; adjacent pairs are joined."""
    if not spaceless:
        if not left.isdisjoint(keys := words(run)[:1]):
            left.difference_update(keys)
            yield run.strip("_")
        return
    piece, end = "", 0
    for at in range(max(len(run) - 1, 1)):
        pair = run[at : at + 2]
        if fold(pair) not in left:
            continue
        left.discard(fold(pair))
        if piece and at > end:
            yield piece
            piece = ""
        piece += run[max(at, end) if piece else at : at + 2]
        end = at + 2
    if piece:
        yield piece


def fit_text(text: str, fits: Callable[[str], bool]) -> tuple[str, int]:
    """Drop sentences at the beginning of a text until it `fits`; return the rest, maybe "", and the number dropped."""
    if not text or fits(text):
        return text, 0
    sentences = [part for part in _SENTENCE_END.split(text) if part]
    places = range(1, len(sentences))
    first = 1 + bisect_left(places, True, key=lambda at: fits("".join(sentences[at:]).strip()))
    return "".join(sentences[first:]).strip(), sum(1 for each in sentences[:first] if each.strip())
