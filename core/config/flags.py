"""The declaration of every flag: default, range, unit, group and one sentence of help."""

# ruff: noqa: RUF009 - what `flag` returns is the field itself

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..scope import Destination
from ..shapes import Ranking
from .flag_base import Flag, FlagValues, flag, group
from .flag_types import LANGUAGE_CODES, EmbedderName, Folder, Frozen, Groups, Key, Text, Texts, Zone

RecapLimit = Literal["percent", "absolute"]
"""Unit of a limit on recaps. percent: of CONTEXT_TOKENS. absolute: tokens."""

RecapPosition = Literal["before_prompt", "in_prompt", "in_chat", "after_prompt"]
"""Place of recaps in a prompt. before_prompt: above the persona card. in_prompt: below the card. in_chat: within the
history. after_prompt: below the history."""

RecapRole = Literal["system", "user", "assistant"]
"""Role of the inserted recap."""

MemoryMode = Literal["agent", "plus", "basic", "project"]
"""agent: the model saves memories by calling a tool. plus: requests to remember are saved before the model answers.
basic: memories are read but none is saved. project: none is read or saved."""

PruneMode = Literal["any", "all"]
"""Items to prune. any: too old or too unimportant. all: too old and too unimportant."""

SnippetWindow = Literal["start", "match"]
"""Part of a text that is shown. start: the beginning of the text. match: the part around the first match."""

AnswerFormat = Literal["auto", "actions", "text"]
"""auto: actions if the hook `actions` returned any, else text. actions: one JSON object. text: the answer's words."""

PrivacyLevel = Literal["none", "partial", "full"]
"""none: everything is kept. partial: nothing is kept for the long term. full: nothing is kept."""

PHRASE_GROUPS = ("explicit", "facts", "preferences", "feelings", "refusals")


@dataclass(frozen=True, kw_only=True, repr=False)
class Settings(FlagValues):
    """Value of every flag, frozen. The groups are the headings of config.yaml and of the documentation."""

    group("Prompt", "Size of a prompt, and what happens when it does not fit.")
    context_verbosity: int = flag(
        10,
        "Maximum number of lines in each history list, and of memories, in one prompt, unless set by the flags below.",
        (0, 50),
        "items",
    )
    history_lines: int | None = flag(
        None, "Maximum number of lines of this conversation in one prompt.", (0, 500), "lines",
        default_means="value of CONTEXT_VERBOSITY",
    )  # fmt: skip
    memory_items: int | None = flag(
        None, "Maximum number of memories in one prompt.", (0, 500), "items", default_means="value of CONTEXT_VERBOSITY"
    )
    prompt_lite_mode: bool = flag(
        False,
        "Small prompts: 3 lines a list, 2 thoughts, 2 memories, 2 recent conversations, 10 saved texts, short actions.",
    )
    answer_format: AnswerFormat = flag(
        "auto",
        "Form of the answer: actions in JSON, plain text, or auto (actions if the hook `actions` returned some).",
    )
    max_prompt_chars: int = flag(
        0, "Maximum number of characters of a prompt, unless set by the call or by the hook `engine_limit`.",
        (0, 10_000_000), "characters", default_means="no limit",
    )  # fmt: skip
    include_local_time_in_prompts: bool = flag(
        True, "Use real time: local time and dates in prompts, and the days that a question names in searches."
    )
    timezone: str = flag("UTC", "Time zone of lines in JSON prompts; elsewhere the message's zone wins.", kind=Zone())
    enable_tags_placeholder: bool = flag(
        True, "Keep the empty list tags_placeholder in the context, for hosts that fill it."
    )
    persona_folder: str = flag(
        "personas",
        "Folder of the personas' texts, one file <persona>.md each; a relative path starts beside config.yaml.",
        kind=Text("a folder"),
    )

    group("History", "Lines of this conversation and of others.")
    enable_history_current_chat: bool = flag(True, "Show the lines of this conversation.")
    enable_history_recent: bool = flag(True, "Show lines of other conversations.")
    unified_history: bool = flag(
        True, "Show other conversations of all interfaces, also stored ones; off: only live ones of the same interface."
    )
    chat_history: int = flag(10, "Number of lines that load_chat_history reads by default.", (1, 1000), "lines")

    group("Diary and thoughts", "The persona's diary and its thoughts.")
    enable_ai_diary: bool = flag(True, "Show the diary in prompts; off: neither entries nor thoughts.")
    ai_diary_full: bool = flag(True, "Show diary entries; off: only the thoughts in them.")
    diary_history_days: int = flag(2, "Maximum age of the diary entries shown.", (0, 365), "days")
    diary_chars: int = flag(
        8000, "Maximum number of diary characters in a prompt; whole entries, newest first.", (0, 100_000), "characters"
    )
    enable_thoughts: bool = flag(True, "Show the persona's own thoughts.")

    group("Memories", "How rows are found and shown.")
    embedder: str = flag(
        "", "URL of an OpenAI-compatible server that embeds texts.", kind=EmbedderName(),
        default_means="no embedder, unless the host passes one: search by words only",
    )  # fmt: skip
    embedder_model: str = flag(
        "", "Name of the embedding model; after a change all rows are embedded again.",
        kind=Text("a name of at most 80 bytes", limit_bytes=80), default_means="the server's default model",
    )  # fmt: skip
    embedder_api_key: str = flag(
        "", "API key for the embedding server.", kind=Text("a key"), default_means="none", secret=True
    )
    enable_memories: bool = flag(True, "Search for memories and show them in prompts.")
    memory_ranking: Ranking = flag(
        "relevance", "Rows to keep if more are found than shown: the most relevant, or the newest."
    )
    snippet_chars: int = flag(400, "Number of characters shown of a memory.", (80, 1_000_000), "characters")
    snippet_window: SnippetWindow = flag(
        "match", "Part of a long text that is shown: the part around the match, or its start."
    )

    enable_upcoming: bool = flag(True, "Show up to three earlier lines about one of the next seven days.")

    group("Tags and words", "How search words are taken from a message.")
    languages: tuple[str, ...] = flag(
        ("en",),
        "Languages of the conversations; search uses their stop words and word endings.",
        kind=Texts(LANGUAGE_CODES, "a list of language codes, such as en, de, ja"),
    )

    group("Saving", "What is stored, and for which persona.")
    remember_phrases: Mapping[str, tuple[str, ...]] = flag(
        Frozen(), "Phrases that make a message worth storing, by group; a group set here replaces the shipped one.",
        kind=Groups(PHRASE_GROUPS), default_means="the phrases in prompts/remember",
    )  # fmt: skip
    record_wishes: bool = flag(
        True, "Store standing instructions found in messages, such as a form of address, a diet or a language."
    )
    persona_id: str = flag("default", "Persona to use if the call names none.", kind=Key())

    group("Conversations", "Ended conversations, and saved memories.")
    enable_recent_conversations: bool = flag(True, "Store and show a list of ended conversations.")
    max_recent_conversations: int = flag(30, "Maximum number of ended conversations listed.", (10, 50), "conversations")
    enable_saved_memory: bool = flag(True, "Store and show the memories that people asked to save.")
    saved_chars: int = flag(
        6000,
        "Maximum number of characters of saved memories in a prompt: pinned ones, matching ones, then the newest.",
        (0, 1_000_000),
        "characters",
    )
    enabled_tool_ids: tuple[str, ...] = flag(
        (), "Tools that may be offered to the model.", kind=Texts(), default_means="every tool"
    )
    memory_mode: MemoryMode = flag("agent", "Who reads and saves memories; see the table in docs/conversations.md.")
    memory_folder_name: str = flag("memory", "Folder of the two Markdown files of memories.", kind=Text("a folder"))

    group("Short-term memory", "Latest lines of other channels.")
    enable_short_term: bool = flag(True, "Show the latest lines of other channels.")
    short_term_memory_ttl_hours: float = flag(
        12.0, "Age at which the latest lines of a channel are deleted.", (0.01, 8760), "hours"
    )
    short_term_memory_summary_ttl_hours: float = flag(
        24.0, "Age at which the summary of a channel is deleted.", (0.01, 8760), "hours"
    )
    short_term_memory_max_messages_per_channel: int = flag(
        10, "Maximum number of lines stored per person and channel, answers included.", (1, 200), "messages"
    )
    short_term_max_channels: int = flag(3, "Maximum number of other channels in a prompt.", (0, 50), "channels")

    group("Long-term memory", "Facts kept from conversations, how long they are kept, and how relationships fade.")
    session_ttl_sec: int = flag(
        604_800, "Age at which a session item expires, except in the active conversation.", (60, 315_360_000), "seconds"
    )
    memory_consolidation_interval_sec: int = flag(
        1800, "Time between two cycles of consolidation while a worker runs.", (60, 604_800), "seconds"
    )
    consolidate_every_n_messages: int = flag(
        30, "Number of new messages after which a worker consolidates a conversation; 0 for never.", (0, 10_000),
        "messages",
    )  # fmt: skip
    consolidation_window: int = flag(
        120, "Number of messages consolidated at once, oldest first.", (20, 500), "messages"
    )
    deep_consolidation_every_n_streams: int = flag(
        5, "Number of ended streams after which deep consolidation runs; 0 means 5.", (0, 10_000), "ends"
    )
    prune_max_age_days: int = flag(365, "Age at which a long-term item is too old.", (1, 36_500), "days")
    prune_max_importance: float = flag(0.25, "A long-term item below this importance is too unimportant.", (0, 1))
    prune_mode: PruneMode = flag("all", "Items to prune: any (too old or too unimportant) or all (only if both).")
    prune_by_itself: bool = flag(
        False, "Prune long-term items also in the background, with every deep consolidation; off: only on request."
    )
    decay_days: int = flag(60, "Days without a message after which affinity is 0 again.", (1, 3650), "days")
    enable_relationship: bool = flag(True, "Show the persona's relationship to the sender of the message.")

    group("Stories", "Recaps, scenes and the running recap of long conversations.")
    recap_on_message: bool = flag(False, "Queue a recap of every saved message, and the search for scene breaks.")
    enable_message_recaps: bool = flag(False, "Show the recaps of older messages of this conversation.")
    enable_running_recap: bool = flag(True, "Show the running recap of this conversation.")
    running_scene_recap_auto_generate: bool = flag(True, "Update the running recap after each scene recap.")
    include_user_messages: bool = flag(True, "Make and show recaps of what people said.")
    include_system_messages: bool = flag(True, "Make and show recaps of system messages.")
    include_narrator_messages: bool = flag(True, "Make and show recaps of the narrator's messages.")
    message_length_threshold: int = flag(0, "A message with fewer tokens gets no recap.", (0, 100_000), "tokens")
    message_recap_context_limit: int = flag(
        10, "Maximum size of all message recaps: percent of CONTEXT_TOKENS, or tokens.", (0, 10_000_000)
    )
    message_recap_context_type: RecapLimit = flag("percent", "Unit of MESSAGE_RECAP_CONTEXT_LIMIT.")
    running_recap_context_limit: int = flag(
        15, "Maximum size of the running recap, in percent of CONTEXT_TOKENS.", (0, 100), "percent"
    )
    context_tokens: int = flag(8192, "Context size of the model.", (256, 10_000_000), "tokens")
    auto_hide_scene_count: int = flag(
        1, "Number of newest scenes that stay in the history, including the current one; -1 hides nothing.", (-1, 1000),
        "scenes",
    )  # fmt: skip
    scene_min_length: int = flag(10, "Minimum number of messages of a detected scene.", (1, 1000), "messages")
    scene_gap_hours: float = flag(
        6.0, "Without a model, a longer pause between two messages ends a scene.", (0, 1000), "hours"
    )
    scene_recap_position: RecapPosition = flag("in_chat", "Position of the running recap among the messages.")
    scene_recap_depth: int = flag(2, "Number of messages after the running recap.", (0, 1000), "messages")
    scene_recap_role: RecapRole = flag("user", "Role of the message with the running recap.")
    scene_recap_scan: bool = flag(False, "Tell the host to scan the running recap for the host's own triggers.")

    group("Jobs and model", "Background work, and the model it asks.")
    llm_base_url: str = flag(
        "", "URL of an OpenAI-compatible model server, such as http://127.0.0.1:11434/v1.", kind=Text("an address"),
        default_means="no model: recaps are extracts",
    )  # fmt: skip
    llm_model: str = flag(
        "", "Name of the model to ask.", kind=Text("a name"),
        default_means="the model of the last chat through the proxy; without one no model is asked",
    )  # fmt: skip
    llm_api_key: str = flag("", "API key for the model server.", kind=Text("a key"), default_means="none", secret=True)
    llm_daily_calls: int = flag(
        1000, "Maximum number of model calls a day (UTC) for recaps, summaries and facts; others wait. 0: no limit.",
        (0, 1_000_000_000), "calls",
    )  # fmt: skip
    llm_timeout_seconds: float = flag(60.0, "Longest wait for one answer of the model.", (0.1, 3600), "seconds")

    group("Privacy", "What is stored about people, and who sees it.")
    private_stays_private: bool = flag(True, "Keep private messages out of other conversations of the same persona.")
    server_in_direct: bool = flag(
        False, "Let direct messages see public messages of the servers on which the person has spoken."
    )
    privacy_default: PrivacyLevel = flag(
        "none", "Level of people without one: none keeps all, partial nothing long-term, full nothing; a typo is full."
    )
    prompt_destination: Destination = flag(
        "remote", "Destination of prompts: remote prompts contain nothing that is marked local_only."
    )

    group("Admin", "Address and token of the admin server.")
    admin_host: str = flag(
        "127.0.0.1", "Address the admin server listens on; with the default, only this machine can connect.",
        kind=Text("an address"), default_means="this machine only",
    )  # fmt: skip
    admin_port: int = flag(8765, "Port the admin server listens on.", (1, 65_535))
    admin_token: str = flag(
        "", "Token of the operator for the admin server, at least 16 characters.", kind=Text("a token"),
        default_means="none: the admin server does not start", secret=True,
    )  # fmt: skip
    allowed_origins: tuple[str, ...] = flag(
        (), "Origins of web pages that may call the HTTP API, MCP or the proxy, such as https://chat.example.",
        kind=Texts(), default_means="none",
    )  # fmt: skip
    proxy_context_chars: int = flag(
        8000, "Maximum number of characters that the proxy adds to a request; 0 adds nothing.", (0, 1_000_000),
        "characters",
    )  # fmt: skip
    proxy_memory_seconds: float = flag(
        2.0, "Longest time a proxied request waits for memories; then it continues without.", (0.1, 600), "seconds"
    )
    proxy_shared_memory: bool = flag(
        False, "Let conversations named by a front end share all memories of their user, not only saved ones."
    )

    group("Running", "Database, time limits, threads, templates.")
    database_url: str = flag(
        "", "URL of the database, such as mysql://user:password@host/name or sqlite:///file.db.",
        kind=Text("a connection string"), default_means="the embedded SQLite file", secret=True,
    )  # fmt: skip
    db_timeout_seconds: float = flag(10.0, "Longest wait for the database in one call.", (0.1, 600), "seconds")
    templates_dir: Path | None = flag(
        None, "Folder of files that replace the files of the same name in prompts/.", kind=Folder(),
        default_means="none",
    )  # fmt: skip


FLAGS: Mapping[str, Flag] = Settings.declared()
