"""Every parser of the package as something that takes one value: what is fuzzed, and what it may raise.

`test_parsers` gives them values by hypothesis, `test_bounds` long and deep ones. A parser may raise the project's own
errors, and TypeError or ValueError where it says so for arguments of a wrong kind. Anything else is a finding.
"""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from core.base import yaml_text
from core.config import load
from core.config.flags import FLAGS
from core.config.levels import known_flag, read_entries
from core.context import context, incoming, lines, live
from core.conversations import memory_files, memory_tool
from core.conversations import rules_summaries as summaries
from core.database import connections as connecting
from core.database import rows
from core.errors import CoreError
from core.lifelong import rules_consolidation as consolidation
from core.memories import new_item as memory_input
from core.messages import new_message as chat_messages
from core.prompt import messages, rules_answer
from core.relationships import rules as relationships
from core.scope import Scope
from core.search import question
from core.search import rules_arguments as arguments
from core.shapes import Vocabulary
from core.short_term import turns as short_term_turn
from core.stories import handlers, rules_recaps, rules_running, rules_scenes
from core.tags import rules as tags
from core.templates.files import TemplateError
from core.templates.render import Renderer
from core.templates.words import load_phrases, refused_patterns
from core.text import extracts, hits, languages, question_words, replies, sizes, strict_json, times, words
from core.text import folding as text
from core.text import remember_phrases as remember
from core.transfer import fields as transfer_fields
from core.transfer.imports import import_file
from core.transfer.items import storage as item_rows
from core.transfer.items.formats import read_items
from core.upkeep import check as checking
from tests.fuzz import strategies as of

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
PARTS = ("context", "input", "instructions", "actions")
ACTIONS = {"actions": {"message_web": {}}}
SPEECH = ("en", "de", "es", "ja", "zh", "ru", "ar", "th")


@dataclass(frozen=True)
class Target:
    name: str
    call: Callable[[Any], object]
    allowed: tuple[type[BaseException], ...] = (CoreError,)
    """What it may raise."""

    written: st.SearchStrategy[str] = field(default_factory=st.nothing)
    """Texts of its own format, beside those that every parser of texts gets."""

    slowness: int = 1
    """How many times fewer inputs it gets: it calls its parser many times, or writes a file."""

    def survives(self, value: Any) -> object:
        try:
            return self.call(value)
        except self.allowed as error:
            return str(error)


_ARGUMENT = (CoreError, TypeError, ValueError)


@lru_cache(maxsize=1)
def _known() -> tuple[Any, Any]:
    return load_phrases("en"), refused_patterns()


@lru_cache(maxsize=1)
def _vocabulary() -> Vocabulary:
    return Vocabulary(dict.fromkeys(("cat", "rome", "homework", "数学", "new york", "😀"), 1), {"kitty": "cat"})


def _question(value: str) -> object:
    asked = question.read_question(value, now=NOW, zone=UTC, languages=SPEECH)
    return asked, question.named(value, ("Ann", "Bob"), SPEECH)


def _remember(value: str) -> object:
    phrases = _known()[0]
    return remember.read_statements(value, [phrases]), remember.should_remember(value, value, [phrases])


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _item(value: Any) -> object:
    return item_rows.read_item(value, Scope(), "fact", now=NOW, session_ttl_seconds=3600)


def _items(value: str) -> object:
    rows_of_file = read_items(_encode(value)).rows
    row = Target("row", _item, (CoreError, TypeError))
    return [row.survives(each.value) for each in rows_of_file]


def _of_syntax(syntax: Any) -> Callable[[str], object]:
    def read(value: str) -> object:
        return [row.number for row in read_items(_encode(value), syntax).rows]

    return read


def _chat_file(value: str) -> object:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "chat.jsonl")
        path.write_bytes(_encode(value))
        return import_file(path, dry_run=True)


def _template(kind: str) -> Callable[[str], object]:
    name = f"fuzzed.{kind}.j2"

    def render(value: str) -> object:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, name).write_bytes(_encode(value))
            renderer = Renderer(folder)
            with_values = {"line": "a", "items": ["a", {"b": "c"}], "tone": None}
            return renderer.text(name, **with_values) if kind == "txt" else renderer.json(name, **with_values)

    return render


def _texts(value: str) -> object:
    return (text.fold(value), text.collapsed(value), list(text.runs(text.fold(value))), words.words(value),
            words.index_terms(text.fold(value)), hits.snippet(value, 200), hits.find_match(value, ["a", "猫"]),
            hits.content_digest(value), lines.one_line(value), lines.quoted(value), sizes.estimate_tokens(value),
            tags.normal(value), rows.short_interface(value))  # fmt: skip


def _scene_answer(value: Any) -> object:
    return rules_scenes.read_break(value, rules_scenes.BreakLimits(20, 3, 2), {1, 2})


def _secondary(value: str) -> object:
    patterns: tuple[str, ...] = _known()[1]
    facts = [consolidation.read_reply(value, patterns=patterns, deep=is_deep) for is_deep in (False, True)]
    summary = summaries.read_reply(value, (), patterns=patterns)
    judged = replies.judge_refusal(value, "x" * 300, patterns=patterns)
    return replies.read_object(value, ("title", "summary")), replies.strip_thoughts(value), summary, facts, judged


TEXT_TARGETS: tuple[Target, ...] = (
    Target("texts", _texts),
    Target("replies", _secondary, written=of.reply_texts),
    Target("tool calls", memory_tool.parse_tool_call, written=of.reply_texts),
    Target(
        "Markdown files",
        lambda text: (memory_files.read_sections(text), memory_files.read_bullets(text)),
        written=of.markdown_texts,
    ),
    Target("tags of a text", lambda text: tags.extract(text, vocabulary=_vocabulary(), languages=("en", "de"))),
    Target("questions", _question),
    Target("requests to remember", _remember),
    Target("languages", lambda value: (languages.read_language(value), question_words.is_question(value, SPEECH))),
    Target("extracts", lambda text: (extracts.build_extract([text]), extracts.fit_text(text, lambda part: not part))),
    Target("items", _items, written=of.json_texts | of.yaml_texts | of.json_values | of.duplicate_keys),
    Target("items in JSON", _of_syntax("json"), written=of.json_texts | of.duplicate_keys),
    Target("items in lines", _of_syntax("jsonl"), written=of.json_values),
    Target("chat files", _chat_file, written=of.tavern | of.json_values, slowness=2),
    Target("config.yaml", lambda text: list(read_entries("config.yaml", _encode(text), [])), written=of.yaml_texts),
    Target("values in YAML", yaml_text.read_value, (yaml_text.YamlError,), of.yaml_texts),
    Target("text templates", _template("txt"), (TemplateError,), of.template_texts, slowness=2),
    Target("JSON templates", _template("json"), (TemplateError,), of.template_texts, slowness=2),
    Target(
        "dates",
        lambda text: (times.read_time(text), times.zone(text), transfer_fields.read_time(text)),
        written=of.time_texts,
    ),
    Target("connection strings", connecting.parse_url, written=of.urls),
    Target("what servers say", lambda text: (checking.check_rights([text], "db", "app@%"), checking.product_of(text))),
    Target("running recaps", handlers.read_text, written=of.reply_texts),
    Target("answers", lambda value: rules_answer.parse_answer(value, ACTIONS), written=of.reply_texts),
    Target("scene answers", _scene_answer, written=of.reply_texts),
)


def _flag_texts(value: Any) -> object:
    return load(environ=dict.fromkeys(FLAGS, value if isinstance(value, str) else repr(type(value))))


def _incoming(value: Any) -> object:
    read = incoming.IncomingMessage.read(value, context_memory=value, now=NOW)
    return incoming.input_facts(read, image_data=value, attachments=value)


def _filled(value: Any) -> object:
    names = "chat_id text from_user chat reply_to_message entities photo is_private server_id thread_id"
    return _incoming({"message_id": 1, "date": NOW, "interface": "x", **dict.fromkeys(names.split(), value)})


def _memory(value: Any) -> object:
    names = ("author", "tags", "timestamp", "importance", "metadata", "kind", "emotion", "intensity", "source", "label")
    return memory_input.read(value, now=NOW, **dict.fromkeys(names, value))


def _one_by_one(read: Callable[..., object], names: str, value: Any, allowed: Any) -> list[object]:
    return [Target(name, lambda it, name=name: read(**{name: it}), allowed).survives(value) for name in names.split()]


def _one_memory(value: Any) -> object:
    names = "author tags timestamp importance metadata kind source_message_ids expires_at"
    return _one_by_one(partial(memory_input.read, "x", now=NOW), names, value, _ARGUMENT)


def _chat_line(value: Any) -> object:
    read = partial(chat_messages.read_message, Scope(conversation="tg/1"))
    names = "sender_name sender_id timestamp metadata message_id role triggered_by title"
    found = _one_by_one(partial(read, "tg/1", "x", now=NOW), names, value, (CoreError,))
    return found, read(value, value, now=NOW)


def _turn(value: Any) -> object:
    return short_term_turn.read_turn(value, value, {"messages": value, "user": value} if value else {})


VALUE_TARGETS: tuple[Target, ...] = (
    Target("messages", _incoming), Target("messages of odd parts", _filled),
    Target("live messages", lambda value: (live.read_context_memory(value), live.read_line(value, "tg/1", 0))),
    Target("flags", lambda value: [load({name: value}, environ={}) for name in FLAGS], slowness=6),
    Target("flag texts", _flag_texts, slowness=6),
    Target("flag names", lambda value: known_flag(value) if isinstance(value, str) else None),
    Target("tags", lambda value: (tags.stored_form(value), arguments.read_tags(value)), _ARGUMENT),
    Target("keywords", arguments.read_keywords, _ARGUMENT), Target("limits", arguments.read_limit),
    Target("search times", lambda value: arguments.read_time(value, "since"), _ARGUMENT),
    Target("exclusions", arguments.read_exclude, _ARGUMENT),
    Target("times", lambda value: (times.read_time(value), times.local_time(NOW, value))),
    Target("native tool calls", memory_tool.parse_tool_call, _ARGUMENT), Target("hits of a host", context.read_hits),
    Target("recap values", lambda value: [rules_recaps.read_value(k, value) for k in rules_recaps.KINDS], _ARGUMENT),
    Target("running recap data", lambda value: rules_running.read_scenes({"scenes": value})),
    Target("answers about scenes", _scene_answer), Target("memory items", _memory, _ARGUMENT),
    Target("parts of memory items", _one_memory), Target("chat lines", _chat_line),
    Target("rows of an import", _item, (CoreError, TypeError)), Target("turns", _turn, _ARGUMENT),
    Target("strict JSON", strict_json.make_strict),
    Target("sizes", lambda value: sizes.size({"a": strict_json.make_strict(value)[0]})),
    Target("prompts as messages", lambda value: messages.to_messages(dict.fromkeys(PARTS, value)), _ARGUMENT),
    Target("stored values", lambda value: (rows.read_json(value), rows.read_list(value), rows.read_object(value))),
    Target("scopes", lambda value: Scope(persona=value, conversation=value, participant=value, server=value)),
    Target("relationship changes", lambda value: relationships.read_delta(value, "affinity"), _ARGUMENT),
    Target("conversation messages", lambda value: summaries.read_messages(value, "tg/1"), _ARGUMENT),
)  # fmt: skip
