"""What may be given for each flag, and in which form it is kept."""

from __future__ import annotations

import zoneinfo
from pathlib import Path
from typing import Any

import pytest

from core.config import FLAGS, Settings, check, load
from core.config.flag_types import BadValueError, Choice, Number, Switch
from core.errors import ConfigError
from tests.unit.config import yaml_file

KINDS: dict[str, Any] = {name: declared.kind for name, declared in FLAGS.items()}
OPTIONAL = [name for name, kind in KINDS.items() if isinstance(kind, Number) and kind.is_optional]
NUMBERS = [name for name, kind in KINDS.items() if isinstance(kind, Number) and not kind.is_optional]
WHOLES = [name for name in NUMBERS if KINDS[name].is_whole]
SWITCHES = [name for name, declared in FLAGS.items() if isinstance(declared.kind, Switch)]
CHOICES = [name for name, declared in FLAGS.items() if isinstance(declared.kind, Choice)]


@pytest.mark.parametrize("name", NUMBERS)
def test_g18_numbers_are_taken_within_their_range_and_refused_outside(name: str) -> None:
    kind: Any = FLAGS[name].kind
    step = 1 if name in WHOLES else 0.01
    for value in (kind.low, kind.high):
        kept = kind.read(value)
        assert kept == value and type(kept) is type(FLAGS[name].default)
        assert kind.read(f" {value} ") == value
    below = kind.low - step
    for bad in (below, kind.high + step, True, False, None, [4], float("nan"), float("inf"), 10**400):
        with pytest.raises(BadValueError):
            kind.read(bad)
    for bad_text in (str(kind.high + step), "ten", "", "yes", "1_0", "٤", "0x4", "nan", "inf", "9" * 5000):
        with pytest.raises(BadValueError):
            kind.read(bad_text)


@pytest.mark.parametrize("name", OPTIONAL)
def test_p40_a_count_may_be_left_unset(name: str) -> None:
    kind: Any = FLAGS[name].kind
    assert kind.read(None) is None
    assert [kind.read(text) for text in ("", " ", "0", " 500 ")] == [None, None, 0, 500]
    assert [kind.write_text(value) for value in (None, 7)] == ["", "7"]
    for bad in (-1, 501, True, "501", 4.0):
        with pytest.raises(BadValueError):
            kind.read(bad)


@pytest.mark.parametrize("name", SWITCHES)
def test_g18_a_switch_is_one_zero_or_a_bool(name: str) -> None:
    kind = FLAGS[name].kind
    assert [kind.read(value) for value in (1, 0, True, False)] == [True, False, True, False]
    assert [kind.read(text) for text in ("1", "FALSE", "yes", "off")] == [True, False, True, False]
    assert kind.read(1) is True
    for bad in (2, -1, 1.0, "2", None):
        with pytest.raises(BadValueError):
            kind.read(bad)


@pytest.mark.parametrize("name", CHOICES)
def test_g18_a_choice_is_one_of_its_words(name: str) -> None:
    kind: Any = FLAGS[name].kind
    assert [kind.read(word) for word in kind.options] == list(kind.options)
    for bad in ("newest", "", kind.options[0].upper(), 1, None, True):
        with pytest.raises(BadValueError):
            kind.read(bad)


@pytest.mark.parametrize(
    "zone", ["Mars/Base", "", "../etc/passwd", "/etc/localtime", "America", "a\x00b", "\ud800", "x" * 5000, 1, None]
)
def test_timezone_refuses_what_is_no_zone(zone: Any) -> None:
    with pytest.raises(ConfigError, match="TIMEZONE"):
        Settings(timezone=zone)


def test_lists_are_texts_only_unique_and_frozen() -> None:
    assert Settings(languages=["en", "de", "en"]).languages == ("en", "de")  # type: ignore[arg-type]
    assert Settings(enabled_tool_ids=()).enabled_tool_ids == ()
    for bad in ("xx", ["xx"], ["EN"], [1], [None], [["en"]], {"en": 1}, None):
        with pytest.raises(ConfigError):
            Settings(languages=bad)  # type: ignore[arg-type]
    for bad in ([""], ["  "], ["a\x00"], ["\ud800"]):
        with pytest.raises(ConfigError):
            Settings(enabled_tool_ids=bad)  # type: ignore[arg-type]


def test_norwegian_without_quotes_is_refused_with_a_hint() -> None:
    """YAML reads the code `no` as a switch; whoever writes it must learn why it is not taken."""
    [problem] = check(yaml_file("LANGUAGES: [en, no]"))
    assert "quotes around False" in problem.text
    assert load(path=yaml_file("LANGUAGES: [en, 'no']")).languages == ("en", "no")


@pytest.mark.parametrize(
    ("text", "expected"),
    [(" en , de ,", ("en", "de")), ('["en","de"]', ("en", "de")), ("[en, de]", ("en", "de")), ("", ())],
)
def test_lists_in_variables_are_json_yaml_or_between_commas(text: str, expected: tuple[str, ...]) -> None:
    assert load(environ={"LANGUAGES": text}).languages == expected


def test_t46_phrases_are_lists_under_known_groups() -> None:
    settings = Settings(remember_phrases={"explicit": ["mark my words"], "facts": []})  # type: ignore[dict-item]
    assert settings.remember_phrases == {"explicit": ("mark my words",), "facts": ()}
    assert load(environ={"REMEMBER_PHRASES": '{"explicit": ["a"]}'}).remember_phrases == {"explicit": ("a",)}
    by_file = load(path=yaml_file("REMEMBER_PHRASES:\n  feelings: [io sento]\n"))
    assert by_file.remember_phrases == {"feelings": ("io sento",)}
    for bad in ({"explicits": ["a"]}, {"explicit": "a"}, {"explicit": [1]}, {1: ["a"]}, ["a"], None):
        with pytest.raises(ConfigError, match="REMEMBER_PHRASES"):
            Settings(remember_phrases=bad)  # type: ignore[arg-type]


def test_persona_id_is_a_key() -> None:
    assert load(path=yaml_file("PERSONA_ID: 42")).persona_id == "42"
    assert [Settings(persona_id=key).persona_id for key in ("%", " a ", "é" * 32)] == ["%", " a ", "é" * 32]
    for bad in ("", "  ", "é" * 33, "a\x00", "\ud800", True, None, 10**65):
        with pytest.raises(ConfigError, match="at most 64 bytes"):
            Settings(persona_id=bad)  # type: ignore[arg-type]


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
