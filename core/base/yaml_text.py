"""Reads YAML safely: with a SafeLoader and a limit on depth."""

from typing import Any

MAX_DEPTH = 20
"""Deepest nesting of a document. PyYAML's C parser crashes the process at about ten thousand levels."""


class YamlError(ValueError):
    """Raised if a text is not YAML, or contains unsupported YAML; `problem` completes the sentence "line N ..."."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line} {problem}")
        self.line = line
        self.problem = problem


def compose(text: str, *, aliases: bool = True) -> tuple[Any, Any]:
    """Return (loader, root node) of a YAML text; the node is None for an empty text. Callers `dispose` the loader."""
    import yaml  # noqa: PLC0415 - 14 ms, which only YAML needs

    kind: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _check_events(yaml, yaml.parse(text, Loader=kind), aliases)
        loader = kind(text)
        return loader, loader.get_single_node()
    except UnicodeEncodeError:
        raise YamlError(1, "holds a lone surrogate. Write valid Unicode") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        line = mark.line + 1 if mark else text.count("\n", 0, getattr(error, "position", 0)) + 1
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "unreadable"
        raise YamlError(line, f"is not YAML ({problem}). Correct the line") from None


def _check_events(yaml: Any, events: Any, aliases: bool) -> None:
    """Raise YamlError for aliases, several documents and deep nesting, before nodes are built."""
    depth = documents = 0
    for event in events:
        line = event.start_mark.line + 1 if event.start_mark else 1
        documents += isinstance(event, yaml.DocumentStartEvent)
        if documents > 1:
            raise YamlError(line, "is not YAML (several documents, one is needed)")
        if isinstance(event, yaml.AliasEvent) and not aliases:
            raise YamlError(line, "holds an alias (*name). Write the value itself")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise YamlError(line, f"is nested deeper than {MAX_DEPTH} levels")


def _check_keys(root: Any) -> None:
    """Raise YamlError for a mapping with a duplicate key, since one of the key's values would be lost."""
    nodes = [root]
    for node in nodes:
        if node is None or node.id == "scalar":
            continue
        keys = [key for key, _ in node.value] if node.id == "mapping" else []
        names = [str(key.value) for key in keys]
        if len(set(names)) < len(names):
            line = next(key.start_mark.line + 1 for at, key in enumerate(keys) if names[at] in names[:at])
            raise YamlError(line, "holds a key that its mapping has already. Remove one of the two")
        nodes += [value for _, value in node.value] if keys else node.value


def construct(loader: Any, node: Any) -> Any:
    """Convert a node to a Python value; raise YamlError for an impossible value, such as 30 February."""
    import yaml  # noqa: PLC0415 - as above

    try:
        return loader.construct_object(node, deep=True)
    except (yaml.YAMLError, ValueError, TypeError, OverflowError):
        raise YamlError(node.start_mark.line + 1, "holds what YAML makes no value of") from None


def write_value(value: Any) -> str:
    import yaml  # noqa: PLC0415 - as above

    kind: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return str(yaml.dump(value, Dumper=kind, allow_unicode=True, sort_keys=False))


def read_value(text: str) -> Any:
    """Parse a YAML text without aliases; raise YamlError if it is invalid."""
    loader, node = compose(text, aliases=False)
    try:
        _check_keys(node)
        return None if node is None else construct(loader, node)
    finally:
        loader.dispose()
