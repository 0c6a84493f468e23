"""The one declaration of every flag: default, range, unit, group and one sentence of help."""

# ruff: noqa: RUF009 - what `flag` returns is the field itself

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from ..shapes import Ranking
from .flag_base import Flag, flag
from .flag_types import LANGUAGE_CODES, Folder, Frozen, Groups, Key, OptionalWhole, Text, Texts, Zone
from .flags_lifelong import LifelongFlags
from .flags_recent import RecentFlags
from .flags_semantic import SemanticFlags
from .flags_stories import StoryFlags

SnippetWindow = Literal["start", "match"]
"""start: the beginning of the text. match: the part around the first match."""

AnswerFormat = Literal["auto", "actions", "text"]
"""auto: actions where the hook `actions` gave some, else text. actions: one JSON object. text: the words themselves."""

PromptDestination = Literal["remote", "local"]
"""remote: rows marked local_only stay out. local: they may enter."""

PrivacyLevel = Literal["none", "partial", "full"]
"""none: everything is kept. partial: nothing for the long term. full: nothing."""

PHRASE_GROUPS = ("explicit", "facts", "preferences", "feelings", "refusals")

GROUPS: Mapping[str, str] = {
    "Prompt": "How much a prompt holds, and what happens when it does not fit.",
    "History": "The lines of this conversation and of others.",
    "Diary and thoughts": "What the persona wrote for itself.",
    "Memories": "Which rows are found, and how they are shown.",
    "Tags and words": "What is taken from a message to search with.",
    "Saving": "What is worth keeping, and for whom it is kept.",
    "Conversations": "Conversations that ended, and what people asked to remember.",
    "Short-term memory": "What was just said in other channels.",
    "Long-term memory": "What becomes of conversations for good, how long it is kept, and how relationships fade.",
    "Stories": "Recaps, scenes and the running recap of long conversations.",
    "Jobs and model": "What is done in the background, and the model that is asked.",
    "Privacy": "Who is remembered, and who sees what.",
    "Admin": "Where the admin server listens, and what an operator shows to it.",
    "Running": "Database, time limits, threads, templates.",
}
"""Headings of config.yaml and of the documentation, in order."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Settings(StoryFlags, RecentFlags, LifelongFlags, SemanticFlags):
    """The value of every flag, frozen."""

    context_verbosity: int = flag(
        10,
        "Most lines in each history list, and most memories, in one prompt, where the flags below say nothing.",
        unit="items",
        low=0,
        high=50,
        group="Prompt",
    )
    history_lines: int | None = flag(
        None,
        "Most lines of this conversation in one prompt.",
        kind=OptionalWhole(0, 500, "lines"),
        default_means="as CONTEXT_VERBOSITY",
        group="Prompt",
    )
    memory_items: int | None = flag(
        None,
        "Most memories in one prompt.",
        kind=OptionalWhole(0, 500, "items"),
        default_means="as CONTEXT_VERBOSITY",
        group="Prompt",
    )
    prompt_lite_mode: bool = flag(
        False,
        "Make prompts small: 3 lines a list, 2 thoughts, memories and recent conversations, 10 saved, short actions.",
        group="Prompt",
    )
    answer_format: AnswerFormat = flag(
        "auto",
        "How the model is asked to answer: actions in JSON, plain text, or by whether the host's hook gave actions.",
        choices=get_args(AnswerFormat),
        group="Prompt",
    )
    max_prompt_chars: int = flag(
        0,
        "Most characters a prompt may have, where neither the call nor the engine says it.",
        unit="characters",
        low=0,
        high=10_000_000,
        default_means="no limit",
        group="Prompt",
    )
    include_local_time_in_prompts: bool = flag(
        True, "Tell the local time, hour and time of day of the person who writes.", group="Prompt"
    )
    timezone: str = flag(
        "UTC",
        "Zone in which times are shown, where the message names none.",
        kind=Zone(),
        group="Prompt",
    )
    enable_tags_placeholder: bool = flag(
        True, "Keep the empty list tags_placeholder in the context, for hosts that fill it.", group="Prompt"
    )

    enable_history_current_chat: bool = flag(True, "Show the lines of this conversation.", group="History")
    enable_history_recent: bool = flag(True, "Show lines of other conversations.", group="History")
    unified_history: bool = flag(
        True,
        "Take other conversations from every interface, stored ones too; off: live ones of the same interface.",
        group="History",
    )
    chat_history: int = flag(
        10,
        "Lines that load_chat_history reads by default.",
        unit="lines",
        low=1,
        high=1000,
        group="History",
    )

    enable_ai_diary: bool = flag(
        True, "Read the diary for prompts; off: neither its entries nor its thoughts.", group="Diary and thoughts"
    )
    ai_diary_full: bool = flag(True, "Show the diary's entries; off: only its thoughts.", group="Diary and thoughts")
    diary_history_days: int = flag(
        2, "How far back the diary is shown.", unit="days", low=0, high=365, group="Diary and thoughts"
    )
    diary_chars: int = flag(
        8000,
        "Most characters of diary in one prompt, whole entries, newest first.",
        unit="characters",
        low=0,
        high=100_000,
        group="Diary and thoughts",
    )
    enable_thoughts: bool = flag(True, "Show the persona's own thoughts.", group="Diary and thoughts")

    enable_memories: bool = flag(True, "Search for memories and show them.", group="Memories")
    memory_ranking: Ranking = flag(
        "relevance",
        "Which rows survive when more are found than shown: those that fit best, or the newest.",
        choices=get_args(Ranking),
        group="Memories",
    )
    snippet_chars: int = flag(
        400,
        "Characters shown of a memory.",
        unit="characters",
        low=80,
        high=4000,
        group="Memories",
    )
    snippet_window: SnippetWindow = flag(
        "start",
        "Which part of a long text is shown: its start, or the part around the match.",
        choices=get_args(SnippetWindow),
        group="Memories",
    )

    languages: tuple[str, ...] = flag(
        ("en",),
        "Languages spoken: their stop words are not searched for, and their word endings are known.",
        kind=Texts(LANGUAGE_CODES, "a list of language codes, such as en, de, ja"),
        group="Tags and words",
    )

    remember_phrases: Mapping[str, tuple[str, ...]] = flag(
        Frozen(),
        "Phrases that make a message worth keeping, by group; a group given here replaces the shipped one.",
        kind=Groups(PHRASE_GROUPS),
        default_means="the phrases in prompts/remember",
        group="Saving",
    )
    record_wishes: bool = flag(
        True,
        "Keep the standing instructions of messages, such as a name to be called by, a diet or a language.",
        group="Saving",
    )
    persona_id: str = flag(
        "default", "The persona that remembers, where the call names none.", kind=Key(), group="Saving"
    )
    persona_folder: str = flag(
        "personas",
        "Folder of the texts that say who a persona is, <persona>.md each; next to config.yaml where it is relative.",
        kind=Text("a folder"),
        group="Prompt",
    )

    private_stays_private: bool = flag(
        True, "Keep what was said in private out of other conversations of the same persona.", group="Privacy"
    )
    server_in_direct: bool = flag(
        False,
        "Let what a person said in public channels be known in their own direct messages, never the other way.",
        group="Privacy",
    )
    privacy_default: PrivacyLevel = flag(
        "none",
        "Level of people who have not chosen one: none keeps all, partial nothing for long, full nothing.",
        choices=get_args(PrivacyLevel),
        group="Privacy",
    )
    prompt_destination: PromptDestination = flag(
        "remote",
        "Where prompts go: what is marked as local only enters none that is remote.",
        choices=get_args(PromptDestination),
        group="Privacy",
    )

    database_url: str = flag(
        "",
        "Address of the database, such as mysql://user:password@host/name or sqlite:///file.db.",
        kind=Text("a connection string"),
        default_means="the embedded SQLite file",
        secret=True,
        group="Running",
    )
    db_timeout_seconds: float = flag(
        10.0, "Longest wait for the database in one call.", unit="seconds", low=0.1, high=600, group="Running"
    )
    templates_dir: Path | None = flag(
        None,
        "Folder whose files stand in place of files of the same name in prompts/.",
        kind=Folder(),
        default_means="none",
        group="Running",
    )


FLAGS: Mapping[str, Flag] = Frozen(sorted(Settings.declared().items(), key=lambda pair: [*GROUPS].index(pair[1].group)))
"""Every flag by its name in upper case, by group and then in the order of the declaration."""
