"""The persona's own text, which describes the persona in every prompt.

The text is the file `<persona>.md` in PERSONA_FOLDER, written by people, `set_persona_text` or the import of a
character card. Without this file the persona has no text.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from .base.whole_file import replace_file
from .calls import defaults
from .config import GivenSettings, Settings
from .errors import ConfigError, MessageError
from .scope import Scope

__all__ = ["get_persona_text", "set_persona_text"]

MOST_BYTES = 1_000_000

_MACROS = re.compile(r"\{\{(char|user)\}\}", re.IGNORECASE)
_NO_FILE_NAME = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|%]|^\.|[. ]$')
_SURROGATES = re.compile("[\ud800-\udfff]")


def get_persona_text(*, settings: GivenSettings = None, scope: Scope | None = None) -> str:
    """Return the persona's text as written in PERSONA_FOLDER; "" without a file.

    Raises:
        ConfigError: the file is unreadable, not UTF-8, or larger than 1,000,000 bytes.

    >>> from prompt_engine import Scope, personas
    >>> personas.get_persona_text(settings={"PERSONA_FOLDER": "nowhere"}, scope=Scope("iris"))
    ''
    """
    known = defaults.settings_for(settings)
    return read_text(find_file(known, defaults.scope_for(scope, known).persona))


def set_persona_text(text: str, *, settings: GivenSettings = None, scope: Scope | None = None) -> Path:
    """Write the text of the scope's persona, replacing the previous one, and return its file.

    Every prompt of the persona contains the text. It counts toward the limit of a prompt and is never shortened.

    Args:
        text: prompts replace `{{char}}` by the persona's name, `{{user}}` by the name of the person asking. A blank
            text removes the file.

    Raises:
        MessageError: more than 1,000,000 bytes, or a lone surrogate.
        ConfigError: the file cannot be written.

    >>> import tempfile
    >>> from prompt_engine import Scope, personas
    >>> folder = {"PERSONA_FOLDER": tempfile.mkdtemp()}
    >>> personas.set_persona_text("You are {{char}}, a botanist.", settings=folder, scope=Scope("iris")).name
    'iris.md'
    >>> personas.get_persona_text(settings=folder, scope=Scope("iris"))
    'You are {{char}}, a botanist.'
    """
    if _SURROGATES.search(text) or len(text.encode()) > MOST_BYTES:
        raise MessageError(f"text must be valid Unicode of at most {MOST_BYTES:,} bytes.", fields=("text",))
    known = defaults.settings_for(settings)
    file = find_file(known, defaults.scope_for(scope, known).persona)
    try:
        if not text.strip():
            file.unlink(missing_ok=True)
            return file
        file.parent.mkdir(parents=True, exist_ok=True)
        with replace_file(file) as part:
            part.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise _refusal(file, f"cannot be written ({error.strerror})") from error
    return file


def find_file(settings: Settings, persona: str) -> Path:
    """Return the file of a persona's text; a relative PERSONA_FOLDER is below the folder of config.yaml."""
    beside = Path(os.environ.get("CONFIG_FILE") or "config.yaml").parent
    name = _NO_FILE_NAME.sub(lambda match: f"%{ord(match[0]):02X}", persona)
    return beside / settings.persona_folder / f"{name}.md"


def read_text(file: Path) -> str:
    """Return the text of a file without leading and trailing blank lines; "" if the file is missing."""
    try:
        facts = file.stat()
        if not stat.S_ISREG(facts.st_mode):  # reading a pipe or a device would never end
            raise _refusal(file, "is no ordinary file")
        if facts.st_size > MOST_BYTES:
            raise _refusal(file, f"has more than {MOST_BYTES:,} bytes")
        text = file.read_text(encoding="utf-8-sig").strip("\r\n")
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except UnicodeDecodeError as error:
        raise _refusal(file, "is not UTF-8") from error
    except OSError as error:
        raise _refusal(file, f"cannot be read ({error.strerror})") from error
    return text


def fill_names(text: str, char: str, user: str) -> str:
    """Replace `{{char}}` and `{{user}}` in a persona's text by names."""
    names = {"char": char, "user": user}
    return _MACROS.sub(lambda match: names[match[1].lower()], text)


def _refusal(file: Path, problem: str) -> ConfigError:
    return ConfigError(f"{str(file)!r} {problem}. It is the persona's text in PERSONA_FOLDER.", source=str(file))
