"""When worker counts are lowered, and when they are left alone."""

from __future__ import annotations

from pathlib import Path

from paddock.tool.counts import CARGO_BYTES, WORKERS, counts_for

GIB = 1 << 30


def test_a_wall_that_holds_a_worker_for_every_core_changes_nothing() -> None:
    assert counts_for({}, limit_bytes=64 * GIB, cpus=16, cwd="/") == {}


def test_a_wall_that_does_not_lowers_each_count_to_what_fits() -> None:
    found = counts_for({"HOME": "/nowhere"}, limit_bytes=2 * GIB, cpus=16, cwd="/")
    assert found == {
        "PYTEST_XDIST_AUTO_NUM_WORKERS": "5",
        "CARGO_BUILD_JOBS": "2",
        "GOFLAGS": "-p=5",
        "VITEST_MAX_WORKERS": "5",
        "UV_CONCURRENT_BUILDS": "3",
        "GOMEMLIMIT": f"{int(2 * GIB * 0.9)}B",
    }


def test_only_those_counts_are_lowered_whose_workers_would_not_fit() -> None:
    found = counts_for({"HOME": "/nowhere"}, limit_bytes=2 * GIB, cpus=4, cwd="/")
    assert found == {"CARGO_BUILD_JOBS": "2", "UV_CONCURRENT_BUILDS": "3"}


def test_one_worker_is_left_even_by_the_smallest_wall() -> None:
    found = counts_for({"HOME": "/nowhere"}, limit_bytes=1 << 20, cpus=2, cwd="/")
    assert found["PYTEST_XDIST_AUTO_NUM_WORKERS"] == "1"


def test_what_the_user_set_stays_even_if_it_is_empty() -> None:
    env = {name: "" for name, _, _ in WORKERS} | {"GOMEMLIMIT": "1GiB"}
    assert counts_for(env, limit_bytes=GIB, cpus=64, cwd="/") == {}


def test_jobs_in_cargos_own_file_stay(tmp_path: Path) -> None:
    below = tmp_path / "crates/one"
    below.mkdir(parents=True)
    (tmp_path / ".cargo").mkdir()
    (tmp_path / ".cargo/config.toml").write_text("[build]\njobs = 12\n", encoding="utf-8")
    env = {"HOME": "/nowhere"}
    assert "CARGO_BUILD_JOBS" not in counts_for(
        env, limit_bytes=CARGO_BYTES, cpus=64, cwd=str(below)
    )
    assert "CARGO_BUILD_JOBS" in counts_for(env, limit_bytes=CARGO_BYTES, cpus=64, cwd="/")


def test_flags_in_gos_own_file_stay(tmp_path: Path) -> None:
    (tmp_path / "go").mkdir()
    (tmp_path / "go/env").write_text("GOFLAGS=-mod=mod\n", encoding="utf-8")
    found = counts_for({"XDG_CONFIG_HOME": str(tmp_path)}, limit_bytes=GIB, cpus=64, cwd="/")
    assert "GOFLAGS" not in found and "GOMEMLIMIT" not in found
