"""The name of the wheel in an editable install: the modules of the checkout's folder `core`, the same objects."""

import sys

from core.as_core import add_alias

del sys.modules[__name__]
add_alias(__name__, "core")
