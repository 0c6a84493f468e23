"""`prompt-engine config`: list, check and set flags, and write presets."""

import os
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path

import typer
from typer import Argument, BadParameter

from .. import config
from ..base import logs
from ..config import Problem, Settings
from ..config.levels import describe_bad_token, known_flag
from ..errors import ConfigError
from . import output
from .run import ForceOption, Run, command

PRESETS = Path(__file__).resolve().parent / "presets"


@command("config list")
def list_(run: Run) -> None:
    """List each flag, its value and its source.

    A source is argument, environment, file or default.
    """
    rows = config.show(_load_settings(run))
    run.answer(
        [row._asdict() for row in rows],
        lambda: output.table(("flag", "value", "source"), [(row.flag, row.value or "-", row.source) for row in rows]),
    )


def _load_settings(run: Run) -> Settings:
    return config.load({"DATABASE_URL": run.url} if run.url is not None else None)


@command("config check")
def check(run: Run) -> None:
    """List configuration problems.

    The exit code is 1 if there are any.
    """
    problems = config.check()
    logged, logs.logger.disabled = logs.logger.disabled, True  # the result lists the warnings
    try:
        unusable = list(_find_unusable(_load_settings(run)))
    except ConfigError as error:
        unusable = [Problem.of(error)]
    finally:
        logs.logger.disabled = logged
    problems += [one for one in unusable if one.text not in {each.text for each in problems}]
    sentences = [f"- {problem.text}" for problem in problems] or ["The configuration is in order."]
    run.answer([asdict(problem) for problem in problems], lambda: output.lines(sentences))
    if problems:
        raise typer.Exit(1)


def _find_unusable(settings: Settings) -> Iterator[Problem]:
    """Yield values of the right type that cannot be used, such as an invalid URL. Opens no connection."""
    from ..database.connections import check_url
    from ..llm import embedder as embedders
    from ..llm.client import read_endpoint

    def check_embedder() -> None:
        embedder = embedders.resolve(None, settings)
        if embedder is not None:
            embedders.check(embedder)

    checks: list[Callable[[], object]] = [check_embedder]
    if settings.llm_base_url.strip():
        checks.insert(0, partial(read_endpoint, settings.llm_base_url))
    if settings.database_url:
        checks.insert(0, partial(check_url, settings.database_url))
    for run_check in checks:
        try:
            run_check()
        except ConfigError as error:
            yield Problem(error.flag, str(error), settings.sources[error.flag])
    if settings.admin_token and (reason := describe_bad_token(settings.admin_token)):
        yield Problem("ADMIN_TOKEN", reason, settings.sources["ADMIN_TOKEN"])


@command("config set", creates=True)
def set_(
    run: Run,
    name: str = Argument(metavar="FLAG", help="Name of the flag."),
    value: str = Argument(metavar="VALUE", help="Value as written in config.yaml."),
) -> None:
    """Set a flag in config.yaml by changing or adding its line.

    The file is CONFIG_FILE, else config.yaml in the working directory. The next call uses the value,
    unless an environment variable sets the flag. A secret is not written: give it by a variable.
    """
    try:
        flag = known_flag(name).name
    except ConfigError as error:
        raise BadParameter(str(error)) from None
    file = os.environ.get("CONFIG_FILE") or "config.yaml"
    changed = config.set_in_file(flag, value, file)
    (row,) = (row for row in config.show(_load_settings(run)) if row.flag == flag)
    sentence = (
        f"{flag} is {row.value} now."
        if row.source == "file"
        else f"Written, but {flag} is {row.value} here: the {row.source} goes before the file."
    )
    run.answer({"flag": flag, "file": file, "changed": changed, "value": row.value, "source": row.source}, sentence)


@command("config preset")
def preset(
    run: Run,
    name: str = Argument(metavar="NAME", help="Preset: bot, role-play, companion, vtuber or notes."),
    folder: Path = Argument(Path(), metavar="[FOLDER]", help="Folder for config.yaml.", show_default=False),
    force: ForceOption = False,
) -> None:
    """Write a config.yaml for a kind of program.

    The file sets the flags that such a program needs; its first lines name what else must run.
    """
    known = sorted(file.stem for file in PRESETS.glob("*.yaml"))
    if name not in known:
        raise BadParameter(f"there is no preset {name!r}; known are {', '.join(known)}")
    content = (PRESETS / f"{name}.yaml").read_bytes()
    path = folder / "config.yaml"
    try:
        if path.exists() and not force and path.read_bytes() != content:
            sentence = f"{str(path)!r} is there already. Name another folder, or replace it with --force."
            raise ConfigError(sentence, source=str(path))
        folder.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise ConfigError(f"{str(path)!r} cannot be written: {error.strerror}.", source=str(path)) from None
    head = [line.removeprefix("# ") for line in content.decode().partition("\n\n")[0].splitlines()]
    run.answer({"file": str(path), "about": head}, lambda: output.lines([f"Written: {path}", *head]))
