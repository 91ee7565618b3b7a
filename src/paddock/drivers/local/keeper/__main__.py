"""The keeper's birth: `python -I -S -E -X utf8 <this directory> DIRECTORY [name=value …]`.

It is listening when the first process ends with 0, and 3 says that another keeper serves there.
Names: foreground=1, log=PATH, splice_after_s=SECONDS.
"""

from __future__ import annotations

import sys

if not __package__:
    # Run by path: siblings are found as the package `keeper`, after everything of Python's own.
    here = sys.path.pop(0)
    sys.path.append(here.rpartition("/")[0])
    __package__ = "keeper"
    __import__("keeper")

from .birth import Busy, Unfit, be_born

if __name__ == "__main__":
    try:
        be_born(sys.argv[1:])
    except Busy as busy:
        sys.stderr.write(f"paddock keeper: {busy}\n")
        sys.exit(3)
    except (Unfit, OSError, ValueError) as error:
        sys.stderr.write(f"paddock keeper: {error}\n")
        sys.exit(1)
