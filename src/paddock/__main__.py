"""The door for `python -m paddock`."""

import sys

from paddock.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
