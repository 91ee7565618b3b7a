"""The language of pretend agents."""

from __future__ import annotations

import pytest

from paddock.core.units import MIB
from paddock.drivers.fake.script import BadScript, Leave, Print, Sleep, Use, read_script


def test_words_become_deeds_in_order() -> None:
    script = read_script(("use=64M", "sleep=1.5", "print=a=b", "exit=7"))
    assert script.deeds == (Use(64 * MIB), Sleep(1.5), Print("a=b"), Leave(code=7))


def test_a_script_that_says_nothing_of_its_end_succeeds() -> None:
    assert read_script(()).deeds == (Leave(code=0),)
    assert read_script(("sleep=1",)).deeds[-1] == Leave(code=0)


def test_manners_stand_anywhere() -> None:
    script = read_script(("deaf", "die=11", "strays=2", "checkpoints=0.1", "wraps-up=0"))
    assert (script.deaf, script.strays_s, script.checkpoints_s, script.wraps_up) == (
        True,
        2,
        0.1,
        0,
    )
    assert script.deeds == (Leave(signal=11),)


@pytest.mark.parametrize("word", ["nonsense", "sleep=long", "sleep=nan", "exit=", "use=4 Gigs"])
def test_a_bad_word_is_named_with_the_words_there_are(word: str) -> None:
    with pytest.raises(BadScript, match="the words are: use sleep"):
        read_script((word,))
