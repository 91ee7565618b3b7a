"""Which engine a daemon takes: the first that is there, or that of the containers that run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from paddock.config import settings as s
from paddock.config.layers import settings_of
from paddock.config.places import Places
from paddock.config.settings import Held
from paddock.daemon.containers import container_driver, left_alone, why_not
from paddock.drivers.container.driver import ContainerDriver, DriverTrouble
from paddock.drivers.container.naming import boot_id


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with docker on it, and with nothing else."""
    monkeypatch.setenv("PATH", str(tmp_path))
    _install(tmp_path, "docker")
    return tmp_path


class Mute(ContainerDriver):
    """Installed, and silent."""

    def __init__(self) -> None:
        pass

    def connect(self) -> None:
        raise DriverTrouble("the engine does not answer")


def _install(programs: Path, name: str) -> None:
    (programs / name).touch()
    (programs / name).chmod(0o755)


def places_where(directory: Path, *, runs: bool, engine: str) -> Places:
    places = Places(directory / "state")
    box = places.state / "containers" / boot_id() / "a.1"
    (box if runs else box.parent).mkdir(parents=True)
    (places.state / "containers/used").write_text(engine, encoding="ascii")
    return places


def taken(places: Places, wanted: str = "auto") -> str | None:
    usual = settings_of({})
    held = {**usual.held, s.CONTAINER_ENGINE.key: Held(wanted, "built in")}
    driver = container_driver(places, replace(usual, held=held), epoch=1)
    return driver.guarantees.name if driver is not None else None


def test_it_takes_the_first_that_is_there(programs: Path) -> None:
    places = places_where(programs, runs=False, engine="podman")
    assert taken(places) == "container (docker)"
    _install(programs, "podman")
    assert taken(places) == "container (podman)"
    assert left_alone(places) is None


def test_while_containers_run_it_takes_theirs_or_none(programs: Path) -> None:
    places = places_where(programs, runs=True, engine="podman")
    assert taken(places) is None
    assert taken(places, "docker") is None
    assert taken(places, "podman") == "container (podman)"
    assert "podman is not there, or sandbox.container_engine names another" in str(
        left_alone(places)
    )
    _install(programs, "podman")
    assert taken(places) == "container (podman)"


def test_theirs_is_taken_though_another_would_come_first(programs: Path) -> None:
    _install(programs, "podman")
    assert taken(places_where(programs, runs=True, engine="docker")) == "container (docker)"


@pytest.mark.parametrize("noted", ["", "rkt"])  # by an earlier paddock, or a later one
def test_what_was_not_noted_binds_nobody(programs: Path, noted: str) -> None:
    places = places_where(programs, runs=True, engine=noted)
    assert taken(places) == "container (docker)"
    assert "their engine is not there" in str(left_alone(places))


def test_who_has_no_engine_is_told_what_to_install() -> None:
    assert why_not(None) == "needs podman or docker, and neither is installed"


def test_an_engine_that_does_not_answer_is_said_to_be_there() -> None:
    driver = Mute()
    assert why_not(driver) == "cannot be used: the engine does not answer"
