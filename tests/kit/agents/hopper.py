"""Forks and leaves its parent, again and again: `hopper.py MILLISECONDS [setsid]`.

For 30 s at most: one that escapes a test must not haunt the machine.
"""

import os
import sys
import time

pause_s = int(sys.argv[1]) / 1000
end_at = time.monotonic() + 30.0
while time.monotonic() < end_at:
    try:
        child = os.fork()
    except BlockingIOError:  # while nobody reaps, its dead fill its wall of processes
        child = 0
    if child:
        os._exit(0)
    if "setsid" in sys.argv and os.getpid() != os.getsid(0):
        os.setsid()
    time.sleep(pause_s)
