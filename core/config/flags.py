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
"""Part of a text that is shown. start: its beginning. match: the part around the first match."""

AnswerFormat = Literal["auto", "actions", "text"]
"""auto: actions if the hook `actions` gave some, else text. actions: one JSON object. text: the words of the answer."""

PrivacyLevel = Literal["none", "partial", "full"]
"""none: everything is kept. partial: nothing is kept for the long term. full: nothing is kept."""

PHRASE_GROUPS = ("explicit", "facts", "preferences", "feelings", "refusals")


@dataclass(frozen=True, kw_only=True, repr=False)
class Settings(FlagValues):
    """Value of every flag, frozen. The groups are the headings of config.yaml and of the documentation."""

    group("Prompt", "How much a prompt holds, and what happens when it does not fit.")
    context_verbosity: int = flag(
        10,
        "Most lines in each history list, and most memories, in one prompt, where the flags below say nothing.",
        (0, 50),
        "items",
    )
    history_lines: int | None = flag(
        None,
        "Most lines of this conversation in one prompt.",
        (0, 500),
        "lines",
        default_means="that of CONTEXT_VERBOSITY",
    )
    memory_items: int | None = flag(
        None, "Most memories in one prompt.", (0, 500), "items", default_means="that of CONTEXT_VERBOSITY"
    )
    prompt_lite_mode: bool = flag(
        False,
        "Make prompts small: 3 lines a list, 2 thoughts, memories and recent conversations, 10 saved, short actions.",
    )
    answer_format: AnswerFormat = flag(
        "auto",
        "How the model is asked to answer: actions in JSON, plain text, or by whether the host's hook gave actions.",
        choices=AnswerFormat,
    )
    max_prompt_chars: int = flag(
        0,
        "Most characters a prompt may have, where neither the call nor the engine says it.",
        (0, 10_000_000),
        "characters",
        default_means="no limit",
    )
    include_local_time_in_prompts: bool = flag(
        True, "Tell the local time, hour and time of day of the person who writes."
    )
    timezone: str = flag("UTC", "Zone in which times are shown, where the message names none.", kind=Zone())
    enable_tags_placeholder: bool = flag(
        True, "Keep the empty list tags_placeholder in the context, for hosts that fill it."
    )
    persona_folder: str = flag(
        "personas",
        "Folder of the texts that say who a persona is, <persona>.md each; next to config.yaml where it is relative.",
        kind=Text("a folder"),
    )

    group("History", "The lines of this conversation and of others.")
    enable_history_current_chat: bool = flag(True, "Show the lines of this conversation.")
    enable_history_recent: bool = flag(True, "Show lines of other conversations.")
    unified_history: bool = flag(
        True, "Take other conversations from every interface, stored ones too; off: live ones of the same interface."
    )
    chat_history: int = flag(10, "Lines that load_chat_history reads by default.", (1, 1000), "lines")

    group("Diary and thoughts", "What the persona wrote for itself.")
    enable_ai_diary: bool = flag(True, "Read the diary for prompts; off: neither its entries nor its thoughts.")
    ai_diary_full: bool = flag(True, "Show the diary's entries; off: only its thoughts.")
    diary_history_days: int = flag(2, "How far back the diary is shown.", (0, 365), "days")
    diary_chars: int = flag(
        8000, "Most characters of diary in one prompt, whole entries, newest first.", (0, 100_000), "characters"
    )
    enable_thoughts: bool = flag(True, "Show the persona's own thoughts.")

    group("Memories", "Which rows are found, and how they are shown.")
    embedder: str = flag(
        "",
        "What makes vectors of texts: the address of a server in the OpenAI dialect.",
        kind=EmbedderName(),
        default_means="none, unless the host passes one: words alone decide",
    )
    embedder_model: str = flag(
        "",
        "Name of the embedding model; with another name rows are embedded again.",
        kind=Text("a name of at most 80 bytes", limit_bytes=80),
        default_means="what the server takes",
    )
    embedder_api_key: str = flag(
        "", "Key sent to the server of embeddings.", kind=Text("a key"), default_means="none", secret=True
    )
    enable_memories: bool = flag(True, "Search for memories and show them.")
    memory_ranking: Ranking = flag(
        "relevance",
        "Which rows survive when more are found than shown: those that fit best, or the newest.",
        choices=Ranking,
    )
    snippet_chars: int = flag(400, "Characters shown of a memory.", (80, 4000), "characters")
    snippet_window: SnippetWindow = flag(
        "start", "Which part of a long text is shown: its start, or the part around the match.", choices=SnippetWindow
    )

    enable_upcoming: bool = flag(True, "Show up to three lines that were said before about one of the next seven days.")

    group("Tags and words", "What is taken from a message to search with.")
    languages: tuple[str, ...] = flag(
        ("en",),
        "Languages spoken: their stop words are not searched for, and their word endings are known.",
        kind=Texts(LANGUAGE_CODES, "a list of language codes, such as en, de, ja"),
    )

    group("Saving", "What is worth keeping, and for whom it is kept.")
    remember_phrases: Mapping[str, tuple[str, ...]] = flag(
        Frozen(),
        "Phrases that make a message worth keeping, by group; a group given here replaces the shipped one.",
        kind=Groups(PHRASE_GROUPS),
        default_means="the phrases in prompts/remember",
    )
    record_wishes: bool = flag(
        True, "Keep the standing instructions of messages, such as a name to be called by, a diet or a language."
    )
    persona_id: str = flag("default", "The persona that remembers, where the call names none.", kind=Key())

    group("Conversations", "Conversations that ended, and what people asked to remember.")
    enable_recent_conversations: bool = flag(True, "Keep and show a list of conversations that ended.")
    max_recent_conversations: int = flag(30, "Conversations kept on that list.", (10, 50), "conversations")
    enable_saved_memory: bool = flag(True, "Keep and show what people asked to remember.")
    saved_chars: int = flag(
        6000,
        "Most characters of saved memories in one prompt: pinned ones, those that fit the message, then the newest.",
        (0, 1_000_000),
        "characters",
    )
    enabled_tool_ids: tuple[str, ...] = flag(
        (), "Tools that may be offered to the model.", kind=Texts(), default_means="every tool"
    )
    memory_mode: MemoryMode = flag(
        "agent", "Who reads and saves memories: see the table in the documentation.", choices=MemoryMode
    )
    memory_folder_name: str = flag("memory", "Folder of the two Markdown files.", kind=Text("a folder"))

    group("Short-term memory", "What was just said in other channels.")
    enable_short_term: bool = flag(True, "Show what was said a moment ago in other channels.")
    short_term_memory_ttl_hours: float = flag(
        12.0, "Age at which what was just said in a channel is forgotten.", (0.01, 8760), "hours"
    )
    short_term_memory_summary_ttl_hours: float = flag(
        24.0, "Age at which the summary of a channel is forgotten.", (0.01, 8760), "hours"
    )
    short_term_memory_max_messages_per_channel: int = flag(10, "Messages kept of each channel.", (1, 200), "messages")
    short_term_max_channels: int = flag(3, "Most other channels in one prompt, the newest.", (0, 50), "channels")

    group(
        "Long-term memory", "What becomes of conversations for good, how long it is kept, and how relationships fade."
    )
    session_ttl_sec: int = flag(
        604_800,
        "Age at which a session item expires, outside of the active conversation.",
        (60, 315_360_000),
        "seconds",
    )
    memory_consolidation_interval_sec: int = flag(
        1800, "Time between two cycles of consolidation while a worker runs.", (60, 604_800), "seconds"
    )
    consolidate_every_n_messages: int = flag(
        30,
        "New messages of a conversation after which a worker consolidates it; 0 for none.",
        (0, 10_000),
        "messages",
    )
    consolidation_window: int = flag(120, "Messages consolidated at once, the oldest first.", (20, 500), "messages")
    deep_consolidation_every_n_streams: int = flag(
        5, "Ends of streams after which deep consolidation runs; 0 is 5.", (0, 10_000), "ends"
    )
    prune_max_age_days: int = flag(365, "Age at which a long-term item is too old.", (1, 36_500), "days")
    prune_max_importance: float = flag(0.25, "A long-term item below this importance is too unimportant.", (0, 1))
    prune_mode: PruneMode = flag(
        "all", "Whether an item goes that is too old or too unimportant, or only one that is both.", choices=PruneMode
    )
    prune_by_itself: bool = flag(
        False,
        "Prune long-term items in the background too, with every deep consolidation; else only when somebody asks.",
    )
    decay_days: int = flag(60, "Days without a word after which affinity is back at 0.", (1, 3650), "days")
    enable_relationship: bool = flag(True, "Show the persona's relationship to whoever wrote the message.")

    group("Stories", "Recaps, scenes and the running recap of long conversations.")
    recap_on_message: bool = flag(
        False, "Queue a recap of every message that is saved, and the search for scene breaks."
    )
    enable_message_recaps: bool = flag(False, "Show the recaps of older messages of this conversation.")
    enable_running_recap: bool = flag(True, "Show the running recap of this conversation.")
    running_scene_recap_auto_generate: bool = flag(True, "Bring the running recap up to date after each scene recap.")
    include_user_messages: bool = flag(True, "Make and show recaps of what people said.")
    include_system_messages: bool = flag(True, "Make and show recaps of system messages.")
    include_narrator_messages: bool = flag(True, "Make and show recaps of the narrator's messages.")
    message_length_threshold: int = flag(0, "A message with fewer tokens gets no recap.", (0, 100_000), "tokens")
    message_recap_context_limit: int = flag(
        10, "Room for message recaps: percent of CONTEXT_TOKENS, or tokens.", (0, 10_000_000)
    )
    message_recap_context_type: RecapLimit = flag(
        "percent", "What MESSAGE_RECAP_CONTEXT_LIMIT counts.", choices=RecapLimit
    )
    running_recap_context_limit: int = flag(
        15, "Room for the running recap in percent of CONTEXT_TOKENS.", (0, 100), "percent"
    )
    context_tokens: int = flag(8192, "Tokens the model reads at once.", (256, 10_000_000), "tokens")
    auto_hide_scene_count: int = flag(
        1, "Newest scenes that stay in the history, the one under way counted; -1 hides nothing.", (-1, 1000), "scenes"
    )
    scene_min_length: int = flag(10, "Fewest messages of a scene that is found.", (1, 1000), "messages")
    scene_gap_hours: float = flag(
        6.0, "Without a model, a longer time between two messages ends a scene.", (0, 1000), "hours"
    )
    scene_recap_position: RecapPosition = flag(
        "in_chat", "Where the running recap is put among messages.", choices=RecapPosition
    )
    scene_recap_depth: int = flag(2, "Messages that come after the running recap.", (0, 1000), "messages")
    scene_recap_role: RecapRole = flag("user", "Who says the running recap.", choices=RecapRole)
    scene_recap_scan: bool = flag(False, "Tell the host that the running recap is to be scanned for its own triggers.")

    group("Jobs and model", "What is done in the background, and the model that is asked.")
    llm_base_url: str = flag(
        "",
        "Address of a model server in the OpenAI dialect, such as http://127.0.0.1:11434/v1.",
        kind=Text("an address"),
        default_means="no model: recaps are extracts",
    )
    llm_model: str = flag(
        "",
        "Name of the model to ask.",
        kind=Text("a name"),
        default_means="the model of the last chat through the proxy; without one no model is asked",
    )
    llm_api_key: str = flag("", "Key sent to the model server.", kind=Text("a key"), default_means="none", secret=True)
    llm_daily_calls: int = flag(
        1000,
        "Most calls of the model a day (UTC) for recaps, summaries and facts; the rest waits. 0 is no limit.",
        (0, 1_000_000_000),
        "calls",
    )
    llm_timeout_seconds: float = flag(60.0, "Longest wait for one answer of the model.", (0.1, 3600), "seconds")

    group("Privacy", "Who is remembered, and who sees what.")
    private_stays_private: bool = flag(
        True, "Keep what was said in private out of other conversations of the same persona."
    )
    server_in_direct: bool = flag(
        False,
        "Let a direct message see what anybody said in public on the servers where its person has spoken.",
    )
    privacy_default: PrivacyLevel = flag(
        "none",
        "Level of people who have not chosen one: none keeps all, partial nothing for long, full nothing.",
        choices=PrivacyLevel,
    )
    prompt_destination: Destination = flag(
        "remote",
        "Where prompts go: what is marked as local only enters none that is remote.",
        choices=Destination,
    )

    group("Admin", "Where the admin server listens, and what an operator shows to it.")
    admin_host: str = flag(
        "127.0.0.1",
        "Address the admin server listens on; every other than the default lets other machines in.",
        kind=Text("an address"),
        default_means="this machine alone",
    )
    admin_port: int = flag(8765, "Port the admin server listens on.", (1, 65_535))
    admin_token: str = flag(
        "",
        "What an operator shows to the admin server, at least 16 characters.",
        kind=Text("a token"),
        default_means="none: the admin server does not start",
        secret=True,
    )
    allowed_origins: tuple[str, ...] = flag(
        (),
        "Origins of pages in a browser that may ask the HTTP API, MCP or the proxy, such as https://chat.example.",
        kind=Texts(),
        default_means="none",
    )
    proxy_context_chars: int = flag(
        8000, "Most characters that the proxy puts into a request; 0 puts in nothing.", (0, 1_000_000), "characters"
    )
    proxy_memory_seconds: float = flag(
        2.0, "Longest time a request to the proxy waits for its memory; then it goes on without.", (0.1, 600), "seconds"
    )
    proxy_shared_memory: bool = flag(
        False, "Let conversations that a front end names share all memories of their user, not only the saved ones."
    )

    group("Running", "Database, time limits, threads, templates.")
    database_url: str = flag(
        "",
        "Address of the database, such as mysql://user:password@host/name or sqlite:///file.db.",
        kind=Text("a connection string"),
        default_means="the embedded SQLite file",
        secret=True,
    )
    db_timeout_seconds: float = flag(10.0, "Longest wait for the database in one call.", (0.1, 600), "seconds")
    templates_dir: Path | None = flag(
        None,
        "Folder whose files stand in place of files of the same name in prompts/.",
        kind=Folder(),
        default_means="none",
    )


FLAGS: Mapping[str, Flag] = Settings.declared()
"""All flags by name in upper case, in the order of declaration."""
