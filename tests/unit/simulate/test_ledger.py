"""The ledger agrees with a plain list of amounts."""

from hypothesis import given
from hypothesis import strategies as st

from paddock.simulate.ledger import BLOCK, Ledger

SPAN = 5 * BLOCK
a_span = st.tuples(st.integers(0, SPAN), st.integers(1, SPAN)).map(lambda s: (s[0], s[0] + s[1]))
changes = st.lists(st.tuples(a_span, st.integers(1, 50), st.booleans()), max_size=12)


@given(changes, a_span, st.integers(0, 150))
def test_it_finds_the_last_cell_without_room(
    made: list[tuple[tuple[int, int], int, bool]], asked: tuple[int, int], room: int
) -> None:
    ledger, plain = Ledger(), [0] * (2 * SPAN + 1)
    for (start, end), amount, taken_back in made:
        for change in (amount, -amount) if taken_back else (amount,):
            ledger.add(start, end, change)
            for cell in range(start, end):
                plain[cell] += change
    above = [cell for cell in range(*asked) if plain[cell] > room]
    assert ledger.last_above(*asked, room) == max(above, default=-1)
    assert ledger.at(asked[0]) == plain[asked[0]]


def test_an_empty_span_changes_nothing() -> None:
    ledger = Ledger()
    ledger.add(5, 5, 10)
    assert ledger.at(5) == 0
