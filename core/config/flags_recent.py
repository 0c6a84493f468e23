"""Flags of recent conversations, saved memories and short-term memory. Part of `config.flags`, the door."""

# ruff: noqa: RUF009 - what `flag` returns is the field itself

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from .flag_base import FlagValues, flag
from .flag_types import Text, Texts

MemoryMode = Literal["agent", "plus", "basic", "project"]
"""agent: the model saves by calling a tool. plus: requests to remember are saved before the model answers. basic:
memories are read, none is saved. project: neither."""


@dataclass(frozen=True, kw_only=True, repr=False)
class RecentFlags(FlagValues):
    """The flags of conversations that ended, saved memories and short-term memory."""

    enable_recent_conversations: bool = flag(
        True, "Keep and show a list of conversations that ended.", group="Conversations"
    )
    max_recent_conversations: int = flag(
        30, "Conversations kept on that list.", unit="conversations", low=10, high=50, group="Conversations"
    )
    enable_saved_memory: bool = flag(True, "Keep and show what people asked to remember.", group="Conversations")
    saved_chars: int = flag(
        6000,
        "Most characters of saved memories in one prompt: pinned ones, those that fit the message, then the newest.",
        unit="characters",
        low=0,
        high=1_000_000,
        group="Conversations",
    )
    enabled_tool_ids: tuple[str, ...] = flag(
        (),
        "Tools that may be offered to the model.",
        kind=Texts(),
        default_means="every tool",
        group="Conversations",
    )
    memory_mode: MemoryMode = flag(
        "agent",
        "Who reads and saves memories: see the table in the documentation.",
        choices=get_args(MemoryMode),
        group="Conversations",
    )
    memory_folder_name: str = flag(
        "memory", "Folder of the two Markdown files.", kind=Text("a folder"), group="Conversations"
    )

    enable_short_term: bool = flag(
        True, "Show what was said a moment ago in other channels.", group="Short-term memory"
    )
    short_term_memory_ttl_hours: float = flag(
        12.0,
        "Age at which what was just said in a channel is forgotten.",
        unit="hours",
        low=0.01,
        high=8760,
        group="Short-term memory",
    )
    short_term_memory_summary_ttl_hours: float = flag(
        24.0,
        "Age at which the summary of a channel is forgotten.",
        unit="hours",
        low=0.01,
        high=8760,
        group="Short-term memory",
    )
    short_term_memory_max_messages_per_channel: int = flag(
        10, "Messages kept of each channel.", unit="messages", low=1, high=200, group="Short-term memory"
    )
    short_term_max_channels: int = flag(
        3, "Most other channels in one prompt, the newest.", unit="channels", low=0, high=50, group="Short-term memory"
    )
