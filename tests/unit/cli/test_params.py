"""The parameter types that commands share."""

import click
import pytest

from paddock.cli.params import AGENT_SIZE, DURATION, SIZE
from paddock.core.units import GIB


def test_sizes_and_times_are_read_as_written() -> None:
    assert SIZE.convert("4G", None, None) == 4 * GIB
    assert DURATION.convert("15m", None, None) == 900.0


def test_values_that_are_numbers_already_pass_through() -> None:
    assert SIZE.convert(4096, None, None) == 4096
    assert DURATION.convert(30, None, None) == 30.0


def test_what_is_no_size_or_time_is_bad_usage() -> None:
    with pytest.raises(click.BadParameter, match="is not a size"):
        SIZE.convert("4 Gigs", None, None)
    with pytest.raises(click.BadParameter, match="is not a time"):
        DURATION.convert("soon", None, None)


def test_a_size_outside_its_range_is_refused_with_the_range() -> None:
    with pytest.raises(click.BadParameter, match="'2T' is not from 16 MiB to 1 TiB"):
        AGENT_SIZE.convert("2T", None, None)
