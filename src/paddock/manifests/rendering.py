"""All of it, in the order in which it is applied: as one stream, or as files for kustomize."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from paddock.cluster.agent_run import crd

from .controller import controllers
from .limits import limits
from .objects import Object
from .scaling import scaling
from .values import Values
from .watching import watching

KUSTOMIZATION: Final = "kustomization.yaml"
MADE: Final = "# Made by paddock kubernetes render: "


def render(values: Values) -> dict[str, list[Object]]:
    """By file. A namespace comes before what is in it, a kind before objects of it."""
    return {
        "kinds.yaml": [crd()],
        "limits.yaml": list(limits(values)),
        "controller.yaml": list(controllers(values)),
        "scaling.yaml": list(scaling(values)),
        **({"monitoring.yaml": list(watching(values))} if values.monitoring else {}),
    }


def all_of(files: Mapping[str, Sequence[Object]]) -> list[Object]:
    return [each for objects in files.values() for each in objects]


def stream(objects: Sequence[Object]) -> str:
    import yaml

    return yaml.safe_dump_all(objects, sort_keys=False, width=100, allow_unicode=True)


class Changed(Exception):
    """A file that somebody has changed since it was written."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} was changed by hand")
        self.path = path


def write(
    files: Mapping[str, Sequence[Object]], directory: Path, *, overwrite: bool = False
) -> Iterator[Path]:
    """Each file whole or not at all; what else lies there, and what was changed, is left alone."""
    directory.mkdir(parents=True, exist_ok=True)
    texts = {name: stream(objects) for name, objects in files.items()}
    texts[KUSTOMIZATION] = stream([_kustomization(files)])
    for name in texts:
        if not overwrite and _is_changed(directory / name):
            raise Changed(directory / name)
    for name, text in texts.items():
        path, half = directory / name, directory / f".{name}.half"
        half.write_text(f"{MADE}{_digest(text)}\n{text}", encoding="utf-8")
        half.replace(path)
        yield path


def _is_changed(path: Path) -> bool:
    """It is not what the digest in its first line is of."""
    if not path.exists():
        return False
    first, _, rest = path.read_text(encoding="utf-8", errors="replace").partition("\n")
    return first != f"{MADE}{_digest(rest)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _kustomization(files: Mapping[str, Sequence[Object]]) -> Object:
    return {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": list(files),
    }
