"""From an AgentRun to a run: the same words, the same parser and the same recipe as everywhere."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from paddock.api.presets import filled
from paddock.api.problems import Declined
from paddock.api.recipes import Sent, recipe_of
from paddock.cluster.client import AGENT_RUN, Object
from paddock.cluster.tiers import Tier, place_of, tier_of
from paddock.config.layers import load_settings
from paddock.config.mistakes import ConfigError
from paddock.config.policy import RunDefaults, run_defaults
from paddock.config.settings import Settings
from paddock.core.run import RunSpec
from paddock.core.units import PIB
from paddock.drivers.kubernetes.manifests import OWNER_LABEL
from paddock.ports import Recipe
from paddock.wire.run_checks import check_run
from paddock.wire.run_lines import parse_lines
from paddock.wire.run_request import RunRequest, to_spec
from paddock.wire.run_words import LONGEST_NAME

DRIVER: Final = "kubernetes"
NO_PLACE: Final = Path("/")


class BadRun(Exception):
    """What is wrong with an AgentRun, in one line."""


@dataclass(frozen=True, slots=True)
class Asked:
    spec: RunSpec
    recipe: Recipe


def id_of(one: Object) -> str:
    """Of this very object: one of the same name that is made later is another run."""
    meta = one["metadata"]
    return f"{meta['name']}-{meta['uid'].replace('-', '')[:8]}"


class Reader:
    """`tiers`: the user's own."""

    def __init__(self, tiers: tuple[Tier, ...] = (), settings: Settings | None = None) -> None:
        self._tiers = tiers
        self._settings = settings or load_settings(None)
        self._defaults: RunDefaults = run_defaults(self._settings, PIB)

    def read(self, one: Object, ids: Mapping[str, str]) -> Asked:
        """`ids` gives the run's id by the AgentRun's name, for needs."""
        request = self._request(one)
        own = {need: ids[need] for need in request.needs}
        own[request.name] = run = id_of(one)
        try:
            made = filled(request, lambda: self._settings.presets, request.env, largest_bytes=PIB)
        except Declined as error:
            raise BadRun(str(error)) from None
        spec = to_spec(made.request, self._defaults, ids=own, project=request.name)
        of = Sent(run, {}, NO_PLACE, None, None, None)
        recipe = recipe_of(made.request, of, self._defaults, driver=DRIVER, agents=made.agents)
        labels = {**recipe.labels, OWNER_LABEL: json.dumps(owner_of(one))}
        if request.cpu is None:
            labels.pop("cpu", None)  # the tier's
        return Asked(
            spec,
            Recipe(
                command=recipe.command,
                directory=recipe.directory,
                environment=recipe.environment,
                labels=labels,
            ),
        )

    def _request(self, one: Object) -> RunRequest:
        name = one["metadata"]["name"]
        said = {key: value for key, value in one.get("spec", {}).items() if key != "cancel"}
        text = json.dumps({"name": name[:LONGEST_NAME], **said})
        try:
            (request,) = parse_lines(text, file=f"AgentRun {name}", directory=NO_PLACE)
        except ConfigError as error:
            raise BadRun(" ".join(str(error.mistakes[0]).split())) from None
        problem = check_run(request)
        if problem is not None:
            raise BadRun(problem)
        if request.memory_bytes is None:
            at = place_of(id_of(one))
            tier = tier_of(request.role or "", request.model or "", self._tiers, at=at)
            request = replace(request, memory_bytes=tier.memory_limit_bytes)
        return request


def needs_of(one: Object) -> tuple[str, ...]:
    return tuple(one.get("spec", {}).get("needs", ()))


def owner_of(one: Object) -> Object:
    meta = one["metadata"]
    return {
        "apiVersion": AGENT_RUN.api_version,
        "kind": AGENT_RUN.kind,
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
        "blockOwnerDeletion": False,
    }
