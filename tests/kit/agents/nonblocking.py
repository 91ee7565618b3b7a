"""Sets O_NONBLOCK on its stdout and writes `COUNT` numbered lines, as the pipe takes them."""

import os
import select
import sys


def main() -> None:
    os.set_blocking(1, False)
    data = b"".join(b"%063d\n" % number for number in range(int(sys.argv[1])))
    poll = select.poll()
    poll.register(1, select.POLLOUT)
    while data:
        try:
            data = data[os.write(1, data) :]
        except BlockingIOError:
            poll.poll()


if __name__ == "__main__":
    main()
