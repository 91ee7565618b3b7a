"""The text format: prometheus-client reads what we write, and promtool finds nothing to say."""

import subprocess

from prometheus_client.parser import text_string_to_metric_families

from paddock.observe.counts import Histogram
from paddock.observe.page import Page
from tests.kit.promtool import needs_promtool


def _read(page: Page) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    families = text_string_to_metric_families(page.text().decode())
    samples = [sample for family in families for sample in family.samples]
    return {(one.name, tuple(sorted(one.labels.items()))): one.value for one in samples}


def test_what_is_put_comes_out() -> None:
    page = Page()
    page.put("paddock_runs_waiting", 3)
    page.put("paddock_queue_length", 2, "high")
    page.put("paddock_agents_limit", None)
    assert _read(page) == {
        ("paddock_runs_waiting", ()): 3.0,
        ("paddock_queue_length", (("priority", "high"),)): 2.0,
    }


def test_names_of_any_kind_come_through() -> None:
    for name in ('say "hi"', "back\\slash", "two\nlines", "größe", "a,b={c}", ""):
        page = Page()
        page.put("paddock_runs_submitted_total", 1, name)
        assert _read(page) == {("paddock_runs_submitted_total", (("group", name),)): 1.0}


def test_half_a_surrogate_pair_does_not_break_the_page() -> None:
    page = Page()
    page.put("paddock_runs_submitted_total", 1, "half \ud800")
    assert list(_read(page)) == [("paddock_runs_submitted_total", (("group", "half ?"),))]


def test_a_histogram_is_cumulative_and_ends_with_all() -> None:
    times = Histogram((1.0, 5.0))
    for value in (0.5, 1.0, 3.0, 100.0):
        times.observe(value)
    page = Page()
    page.put("paddock_queue_wait_seconds", times, "high")
    found = _read(page)
    high = ("priority", "high")
    buckets = {
        dict(labels)["le"]: value for (name, labels), value in found.items() if "bucket" in name
    }
    assert buckets == {"1.0": 2.0, "5.0": 3.0, "+Inf": 4.0}
    assert found["paddock_queue_wait_seconds_sum", (high,)] == 104.5
    assert found["paddock_queue_wait_seconds_count", (high,)] == 4.0


def test_large_and_small_numbers_are_as_large_and_as_small() -> None:
    for value in (0, 1 << 62, 1.5e300, 1e-9, 0.1, 1794881548.7):
        page = Page()
        page.put("paddock_runs_waiting", value)
        assert _read(page) == {("paddock_runs_waiting", ()): float(value)}


@needs_promtool
def test_promtool_finds_nothing_to_say_about_names_and_units() -> None:
    page = Page()
    from paddock.observe.metrics import METRICS

    for metric in METRICS.values():
        value = Histogram(metric.buckets) if metric.kind == "histogram" else 1
        page.put(metric.name, value, *("x" for _ in metric.labels))
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=page.text(), capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
