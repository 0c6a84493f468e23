"""Find the speakers that a question names: whole names, first names, possessives, declined forms."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from ...base.patterns import lazy_pattern
from ...text.folding import fold, runs
from ...text.languages import bare

MOST_NAMES = 2_000
"""Maximum number of speaker names compared with a question; those that share a word with it come first."""

_PARTS = lazy_pattern(r"[^\W\d_]+")
_SHORTEST = 2
_SHORTEST_DECLINED = 3

_WRITTEN_PARTICLES = "de da di van von der la le el al bin the and of mr mrs ms dr user assistant bot self persona ai"
_PARTICLES = frozenset(_WRITTEN_PARTICLES.split())
"""Parts of names that are not names by themselves."""

_INNER_PARTICLES = frozenset({"ben"})
"""Particles inside a name (Omar ben Salah) that are first names at its beginning (Ben Carter)."""

_WRITTEN_WORDS = (
    "will may mark grace hope faith joy rose bill rob art sue pat jack frank dawn june april august summer angel drew "
    "chase dean guy max ray ben miles penny sunny young long king so an in ein man mai vera marie can do my are was "
    "were it is has"
)
_ALSO_WORDS = frozenset(_WRITTEN_WORDS.split())
"""Names that are also words: they count if the question capitalizes them inside a sentence."""

_WRITTEN_ENDINGS = {
    "cyrillic": "а у ы и е о ом ои ою ем еи я ю ин ина ину иного",
    "latin": "s es a u y e i o ie ou em om ovi owi owie ova in en",
    "hangul": "이 가 은 는 을 를 의 와 과 에게 한테 도 랑 이랑 씨 님 이가 이는 야 아 하고 씨가 씨는 씨의 에게서",
    "greek": "ς σ ν υ α ε ο ου η",
}
_ENDINGS = {script: frozenset(endings.split()) for script, endings in _WRITTEN_ENDINGS.items()}
_FINAL_S = frozenset("s")
_PREFIXES = {
    "arabic": ("و", "ف", "ب", "ل", "ك", "ول", "وب"),
    "hebrew": ("ו", "ה", "ב", "ל", "מ", "ש", "כ", "ול", "וש", "של"),
}
_SCRIPTS = (
    ("cyrillic", lazy_pattern("[\u0400-\u052f]")),
    ("hangul", lazy_pattern("[\uac00-\ud7a3]")),
    ("greek", lazy_pattern("[\u0370-\u03ff]")),
    ("arabic", lazy_pattern("[\u0600-\u06ff]")),
    ("hebrew", lazy_pattern("[\u0590-\u05ff]")),
)
_VOWELS = "аяьиоеayiouě\u03b1\u03b7\u03bf"
_DECLINING = frozenset({"pl", "cs", "sk", "sl", "hr", "sr", "lt", "lv", "fi", "hu", "et", "la"})
"""Languages in Latin script that decline names; in others only a final s is allowed."""


class _Name(NamedTuple):
    parts: tuple[str, ...]
    """Words of the name."""
    is_spaceless: bool
    """Whether the name is in a script without spaces."""
    naming: tuple[tuple[str, str], ...]
    """Words that identify somebody by themselves, each with its script."""


@lru_cache(maxsize=4096)
def _read_name(name: str) -> _Name:
    found = list(runs(bare(name)))
    spaceless = bool(found) and all(kind for _, kind in found)
    parts = tuple(part for run, _ in found for part in re.split(r"[_\d]+", run) if part)
    naming = [
        (part, next((script for script, letters in _SCRIPTS if letters.search(part)), "latin"))
        for at, part in enumerate(parts)
        if len(part) >= _SHORTEST and part not in _PARTICLES and not (at and part in _INNER_PARTICLES)
    ]
    return _Name(parts, spaceless, tuple(naming))


def named(text: str, names: Collection[str], languages: Sequence[str]) -> frozenset[str]:
    if not names:
        return frozenset()
    said = bare(text)
    words = [part for run, _ in runs(said) for part in re.split(r"[_\d]+", run) if part]
    capitals = {bare(word) for word in re.findall(r"(?<=[\w,;:] )[A-Z]\w+", text)}  # not at the start of a sentence
    known = set(words)
    by_letter: dict[str, list[str]] = {}
    for word in words:
        by_letter.setdefault(word[0], []).append(word)
    padded = f" {' '.join(words)} "
    exact: dict[str, int] = {}
    near: set[str] = set()
    if len(names) > MOST_NAMES:  # likely names first, in one order whatever the hash seed
        names = sorted(names, key=lambda name: (not any(part in said for part in _PARTS.findall(bare(name))), name))
    for name in islice(names, MOST_NAMES):
        parts, is_spaceless, naming = _read_name(name)
        if is_spaceless:
            if len(fold(name)) >= _SHORTEST and bare(name).strip() in said:
                exact[name] = 9
            continue
        if len(parts) > 1 and f" {' '.join(parts)} " in padded:
            exact[name] = len(parts)
        elif any(part in known and (part not in _ALSO_WORDS or part in capitals) for part, _ in naming):
            exact[name] = 1
        for part, script in () if name in exact else naming:
            said_so = words if script in _PREFIXES else by_letter.get(part[0], ())
            if said_so and _declined(part, script, said_so, languages):
                near.add(name)
    if exact:
        return frozenset(_without_shadowed(exact))
    return frozenset(near)


def _without_shadowed(found: Mapping[str, int]) -> Iterator[str]:
    """Yield the names found whole, and the names found by a part that no name found whole contains."""
    whole = {part for name, size in found.items() if size > 1 for part in _read_name(name).parts}
    for name, size in found.items():
        if size > 1 or not whole.intersection(_read_name(name).parts):
            yield name


def _declined(name: str, script: str, words: Sequence[str], languages: Sequence[str]) -> bool:
    if len(name) < _SHORTEST_DECLINED and not (len(name) == _SHORTEST and script == "hangul"):
        return False
    return any(_fits(name, word, script, languages) for word in words)


def _fits(name: str, word: str, script: str, languages: Sequence[str]) -> bool:
    if script in _PREFIXES:
        return word.endswith(name) and word[: len(word) - len(name)] in _PREFIXES[script]
    if word.startswith(name):
        rest = word[len(name) :]
        return rest in (_ENDINGS[script] if script != "latin" or _DECLINING.intersection(languages) else _FINAL_S)
    if script == "hangul" or (script == "latin" and not _DECLINING.intersection(languages)):
        return False
    root = name[:-1]
    return (
        name[-1] in _VOWELS + "ς"
        and len(root) >= _SHORTEST
        and word.startswith(root)
        and word[len(root) :] in _ENDINGS[script]
    )


def forget_kept() -> None:
    """Clear the cache of names, so that no forgotten name stays in memory."""
    _read_name.cache_clear()
