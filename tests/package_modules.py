"""Every module of the package, for tests that look into all of them."""

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType

import core


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
