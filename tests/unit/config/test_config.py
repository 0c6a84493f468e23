"""Where the value of a flag comes from, and what happens with a bad one."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.config import FLAGS, Settings, check, load, resolve, show
from core.config.flag_types import DOTS
from core.errors import ConfigError
from tests.unit.config import yaml_file


def test_settings_without_arguments_are_all_defaults_and_read_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEXT_VERBOSITY", "2")
    yaml_file("CONTEXT_VERBOSITY: 3")
    settings = Settings()
    assert {name: getattr(settings, name.lower()) for name in FLAGS} == {name: FLAGS[name].default for name in FLAGS}
    assert set(settings.sources.values()) == {"default"} and settings.differing() == {}


def test_g19_secrets_print_as_dots_everywhere() -> None:
    secret = "mysql://u:canary7391@h/d"
    settings = Settings(database_url=secret)
    row = next(row for row in show(settings) if row.flag == "DATABASE_URL")
    printed = f"{settings!r} {settings} {settings.differing()} {show(settings)}"
    assert "canary" not in printed and row.value == DOTS and settings.differing() == {"DATABASE_URL": DOTS}
    assert settings.database_url == secret
    with pytest.raises(ConfigError) as caught:
        Settings(database_url=secret.encode())  # type: ignore[arg-type]
    assert "canary" not in str(caught.value) and DOTS in str(caught.value)


def test_show_lists_every_flag_with_value_and_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENABLE_MEMORIES", "false")
    yaml_file("SNIPPET_CHARS: 80\nLANGUAGES: [en, de]\n")
    rows = {row.flag: row for row in show(load({"DIARY_HISTORY_DAYS": 1}))}
    assert list(rows) == list(FLAGS)
    picked = [rows[name][1:4] for name in ("ENABLE_MEMORIES", "SNIPPET_CHARS", "LANGUAGES", "DIARY_HISTORY_DAYS")]
    assert picked == [
        ("0", "environment", "1"), ("80", "file", "400"), ('["en", "de"]', "file", '["en"]'), ("1", "argument", "2"),
    ]  # fmt: skip
    assert rows["DATABASE_URL"].value == "" and rows["DATABASE_URL"].default == "the embedded SQLite file"


def test_g17_the_highest_level_wins_and_a_removed_one_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    yaml_file("CONTEXT_VERBOSITY: 7")
    monkeypatch.setenv("CONTEXT_VERBOSITY", "2")
    levels = [load({"CONTEXT_VERBOSITY": 1}), load()]
    monkeypatch.delenv("CONTEXT_VERBOSITY")
    levels += [load()]
    yaml_file("")
    levels += [load()]
    told = [(settings.context_verbosity, settings.sources["CONTEXT_VERBOSITY"]) for settings in levels]
    assert told == [(1, "argument"), (2, "environment"), (7, "file"), (10, "default")]


def test_g17_a_change_of_the_file_acts_on_the_next_call_even_within_one_tick_of_the_clock() -> None:
    """Time stamp and size may be equal; the contents decide."""
    for digit in [3, 4, 5] * 20:
        yaml_file(f"CONTEXT_VERBOSITY: {digit}")
        assert load().context_verbosity == digit


def test_the_file_is_config_file_else_that_of_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert load() == Settings()
    yaml_file("CONTEXT_VERBOSITY: 3")
    yaml_file("CONTEXT_VERBOSITY: 4", "other.yaml")
    yaml_file("CONTEXT_VERBOSITY: 5", "third.yaml")
    assert load().context_verbosity == 3
    monkeypatch.setenv("CONFIG_FILE", str(tmp_path / "other.yaml"))
    assert load().context_verbosity == 4
    assert load(path=tmp_path / "third.yaml").context_verbosity == 5
    monkeypatch.setenv("CONFIG_FILE", "")
    assert load().context_verbosity == 3
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    assert load().context_verbosity == 10


def test_g4_resolve_takes_settings_whole_and_a_mapping_as_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIARY_HISTORY_DAYS", "1")
    whole = Settings(context_verbosity=4)
    assert resolve(whole) is whole
    assert resolve({"CONTEXT_VERBOSITY": 4}).differing() == {"CONTEXT_VERBOSITY": 4, "DIARY_HISTORY_DAYS": 1}
    with pytest.raises(ConfigError, match="nearest known one is CONTEXT_VERBOSITY"):
        resolve({"CONTEXT_VERBOSTY": 4})
    with pytest.raises(ConfigError, match=r"4 is no flag\. `prompt-engine config list`"):
        resolve({4: 4})  # type: ignore[dict-item]


def test_g4_database_url_comes_from_the_variable_its_file_or_config_yaml(monkeypatch: pytest.MonkeyPatch) -> None:
    yaml_file("DATABASE_URL: sqlite:///a.db")
    assert load().database_url == "sqlite:///a.db"
    yaml_file("sqlite:///b.db\n", "secret")
    monkeypatch.setenv("DATABASE_URL_FILE", "secret")
    assert load().database_url == "sqlite:///b.db"
    yaml_file("sqlite:///c.db\n", "secret")
    assert load().database_url == "sqlite:///c.db"
    monkeypatch.setenv("DATABASE_URL", "sqlite:///d.db")
    assert load().database_url == "sqlite:///d.db"
    monkeypatch.delenv("DATABASE_URL")
    monkeypatch.setenv("DATABASE_URL_FILE", "nowhere")
    with pytest.raises(ConfigError, match="DATABASE_URL_FILE names 'nowhere'"):
        load()
    assert [problem.source for problem in check()] == ["DATABASE_URL_FILE"]


@pytest.mark.parametrize(
    ("text", "shown"), [("ten", "'ten'"), ("-4", "-4"), ("51", "51"), ("yes", "True"), ("4.5", "4.5"), ("", "None")]
)
def test_g18_a_bad_value_in_the_file_gives_the_default_and_one_warning(
    text: str, shown: str, caplog: pytest.LogCaptureFixture
) -> None:
    yaml_file(f"# one\nCONTEXT_VERBOSITY: {text}\n")
    assert [load().context_verbosity for _ in range(3)] == [10, 10, 10]
    assert len(caplog.messages) == 1
    assert "flag=" in caplog.messages[0] and f"CONTEXT_VERBOSITY is {shown} (config.yaml, line 2)" in caplog.messages[0]


def test_g18_check_lists_everything_at_once() -> None:
    yaml_file("CONTEXT_VERBOSITY: ten\nCONTEXT_VERBOSTY: 4\nnothing_like_it: 1\nCHAT_HISTORY: 3\nCHAT_HISTORY: 4\n")
    problems = check(environ={"TIMEZONE": "Mars", "DATABASE_URL_FILE": "nowhere"})
    assert [(problem.flag, problem.line) for problem in problems] == [
        ("CONTEXT_VERBOSITY", 1), ("CONTEXT_VERBOSTY", 2), ("nothing_like_it", 3), ("", 5),
        ("DATABASE_URL", None), ("TIMEZONE", None),
    ]  # fmt: skip
    said = "CONTEXT_VERBOSITY is 'ten' (config.yaml, line 1). It must be a whole number of items, 0 to 50. "
    assert str(problems[0]) == f"{said}Change it, or remove the line to use 10."
    assert "The nearest known one is CONTEXT_VERBOSITY." in problems[1].text and "nearest" not in problems[2].text


def test_f72_an_unknown_key_is_told_once_with_the_nearest_flag(caplog: pytest.LogCaptureFixture) -> None:
    yaml_file("CONTEXT_VERBOSTY: 4\nDIARY_HISTORY_DAYS: 3\n")
    assert [load().differing(), load().differing()] == [{"DIARY_HISTORY_DAYS": 3}] * 2
    (said,) = caplog.messages
    assert "CONTEXT_VERBOSTY" in said and "nearest known one is CONTEXT_VERBOSITY" in said


def test_g17_an_argument_takes_the_text_that_a_variable_takes() -> None:
    told = {"LANGUAGES": "de,en", "CONTEXT_VERBOSITY": "4", "PROMPT_LITE_MODE": "on", "HISTORY_LINES": ""}
    by_argument, by_variable = load(told, environ={}), load(environ=told)
    assert by_argument == by_variable
    assert (by_argument.languages, by_argument.context_verbosity) == (("de", "en"), 4)
    yaml_file("LANGUAGES: de,en\n")
    assert load(environ={}).languages == Settings(languages="de,en").languages == ("de", "en")  # type: ignore[arg-type]
