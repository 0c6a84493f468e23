"""Flags of session and long-term memory and of relationships. Part of `config.flags`, which is the door."""

# ruff: noqa: RUF009 - what `flag` returns is the field itself

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from .flag_base import FlagValues, flag
from .flag_types import Text, Texts

PruneMode = Literal["any", "all"]
"""any: what is too old or too unimportant goes. all: what is both."""


@dataclass(frozen=True, kw_only=True, repr=False)
class LifelongFlags(FlagValues):
    """The flags of L."""

    session_ttl_sec: int = flag(
        604_800,
        "Age at which a session item expires, outside of the active conversation.",
        unit="seconds",
        low=60,
        high=315_360_000,
        group="Long-term memory",
    )
    memory_consolidation_interval_sec: int = flag(
        1800,
        "Time between two cycles of consolidation while the scheduler runs.",
        unit="seconds",
        low=60,
        high=604_800,
        group="Long-term memory",
    )
    consolidate_every_n_messages: int = flag(
        30,
        "New messages of a conversation after which the scheduler consolidates it; 0 for none.",
        unit="messages",
        low=0,
        high=10_000,
        group="Long-term memory",
    )
    consolidation_window: int = flag(
        120, "Messages consolidated at once, the newest.", unit="messages", low=20, high=500, group="Long-term memory"
    )
    deep_consolidation_every_n_streams: int = flag(
        5,
        "Ends of streams after which deep consolidation runs; 0 is 5.",
        unit="ends",
        low=0,
        high=10_000,
        group="Long-term memory",
    )
    prune_max_age_days: int = flag(
        365, "Age at which a long-term item is too old.", unit="days", low=1, high=36_500, group="Long-term memory"
    )
    prune_max_importance: float = flag(
        0.25,
        "A long-term item below this importance is too unimportant.",
        low=0,
        high=1,
        group="Long-term memory",
    )
    prune_mode: PruneMode = flag(
        "all",
        "Whether an item goes that is too old or too unimportant, or only one that is both.",
        choices=get_args(PruneMode),
        group="Long-term memory",
    )
    prune_by_itself: bool = flag(
        False,
        "Prune long-term items in the background too, with every deep consolidation; else only when somebody asks.",
        group="Long-term memory",
    )
    decay_days: int = flag(
        60,
        "Days without a word after which affinity is back at 0.",
        unit="days",
        low=1,
        high=3650,
        group="Long-term memory",
    )
    enable_relationship: bool = flag(
        True, "Show the persona's relationship to whoever wrote the message.", group="Long-term memory"
    )
    admin_host: str = flag(
        "127.0.0.1",
        "Address the admin server listens on; every other than the default lets other machines in.",
        kind=Text("an address"),
        default_means="this machine alone",
        group="Admin",
    )
    admin_port: int = flag(8765, "Port the admin server listens on.", low=1, high=65_535, group="Admin")
    admin_token: str = flag(
        "",
        "What an operator shows to the admin server, at least 16 characters.",
        kind=Text("a token"),
        default_means="none: the admin server does not start",
        secret=True,
        group="Admin",
    )
    allowed_origins: tuple[str, ...] = flag(
        (),
        "Origins of pages in a browser that may ask the HTTP API, MCP or the proxy, such as https://chat.example.",
        kind=Texts(),
        default_means="none",
        group="Admin",
    )
    proxy_context_chars: int = flag(
        8000,
        "Most characters that the proxy puts into a request; 0 puts in nothing.",
        unit="characters",
        low=0,
        high=1_000_000,
        group="Admin",
    )
    proxy_memory_seconds: float = flag(
        2.0,
        "Longest time a request to the proxy waits for its memory; then it goes on without.",
        unit="seconds",
        low=0.1,
        high=600,
        group="Admin",
    )
    proxy_shared_memory: bool = flag(
        False,
        "Let conversations that a front end names share all memories of their user, not only the saved ones.",
        group="Admin",
    )
