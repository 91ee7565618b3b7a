"""`paddock kubernetes check`: whether manifests would be taken, and do what they are for."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .clusters import Cluster, gathered, with_cluster
from .exits import CommandError, ExitCode
from .kubernetes_render import with_values
from .printing import coloured, counted, echo_json, note, paint, safe

if TYPE_CHECKING:
    from paddock.cluster.client import Api
    from paddock.manifests.prerequisites import Finding
    from paddock.manifests.values import Values

LARGEST = 16 << 20
COLOURS = {"good": "green", "note": "yellow", "missing": "red"}


@click.command("check")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path, allow_dash=True))
@with_values
@click.option(
    "--version",
    "versions",
    multiple=True,
    metavar="X.Y",
    help="Of Kubernetes; repeatable.  [default: the last three]",
)
@click.option("--cluster", "of_cluster", is_flag=True, help="What the cluster has and lacks.")
@with_cluster
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="A list of {rule, where, what}; of a cluster {name, verdict, what, mend}.",
)
def check(
    values: Values,
    files: tuple[Path, ...],
    versions: tuple[str, ...],
    of_cluster: bool,
    cluster: Cluster,
    as_json: bool,
) -> int:
    """Check manifests without a cluster: by Kubernetes' schemas, and by rules that they lack.

    Without FILES it checks what `render` would write. With --cluster it looks at the cluster
    instead: version, kinds, rights, storage, room and what else paddock needs there, and says what
    to do about each. It changes nothing.

    \b
    Examples:
      paddock kubernetes check
      kubectl get -o yaml hpa,vpa,pdb,quota | paddock kubernetes check -
      paddock kubernetes check --cluster
    """
    if of_cluster:
        if files or versions:
            raise CommandError("--cluster looks at a cluster: no files, no --version")
        return _look(values, cluster, as_json=as_json)
    return _manifests(values, files, versions, as_json=as_json)


def _look(values: Values, cluster: Cluster, *, as_json: bool) -> int:
    from paddock.manifests.prerequisites import Verdict, plain, prerequisites

    async def look(api: Api) -> list[Finding]:
        show = _silent if as_json else _show
        return await gathered(prerequisites(api, values), show)

    found = cluster.ask(values.namespace, look)
    if as_json:
        echo_json([plain(one) for one in found])
    missing = sum(one.verdict is Verdict.MISSING for one in found)
    notes = sum(one.verdict is Verdict.NOTE for one in found)
    told = f"{counted(missing, 'thing')} missing" if missing else "nothing is missing"
    note(f"{told}, {counted(notes, 'note')}" if notes else told)
    return ExitCode.ENDED_OTHERWISE if missing else ExitCode.DONE


def _silent(_: Finding) -> None:
    pass


def _show(one: Finding) -> None:
    verdict = paint(f"{one.verdict:<7}", COLOURS[str(one.verdict)], on=coloured(sys.stdout))
    click.echo(f"{verdict}  {one.name}: {safe(one.what)}")
    if one.mend:
        click.echo(f"         → {safe(one.mend)}")


def _manifests(
    values: Values, files: tuple[Path, ...], versions: tuple[str, ...], *, as_json: bool
) -> int:
    from paddock.manifests import checking, rendering

    objects = [one for file in files for one in read_objects(file)] if files else None
    if objects is None:
        objects = rendering.all_of(rendering.render(values))
    try:
        problems = checking.check(objects, versions=versions or checking.VERSIONS)
    except ModuleNotFoundError:
        raise CommandError(
            "checking needs Kubernetes' schemas: pip install '.[kubernetes]' in paddock's checkout"
        ) from None
    except checking.UnknownVersion as unknown:
        raise CommandError(f"--version: {unknown}") from None
    if as_json:
        echo_json([{"rule": p.rule, "where": p.where, "what": p.what} for p in problems])
    else:
        for problem in problems:
            click.echo(safe(str(problem)))
    note(f"{len(objects)} objects, {len(problems) or 'no'} problem{'s'[: len(problems) != 1]}")
    return ExitCode.ENDED_OTHERWISE if problems else ExitCode.DONE


def read_objects(file: Path) -> list[Any]:
    """All documents of it; lists of Kubernetes are taken apart."""
    import yaml

    try:
        text = _text(file)
        if len(text) > LARGEST:
            raise CommandError(f"{safe(str(file))}: larger than 16 MiB")
        documents = [each for each in yaml.safe_load_all(text) if each is not None]
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise CommandError(f"{safe(str(file))}: is no YAML: {safe(reason)}") from None
    if not documents:
        raise CommandError(f"{safe(str(file))}: holds no object")
    return [one for each in documents for one in _items(each)]


def _text(file: Path) -> str:
    if str(file) == "-":
        return sys.stdin.read(LARGEST + 1)
    with file.open(encoding="utf-8") as opened:
        return opened.read(LARGEST + 1)


def _items(document: Any) -> list[Any]:
    is_list = isinstance(document, dict) and str(document.get("kind", "")).endswith("List")
    return list(document.get("items") or []) if is_list else [document]
