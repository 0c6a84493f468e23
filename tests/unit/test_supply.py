"""What the package stands on: licences, floors and ceilings, light imports, and no connection but to the database."""

# ruff: noqa: E501 - lists and programs are read better in few lines
from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
RUNTIME = {name: lines for name, lines in PROJECT["optional-dependencies"].items() if name not in ("test", "docs")}
_NAME = re.compile(r"^[\w.-]+")

ALLOWED = {
    "MIT", "MIT-0", "BSD", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "ISC", "PSF-2.0", "CNRI-Python", "MPL-2.0", "Zlib",
    "0BSD", "CC0-1.0", "Public-Domain", "LGPL-3.0-only",
    "MIT-CMU",
}  # fmt: skip
"""Licences that let the package be used in whatever way. LGPL-3.0 is that of python-telegram-bot, used as it is. MIT-CMU is that of Pillow, which LlamaIndex brings. MPL-2.0 binds changes to its own files alone."""
_SPELT = {
    "MIT License": "MIT", "BSD License": "BSD", "Apache Software License": "Apache-2.0", "ISC License (ISCL)": "ISC",
    "The MIT License (MIT": "MIT", "Version 2.0": "Apache-2.0", "Apache License": "Apache-2.0", "ISC License": "ISC", "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0", "Apache 2.0": "Apache-2.0",
    "Python Software Foundation License": "PSF-2.0", "PSFL": "PSF-2.0",
}  # fmt: skip


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _named(line: str) -> str:
    match = _NAME.match(line)
    assert match is not None, line
    return match[0]


def _installed() -> set[str]:
    """Return every distribution that the package brings, with those these bring, as far as they are installed."""
    waiting = [_named(line) for line in PROJECT["dependencies"]] + [
        _named(x) for more in RUNTIME.values() for x in more
    ]
    found: set[str] = set()
    while waiting:
        name = _plain(waiting.pop())
        if name in found:
            continue
        try:
            needed = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue  # for another platform or version of Python
        found.add(name)
        waiting += [_named(line) for line in needed if not re.search(r"\bextra\s*==", line)]
    waiting = ["cryptography", "cffi", "pycparser"]  # pymysql[rsa]
    return found | {name for name in waiting if _is_there(name)}


def _is_there(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def licences(name: str) -> set[str]:
    """Return the licences of a distribution, as SPDX names where it says so in any way that is known."""
    about = metadata.metadata(name)
    text = about.get("License-Expression") or ""
    if not text:
        text = about.get("License") or ""
        classifiers = [c.rpartition(" :: ")[2] for c in about.get_all("Classifier") or [] if c.startswith("License ::")]
        first = text.splitlines()[0].strip() if text.strip() else ""
        text = first if first and len(first) < 40 else " AND ".join(classifiers)
    parts = re.split(r"\s+(?:AND|OR|and|or)\s+|,\s*", text)
    return {_SPELT.get(part.strip("() "), part.strip("() ")) for part in parts if part.strip()}


def test_the_licence_of_everything_installed_is_one_that_is_allowed() -> None:
    """A new dependency, or one that changed its licence, is looked at by somebody before it is taken."""
    strange = {
        name: licences(name) - ALLOWED for name in _installed() if not licences(name) or licences(name) - ALLOWED
    }
    assert strange == {}


LIGHT = """
import sys
import {module}
heavy = {{"sqlalchemy", "pymysql", "alembic", "jinja2", "yaml", "tiktoken", "rapidfuzz", "typer", "rich", "httpx2", "fastapi",
         "uvicorn", "numpy", "prometheus_client", "requests", "urllib3", "cryptography", "pydantic", "opentelemetry"}}
print(sorted(heavy & set(sys.modules)))
"""


@pytest.mark.parametrize(
    "module", ["core", "core.prompt_engine", "core.errors", "core.shapes", "core.scope", "core.cli"]
)
def test_these_load_nothing_heavy(module: str) -> None:
    """A host pays for what it uses: no database, web, model or command-line package at import."""
    code = LIGHT.format(module=module)
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT)
    assert ran.stdout == "[]\n"


ALONE = """
import socket, sys
refused = []
def refuse(self, address, *more):
    refused.append(address)
    raise OSError("no connection is allowed")
socket.socket.connect = socket.socket.connect_ex = refuse
def lookup(host, *more, **rest):
    refused.append(host)
    raise OSError("no look-up is allowed")
socket.getaddrinfo = socket.create_connection = lookup
import core.cli
from core.config import Settings
from core.db import configure, insert_memory, open_database
from core.prompt_engine import build_json_prompt
from core.synth_core_memory import search_memories
from core import jobs
assert core.cli.main(["demo", "--json"]) == 0
db = open_database("sqlite:///alone.db")
configure(db, settings={"LLM_MODEL": "gpt-4o", "MAX_PROMPT_CHARS": 20000})
insert_memory("the cat is called Tofu", "Ann", "chat", ["cat"])
message = {"message_id": "1", "date": "2026-03-10T12:00:00Z", "text": "what is the cat called?", "interface_path": "tg/1"}
assert build_json_prompt(message, {})["context"]["memories"]
build_json_prompt(message, {}, limit_tokens=4000)
assert search_memories(tags=["cat"])
jobs.run_pending(limit=5)
assert core.cli.main(["worker", "--once", "--database", "sqlite:///alone.db"]) == 0
assert core.cli.main(["db", "check", "--database", "sqlite:///alone.db"]) == 0
db.close()
print("REFUSED", refused, file=sys.stderr)
"""


@pytest.mark.slow
def test_g24_nothing_is_fetched_and_nobody_is_told(tmp_path: Path) -> None:
    """Demo, prompt, search, worker and check with every connection refused, and without any data of tiktoken."""
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "PYTHONPATH": str(ROOT),
        "TIKTOKEN_CACHE_DIR": str(tmp_path),
    }
    ran = subprocess.run(
        [sys.executable, "-c", ALONE], check=False, capture_output=True, text=True, cwd=tmp_path, env=environment
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert "REFUSED []" in ran.stderr


SAVED = """
import sys
from core.chat_history_cache import save_chat_message
from core.db import open_database
from core.scope import Scope
by = {"db": open_database("sqlite://"), "scope": Scope(conversation="web/1", participant="web/ann")}
save_chat_message("web/1", "the cat sat", "Ann", "ann", message_id="1", **by)
print("numpy" in sys.modules)
"""


def test_saving_a_message_loads_no_numpy() -> None:
    """Only whoever packs rows or searches among them needs it."""
    ran = subprocess.run([sys.executable, "-c", SAVED], check=True, capture_output=True, text=True, cwd=ROOT)
    assert ran.stdout.strip() == "False"
