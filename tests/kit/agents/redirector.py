"""Says a word, then sends its own stdout and stderr elsewhere and sleeps."""

import os
import signal


def main() -> None:
    os.write(1, b"redirected\n")
    null = os.open("/dev/null", os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    signal.pause()


if __name__ == "__main__":
    main()
