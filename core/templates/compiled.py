"""Compiles and runs a template in Jinja's sandbox, and checks the result; the only module that imports jinja2."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from jinja2 import FunctionLoader, Template, TemplateAssertionError, TemplateRuntimeError, meta, nodes, pass_context
from jinja2 import TemplateError as AnyTemplateError
from jinja2.runtime import Context, StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment, safe_range

from ..base import resources
from ..base.hints import find_nearest
from .files import TYPES, TemplateError, find, header, version

OUTPUT_CHARS = 1_000_000
"""Maximum number of characters of a rendered template; values in a JSON template do not count."""
MOST_STEPS = 100_000
"""Maximum number of loop rounds, calls and range elements in one rendering, so that every template ends."""

_UNDEFINED = re.compile(r"'([^']{1,100})' is undefined")

Kind = Literal["text", "json"]

MARK = "\x00"
"""First character of a value's placeholder while a JSON template is parsed; ordinary texts do not contain it."""

VALUES: ContextVar[list[Any]] = ContextVar("prompt_engine_template_values")

STEPS: ContextVar[list[int]] = ContextVar("prompt_engine_template_steps")
"""Number of steps that the template of this thread has made."""


def _count_steps(number: int = 1) -> None:
    steps = STEPS.get()
    steps[0] += number
    if steps[0] > MOST_STEPS:
        raise TemplateRuntimeError(f"it makes more than {MOST_STEPS} steps")


def _range(*bounds: int) -> range:
    numbers = safe_range(*bounds)
    _count_steps(len(numbers))
    return numbers


@pass_context  # same as in `_put_json`
def _count_rounds(_context: Context, items: Iterable[Any]) -> Iterator[Any]:
    for item in items:
        _count_steps()
        yield item


@pass_context  # makes Jinja call it at run time for constants too
def _put_json(_context: Context, value: Any) -> str:
    if isinstance(value, StrictUndefined):
        str(value)  # raises, naming the variable
    values = VALUES.get()
    values.append(list(value) if not isinstance(value, (str, dict, list)) and isinstance(value, Iterator) else value)
    return f'"\\u0000{len(values) - 1}"'


def _join(parts: Iterable[str]) -> str:
    joined, chars = [], 0
    for part in parts:
        joined.append(part)
        chars += len(part)
        if chars > OUTPUT_CHARS:
            raise TemplateRuntimeError(f"it makes more than {OUTPUT_CHARS} characters")
    return "".join(joined)


class TemplateEnvironment(ImmutableSandboxedEnvironment):
    """A Jinja environment in which a template can use only its variables and is stopped after MOST_STEPS."""

    intercepted_binops = frozenset(("**",))
    concat = staticmethod(_join)

    def __init__(self, kind: Kind, folders: list[Path]) -> None:
        super().__init__(
            loader=FunctionLoader(_load_from(folders)),
            undefined=StrictUndefined,
            finalize=(lambda value: "" if value is None else value) if kind == "text" else _put_json,
            trim_blocks=kind == "text",
            lstrip_blocks=kind == "text",
            autoescape=False,
        )
        self.kind: Kind = kind
        self.globals = {"range": _range}
        self.filters["count_rounds"] = _count_rounds

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree: nodes.Template = super()._parse(source, name, filename)
        if (known := header(name or "", "variables")) is not None:
            for unknown in sorted(meta.find_undeclared_variables(tree) - {*known, *self.globals}):
                lines = [node.lineno for node in tree.find_all(nodes.Name) if node.name == unknown]
                raise TemplateAssertionError(f"'{unknown}' is undefined", min(lines), name, filename)
        for loop in tree.find_all(nodes.For):
            loop.iter = nodes.Filter(loop.iter, "count_rounds", [], [], None, None, lineno=loop.lineno)
        return tree

    def call(self, context: Context, function: Any, /, *arguments: Any, **named: Any) -> Any:
        _count_steps()
        return super().call(context, function, *arguments, **named)

    def call_binop(self, *_: Any, **__: Any) -> Any:
        _count_steps(MOST_STEPS + 1)  # a power can have any number of digits


def _load_from(folders: list[Path]) -> Callable[[str], tuple[str, str, Callable[[], bool]]]:
    """Return a Jinja loader function: name to (source, file, function that tells whether the file is unchanged)."""

    def load(name: str) -> tuple[str, str, Callable[[], bool]]:
        path = find(name, folders)
        read_version = version(str(path))
        try:
            source = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise TemplateError(name, f"the file cannot be read ({type(error).__name__})", file=str(path)) from None

        def is_same() -> bool:  # shipped files never change, only those in TEMPLATES_DIR
            return len(folders) == 1 or (find(name, folders) == path and version(str(path)) == read_version)

        return source, str(path), is_same

    return load


@lru_cache(maxsize=32)
def environment(overlay: str | None, kind: Kind) -> TemplateEnvironment:
    """Return the environment for the folder `overlay`, made once per process; Jinja checks whether files changed."""
    return TemplateEnvironment(kind, ([Path(overlay)] if overlay else []) + [resources.find("prompts")])


def run(env: TemplateEnvironment, name: str, values: Mapping[str, Any]) -> Any:
    """Render a template; return the text, or the parsed JSON."""
    template = None
    written: list[Any] = []
    token, steps = VALUES.set(written), STEPS.set([0])
    try:
        template = env.get_template(name)
        text = template.render(values)
    except TemplateError as error:
        if error.source or template is None:
            raise
        line, file = _find_place(error, template)  # an include error without a file occurred in this template
        raise TemplateError(name, f"include of {error.template!r}: {error.reason}", line=line, file=file) from None
    except Exception as error:  # noqa: BLE001 - an expression of a template may raise anything Python can
        line, file = _find_place(error, template)
        reason = f"it fails with {type(error).__name__}"  # its message may quote values
        if isinstance(error, AnyTemplateError):
            reason = error.message or reason
        raise _explain(name, reason, line, file) from None
    finally:
        VALUES.reset(token)
        STEPS.reset(steps)
    return text if env.kind == "text" else _read_result(name, text, written, template.filename or "")


def _explain(name: str, reason: str, line: int | None, file: str) -> TemplateError:
    """Return the error for a failed template; for an unknown variable it names the nearest known variable."""
    unknown = _UNDEFINED.search(reason)
    variable = unknown.group(1) if unknown else ""
    known = list(header(name, "variables") or ())
    near = find_nearest(variable, known) or ""
    if variable and known and not near:
        reason = f"{reason}; known are {', '.join(known)}"
    return TemplateError(name, reason.rstrip("."), line=line, file=file, nearest=near)


def _find_place(error: BaseException, template: Template | None) -> tuple[int | None, str]:
    """Return `(line, file)` of the innermost template that raised an error."""
    line, trace = getattr(error, "lineno", None), error.__traceback__
    file = getattr(error, "filename", None) or (template.filename if template is not None else None) or ""
    while trace is not None:
        if trace.tb_frame.f_code.co_filename.endswith(".j2"):
            line, file = trace.tb_lineno, trace.tb_frame.f_code.co_filename
        trace = trace.tb_next
    return line, file


def _read_result(name: str, text: str, values: list[Any], file: str) -> Any:
    """Return the parsed JSON with its values filled in; check keys and types against the template's header."""
    try:
        result = _fill(json.loads(text), values)
    except json.JSONDecodeError as error:
        raise TemplateError(name, f"what it makes is no JSON ({error.msg})", line=error.lineno, file=file) from None
    except (ValueError, LookupError, TypeError, RecursionError) as error:  # a placeholder without a value
        raise TemplateError(name, f"what it makes is no JSON ({error})", file=file) from None
    expected = header(name, "result") or {}
    if not isinstance(result, dict):
        raise TemplateError(name, "what it makes is no object", file=file)
    wrong = [key for key, (_, needed) in expected.items() if needed and key not in result]
    wrong += [key for key in result if key not in expected]
    if wrong:
        raise TemplateError(name, f"what it makes has missing or unknown keys: {', '.join(wrong)}", file=file)
    for key, (kind, _) in expected.items():
        if key in result and not isinstance(result[key], TYPES[kind]):
            raise TemplateError(name, f"{key!r} must be of type {kind}", file=file)
    return {key: result[key] for key in expected if key in result}


def _fill(skeleton: Any, values: list[Any]) -> Any:
    if isinstance(skeleton, dict):
        return {_fill(key, values) if MARK in key else key: _fill(each, values) for key, each in skeleton.items()}
    if isinstance(skeleton, list):
        return [_fill(item, values) for item in skeleton]
    if isinstance(skeleton, str) and skeleton.startswith(MARK):
        return values[int(skeleton[1:])]
    return skeleton
