"""A persona whose memory looks like one that was in use for months: what the page's tests look at."""

import itertools
import random
from datetime import timedelta
from typing import Any

from core import ai_diary, chat_history_cache, insert_memory, jobs, lifelong, relationships, stories, synth_tagging
from core.config import Settings
from core.database.engine import Database
from core.jobs.table import end
from core.scope import Scope
from tests.store.world import NOW, Clock

PERSONA, OTHER = "iris", "noctua"
SCRIPT = "<script>alert('seen as text')</script><img src=x onerror=alert(1)> & <b>bold</b>"
"""An item that must be seen as it is written."""
LONG = " ".join(
    f"On day {day} of the walk the rain came from the {side}, and Jonas wrote down every hut they passed."
    for day, side in zip(range(1, 31), itertools.cycle(["west", "north", "sea"]), strict=False)
)
PEOPLE = ("discord/jonas", "discord/mira", "telegram_bot/ada", "webui/tom", "discord/yuki", "telegram_bot/sanaa")
NAMES = ("Jonas", "Mira", "Ada", "Tom", "Yuki 雪", "Sanaa سناء")
SETTINGS = {"ADMIN_TOKEN": "a-token-of-the-browser-tests", "SESSION_TTL_SEC": 604800, "PRUNE_MAX_AGE_DAYS": 90}
"""Nothing here is a year old, and pruning has to find some."""

_FACTS: dict[str, tuple[tuple[str, ...], ...]] = {
    "FactsAboutUser": (("{name} keeps bees on the roof and sells the honey in {month}.", "bees", "hobby"),
                       ("{name} is allergic to {thing}, and asks for a menu without it.", "allergy", "food"),
                       ("{name} works night shifts at the harbour since {month}.", "work"),
                       ("{name}'s sister is called Lene and lives in Utrecht.", "family"),
                       ("{name} would rather be written to than called.", "habit")),
    "PastEvents": (("In {month} {name} moved to the flat above the bakery.", "home", "move"),
                   ("{name} lost the {thing} on the ferry and got it back a week later.", "travel"),
                   ("We planned the birthday for Mira together; it was the {thing} that went wrong.", "birthday")),
    "SelfBeliefs": (("I answer too quickly when somebody is sad.", "self"),
                    ("I am better at listening in the evening.", "self", "evening")),
    "Objectives": (("Ask {name} how the exam in {month} went.", "plan", "exam"),
                   ("Find a recipe with {thing} for the weekend.", "food", "plan")),
    "KeyFacts": (("The cat is called Tofu and hates the {thing}.", "cat", "tofu"),
                 ("The shared calendar is green for {name} and orange for everybody else.", "calendar"),
                 ("The bakery closes at five, on Sundays at noon.", "bakery")),
    "Emotions": (("joy", "feeling"), ("worry about {name}", "feeling")),
    "chat": (("{name}: the {thing} arrived, and it is blue after all!", "chat"),),
    "saved": (("Never mention the {thing} before {month}.", "promise"),),
}  # fmt: skip
_THINGS = ("walnuts", "violin", "umbrella", "tea pot", "bicycle", "lamp", "radio", "atlas", "kite", "sewing machine")
_MONTHS = ("January", "March", "May", "June", "September", "November")


def fill(db: Database, items: int = 320) -> dict[str, Any]:
    dice = random.Random(7)
    clock = db.clock
    assert isinstance(clock, Clock)
    scope, settings = Scope(PERSONA), Settings()
    asking = {"db": db, "settings": settings, "scope": scope}
    # 1. items, of ten months
    entries = [_entry(dice, number, items) for number in range(items)]
    entries += [{"text": "Tom drinks his coffee black.", "tags": ["coffee"], "importance": 0.4}]
    added = lifelong.add_facts_with_meta(entries, **asking)
    special = {
        "script": insert_memory(SCRIPT, "jonas", "chat", ["<b>tag</b>"], scope, timestamp=NOW - timedelta(minutes=5),
                                kind="KeyFacts", importance=0.9, db=db, settings=settings),
        "long": insert_memory(LONG, "jonas", "chat", ["walk", "huts"], scope, timestamp=NOW - timedelta(minutes=9),
                              kind="PastEvents", importance=0.7, pinned=True, db=db, settings=settings,
                              source_message_ids=[11, 12, 13], metadata={"from": "the walk", "page": 3}),
    }  # fmt: skip
    for copy in range(3):
        insert_memory("The heating is off from May to September.", "tom", "chat", ["home"], scope,
                      timestamp=NOW - timedelta(days=40 + copy), db=db, settings=settings)  # fmt: skip
    lifelong.edit_item(special["long"], LONG + " They slept well.", editor="operator", operator=True, **asking)
    lifelong.delete_items(list(added.ids[:12]), operator=True, **asking)
    # 2. what was said, another persona
    _talk(db, scope, settings)
    for number in range(4):
        insert_memory(f"A secret of the owl, number {number}: tofu", "owl", "chat", ["owl"], Scope(OTHER),
                      timestamp=NOW - timedelta(days=number), db=db, settings=settings)  # fmt: skip
    ai_diary.add_diary_entry(
        "Jonas spoke of the ferry, and of how the sea smells in the morning.", "I should like to see it.",
        context_tags=["sea"], involved_users=["Jonas"], timestamp=NOW - timedelta(hours=3), **asking,
    )  # fmt: skip
    synth_tagging.add_alias("kitty", "cat", **asking)
    synth_tagging.link_tags("cat", "tofu", 3, **asking)
    # 3. relationships, of two months; jobs
    _know(clock, dice, asking)
    _work(db, asking)
    clock.now = NOW
    return {**special, "items": len(entries) + 2 + 3 - 12, "ids": added.ids}


def _entry(dice: random.Random, number: int, of: int) -> dict[str, Any]:
    kind = dice.choices(list(_FACTS), (9, 6, 2, 3, 8, 2, 5, 1))[0]
    form, *tags = dice.choice(_FACTS[kind])
    name = dice.choice(NAMES)
    text = form.format(name=name, thing=dice.choice(_THINGS), month=dice.choice(_MONTHS))
    age = timedelta(days=300 * (1 - number / of) ** 1.6, minutes=dice.randrange(600) + 15)
    is_session = kind in ("Emotions", "chat") and age.days < 6
    behind = f"(note {number})" if dice.random() < 0.9 else f"We spoke of it on and off, {number} times."
    return {
        "text": f"{text} {behind}", "kind": kind, "tier": "session" if is_session else "long_term", "tags": tags,
        "importance": round(min(1.0, max(0.05, dice.gauss(0.5, 0.2))), 2), "timestamp": NOW - age, "author": name,
        "source": "chat", "provenance": dice.choice(["host", "model", "extract"]), "pinned": dice.random() < 0.02,
    }  # fmt: skip


def _talk(db: Database, scope: Scope, settings: Settings) -> None:
    lines = ("Good morning!", "Did the parcel come?", "My name is Jonas, and I live in Bergen.", "I love the sea.")
    for number, text in enumerate(lines):
        chat_history_cache.save_chat_message(
            "discord/4711", text, "Jonas", "jonas", NOW - timedelta(minutes=40 - number), db=db, settings=settings,
            scope=Scope(scope.persona, "discord/4711", "discord/jonas"), title="The harbour",
        )  # fmt: skip
    asking = {"db": db, "settings": settings, "scope": scope}
    here = Scope(scope.persona, "discord/4711", "discord/jonas")
    answer = chat_history_cache.save_chat_message(
        "discord/4711", "Then you will like the ferry. It leaves at nine.", "Iris", "self", NOW - timedelta(minutes=35),
        db=db, settings=settings, scope=here,
    )  # fmt: skip
    assert answer.id is not None
    stories.edit_memory(answer.id, "Iris told Jonas of the ferry at nine.", **asking)
    stories.add_scene_break(answer.id, "Morning at the harbour", recap=False, **asking)
    stories.set_scene_recap(answer.id, "Jonas came to the harbour and spoke of Bergen and the sea.", **asking)
    stories.add_running_recap_version(
        "Jonas, who lives in Bergen, waits for a parcel.", 1, conversation="discord/4711", **asking
    )


def _know(clock: Clock, dice: random.Random, asking: dict[str, Any]) -> None:
    for key, name in zip(PEOPLE, NAMES, strict=True):
        mood = dice.choice((2, 3, -1))
        for day in range(60, 0, -dice.randrange(3, 7)):
            clock.now = NOW - timedelta(days=day, hours=dice.randrange(9))
            relationships.adjust(key, dice.randrange(-4, 9) * mood, dice.randrange(0, 6), username=name, **asking)
    clock.now = NOW


def _work(db: Database, asking: dict[str, Any]) -> None:
    for number in range(5):
        jobs.enqueue_operation("CONVERSATION_SUMMARY", conversation="discord/4711", **asking)
        jobs.enqueue_operation("RECAP", "LOW" if number % 2 else "HIGH", conversation="discord/4712", **asking)
    first, second = jobs.list_operations(**asking)[:2]
    jobs.cancel([first["id"]], **asking)
    end(db, PERSONA, [second["id"]], "failed", error="ModelError: timeout")
    lifelong.trigger_memory_consolidation("interval", **asking)
