"""`python -m prompt_engine.cli` runs the command `prompt-engine`."""

import sys

from . import main

if __name__ == "__main__":
    sys.exit(main())
