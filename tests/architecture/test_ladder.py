"""A step of the ladder is known wherever one is shown, set or acted on without a daemon."""

from __future__ import annotations

from paddock.api.views_of import rungs_of
from paddock.cli import watch
from paddock.config.settings import SETTINGS
from paddock.core.policy import LadderPolicy
from paddock.core.pressure import Rung
from paddock.observe.fleet_metrics import LADDER
from paddock.rescue import ladder
from paddock.tui import head
from paddock.web import charts, overview

STEPS = [rung.name.lower() for rung in Rung]
ABOVE_CALM = STEPS[1:]
HOW = "see docs/develop/adding-a-ladder-step.md"


def test_every_step_has_a_percent_a_floor_and_a_setting() -> None:
    keys = {setting.key for setting in SETTINGS}
    for step in ABOVE_CALM:
        for name in (step, f"{step}_free_bytes"):
            assert hasattr(LadderPolicy(), name), HOW
            assert name in ladder.Ladder._fields, HOW
        assert f"ladder.{step}" in keys, HOW


def test_every_step_is_told_in_every_face() -> None:
    assert list(rungs_of(LadderPolicy(), 1 << 40)) == ABOVE_CALM, HOW
    assert list(head.RUNGS) == STEPS and list(head.MEANS) == ABOVE_CALM, HOW
    assert list(overview.RUNGS) == STEPS and list(charts.RUNGS) == ABOVE_CALM, HOW
    assert list(LADDER) == list(Rung), HOW
    assert list(watch.COLOURS) == ABOVE_CALM, HOW
