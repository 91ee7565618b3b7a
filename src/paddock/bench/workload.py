"""What an agent's day looks like without a model: a repository, edits, tests, commits. A program.

`python -m paddock.bench.workload medium` makes a repository of its own in the working directory,
edits ten of its modules, runs their tests and then all of them, and commits: real git, real
processes, real memory. The same each time, so that runs can be compared.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

MODULES: Final = 40


class Task(NamedTuple):
    """A kind of work of S0's matrix, and what it was expected to need."""

    files: int
    expected_mib: tuple[int, int]
    told: str


TASKS: Final = {
    "small": Task(1, (512, 1024), "small fix, one file"),
    "medium": Task(10, (1024, 2048), "medium feature, ten files"),
    "large": Task(25, (2048, 4096), "large refactor, twenty-five files"),
}

_MODULE: Final = '''\
"""Module {n} of a shop: prices, stock and orders."""

RATES = {{f"item-{{i}}": (i * {n} + 7) % 97 / 10 for i in range(400)}}


def price(item, amount):
    return round(RATES[item] * amount * (0.9 if amount > 10 else 1.0), 2)


def total(order):
    return round(sum(price(item, amount) for item, amount in order), 2)


def cheapest(count):
    return sorted(RATES, key=lambda item: (RATES[item], item))[:count]


def primes(below):
    sieve = bytearray([1]) * below
    sieve[:2] = b"\\0\\0"
    for i in range(2, int(below**0.5) + 1):
        if sieve[i]:
            sieve[i * i :: i] = bytes(len(sieve[i * i :: i]))
    return [i for i, is_prime in enumerate(sieve) if is_prime]
'''

_TEST: Final = """\
import unittest

from shop import m{n}


class Test{n}(unittest.TestCase):
    def test_total_is_the_sum(self):
        order = [(item, amount) for amount, item in enumerate(m{n}.RATES)]
        self.assertAlmostEqual(m{n}.total(order), sum(m{n}.price(*one) for one in order), places=1)

    def test_cheapest_comes_first(self):
        found = m{n}.cheapest(50)
        self.assertEqual(found, sorted(found, key=lambda item: (m{n}.RATES[item], item)))

    def test_primes(self):
        self.assertEqual(len(m{n}.primes(200_000)), 17_984)

    def test_many_orders(self):
        orders = [[(f"item-{{(i * 31 + j) % 400}}", j) for j in range(20)] for i in range(2_000)]
        self.assertGreater(sum(map(m{n}.total, orders)), 0)
"""

EDIT: Final = '''

def discounted(order, percent):
    """Added by the agent."""
    return round(total(order) * (1 - percent / 100), 2)
'''

_NEW_TEST: Final = """
    def test_a_discount_takes_its_share(self):
        order = [("item-1", 3), ("item-2", 20)]
        self.assertLess(m{n}.discounted(order, 10), m{n}.total(order) or 1)
"""


_WHOLE_TEST: Final = """\
import unittest

from shop import m{n}


class TestDiscount{n}(unittest.TestCase):
"""


def module_text(n: int) -> str:
    return _MODULE.format(n=n)


def new_test_text(n: int) -> str:
    """The test of an edit in a file of its own."""
    return (_WHOLE_TEST + _NEW_TEST.lstrip("\n")).format(n=n)


def make_repository(root: Path) -> None:
    for name in ("shop", "tests"):
        (root / name).mkdir(parents=True)
        (root / name / "__init__.py").touch()
    for n in range(MODULES):
        (root / "shop" / f"m{n}.py").write_text(module_text(n), encoding="utf-8")
        (root / "tests" / f"test_m{n}.py").write_text(_TEST.format(n=n), encoding="utf-8")
    _git(root, "init", "-q", "-b", "main")
    _commit(root, "A shop")


def work(root: Path, files: int) -> None:
    """As an agent does it: edit, test what was edited, commit; at the end everything once."""
    for n in range(files):
        _append(root / "shop" / f"m{n}.py", EDIT)
        _append(root / "tests" / f"test_m{n}.py", _NEW_TEST.format(n=n))
        _git(root, "diff", "--stat")
        _test(root, f"tests.test_m{n}")
        _commit(root, f"Discounts in m{n}")
        sys.stdout.write(f"m{n}: edited, tested, committed\n")
        sys.stdout.flush()
    _test(root, *(f"tests.test_m{n}" for n in range(MODULES)))
    _git(root, "log", "--stat", "--oneline")


def _append(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


def _test(root: Path, *names: str) -> None:
    _run(root, [sys.executable, "-B", "-m", "unittest", "-q", *names])


def _commit(root: Path, message: str) -> None:
    _git(root, "add", "-A")
    _git(root, "commit", "-q", "-m", message)


def _git(root: Path, *words: str) -> None:
    _run(root, ["git", *words])


def _run(root: Path, words: Sequence[str]) -> None:
    mine = {
        **{f"GIT_{who}_NAME": "bench" for who in ("AUTHOR", "COMMITTER")},
        **{f"GIT_{who}_EMAIL": "bench@localhost" for who in ("AUTHOR", "COMMITTER")},
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    done = subprocess.run(
        words, cwd=root, env={**os.environ, **mine}, capture_output=True, check=False
    )
    if done.returncode:
        sys.stderr.write(done.stderr.decode(errors="replace")[-2000:])
        raise SystemExit(f"{words[0]} {words[1]} ended with {done.returncode}")


def main(words: Sequence[str]) -> int:
    if len(words) != 1 or words[0] not in TASKS:
        sys.stderr.write(f"say one of: {', '.join(TASKS)}\n")
        return 2
    root = Path(tempfile.mkdtemp(prefix="workload-", dir=Path.cwd()))
    try:
        make_repository(root)
        work(root, TASKS[words[0]].files)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
