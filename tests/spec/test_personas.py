"""Texts of a host's own: those of its personas, and files of words in TEMPLATES_DIR (P15, P64, P65)."""

import os
from pathlib import Path
from typing import Any

import pytest

from core import Scope, build_messages, to_messages
from core.config import Settings
from core.errors import ConfigError, MessageError, PromptTooLargeError
from core.hooks import set_hook
from core.memories.instructions import read_instructions
from core.personas import get_persona_text, set_persona_text
from core.templates.words import load_phrases, refused_patterns
from tests.spec.stage import Stage, message

pytestmark = pytest.mark.engines()
IRIS = Scope("iris")


def folder_of(path: Path) -> Settings:
    return Settings(persona_folder=str(path / "personas"))


def ask(stage: Stage, settings: Settings, **more: Any) -> Any:
    return build_messages(message("tofu"), db=stage.db, settings=settings, scope=stage.scope(), **more)


def test_p15_the_text_opens_the_system_message_and_the_instructions(stage: Stage, tmp_path: Path) -> None:
    """Without it the model answers as nobody: a newcomer must see it work with one file."""
    settings, text = folder_of(tmp_path), "You are {{char}}.\n\nBe kind to {{User}}."
    written = set_persona_text(text, settings=settings, scope=stage.scope())
    assert written == tmp_path / "personas" / f"{stage.persona}.md" and written.read_text() == text
    written.chmod(0o600)
    set_persona_text(text, settings=settings, scope=stage.scope())
    assert written.stat().st_mode & 0o777 == 0o600 or os.name == "nt"
    filled = f"You are {stage.persona.capitalize()}.\n\nBe kind to Ann."
    assert ask(stage, settings)[0]["content"].startswith(f"{filled}\n\n")
    prompt = stage.prompt("tofu", settings=settings)
    assert prompt["instructions"].startswith(f"{filled}\n\n") and "persona" not in prompt["context"]
    assert to_messages(prompt)[0]["content"].startswith(filled)
    set_persona_text(" ", settings=settings, scope=stage.scope())
    assert not written.exists() and "kind" not in ask(stage, settings)[0]["content"]


def test_p15_the_text_as_it_is_sent(stage: Stage, tmp_path: Path) -> None:
    """A provider refuses a request with U+0000; `You like Unknown` makes a model speak of a stranger."""
    settings, expected = folder_of(tmp_path), "You are kind.\nBe\nbrief.\nNow.\n\n"
    set_persona_text("You are\x00 kind.\r\nBe\u2028brief.\x85Now.", settings=settings, scope=stage.scope())
    for text in (ask(stage, settings)[0]["content"], stage.prompt("tofu", settings=settings)["instructions"]):
        assert text.startswith(expected)
    set_persona_text("Be kind to {{user}}.", settings=settings, scope=stage.scope())
    assert stage.prompt("Hi", from_user={}, settings=settings)["instructions"].startswith("Be kind to the user.\n")
    set_hook("context", lambda: {"persona": "From the hook."})
    assert ask(stage, settings)[0]["content"].startswith("From the hook.")


def test_p15_the_text_counts_toward_the_limit_and_is_never_shortened(stage: Stage, tmp_path: Path) -> None:
    """Half a description is another persona."""
    settings, text = folder_of(tmp_path), "I love moss. " * 100
    set_persona_text(text, settings=settings, scope=stage.scope())
    for n in range(20):
        stage.remember(f"tofu {n} " + "x" * 100, ["tofu"], n)
    made = ask(stage, settings, max_chars=2500)
    assert made[0]["content"].startswith(text) and sum(len(each["content"]) for each in made) <= 2500
    assert text in stage.prompt("tofu", settings=settings, max_chars=3000)["instructions"]
    with pytest.raises(PromptTooLargeError):
        ask(stage, settings, max_chars=1200)


def test_p15_each_persona_has_a_text_of_its_own_next_to_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A service may be started from anywhere."""
    settings, folder = folder_of(tmp_path), tmp_path / "personas"
    for persona in ("iris", "Iris ", "../iris", "/etc/iris", ".hidden", "a%2Fb", "a/b", "美羽"):
        assert set_persona_text(f"I am {persona!r}.", settings=settings, scope=Scope(persona)).parent == folder
        assert get_persona_text(settings=settings, scope=Scope(persona)) == f"I am {persona!r}."
    assert len(list(folder.iterdir())) == 8 and get_persona_text(settings=settings, scope=IRIS) == "I am 'iris'."
    assert get_persona_text(settings=settings, scope=Scope("nobody")) == ""
    (folder / "iris.md").write_text("\ufeffChanged by hand.\n\n", encoding="utf-8")
    assert get_persona_text(settings=settings, scope=IRIS) == "Changed by hand."
    (tmp_path / "config.yaml").write_text("PERSONA_ID: iris\n")
    monkeypatch.setenv("CONFIG_FILE", str(tmp_path / "config.yaml"))
    assert get_persona_text() == "Changed by hand."


@pytest.mark.posix
def test_p15_a_file_that_cannot_be_read_is_named_and_fails_no_prompt(stage: Stage, tmp_path: Path) -> None:
    """The people who talk with the persona still get an answer; its operator learns why it is nobody."""
    settings = folder_of(tmp_path)
    own: Any = {"settings": settings, "scope": stage.scope()}
    file = set_persona_text("One.", **own)
    file.write_bytes(b"\xff\xfe\xff")
    with pytest.raises(ConfigError, match="not UTF-8"):
        get_persona_text(**own)
    assert "persona_text" in str(stage.explain("tofu", settings=settings)[1])
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(ConfigError, match="no ordinary file"):
        get_persona_text(**own)
    file.unlink()
    file.mkdir()
    for text, error, told in (("Two.", ConfigError, "cannot be"), ("x" * 1_000_001, MessageError, "1,000,000")):
        with pytest.raises(error, match=told):
            set_persona_text(text, **own)
        assert list(file.parent.iterdir()) == [file], "what could not be put in place is removed"
    file.rmdir()
    set_persona_text("x" * 1_000_000, **own)
    assert len(get_persona_text(**own)) == 1_000_000


def test_p64_p65_word_files_are_overlaid_one_by_one_and_a_broken_one_is_not(tmp_path: Path, caplog: Any) -> None:
    (tmp_path / "remember").mkdir()
    for name, text in (
        ("remember/en.yaml", "explicit: [mark my words]\n"), ("remember/eo.yaml", "explicit: [memoru]\n"),
        ("refused.yaml", "- quagga refuses\n"),
    ):  # fmt: skip
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert load_phrases("en", templates_dir=tmp_path)["explicit"] == ("mark my words",)
    assert load_phrases("eo", templates_dir=tmp_path)["explicit"] == ("memoru",)
    assert load_phrases("de", templates_dir=tmp_path) == load_phrases("de")
    assert load_phrases("../remember/en", templates_dir=tmp_path)["explicit"] == ()
    assert refused_patterns(tmp_path) == ("quagga refuses",) and read_instructions("I am vegan.", Settings())
    assert not read_instructions("I am vegan.", Settings(templates_dir=tmp_path))
    (tmp_path / "remember/en.yaml").write_text("- no groups: [", encoding="utf-8")
    for _ in range(3):
        assert load_phrases("en", templates_dir=tmp_path) == load_phrases("en")
    assert len([one for one in caplog.records if "word_file_replaced" in one.getMessage()]) == 1
