"""What the package stands on: light imports, and no connection but to the database."""

# ruff: noqa: E501 - lists and programs are read better in few lines
import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIGHT = """
import sys
import core, core.prompt_engine, core.errors, core.shapes, core.scope, core.cli
heavy = {"sqlalchemy", "pymysql", "alembic", "jinja2", "yaml", "tiktoken", "rapidfuzz", "typer", "rich", "httpx2", "fastapi",
         "uvicorn", "numpy", "prometheus_client", "requests", "urllib3", "cryptography", "pydantic", "opentelemetry"}
print(sorted(heavy & set(sys.modules)))
"""


@pytest.mark.posix
@pytest.mark.slow
def test_r1_it_works_on_a_system_without_posix(tmp_path: Path) -> None:
    """Windows has no fork and no fcntl, syncs no file that only reads, and tells nothing of who may read one."""
    command = [sys.executable, "-m", "tests.unit.windows", str(tmp_path)]
    ran = subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT)
    assert ran.returncode == 0, ran.stderr[-2000:]


def test_r1_other_packages_are_imported_plainly() -> None:
    """A program that is frozen holds what import statements name: a package loaded by a text is missing in it."""
    calls = [
        (path.name, ast.unparse(call))
        for path in (ROOT / "core").rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2] in ("import_module", "__import__")
        and isinstance(call.args[0], ast.Constant) and not str(call.args[0].value).startswith(".")
    ]  # fmt: skip
    assert calls == []


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
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": str(ROOT), "TIKTOKEN_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", ALONE]
    ran = subprocess.run(command, check=False, capture_output=True, text=True, cwd=tmp_path, env=env)
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


@pytest.mark.parametrize(("program", "printed"), [(LIGHT, "[]"), (SAVED, "False")], ids=["import", "save"])
def test_nothing_heavy_is_loaded_that_is_not_used(program: str, printed: str) -> None:
    ran = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, cwd=ROOT)
    assert ran.stdout.strip() == printed
