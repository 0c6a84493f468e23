"""Read the reply of a model: drop thoughts, find the JSON object, and detect refusals and errors."""

import math
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from typing import Any, Literal

from ..base.patterns import lazy_pattern
from .folding import clean, strip_invisible
from .strict_json import make_strict
from .words import read_lists

MAX_DEPTH = 100
MAX_DIGITS = 4000
"""Maximum number of digits of an integer that is read; Python refuses more than 4,300."""
MAX_CHARS = 1_000_000

Fits = Callable[[dict[str, Any]], bool]

_FENCE = "```"
_FENCED = lazy_pattern(r"`{3,}[ \t]*[\w.+#-]*(.*?)(?:```|\Z)", re.DOTALL)
_LIST = lazy_pattern(r'\[\s*+[\[{"\]]')


def is_unreadable(text: str) -> bool:
    """Return whether a text is not an answer in words: too long, or an object, list or code fence."""
    return len(text) > MAX_CHARS or text.startswith(("{", _FENCE)) or bool(_LIST.match(text))


def read_object(reply: str, keys: Collection[str], *, fits: Fits | None = None) -> dict[str, Any] | None:
    """Return the first JSON object of a reply with one of the keys, in any fence or prose; None if there is none."""
    if len(reply) > MAX_CHARS:
        return None
    text = strip_thoughts(reply)
    fenced = _FENCED.search(text)
    with suppress(RecursionError):  # brackets nested more than MAX_DEPTH deep
        for part in (fenced[1].strip() if fenced else "", text):
            for value in _iter_objects(part):
                if not value.keys().isdisjoint(keys):
                    plain: dict[str, Any] = make_strict(value)[0]
                    if fits is None or fits(plain):
                        return plain
    return None


def _iter_inside(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _iter_inside(each)


# Objects in JSON or almost JSON: trailing commas, single quotes, NaN, comments, bare words, cut off

MAX_KEY_CHARS = 200
"""Maximum number of characters of a key; a longer one is prose after a brace."""

_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’", "`": "`"}
# Groups are not possessive: in Python before 3.11.5 they lose the last match of a repetition.
_BETWEEN = lazy_pattern(r"(?:[\s,，]++|//[^\n]*+|\#[^\n]*+|/\*(?:[^*]++|\*(?!/))*(?:\*/)?)*")
_COLON = lazy_pattern(r"\s*+[:：]")
_BARE_KEY = lazy_pattern(r"[\w$-]{1,200}+")
_BARE_VALUE = lazy_pattern(r"(?:[^,，}\]\n/#]++|(?<!\s)[/#]|/(?![/*])|\#(?=\S))*")
_SPACES = lazy_pattern(r"\s*+")
_NUMBER = lazy_pattern(r"[-+]?\d++(?:\.\d*+)?(?:[eE][-+]?\d++)?\Z")
# What follows the quote that ends a value: the end, a closing bracket, a comment, or a comma and the beginning of a
# member or item; the comma may be missing before a line or a name. Any other quote is part of the text.
_OVER = r"\s*+(?:[}\]]|\Z|//|/\*)|\s++\#\s|[ \t\r]*+\n\s*+[\"'“‘`]"
_NEXT_MEMBER = r"[\"'“‘`}\]{\[]|[\w$-]{1,200}+\s*+[:：]|//|/\*|\#|\Z"
_NEXT_ITEM = r"[\"'“‘`}\]{\[\d-]|(?i:true|false|null|none|nan|infinity)\b|//|/\*|\#|\Z"
_ENDS_MEMBER = lazy_pattern(rf"{_OVER}|\s*+[,，]\s*+(?:{_NEXT_MEMBER})|\s*+[\"'“‘][\w $-]{{1,60}}+[\"'”’]\s*+[:：]")
_ENDS_ITEM = lazy_pattern(rf"{_OVER}|\s*+[,，]\s*+(?:{_NEXT_ITEM})")
_ESCAPE = lazy_pattern(r"((?:\\u[0-9a-fA-F]{4})+)|\\(?:(.)|\Z)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None, "none": None, "undefined": None}
_WORDS |= dict.fromkeys(("nan", "infinity", "-infinity", "+infinity", "inf", "-inf"))
_NOTHING = object()


def _iter_objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the readable part of each object in the text, outer objects before inner objects."""
    at = text.find("{")
    while at >= 0:
        reader = _Reader(text, at)
        yield from _iter_inside(reader.container(1))
        at = text.find("{", reader.at)


class _Reader:
    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.at = at

    def skip(self, pattern: re.Pattern[str]) -> str:
        """Move past a match of the pattern at this position, and return it; "" without a match."""
        match = pattern.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return match.group() if match else ""

    def next(self) -> str:
        """Return the next character that is not a space, comma or comment; "" at the end."""
        self.skip(_BETWEEN)
        return self.text[self.at : self.at + 1]

    def container(self, depth: int) -> Any:
        """Return the object or list that begins at this position, up to its bracket or the other kind of bracket."""
        is_object = self.text[self.at] == "{"
        closing, other, ends = ("}", "]", _ENDS_MEMBER) if is_object else ("]", "}", _ENDS_ITEM)
        self.at += 1
        found: list[tuple[str, Any]] = []
        while (char := self.next()) and char != other:
            if char == closing:
                self.at += 1
                break
            start = self.at
            key = self.key(char) if is_object else ""
            if key is None:
                self.at = start
                break
            value = self.value(depth, ends)
            if value is not _NOTHING:
                found.append((key, value))
            if self.at == start:
                break
        return dict(found) if is_object else [value for _, value in found]

    def key(self, char: str) -> str | None:
        """Return the name of a member and move past its colon; None if no member begins here."""
        if (quote := _QUOTES.get(char)) is None:
            if not (name := self.skip(_BARE_KEY)):
                return None
        else:
            end = self.text.find(quote, self.at + 1, self.at + MAX_KEY_CHARS + 2)
            while end >= 0 and _is_escaped(self.text, end, self.at + 1):
                end = self.text.find(quote, end + 1, self.at + MAX_KEY_CHARS + 2)
            if end < 0:
                return None
            name, self.at = _unescaped(self.text[self.at + 1 : end]), end + 1
        return name if self.skip(_COLON) else None

    def value(self, depth: int, ends: re.Pattern[str]) -> Any:
        self.skip(_SPACES)
        if self.text[self.at : self.at + 1] in ("/", "#"):
            self.next()
        char = self.text[self.at : self.at + 1]
        if char in ("{", "["):
            if depth == MAX_DEPTH:
                raise RecursionError
            return self.container(depth + 1)
        return self.quoted(_QUOTES[char], ends) if char in _QUOTES else self.bare()

    def quoted(self, quote: str, ends: re.Pattern[str]) -> str:
        """Return a text up to the quote that ends it; without one, up to the end."""
        text, start = self.text, self.at + 1
        at = start
        while (at := text.find(quote, at)) >= 0:
            if not _is_escaped(text, at, start) and ends.match(text, at + 1):
                self.at = at + 1
                return _unescaped(text[start:at])
            at += 1
        self.at = len(text)
        return _unescaped(text[start:].rstrip(" \t\r\n`]}"))

    def bare(self) -> Any:
        """Return a number, a word such as true, or the words up to the next comma, bracket or line end."""
        if not (said := self.skip(_BARE_VALUE).strip()):
            return _NOTHING
        if said.lower() in _WORDS:
            return _WORDS[said.lower()]
        if not _NUMBER.match(said):
            return said
        if said.lstrip("+-").isdecimal():
            return int(said) if len(said) <= MAX_DIGITS else None
        number = float(said)
        return number if math.isfinite(number) else None


def _is_escaped(text: str, at: int, start: int) -> bool:
    first = at
    while first > start and text[first - 1] == "\\":
        first -= 1
    return (at - first) % 2 == 1


def _unescaped(raw: str) -> str:
    return _ESCAPE.sub(_character, raw) if "\\" in raw else raw


def _character(match: re.Match[str]) -> str:
    if match.group(1):  # two escapes may be one character
        return bytes.fromhex(match.group(1).replace("\\u", "")).decode("utf-16-be", "surrogatepass")
    said = match.group(2) or ""
    return _ESCAPED.get(said, said)


# Thoughts of a model in its reply

_TAG = lazy_pattern(
    r"(?<![^`]`)(?<!\A`)(?:<(/?)((?:[a-z]+:)?(?:think|thinking|thought|reasoning))(?:\s[^<>]{0,200})?(/?)>"
    r"|◁(/?)think▷"
    r"|\[(/?)THINK\])",
    re.IGNORECASE,
)
"""Tag around thoughts; a tag right after a single backtick is quoted and does not count."""
_OPENING = lazy_pattern(
    r"\s*(?P<left>[<\[{◁【]{1,2}\|?)(?P<begin>(?:begin|start)(?:_of)?_)?(?P<name>[^\W\d][\w:.-]{1,40})(?P<right>\|?[>\]}▷】]{1,2})",
    re.IGNORECASE,
)
"""Tag at the beginning of a reply, with any name: `<plan>`, `<|plan|>`, `<|begin_of_plan|>`, `[PLAN]`."""
_THOUGHT = lazy_pattern(r"\W*(?:\w+\W)?\W*(?:start_|begin_of_)?(?:think|thought|reason|analy)", re.IGNORECASE)
_SPECIAL = lazy_pattern(r"(?:<\|\w+\|>\s*)+")
"""Special tokens of a model's template, which may surround a reply."""
_DETAILS = lazy_pattern(
    r"<details\s[^<>]{0,500}\btype=\"(?:reasoning|tool_calls|code_interpreter)\"[^<>]{0,500}>", re.IGNORECASE
)
_DETAILS_END = "</details>"
"""End of the element in which Open WebUI folds thoughts and tool calls in an answer."""
_CHANNEL = lazy_pattern(
    r"(?:(?:<\|start\|>\s*assistant)?<\|channel\|>|\A)(?:analysis|commentary)[^<]{0,200}(?:<\|constrain\|>\w*)?<\|message\|>"
    r".*?(?:<\|(?:end|call|return)\|>|(?=<\|(?:start|channel)\|>)|\Z)"
    r"|(?:<\|start\|>\s*assistant)?<\|channel\|>final[^<]{0,200}<\|message\|>|<\|(?:end|return)\|>",
    re.DOTALL,
)
"""Channels of gpt-oss from servers that do not separate them: thoughts, and the tokens around the answer."""
_BARE_CHANNEL = lazy_pattern(r"\s*(?:assistant)?(?:analysis|commentary)(?=\S)|\s*assistantanalysis")
_BARE_FINAL = "assistantfinal"
"""Word that comes before the answer on servers that drop special tokens."""


def strip_thoughts(reply: str) -> str:
    """Return a model's reply without its thoughts, trimmed.

    A tag without a closing tag hides the rest only at the beginning of the reply. A closing tag alone ends thoughts
    that began before the reply. A pair of unknown tags at the beginning counts as thoughts if it contains prose and
    words follow.
    """
    reply = _strip_details(_strip_channels(reply))
    begin = 0
    while (behind := _find_behind_marks(reply, begin)) is not None:
        begin = behind
    reply = reply[begin:]
    said: list[str] = []
    inside, opened_at, end = "", 0, 0
    tags = [(tag, (tag[2] or tag[0].strip("<>◁▷[]/")).lower()) for tag in _TAG.finditer(reply)]
    ends = [at for at, (tag, _) in enumerate(tags) if tag[1] or tag[4] or tag[5]]
    last = {tags[at][1]: at for at in ends}
    for number, (tag, name) in enumerate(tags):
        closes, alone = bool(tag[1] or tag[4] or tag[5]), bool(tag[3])
        if inside:
            if closes and name == inside:
                inside, end = "", tag.end()
            continue
        if not closes:
            said.append(reply[end : tag.start()])
            later = bisect_right(ends, number)
            is_named = last.get(name, -1) > number or later == len(ends)
            inside = "" if alone else name if is_named else tags[ends[later]][1]
            opened_at = tag.start()
        end = tag.end()
    if inside and reply[:opened_at].strip():
        said.append(reply[opened_at:])
    elif not inside:
        said.append(reply[end:])
    words = "".join(said).strip()
    outside = _SPECIAL.sub(lambda run: run[0] if run.start() > 0 and run.end() < len(words) else "", words)
    return outside.strip() or words


def _strip_channels(reply: str) -> str:
    if "<|message|>" in reply:
        return _CHANNEL.sub("", reply)
    if _BARE_CHANNEL.match(reply) and (_BARE_FINAL in reply or reply.lstrip().startswith("assistant")):
        return reply.rpartition(_BARE_FINAL)[2] if _BARE_FINAL in reply else ""
    return reply


def _find_behind_marks(reply: str, begin: int) -> int | None:
    """Return the position after a pair of tags with thoughts that begins at `begin`; None if no pair begins there."""
    opening = _OPENING.match(reply, begin)
    if opening is None or re.fullmatch(read_lists("lines")["no_thoughts"], opening["name"], re.IGNORECASE):
        return None
    left, right, name = opening["left"], opening["right"], re.escape(opening["name"])
    closing = rf"{re.escape(left)}(?:/|(?:end|stop)(?:_of)?_){name}{re.escape(right)}"
    if left == "<|" and right == ">":
        closing = rf"<{name}\|>"
    if left.startswith("<|"):
        closing = rf"{closing}|</\|?{name}\|?>"
    end = re.compile(closing, re.IGNORECASE).search(reply, opening.end())
    is_thought = _THOUGHT.match(reply, begin) is not None
    if end is None:
        return len(reply) if is_thought and "|" in left else None
    is_prose = not reply[opening.end() : end.start()].lstrip().startswith(("{", "[", "<", _FENCE))
    has_words = _SPACES.match(reply, end.end()).end() < len(reply)  # type: ignore[union-attr]  # it always matches
    return end.end() if is_thought or (is_prose and has_words) else None


def _strip_details(reply: str) -> str:
    said: list[str] = []
    end = 0
    for tag in _DETAILS.finditer(reply):
        if tag.start() < end:
            continue
        closing = reply.find(_DETAILS_END, tag.end())
        if closing < 0:
            break
        said.append(reply[end : tag.start()])
        end = closing + len(_DETAILS_END)
    return "".join(said) + (reply[end:].lstrip() if end else reply)


# New texts that must not replace a good one: blank, an error, or far too short

LONG_ENOUGH_CHARS = 200
"""Minimum number of characters of a current text that a much shorter one must not replace."""
MIN_RATIO = 0.3
"""Minimum length of a new text as a share of the current one; a shorter text has probably lost content."""
LOOKED_AT_CHARS = 2000
"""Maximum number of characters of a text searched for errors and refusals, which come at the beginning."""

Refusal = Literal["", "empty", "error_like", "shorter"]

_MARKS = lazy_pattern(r"[\s*_#>\"“”«»‘`~•|()\-–—❌⚠️⛔🚫❗]+")


def judge_refusal(new: str, current: str, *, patterns: Sequence[str]) -> Refusal:
    """Return the reason why a new text must not replace the current one; "" if it may."""
    if not strip_invisible(clean(new)):
        return "empty"
    head = beginning(new)
    if any(re.match(pattern, head, re.IGNORECASE) for pattern in patterns):
        return "error_like"
    had = len(current.strip())
    if had >= LONG_ENOUGH_CHARS and len(new.strip()) < round(MIN_RATIO * had, 6):
        return "shorter"
    return ""


def beginning(text: str) -> str:
    """Return the beginning of a text for patterns: leading punctuation removed, one kind of space and apostrophe."""
    known = unicodedata.normalize("NFKC", clean(text[: 2 * LOOKED_AT_CHARS])).replace("’", "'").replace("＇", "'")
    marks = _MARKS.match(known)
    return re.sub(r"\s+", " ", known[marks.end() if marks else 0 :])[:LOOKED_AT_CHARS].strip()
