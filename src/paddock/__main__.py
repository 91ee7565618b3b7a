"""The door for `paddock` and for `python -m paddock`."""

import sys


def main() -> int:
    """Ctrl-C may come before anything is imported, and is no less quiet then."""
    try:
        from paddock.cli.main import main as run

        return run()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
