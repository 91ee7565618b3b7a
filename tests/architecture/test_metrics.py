"""Every metric and every alert is documented, and who asks for a status pays for none of it."""

import re
import subprocess
import sys

from paddock.observe.alerts import HOST, NAMES, cluster, controllers
from paddock.observe.metrics import METRICS
from paddock.observe.reference import page
from tests.architecture.source import PACKAGE, PROJECT

RUNBOOKS = PROJECT / "docs/operate/alerts"


def test_the_reference_page_is_what_the_tables_make() -> None:
    kept = (PROJECT / "docs/reference/metrics.md").read_text(encoding="utf-8")
    assert kept == page(), "paddock observe metrics --markdown > docs/reference/metrics.md"


def test_every_metric_is_documented_with_its_unit_and_a_sentence() -> None:
    kept = (PROJECT / "docs/reference/metrics.md").read_text(encoding="utf-8")
    for metric in METRICS.values():
        assert f"| `{metric.name}` | {metric.kind}, {metric.unit} |" in kept
        assert metric.about.endswith("."), metric.name
        assert "|" not in metric.about and "\n" not in metric.about


def test_every_alert_has_a_runbook_and_every_runbook_an_alert() -> None:
    assert sorted(path.stem for path in RUNBOOKS.glob("*.md")) == sorted(NAMES)
    for alert in (*HOST, *cluster("x", "y"), *controllers("x")):
        text = (RUNBOOKS / f"{alert.name}.md").read_text(encoding="utf-8")
        assert text.startswith(f"# {alert.name}\n\n{alert.severity.capitalize()}"), alert.name
        assert "## Look" in text and "## Do" in text, alert.name


def test_runbooks_name_only_commands_that_are_there() -> None:
    from paddock.cli.main import COMMANDS

    for path in RUNBOOKS.glob("*.md"):
        said = re.findall(r"\bpaddock ([a-z][a-z-]+)", _code(path.read_text(encoding="utf-8")))
        assert [word for word in said if word not in COMMANDS] == [], path.name


def test_names_follow_the_conventions() -> None:
    for metric in METRICS.values():
        assert re.fullmatch(r"(paddock|process)_[a-z]+(_[a-z]+)*", metric.name)
        assert metric.name.endswith("_total") == (metric.kind == "counter"), metric.name
        suffix = {"bytes": "_bytes", "seconds": "_seconds", "ratio": "_ratio"}.get(metric.unit)
        bare = metric.name.removesuffix("_total")
        if suffix is not None:
            assert bare.endswith(suffix), metric.name
        assert bool(metric.buckets) == (metric.kind == "histogram"), metric.name
        assert metric.buckets == tuple(sorted(metric.buckets)), metric.name


def test_no_metric_is_named_outside_of_the_table_that_is_not_in_it() -> None:
    for path in (PACKAGE / "observe").glob("*.py"):
        for name in re.findall(r"\bpaddock_[a-z_]+[a-z]\b", path.read_text(encoding="utf-8")):
            family = re.sub(r"_(bucket|sum|count)$", "", name)
            assert name in METRICS or family in METRICS or name == "paddock_agent", (
                f"{path.name}: {name}"
            )


def test_a_status_imports_nothing_of_it() -> None:
    code = (
        "import sys; import paddock.cli.main, paddock.cli.status; "
        "print([m for m in sys.modules if m.startswith(('paddock.observe', 'prometheus'))])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def _code(text: str) -> str:
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    return "\n".join([*blocks, *re.findall(r"`([^`\n]+)`", text)])
