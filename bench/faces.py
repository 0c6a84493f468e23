"""What the faces cost: starting, the proxy before a model server, a search over MCP; then many requests for a while.

Everything is a process of its own on loopback: FACES_PROCESSES (2) of the command `serve --proxy --mcp --share-port`, a
model server that answers at once, and this client; all share the cores. Each table is printed when it is measured.
The queue does not run: what it writes would change the databases that are kept.

FACES_SECONDS (30) is how long the rate that was found is held; 600 for the promise of ten minutes.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import httpx2

from bench.faces_rate import CHATS, SECONDS, SHARE, Target, find_rate, hold_rate
from bench.figures import Times, judged, load, table
from bench.generator import PERSONA
from bench.loading import Bench, say
from bench.messages import messages
from core import tokens
from core.forgetting import forget
from core.scope import Scope

ROOT = Path(__file__).resolve().parents[1]
MEASURED, WARMING, STARTS = 200, 30, 7
MOST_SECONDS = 120.0
"""The requests one after the other end after this time, however few were measured."""
PROCESSES = int(os.environ.get("FACES_PROCESSES", "2"))
WHO = "bench"
_SEARCH = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
_BEGIN = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


# The other side


def serve_model(port: int) -> None:
    """Be a model server that answers at once; a stream's first piece says when it was sent."""
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response, StreamingResponse
    from starlette.routing import Route

    async def pieces() -> AsyncIterator[bytes]:
        for said in (str(time.monotonic_ns()), " ", "and so on"):
            choice = {"index": 0, "delta": {"content": said}, "finish_reason": None}
            yield b"data: " + json.dumps({"object": "chat.completion.chunk", "choices": [choice]}).encode() + b"\n\n"
        yield b"data: [DONE]\n\n"

    async def complete(request: Request) -> Response:
        if (await request.json()).get("stream"):
            return StreamingResponse(pieces(), media_type="text/event-stream")
        message = {"role": "assistant", "content": "Yes, I remember."}
        return JSONResponse({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})

    app = Starlette(routes=[Route("/v1/chat/completions", complete, methods=["POST"])])
    uvicorn.run(app, port=port, log_level="warning", access_log=False, timeout_keep_alive=600)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@contextmanager
def _running(words: list[str], port: int, path: str, *, count: int = 1, **variables: str) -> Iterator[list[int]]:
    """Run a server as processes until the block ends, and yield their ids; enter it when it answers."""
    env = {name: value for name, value in os.environ.items() if name not in ("ADMIN_TOKEN", "DATABASE_URL")}
    children = [subprocess.Popen([sys.executable, *words], cwd=ROOT, env={**env, **variables}) for _ in range(count)]
    try:
        until = time.monotonic() + 120
        while True:
            try:
                httpx2.get(f"http://127.0.0.1:{port}{path}", timeout=10)
                break
            except httpx2.TransportError:
                if any(child.poll() is not None for child in children) or time.monotonic() > until:
                    raise RuntimeError(f"{' '.join(words[:4])} does not answer") from None
                time.sleep(0.05)
        yield [child.pid for child in children]
    finally:
        for child in children:
            child.terminate()
        for child in children:
            child.wait(60)


# One request after the other


def measure(bench: Bench) -> None:
    """Print the tables of this module."""
    _measure_start()
    model_port = _free_port()
    start = f"from bench.faces import serve_model; serve_model({model_port})"
    with _running(["-c", start], model_port, "/"):
        for engine in bench.engines:
            for size in bench.sizes:
                _measure_place(bench, engine, size, f"http://127.0.0.1:{model_port}/v1")


def _measure_place(bench: Bench, engine: str, size: int, model: str) -> None:
    say(f"measuring: faces on {engine} with {size:,} memories")
    db, port = bench.db(engine, size), _free_port()
    host = tokens.add_token("host", db=db, scope=Scope(PERSONA))
    own = tokens.add_token("scope", db=db, scope=Scope(PERSONA, participant=f"proxy/{WHO}"))
    words = ["-m", "core.cli", "serve", "--proxy", "--mcp", "--no-admin", "--no-worker", "--port", str(port)]
    words += ["--share-port"]
    url = f"http://127.0.0.1:{port}"
    place = f"{engine}, {size:,} memories, {PROCESSES} processes"
    try:
        variables = {"LLM_BASE_URL": model, "DATABASE_URL": bench.url(engine, size)}
        with _running(words, port, "/health", count=PROCESSES, **variables) as pids:
            rows, count = _ask_in_turn(url, model, host["token"], own["token"])
            print(f"\n### One request after the other: {place}, {count} each, {load()}\n")
            print(table(["what", "p50 ms", "p95 ms", "promised"], rows), flush=True)
            asyncio.run(_measure_rate(Target(url, host["token"], WHO, pids), place))
    finally:
        say("removing what was stored")
        for made in (host, own):
            tokens.revoke_token(made["id"], db=db, scope=Scope(PERSONA))
        for who in (WHO, *(f"{WHO}{n}" for n in range(CHATS))):
            forget(participant=f"proxy/{who}", db=db, scope=Scope(PERSONA))


async def _measure_rate(target: Target, place: str) -> None:
    async with target:
        rate, head, rows = await find_rate(target)
        print(f"\n### The rate that can be held: {place}, {CHATS} conversations, {load()}\n")
        print(table(head, rows), flush=True)
        if rate:
            head, row = await hold_rate(target, rate)
            print(f"\n### {rate * SHARE:g} requests a second for {SECONDS:g} s: {place}, {load()}\n")
            print(table(head, [row]), flush=True)


def _ask_in_turn(url: str, model: str, host: str, own: str) -> tuple[list[list[object]], int]:
    """Return the rows of the table, and how many requests of each kind were measured."""
    straight, through, first, search = Times(), Times(), Times(), Times()
    head = {"Authorization": f"Bearer {host}", "X-User-Id": WHO}
    until = time.monotonic() + MOST_SECONDS
    with httpx2.Client(timeout=120, trust_env=False) as client:

        def ask(base: str, number: int, text: str) -> None:
            body = {"model": "m", "messages": [{"role": "user", "content": text}]}
            given = {**head, "X-Conversation-Id": f"c{number}"}
            answer = client.post(f"{base}/chat/completions", json=body, headers=given)
            answer.raise_for_status()
            assert answer.headers.get("x-memory") != "failed"

        def find(text: str) -> None:
            called = {**_SEARCH, "params": {"name": "memory_search", "arguments": {"query": text}}}
            accept = {"Authorization": f"Bearer {own}", "Accept": "application/json, text/event-stream"}
            answer = client.post(f"{url}/mcp", json=called, headers=accept)
            answer.raise_for_status()
            assert not answer.json()["result"].get("isError"), answer.text[:500]

        def stream(number: int, text: str) -> None:
            body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": text}]}
            given = {**head, "X-Conversation-Id": f"s{number}"}
            with client.stream("POST", f"{url}/v1/chat/completions", json=body, headers=given) as answer:
                lines = answer.iter_lines()
                piece = json.loads(next(lines).removeprefix("data: "))["choices"][0]["delta"]["content"]
                first.clock.append((time.monotonic_ns() - int(piece)) / 1e6)
                for _ in lines:
                    pass

        def settle() -> None:
            """Wait until the turn before is stored: a connection is answered in order."""
            client.get(f"{url}/health/live").raise_for_status()

        for one in messages(WARMING + MEASURED):
            if one.number == WARMING:
                for times in (straight, through, first, search):
                    times.clock.clear()
            if one.number > WARMING and time.monotonic() > until:
                break
            if one.number % 50 == 0:
                say(f"  one after the other: {one.number} of {WARMING + MEASURED}")
            text, number = one.text, one.number
            straight.run(partial(ask, model, 0, text))
            through.run(partial(ask, f"{url}/v1", number, text))
            settle()
            search.run(partial(find, text))
            stream(number, text)
            settle()
    added = Times([b - a for a, b in zip(straight.clock, through.clock, strict=True)])
    kept = judged(added.p50, 15) + " / " + judged(added.p95, 40)
    rows: list[list[object]] = [
        ["added to a request by the proxy", added.p50, added.p95, kept],
        ["first piece of a stream after the model's", first.p50, first.p95, judged(first.p95, 20)],
        ["memory_search over MCP by HTTP", search.p50, search.p95, judged(search.p50, 20)],
    ]
    return rows, len(added.clock)


# Starting


def _measure_start() -> None:
    """Print how long it takes until the server over standard input answers, and how much of it the SDK's import is."""
    say("measuring: the start of MCP over standard input")
    with tempfile.TemporaryDirectory(prefix="bench-faces-") as folder:
        env = {**os.environ, "DATABASE_URL": f"sqlite:///{folder}/own.db", "PYTHONPYCACHEPREFIX": f"{folder}/compiled"}
        env.pop("PYTHONDONTWRITEBYTECODE", None)

        def begin() -> float:
            words = [sys.executable, "-m", "core.cli", "mcp", "--persona-id", "iris"]
            began = time.perf_counter()
            with subprocess.Popen(
                words, cwd=ROOT, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            ) as child:
                assert child.stdin is not None and child.stdout is not None
                first = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": _BEGIN}
                child.stdin.write(json.dumps(first).encode() + b"\n")
                child.stdin.flush()
                assert b'"result"' in child.stdout.readline()
                took = 1000 * (time.perf_counter() - began)
                child.stdin.close()
                child.wait(60)
            return took

        def load_sdk() -> float:
            began = time.perf_counter()
            subprocess.run([sys.executable, "-c", "import mcp"], cwd=ROOT, env=env, check=True)
            return 1000 * (time.perf_counter() - began)

        rows: list[list[object]] = []
        works: list[tuple[str, Callable[[], float], float | None]] = [
            ("until the first answer", begin, 1000.0),
            ("of it an interpreter that imports the SDK alone", load_sdk, None),
        ]
        for name, work, limit in works:
            work()
            times = sorted(work() for _ in range(STARTS))
            middle = times[STARTS // 2]
            rows.append([name, times[0], middle, "" if limit is None else judged(middle, limit)])
    print(f"\n### Start of `prompt-engine mcp`, {STARTS} fresh processes, {load()}\n")
    print(table(["what", "best ms", "median ms", "promised"], rows), flush=True)
