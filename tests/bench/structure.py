"""Figures of the house itself: how many modules, how large, who imports whom, and what one call walks through.

    python -m tests.bench.structure [--root CHECKOUT] [--json]

Imports and sizes are read from the source; calls are traced in the process, on SQLite, when they are warm. With --root
another checkout is measured, such as one of an earlier commit.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import statistics
import subprocess
import sys
from collections import Counter
from pathlib import Path

RULE = re.compile(r"\b[GTPSCMLDFR][1-9][0-9]?\b")
TRACE = """
import json, sys
from pathlib import Path
from core.db import configure, open_database, insert_memory
from core.chat_history_cache import save_chat_message
from core.prompt_engine import build_json_prompt
from core.synth_core_memory import search_memories
from core.scope import Scope
ROOT = str(Path(sys.argv[1]).resolve() / "core") + "/"
db = open_database("sqlite://")
by = {"db": db, "scope": Scope(conversation="web/1", participant="web/ann")}
for at in range(200):
    save_chat_message("web/1", f"the cat {at} sat on the mat by the door", "Ann", "ann", message_id=str(at), **by)
for at in range(20):
    insert_memory(f"Ann's cat number {at} is called Tofu.", "iris", "chat", ["cat"], **by)
message = lambda n: {"message_id": str(n), "date": None, "text": "Who is my cat?", "interface_path": "web/1",
                     "from_user": {"id": "ann", "full_name": "Ann"}}
def traced(call):
    call(1000); call(1001)
    files, functions, switches, last = set(), set(), 0, [None]
    count = [0]
    def note(frame, event, arg):
        if event == "call":
            name = frame.f_code.co_filename
            if name.startswith(ROOT):
                files.add(name); functions.add((name, frame.f_code.co_name, frame.f_code.co_firstlineno))
                if last[0] != name:
                    count[0] += 1
                    last[0] = name
    sys.setprofile(note)
    try: call(1002)
    finally: sys.setprofile(None)
    return {"files": len(files), "functions": len(functions), "changes of file": count[0]}
print(json.dumps({
    "build_json_prompt": traced(lambda n: build_json_prompt(message(n), **by)),
    "search_memories": traced(lambda n: search_memories(tags=["cat"], keywords=["tofu"], **by)),
    "save_chat_message": traced(
        lambda n: save_chat_message("web/1", f"more of {n}", "Ann", "ann", message_id=str(n), **by)
    ),
}))
"""


def module_name(root: Path, path: Path) -> str:
    """Return the dotted name of a file."""
    name = ".".join(path.relative_to(root).with_suffix("").parts)
    return name.removesuffix(".__init__")


def imports_of(root: Path, path: Path, names: set[str]) -> set[str]:
    """Return the modules of the package that a file imports, anywhere in it."""
    own = module_name(root, path)
    package = own if path.name == "__init__.py" else own.rpartition(".")[0]
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")
            base = ".".join(parts[: len(parts) - node.level + 1]) if node.level else ""
            target = ".".join(filter(None, (base, node.module or "")))
            for each in node.names:
                whole = f"{target}.{each.name}"
                found.add(whole if whole in names else target)
    return (found & names) - {own}


def import_graph(package: Path) -> dict[str, set[str]]:
    """Return each module of a package's folder with those it imports, anywhere in it, for types too."""
    files, root = package_files(package), package.parent
    names = {module_name(root, path) for path in files}
    return {module_name(root, path): imports_of(root, path, names) for path in files}


def package_files(package: Path) -> list[Path]:
    """Return the files of the package."""
    return [path for path in sorted(package.rglob("*.py")) if not {"_data", "_editable"} & set(path.parts)]


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that import each other in a circle (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    groups: list[list[str]] = []
    sys.setrecursionlimit(10_000)

    def visit(node: str) -> None:
        nonlocal groups
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in graph[node]:
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            group = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(group) > 1:
                groups.append(sorted(group))

    for node in graph:
        if node not in index:
            visit(node)
    return groups


def figures(root: Path) -> dict[str, object]:
    """Return the figures of a checkout."""
    files, graph = package_files(root / "core"), import_graph(root / "core")
    sizes = {module_name(root, path): len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    importers = Counter(target for targets in graph.values() for target in targets)
    rooms = [size for path, size in ((p, sizes[module_name(root, p)]) for p in files) if path.name != "__init__.py"]
    long = long_code = 0
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                size = (node.end_lineno or 0) - node.lineno + 1
                told = node.body[0].end_lineno - node.body[0].lineno + 1 if ast.get_docstring(node) else 0
                long += size > 40
                long_code += size - told > 40
    tracked = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    numbers = 0
    for name in tracked:
        if (
            name
            and not name.startswith("tests/")
            and Path(name).suffix in {".py", ".md", ".yaml", ".j2", ".sql", ".toml"}
        ):
            numbers += len(RULE.findall((root / name).read_text(encoding="utf-8")))
    traced = subprocess.run(
        [sys.executable, "-c", TRACE, str(root)], cwd=root, capture_output=True, text=True, check=False,
        env={"PYTHONPATH": str(root), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    folders = Counter(path.parent.relative_to(root).as_posix() for path in files)
    return {
        "lines of core/": sum(sizes.values()),
        "modules": len(files),
        "modules in the root": folders["core"],
        "files in the largest folder": max(folders.values()),
        "largest folder": folders.most_common(1)[0][0],
        "median module, lines": statistics.median(rooms),
        "largest module, lines": max(sizes.values()),
        "modules with one importer": sum(importers[name] == 1 for name in graph),
        "circles, imports in functions and for types counted": len(circles(graph)),
        "functions over 40 lines": long,
        "the same without their docstrings": long_code,
        "rule numbers outside tests/": numbers,
        **(json.loads(traced.stdout) if traced.returncode == 0 else {"not traced": traced.stderr[-300:]}),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    told = figures(options.root.resolve())
    if options.json:
        print(json.dumps(told))
        return
    for name, value in told.items():
        print(f"{name:55} {value}")


if __name__ == "__main__":
    main()
