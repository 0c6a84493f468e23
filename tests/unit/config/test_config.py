"""Where the value of a flag comes from, what may be given for it, and what happens with a bad one."""

import re
import zoneinfo
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from core import config
from core.config import FLAGS, Settings, check, load, resolve, show
from core.config import levels as config_levels
from core.config.flag_types import DOTS, BadValueError, Choice, Kind, Number, Switch, Text
from core.errors import ConfigError
from tests import config_files


@pytest.fixture(autouse=True)
def clean_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in config_levels._VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    config._warn_once.cache_clear()
    monkeypatch.setattr(config, "_kept", {})


def yaml_file(text: str | bytes, name: str = "config.yaml") -> str:
    Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return name


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


@pytest.mark.parametrize("name", ["LLM_BASE_URL", "EMBEDDER"])
@pytest.mark.parametrize("address", ["http://u:canary@7/canary@h:1/v1", "https://h/v1?key=canary", "https://canary@h"])
def test_g19_no_address_shows_a_password(name: str, address: str) -> None:
    settings = Settings(**{name.lower(): address})
    printed = f"{settings!r} {settings.differing()} {show(settings)} {FLAGS[name].refusal(address, 'file', 'x')}"
    assert "canary" not in printed and printed.count(f"://{DOTS}@h" if "@" in address else f"h/v1?{DOTS}") >= 3
    assert "'http://127.0.0.1:11434/v1'" in str(show(Settings(**{name.lower(): "http://127.0.0.1:11434/v1"})))


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
    for digit in [3, 4, 5] * 20:  # a change acts on the next call: time stamp and size may be equal, contents decide
        yaml_file(f"CONTEXT_VERBOSITY: {digit}")
        assert load().context_verbosity == digit


def test_the_file_is_config_file_else_that_of_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert load() == Settings()
    for verbosity, name in enumerate(("config.yaml", "other.yaml", "third.yaml"), 3):
        yaml_file(f"CONTEXT_VERBOSITY: {verbosity}", name)
    assert load().context_verbosity == 3
    monkeypatch.setenv("CONFIG_FILE", str(tmp_path / "other.yaml"))
    assert load().context_verbosity == 4 and load(path=tmp_path / "third.yaml").context_verbosity == 5
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
    monkeypatch.setenv("DATABASE_URL_FILE", "secret")
    for url in ("sqlite:///b.db", "sqlite:///c.db"):
        yaml_file(f"{url}\n", "secret")
        assert load().database_url == url
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
def test_g18_a_bad_value_is_told_and_the_default_taken(text: str, shown: str, caplog: pytest.LogCaptureFixture) -> None:
    yaml_file(f"# one\nCONTEXT_VERBOSITY: {text}\n")
    assert [load().context_verbosity for _ in range(3)] == [10, 10, 10]
    (said,) = caplog.messages
    assert "flag=" in said and f"CONTEXT_VERBOSITY is {shown} (config.yaml, line 2)" in said


@pytest.mark.parametrize("text", ["ful", "", "1", "[full]"])
def test_g18_a_bad_privacy_default_keeps_nothing(text: str, caplog: pytest.LogCaptureFixture) -> None:
    """Who sets it wants less to be stored: the default, which stores everything, would be the opposite."""
    yaml_file(f"PRIVACY_DEFAULT: {text}\n")
    assert load().privacy_default == "full"
    assert len(caplog.messages) == 1 and "Until then it is full." in caplog.messages[0]
    assert load(environ={"PRIVACY_DEFAULT": text}).privacy_default == "full"
    assert load(environ={"PRIVACY_DEFAULT": "Partial"}).privacy_default == "partial"
    assert load(environ={}).privacy_default == "full", "the bad value is still in the file"


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
    (problem,) = check(yaml_file("LANGUAGES: [en, no]"))  # YAML reads the code as a switch
    assert "quotes around False" in problem.text
    assert load(path=yaml_file("LANGUAGES: [en, 'no']")).languages == ("en", "no")


def test_g17_an_argument_takes_the_text_that_a_variable_takes() -> None:
    told = {"LANGUAGES": "de,en", "CONTEXT_VERBOSITY": "4", "PROMPT_LITE_MODE": "on", "HISTORY_LINES": ""}
    by_argument, by_variable = load(told, environ={}), load(environ=told)
    assert by_argument == by_variable and (by_argument.languages, by_argument.context_verbosity) == (("de", "en"), 4)
    yaml_file("LANGUAGES: de,en\n")
    assert load(environ={}).languages == Settings(languages="de,en").languages == ("de", "en")  # type: ignore[arg-type]


def test_f72_an_empty_file_is_all_defaults() -> None:
    for text in ("", "\n\n", "# only\n  # comments\n", "---\n", "\ufeff", "{}", "null"):
        assert load(path=yaml_file(text)) == Settings() and check(yaml_file(text)) == [], text


@pytest.mark.parametrize(("text", "line", "says"), [
    ("A: 1\nCONTEXT_VERBOSITY: 1\nCONTEXT_VERBOSITY: 1\n", 3, "line 2 said already"),
    ("contextVerbosity: 1\ncontext_verbosity: 2\n", 2, "as 'contextVerbosity'"),
    ("{CHAT_HISTORY: 1, CHAT_HISTORY: 2}", 1, "line 1 said already"), ("CONTEXT_VERBOSITY: 1\n\tx: 2\n", 2, "not YAML"),
    ("A: *nope\n", 1, "not YAML"), ("A: 1\n---\nB: 2\n", 2, "not YAML"), ("- CONTEXT_VERBOSITY\n", 1, "no mapping"),
    ("? [a]\n: 1\n", 1, "no text"), ("A: 1\nB: \x07\n", 2, "not YAML"), (b"A: 1\nB: \xff\n", 2, "not UTF-8"),
    ("A: " + "[" * 500_000, 1, "nest"),
])  # fmt: skip
def test_f72_a_file_that_cannot_be_read_raises_with_the_line(text: str | bytes, line: int, says: str) -> None:
    name = yaml_file(text)
    for path in (None, name):
        with pytest.raises(ConfigError) as caught:
            load(path=path)
        assert says in str(caught.value) and f"line {line}" in str(caught.value)
        assert (caught.value.line, caught.value.source) == (line, "config.yaml")
    assert [problem.line for problem in check(name)][-1] == line


def test_f72_a_folder_a_missing_and_a_huge_file_raise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unread = {"a\x00b": "not a possible path", "x" * 300: "File name too long"}
    refused = {tmp_path: "is a folder", "none.yaml": r"no configuration file 'none\.yaml'"}
    refused |= {path: rf"cannot be read \({why}\)" for path, why in unread.items()}
    for path, said in {**refused, yaml_file(b"#" * 1_000_001): "larger than"}.items():
        with pytest.raises(ConfigError, match=said):
            load(path=path)
    monkeypatch.setenv("CONFIG_FILE", "gone/none.yaml")
    assert ["no configuration file" in problem.text for problem in check()] == [True]
    (tmp_path / "d" / "config.yaml").mkdir(parents=True)
    monkeypatch.delenv("CONFIG_FILE")
    monkeypatch.chdir(tmp_path / "d")
    with pytest.raises(ConfigError, match="is a folder"):
        load()


def test_f72_no_error_of_the_file_shows_a_secret(tmp_path: Path) -> None:
    for value in ("[canary7391", "{a: canary7391}", "'canary7391", "!x canary7391"):
        found = check(yaml_file(f"DATABASE_URL: {value}"))
        assert found and "canary" not in repr(found)
        try:
            load()
        except ConfigError as error:
            assert "canary" not in str(error) and error.__cause__ is None


def test_f72_a_value_yaml_makes_nothing_of_is_a_bad_value(caplog: pytest.LogCaptureFixture) -> None:
    bad = ("2026-13-45", "!!python/object:os.system x", "!!binary aGk=", "0x" + "f" * 9000, "9" * 9000, "&a [*a]")
    for value in bad:
        config._warn_once.cache_clear()
        caplog.clear()
        assert load(path=yaml_file(f"CONTEXT_VERBOSITY: {value}")) == Settings()
        assert len(caplog.messages) == 1 and len(caplog.messages[0]) < 400, value
    for text in ("&a x, *a]", "&a [&b [*a, *a], *b]", "[" * 100_000, "[" * 10, "{a: ", "!!python/name:os.system"):
        settings = load(environ={"ENABLED_TOOL_IDS": "[" + text, "REMEMBER_PHRASES": text})
        assert (settings.enabled_tool_ids, settings.remember_phrases) == ((), {})


def test_other_peoples_keys_are_not_built_and_a_byte_order_mark_is_no_part_of_the_first() -> None:
    others = "theirs: !include x\nmore: [1]\nCONTEXT_VERBOSITY: 4\n"
    assert [entry.value for entry in config_levels.read_entries("x", others.encode())] == [None, None, 4]
    for text in (others, "\ufeffCONTEXT_VERBOSITY: 4", "\ufeff# comment\r\nCONTEXT_VERBOSITY: 4\r\n"):
        assert load(path=yaml_file(text)).context_verbosity == 4


def test_g20_every_flag_may_be_spelt_in_snake_case_and_camel_case() -> None:
    for name in FLAGS:
        first, *others = name.lower().split("_")
        for spelling in (name, name.lower(), first + "".join(word.capitalize() for word in others)):
            assert config_levels.known_flag(spelling).name == name


ROOT = Path(__file__).resolve().parents[3]
VALIDATOR = jsonschema.Draft202012Validator(config_files.build_schema())
UNCOMMENTED = re.compile(r"^#(?=[A-Z_]+:)", re.MULTILINE)


@pytest.mark.parametrize("name", sorted(config_files.build_files()))
def test_the_files_in_the_repository_equal_the_declaration(name: str) -> None:
    assert (ROOT / name).read_text(encoding="utf-8") == config_files.build_files()[name]


def test_g19_config_yaml_says_nothing_and_each_default_without_secrets_once_uncommented(tmp_path: Path) -> None:
    shipped, path = ROOT / "config.yaml", tmp_path / "config.yaml"
    path.write_text(UNCOMMENTED.sub("", shipped.read_text(encoding="utf-8")))
    public = {name for name, declared in FLAGS.items() if not declared.secret}
    for file, said in ((shipped, set()), (path, public)):
        settings = load(path=file, environ={})
        assert settings == Settings() and check(file, environ={}) == []
        assert {name for name, source in settings.sources.items() if source == "file"} == said
    VALIDATOR.validate(yaml.safe_load(path.read_text()))
    assert not any(re.search(rf"^#{name}:", shipped.read_text(), re.MULTILINE) for name in FLAGS.keys() - public)


def edges(name: str) -> list[Any]:
    kind: Any = FLAGS[name].kind
    spans = [kind.low, kind.high, kind.low - 1, kind.high + 1] if hasattr(kind, "low") else []
    options = kind.options if isinstance(kind, Choice) else ()
    texts = ["x", ""] if isinstance(kind, (Text, Choice)) else []  # other kinds read a text as a variable's
    return [*spans, *options, *texts, True, False, 0, 2, [], ["en"], ["x"], [""], {}, {"facts": ["a"]}]


@pytest.mark.parametrize("name", sorted(set(FLAGS) - {"TIMEZONE", "TEMPLATES_DIR"}))
def test_the_schema_accepts_what_the_flag_accepts(name: str) -> None:
    """Zones and folders are known to the machine alone; the schema asks for a text."""
    for value in edges(name):
        if VALIDATOR.is_valid({name: value}):
            FLAGS[name].kind.read(value)
        else:
            with pytest.raises(BadValueError):
                FLAGS[name].kind.read(value)


WHOLE, PART, COUNT = Number(-1, 50), Number(0, 1.5, is_whole=False), Number(0, 500, is_optional=True)
CHOICE, LANGUAGES, TOOLS = (FLAGS[name].kind for name in ("MEMORY_RANKING", "LANGUAGES", "ENABLED_TOOL_IDS"))
ZONE, KEY, PHRASES = (FLAGS[name].kind for name in ("TIMEZONE", "PERSONA_ID", "REMEMBER_PHRASES"))
NO_NUMBERS = (
    True, False, [4], float("nan"), float("inf"), 10**400, "ten", "yes", "1_0", "٤", "0x4", "nan", "inf", "9" * 5000,
)  # fmt: skip


@pytest.mark.parametrize(("kind", "taken", "bad"), [
    (WHOLE, [(-1, -1), (50, 50), (" 50 ", 50)], (-2, 51, 4.0, "51", "", None, *NO_NUMBERS)),
    (PART, [(0, 0.0), (1.5, 1.5), (" 1.5 ", 1.5)], (-0.01, 1.51, "1.51", "", None, *NO_NUMBERS)),
    (COUNT, [(None, None), ("", None), (" ", None), ("0", 0), (" 500 ", 500)], (-1, 501, "501", 4.0, *NO_NUMBERS)),
    (Switch(), [(1, True), (0, False), (True, True), ("1", True), ("FALSE", False), ("yes", True), ("off", False)],
     (2, -1, 1.0, "2", None)),
    (CHOICE, [("relevance", "relevance"), (" recency ", "recency"), ("RECENCY", "recency")],
     ("newest", "", 1, None, True)),
    (ZONE, [("UTC", "UTC"), ("Europe/Rome", "Europe/Rome")],
     ("Mars/Base", "", "../etc/passwd", "/etc/localtime", "America", "a\x00b", "\ud800", "x" * 5000, 1, None)),
    (LANGUAGES, [(["en", "de", "en"], ("en", "de")), (" en , de ,", ("en", "de")), ('["en","de"]', ("en", "de")),
                 ("[en, de]", ("en", "de")), ("", ())],
     ("xx", ["xx"], ["EN"], [1], [None], [["en"]], {"en": 1}, None)),
    (TOOLS, [((), ())], ([""], ["  "], ["a\x00"], ["\ud800"])),
    (PHRASES, [({"explicit": ["mark my words"], "facts": []}, {"explicit": ("mark my words",), "facts": ()}),
               ('{"explicit": ["a"]}', {"explicit": ("a",)})],
     ({"explicits": ["a"]}, {"explicit": "a"}, {"explicit": [1]}, {1: ["a"]}, ["a"], None)),
    (KEY, [(42, "42"), ("%", "%"), (" a ", " a "), ("é" * 32, "é" * 32)],
     ("", "  ", "é" * 33, "a\x00", "\ud800", True, None, 10**65)),
])  # fmt: skip
def test_g18_p40_t46_what_a_kind_takes_and_refuses(kind: Kind, taken: list[tuple[Any, Any]], bad: Any) -> None:
    for value, kept in taken:
        assert repr(kind.read(value)) == repr(kept)  # 1 equals True
    for value in bad:
        with pytest.raises(BadValueError):
            kind.read(value)


def test_templates_dir_is_a_folder_that_exists(tmp_path: Path) -> None:
    assert Settings(templates_dir=tmp_path).templates_dir == tmp_path
    assert load(environ={"TEMPLATES_DIR": str(tmp_path)}).templates_dir == tmp_path
    assert load(environ={"TEMPLATES_DIR": ""}).templates_dir is None
    for bad in (tmp_path / "none", Path(yaml_file("")), "a\x00b", 4, b"x"):
        with pytest.raises(ConfigError, match="folder that exists"):
            Settings(templates_dir=bad)  # type: ignore[arg-type]


GIVEN = (0, 1, 2.5, True, "x", "né", [], ["en", "de"], [""], {"facts": ["né", 'a "b"']}, None, b"x", float("nan"))


@pytest.mark.parametrize("name", sorted(FLAGS))
def test_g18_what_is_taken_stays_and_reads_back_from_its_text(name: str) -> None:
    kind: Any = FLAGS[name].kind
    bounds = [getattr(kind, each) for each in ("low", "high") if hasattr(kind, each)]
    for value in (FLAGS[name].default, *bounds, *(getattr(kind, "options", None) or ()), *GIVEN):
        try:
            kept = kind.read(value)
        except BadValueError:
            continue
        back = kind.read(kind.write_text(kept))
        assert kind.read(kept) == kept == back and type(back) is type(kept)


def test_timezone_says_where_the_machine_has_no_zone_data() -> None:
    """Images without tzdata know no zone at all: the name is right, and would be looked for in vain."""
    zoneinfo.reset_tzpath(to=())
    zoneinfo.ZoneInfo.clear_cache()
    try:
        with pytest.raises(ConfigError, match=r"TIMEZONE.*pip install tzdata"):
            Settings(timezone="Europe/Rome")
    finally:
        zoneinfo.reset_tzpath()
