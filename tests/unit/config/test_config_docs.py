"""What people read about the flags is made from the declaration, and is true."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from core.config import FLAGS, Settings, check, load
from core.config.flag_types import BadValueError
from tests import config_files

ROOT = Path(__file__).resolve().parents[3]
VALIDATOR = jsonschema.Draft202012Validator(config_files.build_schema())
UNCOMMENTED = re.compile(r"^#(?=[A-Z_]+:)", re.MULTILINE)


@pytest.mark.parametrize("name", sorted(set(config_files.build_files()) - {"docs/config.md"}))  # made with the site
def test_the_files_in_the_repository_equal_the_declaration(name: str) -> None:
    """Run `make docs` when this fails."""
    assert (ROOT / name).read_text(encoding="utf-8") == config_files.build_files()[name]


def test_config_yaml_says_nothing_until_a_line_is_uncommented() -> None:
    path = ROOT / "config.yaml"
    assert load(path=path, environ={}) == Settings() and set(load(path=path, environ={}).sources.values()) == {
        "default"
    }
    assert check(path, environ={}) == []


def test_config_yaml_uncommented_is_every_default(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(UNCOMMENTED.sub("", config_files.config_yaml()))
    settings = load(path=path, environ={})
    assert settings == Settings() and check(path, environ={}) == []
    assert {name for name, source in settings.sources.items() if source == "file"} == {
        name for name, declared in FLAGS.items() if not declared.secret
    }
    VALIDATOR.validate(yaml.safe_load(path.read_text()))


def test_g19_no_secret_has_a_line_in_config_yaml() -> None:
    for name, declared in FLAGS.items():
        assert bool(re.search(rf"^#{name}:", config_files.config_yaml(), re.MULTILINE)) is not declared.secret


def edges(name: str) -> list[Any]:
    kind: Any = FLAGS[name].kind
    spans = [kind.low, kind.high, kind.low - 1, kind.high + 1] if hasattr(kind, "low") else []
    options = getattr(kind, "options", None) or ()
    return [*spans, *options, True, False, 0, 2, "x", [], ["en"], ["x"], [""], {}, {"facts": ["a"]}]


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
