"""What an operator reads on the page of what was pruned, and when (L23, L35)."""

from __future__ import annotations

import re

import pytest

from core.database.engine import Database
from tests.spec.admin_world import Operator, client_of, made
from tests.spec.lifelong_world import Life
from tests.spec.stage import NOW, Stage

pytestmark = pytest.mark.engines("sqlite")


def test_l35_the_way_to_what_was_archived_and_since_when(db: Database, stage: Stage) -> None:
    """Health leads to the archive, each row of which says when it went there; nothing new said is no failure."""
    life = Life(stage)
    life.item("an old one", days=400, importance=0.1)
    life.item("a new one")
    assert life.prune_ltm() == 1
    life.run_cycle()
    with client_of(made(db)) as client:
        operator = Operator(client, life.persona)
        health = operator.ask("GET", "/page/health").text
        address = re.search(r"In the archive</dt><dd><a href=\"([^\"]+)\">1</a>", health)
        assert address and "archived=1" in address[1]
        archive = operator.ask("GET", "/page/memory", params={"archived": "1"}).text
        assert f'archived <time datetime="{NOW.isoformat()}"' in archive and "a new one" not in archive
        assert "archived <time" not in operator.ask("GET", "/page/memory").text
        jobs = operator.ask("GET", "/page/jobs").text
        assert '<span class="state cancelled">No messages</span>' in jobs


def test_l23_deep_consolidation_shows_first_what_it_would_archive(db: Database, stage: Stage) -> None:
    """215 items became 31 by one click; now the click lists them, and a second one does it."""
    life = Life(stage)
    life.item("old and dull", days=400, importance=0.1)
    life.item("kept", days=400, importance=0.9)
    with client_of(made(db)) as client:
        operator = Operator(client, stage.persona)
        shown = operator.ask("POST", "/page/jobs/run", data={"action": "try_deep"}).text
        assert "1 long-term item would be archived first" in shown and "old and dull" in shown
        assert sorted(life.texts()) == ["kept", "old and dull"]
        assert "1 item archived" in operator.ask("POST", "/page/jobs/run", data={"action": "deep"}).text
        assert life.texts() == ["kept"]
