"""Quantities, names, tiers and quotas of a cluster: what goes in comes out, and sums are right."""

from __future__ import annotations

from decimal import Decimal

import pytest

from paddock.cluster.labels import job_name, label_of
from paddock.cluster.quantities import NoQuantity, cpu_text, number_of, size_text
from paddock.cluster.quota import lines_of, never_fits, short_of
from paddock.cluster.tiers import GIB, OTHER, Tier, is_sized, tier_of


@pytest.mark.parametrize(
    ("text", "number"),
    [("500m", "0.5"), ("2", "2"), ("79228Ki", str(79228 * 1024)), ("8Gi", str(8 * GIB))],
)
def test_quantities_are_read_as_kubernetes_means_them(text: str, number: str) -> None:
    assert number_of(text) == Decimal(number)


@pytest.mark.parametrize("text", ["", "8 Gi", "8Qi", "much", "0x8"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(NoQuantity):
        number_of(text)


def test_sizes_are_written_the_shortest_exact_way() -> None:
    assert [size_text(size) for size in (8 * GIB, 1536 << 20, 1000)] == ["8Gi", "1536Mi", "1000"]
    assert [cpu_text(cpus) for cpus in (2, 0.5, 1.25)] == ["2", "500m", "1250m"]


def test_names_are_never_the_same_for_two_and_never_too_long() -> None:
    runs = ["a", "A", "a.b", "a-b", "x" * 200, "x" * 201, "ümlaut"]
    names = {job_name("0123456789abcdef", run, 1) for run in runs}
    assert len(names) == len(runs)
    assert all(len(name) <= 57 for name in names)  # a pod's name is six longer
    assert label_of("plain") == "plain" and len(label_of("ü" * 100)) == 16


def test_the_most_particular_tier_counts_and_ones_own_comes_first() -> None:
    own = (Tier("quality", 1, 1, GIB, 2 * GIB, GIB, "small"), Tier("docs", 1, 1, GIB, GIB, GIB))
    assert tier_of("quality").memory_limit_bytes == 8 * GIB
    assert tier_of("quality", "small", own) is own[0]
    assert tier_of("docs", "", own) is own[1]
    assert tier_of("nobody") is OTHER and not is_sized("nobody") and is_sized("testing")
    assert tier_of("testing").request_of(4 * GIB) == 2 * GIB


def a_quota(**scope: object) -> dict[str, object]:
    return {
        "metadata": {"name": "q"},
        "spec": {"hard": {"limits.memory": "16Gi", "pods": "3"}, **scope},
        "status": {"used": {"limits.memory": "10Gi", "pods": "1"}},
    }


def test_a_quota_says_who_is_short_of_what() -> None:
    lines = lines_of([a_quota()])
    assert short_of({"limits.memory": Decimal(6 * GIB), "pods": Decimal(1)}, lines) is None
    short = short_of({"limits.memory": Decimal(8 * GIB)}, lines)
    assert short == "the quota q has 6Gi of 16Gi limits.memory left, and 8Gi are asked for"
    assert "in all" in (never_fits({"limits.memory": Decimal(20 * GIB)}, lines) or "")


def test_a_quota_of_another_priority_class_does_not_bind() -> None:
    rule = {"scopeName": "PriorityClass", "operator": "In", "values": ["agent-high"]}
    quota = a_quota(scopeSelector={"matchExpressions": [rule]})
    assert lines_of([quota], "agent-low") == []
    assert len(lines_of([quota], "agent-high")) == 2
