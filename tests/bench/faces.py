"""What the faces cost: the proxy before a model server, a search over MCP, starting; then many requests for a while.

Everything is a process of its own on loopback: the command `serve --proxy --mcp`, a model server that answers at once,
and this client. FACES_SECONDS (30) is how long 100 requests a second are held; 600 for the promise of ten minutes.
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
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2

from core import tokens
from core.forgetting import forget
from core.scope import Scope
from tests.bench.figures import Times, judged, load, percentile, table
from tests.bench.generator import PERSONA
from tests.bench.loading import Bench, say
from tests.bench.messages import messages

ROOT = Path(__file__).resolve().parents[2]
MEASURED, WARMING, STARTS = 200, 30, 7
SECONDS = float(os.environ.get("FACES_SECONDS", "30"))
RATE = 100
CHATS = 50
"""Conversations of which the requests of the long run come in turn."""
WHO = "bench"
GROWTH = 1.10
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
def _running(words: list[str], port: int, path: str, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server as a process until the block ends; enter it when it answers."""
    env = {name: value for name, value in os.environ.items() if name not in ("ADMIN_TOKEN", "DATABASE_URL")}
    child = subprocess.Popen([sys.executable, *words], cwd=ROOT, env={**env, **variables})
    try:
        until = time.monotonic() + 120
        while True:
            try:
                httpx2.get(f"http://127.0.0.1:{port}{path}", timeout=10)
                break
            except httpx2.TransportError:
                if child.poll() is not None or time.monotonic() > until:
                    raise RuntimeError(f"{' '.join(words[:4])} does not answer") from None
                time.sleep(0.05)
        yield child
    finally:
        child.terminate()
        child.wait(60)


# One request after the other


def measure(bench: Bench) -> None:
    """Print the tables of this module."""
    model_port = _free_port()
    start = f"from tests.bench.faces import serve_model; serve_model({model_port})"
    rows: list[list[object]] = []
    runs: list[list[object]] = []
    with _running(["-c", start], model_port, "/"):
        for engine in bench.engines:
            for size in bench.sizes:
                say(f"measuring: faces on {engine} with {size:,} memories")
                one, many = _measure_place(bench, engine, size, f"http://127.0.0.1:{model_port}/v1")
                rows += one
                runs.append(many)
    print(f"\n### Faces, {MEASURED} requests each, {load()}\n")
    print(table(["engine", "memories", "what", "p50 ms", "p95 ms", "promised"], rows))
    print(f"\n### {RATE} requests a second by the proxy for {SECONDS:g} s, {CHATS} conversations, {load()}\n")
    head = ["engine", "memories", "answers", "errors", "p50 ms", "p95 ms", "MB warm", "MB at the end", "promised"]
    print(table(head, runs))
    _measure_start()


def _measure_place(bench: Bench, engine: str, size: int, model: str) -> tuple[list[list[object]], list[object]]:
    db, port = bench.db(engine, size), _free_port()
    host = tokens.add_token("host", db=db, scope=Scope(PERSONA))
    own = tokens.add_token("scope", db=db, scope=Scope(PERSONA, participant=f"proxy/{WHO}"))
    words = ["-m", "core.cli", "serve", "--proxy", "--mcp", "--no-admin", "--no-worker", "--port", str(port)]
    url = f"http://127.0.0.1:{port}"
    try:
        variables = {"LLM_BASE_URL": model, "DATABASE_URL": bench.url(engine, size)}
        with _running(words, port, "/health", **variables) as child:
            rows = [[engine, size, *row] for row in _ask_in_turn(url, model, host["token"], own["token"])]
            many = asyncio.run(_hold(url, host["token"], child.pid))
        return rows, [engine, size, *many]
    finally:
        for made in (host, own):
            tokens.revoke_token(made["id"], db=db, scope=Scope(PERSONA))
        for who in (WHO, *(f"{WHO}{n}" for n in range(CHATS))):
            forget(participant=f"proxy/{who}", db=db, scope=Scope(PERSONA))


def _ask_in_turn(url: str, model: str, host: str, own: str) -> list[list[object]]:
    straight, through, first, search = Times(), Times(), Times(), Times()
    head = {"Authorization": f"Bearer {host}", "X-User-Id": WHO}
    with httpx2.Client(timeout=120, trust_env=False) as client:

        def ask(base: str, number: int, text: str, **more: Any) -> httpx2.Response:
            body = {"model": "m", "messages": [{"role": "user", "content": text}], **more}
            given = {**head, "X-Conversation-Id": f"c{number}"}
            answer = client.post(f"{base}/chat/completions", json=body, headers=given)
            answer.raise_for_status()
            assert answer.headers.get("x-memory") != "failed"
            return answer

        def find(text: str) -> None:
            called = {**_SEARCH, "params": {"name": "memory_search", "arguments": {"query": text}}}
            accept = {"Authorization": f"Bearer {own}", "Accept": "application/json, text/event-stream"}
            answer = client.post(f"{url}/mcp", json=called, headers=accept)
            answer.raise_for_status()
            assert not answer.json()["result"].get("isError"), answer.text[:500]

        for one in messages(WARMING + MEASURED):
            if one.number == WARMING:
                for times in (straight, through, first, search):
                    times.clock.clear()
            text = one.text
            straight.run(lambda text=text: ask(model, 0, text))
            through.run(lambda text=text, n=one.number: ask(f"{url}/v1", n, text))
            search.run(lambda text=text: find(text))
            body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": text}]}
            given = {**head, "X-Conversation-Id": f"s{one.number}"}
            with client.stream("POST", f"{url}/v1/chat/completions", json=body, headers=given) as answer:
                lines = answer.iter_lines()
                piece = json.loads(next(lines).removeprefix("data: "))["choices"][0]["delta"]["content"]
                first.clock.append((time.monotonic_ns() - int(piece)) / 1e6)
                for _ in lines:
                    pass
    added = Times([b - a for a, b in zip(straight.clock, through.clock, strict=True)])
    kept = judged(added.p50, 15) + " / " + judged(added.p95, 40)
    return [
        ["added to a request by the proxy", added.p50, added.p95, kept],
        ["first piece of a stream after the model's", first.p50, first.p95, judged(first.p95, 20)],
        ["memory_search over MCP by HTTP", search.p50, search.p95, judged(search.p50, 20)],
    ]


# Many at once


async def _hold(url: str, token: str, pid: int) -> list[object]:
    """Return what came of RATE requests a second, each begun at its time whatever the others do."""
    results: Counter[str] = Counter()
    clock: list[float] = []
    texts = [each.text for each in messages(200)]
    async with httpx2.AsyncClient(timeout=120, trust_env=False, limits=httpx2.Limits(max_connections=None)) as client:

        async def ask(number: int) -> None:
            head = {"Authorization": f"Bearer {token}", "X-User-Id": f"{WHO}{number % CHATS}"}
            body = {"model": "m", "messages": [{"role": "user", "content": f"{texts[number % 200]} {number}"}]}
            began = time.perf_counter()
            try:
                answer = await client.post(f"{url}/v1/chat/completions", json=body, headers=head)
                memory = answer.headers.get("x-memory")
                results["ok" if answer.status_code == 200 and memory != "failed" else f"{answer.status_code}"] += 1
            except httpx2.HTTPError as error:
                results[type(error).__name__] += 1
            clock.append(1000 * (time.perf_counter() - began))

        began, total, warm = time.monotonic(), int(SECONDS * RATE), 0.0
        tasks: set[asyncio.Task[None]] = set()
        for number in range(total):
            await asyncio.sleep(max(0.0, began + number / RATE - time.monotonic()))
            task = asyncio.create_task(ask(number))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
            if number == total // 4:
                warm = _megabytes(pid)
        if tasks:
            await asyncio.wait(tasks)
    errors = {name: count for name, count in results.items() if name != "ok"}
    end = _megabytes(pid)
    kept = "no error: " + ("NO" if errors else "yes") + ", " + judged(end / max(warm, 1.0), GROWTH) + " of warm"
    return [results["ok"], str(errors or 0), percentile(clock, 0.5), percentile(clock, 0.95), warm, end, kept]


def _megabytes(pid: int) -> float:
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        return 0.0
    line = next(each for each in status.read_text().splitlines() if each.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024


# Starting


def _measure_start() -> None:
    """Print how long it takes until the server over standard input answers, and how much of it the SDK's import is."""
    say("measuring: the start of MCP over standard input")
    with tempfile.TemporaryDirectory(prefix="bench-faces-") as folder:
        env = {**os.environ, "DATABASE_URL": f"sqlite:///{folder}/own.db", "PYTHONPYCACHEPREFIX": f"{folder}/compiled"}
        env.pop("PYTHONDONTWRITEBYTECODE", None)

        def begin() -> float:
            words = [sys.executable, "-m", "core.cli", "mcp", "--persona", "iris"]
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
    print(table(["what", "best ms", "median ms", "promised"], rows))
