"""``python -m gate``: the same command line as ``retrieval-gate``."""

import sys

from gate.cli import main

if __name__ == "__main__":
    sys.exit(main())
