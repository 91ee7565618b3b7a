"""Whether manifests would be taken, and would do what they are for: schemas, then rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from .objects import Object
from .problems import Problem, rules, where

VERSIONS: Final = ("1.34", "1.35", "1.36")


class UnknownVersion(ValueError):
    """A version of Kubernetes whose schemas are not here."""


def check(objects: Sequence[Object], *, versions: Sequence[str] = VERSIONS) -> list[Problem]:
    """What is no object of Kubernetes is told as that, and nothing more is asked of it."""
    shapes = [problem for one in objects for problem in _shape(one)]
    if shapes:
        return shapes
    by_schema = [problem for version in versions for problem in by_version(objects, version)]
    found: list[Problem] = []
    for name, rule in rules().items():
        try:
            found += rule(objects)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            told = f"could not be looked at: {error!r}; mend what the schema says first"
            found.append(Problem(name, "all of it", told))
    return list(dict.fromkeys([*by_schema, *found]))


def _shape(one: Any) -> Iterator[Problem]:
    if not isinstance(one, dict) or not all(
        isinstance(one.get(key), str) for key in ("apiVersion", "kind")
    ):
        yield Problem("object", "a document", "is no object: it has no apiVersion and kind")
    elif one["kind"] != "Kustomization" and "name" not in (one.get("metadata") or {}):
        yield Problem("object", where({**one, "metadata": {}}), "has no metadata.name")


def by_version(objects: Sequence[Object], version: str) -> Iterator[Problem]:
    """By Kubernetes' own schemas, strictly; kinds that it does not know are left to the rules."""
    import kubernetes_validate

    for one in objects:
        try:
            kubernetes_validate.validate(one, version, strict=True)
        except kubernetes_validate.utils.VersionNotSupportedError:
            raise UnknownVersion(f"{version!r} is not known; as in {VERSIONS[-1]}") from None
        except kubernetes_validate.SchemaNotFoundError:
            continue
        except kubernetes_validate.ValidationError as error:
            path = ".".join(str(part) for part in error.path)
            told = f"{error.message} (at {path or 'the top'}, Kubernetes {version})"
            yield Problem("schema", where(one), told)
