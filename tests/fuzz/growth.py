"""How the work of every parser grows with its input, printed: `python -m tests.fuzz.growth [NAME]...`.

Each piece of hostile text is pumped to n, 2n, 4n and 8n characters and handed to every regular expression of the
package (`Pattern.search`, `sub` and `findall`) and to every target of `tests.fuzz.targets` that takes a text. Where the
time of the largest input is over `NOTED_SECONDS` and grew faster than `NOTED_RATIO` a doubling, the line is printed;
2.0 is linear, 4.0 quadratic. Nothing is asserted: times are a machine's own. The exit code is 1 where a line was
printed.
"""

# ruff: noqa: E501 - the lists of hostile pieces are read better in few lines
from __future__ import annotations

import gc
import re
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib import import_module
from pathlib import Path

import core
from tests import package_modules
from tests.fuzz.targets import TEXT_TARGETS

START = 2_000
DOUBLINGS = 3
NOTED_SECONDS = 0.08
NOTED_RATIO = 3.0

PIECES = (
    "[", "{", "(", "<", "\\", "\\\\", '"', "'", "`", "```", "```\n", "~~~\n", "#", "# ", "\n# ", "- ", "\n- ", "\n", "\r", "\r\n",
    " ", "\t", "a", "A", "a ", "a b", "é", "e\u0301", "\u0301", "猫", "ก", "😀", "👩\u200d", "\u200d", "\ufe0f", "\u202e",
    "0", "1", "1,", "1.", "1:", "-", "--", "---\n", "->", "<!--", "-->", "<a", "<a>", "</a>", "<think>", "</think>", "<tool_call>",
    '{"a":', '[{"a":', '{"a":1,', "[1,", '"a",', "{'a':", "{a:", "{}", "[]", "},", "],", "//", "/*", "*/", "/* ", "/", ":", ",", ".",
    ". ", "! ", "?", "? ", "; ", "…", "。", "-- ", "&", "&amp;", "%", "%s", "{{", "}}", "{%", "%}", "{#", "x: ", "x: y\n", "- x\n",
    "a: &a ", "*a ", "!!", "|\n", "> ", ">\n", "\n> ", "not ", "from now on ", "always ", "call me ", "remember ", "do not ", "I am ",
    "'s ", "’", "“", "”", "«a» ", "2026-", "10/", "last ", "two weeks ago ", "yesterday ", "am ", "Monday ", "in May ", "at 5 ",
    "http://", "a@", "a@b.", "_", "__", "*", "**", "***a", "=", "==", "===", "\x00", "\x1b[", "\u2028", "\ud800", "\ufffd", "\ufeff",
    "null,", "true", "NaN", "1e5", "@memory ", "ß", "ﬁ", "İ", "ΐ", "가", "ᄀ", "か\u3099", "ﷺ", "abc-def ", "ab'cd ", "a.b.",
)  # fmt: skip


def patterns() -> Iterator[tuple[str, re.Pattern[str]]]:
    """Yield every compiled pattern that a module of the package holds, in a name or a container, with its place."""
    seen: set[int] = set()
    for module in package_modules.load_all():
        for name, value in sorted(vars(module).items()):
            for each in _flat(value, 3):
                if id(each) not in seen and isinstance(each.pattern, str):
                    seen.add(id(each))
                    yield f"{module.__name__}.{name}", each


def _flat(value: object, depth: int) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        yield value
    elif depth and isinstance(value, dict):
        for each in value.values():
            yield from _flat(each, depth - 1)
    elif depth and isinstance(value, (tuple, list, set, frozenset)):
        for each in value:
            yield from _flat(each, depth - 1)


@cache
def _source() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(Path(core.__path__[0]).rglob("*.py")))


def used_ways(place: str) -> list[str]:
    """Return the methods a pattern is called by: those after its name; of one in a container, those of its module.

    A search of what is only ever matched at its beginning would raise alarms about nothing.
    """
    module, name = place.rpartition(".")[::2]
    own = Path(import_module(module).__file__ or "").read_text(encoding="utf-8")
    used = rf"\b{name}\.(search|match|fullmatch|sub|findall|finditer|split)\("
    found = set(re.findall(used, own)) or set(re.findall(used, _source()))
    if not found:
        found = set(re.findall(r"\b(?!re\.)\w+\.(search|match|fullmatch|findall|finditer)\(", own))
    return sorted(found)


def _calls() -> Iterator[tuple[str, Callable[[str], object]]]:
    for name, pattern in patterns():
        for way in used_ways(name):
            call = (
                partial(pattern.sub, "") if way == "sub" else getattr(pattern, "findall" if way == "finditer" else way)
            )
            yield f"{name} {way}", call
    for target in TEXT_TARGETS:
        yield target.name, target.survives


def seconds(call: Callable[[str], object], text: str) -> float:
    """Return the processor time one call takes."""
    begun = time.process_time()
    call(text)
    return time.process_time() - begun


def look(name: str, call: Callable[[str], object], start: int = START) -> Iterator[str]:
    """Yield a line for every piece whose work grows faster than its length."""
    for piece in PIECES:
        for form, text in (("{}*n", piece), ("a{}*n", piece), ("{}*n x", piece)):
            if form != "{}*n" and "core." not in name:
                continue

            def made(chars: int, form: str = form, text: str = text) -> str:
                body = text * (chars // len(text) + 1)
                return {"{}*n": body, "a{}*n": "a" + body, "{}*n x": body + " x!"}[form]

            took = [seconds(call, made(start))]
            chars = start
            for _ in range(DOUBLINGS):
                chars *= 2
                took.append(seconds(call, made(chars)))
                if took[-1] > 5:
                    break
            if took[-1] > NOTED_SECONDS and took[-1] > NOTED_RATIO * took[-2]:
                shown = " ".join(f"{each:.3f}" for each in took)
                yield f"{name} {form.replace('{}', repr(piece))}: {shown} s at {chars} characters"


def main(names: list[str]) -> int:
    """Print what grows too fast and return the exit code."""
    gc.disable()
    looked = found = 0
    for name, call in _calls():
        if names and not any(each in name for each in names):
            continue
        looked += 1
        for line in look(name, call, START if "core." in name else 20_000):
            found += 1
            print(line, flush=True)
    print(f"{looked} expressions and parsers, {len(PIECES)} pieces: {found} grow faster than their input", flush=True)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
