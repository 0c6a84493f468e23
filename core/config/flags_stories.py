"""Flags of stories, of the operation queue and of the model. Part of `config.flags`, which is the door."""

# ruff: noqa: RUF009 - what `flag` returns is the field itself

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from .flag_base import FlagValues, flag
from .flag_types import Text

RecapLimit = Literal["percent", "absolute"]
"""percent: of CONTEXT_TOKENS. absolute: tokens."""

RecapPosition = Literal["before_prompt", "in_prompt", "in_chat", "after_prompt"]
"""before_prompt: above the persona card. in_prompt: below it. in_chat: among the history. after_prompt: below that."""

RecapRole = Literal["system", "user", "assistant"]
"""Who says the injected text."""


@dataclass(frozen=True, kw_only=True, repr=False)
class StoryFlags(FlagValues):
    """The flags of recaps, scenes, the running recap, and the model that is asked."""

    recap_on_message: bool = flag(
        False, "Queue a recap of every message that is saved, and the search for scene breaks.", group="Stories"
    )
    enable_message_recaps: bool = flag(
        False, "Show the recaps of older messages of this conversation.", group="Stories"
    )
    enable_running_recap: bool = flag(True, "Show the running recap of this conversation.", group="Stories")
    running_scene_recap_auto_generate: bool = flag(
        True, "Bring the running recap up to date after each scene recap.", group="Stories"
    )
    include_user_messages: bool = flag(True, "Make and show recaps of what people said.", group="Stories")
    include_system_messages: bool = flag(True, "Make and show recaps of system messages.", group="Stories")
    include_narrator_messages: bool = flag(True, "Make and show recaps of the narrator's messages.", group="Stories")
    message_length_threshold: int = flag(
        0,
        "A message with fewer tokens gets no recap.",
        unit="tokens",
        low=0,
        high=100_000,
        group="Stories",
    )
    message_recap_context_limit: int = flag(
        10,
        "Room for message recaps: percent of CONTEXT_TOKENS, or tokens.",
        low=0,
        high=10_000_000,
        group="Stories",
    )
    message_recap_context_type: RecapLimit = flag(
        "percent",
        "What MESSAGE_RECAP_CONTEXT_LIMIT counts.",
        choices=get_args(RecapLimit),
        group="Stories",
    )
    running_recap_context_limit: int = flag(
        15, "Room for the running recap in percent of CONTEXT_TOKENS.", unit="percent", low=0, high=100, group="Stories"
    )
    context_tokens: int = flag(
        8192,
        "Tokens the model reads at once.",
        unit="tokens",
        low=256,
        high=10_000_000,
        group="Stories",
    )
    auto_hide_scene_count: int = flag(
        1,
        "Newest scenes that stay in the history, the one under way counted; -1 hides nothing.",
        unit="scenes",
        low=-1,
        high=1000,
        group="Stories",
    )
    scene_min_length: int = flag(
        10, "Fewest messages of a scene that is found.", unit="messages", low=1, high=1000, group="Stories"
    )
    scene_gap_hours: float = flag(
        6.0,
        "Without a model, a longer time between two messages ends a scene.",
        unit="hours",
        low=0,
        high=1000,
        group="Stories",
    )
    scene_recap_position: RecapPosition = flag(
        "in_chat",
        "Where the running recap is put among messages.",
        choices=get_args(RecapPosition),
        group="Stories",
    )
    scene_recap_depth: int = flag(
        2, "Messages that come after the running recap.", unit="messages", low=0, high=1000, group="Stories"
    )
    scene_recap_role: RecapRole = flag(
        "system", "Who says the running recap.", choices=get_args(RecapRole), group="Stories"
    )
    scene_recap_scan: bool = flag(
        False, "Tell the host that the running recap is to be scanned for its own triggers.", group="Stories"
    )

    llm_base_url: str = flag(
        "",
        "Address of a model server in the OpenAI dialect, such as http://127.0.0.1:11434/v1.",
        kind=Text("an address"),
        default_means="no model: recaps are extracts",
        group="Jobs and model",
    )
    llm_model: str = flag(
        "",
        "Name of the model to ask.",
        kind=Text("a name"),
        default_means="the model of the last chat through the proxy; without one no model is asked",
        group="Jobs and model",
    )
    llm_api_key: str = flag(
        "",
        "Key sent to the model server.",
        kind=Text("a key"),
        default_means="none",
        secret=True,
        group="Jobs and model",
    )
    llm_daily_calls: int = flag(
        1000,
        "Most calls of the model a day (UTC) for recaps, summaries and facts; the rest waits. 0 is no limit.",
        unit="calls",
        low=0,
        high=1_000_000_000,
        group="Jobs and model",
    )
    llm_timeout_seconds: float = flag(
        60.0, "Longest wait for one answer of the model.", unit="seconds", low=0.1, high=3600, group="Jobs and model"
    )
