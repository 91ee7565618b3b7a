"""What came of a rehearsal, from its ledger."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .ledger import read
from .script import ASKED, Script


@dataclass(frozen=True, slots=True)
class Played:
    """Tool calls of the script, and what became of them."""

    calls: int  # that the script asks for, and the program can do
    done: int
    asked_again: int  # after a cut
    refused: int  # requests that were answered with an error, as the script says
    ended: bool  # the last word was said
    unknown: tuple[str, ...]  # addresses that the stand-in does not know

    @property
    def whole(self) -> bool:
        return self.ended and self.done >= self.calls

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"whole": self.whole}

    def __str__(self) -> str:
        text = f"{self.done} of {self.calls} tool calls done"
        if self.asked_again:
            text += f", {self.asked_again} asked for again after a cut"
        if self.refused:
            requests = "1 request" if self.refused == 1 else f"{self.refused} requests"
            text += f", {requests} refused as the script says"
        return text if self.ended else f"{text}, ended before the script did"


def sum_of(all_played: list[Played]) -> Played:
    """Of a run in steps."""
    return Played(
        calls=sum(each.calls for each in all_played),
        done=sum(each.done for each in all_played),
        asked_again=sum(each.asked_again for each in all_played),
        refused=sum(each.refused for each in all_played),
        ended=all(each.ended for each in all_played),
        unknown=tuple(sorted({path for each in all_played for path in each.unknown})),
    )


def played(script: Script, ledger: Path) -> Played:
    lines = list(read(ledger))

    def steps(what: str) -> list[int]:
        return [line["step"] for line in lines if line.get("what") == what]

    asked, cannot = steps("asked"), set(steps("cannot"))
    numbers = {at for at, step in enumerate(script.steps) if isinstance(step, ASKED)}
    return Played(
        calls=len(numbers - cannot),
        done=len(set(steps("done")) & (numbers - cannot)),
        asked_again=len(asked) - len(set(asked)),
        refused=len(steps("refused")),
        ended=any(line.get("what") == "ended" for line in lines),
        unknown=tuple(sorted({line["path"] for line in lines if line.get("what") == "unknown"})),
    )
