"""Every module of the package, for tests that look into all of them, and the examples."""

import importlib.util
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import core

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def load_all() -> Iterator[ModuleType]:
    """Yield each module, imported; of the adapters those whose framework is installed.

    The extra `test` leaves out a framework for its size. Any other module that cannot be imported raises.
    """
    for found in pkgutil.walk_packages(core.__path__, "core."):
        if found.name.endswith("__main__"):
            continue
        try:
            module = importlib.import_module(found.name)
        except ImportError as error:
            if found.name.startswith("core.adapters.") and str(error).startswith("This adapter needs "):
                continue
            raise
        yield module


def load_example(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
