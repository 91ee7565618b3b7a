"""The door for `paddock` and for `python -m paddock`."""

import os
import sys


def main() -> int:
    """Ctrl-C may come before anything is imported, and is no less quiet then."""
    try:
        _open_what_is_closed()
        from paddock.cli.main import main as run

        return run()
    except KeyboardInterrupt:
        return 130


def _open_what_is_closed() -> None:
    """After `>&-` there is no stdout, and the next file to be opened would be taken for it."""
    if None not in (sys.stdin, sys.stdout, sys.stderr):
        return
    while (nowhere := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(nowhere)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nothing = open(os.devnull, mode, encoding="utf-8")  # noqa: PTH123, SIM115 - early
            setattr(sys, name, nothing)


if __name__ == "__main__":
    sys.exit(main())
