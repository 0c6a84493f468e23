"""Every version opens the databases of every release before it, on every engine, with all that they hold (D31).

If tables change before the first release, run `python -m tests.release_file 0.1.0`. A released file never changes: then
a revision in `sql/migrations` has to bring it to the present.
"""

import gzip
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from core import forgetting, jobs, relationships, semantic, short_term, stories, synth_tagging, tokens, values
from core.chat_history_cache import save_chat_message
from core.database.engine import Database
from core.database.schema import TABLES
from core.db import check_server, migrate
from core.prompt_engine import build_messages
from core.scope import Scope
from core.synth_core_memory import search_memories
from core.tokens.shapes import write_token
from tests import release_file
from tests.databases import run_script
from tests.release_file import ANN, BOB, DIRECT, GROUP, JUNO, NOW, OTHER, RECAP, SECRET

pytestmark = pytest.mark.dialects
VERSIONS = sorted({path.name.removesuffix(".sqlite3.gz") for path in release_file.FOLDER.glob("*.gz")})
LINKED = Scope("iris", "telegram_bot/7", "telegram_bot/7", privacy="direct")
SCOPES = {"group": GROUP, "other": OTHER, "direct": DIRECT, "linked": LINKED, "juno": JUNO}
SEEN = {
    "Ann's cat is called Mio.": ("Mio", "group"),
    "The harbour festival begins on Friday.": ("harbour festival", "group"),
    "Ann was proud of her concert.": ("concert", "group"),
    "Ann's boat is the Seagull.": ("Seagull", "group"),
    "My new job is at the lighthouse.": ("lighthouse", "direct linked"),
    "Ann plays the oboe.": ("oboe", "direct linked"),
    "Ann is allergic to hazelnuts.": ("hazelnuts", "direct linked"),
    "Bob repairs gliders — 日本, İzmir, \U0001f6e9.": ("日本", "other"),
    "Juno keeps bees.": ("bees", "juno"),
}
"""What a release stored: a word that finds it, and the scopes that see it."""


def test_d31_there_is_a_file_of_each_release_for_both_families() -> None:
    assert "0.1.0" in VERSIONS
    for version in VERSIONS:
        sizes = [(release_file.FOLDER / f"{version}.{end}").stat().st_size for end in ("sqlite3.gz", "mysql.sql")]
        assert max(sizes) < 200_000


@pytest.fixture(params=VERSIONS)
def release(request: pytest.FixtureRequest, fresh_url: str, engine_name: str, tmp_path: Path) -> Iterator[Database]:
    file, url = release_file.FOLDER / request.param, fresh_url
    if engine_name == "sqlite":
        copy = tmp_path / "copy.sqlite3"
        copy.write_bytes(gzip.decompress(Path(f"{file}.sqlite3.gz").read_bytes()))
        copy.chmod(0o600)
        url = f"sqlite:///{copy}"
    else:
        run_script(url, Path(f"{file}.mysql.sql").read_text(encoding="utf-8"))
        with closing(Database(url)) as operator:
            migrate(operator)
    with closing(release_file.open_at(url)) as db:
        yield db


@pytest.mark.engines("sqlite")
def test_d31_what_this_code_writes_is_opened_as_a_release_is(fresh_url: str) -> None:
    """Its next release file is written so. That engines agree on what they store shows `test_engines_agree`."""
    with closing(release_file.open_at(fresh_url)) as db:
        release_file.write_samples(db)
    for look in (
        test_d31_what_a_release_stored_is_found_by_those_who_may_see_it,
        test_d31_what_a_release_kept_beside_messages_is_as_it_was,
        test_d31_what_a_release_stored_of_a_person_can_be_forgotten,
    ):
        with closing(release_file.open_at(fresh_url)) as db:
            look(db)


def test_d31_what_a_release_stored_is_found_by_those_who_may_see_it(release: Database) -> None:
    assert [one for one in check_server(release) if one.severity == "error"] == []
    for text, (word, names) in SEEN.items():
        for name, scope in SCOPES.items():
            found = [hit["snippet"] for hit in search_memories(query=word, db=release, scope=scope)]
            assert (text in found) == (name in names.split()), (text, name)
    asked = {"message_id": "9", "date": NOW, "text": "What do you know about my lighthouse and my oboe?"}
    for scope, is_seen in ((DIRECT, True), (GROUP, False)):
        messages = str(build_messages({**asked, "interface_path": scope.conversation}, db=release, scope=scope))
        assert ("new job is at the" in messages) == ("Ann plays the oboe." in messages) == is_seen


def test_d31_what_a_release_kept_beside_messages_is_as_it_was(release: Database) -> None:
    by: dict[str, Any] = {"db": release, "scope": GROUP}
    in_group: dict[str, Any] = {"interface_path": GROUP.conversation, **by}
    assert stories.get_memory("1", **in_group) == RECAP
    alternatives = [one["text"] for one in stories.list_alternatives("2", **in_group)]
    assert alternatives == ["Take an umbrella, Ann.", "Take a raincoat, Ann."]
    assert stories.get_data("2", "scene_recap_versions", **in_group) == ["They spoke about the festival."]
    recap = stories.get_running_recap(**by)
    assert recap is not None and recap["content"] == "A festival is near."
    liked = relationships.get(ANN, **by)
    assert (liked["affinity"], liked["trust"], liked["username"]) == (7, 3, "Ann")
    (entry,) = short_term.get_for_user(ANN, **by)
    assert [line["content"] for line in entry["messages"]] == ["The ferry is late.", "It comes at six."]
    cat = next(tag for tag in synth_tagging.list_tags(**by) if tag["tag"] == "cat")
    assert cat["aliases"] == ["kitty"] and "music" in cat["links"]
    (value,) = values.open_values(**by).list_below(("notes",))
    assert value.value == '{"boat": "Seagull"}' and set(semantic.count_vectors(**by)) == {"letters"}
    (token,) = tokens.list_tokens(db=release, scope=DIRECT)
    found = tokens.find_token(write_token(token["id"], SECRET), db=release)
    assert found is not None and found.participant == ANN
    assert save_chat_message("discord/hall", "Hello.", sender_id="carl", db=release, scope=OTHER).reason == "privacy"
    assert "completed" in {one.state for one in jobs.run_pending(db=release, scope=OTHER)}


def test_d31_what_a_release_stored_of_a_person_can_be_forgotten(release: Database) -> None:
    by: dict[str, Any] = {"db": release, "scope": GROUP}
    assert save_chat_message(GROUP.conversation, "The tram is new.", sender_id="ann", **by).stored
    assert search_memories(query="tram", **by) and forgetting.forget(participant=ANN, **by).total > 10
    tables = [table for table in TABLES.values() if "persona_id" in table.c]
    left = str([release.read(select(table).where(table.c.persona_id == "iris")) for table in tables]).lower()
    gone = ("mio", "festival", "concert", "seagull", "lighthouse", "oboe", "clarinet", "hazelnut", "ferry", "tram")
    assert [word for word in gone if word in left] == []
    for scope, word in ((OTHER, "gliders"), (JUNO, "bees")):
        assert search_memories(query=word, db=release, scope=scope)
    assert BOB in left
