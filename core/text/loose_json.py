"""Objects that are nearly JSON: trailing commas, single quotes, NaN, comments, bare words, cut off."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

MAX_DEPTH = 100
"""Containers inside one another; deeper ones are refused."""
MAX_KEY_CHARS = 200
"""A longer key is taken for prose that happens to follow a brace."""
MAX_DIGITS = 4000
"""Python reads no longer whole numbers."""

_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’", "`": "`"}
_BETWEEN = re.compile(r"(?:[\s,，]++|//[^\n]*+|\#[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/)?)*+")
_COLON = re.compile(r"\s*+[:：]")
_BARE_KEY = re.compile(r"[\w$-]{1,200}+")
_BARE_VALUE = re.compile(r"(?:[^,，}\]\n/#]|(?<!\s)[/#]|/(?![/*])|\#(?=\S))*+")
_SPACES = re.compile(r"\s*+")
_NUMBER = re.compile(r"[-+]?\d++(?:\.\d*+)?(?:[eE][-+]?\d++)?\Z")
# What follows the quote that ends a value: the end, a closing bracket, a comment, or a comma and then what can begin a
# member or item; a comma may be missing before a line or a name. Any other quote belongs to the text.
_OVER = r"\s*+(?:[}\]]|\Z|//|/\*)|\s++\#\s|[ \t\r]*+\n\s*+[\"'“‘`]"
_NEXT_MEMBER = r"[\"'“‘`}\]{\[]|[\w$-]{1,200}+\s*+[:：]|//|/\*|\#|\Z"
_NEXT_ITEM = r"[\"'“‘`}\]{\[\d-]|(?i:true|false|null|none|nan|infinity)\b|//|/\*|\#|\Z"
_ENDS_MEMBER = re.compile(rf"{_OVER}|\s*+[,，]\s*+(?:{_NEXT_MEMBER})|\s*+[\"'“‘][\w $-]{{1,60}}+[\"'”’]\s*+[:：]")
_ENDS_ITEM = re.compile(rf"{_OVER}|\s*+[,，]\s*+(?:{_NEXT_ITEM})")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.)|\Z)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None, "none": None, "undefined": None}
_WORDS |= dict.fromkeys(("nan", "infinity", "-infinity", "+infinity", "inf", "-inf"))
_NOTHING = object()


class TooDeepError(ValueError):
    """Brackets stand more than MAX_DEPTH deep."""


def iter_objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield what can be read of each object of the text, in order; objects inside of these are not yielded apart."""
    at = text.find("{")
    while at >= 0:
        reader = _Reader(text, at)
        found = reader.object(1)
        if found:
            yield found
        at = text.find("{", reader.at)


class _Reader:
    """One pass over one object; `at` is where the next thing is looked for."""

    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.at = at

    def next(self) -> str:
        """Return the next character that is no space, comma or comment; blank at the end."""
        match = _BETWEEN.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return self.text[self.at : self.at + 1]

    def object(self, depth: int) -> dict[str, Any]:
        if depth > MAX_DEPTH:
            raise TooDeepError
        self.at += 1
        found: dict[str, Any] = {}
        while (char := self.next()) and char != "]":
            if char == "}":
                self.at += 1
                break
            start = self.at
            key = self.key(char)
            if key is None:
                self.at = start
                break
            value = self.value(depth, _ENDS_MEMBER)
            if value is not _NOTHING:
                found[key] = value
        return found

    def array(self, depth: int) -> list[Any]:
        if depth > MAX_DEPTH:
            raise TooDeepError
        self.at += 1
        found: list[Any] = []
        while (char := self.next()) and char != "}":
            if char == "]":
                self.at += 1
                break
            start = self.at
            value = self.value(depth, _ENDS_ITEM)
            if value is not _NOTHING:
                found.append(value)
            if self.at == start:
                break
        return found

    def key(self, char: str) -> str | None:
        """Return the name of a member and step behind its colon; None where none begins here."""
        quote = _QUOTES.get(char)
        if quote is None:
            match = _BARE_KEY.match(self.text, self.at)
            name, self.at = (match.group(), match.end()) if match else ("", self.at)
        else:
            end = self.text.find(quote, self.at + 1, self.at + MAX_KEY_CHARS + 2)
            if end < 0:
                return None
            name, self.at = _unescaped(self.text[self.at + 1 : end]), end + 1
        colon = _COLON.match(self.text, self.at)
        if colon is None or (quote is None and not name):
            return None
        self.at = colon.end()
        return name

    def value(self, depth: int, ends: re.Pattern[str]) -> Any:
        match = _SPACES.match(self.text, self.at)
        self.at = match.end() if match else self.at
        if self.text[self.at : self.at + 1] in ("/", "#"):
            self.next()
        char = self.text[self.at : self.at + 1]
        if char == "{":
            return self.object(depth + 1)
        if char == "[":
            return self.array(depth + 1)
        return self.quoted(_QUOTES[char], ends) if char in _QUOTES else self.bare()

    def quoted(self, quote: str, ends: re.Pattern[str]) -> str:
        """Return a text up to the quote after which something else begins; without one, up to the end."""
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
        match = _BARE_VALUE.match(self.text, self.at)
        said = match.group().strip() if match else ""
        self.at = match.end() if match else self.at
        if not said:
            return _NOTHING
        if said.lower() in _WORDS:
            return _WORDS[said.lower()]
        return _number(said) if _NUMBER.match(said) else said


def _number(said: str) -> int | float | None:
    if said.lstrip("+-").isdecimal():
        return int(said) if len(said) <= MAX_DIGITS else None
    number = float(said)
    return number if math.isfinite(number) else None


def _is_escaped(text: str, at: int, start: int) -> bool:
    """Return whether an odd number of backslashes stands before."""
    first = at
    while first > start and text[first - 1] == "\\":
        first -= 1
    return (at - first) % 2 == 1


def _unescaped(raw: str) -> str:
    """Return the text that was written with escapes."""
    return _ESCAPE.sub(_character, raw) if "\\" in raw else raw


def _character(match: re.Match[str]) -> str:
    if match.group(1):
        return chr(int(match.group(1), 16))
    said = match.group(2) or ""
    return _ESCAPED.get(said, said)
