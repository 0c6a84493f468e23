"""Changes one comparison, condition, constant or operator of `core/` at a time and reports which tests notice.

    python -m tests.mutants [--lines 60] [--seed 1] [--near] [--wide tests/spec ...]

It works in a copy of the checkout. Each change meets the tests of its own noun first, then, if these pass, the files of
tests that import it, then all tests on SQLite that are not slow (not with `--near`). A change that no test notices
survives: it is printed, and a promise may lack its test.
"""

import argparse
import ast
import itertools
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 900
WIDE = ("tests/unit", "tests/golden", "tests/spec", "tests/store", "tests/adapters", "core")
SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult,
}  # fmt: skip

UNSEEN = ("dataclass", "lru_cache")  # what an object forbids, how much a cache holds: no result depends on it
OWN_NAMES = {
    "access": "audiences|external_rows|people|privacy|rooms|scopes|test_conversations",
    "adapters": "adapters|anthropic|bots|langgraph|llama_index|openai|pydantic_ai", "ai_diary": "diary",
    "base": "bad_input|embeddings|errors|item_transfer|recent_conversations|serve",
    "calls": "bad_input|defaults|prompt_call", "chat_history_cache": "test_chat|save_message", "cli": "serve|serving",
    "config": "flags", "context": "context|test_injection|prompt_",
    "conversations": "conversation|followers|saved_memories",
    "database": "connect|data_model|errors|handles|migrations|plans|schema|stored_values|writers",
    "db": "connecting|test_memories", "forgetting": "forgetting|followers",
    "index": "search|checking|embeddings|meaning|test_mix", "lifelong": "lifelong|consolidation|people",
    "llm": "embeddings|model_answers|model_usage", "memories": "test_memories|saved_memories|people|lifelong_items",
    "messages": "test_chat|save_message|prompt_messages|story_recaps|scenes|tavern_chats|transcripts",
    "privacy": "model_answers|people|privacy|scopes", "prompt": "injection|people|personas|prompt",
    "prompt_engine": "prompt", "relationships": "people|relationships", "scope": "bad_input|scope",
    "search": "search|external_rows|meaning|embeddings|people|recall", "semantic": "embeddings|meaning",
    "short_term": "short_term|prompt_sections", "stories": "test_story|scenes|running_recap",
    "synth_core_memory": "test_memories|test_search$|saved_memories|lifelong_items", "synth_tagging": "tags",
    "templates": "injection|personas", "text": "people|recall|saved_memories",
    "transfer": "import|transfer|cards|tavern|original", "upkeep": "checking|test_copy|maintenance|migrations|serve",
    "values": "values", "web/admin": "admin", "web/mcp": "mcp", "web/proxy": "proxy",
    "web": "admin|mcp_oauth|proxy|serve|serving|web_access|web_routes",
}  # fmt: skip
"""A part of the names of a noun's tests, where it is not the noun."""


class Mutant(NamedTuple):
    file: str
    line: int
    before: str
    after: str
    start: int
    end: int


def list_mutants(file: Path) -> Iterator[Mutant]:
    source = file.read_bytes()
    starts = [0, *itertools.accumulate(map(len, source.splitlines(keepends=True)))]
    for node, after in _list_changes(ast.parse(source)):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        yield Mutant(str(file.relative_to(ROOT)), node.lineno, source[start:end].decode(), f"({after})", start, end)


def _list_changes(node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    if isinstance(node, ast.JoinedStr):  # before Python 3.12 the places of what is in one are wrong
        return
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(UNSEEN):
        return
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":  # what it imports is for mypy alone
        return
    if isinstance(node, ast.If | ast.While) and isinstance(node.test, ast.Name | ast.Attribute | ast.Call):
        yield node.test, f"not {ast.unparse(node.test)}"
    after = _change(node)
    if after is not None and isinstance(node, ast.expr):
        yield node, after
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.keyword) and child.arg == "strict"):  # of `zip`: it only raises
            yield from _list_changes(child)


def _change(node: ast.AST) -> str | None:
    match node:
        case ast.Compare(left, [operator], [right]) if type(operator) in SWAPPED:
            return ast.unparse(ast.Compare(left, [SWAPPED[type(operator)]()], [right]))  # type: ignore[list-item]
        case ast.BoolOp(operator, values):
            return ast.unparse(ast.BoolOp(SWAPPED[type(operator)](), values))  # type: ignore[arg-type]
        case ast.BinOp(left, operator, right) if type(operator) in SWAPPED:
            return ast.unparse(ast.BinOp(left, SWAPPED[type(operator)](), right))  # type: ignore[arg-type]
        case ast.UnaryOp(ast.Not(), operand):
            return ast.unparse(operand)
        case ast.IfExp(test, body, other):
            return ast.unparse(ast.IfExp(test, other, body))
        case ast.Constant(bool() as value):
            return str(not value)
        case ast.Constant(int() as value):
            return str(value + 1)
    return None


def choose(lines: int, seed: int) -> list[Mutant]:
    """Return one change of each of some lines of core, chosen at random."""
    found: dict[tuple[str, int], list[Mutant]] = {}
    for file in sorted((ROOT / "core").rglob("*.py")):
        for mutant in list_mutants(file):
            found.setdefault((mutant.file, mutant.line), []).append(mutant)
    chance = random.Random(seed)
    return [chance.choice(found[place]) for place in chance.sample(sorted(found), min(lines, len(found)))]


def list_own_tests(file: str) -> list[str]:
    noun, *inner = Path(file).with_suffix("").parts[1:]
    part = f"{noun}/{inner[0]}" if inner else noun
    named = re.compile(OWN_NAMES.get(part) or OWN_NAMES.get(noun) or noun.removesuffix("s"))
    folder = [f"tests/unit/{noun}"] if (ROOT / "tests/unit" / noun).is_dir() else []
    return [file, *folder, *(str(each.relative_to(ROOT)) for each in _list_files() if named.search(each.stem))]


def _list_files() -> list[Path]:
    kinds = ("unit", "spec", "store", "adapters")
    return [each for kind in kinds for each in sorted((ROOT / "tests" / kind).glob("test_*.py"))]


def list_near_tests(file: str) -> list[str]:
    """Return the files of tests that import the noun of a file of core, or its door."""
    noun = file.split("/")[1].removesuffix(".py")
    named = re.compile(rf"^(from core\.{noun}|import core\.{noun}|from core import .*\b{noun})", re.MULTILINE)
    files = [each for folder in WIDE for each in sorted((ROOT / folder).rglob("test_*.py"))]
    return [str(each.relative_to(ROOT)) for each in files if named.search(each.read_text(encoding="utf-8"))]


def is_noticed(copy: Path, tests: list[str]) -> bool:
    if not tests:
        return False
    options = ["-q", "-x", "-p", "no:cacheprovider", "-m", "not slow and not checkout"]
    command = [sys.executable, "-m", "pytest", *options, *tests]
    environment = {**os.environ, "TEST_SERVERS": "sqlite", "PYTHONPATH": f"{copy}{os.pathsep}{copy / 'core/_editable'}"}
    try:
        ran = subprocess.run(command, cwd=copy, env=environment, capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return True
    return ran.returncode not in (0, 5)  # 5: there is none


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--wide", nargs="+", default=WIDE, help="tests that a change meets after those of its noun")
    parser.add_argument("--near", action="store_true", help="run no other tests than those that import the noun")
    given = parser.parse_args()
    names = [name for parts in OWN_NAMES.values() for name in parts.split("|")]
    if old := [name for name in names if not any(re.search(name, file.stem) for file in _list_files())]:
        parser.error(f"no file of tests is named {', '.join(old)}: correct OWN_NAMES")
    counts = {"own": 0, "near": 0, "all": 0, "none": 0}
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        left_out = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "site", "*.sqlite3*")
        shutil.copytree(ROOT, copy, symlinks=True, ignore=left_out)
        for mutant in choose(given.lines, given.seed):
            target = copy / mutant.file
            whole = target.read_bytes()
            target.write_bytes(whole[: mutant.start] + mutant.after.encode() + whole[mutant.end :])
            stages = {"own": list_own_tests(mutant.file), "near": list_near_tests(mutant.file), "all": [*given.wide]}
            if given.near:
                del stages["all"]
            noticed = next((stage for stage, tests in stages.items() if is_noticed(copy, tests)), "none")
            target.write_bytes(whole)
            counts[noticed] += 1
            print(f"{noticed:4}  {mutant.file}:{mutant.line}  {mutant.before}  ->  {mutant.after}", flush=True)
    others = counts["near"] + counts["all"]
    print(f"noticed by the noun's own tests: {counts['own']}, by others: {others}, by none: {counts['none']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
