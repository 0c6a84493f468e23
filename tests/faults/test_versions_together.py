"""D31: the program of the revision before goes on writing and reading while this one migrates.

The former program is the real one, taken from the history of the checkout: what stood there before the newest revision
was added. Without a history (an unpacked archive, a shallow clone) there is nothing to run, and the test is left out.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import time
from io import BytesIO
from pathlib import Path

import pytest

from core.database.engine import Database
from core.db import verify_index
from core.upkeep import migration as migrating
from tests.faults.host import ROOT, Host
from tests.faults.ledger import wrong

ROUNDS = int(os.environ.get("FAULT_ROUNDS", "1"))
MOST_BACK = 6
"""A commit that is not whole is passed over for the one before it, of so many."""
PERSONA = "former"
VERSIONS = "sql/migrations/versions"
DOORS = "import core.chat_history_cache, core.conversations, core.db, core.jobs, core.lifelong, core.stories"
"""What a commit that is whole can do."""
OPEN = "import sys; from core.db import open_database; open_database(sys.argv[1]).close()"


def _git(*words: str) -> bytes | None:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else None


def _commit_before(revision: str) -> str | None:
    """Return the commit before the one that added a revision; HEAD while it has not been added."""
    name = f"{VERSIONS}/*{revision}_*.py"
    if _git("rev-parse", "HEAD") is None:
        return None
    added = _git("log", "--diff-filter=A", "--format=%H", "--", name)
    commits = (added or b"").decode().split()
    return f"{commits[-1]}^" if commits else "HEAD"


@pytest.fixture(scope="module")
def former(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program as it was before the newest revision."""
    newest = migrating.list_revisions()[-1]
    commit = _commit_before(newest) if len(migrating.list_revisions()) > 1 else None
    for back in range(MOST_BACK if commit else 0):
        packed = _git("archive", f"{commit}~{back}", "core", "sql", "prompts")
        if not packed:
            break
        folder = tmp_path_factory.mktemp("former")
        with tarfile.open(fileobj=BytesIO(packed)) as archive:
            archive.extractall(folder, filter="data")
        if _run(folder, "-c", DOORS).returncode == 0:
            return folder
    pytest.skip("no former version to be had here")


def _run(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words],
        cwd=root, env={**os.environ, "PYTHONPATH": str(root)}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def _opened(root: Path, url: str) -> None:
    """Let a version of the program open a database, which makes it when it is empty."""
    done = _run(root, "-c", OPEN, url)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.engines("sqlite", "mariadb", "mysql")
@pytest.mark.slow
@pytest.mark.skipif(ROUNDS == 1, reason="runs in `make test-faults`, or with FAULT_ROUNDS above 1")
def test_d31_the_former_program_goes_on_while_this_one_migrates(fresh_url: str, former: Path) -> None:
    _opened(former, fresh_url)
    db = Database(fresh_url)
    before = migrating.list_pending(db)
    assert before, "the former program knows the newest revision: the test says nothing"
    hosts = [Host(fresh_url, PERSONA, "old", root=former, timeout_seconds=10)]
    _write_on(hosts, 20)
    migrating.migrate(db)
    assert migrating.list_pending(db) == []
    hosts.append(Host(fresh_url, PERSONA, "new", timeout_seconds=10))
    _write_on(hosts, 60)
    told = [each for host in hosts for each in host.stop()]
    assert [each for each in told if each.state not in ("stored", "none")] == []
    assert [each.text for each in told if each.kind == "prompt" and each.text] == []
    assert {each.kind for each in told if each.state == "stored"} >= {"message", "item", "entry", "turn", "prompt"}
    _opened(former, fresh_url)
    assert migrating.list_pending(db) == [] and migrating.plan_steps(db) == []
    assert wrong(db, PERSONA, told) == [] and list(verify_index(db)) == []
    db.close()


def _write_on(hosts: list[Host], more: int) -> None:
    goal, deadline = sum(host.stored() for host in hosts) + more, time.monotonic() + 60
    while sum(host.stored() for host in hosts) < goal:
        for host in hosts:
            host.check()
        assert time.monotonic() < deadline, "nothing is written any more"
        time.sleep(0.02)
