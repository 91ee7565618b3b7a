"""Forks and leaves its parent, again and again: `hopper.py MILLISECONDS [setsid]`."""

import os
import sys
import time

pause_s = int(sys.argv[1]) / 1000
while True:
    if os.fork():
        os._exit(0)
    if "setsid" in sys.argv:
        os.setsid()
    time.sleep(pause_s)
