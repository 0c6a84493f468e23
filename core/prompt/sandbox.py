"""The closed room templates run in: expressions, counted loops, known filters, nothing outside (rules P64, F32).

Only `core.prompt.render` imports this module, at its first rendering, because jinja2 takes a while to load. Two kinds
of environment are made here: `text` renders leaf text; in `json` every output expression leaves a mark in the text and
its value in `Meter.values`, so that a value never becomes part of what is parsed.

What a template may hold is a list of syntax nodes, filters and methods; whatever is on no list is refused with its line
when the template is compiled. That keeps new features of the template language out until somebody has looked at them.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from contextvars import ContextVar
from functools import wraps
from pathlib import Path
from typing import Any, Literal

from jinja2 import TemplateAssertionError, TemplateRuntimeError, meta, nodes, pass_context
from jinja2.exceptions import SecurityError
from jinja2.filters import FILTERS
from jinja2.loaders import BaseLoader
from jinja2.runtime import Context, LoopContext, StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

Kind = Literal["text", "json"]

MARK = "\x00"
"""Begins the text that stands for a value while a JSON template is parsed; nobody writes it by accident."""

TEXT_CHARS = 20_000_000
"""Most characters one operation in a template may make."""

NUMBER_BITS = 4096

_CHARS_PER_STEP = 256
"""Handling this many characters costs one step."""

_EXPRESSIONS = (
    "Name Const List Tuple Dict Pair Keyword CondExpr Filter Test Getattr Getitem Slice Compare Operand Call "
    "Not And Or Neg Pos Add Sub Mul Div FloorDiv Mod Pow Concat"
)
_NODES: dict[Kind, frozenset[str]] = {
    "json": frozenset(f"Template Output TemplateData For If Assign With {_EXPRESSIONS}".split()),
    "text": frozenset(f"Template Output TemplateData For If Assign With Include {_EXPRESSIONS}".split()),
}
_FILTERS = [
    "abs",
    "capitalize",
    "count",
    "d",
    "default",
    "dictsort",
    "first",
    "float",
    "int",
    "items",
    "last",
    "length",
    "list",
    "lower",
    "map",
    "max",
    "min",
    "reject",
    "rejectattr",
    "reverse",
    "select",
    "selectattr",
    "sort",
    "string",
    "title",
    "trim",
    "truncate",
    "unique",
    "upper",
]
_METHODS: tuple[tuple[type, frozenset[str]], ...] = (
    (str, frozenset({"strip", "lstrip", "rstrip", "lower", "upper", "startswith", "endswith"})),
    (dict, frozenset({"items", "keys", "values", "get"})),
    (LoopContext, frozenset({"cycle", "changed"})),
)


class TooManyStepsError(TemplateRuntimeError):
    """A template did more than TEMPLATE_STEPS allows, or made something too large."""


class Meter:
    """Counts the steps of one rendering and keeps the values a JSON template put out."""

    __slots__ = ("limit", "used", "values")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0
        self.values: list[Any] = []

    def charge(self, steps: int) -> None:
        """Count steps.

        Raises:
            TooManyStepsError: more than the limit in all.
        """
        self.used += steps
        if self.used > self.limit:
            raise TooManyStepsError(f"it takes more than {self.limit} steps (TEMPLATE_STEPS)")


METER: ContextVar[Meter] = ContextVar("prompt_engine_template_meter")


def _charge(steps: int) -> None:
    """Count on the meter of this rendering; constants are folded while compiling, where there is none."""
    meter = METER.get(None)
    if meter is not None:
        meter.charge(steps)


def _counted(items: Iterable[Any]) -> Iterator[Any]:
    """Yield the items, one step each; every `for` goes through this."""
    for item in items:
        _charge(1)
        yield item


def _checked_size(size: int) -> None:
    if size > TEXT_CHARS:
        raise TooManyStepsError(f"it makes a value of more than {TEXT_CHARS} characters")
    _charge(size // _CHARS_PER_STEP)


def _range(*args: int) -> range:
    made = range(*args)
    meter = METER.get(None)
    if meter is not None and len(made) > meter.limit:
        raise TooManyStepsError(f"range() of more than {meter.limit} steps (TEMPLATE_STEPS)")
    return made


def _join(value: Iterable[Any], d: str = "") -> str:
    texts = [str(item) for item in value]
    _checked_size(sum(map(len, texts)) + len(d) * len(texts))
    return d.join(texts)


def _replace(value: Any, old: str, new: str) -> str:
    text = str(value)
    _checked_size(len(text) + text.count(old) * len(new))
    return text.replace(old, new)


def _to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _charged(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the filter, each use of which costs a step and what the size of its input costs."""
    place = 1 if hasattr(function, "jinja_pass_arg") else 0

    @wraps(function)
    def filtered(*args: Any, **kwargs: Any) -> Any:
        value = args[place]
        if isinstance(value, str):
            _charge(1 + len(value) // _CHARS_PER_STEP)
        elif isinstance(value, Iterator):
            args = (*args[:place], _counted(value), *args[place + 1 :])
        else:
            _charge(1 + (len(value) if isinstance(value, Sized) and not isinstance(value, StrictUndefined) else 0))
        return function(*args, **kwargs)

    return filtered


@pass_context
def _put_text(_context: Context, value: Any) -> Any:
    if value is None:
        return ""
    text = str(value)
    _charge(1 + len(text) // _CHARS_PER_STEP)
    return text


@pass_context
def _put_json(_context: Context, value: Any) -> str:
    if isinstance(value, StrictUndefined):
        str(value)  # raises, naming the variable
    meter = METER.get()
    meter.charge(1)
    meter.values.append(list(value) if isinstance(value, Iterator) else value)
    return f'"\\u0000{len(meter.values) - 1}"'


class Room(ImmutableSandboxedEnvironment):
    """An environment in which a template can compute little and reach nothing."""

    intercepted_binops = frozenset({"*", "**", "+", "%"})

    def __init__(
        self, kind: Kind, loader: BaseLoader, folders: list[Path], known: Callable[[str], Iterable[str] | None]
    ) -> None:
        super().__init__(
            loader=loader,
            undefined=StrictUndefined,
            finalize=_put_text if kind == "text" else _put_json,
            trim_blocks=kind == "text",
            lstrip_blocks=kind == "text",
            autoescape=False,
        )
        self.kind: Kind = kind
        self.folders = folders
        """Where templates are looked for, in this order; the last one is the shipped one."""
        self.broken: dict[str, tuple[str, tuple[int, int], dict[str, Any]]] = {}
        """Template that does not compile to (file, its version, facts of the error)."""
        self.known = known
        """Variables a template is given, by its name; None when nobody has written them down."""
        self.globals = {"range": _range}
        own: dict[str, Callable[..., Any]] = {"join": _join, "replace": _replace}
        if kind == "text":
            own["tojson"] = _to_json
        self.filters = {
            **{name: _charged(FILTERS[name]) for name in _FILTERS},
            **{name: _charged(made) for name, made in own.items()},
            "counted": _counted,
            "joined": _join,
        }

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        self._check(tree, name, filename)
        made: nodes.Template = _Counting().visit(tree)
        return made

    def _check(self, tree: nodes.Template, name: str | None, filename: str | None) -> None:
        """Refuse what is on no list, with its line."""

        def refuse(reason: str, node: nodes.Node) -> None:
            raise TemplateAssertionError(reason, node.lineno, name, filename)

        for node in (tree, *tree.find_all(nodes.Node)):
            kind = type(node).__name__
            if kind not in _NODES[self.kind] or (isinstance(node, nodes.For) and node.recursive):
                refuse(f"{kind.lower()} is not allowed in a {self.kind} template", node)
            if isinstance(node, nodes.Filter) and node.name not in self.filters:
                refuse(f"there is no filter {node.name!r}", node)
            if isinstance(node, nodes.Name) and node.name == "self":
                refuse("self is not allowed", node)
            word = _field_name(node)
            if word is not None and word.startswith("_"):
                refuse(f"{word!r} begins with an underscore and cannot be read", node)
        known = self.known(name or "")
        if known is None:
            return
        for unknown in sorted(meta.find_undeclared_variables(tree) - set(known)):
            uses = (node for node in tree.find_all(nodes.Name) if node.name == unknown)
            refuse(f"'{unknown}' is undefined", min(uses, key=lambda node: node.lineno))

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Read a key of a mapping before its methods, so that a key named `items` is the key."""
        if isinstance(obj, Mapping) and attribute in obj and not attribute.startswith("_"):
            return obj[attribute]
        return super().getattr(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Refuse names with an underscore that come from an expression."""
        if isinstance(argument, str) and argument.startswith("_"):
            raise SecurityError("names that begin with an underscore cannot be read")
        return super().getitem(obj, argument)

    def is_safe_callable(self, obj: Any) -> bool:
        """Allow `range` and the few methods of `_METHODS`."""
        if obj is _range:
            return True
        owner, name = getattr(obj, "__self__", None), getattr(obj, "__name__", "")
        return any(isinstance(owner, kind) and name in names for kind, names in _METHODS)

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805 - as jinja2 has it
        """Count the call; the error of a refused one names no value."""
        _charge(1)
        if not __self.is_safe_callable(__obj) and not isinstance(__obj, StrictUndefined):
            raise SecurityError(f"calling a {type(__obj).__name__} is not allowed")
        return super().call(__context, __obj, *args, **kwargs)

    def get_template(self, *args: Any, **kwargs: Any) -> Any:
        """Count the include; a template that includes itself ends here."""
        _charge(1)
        return super().get_template(*args, **kwargs)

    def call_binop(self, _context: Context, sign: str, left: Any, right: Any) -> Any:
        """Compute `+ * ** %` as far as the result stays small."""
        _guard(sign, left, right)
        return _BINOPS[sign](left, right)


class _Counting(NodeTransformer):
    """Puts the counting filter around what a `for` runs over, and the bounded join in the place of `~`."""

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802 - the visitor finds it by this name
        self.generic_visit(node)
        node.iter = nodes.Filter(node.iter, "counted", [], [], None, None, lineno=node.lineno)
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802 - the visitor finds it by this name
        self.generic_visit(node)
        parts = nodes.List(node.nodes, lineno=node.lineno)
        return nodes.Filter(parts, "joined", [], [], None, None, lineno=node.lineno)


_BINOPS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "*": operator.mul,
    "**": operator.pow,
    "%": operator.mod,
}


def _field_name(node: nodes.Node) -> str | None:
    """Return the attribute or constant key a node reads."""
    if isinstance(node, nodes.Getattr):
        return node.attr
    if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str):
        return node.arg.value
    return None


def _guard(sign: str, left: Any, right: Any) -> None:
    """Refuse an operation whose result would be too large, before it is computed."""
    sides = (left, right)
    long = [len(side) for side in sides if isinstance(side, (str, bytes, list, tuple))]
    whole = [abs(side) for side in sides if isinstance(side, int)]
    if sign == "%" and isinstance(left, (str, bytes)):
        raise SecurityError("% with a text on its left is not allowed, use ~ or join")
    if sign == "+" and long:
        _checked_size(sum(long))
    elif sign == "*" and long:
        _checked_size(long[0] * (whole[0] if whole else 1))
    elif (sign == "*" and sum(side.bit_length() for side in whole) > NUMBER_BITS) or (
        sign == "**" and len(whole) == 2 and whole[0].bit_length() * whole[1] > NUMBER_BITS
    ):
        raise TooManyStepsError(f"a number of more than {NUMBER_BITS} bits")
