"""What the canaries' ends mean: verdicts over scripted canaries. Real ones are in integration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from paddock.host.doctor.containment import Promises
from paddock.host.doctor.proofs import End, NotNow, Patience, Proof, prove

ALL = Promises(
    hard_memory_wall=True,
    fleet_wall=True,
    no_swap=True,
    pids_wall=True,
    kills_whole_tree=True,
    catches_escapes=True,
)
# A crowd that is none in /proc is waited for: here only for a moment.
IMPATIENT = Patience(begin_s=0.05, soft_s=0.05)
OTHERWISE = End(over_memory=False, seconds=0.1, text="exit code 2")
LATER = End(over_memory=True, seconds=3.0, text="over its wall")
OVER = End(over_memory=True, seconds=0.05, text="over its wall")


@dataclass
class Scripted:
    said: str = "here"
    end: End | None = None
    killed: bool = False

    def output(self) -> str:
        return self.said

    def ended(self) -> End | None:
        return self.end

    def kill(self) -> None:
        self.killed = True


@dataclass
class ScriptedPen:
    """Without a word about it, a canary behaves as walls make it."""

    promises: Promises = ALL
    way_out: tuple[str, ...] = ("/a", "/b")
    canaries: dict[str, Scripted] = field(default_factory=dict)
    refuses: str | None = None

    def start(self, name: str, script: str, *, env: Mapping[str, str]) -> Scripted:
        del script, env
        if self.refuses is not None:
            raise NotNow(self.refuses)
        usual = {
            "hog": Scripted(end=OVER),
            "bomb": Scripted(
                "n1\nn2\nn30\nCannot fork\n",
                OTHERWISE,
            ),
            "crowd": Scripted(),
            "escaper": Scripted("refused\nrefused\nout"),
        }
        return self.canaries.setdefault(name, usual.get(name, Scripted()))


def proofs(pen: ScriptedPen) -> dict[str, Proof]:
    return {proof.name: proof for proof in prove(pen, IMPATIENT)}


def test_walls_that_hold_are_said_to_hold() -> None:
    pen = ScriptedPen()
    found = proofs(pen)
    assert found["memory wall"].verdict == "held"
    assert found["memory wall"].seconds == 0.05
    assert found["process limit"].evidence.startswith("stopped after 30 of 100 forks")
    assert found["escape"] == Proof("escape", "held", "it could not leave its cgroup")
    assert all(canary.killed for canary in pen.canaries.values())


@pytest.mark.parametrize(
    ("name", "canary", "proof", "verdict", "evidence"),
    [
        ("hog", Scripted(), "memory wall", "broken", "still lives"),
        ("hog", Scripted(end=OTHERWISE), "memory wall", "broken", "exit code 2"),
        ("hog", Scripted(end=LATER), "memory wall", "late", "after 3.00 s (1 s at most where"),
        ("neighbour", Scripted(end=OVER), "memory wall", "broken", "neighbour died"),
        ("bomb", Scripted("n1\nn100\nall\n"), "process limit", "broken", "100 of 100"),
        ("bomb", Scripted("", OTHERWISE), "process limit", "not proven", "it said"),
        (
            "bomb",
            Scripted("n1\nn9\n"),
            "process limit",
            "not proven",
            "none was refused: this host",
        ),
        ("bomb", Scripted("n1\nn30\nsh: fork: retry: no"), "process limit", "held", "after 30 of"),
        ("hog", Scripted("nothing"), "memory wall", "not proven", "did not begin"),
    ],
)
def test_what_does_not_hold_is_told(
    name: str, canary: Scripted, proof: str, verdict: str, evidence: str
) -> None:
    found = proofs(ScriptedPen(canaries={name: canary}))[proof]
    assert found.verdict == verdict and evidence in found.evidence


def test_a_crowd_that_cannot_be_seen_proves_nothing() -> None:
    found = proofs(ScriptedPen())["kill"]
    assert (found.verdict, found.is_bad) == ("not proven", True)


def test_without_walls_what_is_not_promised_is_said_and_not_tried() -> None:
    pen = ScriptedPen(promises=Promises())
    found = proofs(pen)
    verdicts = {name: proof.verdict for name, proof in found.items()}
    assert verdicts == {
        "memory wall": "not promised",
        "soft memory limit": "held",
        "process limit": "not promised",
        "kill": "not proven",
        "escape": "not promised",
    }
    assert set(pen.canaries) == {"neighbour", "hog", "crowd"}
    assert not found["memory wall"].is_bad


def test_a_canary_that_is_not_started_proves_nothing() -> None:
    found = proofs(ScriptedPen(refuses="it waits for memory"))
    assert {proof.verdict for proof in found.values()} == {"not proven"}
    assert found["kill"].evidence == "it waits for memory"


def test_all_of_them_are_over_in_time() -> None:
    found = list(prove(ScriptedPen(), Patience(all_s=-1.0)))
    assert [each.name for each in found] == ["memory wall", "process limit", "kill", "escape"]
    assert {each.verdict for each in found} == {"not proven"}
