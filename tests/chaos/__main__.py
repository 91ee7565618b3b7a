"""`make chaos`: the long campaign over the whole system. Ends with 1 if an invariant was violated.

python -m tests.chaos --rounds 1000 --seed 1
python -m tests.chaos --only flood --only kill-daemon --rounds 20
python -m tests.chaos --seed 1 --from 17 --rounds 1        one round again
python -m tests.chaos --every                              each fault once
python -m tests.chaos --rounds 1000 --beside 3             three houses at once
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from tests.chaos.books import Books
from tests.chaos.fault import Fault
from tests.chaos.planted import PLANTED
from tests.chaos.report import report_of, write_json, write_page
from tests.chaos.rounds import Round
from tests.chaos.scene import a_scene
from tests.chaos.side_by_side import play_beside
from tests.chaos.table import NAMES, dealt, whole_deck

INSIDE: Final = "PADDOCK_CHAOS_INSIDE"  # our own mount namespace: its disks are nobody else's
HOUSE_ROUNDS: Final = 10  # with one paddock, before it goes and is looked at for what it left
EVERY: Final = 5  # faults a round, when each is to be had once

Dealt = tuple[int, list[Fault]]


def words_of(argv: Sequence[str]) -> argparse.Namespace:
    words = argparse.ArgumentParser(
        prog="python -m tests.chaos",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    words.add_argument("--rounds", type=int, default=200)
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--from", type=int, default=0, dest="first", metavar="ROUND")
    words.add_argument("--only", action="append", default=[], choices=sorted(NAMES))
    words.add_argument("--every", action="store_true", help="each fault once, instead of --rounds")
    words.add_argument("--plant", choices=sorted(PLANTED), help="a defect: would it be noticed?")
    words.add_argument("--minutes", type=float, help="no round is begun after so many")
    words.add_argument("--beside", type=int, default=1, metavar="N", help="houses at once")
    words.add_argument("--go-on", action="store_true", help="after a violation, too")
    words.add_argument("--report", type=Path, metavar="FILE", help="a page; the table goes into it")
    words.add_argument("--json", type=Path, metavar="FILE")
    asked = words.parse_args(argv)
    if asked.every and asked.beside > 1:
        words.error("--every is a few rounds: one house at a time")
    return asked


def main(argv: Sequence[str]) -> int:
    asked = words_of(argv)
    if os.geteuid() != 0:
        say("tests.chaos needs root: it mounts a small disk, and limits a cgroup")
        return 2
    if INSIDE not in os.environ:
        words = ["unshare", "--mount", sys.executable, "-m", "tests.chaos", *argv]
        os.execvpe("unshare", words, {**os.environ, INSIDE: "1"})
    books = Books(asked.seed, beside=asked.beside)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    with suppress(KeyboardInterrupt):  # what it has made goes, what it has found is told
        campaign(asked, books)
    report = report_of(books, command=_command(argv), load=os.getloadavg())
    if asked.json:
        write_json(report, asked.json)
    if asked.report:
        write_page(report, asked.report)
    say(f"seed {asked.seed}: {books}")
    return 1 if books.violations else 0


def _command(argv: Sequence[str]) -> str:
    return " ".join(["python -m tests.chaos", *argv])


def campaign(asked: argparse.Namespace, books: Books) -> None:
    houses = list(_houses(list(_rounds(asked))))

    def goes_on() -> bool:
        return (asked.go_on or not books.violations) and not _is_over(asked, books)

    if asked.beside > 1:
        hands = [(hand[0][0], _command_for(hand, asked)) for hand in houses]
        play_beside(hands, books, most=asked.beside, goes_on=goes_on, say=say)
        return
    for hand in houses:
        if not goes_on():
            return
        _in_one_house(hand, books, asked)


def _command_for(hand: list[Dealt], asked: argparse.Namespace) -> list[str]:
    """Of a process that plays this house alone."""
    words = [sys.executable, "-m", "tests.chaos", "--seed", str(asked.seed)]
    words += ["--from", str(hand[0][0]), "--rounds", str(len(hand))]
    words += [word for name in asked.only for word in ("--only", name)]
    return [*words, *(("--plant", asked.plant) if asked.plant else ())]


def _rounds(asked: argparse.Namespace) -> Iterator[Dealt]:
    if asked.every:
        yield from enumerate(whole_deck(asked.seed, EVERY))
        return
    for number in range(asked.first, asked.first + asked.rounds):
        yield number, dealt(asked.seed, number, asked.only)


def _houses(rounds: list[Dealt]) -> Iterator[list[Dealt]]:
    for begin in range(0, len(rounds), HOUSE_ROUNDS):
        yield rounds[begin : begin + HOUSE_ROUNDS]


def _is_over(asked: argparse.Namespace, books: Books) -> bool:
    return asked.minutes is not None and books.took_s > asked.minutes * 60


def _in_one_house(hand: list[Dealt], books: Books, asked: argparse.Namespace) -> None:
    """Then it goes, and what it left counts as well."""
    before, number = len(books.violations), hand[0][0]
    names: tuple[str, ...] = ()
    directory = Path(tempfile.mkdtemp(prefix="paddock-chaos-"))
    try:
        with a_scene(directory, planted=PLANTED[asked.plant].code if asked.plant else "") as scene:
            for number, faults in hand:
                one = Round(scene, books, number, faults)
                names = one.names
                if not one.play():
                    _tell(books, before, asked)
                    _keep(scene.house.places.state, directory / "kept")
                    break
                if _is_over(asked, books):
                    break
    except AssertionError as error:
        books.blame(number, names, f"at the end of the house: {error}")
        _tell(books, len(books.violations) - 1, asked)
    except KeyboardInterrupt:
        shutil.rmtree(directory)
        raise
    if len(books.violations) == before:
        shutil.rmtree(directory)
        say(str(books))
    else:
        say(f"kept: {directory}")


def _tell(books: Books, since: int, asked: argparse.Namespace) -> None:
    for found in books.violations[since:]:
        # From the first round in that house on: what was before may matter.
        first = found.round - (found.round - asked.first) % HOUSE_ROUNDS
        rounds = f" --from {first} --rounds {found.round - first + 1}"
        again = f"python -m tests.chaos --seed {books.seed}"
        again += " --every" if asked.every else rounds
        again += "".join(f" --only {name}" for name in asked.only)
        say(f"VIOLATED in round {found.round} ({', '.join(found.faults)}): {found.text}")
        say(f"again: {again}")


def _keep(state: Path, to: Path) -> None:
    """All that can be copied: no pipes, no sockets, and not what a fault filled the disk with."""

    def special(directory: str, names: list[str]) -> list[str]:
        paths = {name: Path(directory, name) for name in names}
        return [name for name, path in paths.items() if not (path.is_file() or path.is_dir())]

    shutil.copytree(state, to, ignore=special, symlinks=True, dirs_exist_ok=True)


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
