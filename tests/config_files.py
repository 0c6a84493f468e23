"""Writes the files made from the flags: config.yaml, docs/config.schema.json and docs/config.md.

`python -m tests.config_files`, called by `make docs`; a test compares the files.
"""

import json
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from core.config import flag_types as types
from core.config.flag_base import GROUPS, Flag, plain
from core.config.flags import FLAGS

ROOT = Path(__file__).resolve().parents[1]
_WIDTH = 100

_YAML_HEAD = """\
# yaml-language-server: $schema=docs/config.schema.json
#
# Every flag, with what it does, what may be given, and its default. Every line is a comment: the
# defaults hold. To change a flag, remove the # in front of its line and write another value.
#
# A flag may also be set by an environment variable of the same name, which wins over this file:
#     CONTEXT_VERBOSITY=4 my-program
# Another file is used when the variable CONFIG_FILE holds its path. A change acts on the next call.
# `prompt-engine config check` lists everything that is wrong, `prompt-engine config list` each
# value and where it came from.
"""

_GUIDE_HEAD = """\
# Configuration

Everything has a default; nothing needs to be set. This page is made from the declaration in `core/config/flags.py`.

## Where a value comes from

The highest level that has a value wins:

| Level | How | Good for |
|---|---|---|
| 1. argument | `build_json_prompt(message, settings={"CONTEXT_VERBOSITY": 4})` | one call |
| 2. environment | `CONTEXT_VERBOSITY=4` | one process, containers |
| 3. file | `CONTEXT_VERBOSITY: 4` in `config.yaml`, by hand or by `prompt-engine config set` | one installation |
| 4. default | the tables below | |

With 4 in the file and 2 in the environment the value is 2; without the variable it is 4. Values are looked up at every
call: a change acts on the next call, of every process that reads the file.

The file is the one named by the variable `CONFIG_FILE`, else `config.yaml` in the working directory. In the file,
`context_verbosity` and `contextVerbosity` mean `CONTEXT_VERBOSITY`.

## What may be written

- In the file a value is YAML: `4`, `true`, `relevance`. The same text is the value of a variable. A switch is `1` or
  `0` (or `true`, `false`), a list is `en, de` or `["en", "de"]`. In a variable, `REMEMBER_PHRASES` is JSON.
- If the highest level has a bad value, the flag has its default, not the value of a lower level; one warning in the log
  names flag, value, source and what is allowed. A key that is no flag is named in a warning with the nearest flag.
- A file that is not YAML, or has a key twice, raises `ConfigError` with the line. A folder in its place raises it too.
- `prompt-engine config check` lists everything that is wrong at once. `prompt-engine config list` prints each value and
  where it came from.
- Keep a secret in its variable, or in a file whose path is in the variable of the same name with `_FILE`
  (`DATABASE_URL_FILE=/run/secrets/database`). It is printed as dots, and `config set` does not write it.
- Editors that know JSON Schema complete and check `config.yaml` by `docs/config.schema.json`.

In Python the same names in lower case are the fields of `config.Settings`:
`Settings(context_verbosity=4)` has the default of every other flag; a bad value raises `ConfigError` there.

## Flags
"""


def config_yaml(flags: Mapping[str, Flag] = FLAGS) -> str:
    parts = [_YAML_HEAD]
    for group, meaning in GROUPS.items():
        parts.append(f"\n# {f'---- {group} '.ljust(_WIDTH - 2, '-')}\n# {meaning}\n")
        parts += [_yaml_entry(declared) for declared in flags.values() if declared.group == group]
    return "".join(parts)


def _yaml_entry(declared: Flag) -> str:
    told = [declared.help, f"May be {declared.kind.allowed}. Default: {declared.shown_default()}."]
    if declared.secret:
        better = f"Better than a line here is the variable {declared.name}, or the variable {declared.name}_FILE"
        told.append(f"{declared.name} is a secret. {better} with the path of a file that holds it.")
    lines = ["", *(f"# {line}" for text in told for line in textwrap.wrap(text, _WIDTH - 2))]
    if not declared.secret:
        lines.append(f"#{declared.name}: {write_yaml_value(declared.default)}")
    return "\n".join(lines) + "\n"


def write_yaml_value(value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    if isinstance(value, str):
        return value or '""'
    if isinstance(value, tuple):
        return f"[{', '.join(value)}]"
    return json.dumps(plain(value))


def config_md(flags: Mapping[str, Flag] = FLAGS) -> str:
    parts = [_GUIDE_HEAD]
    for group, meaning in GROUPS.items():
        parts.append(f"\n### {group}\n\n{meaning}\n\n| Flag | Default | May be | What it does |\n|---|---|---|---|\n")
        parts += [
            f"| `{name}` | {_cell(declared)} | {declared.kind.allowed}{', secret' if declared.secret else ''} "
            f"| {declared.help} |\n"
            for name, declared in flags.items()
            if declared.group == group
        ]
    return "".join(parts)


def _cell(declared: Flag) -> str:
    if declared.default_means:
        return declared.shown_default()
    return f"`{write_yaml_value(declared.default)}`"


def schema_of(kind: Any) -> dict[str, Any]:
    """Return the JSON Schema of a value in config.yaml; what only the machine knows, such as zones, is a text there."""
    match kind:
        case types.Switch():
            return {"enum": [0, 1, False, True]}
        case types.Number():
            name = "integer" if kind.is_whole else "number"
            return {"type": [name, "null"] if kind.is_optional else name, "minimum": kind.low, "maximum": kind.high}
        case types.Choice():
            return {"enum": list(kind.options)}
        case types.Key():
            return {"type": ["string", "integer"], "minLength": 1, "maxLength": kind.limit_bytes}
        case types.EmbedderName():
            return {"type": "string", "pattern": r"^\s*(https?://.*\S.*)?\s*$"}
        case types.Folder():
            return {"type": ["string", "null"]}
        case types.Texts():
            item: dict[str, Any] = {"type": "string", "pattern": r"\S"}
            return {"type": "array", "items": {"enum": sorted(kind.options)} if kind.options else item}
        case types.Groups():
            each = {name: schema_of(types.Texts()) for name in kind.names}
            return {"type": "object", "properties": each, "additionalProperties": False}
    return {"type": "string"}


def build_schema(flags: Mapping[str, Flag] = FLAGS) -> dict[str, Any]:
    properties = {}
    for name, flag in flags.items():
        about = {"description": f"{flag.help} May be {flag.kind.allowed}.", "default": plain(flag.default)}
        properties[name] = {**schema_of(flag.kind), **about}
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "config.yaml of the prompt engine"}
    return {**head, "type": ["object", "null"], "properties": properties, "additionalProperties": False}


def build_files() -> dict[str, str]:
    return {"config.yaml": config_yaml(),
            "docs/config.schema.json": json.dumps(build_schema(), indent=2, ensure_ascii=False) + "\n",
            "docs/config.md": config_md()}  # fmt: skip


if __name__ == "__main__":
    for name, text in build_files().items():
        (ROOT / name).write_text(text, encoding="utf-8", newline="\n")
