"""`paddock kubernetes render`: the manifests, as a stream or as files for kustomize."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .exits import CommandError
from .here import settings_of_host
from .observe import RUNBOOKS_HELP
from .params import ADDRESS
from .printing import echo_json, note, safe

if TYPE_CHECKING:
    from paddock.cluster.tiers import Tier
    from paddock.config.settings import Settings
    from paddock.manifests.values import Values

_NAMED = ("namespace", "image", "agents_image", "argo_namespace", "runbooks")
_IMAGE = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._/:@-]{0,254}")
NAMESPACE_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def with_values(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say what may differ; they become one `values`."""

    @functools.wraps(command)
    def inner(**options: Any) -> Any:
        return command(values=_values(options), **options)

    for option in reversed(_OPTIONS):
        inner = option(inner)
    return inner


_OPTIONS = (
    click.option("--namespace", metavar="NAME", help="Of controllers and agents."),
    click.option("--image", metavar="IMAGE", help="Of the controllers."),
    click.option("--agents-image", metavar="IMAGE", help="Of agents: their programs, a shell."),
    click.option(
        "--quota",
        metavar="RESOURCE=QUANTITY",
        multiple=True,
        help="Another hard limit, as in limits.memory=320Gi; repeatable.",
    ),
    click.option(
        "--expect",
        metavar="ROLE=NUMBER",
        multiple=True,
        help="Quotas for so many agents of a role at a time, and a fifth more; repeatable.",
    ),
    click.option("--argo", is_flag=True, help="Scale and protect Argo's server, too."),
    click.option("--argo-namespace", metavar="NAME", help="Where it is.  [default: argo]"),
    click.option("--no-monitoring", is_flag=True, help="There is no Prometheus operator."),
    click.option("--runbooks", type=ADDRESS, metavar="URL", help=RUNBOOKS_HELP),
    click.option("--no-vpa", is_flag=True, help="There is no vertical autoscaler."),
)


def _values(options: dict[str, Any]) -> Values:
    from paddock.manifests.values import COMPUTE, OBJECTS, Values

    settings = settings_of_host()
    said = {name: options.pop(name) for name in _NAMED}
    said = {name: value or _configured(settings, name) for name, value in said.items()}
    for key in ("image", "agents_image"):
        if said[key] is not None and not _IMAGE.fullmatch(said[key]):
            option = f"--{key.replace('_', '-')}"
            raise CommandError(f"{option}: {safe(said[key])!r} is no name of an image")
    for key in ("namespace", "argo_namespace"):
        if said[key] is not None and not NAMESPACE_NAME.fullmatch(said[key]):
            option = f"--{key.replace('_', '-')}"
            allowed = "lower-case letters, digits and -, 63 at most"
            raise CommandError(f"{option}: {safe(said[key])!r} is no name: {allowed}")
    tiers = _tiers(settings)
    expected = _expected(options.pop("expect"), tiers)
    quota = _quota(options.pop("quota"), {**COMPUTE, **OBJECTS, **expected})
    return Values(
        **{key: value for key, value in said.items() if value is not None},
        tiers=tiers,
        storage_class=_storage_class(settings),
        secret=_secret(settings),
        said=_said(settings),
        compute={key: quota[key] for key in COMPUTE},
        objects={key: quota[key] for key in OBJECTS},
        argo=options.pop("argo"),
        monitoring=not options.pop("no_monitoring"),
        vertical=not options.pop("no_vpa"),
    )


def _configured(settings: Settings, option: str) -> str | None:
    from paddock.config import cluster_settings as c

    found = {"namespace": c.NAMESPACE, "agents_image": c.IMAGE}
    return settings[found[option]] if option in found else None


def _tiers(settings: Settings) -> tuple[Tier, ...]:
    from paddock.config import cluster_settings as c

    return settings[c.TIERS]


def _storage_class(settings: Settings) -> str | None:
    """None where nobody said one: controllers then take the same as a daemon here."""
    from paddock.config import cluster_settings as c

    held = settings.held[c.STORAGE_CLASS.key]
    return (held.value or "default") if held.explicit else None


def _secret(settings: Settings) -> str | None:
    from paddock.config import cluster_settings as c

    return settings[c.SECRET]


def _said(settings: Settings) -> dict[str, Any]:
    """What a daemon here would do with agents in a cluster, controllers there do as well."""
    import yaml

    from paddock.config import cluster_settings as c

    alike = (c.VOLUMES, c.ACCESS_MODE, c.USER, c.DEADLINE, c.TTL, c.START)
    held = {one: settings.held[one.key] for one in alike}
    return {
        one.name: yaml.safe_load(one.kind.show(found.value))
        for one, found in held.items()
        if found.explicit
    }


def _expected(said: tuple[str, ...], tiers: tuple[Tier, ...]) -> dict[str, str]:
    from paddock.manifests.sizes import quota_for

    counts: dict[str, int] = {}
    for text in said:
        role, _, number = text.partition("=")
        if not role or not number.isdigit() or not 0 < int(number) <= 100_000:
            allowed = "a role and how many of it at a time, as in implementation=4"
            raise CommandError(f"--expect: found {safe(text)!r}; allowed: {allowed}")
        counts[role] = int(number)
    return quota_for(counts, tiers) if counts else {}


def _quota(said: tuple[str, ...], known: Mapping[str, str]) -> dict[str, str]:
    from paddock.cluster.quantities import NoQuantity, number_of

    found = dict(known)
    for text in said:
        name, _, quantity = text.partition("=")
        if name not in known:
            raise CommandError(f"--quota: {safe(name)!r} is none of {', '.join(known)}")
        try:
            number = number_of(quantity)
        except NoQuantity as error:
            raise CommandError(f"--quota {safe(name)}: {safe(str(error))}") from None
        if number <= 0:
            raise CommandError(f"--quota {name}: must be more than 0")
        found[name] = quantity
    return found


@click.command("render")
@with_values
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="A directory for kustomize; else one stream on stdout.",
)
@click.option("--overwrite", is_flag=True, help="Also files that were changed by hand.")
@click.option("--json", "as_json", is_flag=True, help="A list of objects instead of YAML.")
def render(values: Values, out: Path | None, overwrite: bool, as_json: bool) -> None:
    """The manifests of paddock in a cluster: limits, controllers, scaling, monitoring.

    \b
    Examples:
      paddock kubernetes render | kubectl apply --server-side -f -
      paddock kubernetes render --out cluster/ --namespace agents --quota limits.memory=320Gi
    """
    from paddock.manifests import rendering
    from paddock.manifests.values import IMAGE

    files = rendering.render(values)
    for option, image in (("--image", values.image), ("--agents-image", values.agents_image)):
        if image == IMAGE:
            note(f"no {option} was said: {image} is in no registry")
    if out is not None:
        try:
            for path in rendering.write(files, out, overwrite=overwrite):
                note(safe(str(path)))
        except rendering.Changed as changed:
            how = "move it away, or say --overwrite"
            raise CommandError(f"{safe(str(changed))}, and nothing was written: {how}") from None
    if as_json:
        echo_json(rendering.all_of(files))
    elif out is None:
        click.echo(rendering.stream(rendering.all_of(files)), nl=False)
