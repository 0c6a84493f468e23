"""Fitting a large prompt into a small limit: how long, and that twice the items take twice the time."""

from __future__ import annotations

from typing import Any

from bench.figures import Times, judged, load, percentile, table
from bench.loading import say
from bench.writing import texts
from core import prompt_engine

LIMIT = 50_000
SIZES = (125_000, 250_000, 500_000, 1_000_000, 2_000_000)


def large_prompt(chars: int) -> dict[str, Any]:
    """Return a prompt of about so many characters: most of it history lines and memories."""
    said = texts(400, 11)
    lines = [f"[10:00] u{n % 9}: {said[n % len(said)]}" for n in range(chars // 200)]
    hits = [
        {
            "source": "chat_history",
            "id": n,
            "timestamp": "2026-03-10T12:00:00+00:00",
            "snippet": said[n % len(said)],
            "tags": [],
        }
        for n in range(chars // 420)
    ]
    context = {
        "history_current_chat": lines[::2],
        "history_recent": lines[1::2],
        "thoughts": said[:20],
        "memories": hits,
        "tags_placeholder": [],
        "ai_diary": said[:20],
    }
    payload = {"type": "message", "text": "hello", "source": {"interface_path": "bench/c1"}}
    return {
        "context": context,
        "input": {"type": "message", "payload": payload},
        "instructions": "Answer as Iris.",
        "__pre_reduction_size": 0,
        "actions": {},
    }


def measure() -> None:
    """Print the time of fitting prompts of several sizes."""
    say("measuring: reducing")
    rows = []
    prompts = [large_prompt(chars) for chars in SIZES]
    for prompt in prompts:
        times = Times()
        whole = len(prompt_engine.to_json(prompt))
        for _ in range(9):
            fitted = times.run(lambda prompt=prompt: prompt_engine.reduce_prompt_for_llm_limit(prompt, LIMIT))  # type: ignore[misc]
        left = len(prompt_engine.to_json(fitted))
        if left > LIMIT:
            raise AssertionError(f"{left} characters are over the limit of {LIMIT}")
        items = sum(len(value) for value in prompt["context"].values() if isinstance(value, list))
        note = judged(times.p50, 30) if 900_000 <= whole <= 1_200_000 else ""
        rows.append(
            [whole, items, left, times.p50, times.p95, percentile(times.cpu, 0.5), 1000 * times.p50 / items, note]
        )
    print(f"\n### Reducing to {LIMIT:,} characters, {load()}\n")
    print(table(["characters", "items", "left", "p50 ms", "p95 ms", "CPU p50 ms", "us an item", "promised"], rows))
