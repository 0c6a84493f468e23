"""R35: the ways in, run as their pages say; the code of pages for those who come from elsewhere, and of examples/."""

import asyncio
import contextlib
import json
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

import httpx2
import pytest

import core.cli
from core import Scope, configure, insert_memory, open_database, search_memories, tokens
from core.config import Settings
from core.tokens import add_token
from core.transfer.imports import import_file
from core.web import create_app
from tests.package_modules import load_example
from tests.servers.base import free_port
from tests.spec.proxy_world import ModelServer, is_up, serving, wait_until

pytestmark = pytest.mark.checkout

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def blocks(page: str, language: str) -> list[str]:
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def run_blocks(page: str, codes: list[str], names: dict[str, Any]) -> None:
    for code in codes:
        exec(compile(code, f"docs/{page}.md", "exec", dont_inherit=True), names)


def said_in(codes: list[str]) -> list[str]:
    """Return what the comments behind `print` say is printed."""
    lines = [line for code in codes for line in code.splitlines()]
    return [line.rpartition("  # ")[2] for line in lines if re.match(r"print\(.*  # ", line)]


def run(words: list[str], folder: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False)


def environment(**more: str) -> dict[str, str]:
    """Return the variables of a child process that has nothing set but what a page says."""
    own = {"PYTHONPATH": str(ROOT)} if core.cli.__name__.startswith("core") else {}
    unset = ("DATABASE_URL", "ADMIN_", "LLM_", "MCP_", "PERSONA_")
    return {**{name: value for name, value in os.environ.items() if not name.startswith(unset)}, **own, **more}


def command(line: str) -> list[str]:
    """Return a line that begins with `prompt-engine` as the same command of this tree."""
    program, *words = shlex.split(line)
    assert program == "prompt-engine"
    return [sys.executable, "-m", core.cli.__name__, *words]


def test_r35_the_bot_answers_after_ten_lines(own_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("openai")
    ten, asked, persona, model = blocks("start/bot", "python")
    assert len([line for line in ten.splitlines() if line.strip()]) <= 17
    server = ModelServer()
    server.answers = ["Tofu."]
    with serving(server.app) as url:
        names: dict[str, Any] = {}
        run_blocks("start/bot", [ten, asked, persona, model.replace("http://127.0.0.1:11434", url)], names)
        names["client"].close()
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == said_in([ten])[0] and printed[2] == "Tofu."
    undated = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d\] ")
    assert undated.sub("", printed[1]) == undated.sub("", said_in([asked])[0])
    assert "My cat is called Tofu." in json.dumps(server.last.messages)
    assert server.last.messages[0]["content"].startswith("You are Iris, a botanist. You like Ann and answer")


@pytest.mark.slow
def test_r35_the_bot_s_page_explains_by_the_command(own_folder: Path) -> None:
    run_blocks("start/bot", blocks("start/bot", "python")[:1], {})
    (line,) = [each for each in "".join(blocks("start/bot", "sh")).splitlines() if " explain " in each]
    ran = run(command(line), own_folder, environment())
    assert ran.returncode == 0 and "history_recent" in ran.stdout, ran.stderr


def test_r35_the_typescript_of_the_readme_stores_a_turn_and_gets_a_prompt(own_folder: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```ts\n(.*?)^```", readme, re.DOTALL | re.MULTILINE)
    db = open_database(f"sqlite:///{own_folder}/persona.db")
    token = add_token("host", db=db, scope=Scope("iris"))["token"]
    with serving(create_app(db=db, admin=False)) as url:
        document = httpx2.get(f"{url}/openapi.json").json()
        calls = re.findall(r'memory\("(\w+)", \{ (.*?) \}\);', code)
        assert [route for route, _ in calls] == ["turns", "prompt"]
        for route, body in calls:
            (content,) = document["paths"][f"/v1/{route}"]["post"]["requestBody"]["content"].values()
            schema = document["components"]["schemas"][content["schema"]["$ref"].rpartition("/")[2]]
            keys = re.findall(r"(?:^|, )(\w+)", re.sub(r"\{.*?\}", "", body))
            assert set(schema["required"]) <= set(keys) <= set(schema["properties"]), (route, keys)
        if node := shutil.which("node"):
            plain = re.sub(r": (?:string|object)\b", "", code).replace("http://127.0.0.1:8765", url)
            (own_folder / "ask.mjs").write_text(plain, encoding="utf-8")
            ran = run([node, "ask.mjs"], own_folder, environment(TOKEN=token))
            assert ran.returncode == 0 and "Who is my cat?" in ran.stdout and "Tofu" in ran.stdout, ran.stderr
        else:
            print("node is not on this machine: the requests are compared with the OpenAPI document alone")
    db.close()


def count_lines(folder: Path) -> int:
    file = folder / "prompt-engine.sqlite3"
    if not file.exists():
        return 0
    with contextlib.closing(sqlite3.connect(file)) as connection:
        return int(connection.execute("SELECT COUNT(*) FROM chat_history_cache").fetchone()[0])


@pytest.mark.slow
def test_r35_a_front_end_needs_the_page_s_commands_and_one_setting(tmp_path: Path) -> None:
    openai = pytest.importorskip("openai")
    install, export, add, serve = "".join(blocks("start/front-end", "sh")).splitlines()
    assert install == "pip install 'prompt-engine[cli,admin,llm]'"
    name, _ = export.removeprefix("export ").split("=")
    port, model = free_port(), ModelServer()
    with serving(model.app) as url, (tmp_path / "log.txt").open("ab") as log:
        env = environment(**{name: f"{url}/v1", "ADMIN_PORT": str(port)})
        made = run(command(add), tmp_path, env)
        found = re.search(r"\bpe_[\w-]+", made.stdout)
        assert found, made.stdout + made.stderr
        process = subprocess.Popen(command(serve), cwd=tmp_path, env=env, stdout=log, stderr=log)
        try:
            assert wait_until(lambda: is_up(f"http://127.0.0.1:{port}/health") or process.poll() is not None, 120)
            assert process.poll() is None, (tmp_path / "log.txt").read_text()
            page = (DOCS / "start/front-end.md").read_text()
            (base,) = set(re.findall(r"base URL of the model server to `(.*?)`", page))
            with openai.OpenAI(base_url=base.replace("8765", str(port)), api_key=found[0], max_retries=0) as client:
                for stored, text in enumerate(("My cat is called Tofu.", "What is my cat called?")):
                    assert wait_until(lambda stored=stored: count_lines(tmp_path) >= stored, 60)
                    client.chat.completions.create(model="tiny", messages=[{"role": "user", "content": text}])
        finally:
            process.kill()
            process.wait(60)
    assert "Tofu" in json.dumps(model.last.messages) and (tmp_path / "prompt-engine.sqlite3").exists()


@pytest.mark.slow
def test_r35_an_agent_needs_the_page_s_configuration(tmp_path: Path) -> None:
    pytest.importorskip("mcp", reason="needs the extra `mcp`")
    (block,) = blocks("start/agent", "json")
    server = json.loads(block)["mcpServers"]["memory"]
    words = [server["command"], *server["args"]]
    (line,) = "".join(blocks("start/agent", "sh")).splitlines()
    assert shlex.split(line)[shlex.split(line).index("--") + 1 :] == words
    assert words[:3] == ["uvx", "--from", "prompt-engine[mcp]"]
    ours = command(shlex.join(words[3:]))
    assert ours[-1].startswith("sqlite:////home/")
    ours[-1] = f"sqlite:///{tmp_path}/memory.sqlite3"
    text = (DOCS / "start" / "agent.md").read_text(encoding="utf-8")
    assert "`memory_save`" in text and "`memory_search`" in text
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        asyncio.run(save_and_search(ours, nowhere))
    with contextlib.closing(sqlite3.connect(ours[-1].removeprefix("sqlite:///"))) as file:
        assert file.execute("SELECT content FROM memories").fetchall() == [("My cat is called Tofu.",)]


async def save_and_search(words: list[str], errors: IO[str]) -> None:
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    child = StdioServerParameters(command=words[0], args=words[1:], env=environment())
    async with Client(stdio_client(child, errlog=errors)) as client:
        saved = await client.call_tool("memory_save", {"text": "My cat is called Tofu."})
        found = await client.call_tool("memory_search", {"query": "What is my cat called?"})
    assert not saved.is_error and not found.is_error and "Tofu" in str(found.content)


@pytest.mark.parametrize("page", ["coming-from/mem0", "coming-from/letta", "coming-from/langgraph", "scale"])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
def test_r35_the_code_of_the_page_prints_it(own_folder: Path, page: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What people who come from elsewhere copy first."""
    if page == "coming-from/langgraph":
        pytest.importorskip("langgraph")
    exported = {"results": [{"id": "x", "memory": "Ann grows tomatoes.", "categories": ["garden"]}]}
    (own_folder / "ann.json").write_text(json.dumps(exported), encoding="utf-8")
    codes = blocks(page, "python")
    names: dict[str, Any] = {}
    run_blocks(page, codes, names)
    printed = capsys.readouterr().out
    assert codes and all(line in printed for line in said_in(codes))
    if page == "coming-from/mem0":
        assert "1 ()" in printed
        hits = search_memories(query="tomatoes", scope=names["ann"])
        assert [hit["snippet"] for hit in hits] == ["Ann grows tomatoes."]
        assert search_memories(query="tomatoes", scope=Scope("iris", "web/9", "web/bob")) == []


def test_r35_a_chat_of_sillytavern_goes_on_through_the_proxy(own_folder: Path) -> None:
    text = (DOCS / "coming-from" / "sillytavern.md").read_text(encoding="utf-8")
    (key,) = set(re.findall(r"--conversation (\S+) --private", text))
    assert re.findall(r"`X-User-Id: (\w+)` and `X-Conversation-Id: (\w+)`", text) == [tuple(key.split("/")[1:])]
    configure("sqlite:///persona.db")
    scope = Scope("iris")
    import_file(ROOT / "tests" / "samples" / "tavern_chat.jsonl", conversation=key, private=True, scope=scope)
    user = key.rpartition("/")[0]
    for who, there in ((user, True), ("proxy/Bob", False)):
        asked = Scope("iris", f"{who}/new", who, privacy="direct")
        assert bool(search_memories(query="Where is the map? Under the third board?", scope=asked)) is there


def test_the_filter_of_open_webui_remembers(stage: Any, db: Any) -> None:
    token = tokens.add_token("host", db=db, scope=stage.scope())["token"]
    with serving(create_app(db=db, settings=Settings(), admin=False)) as url:
        made = load_example("open_webui_filter").Filter()
        made.valves = made.Valves(url=url, token=token)
        ann, bob = {"id": "u1", "name": "Ann"}, {"id": "u2", "name": "Bob"}
        said = {"role": "user", "content": "My cat is called Tofu.", "id": "m1"}
        body = {"messages": [said], "metadata": {"chat_id": "c1"}}
        assert asyncio.run(made.inlet(body, ann))["messages"][-1] == said
        after = {"chat_id": "c1", "messages": [said, {"role": "assistant", "content": "A fine name.", "id": "m2"}]}
        assert asyncio.run(made.outlet(after, ann)) == after
        question = {"role": "user", "content": "What is my cat called?"}
        for who, remembered in ((ann, True), (bob, False)):
            found = asyncio.run(made.inlet({"messages": [question], "metadata": {"chat_id": "c2"}}, who))["messages"]
            assert found[-1] == question and ("Tofu" in str(found[:-1])) == remembered, who["name"]
        chat = Scope(stage.persona, "openwebui/u1/c2", "openwebui/u1", privacy="direct")
        for number in range(30):
            insert_memory(f"My cat, part {number}." + f" {number}" * 150, "ann", "chat", [], chat, db=db)
        much = asyncio.run(made.inlet({"messages": [question], "metadata": {"chat_id": "c2"}}, ann))["messages"]
        assert 4000 < len(much[0]["content"]) <= made.valves.max_chars
        made.valves = made.Valves(url="http://127.0.0.1:9", token=token)
        body = {"messages": [question], "metadata": {"chat_id": "c2"}}
        assert asyncio.run(made.inlet(body, ann))["messages"] == [question]
