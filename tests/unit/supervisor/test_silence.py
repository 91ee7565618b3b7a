"""What runs are told while nobody answers where they live."""

from paddock.core.events import Event, Noticed, StartTakesLonger
from paddock.supervisor.silence import AGAIN_S, Silence
from tests.kit.factories import a_spec
from tests.kit.yard import Yard


class Heard:
    def __init__(self) -> None:
        self.yard = Yard()
        self.yard.run(a_spec("runs", away=True), a_spec("here"))
        self.yard.submit(a_spec("starts", away=True))
        self.events: list[Event] = []
        self.now = 1_000_000.0
        self.silence = Silence(self.yard.fleet, self.events.append, lambda: self.now)

    def told(self) -> list[tuple[str, str]]:
        told = []
        for event in self.events:
            assert isinstance(event, Noticed | StartTakesLonger)
            said = event.note if isinstance(event, Noticed) else event.because
            told.append((event.attempt.run, said))
        self.events.clear()
        return told


def test_each_run_there_is_told_once_and_none_that_lives_here() -> None:
    heard = Heard()
    heard.silence.goes_on("refused")
    told = heard.told()
    assert [run for run, _ in told] == ["runs", "starts", "starts"]
    assert "does not answer since 1970-01-1" in told[0][1] and "(refused)" in told[0][1]
    heard.now += 1.0
    heard.silence.goes_on("refused")
    assert heard.told() == []


def test_one_that_was_about_to_start_is_not_given_up_meanwhile() -> None:
    heard = Heard()
    for _ in range(20):
        heard.silence.goes_on("refused")
        for event in heard.events:
            heard.yard.tell(event)
        heard.events.clear()
        heard.yard.advance(AGAIN_S)
        heard.now += AGAIN_S
    assert "starts" in heard.yard.live and heard.yard.stopping == []


def test_its_end_is_told_with_how_long_it_was() -> None:
    heard = Heard()
    heard.silence.goes_on("refused")
    heard.events.clear()
    heard.now += 90.0
    heard.silence.is_over()
    assert heard.told() == [
        ("runs", "the cluster answers again, after 1 min 30 s"),
        ("starts", "the cluster answers again, after 1 min 30 s"),
    ]
    assert heard.silence.sentence == "" and heard.silence.since_at is None
    heard.silence.is_over()
    assert heard.told() == []
