"""What stands in examples/ runs as it stands, against a server of this package."""

from __future__ import annotations

import asyncio
import importlib.util
from pathlib import Path
from typing import Any

import pytest

from core import tokens
from core.config import Settings
from core.web import create_app
from tests.spec.proxy_world import serving

pytestmark = [pytest.mark.engines("sqlite"), pytest.mark.checkout]

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_filter_of_open_webui_remembers(stage: Any, db: Any) -> None:
    token = tokens.add_token("host", db=db, scope=stage.scope())["token"]
    with serving(create_app(db=db, settings=Settings(), admin=False)) as url:
        made = load("open_webui_filter").Filter()
        made.valves = made.Valves(url=url, token=token)
        ann, bob = {"id": "u1", "name": "Ann"}, {"id": "u2", "name": "Bob"}
        said = {"role": "user", "content": "My cat is called Tofu.", "id": "m1"}
        body = {"messages": [said], "metadata": {"chat_id": "c1"}}
        asked = asyncio.run(made.inlet(body, ann))
        assert asked["messages"][-1] == said
        after = {"chat_id": "c1", "messages": [said, {"role": "assistant", "content": "A fine name.", "id": "m2"}]}
        assert asyncio.run(made.outlet(after, ann)) == after
        question = {"role": "user", "content": "What is my cat called?"}
        for who, remembered in ((ann, True), (bob, False)):
            found = asyncio.run(made.inlet({"messages": [question], "metadata": {"chat_id": "c2"}}, who))["messages"]
            assert found[-1] == question and ("Tofu" in str(found[:-1])) == remembered, who["name"]
        made.valves = made.Valves(url="http://127.0.0.1:9", token=token)
        body = {"messages": [question], "metadata": {"chat_id": "c2"}}
        assert asyncio.run(made.inlet(body, ann))["messages"] == [question]
