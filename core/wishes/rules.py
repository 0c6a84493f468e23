"""What people wish once and for all: `always answer in metric units`, `call me Jo`, `I am vegetarian`.

Called by the doors that store what was said. A wish is recognised by patterns of its language, whose words come in
(`wishes.phrases` reads them); to be right where one is found matters more than to find every one. Nothing is
a wish that is asked, quoted, reported, imagined, or said of somebody else.

A wish has a topic. A newer wish of the same person about the same topic takes the older one's place.

| kind | topic |
|---|---|
| name, pronouns, diet, address | the kind |
| abstain, allergy, access | the kind and what: `diet:pork`, `allergy:nuts` |
| instruction, preference | `units`, `language`, `emoji`, `length` ...; else the kind and what its words are |
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..text.folding import clean
from ..text.languages import common_words, language_of
from .rules_patterns import WITHOUT_SPACES, Tokens, WishWords, tokens_of

MOST_CHARS = 4_000
"""A longer text is something pasted; nobody wishes at such length."""
SENTENCE_CHARS = 300
"""Longest wish."""
MOST_WISHES = 5
"""Most wishes taken from one message."""
TOPIC_CHARS = 80

Kind = str
"""name, pronouns, address, diet, abstain, allergy, access, instruction, preference."""

_CODE = re.compile(r"```.*?(?:```|\Z)|^[ \t]*>[^\n]*$", re.DOTALL | re.MULTILINE)
_SPACELESS = re.compile("[\u3040-\u30ff\u4e00-\u9fff\u0e00-\u0e7f]")
_QUOTED_NAME = 6
"""Characters of a name that is quoted in a script without spaces; what is longer is a sentence."""
_QUOTED = re.compile('["“„«»”‟「『]([^"“„«»”‟「」『』\n]{0,400})["”“»«‟」』]')
_SENTENCE = re.compile("[^.!?…。！？;；\n]+[.!?…。！？;；\n]*")
_CLAUSE = re.compile("[,，:：()（）–—]| - ")
_ASKS = re.compile("[?？][!?！？\\s]*$")
_MENTION = re.compile(r"^((?:[^\W\d_]{1,12}[,!]? ){0,2})(?:(?:<@[!&]?\w+>|@[\w.\-]+)[\s,:]*)+")
"""Whom a message is addressed to, at its beginning or after a greeting."""
_MOST_PIECES = 12
_MOST_SENTENCES = 40
_MOST_LEADS = 4


@dataclass(frozen=True, slots=True)
class Wish:
    """One wish."""

    text: str
    """The sentence that holds it, as said."""
    topic: str
    """What it is about; at most TOPIC_CHARS characters."""
    kind: Kind


@dataclass(frozen=True, slots=True)
class _Sentence:
    text: str
    asks: bool
    clauses: tuple[str, ...] = field(default=())
    _tokens: dict[bool, Tokens] = field(default_factory=dict, compare=False, repr=False)
    _parts: list[tuple[Tokens, bool]] = field(default_factory=list, compare=False, repr=False)

    def tokens(self, spaced: bool) -> Tokens:
        """Return the words or characters of the whole, worked out once for all languages."""
        made = self._tokens.get(spaced)
        if made is None:
            made = self._tokens[spaced] = tokens_of(self.text, spaced)
        return made

    def parts(self) -> list[tuple[Tokens, bool]]:
        """Return the words of the whole, of what is left from each clause on, and of each clause, worked out once for
        all languages; each with whether it reaches to the end."""
        if not self._parts:
            self._parts.append((self.tokens(True), True))
            if len(self.clauses) > 1:
                rest = (" ".join(self.clauses[at:]) for at in range(1, len(self.clauses)))
                self._parts.extend((tokens_of(text, True), True) for text in rest)
            last = len(self.clauses) - 1
            self._parts.extend((tokens_of(text, True), at == last) for at, text in enumerate(self.clauses))
        return self._parts


def find_wishes(text: str, words: Mapping[str, WishWords]) -> list[Wish]:
    """Return the wishes of a message, in the order they are said, of several about one topic the last."""
    said = clean(text)
    if len(said) > MOST_CHARS or not words:
        return []
    found: dict[str, Wish] = {}
    for sentence in _sentences(said):
        wishes = next((made for of in words.values() if (made := _wishes_in(sentence, of))), [])
        if wishes and _is_ruled_out(sentence, next(iter(words.values()))):
            continue  # what its own language rules out is no wish for looking like one of another
        for wish in wishes[: MOST_WISHES - len(found)]:
            found.pop(wish.topic, None)
            found[wish.topic] = wish
        if len(found) >= MOST_WISHES:
            break
    return list(found.values())


def _is_ruled_out(sentence: _Sentence, words: WishWords) -> bool:
    return words.is_ruled_out(sentence.tokens(words.spaced).bare)


def _sentences(said: str) -> Iterator[_Sentence]:
    plain = _QUOTED.sub(_unquoted, _CODE.sub("\n", said))
    for at, match in enumerate(_SENTENCE.finditer(plain)):
        if at >= _MOST_SENTENCES:
            return
        text = _MENTION.sub(r"\1", match.group().strip())
        if text and len(text) <= SENTENCE_CHARS:
            clauses = tuple(part for part in _CLAUSE.split(text) if part.strip())
            yield _Sentence(text, bool(_ASKS.search(text)), clauses)


def _unquoted(match: re.Match[str]) -> str:
    """Return a quoted name without its marks; a quoted sentence is somebody's words, and goes."""
    inner = match.group(1)
    most = _QUOTED_NAME if _SPACELESS.search(inner) else 24
    return inner if len(inner.split()) <= 2 and len(inner) <= most else " … "


def _wishes_in(sentence: _Sentence, words: WishWords) -> list[Wish]:
    """Return the wishes of a sentence: what it is as a whole, or each of several that are strung together in it."""
    whole = _wish_in(sentence, words)
    if whole is None or not words.spaced:
        return [] if whole is None else [whole]
    subject, made = "", dict[str, Wish]()
    pieces = [piece for clause in sentence.clauses for piece in words.split(clause)]
    for at, piece in enumerate(pieces[:_MOST_PIECES]):
        asks = sentence.asks and at == len(pieces) - 1
        told = next(
            (
                wish
                for text in (piece, f"{subject} {piece}" if subject else "")
                if text and (wish := _wish_in(_Sentence(text, asks, (text,)), words)) is not None
            ),
            None,
        )
        if told is not None:
            made.setdefault(told.topic, Wish(sentence.text, told.topic, told.kind))
        subject = words.subject(tokens_of(piece, True), _MOST_LEADS) or subject
    return list(made.values()) if len(made) > 1 else [whole]


def _wish_in(sentence: _Sentence, words: WishWords) -> Wish | None:
    whole = sentence.tokens(words.spaced)
    patterns = words.patterns_in(whole.bare)
    if not patterns:
        return None
    for said, is_end in _readings(sentence, whole, words):
        # A question asks with its last clause: `I prefer trains, can you find one?` says something first.
        if sentence.asks and is_end and words.spaced and not words.begins_with("soft", said.bare):
            continue
        for known in patterns:
            if words.spaced and known.beginnings and said.bare[0] not in known.beginnings:
                continue
            found = known.pattern.match(said, words)
            if found is not None:
                # Asked last: of a hundred sentences one looks like a wish.
                if words.is_ruled_out(whole.bare):
                    return None
                return Wish(sentence.text, _choose_topic(known.kind, found, said, words), known.kind)
    return None


def _readings(sentence: _Sentence, whole: Tokens, words: WishWords) -> Iterator[tuple[Tokens, bool]]:
    """Yield what may be a wish, and whether it reaches to the end of the sentence."""
    if not words.spaced:
        yield whole, True
        return
    seen: set[tuple[str, ...]] = set()
    for tokens, is_end in sentence.parts():
        # What may lead up to a wish may also begin one: Spanish `no` is both.
        for said in words.leads(tokens, _MOST_LEADS):
            if said.bare and said.bare not in seen:
                seen.add(said.bare)
                yield said, is_end


def _choose_topic(kind: Kind, found: Mapping[str, tuple[str, ...]], said: Tokens, words: WishWords) -> str:
    if kind == "name":
        # What somebody is not to be called stands beside what they are called.
        negated = said.bare[:1] and words.begins_with("dont", said.bare)
        return _cut_topic(f"name:not {' '.join(found.get('name', ()))}") if negated else "name"
    if kind in ("pronouns", "diet", "address"):
        return kind
    if kind == "abstain":
        return _cut_topic(f"diet:{' '.join(found.get('food', ()))}")
    if kind in ("allergy", "access"):
        what = found.get("condition") or found.get("food") or found.get("*") or said.bare
        return _cut_topic(f"{kind}:{words.joined(what)}")
    for topic, phrases in words.topics.items():
        # What holds for one kind of question alone leaves what holds for all others as it is.
        if "ask" not in found and "here" not in found and any(words.holds(said.bare, phrase) for phrase in phrases):
            return topic
    return _cut_topic(f"{kind}:{words.joined(_keep_telling(said.bare, words))}")


def _keep_telling(tokens: Sequence[str], words: WishWords) -> list[str]:
    """Return the words a wish is about, without those that say always or never, in the order of the alphabet."""
    common = common_words(words.language) | words.unimportant
    kept = {token for token in tokens if token not in common and len(token) > 1} if words.spaced else None
    return sorted(kept or tokens) if kept is not None else list(tokens)


def build_topic(text: str) -> str:
    """Return the topic of a wish that no pattern knows: its words, in the order of the alphabet."""
    language = language_of(text)
    tokens = tokens_of(text, language not in WITHOUT_SPACES)
    kept = sorted({token for token in tokens.bare if token not in common_words(language)} or set(tokens.bare))
    return _cut_topic(f"instruction:{' '.join(kept)}")


def _cut_topic(topic: str) -> str:
    if len(topic) <= TOPIC_CHARS:
        return topic
    digest = hashlib.sha256(topic.encode("utf-8")).hexdigest()[:16]
    return f"{topic[: TOPIC_CHARS - 17]}:{digest}"


def choose_holding(topics: Sequence[str], most: int) -> list[int]:
    """Return the places of the wishes a prompt shows, in the order given: of each topic the last, of these
    the newest.
    """
    last = {topic: at for at, topic in enumerate(topics)}
    places = sorted(last.values())
    return places[len(places) - most :] if 0 < most < len(places) else places if most > 0 else []
