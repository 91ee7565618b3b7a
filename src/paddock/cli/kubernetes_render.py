"""`paddock kubernetes render`: the manifests, as a stream or as files for kustomize."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .exits import CommandError
from .printing import echo_json, note, safe

if TYPE_CHECKING:
    from paddock.manifests.values import Values

_NAMED = ("namespace", "image", "agents_image", "argo_namespace")
_IMAGE = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._/:@-]{0,254}")
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


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
    click.option("--argo", is_flag=True, help="Scale and protect Argo's server, too."),
    click.option("--argo-namespace", metavar="NAME", help="Where it is.  [default: argo]"),
    click.option("--no-monitoring", is_flag=True, help="There is no Prometheus operator."),
    click.option("--no-vpa", is_flag=True, help="There is no vertical autoscaler."),
)


def _values(options: dict[str, Any]) -> Values:
    from paddock.manifests.values import COMPUTE, OBJECTS, Values

    said = {name: options.pop(name) for name in _NAMED}
    for key in ("image", "agents_image"):
        if said[key] is not None and not _IMAGE.fullmatch(said[key]):
            option = f"--{key.replace('_', '-')}"
            raise CommandError(f"{option}: {safe(said[key])!r} is no name of an image")
    for key in ("namespace", "argo_namespace"):
        if said[key] is not None and not _NAME.fullmatch(said[key]):
            option = f"--{key.replace('_', '-')}"
            allowed = "lower-case letters, digits and -, 63 at most"
            raise CommandError(f"{option}: {safe(said[key])!r} is no name: {allowed}")
    quota = _quota(options.pop("quota"), {**COMPUTE, **OBJECTS})
    return Values(
        **{key: value for key, value in said.items() if value is not None},
        compute={key: quota[key] for key in COMPUTE},
        objects={key: quota[key] for key in OBJECTS},
        argo=options.pop("argo"),
        monitoring=not options.pop("no_monitoring"),
        vertical=not options.pop("no_vpa"),
    )


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
