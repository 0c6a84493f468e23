"""Probes of the flags of short-term memory."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from core import short_term
from core.config import Settings
from tests.spec.probes import probe
from tests.spec.stage import Stage
from tests.store.world import NOW


def _turn(stage: Stage, channel: str, text: str = "hi", hours: float = 0, **more: Any) -> Any:
    """Hold a turn of Ann some hours ago; flags in upper case are settings."""
    flags = {name.lower(): more.pop(name) for name in list(more) if name.isupper()}
    context = {"user": "tg/ann", "channel": channel, "server": "s1", "at": NOW - timedelta(hours=hours)}
    messages = more.pop("messages", [{"content": text, "sender_id": "ann"}])
    given: dict[str, Any] = {"db": stage.db, "settings": Settings(**flags), "scope": stage.scope()}
    return short_term.write_turn({**context, **more, "messages": messages}, [{"text": f"re {text}"}], **given)


def _read(stage: Stage, server: str = "s1", **flags: Any) -> list[Any]:
    settings = Settings(**{name.lower(): value for name, value in flags.items()})
    return list(short_term.get_for_user("tg/ann", db=stage.db, settings=settings, scope=stage.scope(server=server)))


@probe(1, 0)
def _enable_short_term(stage: Stage, value: Any) -> object:
    _turn(stage, "tg/short")
    return "short_term" in stage.context("hi", ENABLE_SHORT_TERM=value, server_id="s1", is_private=False, path="tg/new")


@probe(12, 0.5)
def _short_term_memory_ttl_hours(stage: Stage, value: Any) -> object:
    _turn(stage, "tg/ttl", hours=1)
    return len(_read(stage, SHORT_TERM_MEMORY_TTL_HOURS=value))


@probe(24, 0.5)
def _short_term_memory_summary_ttl_hours(stage: Stage, value: Any) -> object:
    clock: Any = stage.db.clock  # type: ignore[union-attr]
    _turn(stage, "tg/sum", hours=1)
    clock.now = NOW - timedelta(hours=1)
    given: dict[str, Any] = {"db": stage.db, "settings": Settings(), "scope": stage.scope()}
    short_term.update_short_term_memory("tg/ann", "tg/sum", "they met", "s1", **given)
    clock.now = NOW
    return [entry["summary"] for entry in _read(stage, SHORT_TERM_MEMORY_SUMMARY_TTL_HOURS=value)]


@probe(10, 3)
def _short_term_memory_max_messages_per_channel(stage: Stage, value: Any) -> object:
    messages = [{"content": str(n)} for n in range(9)]
    _turn(stage, "tg/most", messages=messages, SHORT_TERM_MEMORY_MAX_MESSAGES_PER_CHANNEL=value)
    return len(_read(stage)[0]["messages"])


@probe(3, 1)
def _short_term_max_channels(stage: Stage, value: Any) -> object:
    for n in range(4):
        _turn(stage, f"tg/room{n}")
    settings = Settings(short_term_max_channels=value)
    return len(
        short_term.build_short_term_context(
            "tg/ann", "tg/new", "s1", db=stage.db, settings=settings, scope=stage.scope()
        )
    )
