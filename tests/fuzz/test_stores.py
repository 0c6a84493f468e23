"""Hostile texts and ids go through the doors into every database and come back byte for byte (rules F62, T25, G6, G11)."""

# ruff: noqa: E501 - the lists of hostile pieces are read better in few lines
import itertools

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core import Scope, insert_memory
from core.access.rules import SERVER_MARK
from core.ai_diary import add_diary_entry
from core.chat_history_cache import save_chat_message
from core.config import Settings
from core.conversations import add_saved_memory
from core.database import rows
from core.database.engine import Database
from core.database.schema import ai_diary, chat_history_cache, memories, participants
from core.privacy import set_privacy
from core.synth_core_memory import free_memory_search, search_memories
from core.text.folding import clean
from tests.fuzz.strategies import EXAMPLES, SIGNS
from tests.store.world import index_differences, rows_of

PLAIN = Settings()
HOSTILE = (
    "' OR '1'='1", '" OR ""="', "'; DROP TABLE memories; --", "x' /* y", "*/ z -- a", "# b", "`tags`", "a\\", "\\' \\\" \\n \\%", "50% _a_ !x !!",
    "%s %(a)s %d %%", ":x ::y :1 ?", "{\"a\": [1, {\"b\": null}]}", "[\"cat\"]", "$.a[0]", "{{7*7}} {% raw %} ${x}", "a\x00b", "\ud800x\udfff", "\U0001f600\U00020000",
    "\ufeffbom", "\u202eright", "e\u0301 \u00e9", "\u0000", "\t tabs \r\n lines", "trailing  ", "0x41 0b1 1e9 NULL", "\x1a\x1b[31m", "\u2028\u2029\x85", "ＡＢＣ ﬃ ß",
)  # fmt: skip
_hostile = st.lists(
    st.one_of(st.sampled_from(HOSTILE), st.sampled_from(SIGNS), st.text(max_size=8)), min_size=1, max_size=6
)
texts = _hostile.map("".join)
_numbers = itertools.count()


def _key(text: str, limit: int) -> str:
    """Return a text as an id that may be one: without NUL, lone surrogates and the mark of servers, not too long."""
    made = clean(text).replace(SERVER_MARK, "").encode()[:limit].decode("utf-8", "ignore")
    return made if made.strip() else "k"


def _there_and_back(db: Database, said: list[str]) -> None:
    number = next(_numbers)
    persona = _key(f"{number}{said[0]}", 40)
    conversation = _key(f"tg/{said[0]}", 200)  # the chat id in it has at most 255 bytes
    person = _key(f"tg/{number}{said[-1]}", 200)  # a privacy level belongs to a person, for all personas
    scope = Scope(persona=persona, conversation=conversation, participant=person, server=_key(said[-1], 150))
    more = {"db": db, "settings": PLAIN, "scope": scope}
    whole = [text for text in said if clean(text).strip()]
    for at, text in enumerate(whole):
        insert_memory(text, text[:50], "chat", [text[:50], "cat"], scope, db=db, settings=PLAIN, metadata={"m": text})
        save_chat_message(conversation, text, sender_name="Ann", message_id=str(at), metadata={"m": text}, **more)
        if at % 3 == 0:
            add_diary_entry(content=text, personal_thought=text, **more)
            add_saved_memory(text, **more)
    set_privacy(person, "partial", db=db, scope=scope)
    stored = [row for row in rows_of(db, memories, persona) if row.kind != "saved"]
    assert [row.content for row in stored] == [clean(text) for text in whole]
    assert [(rows.read_object(row.metadata) or {}).get("m") for row in stored] == [clean(text) for text in whole]
    lines = rows_of(db, chat_history_cache, persona)
    assert [row.message_text for row in lines] == [clean(text) for text in whole]
    assert {row.interface_path for row in lines} <= {conversation}
    assert {clean(text) for text in whole} >= {row.content for row in rows_of(db, ai_diary, persona)}
    if whole:
        assert any(row.participant_key == person for row in rows_of(db, participants, persona))
    for text in said[:3]:
        search_memories(tags=[text], keywords=[text], **more)
        free_memory_search(text, **more)
    assert index_differences(db, persona) == []


def test_f62_g6_every_hostile_text_and_any_mixture_of_them_is_stored_and_found_as_said(db: Database) -> None:
    _there_and_back(db, list(HOSTILE))

    @settings(max_examples=max(3, EXAMPLES // 4), database=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(texts, min_size=1, max_size=4, unique_by=lambda text: clean(text).strip()))
    def tried(said: list[str]) -> None:
        _there_and_back(db, said)

    tried()
