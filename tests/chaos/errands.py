"""The runs of a round, well-behaved ones and others, and what must come of each."""

from __future__ import annotations

import random
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from paddock.wire.run_request import RunRequest

MEMORY_BYTES = 32 << 20
COMMIT = "git -c user.name=Agent -c user.email=agent@localhost commit --quiet --message"


@dataclass(frozen=True)
class Output:
    """Bytes that are known without being kept: a flood is too long for that."""

    size: int
    part: Callable[[int, int], bytes]
    only_its_end: bool = False  # it is longer than what is kept


@dataclass(frozen=True)
class Errand:
    """`ends`: an outcome, or an outcome and the exit code. `kill`: it does not end by itself.

    `work`: it is in a workspace, and what it wrote there must be there for ever; `saved`: on its
    branch, too.
    """

    name: str
    script: str  # of a shell
    ends: tuple[str, ...]
    output: Output | None = None
    kill: bool = False
    work: bool = False
    saved: bool = False
    options: dict[str, Any] = field(default_factory=dict)

    def request(self, ledger: Path) -> RunRequest:
        """Signs the ledger as it starts: whoever is run twice is found out."""
        sign = f'echo "start $PADDOCK_RUN $PADDOCK_ATTEMPT_NUMBER" >> {shlex.quote(str(ledger))}'
        words = f"LEDGER={shlex.quote(str(ledger))}\n{sign}\n{self.script}"
        given: dict[str, Any] = {"memory_bytes": MEMORY_BYTES, "group": self.name}
        return RunRequest(name=self.name, command=("sh", "-c", words), **given | self.options)


def known(text: bytes) -> Output:
    return Output(len(text), lambda begin, end: text[begin:end])


def numbered(name: str, lines: int) -> Output:
    return known("".join(f"line {n} of {name}\n" for n in range(lines)).encode())


def ended(code: int) -> tuple[str, ...]:
    return (f"failed {code}" if code else "succeeded 0",)


def plain(draw: random.Random, name: str) -> Errand:
    """Numbers every line that it writes; some leave a process behind."""
    lines = draw.choice([0, 1, 10, 200, 2000])
    pause_s = draw.choice([0, 0, 0.05, 0.3, 1.0])
    code = draw.choice([0, 0, 0, 1, 7, 42, 255])
    strays = draw.random() < 0.1
    script = f"""
i=0
while [ $i -lt {lines // 2} ]; do echo "line $i of {name}"; i=$((i+1)); done
{f"sleep {pause_s}" if pause_s else ":"}
while [ $i -lt {lines} ]; do echo "line $i of {name}"; i=$((i+1)); done
{"(setsid sleep 30 >/dev/null 2>&1 &)" if strays else ":"}
exit {code}
"""
    return Errand(name, script, ended(code), numbered(name, lines))


def worker(draw: random.Random, name: str, shop: Path, *, then: str = "") -> Errand:
    """Works in a workspace: one file committed, one not. `then`: what it does to the place."""
    code = draw.choice([0, 0, 3])
    pause_s = draw.choice([0, 0.1, 0.5])
    script = f"""
set -e
echo {name} > committed.txt; git add committed.txt; {COMMIT} work committed.txt
echo {name} > work.txt
echo "work $PADDOCK_RUN" >> "$LEDGER"
echo worked
set +e
{then or ":"}
sleep {pause_s}
exit {code}
"""
    options = {"repo": str(shop), "memory_bytes": 2 * MEMORY_BYTES}
    return Errand(name, script, ended(code), known(b"worked\n"), work=True, options=options)
