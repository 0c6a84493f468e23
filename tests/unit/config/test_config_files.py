"""What may stand in a configuration file, and the files that are made from the flags."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from core.config import FLAGS, Settings, check, load
from core.config import file as config_file
from core.config import levels as config_levels
from core.config.flag_types import BadValueError, Choice, Text
from core.errors import ConfigError
from tests import config_files
from tests.unit.config import yaml_file


@pytest.mark.parametrize("text", ["", "\n\n", "# only\n  # comments\n", "---\n", "\ufeff", "{}", "null"])
def test_f72_an_empty_file_is_all_defaults(text: str) -> None:
    assert load(path=yaml_file(text)) == Settings()
    assert check(yaml_file(text)) == []


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("A: 1\nCONTEXT_VERBOSITY: 1\nCONTEXT_VERBOSITY: 1\n", 3, "line 2 said already"),
        ("contextVerbosity: 1\ncontext_verbosity: 2\n", 2, "as 'contextVerbosity'"),
        ("{CHAT_HISTORY: 1, CHAT_HISTORY: 2}", 1, "line 1 said already"),
        ("CONTEXT_VERBOSITY: 1\n\tx: 2\n", 2, "not YAML"),
        ("A: *nope\n", 1, "not YAML"),
        ("A: 1\n---\nB: 2\n", 2, "not YAML"),
        ("- CONTEXT_VERBOSITY\n", 1, "no mapping"),
        ("? [a]\n: 1\n", 1, "no text"),
        ("A: 1\nB: \x07\n", 2, "not YAML"),
        (b"A: 1\nB: \xff\n", 2, "not UTF-8"),
        ("A: " + "[" * 500_000, 1, "nest"),
    ],
)
def test_f72_a_file_that_cannot_be_read_raises_with_the_line(text: str | bytes, line: int, says: str) -> None:
    name = yaml_file(text)
    for path in (None, name):
        with pytest.raises(ConfigError) as caught:
            load(path=path)
        assert says in str(caught.value) and f"line {line}" in str(caught.value)
        assert (caught.value.line, caught.value.source) == (line, "config.yaml")
    assert [problem.line for problem in check(name)][-1] == line


def test_f72_a_folder_a_missing_and_a_huge_file_raise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="is a folder"):
        load(path=tmp_path)
    with pytest.raises(ConfigError, match=r"no configuration file 'none\.yaml'"):
        load(path="none.yaml")
    with pytest.raises(ConfigError, match="cannot be read"):
        load(path="a\x00b")
    with pytest.raises(ConfigError, match="larger than"):
        load(path=yaml_file(b"#" * 1_000_001))
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


@pytest.mark.parametrize(
    "value", ["2026-13-45", "!!python/object:os.system x", "!!binary aGk=", "0x" + "f" * 9000, "9" * 9000, "&a [*a]"]
)
def test_f72_a_value_yaml_makes_nothing_of_is_a_bad_value(value: str, caplog: pytest.LogCaptureFixture) -> None:
    assert load(path=yaml_file(f"CONTEXT_VERBOSITY: {value}")) == Settings()
    assert len(caplog.messages) == 1 and len(caplog.messages[0]) < 400


def test_other_peoples_keys_are_not_built_and_a_byte_order_mark_is_no_part_of_the_first() -> None:
    others = "theirs: !include x\nmore: [1]\nCONTEXT_VERBOSITY: 4\n"
    assert [entry.value for entry in config_file.read_entries("x", others.encode(), FLAGS)] == [None, None, 4]
    for text in (others, "\ufeffCONTEXT_VERBOSITY: 4", "\ufeff# comment\r\nCONTEXT_VERBOSITY: 4\r\n"):
        assert load(path=yaml_file(text)).context_verbosity == 4


@pytest.mark.parametrize(
    "text", ["&a x, *a]", "&a [&b [*a, *a], *b]", "[" * 100_000, "[" * 10, "{a: ", "!!python/name:os.system"]
)
def test_hostile_text_in_a_variable_is_a_bad_value(text: str) -> None:
    settings = load(environ={"ENABLED_TOOL_IDS": "[" + text, "REMEMBER_PHRASES": text})
    assert (settings.enabled_tool_ids, settings.remember_phrases) == ((), {})


@pytest.mark.parametrize("name", sorted(FLAGS))
def test_g20_every_flag_may_be_spelt_in_snake_case_and_camel_case(name: str) -> None:
    first, *others = name.lower().split("_")
    camel = first + "".join(word.capitalize() for word in others)
    for spelling in (name, name.lower(), camel):
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
        try:
            FLAGS[name].kind.read(value)
            taken = True
        except BadValueError:
            taken = False
        assert VALIDATOR.is_valid({name: value}) is taken, value
