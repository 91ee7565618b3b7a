"""Where a relay begins: `python -I -S <this directory> [STAGE.json]`, else by PADDOCK_STAGE."""

from __future__ import annotations

import os
import sys

if not __package__:
    # Run by path: siblings are found as the package `stream`, after everything of Python's own.
    here = sys.path.pop(0)
    sys.path.append(here.rpartition("/")[0])
    __package__ = "stream"
    __import__("stream")

from .relay import main

if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stderr.flush()
    os._exit(code)
