"""Writes docs/api.md: the public names of every door with their signatures, as the code has them.

`make docs` runs `python -m tests.api_page`; a test compares the page.
"""

import importlib
import inspect
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

import prompt_engine
from prompt_engine.calls.call import CallOptions
from typing_extensions import is_typeddict

PAGE = Path(__file__).resolve().parents[1] / "docs" / "api.md"
WIDTH = 110

JOBS = (
    "cancel count_operations enqueue_operation list_operations ListedOperation Operation OperationRun "
    "retry_operation run_pending Worker"
)
NOUNS = (
    "chat_history_cache synth_core_memory semantic conversations short_term lifelong stories personas relationships "
    "ai_diary synth_tagging"
)
DOORS: dict[str, tuple[str, ...] | None] = {
    **dict.fromkeys(("prompt_engine.memory", "prompt_engine.prompt_engine", "prompt_engine.privacy")),
    "prompt_engine.scope": ("Scope", "use_scope"), **dict.fromkeys(f"prompt_engine.{name}" for name in NOUNS.split()),
    "prompt_engine.history_engine": ("HistoryEngine",), "prompt_engine.jobs": tuple(JOBS.split()),
    "prompt_engine.db": None, "prompt_engine.web": None, "prompt_engine.llm": ("ChatClient", "ask"),
    "prompt_engine.forgetting": ("Forgotten",), "prompt_engine.tokens": None, "prompt_engine.transcripts": None,
    "prompt_engine.config": ("Problem", "Row", "check", "load", "set_in_file", "show"), "prompt_engine.transfer": None,
    "prompt_engine.transfer.imports": ("ImportResult", "import_file"),
    "prompt_engine.transfer.exports": ("ExportResult", "export_chat"),
}  # fmt: skip
"""Module to the names listed; None lists its `__all__`."""

MADE_BY_HOSTS = frozenset({"Memory", "Worker"})
"""Classes shown with their methods; functions return the others."""
HEAD = """\
# Functions

Every public name as `help()` shows it: its arguments, what it returns and raises, and an example; made from the code
by `make docs`. `db=`, `settings=` and `scope=` are always the database handle, the settings (`Settings`, or a mapping
of flags) and who is asking; without them, those of the process are used ([hosting.md](hosting.md)). The names used
most are in the package itself: NAMES. `prompt_engine.aio` has every function as an awaitable under the same name, and
`build_context`. Exceptions are in `prompt_engine.errors`, the shapes of results in `prompt_engine.shapes`. A function
may also raise MessageError if a value cannot be used, StoreReadError if nothing could be read, or StoreWriteError if
nothing was changed. In `stories` a message is named by the row id that saving returned, or by the platform's id
together with `interface_path`, a conversation by its key, where None is the scope's. A `TypedDict` is a dict with the
keys listed.
"""


def text() -> str:
    names = ", ".join(f"`{name}`" for name in prompt_engine.__all__ if name != "aio")
    parts = [HEAD.replace("NAMES", names)]
    for door in DOORS:
        module = importlib.import_module(door)
        about = _first_line(module)
        parts.append(f"\n## `{door}`\n\n{about[:1].upper()}{about[1:]}\n")
        parts += [_entry(name, getattr(module, name)) for name in sorted(list_names(door), key=str.lower)]
    return "".join(parts)


def list_names(door: str) -> tuple[str, ...]:
    return DOORS[door] or tuple(importlib.import_module(door).__all__)


def _entry(name: str, value: Any) -> str:
    if name == "HistoryEngine":
        return _entry("HistoryEngine().build_context", value().build_context)
    lines = _fields(name, value) if _is_shape(value) else _signature(name, value)
    title = name.rpartition(".")[2]
    said = "\n\n".join([lines, inspect.getdoc(value) or "", *_list_methods(value)])
    return f"\n### `{title}`\n\n```text\n{said}\n```\n"


def _list_methods(value: Any) -> list[str]:
    """Return the public methods of a class that hosts make themselves, each with what it does."""
    if getattr(value, "__name__", "") not in MADE_BY_HOSTS:
        return []
    own = [(name, each) for name, each in vars(value).items() if inspect.isfunction(each) and not name.startswith("_")]
    return [f"{_signature(name, each)}\n{textwrap.indent(inspect.getdoc(each) or '', '    ')}" for name, each in own]


def _is_shape(value: Any) -> bool:
    return inspect.isclass(value) and (hasattr(value, "__total__") or hasattr(value, "__dataclass_fields__"))


def _fields(name: str, value: Any) -> str:
    shown = [f"    {field}: {_named(kind)}" for field, kind in value.__annotations__.items()]
    return "\n".join([f"class {name}{'(TypedDict)' if is_typeddict(value) else ''}:", *shown])


class _Bare(str):
    """An annotation that is shown without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def read_signature(value: Any) -> inspect.Signature:
    """Return a signature with the arguments that all functions share named one by one."""
    signature = inspect.signature(value)
    own = list(signature.parameters.values())
    if not own or own[-1].annotation != "Unpack[CallOptions]":
        return signature
    keyword, shared = inspect.Parameter.KEYWORD_ONLY, CallOptions.__annotations__.items()
    named = [inspect.Parameter(name, keyword, default=None, annotation=kind) for name, kind in shared]
    return signature.replace(parameters=[*own[:-1], *named])


def write_call(name: str, value: Any) -> str:
    signature = read_signature(value)

    def bare(annotation: Any) -> Any:
        return annotation if annotation is signature.empty else _Bare(_named(annotation))

    parameters = [each.replace(annotation=bare(each.annotation)) for each in signature.parameters.values()]
    back = bare(signature.return_annotation)
    return f"{name}{signature.replace(parameters=parameters, return_annotation=back)}"


def _signature(name: str, value: Any) -> str:
    """Return a call with its arguments, folded where it is long; without `self`."""
    if inspect.isclass(value):
        if name not in MADE_BY_HOSTS:
            return f"class {name}"
        name = f"class {name}"
    call = re.sub(r"\(self(, )?", "(", write_call(name, value))
    line = re.sub(r"(?<!,) ", "\xa0", call)  # folded behind commas alone
    folded = textwrap.fill(line, WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    return folded.replace("\xa0", " ")


def _named(annotation: Any) -> str:
    shown = annotation if isinstance(annotation, str) else getattr(annotation, "__forward_arg__", None)
    return str(shown if shown is not None else getattr(annotation, "__name__", annotation))


def _first_line(value: Any) -> str:
    return " ".join((inspect.getdoc(value) or "").partition("\n\n")[0].split())


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
    sys.stdout.write(f"{PAGE}\n")
