"""`prompt-engine config`: the settings, where each comes from, and what is wrong with them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from .. import config
from ..base import logs, resources
from ..config import FLAGS, Problem, Settings
from ..config.levels import known_flag
from ..errors import ConfigError
from . import output
from .run import ForceOption, Run, add_command, refusals

FlagsArgument = Annotated[list[str] | None, typer.Argument(metavar="[FLAG]...", help="Only these.", show_default=False)]
ChangedOption = Annotated[bool, typer.Option("--changed", help="Only what is not at its default.")]
NameArgument = Annotated[str, typer.Argument(metavar="FLAG", help="Which.", show_default=False)]
ValueArgument = Annotated[str, typer.Argument(metavar="VALUE", help="As config.yaml has it.", show_default=False)]
PresetArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="bot, role-play, companion, vtuber or notes.", show_default=False)
]
FolderArgument = Annotated[Path, typer.Argument(metavar="[FOLDER]", help="Where to.", show_default=False)]


def list_(run: Run, flags: FlagsArgument = None, changed: ChangedOption = False) -> None:
    """List each flag, its value and its source.

    A source is argument, environment, file or default.
    """
    names = {_flag_name(name) for name in flags or ()}
    rows = [
        row
        for row in config.show(_load_settings(run))
        if (not names or row.flag in names) and (not changed or row.source != "default")
    ]
    run.answer(
        [row._asdict() for row in rows],
        lambda: output.table(("flag", "value", "source"), [(row.flag, row.value or "-", row.source) for row in rows]),
    )


def _flag_name(name: str) -> str:
    try:
        return known_flag(name).name
    except ConfigError as error:
        raise typer.BadParameter(str(error)) from None


def _load_settings(run: Run) -> Settings:
    """Return the settings in force."""
    return config.load({"DATABASE_URL": run.url} if run.url is not None else None)


def check(run: Run) -> None:
    """List everything that is wrong.

    The exit code is 1 if anything is.
    """
    problems = config.check()
    try:
        with _without_log():
            settings = _load_settings(run)
    except ConfigError as error:
        unusable = [Problem(error.flag, str(error), error.source, error.line)]
    else:
        unusable = _find_unusable(settings)
    problems += [one for one in unusable if one.text not in {each.text for each in problems}]
    run.answer([asdict(problem) for problem in problems], lambda: _print_problems(problems))
    if problems:
        raise typer.Exit(1)


def _find_unusable(settings: Settings) -> list[Problem]:
    """Return the values that are of their type, and that nothing can be reached or started with. Nothing is opened."""
    from ..config.levels import describe_bad_token
    from ..database.connections import check_url
    from ..llm import embedder as embedders

    problems = []

    def note(flag: str, text: str) -> None:
        problems.append(Problem(flag, text, settings.sources[flag]))

    try:
        if settings.database_url:
            check_url(settings.database_url)
    except ConfigError as error:
        note("DATABASE_URL", str(error))
    reason = describe_bad_token(settings.admin_token) if settings.admin_token else ""
    if reason:
        note("ADMIN_TOKEN", reason)
    scheme, sign, rest = settings.llm_base_url.partition("://")
    if settings.llm_base_url and (scheme not in ("http", "https") or not rest):
        near = f" Write http://{scheme}, if that is meant." if not sign else ""
        note(
            "LLM_BASE_URL", f"LLM_BASE_URL is {settings.llm_base_url!r}. It must begin with http:// or https://.{near}"
        )
    embedder = embedders.resolve(None, settings)
    try:
        if embedder is not None:
            embedders.check(embedder)
    except ConfigError as error:
        note(error.flag, str(error))
    return problems


def set_(run: Run, name: NameArgument, value: ValueArgument) -> None:
    """Set a flag in config.yaml: its line is changed, or added.

    The file is that of --config or CONFIG_FILE, else the one in the working directory. It acts on the next call. A
    variable of the environment goes before it. A secret is not written: give it by a variable.
    """
    flag = _flag_name(name)
    file = os.environ.get("CONFIG_FILE") or "config.yaml"
    with refusals():
        changed = config.set_in_file(flag, value, file)
    (row,) = (row for row in config.show(_load_settings(run)) if row.flag == flag)
    sentence = (
        f"{flag} is {row.value} now."
        if row.source == "file"
        else f"Written, but {flag} is {row.value} here: the {row.source} goes before the file."
    )
    run.answer({"flag": flag, "file": file, "changed": changed, "value": row.value, "source": row.source}, sentence)


def preset(run: Run, name: PresetArgument, folder: FolderArgument = Path(), force: ForceOption = False) -> None:
    """Write a config.yaml for a kind of program.

    It turns on what such a host needs, and prints what else must run.
    """
    if name not in PRESETS:
        raise typer.BadParameter(f"there is no preset {name!r}; known are {', '.join(PRESETS)}")
    chosen = PRESETS[name]
    lines = [f"# Preset {name}: {chosen.about}.", *(f"# Needed beside: {need}" for need in chosen.needs)]
    for flag, value in chosen.flags.items():
        lines += ["", f"# {FLAGS[flag].help}", f"{flag}: {json.dumps(value)}"]
    path = _write_file(folder, "\n".join(lines) + "\n", force=force)
    run.answer(
        {"file": str(path), "flags": dict(chosen.flags), "needs": list(chosen.needs)},
        lambda: output.lines([f"{path}: {chosen.about}", *(f"- {need}" for need in chosen.needs)]),
    )


def write(run: Run, folder: FolderArgument = Path(), force: ForceOption = False) -> None:
    """Write a config.yaml that explains every flag.

    It goes to FOLDER, the working directory by default. Every line is a comment, so it changes nothing.
    """
    shipped = resources.find("config.yaml").read_text(encoding="utf-8")
    path = _write_file(folder, shipped, force=force)
    run.answer({"file": str(path)}, str(path))


def _write_file(folder: Path, text: str, *, force: bool) -> Path:
    path = folder / "config.yaml"
    try:
        if path.exists() and not force and path.read_bytes() != text.encode():
            raise ConfigError(
                f"{str(path)!r} is there already. Name another folder, or replace it with --force.", source=str(path)
            )
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise ConfigError(f"{str(path)!r} cannot be written: {error.strerror}.", source=str(path)) from None
    return path


@contextmanager
def _without_log() -> Iterator[None]:
    """Keep warnings about the configuration out of the log: here they are the answer."""
    before, logs.logger.disabled = logs.logger.disabled, True
    try:
        yield
    finally:
        logs.logger.disabled = before


def _print_problems(problems: list[Problem]) -> None:
    if not problems:
        output.say("The configuration is in order.")
    output.lines(f"- {problem.text}" for problem in problems)


# Presets


class Preset(NamedTuple):
    """Flags of a kind of host."""

    about: str
    flags: Mapping[str, object]
    needs: tuple[str, ...]
    """What else must run or be set."""


_WORKER = "A worker for summaries and recaps: prompt-engine worker --schedule"
_MODEL = "A model: LLM_BASE_URL, LLM_MODEL, and LLM_API_KEY as a variable; without one texts are made of what was said."

PRESETS: Mapping[str, Preset] = {
    "bot": Preset(
        "a bot in communities: several channels, several people",
        {"UNIFIED_HISTORY": False, "RECORD_WISHES": True, "ENABLE_SHORT_TERM": True, "PRIVATE_STAYS_PRIVATE": True},
        (_MODEL, _WORKER, "Pass the server and whether a channel is private with each message."),
    ),
    "role-play": Preset(
        "long stories with few people",
        {
            "UNIFIED_HISTORY": False, "ENABLE_RUNNING_RECAP": True, "AUTO_HIDE_SCENE_COUNT": 2,
            "ENABLE_SHORT_TERM": False, "RECORD_WISHES": False,
        },
        (_MODEL, "A worker for recaps of scenes: prompt-engine worker"),
    ),
    "companion": Preset(
        "one person who talks to one persona for years",
        {"UNIFIED_HISTORY": True, "ENABLE_SAVED_MEMORY": True, "RECORD_WISHES": True, "ENABLE_RELATIONSHIP": True,
         "ENABLE_RECENT_CONVERSATIONS": True, "MEMORY_ITEMS": 15, "SNIPPET_CHARS": 800},
        (_MODEL, _WORKER, "Room, where answers are long: MAX_PROMPT_CHARS of 16000 or more, or none."),
    ),
    "vtuber": Preset(
        "a streamer: what is old or matters little is pruned by itself",
        {
            "PRUNE_MAX_AGE_DAYS": 30, "PRUNE_MODE": "any", "PRUNE_BY_ITSELF": True, "ENABLE_RELATIONSHIP": True,
        },
        (_MODEL, _WORKER, "Call prompt_engine.lifelong.on_stream_end when a stream ends."),
    ),
    "notes": Preset(
        "notes to be searched, no conversation around them",
        {
            "ENABLE_SHORT_TERM": False, "ENABLE_RELATIONSHIP": False, "RECORD_WISHES": False, "ENABLE_AI_DIARY": False,
            "ENABLE_RUNNING_RECAP": False,
        },
        ("Nothing else: prompt-engine remember stores, prompt-engine search finds.",),
    ),
}  # fmt: skip


def register(app: typer.Typer) -> None:
    """Add the subcommands to the command."""
    group = typer.Typer(help="List the flags, check and set them, write a file of them.")
    add_command(group, "list", list_)
    add_command(group, "check", check)
    add_command(group, "set", set_, creates=True)
    add_command(group, "preset", preset)
    add_command(group, "write", write)
    app.add_typer(group, name="config")
