"""CAP-1, CAP-2 and CAP-4: the safe number, the reserve, the matrix."""

import pytest

from paddock.core.capacity import (
    capacity,
    default_limit,
    host_reserve,
    matrix,
    max_agents,
    nominal_total,
)
from paddock.core.units import GIB, parse_size


@pytest.mark.parametrize(
    ("ram", "per_agent", "at_most"),
    [
        ("16G", "4G", 2),
        ("32G", "4G", 4),
        ("64G", "4G", 8),
        ("128G", "4G", 12),
        ("16G", "8G", 1),
        ("16G", "2G", 4),
        ("15.6G", "4G", 2),
        ("31.2G", "4G", 4),
        ("62.7G", "4G", 8),
        ("125.7G", "4G", 12),
        ("1536G", "4G", 326),
        ("8G", "4G", 1),
        ("3072G", "4G", 652),
    ],
)
def test_the_safe_number_is_the_required_one(ram: str, per_agent: str, at_most: int) -> None:
    cap = capacity(parse_size(ram), per_agent_bytes=parse_size(per_agent))
    assert cap.max_agents == at_most
    assert cap.fits


@pytest.mark.parametrize(("ram", "recommended"), [("128G", 12), ("1536G", 300), ("192G", 24)])
def test_large_hosts_are_recommended_a_little_less(ram: str, recommended: int) -> None:
    assert capacity(parse_size(ram), per_agent_bytes=4 * GIB).recommended_agents == recommended


@pytest.mark.parametrize(
    "nominal", [8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072]
)
def test_what_firmware_leaves_of_a_size_counts_as_that_size(nominal: int) -> None:
    size = nominal * GIB
    assert nominal_total(size) == size
    assert nominal_total(size * 96 // 100 + 1) == size
    assert nominal_total(size * 96 // 100 - 1) == size * 96 // 100 - 1
    assert nominal_total(size + 1) == size + 1


@pytest.mark.parametrize("gib", [0.5, 4, 12, 20, 40])
def test_a_size_nobody_sells_counts_as_itself(gib: float) -> None:
    assert nominal_total(int(gib * GIB)) == int(gib * GIB)


@pytest.mark.parametrize(
    ("total", "reserve"),
    [(4, 2), (8, 4), (16, 8), (24, 12), (32, 16), (64, 32), (96, 56), (128, 80), (1536, 232)],
)
def test_the_reserve_lies_on_the_straight_lines(total: int, reserve: int) -> None:
    assert host_reserve(total * GIB) == reserve * GIB


def test_above_the_last_point_the_reserve_goes_on_in_proportion() -> None:
    assert host_reserve(3072 * GIB) == 464 * GIB


def test_the_reserve_never_falls_and_always_leaves_something() -> None:
    reserves = [(gib, host_reserve(gib * GIB)) for gib in range(1, 4000)]
    assert all(0 < reserve < gib * GIB for gib, reserve in reserves)
    # A size just below a nominal one counts as it, so neighbours may be equal, never less.
    assert [r for _, r in reserves] == sorted(r for _, r in reserves)


def test_a_reserve_can_be_given() -> None:
    cap = capacity(16 * GIB, per_agent_bytes=4 * GIB, reserve_bytes=6 * GIB)
    assert (cap.host_reserve_bytes, cap.max_agents) == (6 * GIB, 2)


@pytest.mark.parametrize("reserve", [16, 17])
def test_a_reserve_that_leaves_nothing_is_refused(reserve: int) -> None:
    with pytest.raises(ValueError, match=f"a reserve of {reserve} GiB leaves nothing of 16 GiB"):
        capacity(16 * GIB, per_agent_bytes=GIB, reserve_bytes=reserve * GIB)


@pytest.mark.parametrize(("total", "each"), [(0, GIB), (-1, GIB), (GIB, 0), (GIB, -1)])
def test_sizes_of_nothing_are_refused(total: int, each: int) -> None:
    with pytest.raises(ValueError, match="above zero"):
        capacity(total, per_agent_bytes=each)


def test_a_negative_reserve_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be negative"):
        capacity(16 * GIB, per_agent_bytes=GIB, reserve_bytes=-1)


def test_the_maximum_is_one_even_where_none_fits() -> None:
    cap = capacity(16 * GIB, per_agent_bytes=12 * GIB)
    assert (cap.max_agents, cap.recommended_agents, cap.fits) == (1, 1, False)
    assert max_agents(GIB, reserve_bytes=2 * GIB, per_agent_bytes=GIB) == 1


def test_the_default_limit_on_a_small_host_is_what_fits() -> None:
    wanted = 4 * GIB
    assert default_limit(4 * GIB, reserve_bytes=2 * GIB, wanted_bytes=wanted) == 2 * GIB
    assert default_limit(16 * GIB, reserve_bytes=8 * GIB, wanted_bytes=wanted) == wanted


def test_the_matrix_has_the_usual_hosts() -> None:
    numbers = [
        (row.total_bytes // GIB, row.host_reserve_bytes // GIB, row.max_agents)
        for row in matrix(4 * GIB)
    ]
    assert numbers == [(16, 8, 2), (32, 16, 4), (64, 32, 8), (128, 80, 12), (1536, 232, 326)]
