"""One scripted story over every door that stores, searches and builds, and what it gave: the list of behaviours of D5
and G27. Ids are replaced by labels, so that two engines, or two servers, can be compared for equality.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from datetime import timedelta
from functools import lru_cache
from typing import Any

from core import ai_diary, chat_history_cache, conversations, jobs, privacy, short_term, stories, synth_tagging
from core import synth_core_memory as remembering
from core.config import Settings
from core.database.engine import Database
from core.db import insert_memory
from core.prompt_engine import explain_json_prompt
from core.scope import Scope
from core.synth_core_memory import free_memory_search, search_memories
from tests.store.world import NOW, index_differences, open_db, verify_index

PERSONA, OTHER = "p'er\\son", "P'er\\son"
S1, C9, DIRECT = "tg/g1", "tg/c9", "tg/ann"
TEXTS = (
    "my cat is called Tofu", "Straße und CAFÉ, 50% off a_b",
    "back\\slash ' quote \" double `tick` \\' -- ; /* */ \\n \\% \\_", "数学の宿題 and 😀🐈 of 猫",
    "café with two spaces  and a trailing one ", "{{ braces }} {% raw %} %s :name ?", "a\x00b\ud800c",
    "line\r\nbreaks\tand tabs",
)  # fmt: skip
TAGS = ("cat", "Café", "cafe", "a\\b", "it's", "😀", "猫", "x_y", "50%")

_ID = re.compile(r"\d{14,}")


class _Story:
    """The calls of one persona, their results in order."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.settings = Settings()
        self.labels: dict[int, str] = {}
        self.told: dict[str, Any] = {}

    def scope(self, conversation: str | None = None, persona: str = PERSONA, **fields: Any) -> Scope:
        if conversation in (S1, C9):
            fields.setdefault("server", "s1")
        return Scope(persona=persona, conversation=conversation, **fields)

    def more(self, conversation: str | None = None, **fields: Any) -> dict[str, Any]:
        return {"db": self.db, "settings": self.settings, "scope": self.scope(conversation, **fields)}

    def tell(self, name: str, call: Callable[..., Any], *arguments: Any, **more: Any) -> Any:
        """Keep what a call gave; an id that comes back for the first time is called after it."""
        result = call(*arguments, **more)
        row_id = result if isinstance(result, int) and result > 10**12 else getattr(result, "id", None)
        if row_id is not None:
            self.labels.setdefault(row_id, name)
        assert name not in self.told
        self.told[name] = self.plain(result)
        return result

    def plain(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: self.plain(each) for key, each in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.plain(each) for each in value]
        if isinstance(value, int) and not isinstance(value, bool):
            return self.labels.setdefault(value, f"id {len(self.labels)}") if value > 10**12 else value
        if isinstance(value, str):
            # Ids nobody was given, such as that of a server's short-term entry, go by the order they are seen in.
            return _ID.sub(lambda found: self.labels.setdefault(int(found[0]), f"id {len(self.labels)}"), value)
        if hasattr(value, "__dataclass_fields__"):
            return {name: self.plain(getattr(value, name)) for name in value.__dataclass_fields__}
        return value


@lru_cache(maxsize=1)
def expected() -> dict[str, Any]:
    with closing(open_db("sqlite://")) as db:
        return play(db)


def play(db: Database) -> dict[str, Any]:
    story = _Story(db)
    for act in (_tag, _say, _remember, _note, _talk, _change, _search, _list, _prompt, _recap, _end):
        act(story)
    story.told["verify_index"] = [str(each) for each in verify_index(db)]
    story.told["differences"] = [each for who in (PERSONA, OTHER) for each in index_differences(db, who)]
    return story.told


def _tag(s: _Story) -> None:
    for n, tag in enumerate(TAGS):
        s.tell(f"tag{n}", synth_tagging.add_tag, tag, **s.more())
    s.tell("alias", synth_tagging.add_alias, "kitty", "cat", **s.more())
    s.tell("link", synth_tagging.link_tags, "cat", "猫", 2.5, **s.more())
    s.tell("link again", synth_tagging.link_tags, "猫", "cat", 0.125, **s.more())


def _say(s: _Story) -> None:
    save = chat_history_cache.save_chat_message
    for n, text in enumerate(TEXTS):
        at = NOW - timedelta(hours=20 - n, microseconds=n)
        for path, who in ((S1, "bob"), (C9, "ann"), (DIRECT, "ann")):
            more = s.more(path, participant=f"tg/{who}", privacy={C9: "restricted", DIRECT: "direct"}.get(path))
            s.tell(f"{path} {n}", save, path, f"{text} {path}", who.title(), who, at, {"k\\": text}, **more)
    for name, fields in {
        "id": {"message_id": "m1"}, "id again": {"message_id": "m1"}, "id upper": {"message_id": "M1"},
        "id blank": {"message_id": "m1 "}, "none": {}, "none again": {},
    }.items():  # fmt: skip
        said = f"said by id {'again' if fields else 'without'}"
        s.tell(name, save, S1, said, "Bob", "bob", NOW - timedelta(minutes=9), **fields, **s.more(S1))
    for path in ("tg/u1", "tg/U1", "tg/u1 ", "tg/u%", "tg/u1/7", "tg/g1/2"):
        s.tell(path, save, path, f"in {path}", "Eve", "eve", NOW - timedelta(minutes=8), **s.more(path))
    s.tell("own", save, S1, "I sit on the mat", None, "self", NOW, triggered_by="tg/bob", **s.more(S1))
    s.tell("other", save, S1, "cat of another persona", "Bob", "bob", NOW, **s.more(S1, persona=OTHER))


def _remember(s: _Story) -> None:
    for n, text in enumerate(TEXTS):
        at, place = NOW - timedelta(days=n, microseconds=n), (None, S1, C9, DIRECT)[n % 4]
        own = s.more(place, participant="tg/ann" if place == DIRECT else None)
        tags = [TAGS[n % len(TAGS)], TAGS[(n + 3) % len(TAGS)]]
        s.tell(f"memory {n}", insert_memory, text, "synth", "chat", tags, timestamp=at, importance=n / 10, **own)
    record = remembering.silently_record_memory
    for n, text in enumerate(("Jay likes green tea", "jay likes  green teas", "Jay hates rain", "JAY HATES RAIN")):
        s.tell(f"kept {n}", record, text, "ok", ["auto"], **s.more(S1, participant="tg/jay"))
    s.tell("kept privately", privacy.set_privacy, "tg/eve", "full", **s.more())
    s.tell("not kept", record, "Eve likes tea", "ok", **s.more(S1, participant="tg/eve"))


def _note(s: _Story) -> None:
    for n, text in enumerate(TEXTS):
        at, place = NOW - timedelta(hours=n, microseconds=n), (None, S1, DIRECT)[n % 3]
        own = s.more(place, participant="tg/ann" if place == DIRECT else None)
        tags, people = [TAGS[n % len(TAGS)]], ["Ann", "ann"]
        texts = (text, f"thought {text}", ["joy"], "sum", "said")
        s.tell(f"diary {n}", ai_diary.add_diary_entry, *texts, tags, people, timestamp=at, **own)


def _talk(s: _Story) -> None:
    for n, text in enumerate(TEXTS):
        place, who = ((S1, "tg/ann"), (C9, "tg/bob"), (DIRECT, "tg/ann"), ("tg/g2", "tg/eve"))[n % 4]
        said = [{"content": each, "sender_id": who[3:], "speaker": each} for each in (text, f"{n}")]
        own = s.more(place, participant=who)
        turn = {"messages": said, "channel_name": text, "at": NOW - timedelta(hours=n)}
        s.tell(f"turn {n}", short_term.write_turn, turn, text, **own)
    summary = short_term.update_short_term_memory
    s.tell("summary", summary, "tg/ann", S1, TEXTS[2], **s.more(S1))
    s.tell("second summary", summary, "tg/ann", S1, TEXTS[2], **s.more(S1))
    for place in (S1, C9, DIRECT, "tg/new"):
        own = s.more(place, participant="tg/ann")
        s.tell(f"a moment ago {place}", short_term.build_short_term_context, "tg/ann", place, **own)
        s.tell(f"of the person {place}", short_term.get_for_user, "tg/ann", **own)
    s.tell("of the server", short_term.get_for_server, "s1", **s.more(S1))
    s.tell("channel forgotten", short_term.clear_by_channel, C9, **s.more())
    s.tell("server forgotten", short_term.clear_by_server, "s1", "tg/g2", **s.more())
    s.tell("short-term of Bob", privacy.set_privacy, "tg/bob", "full", **s.more())
    s.tell("expired", short_term.clear_expired, **s.more())
    s.tell("counted", short_term.get_stats, **s.more())


def _recap(s: _Story) -> None:
    own, save = s.more("tg/story", participant="tg/ann"), chat_history_cache.save_chat_message
    rows = []
    for n in range(24):
        at, text = NOW - timedelta(hours=40 - n, minutes=n), f"{TEXTS[n % 8]} {n}"
        rows.append(s.tell(f"line {n}", save, "tg/story", text, "Ann", "ann", at, message_id=f"s{n}", **own).id)
    for n in (2, 5, 20, 23):
        s.tell(f"recap {n}", stories.set_data, rows[n], "memory", f"recap of {TEXTS[n % 8]}", **own)
    s.tell("alternative", stories.add_alternative, rows[5], TEXTS[3], **own)
    s.tell("chosen", stories.choose_alternative, rows[5], 0, **own)
    s.tell("recap of it", stories.get_memory, rows[5], **own)
    for n in (6, 12, 18):
        s.tell(f"break {n}", stories.add_scene_break, rows[n], TEXTS[n % 8], **own)
    s.tell("done", lambda **call: [(one.type, one.state) for one in jobs.run_pending(**call)], **s.more())
    s.tell("waiting", jobs.count_operations, **s.more())
    s.tell("scenes", stories.list_scenes, **own)
    s.tell("version", stories.add_running_recap_version, "So far " * 40 + TEXTS[2], 3, 0, 0, 18, **own)
    s.tell("refused version", stories.add_running_recap_version, "Error 429: too many requests", 3, 0, 0, 18, **own)
    s.tell("versions", stories.get_running_recap_versions, **own)
    s.tell("refreshed", stories.refresh_memory, **own)
    s.tell("refreshed again", stories.refresh_memory, **own)
    s.tell("injected", stories.get_running_recap_injection, **own)
    s.tell("edited line", chat_history_cache.edit_chat_message, "s23", "another end", interface_path="tg/story", **own)


def _end(s: _Story) -> None:
    for place in (S1, C9, DIRECT):
        own = s.more(place, participant="tg/ann")
        s.tell(f"ended {place}", conversations.close_conversation, place, **own)
        for n, text in enumerate(TEXTS):
            s.tell(f"saved {place} {n}", conversations.add_saved_memory, text, **own)
    s.tell("summarised", lambda **call: [(one.type, one.state) for one in jobs.run_pending(**call)], **s.more())
    for place in (S1, C9, DIRECT, "tg/elsewhere"):
        own = s.more(place, participant="tg/ann")
        s.tell(f"read {place}", conversations.load_memory, **own)
        s.tell(f"shown {place}", conversations.get_user_memory_prompt, **own)


def _change(s: _Story) -> None:
    edit, drop = chat_history_cache.edit_chat_message, chat_history_cache.delete_chat_message
    s.tell("edited", edit, "m1", "edited to hold xylofant", interface_path=S1, **s.more(S1))
    s.tell("edited upper", edit, "M1", "edited to hold XYLOFANT too", interface_path=S1, **s.more(S1))
    s.tell("dropped", drop, "m1 ", interface_path=S1, **s.more(S1))
    s.tell("nothing to drop", drop, "m1 ", interface_path=S1, **s.more(S1))
    s.tell("moved", privacy.set_conversation_privacy, "tg/u1", "restricted", **s.more("tg/u1"))
    s.tell("linked", privacy.link_participants, "tg/ann", "discord/ann", **s.more())
    s.tell("archived", ai_diary.cleanup_old_entries, 0.25, **s.more())
    s.tell("unarchived", ai_diary.unarchive_entries, None, **s.more())
    s.tell("cleared", chat_history_cache.clear_chat_history, "tg/u%", **s.more("tg/u%"))


SEARCHES: tuple[dict[str, Any], ...] = (
    {"tags": ["cat"]}, {"tags": ["café", "cafe"]}, {"tags": ["a\\b", "it's"]}, {"tags": ["猫", "😀"]},
    {"tags": ["x_y", "50%"]}, {"keywords": ["tofu"]}, {"keywords": ["50%"]}, {"keywords": ["a_b"]},
    {"keywords": ["back\\slash"]}, {"keywords": ["' quote \""]}, {"keywords": ["strasse"]}, {"keywords": ["cafe"]},
    {"keywords": ["café"]}, {"keywords": ["宿題"]}, {"keywords": ["🐈"]}, {"keywords": ["xylofan"]},
    {"keywords": ["%"]}, {"keywords": ["\\"]}, {"keywords": ["said", "raw"], "include_chat": False},
    {"query": "what is my cat called, and where are the two spaces?"},
    {"query": "tofu cat slash", "since": NOW - timedelta(days=2), "until": NOW - timedelta(hours=1)},
)  # fmt: skip


def _search(s: _Story) -> None:
    for ranking in ("recency", "relevance"):
        for n, asked in enumerate(SEARCHES):
            for place in (S1, (C9, DIRECT, None)[n % 3]):
                own = s.more(place, participant="tg/ann" if place == DIRECT else None)
                s.tell(f"{ranking} {n} {place}", search_memories, limit=30, ranking=ranking, **asked, **own)
    for n, query in enumerate(("cat", "50% slash", "猫 called", "ﬁne teas")):
        s.tell(f"free {n}", free_memory_search, query, 20, **s.more(S1))


def _list(s: _Story) -> None:
    load = chat_history_cache.load_chat_history
    for path in (S1, C9, DIRECT, "tg/u1", "tg/U1", "tg/u1 "):
        s.tell(f"load {path}", load, path, 50, **s.more(path, participant="tg/ann"))
    s.tell("level", load, "tg/u1", 50, level=True, **s.more("tg/u1"))
    s.tell("everywhere", chat_history_cache.load_global_chat_history, 50, **s.more(S1))
    s.tell("stats", chat_history_cache.get_cache_stats, **s.more(S1))
    s.tell("diary", ai_diary.get_recent_entries, 2, **s.more(DIRECT, participant="tg/ann"))
    s.tell("diary by tags", ai_diary.get_entries_by_tags, ["a\\b", "café"], **s.more(S1))
    s.tell("diary by person", ai_diary.get_entries_with_person, "ann", **s.more(S1))
    s.tell("tags", synth_tagging.list_tags, **s.more())
    s.tell("expanded", synth_tagging.expand_tags, ["kitty", "cat"], **s.more())


def _prompt(s: _Story) -> None:
    for n, text in enumerate(("What is my cat called? 50% \\ 'x'", TEXTS[2], "数学の宿題 😀")):
        for place, who in ((S1, "bob"), (C9, "ann"), (DIRECT, "ann")):
            asked = {
                "message_id": f"now{n}", "date": NOW, "text": text, "interface_path": place,
                "from_user": {"id": who, "full_name": who.title(), "username": who},
            }  # fmt: skip
            own = {**s.more(place, participant=f"tg/{who}"), "max_chars": 9000 + n}
            s.tell(f"prompt {n} {place}", _explained, asked, own)


def _explained(asked: dict[str, Any], own: dict[str, Any]) -> list[Any]:
    prompt, report = explain_json_prompt(asked, **own)
    return [prompt, _without_times(report)]


def _without_times(value: Any) -> Any:
    """Return a report without what a clock or a server says of itself."""
    if isinstance(value, Mapping):
        return {k: _without_times(v) for k, v in value.items() if k not in ("seconds", "milliseconds")}
    return [_without_times(each) for each in value] if isinstance(value, (list, tuple)) else value


def differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    return list(_differences("", dict(one), dict(other)))[:20]


def _differences(place: str, one: Any, other: Any) -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict) and list(one) == list(other):
        for key in one:
            yield from _differences(f"{place}/{key}", one[key], other[key])
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for n, pair in enumerate(zip(one, other, strict=True)):
            yield from _differences(f"{place}/{n}", *pair)
    elif type(one) is not type(other) or one != other:
        yield f"{place}: {str(one)[:200]!r} and {str(other)[:200]!r}"
