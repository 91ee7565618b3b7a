"""A profile is never below the trace it stands for, and never above its peak."""

from hypothesis import given
from hypothesis import strategies as st

from paddock.simulate.profile import profile
from paddock.simulate.trace import Trace

GRID_S = 0.5
a_phase = st.tuples(
    st.floats(0.0, 3.0).map(lambda s: round(s, 2)), st.integers(1, 20), st.just(1.0)
)


@given(st.lists(a_phase, min_size=1, max_size=12))
def test_every_cell_holds_the_most_that_the_trace_uses_in_it(
    phases: list[tuple[float, int, float]],
) -> None:
    trace = Trace(phases)
    shape = profile(trace, grid_s=GRID_S, cpu=0)
    cells = [shape.base] * shape.cells
    for bump in shape.bumps:
        for cell in range(bump.start, bump.end):
            assert cells[cell] == shape.base  # no two bumps share a cell
            cells[cell] = bump.level
    at_s = 0.0
    for phase in trace.phases:
        end_s = at_s + phase.duration_s
        for cell, held in enumerate(cells if phase.duration_s else []):
            if at_s < (cell + 1) * GRID_S and end_s > cell * GRID_S:
                assert held >= phase.bytes
        at_s = end_s
    assert max(cells, default=0) <= trace.peak_bytes


def test_bursts_are_rounded_outwards() -> None:
    trace = Trace([(1.2, 10, 0.1), (0.4, 50, 1.0), (1.4, 10, 0.1)])
    shape = profile(trace, grid_s=GRID_S, cpu=0)
    assert (shape.cells, shape.base) == (6, 10)
    assert shape.bumps == [(2, 4, 50)]
