"""The size of a prompt: its length as JSON, and the number of tokens of a text."""

from __future__ import annotations

import hashlib
import json
import math
import os
import tempfile
from collections.abc import Callable
from functools import lru_cache
from operator import is_not
from pathlib import Path
from typing import Any

from ..base import logs
from ..base.patterns import lazy_pattern
from .strict_json import make_strict

BASE64_KEYS = frozenset({"data", "base64"})
MEDIA_KEYS = frozenset({"attachments", "images", "image", "audio", "documents", "videos", "video"})
BASE64_FROM_CHARS = 1024
"""Maximum length of a text under `BASE64_KEYS` that counts towards the size; longer texts in media count nothing."""

write_json = json.JSONEncoder(ensure_ascii=False, separators=(", ", ": "), allow_nan=False).encode
"""Encodes a value as JSON text; raises TypeError, ValueError or RecursionError if it is not strict JSON."""


def to_json(value: Any) -> str:
    """Return the value as JSON text without escapes of letters; other values are converted to strict JSON first.

    >>> to_json({"text": 'é"😀'}), to_json([1, float("nan")])
    ('{"text": "é\\\\"😀"}', '[1, null]')
    """
    try:
        return write_json(value)
    except (TypeError, ValueError, RecursionError):
        return write_json(make_strict(value)[0])


def size(prompt: Any) -> int:
    """Return the number of characters of the prompt as it is sent, without base64 text of media."""
    return len(to_json(without_base64(prompt)))


def without_base64(value: Any, *, _in_media: bool = False) -> Any:
    """Return the value with each base64 text replaced by ""; parts without such texts are the same objects."""
    if isinstance(value, dict):
        changed: dict[Any, Any] = {}
        for key, item in value.items():
            new = item
            if not isinstance(item, str):
                new = without_base64(item, _in_media=_in_media or key in MEDIA_KEYS)
            elif _in_media and len(item) > BASE64_FROM_CHARS and key in BASE64_KEYS:
                new = ""
            if new is not item:
                changed[key] = new
        return {**value, **changed} if changed else value
    if isinstance(value, (list, tuple)):
        items = [item if isinstance(item, str) else without_base64(item, _in_media=_in_media) for item in value]
        return items if any(map(is_not, items, value)) else value
    return value


# Tokens: the host's counter; tiktoken, if it and its data are on this machine; or an estimate

Counter = Callable[[str], int]

ESTIMATE = "estimate"

_HOST = "https://openaipublic.blob.core.windows.net/encodings/"
RANK_FILES = {
    "o200k_base": ("o200k_base", "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"),
    "o200k_harmony": ("o200k_base", "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"),
    "cl100k_base": ("cl100k_base", "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"),
}
"""Encoding to (name of its rank file, SHA-256 of the file)."""

CHUNK_CHARS = 100_000
"""Longest text passed to tiktoken at once, in characters: a million equal letters can overflow its stack."""


def resolve_counter(counter: Counter | None, model: str | None = None) -> tuple[Counter, str]:
    """Return the counter to use, and its name for the report."""
    if counter is not None:
        if not callable(counter):
            raise TypeError(f"counter is of type {type(counter).__name__}. Pass a function from text to a number.")
        own = getattr(counter, "__name__", "")
        return counter, own if isinstance(own, str) and own.isidentifier() else "custom"
    usual = str(Path(tempfile.gettempdir()) / "data-gym-cache")  # "" in a variable disables the cache
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR", usual))
    encoding = _encoding_for(model, folder) if model else None
    if encoding is None:
        return estimate_tokens, ESTIMATE

    def count(text: str) -> int:
        starts = range(0, len(text), CHUNK_CHARS)
        return sum(len(encoding.encode_ordinary(text[start : start + CHUNK_CHARS])) for start in starts)

    return count, str(encoding.name)


@lru_cache(maxsize=16)
def _encoding_for(model: str, folder: str) -> Any:
    if not any(_is_present(folder, encoding) for encoding in RANK_FILES):
        return None  # avoids the import
    try:
        import tiktoken  # noqa: PLC0415 - heavy, and only useful with its data
    except ImportError:
        logs.warning("tokens_estimated", model=model, missing="tiktoken", install="pip install 'prompt-engine[tokens]'")
        return None
    for name in (model, model.rsplit("/", 1)[-1]):
        try:
            encoding = tiktoken.encoding_name_for_model(name)
        except KeyError:
            continue
        return tiktoken.get_encoding(encoding) if _is_present(folder, encoding) else None
    return None


def _is_present(folder: str, encoding: str) -> bool:
    """Return whether the encoding's file is in tiktoken's folder and undamaged; else tiktoken would download it."""
    if not folder or encoding not in RANK_FILES:
        return False
    stem, digest = RANK_FILES[encoding]
    key = hashlib.sha1(f"{_HOST}{stem}.tiktoken".encode(), usedforsecurity=False).hexdigest()
    try:
        return hashlib.sha256((Path(folder) / key).read_bytes()).hexdigest() == digest
    except OSError:
        return False


_PIECES = lazy_pattern(
    r"(?<![A-Za-z])[A-Za-z]{1,6}|[A-Za-z]{1,3}"  # six letters are one token, each further three are one more
    r"|[!-/:-@\[-`{-~]{1,2}|[0-9]{1,3}|\s{2,16}|[\n\r]|[\x00-\x08\x0e-\x1b\x7f]"
)
"""Pieces of ASCII text that count as one token."""

_SCRIPTS = (
    (0.60, "\u0080-\u024f\u0370-\u03ff\u0590-\u06ff\u1e00-\u1fff"),  # accented Latin, Greek, Hebrew, Arabic
    (0.45, "\u0400-\u04ff"),  # Cyrillic
    (0.70, "\u0900-\u097f\u0e00-\u0e7f"),  # Devanagari, Thai
    (0.90, "\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af"),  # Kana, Han, Hangul
    (0.75, "\u2000-\u206f\u3000-\u303f\uff00-\uffef"),  # punctuation of these scripts
)
"""Tokens per character of well-supported scripts, between those of cl100k_base and o200k_base."""
_RATES = tuple((rate, lazy_pattern(f"[{ranges}]")) for rate, ranges in _SCRIPTS)
_KNOWN = lazy_pattern(f"[{''.join(ranges for _, ranges in _SCRIPTS)}]+")
_ASCII = lazy_pattern(r"[\x00-\x7f]+")


def estimate_tokens(text: str) -> int:
    """Estimate the number of tokens of a text by script, without tiktoken's data."""
    pieces = len(_PIECES.findall(text))
    if text.isascii():
        return pieces
    other = _ASCII.sub("", text)
    cost = 0.0
    for rate, pattern in _RATES:
        cost += rate * len(pattern.findall(other))
    return pieces + math.ceil(cost + len(_KNOWN.sub("", other).encode("utf-8", "replace")) / 2)
