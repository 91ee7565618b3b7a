"""`paddock observe`: alert rules, the dashboard, and the metrics. Only `--now` asks a daemon."""

from __future__ import annotations

import click

from .lazy import Entry, LazyGroup
from .params import ADDRESS
from .printing import echo_json

RUNBOOKS_HELP = "Where docs/operate/alerts is served; else alerts only name the page."

TABLE = {
    "dashboard": Entry("paddock.cli.observe", "A dashboard for Grafana.", "dashboard"),
    "metrics": Entry("paddock.cli.observe", "What is measured, or all values now.", "metrics"),
    "rules": Entry("paddock.cli.observe", "Alert rules for Prometheus.", "rules"),
}


@click.group("observe", cls=LazyGroup, table=TABLE)
def command() -> None:
    """Let Prometheus and Grafana watch paddock: metrics, alert rules, a dashboard.

    Every subcommand takes --json.

    \b
    Examples:
      paddock observe rules > /etc/prometheus/paddock.yml
      paddock observe dashboard > paddock.json
      paddock observe metrics --now
    """


@click.command("rules")
@click.option("--kubernetes", is_flag=True, help="A PrometheusRule, with rules for agent pods.")
@click.option("--namespace", metavar="NAME", help="Of the pods (agent-platform).")
@click.option("--container", metavar="NAME", help="In the pods, the agent's (agent).")
@click.option(
    "--pods-only", is_flag=True, help="No controllers: a daemon elsewhere sends agents there."
)
@click.option("--runbooks", type=ADDRESS, metavar="URL", help=RUNBOOKS_HELP)
@click.option("--json", "as_json", is_flag=True, help="JSON instead of YAML.")
def rules(
    kubernetes: bool,
    namespace: str | None,
    container: str | None,
    pods_only: bool,
    runbooks: str | None,
    as_json: bool,
) -> None:
    """Print alert rules, for a host's Prometheus or for the Prometheus operator.

    \b
    Examples:
      paddock observe rules > /etc/prometheus/paddock.yml
      paddock observe rules --kubernetes --namespace agents | kubectl apply -f -
    """
    from paddock.observe.rules import (
        CONTAINER,
        NAMESPACE,
        RUNBOOKS,
        as_yaml,
        host_rules,
        kubernetes_rules,
    )

    if (namespace or container or pods_only) and not kubernetes:
        raise click.UsageError("--namespace, --container and --pods-only are for --kubernetes")
    base = runbooks or RUNBOOKS
    found = host_rules(runbooks=base)
    if kubernetes:
        found = kubernetes_rules(
            namespace=namespace or NAMESPACE,
            container=container or CONTAINER,
            runbooks=base,
            pods_only=pods_only,
        )
    if as_json:
        echo_json(found)
    else:
        click.echo(as_yaml(found), nl=False)


@click.command("dashboard")
@click.option("--json", "as_json", is_flag=True, help="It is JSON in any case.")
def dashboard(as_json: bool) -> None:  # noqa: ARG001 - every command takes it
    """Print the dashboard of one host, for Grafana to import.

    \b
    Example:
      paddock observe dashboard > paddock.json
    """
    from paddock.observe.dashboard import host_dashboard

    echo_json(host_dashboard())


@click.command("metrics")
@click.option("--now", is_flag=True, help="All values, from the daemon, as Prometheus reads them.")
@click.option("--markdown", is_flag=True, help="The reference page, with the alerts.")
@click.option("--json", "as_json", is_flag=True, help="The table as a JSON list.")
def metrics(now: bool, markdown: bool, as_json: bool) -> None:
    """Print what is measured: names, units, labels; or with --now what a scrape would get.

    \b
    Examples:
      paddock observe metrics
      paddock observe metrics --now | grep paddock_queue
    """
    if now + markdown + as_json > 1:
        raise click.UsageError("only one of --now, --markdown and --json")
    if now:
        _print_now()
    elif markdown:
        from paddock.observe.reference import page

        click.echo(page(), nl=False)
    else:
        _print_table(as_json=as_json)


def _print_now() -> None:
    from .connecting import connected

    with connected(start=False) as client:
        for piece in client.metrics():
            click.echo(piece, nl=False)


def _print_table(*, as_json: bool) -> None:
    from paddock.observe.metrics import METRICS

    from .printing import terminal_width
    from .tables import Column, table

    if as_json:
        echo_json(list(METRICS.values()))
        return
    names = (Column("metric"), Column("kind"), Column("unit"))
    columns = (*names, Column("labels"), Column("what"))
    rows = [
        (one.name, one.kind, one.unit, ", ".join(one.labels), one.about) for one in METRICS.values()
    ]
    lines, width = list(table(columns, rows, colour=False)), terminal_width()
    if width is not None and max(map(len, lines)) > width:
        told = [
            (*row, f"{about} Labels: {labels}." if labels else about)
            for *row, labels, about in rows
        ]
        folded = (*names, Column("what", below=True))
        lines = list(table(folded, told, width=width, colour=False))
    click.echo("\n".join(lines))
