"""Who has said what of an object: field managers, as server-side apply keeps and uses them.

By leaves: maps are taken apart, lists only where Kubernetes merges them by a key; any other list is
one value. Not here: converting owners between versions, defaults, and the removal of a list's item
that others still have a part in.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

from tests.kit.cluster.objects import Object, Refusal, now_text

Path = tuple[str, ...]
Owner = tuple[str, str]  # manager, operation
# Lists of the built-in kinds that are merged, and by what.
KEYS = {
    "containers": ("name",),
    "initContainers": ("name",),
    "env": ("name",),
    "volumes": ("name",),
    "volumeMounts": ("mountPath",),
    "ports": ("containerPort", "protocol"),
    "imagePullSecrets": ("name",),
    "ownerReferences": ("uid",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
    "conditions": ("type",),
}
IN_METADATA = ("labels", "annotations", "finalizers", "ownerReferences")


def leaves(one: Object) -> dict[Path, Any]:
    """All that somebody can own, by where it is."""
    body = {key: value for key, value in one.items() if key not in ("apiVersion", "kind", "status")}
    meta = one.get("metadata", {})
    body["metadata"] = {key: meta[key] for key in IN_METADATA if meta.get(key)}
    return dict(_leaves(body, ()))


def _leaves(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, dict) and value:
        for key, part in value.items():
            yield from _below(key, part, (*path, f"f:{key}"))
    elif path:
        yield path, value


def _below(key: str, value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if not _is_merged(key, value):
        yield from _leaves(value, path)
        return
    for item in value:
        at = (*path, _key_of(key, item))
        yield (*at, "."), True
        yield from _leaves(item, at)


def _is_merged(key: str, value: Any) -> bool:
    """NetworkPolicies and Services have `ports` too, by other keys: there they are one value."""
    if key not in KEYS or not isinstance(value, list) or not value:
        return False
    return all(isinstance(item, dict) and KEYS[key][0] in item for item in value)


def _key_of(key: str, item: Object) -> str:
    found = {name: item.get(name, "TCP" if name == "protocol" else None) for name in KEYS[key]}
    return "k:" + json.dumps(found, sort_keys=True, separators=(",", ":"))


# -- owners ---------------------------------------------------------------------------------------


def owners(one: Object) -> dict[Owner, set[Path]]:
    return {
        (entry["manager"], entry["operation"]): set(_paths(entry.get("fieldsV1", {}), ()))
        for entry in one.get("metadata", {}).get("managedFields", [])
    }


def _paths(tree: Object, path: Path) -> Iterator[Path]:
    for key, below in tree.items():
        if below:
            yield from _paths(below, (*path, key))
        else:
            yield (*path, key)


def _entries(before: Object | None, owned: dict[Owner, set[Path]], api: str) -> list[Object]:
    """The time is of the last change of what somebody owns."""
    known = {} if before is None else owners(before)
    old = {
        (entry["manager"], entry["operation"]): entry["time"]
        for entry in (before or {}).get("metadata", {}).get("managedFields", [])
    }
    found = []
    for owner, paths in owned.items():
        if not paths:
            continue
        tree: Object = {}
        for path in sorted(paths):
            place = tree
            for part in path:
                place = place.setdefault(part, {})
        at = old[owner] if known.get(owner) == paths and owner in old else now_text()
        manager, operation = owner
        entry = {"manager": manager, "operation": operation, "apiVersion": api, "time": at}
        found.append({**entry, "fieldsType": "FieldsV1", "fieldsV1": tree})
    return found


def updated(before: Object | None, after: Object, manager: str) -> list[Object]:
    """Who owns what after a create, replace or patch: whoever changed it, and nobody else."""
    old, new = {} if before is None else leaves(before), leaves(after)
    owned = {} if before is None else owners(before)
    changed = {path for path, value in new.items() if old.get(path, _NOTHING) != value}
    for owner in owned:
        owned[owner] = (owned[owner] - changed) & set(new)
    mine = (manager, "Update")
    owned[mine] = owned.get(mine, set()) | changed
    return _entries(before, owned, after.get("apiVersion", ""))


_NOTHING = object()


# -- applying -------------------------------------------------------------------------------------


def applied(before: Object | None, wanted: Object, *, manager: str, force: bool) -> Object:
    """What it is after an apply; 409 where others own a part of it that would be otherwise."""
    mine, said = (manager, "Apply"), leaves(wanted)
    if before is None:
        found = copy.deepcopy(wanted)
        found["metadata"]["managedFields"] = _entries(None, {mine: set(said)}, wanted["apiVersion"])
        return found
    current, owned = leaves(before), owners(before)
    clashes = {
        owner: [path for path in said if path in paths and current.get(path) != said[path]]
        for owner, paths in owned.items()
        if owner != mine
    }
    clashes = {owner: paths for owner, paths in clashes.items() if paths}
    if clashes and not force:
        raise _conflict(clashes, before)
    for owner, paths in clashes.items():
        owned[owner] -= set(paths)
    others = {path for owner, paths in owned.items() if owner != mine for path in paths}
    gone = owned.get(mine, set()) - set(said) - others
    found = _merged(_without(before, gone), wanted)
    owned[mine] = set(said)
    found["metadata"]["managedFields"] = _entries(before, owned, wanted["apiVersion"])
    return found


def _conflict(clashes: dict[Owner, list[Path]], before: Object) -> Refusal:
    """In the words of the real one."""
    api = before["apiVersion"]
    causes = tuple(
        {
            "reason": "FieldManagerConflict",
            "message": f'conflict with "{owner[0]}" using {api}',
            "field": shown(path),
        }
        for owner, paths in clashes.items()
        for path in paths
    )
    if len(causes) == 1:
        text = f"Apply failed with 1 conflict: {causes[0]['message']}: {causes[0]['field']}"
        return Refusal(409, "Conflict", text, causes=causes)
    told = []
    for owner, paths in clashes.items():
        told.append(f'conflicts with "{owner[0]}" using {api}:')
        told += [f"- {shown(path)}" for path in paths]
    text = f"Apply failed with {len(causes)} conflicts: " + "\n".join(told)
    return Refusal(409, "Conflict", text, causes=causes)


def shown(path: Path) -> str:
    """`.spec.template.spec.containers[name="agent"].image`."""
    text = ""
    for part in path:
        if part.startswith("f:"):
            text += f".{part[2:]}"
        elif part.startswith("k:"):
            keys = json.loads(part[2:])
            text += (
                "[" + ",".join(f"{key}={json.dumps(value)}" for key, value in keys.items()) + "]"
            )
    return text


def _merged(before: Object, wanted: Object) -> Object:
    found = _joined("", before, {k: v for k, v in wanted.items() if k != "metadata"})
    meta = {key: wanted["metadata"][key] for key in IN_METADATA if key in wanted["metadata"]}
    found["metadata"] = _joined("metadata", before["metadata"], meta)
    result: Object = found
    return result


def _joined(key: str, before: Any, wanted: Any) -> Any:
    if isinstance(before, dict) and isinstance(wanted, dict):
        found = dict(before)
        for name, value in wanted.items():
            found[name] = _joined(name, before.get(name), value)
        return found
    if _is_merged(key, wanted) and _is_merged(key, before):
        known = {_key_of(key, item): item for item in before}
        for item in wanted:
            at = _key_of(key, item)
            known[at] = _joined("", known[at], item) if at in known else copy.deepcopy(item)
        return list(known.values())
    return copy.deepcopy(wanted)


def _without(before: Object, gone: set[Path]) -> Object:
    found = copy.deepcopy(before)
    for path in sorted(gone, key=len, reverse=True):
        _drop(found, path)
    return found


def _drop(one: Any, path: Path) -> None:
    """And what is empty above it, because of it."""
    part, rest = path[0][2:], path[1:]
    if not isinstance(one, dict) or part not in one:
        return
    if not rest:
        del one[part]
    elif rest[0].startswith("k:"):
        items = one[part]
        at = next((i for i in items if _key_of(part, i) == rest[0]), None)
        if at is not None and rest[1:] == (".",):
            items.remove(at)
        elif at is not None and rest[1:]:
            _drop(at, rest[1:])
        if not items:
            del one[part]
    else:
        _drop(one[part], rest)
        if one[part] == {}:
            del one[part]
