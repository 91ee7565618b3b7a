"""The history of a cluster's sizes: what is in force, what is gone back to, what is remembered."""

from __future__ import annotations

import dataclasses
import json

from paddock.cluster.tiers import GIB, Tier
from paddock.manifests import revisions as r
from paddock.manifests.sizes import sizes_of
from paddock.manifests.values import Values

TIER = Tier("quality", 1, 2, 2 * GIB, 4 * GIB, 10 * GIB)
FIRST = Values(tiers=(TIER,), image="a:1")
SECOND = dataclasses.replace(FIRST, tiers=(dataclasses.replace(TIER, cpu_limit=3),))


def first() -> r.History:
    history = r.History()
    history.settle(history.begin(sizes_of(FIRST), 100).number)
    return history


def test_a_trial_settles_and_what_was_is_what_is_gone_back_to() -> None:
    history = first()
    trial = history.begin(sizes_of(SECOND), 10)
    assert history.trial == trial and history.current is not None
    assert history.current.number == 1
    history.settle(trial.number)
    assert [one.state for one in history.revisions] == [r.State.REPLACED, r.State.CURRENT]
    assert history.before is not None and history.before.number == 1


def test_sizes_that_were_taken_back_are_known_until_they_are_tried_again() -> None:
    history = first()
    trial = history.begin(sizes_of(SECOND), 10)
    history.take_back(trial.number, "they died")
    found = history.taken_back(sizes_of(SECOND))
    assert found is not None and found.because == "they died"
    assert history.taken_back(sizes_of(FIRST)) is None
    history.begin(sizes_of(SECOND), 10)
    assert history.taken_back(sizes_of(SECOND)) is None


def test_a_new_trial_ends_the_one_before() -> None:
    history = first()
    history.begin(sizes_of(SECOND), 10)
    third = history.begin(sizes_of(dataclasses.replace(FIRST, tiers=())), 10)
    assert [one.state for one in history.revisions] == [
        r.State.CURRENT,
        r.State.GIVEN_UP,
        r.State.TRIAL,
    ]
    assert history.trial == third


def test_what_is_written_reads_back_and_what_a_later_paddock_adds_is_no_harm() -> None:
    history = first()
    plain = json.loads(json.dumps([r.plain_revision(one) for one in history.revisions]))
    plain[0]["tiers"][0]["colour"] = "blue"
    assert [r.revision_of(one) for one in plain] == history.revisions
    values = json.loads(json.dumps(r.plain_values(FIRST)))
    values["colour"] = "blue"
    assert r.values_of(values) == FIRST


def test_the_newest_are_kept_and_whatever_is_in_force() -> None:
    history = first()
    for number in range(2, 40):
        history.begin(sizes_of(SECOND), 10)
        history.take_back(number, "no")
    kept = [one.number for one in r.kept(history.revisions)]
    assert kept == [1, *range(30, 40)]
