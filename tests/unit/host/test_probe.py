"""Which probe a machine gets."""

import pytest

from paddock.host.memory import LinuxProbe, MemoryUnreadable
from paddock.host.probe import probe_for_this_machine


def test_linux_gets_the_probe_of_linux() -> None:
    assert isinstance(probe_for_this_machine("linux"), LinuxProbe)


def test_any_other_system_is_one_clear_error() -> None:
    with pytest.raises(MemoryUnreadable, match="Linux and macOS, and this is win32"):
        probe_for_this_machine("win32")
