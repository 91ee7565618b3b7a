"""`paddock kubernetes apply`: all of it into a cluster; a change of sizes in stages, and back."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import click

from .clusters import Cluster, gathered, with_cluster
from .exits import CommandError, ExitCode
from .kubernetes_render import with_values
from .params import DURATION
from .printing import coloured, echo_json, note, paint, safe

if TYPE_CHECKING:
    from paddock.cluster.client import Api
    from paddock.manifests.applying import Deed
    from paddock.manifests.installing import How
    from paddock.manifests.rollout import News, Pace
    from paddock.manifests.values import Values

COLOURS: Final = {"created": "green", "changed": "yellow", "refused": "red", "removed": "yellow"}
WIDEST: Final = 9  # "unchanged"


@click.command("apply")
@with_values
@with_cluster
@click.option("--dry-run", is_flag=True, help="The cluster says what it would do, and does none.")
@click.option("--force", is_flag=True, help="Take over what others have set.")
@click.option("--prune", is_flag=True, help="Remove what was applied before and is not any more.")
@click.option("--at-once", is_flag=True, help="A change of sizes without stages.")
@click.option("--again", is_flag=True, help="Also sizes that were taken back before.")
@click.option(
    "--stage",
    "stages",
    type=click.IntRange(1, 99),
    multiple=True,
    metavar="PERCENT",
    help="Of new runs that get new sizes; repeatable, 100 comes last.  [default: 10, 50]",
)
@click.option(
    "--watch", "watch_s", type=DURATION, default="10m", show_default=True, help="At each stage."
)
@click.option(
    "--tolerate",
    type=click.IntRange(0, 100),
    default=5,
    show_default=True,
    metavar="PERCENT",
    help="Of agents with new sizes that may be hurt before they are taken back.",
)
@click.option("--rollback", is_flag=True, help="The sizes of the revision before, now.")
@click.option("--to", "number", type=int, metavar="NUMBER", help="With --rollback: which one.")
@click.option("--json", "as_json", is_flag=True, help="One object: {objects, news, counts}.")
def apply(
    values: Values, cluster: Cluster, rollback: bool, number: int | None, as_json: bool, **how: Any
) -> int:
    """Apply what `render` would write, by server-side apply, in an order that works.

    A second time changes nothing, and one that was cut off is simply said again. Where sizes
    (`kubernetes.tiers`, quotas) are others than the cluster's, they go in stages, each watched:
    agents killed for memory, put out or placed nowhere take the change back by itself.

    \b
    Examples:
      paddock kubernetes apply --image registry.example/paddock:1 --dry-run
      paddock kubernetes apply --expect implementation=4 --expect quality=4 --watch 15m
      paddock kubernetes apply --rollback
    """
    if number is not None and not rollback:
        raise CommandError("--to has a meaning only with --rollback")
    shown = Shown(as_json=as_json, dry_run=how["dry_run"])
    if rollback:
        back = {"to": number, "dry_run": how["dry_run"], "force": how["force"]}
        return _end(shown, cluster, values.namespace, _Back(values.namespace, back, shown))
    return _end(shown, cluster, values.namespace, _Forth(values, _how(how), shown))


def _how(said: dict[str, Any]) -> How:
    from paddock.manifests.installing import How

    flags = {key: said[key] for key in ("dry_run", "force", "prune", "at_once", "again")}
    return How(**flags, pace=_pace(said["stages"], said["watch_s"], said["tolerate"]))


def _pace(stages: Sequence[int], watch_s: float, tolerate: int) -> Pace:
    from paddock.manifests.rollout import STAGES, Pace

    if list(stages) != sorted(set(stages)):
        raise CommandError(f"--stage: found {', '.join(map(str, stages))}; allowed: rising numbers")
    chosen = (*stages, 100) if stages else STAGES
    look_s = min(1.0, max(0.05, watch_s / 10))
    return Pace(stages=chosen, watch_s=watch_s, tolerated=tolerate / 100, look_s=look_s)


@dataclass
class Shown:
    """Line by line as it happens, or one JSON object at the end."""

    as_json: bool
    dry_run: bool
    deeds: list[Deed] = field(default_factory=list)
    news: list[str] = field(default_factory=list)

    def show(self, told: Deed | News) -> None:
        from paddock.manifests.rollout import News

        if isinstance(told, News):
            self.news.append(told.text)
            if told.deed is not None:
                self.deeds.append(told.deed)
            note(told.text)
            return
        self.deeds.append(told)
        if not self.as_json:
            click.echo(deed_line(told))

    @property
    def counts(self) -> Counter[str]:
        return Counter(str(one.did) for one in self.deeds)

    def finish(self) -> None:
        from paddock.manifests.applying import plain

        if self.as_json:
            objects = [plain(one) for one in self.deeds]
            told = {"dry_run": self.dry_run, "objects": objects, "news": self.news}
            echo_json({**told, "counts": dict(self.counts)})
        counted = ", ".join(f"{count} {did}" for did, count in self.counts.items())
        would = "nothing was changed; it would be: " if self.dry_run else ""
        note(f"{would}{counted or 'nothing to do'}")


def deed_line(deed: Deed) -> str:
    did = paint(f"{deed.did:<{WIDEST}}", COLOURS.get(str(deed.did)), on=coloured(sys.stdout))
    line = f"{did}  {safe(deed.where)}"
    return f"{line}: {safe(deed.what)}" if deed.what else line


@dataclass
class _Forth:
    values: Values
    how: How
    shown: Shown

    async def __call__(self, api: Api) -> bool:
        from paddock.manifests.installing import Installer

        installer = Installer(api, self.values, self.how)
        await gathered(installer.run(), self.shown.show)
        return not installer.refused


@dataclass
class _Back:
    namespace: str
    back: dict[str, Any]
    shown: Shown

    async def __call__(self, api: Api) -> bool:
        from paddock.manifests.installing import roll_back

        await gathered(roll_back(api, self.namespace, **self.back), self.shown.show)
        return "refused" not in self.shown.counts


def _end(shown: Shown, cluster: Cluster, namespace: str, do: _Forth | _Back) -> int:
    from paddock.manifests.installing import Declined
    from paddock.manifests.revisions import Raced
    from paddock.manifests.rollout import Failed, TakenBack

    try:
        went_well = cluster.ask(namespace, do)
    except Declined as declined:
        raise CommandError(str(declined), ExitCode.REFUSED) from None
    except (Raced, Failed) as trouble:
        raise CommandError(str(trouble), ExitCode.ENDED_OTHERWISE) from None
    except TakenBack:
        shown.finish()
        return ExitCode.ENDED_OTHERWISE
    except KeyboardInterrupt:
        note("cut off: what was applied stays; say the same again to go on")
        return ExitCode.INTERRUPTED
    shown.finish()
    return ExitCode.DONE if went_well else ExitCode.ENDED_OTHERWISE
