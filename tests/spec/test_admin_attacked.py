"""What somebody tries who means the admin application no good, and what it is spared (L33, L34, L35)."""

from __future__ import annotations

import pytest

from tests.spec.admin_world import BEARER, Operator
from tests.spec.lifelong_world import Life

pytestmark = pytest.mark.engines("sqlite")


def test_l35_the_page_takes_the_name_of_a_persona_as_it_is_written(operator: Operator, life: Life) -> None:
    """A blank more is another persona: its screens show and change nothing of this one."""
    item = life.item("Tofu is a cat")
    for name in (f"{life.persona} ", f" {life.persona}", life.persona.upper(), f"{life.persona}%", "%", "*"):
        other = Operator(operator.client, name)
        assert "Tofu is a cat" not in other.ask("GET", "/page/memory").text, name
        assert other.ask("GET", "/page/memory/item", params={"id": item}).status_code == 404
        other.ask("POST", "/page/memory/bulk", data={"ids": str(item), "action": "add", "tags": "foreign"})
        other.ask("POST", "/page/memory/row", data={"delete": str(item)})
    kept = operator.get(f"/memory/{item}")
    assert (kept["tags"], kept["archived_at"]) == ([], "")
    assert operator.client.get("/admin/page/memory?conf_uid=%20", headers=BEARER).status_code == 422


def test_l33_words_and_tags_are_as_many_as_a_database_takes(operator: Operator, life: Life) -> None:
    life.item("w1 w2", tags=["t1"])
    words = " ".join(f"w{n}" for n in range(1500))
    answer = operator.get("/memory/search", 422, q=words)
    assert answer["message"].startswith("q has 1500 words. At most 200 are looked for.")
    answer = operator.get("/memory/search", 422, tags=[f"t{n}" for n in range(1500)])
    assert answer["message"].startswith("tags has 1500 entries. At most 200 are looked for.")
    assert operator.ask("GET", "/page/memory", params={"q": words}).status_code == 422
    assert operator.get("/memory/search", q=" ".join(f"w{n}" for n in range(200)), tags=["t1"])["total"] == 0
    assert operator.get("/memory/search", q="w1 " * 3000)["total"] == 1
