"""Schemas: of the kinds that are built in, and of those that somebody defines."""

from __future__ import annotations

from typing import Any

import jsonschema

from tests.kit.cluster.amounts import invalid
from tests.kit.cluster.objects import Kind, Object, Refusal


def check_schema(kind: Kind, wanted: Object) -> None:
    """An apply names no field that the kind does not have, and what it has as what it is."""
    import kubernetes_validate

    plain = {**wanted, "metadata": {**wanted["metadata"]}}
    try:
        kubernetes_validate.validate(plain, "1.36", strict=True)
    except kubernetes_validate.SchemaNotFoundError:
        return
    except kubernetes_validate.ValidationError as error:
        path = "".join(f".{part}" for part in error.path)
        text = f"failed to create typed patch object ({wanted['metadata']['name']}; "
        raise Refusal(
            500, "", f"{text}{kind.api_version}, Kind={kind.kind}): {path}: {error.message}"
        ) from None


def pruned(schema: Object, value: Any) -> Any:
    """Structural schemas keep only what they name."""
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return value
    if isinstance(value, dict):
        known, more = schema.get("properties"), schema.get("additionalProperties")
        if known is None and isinstance(more, dict):
            return {name: pruned(more, each) for name, each in value.items()}
        if known is None:
            return value
        return {name: pruned(known[name], each) for name, each in value.items() if name in known}
    if isinstance(value, list):
        return [pruned(schema.get("items", {}), each) for each in value]
    return value


def defaulted(schema: Object, value: Any) -> Any:
    if isinstance(value, dict):
        for name, each in schema.get("properties", {}).items():
            if name not in value and "default" in each:
                value[name] = each["default"]
            if name in value:
                defaulted(each, value[name])
    return value


def check_custom(kind: Kind, schema: Object, wanted: Object) -> Object:
    """Pruned and filled in; 422 with the path of what is wrong."""
    kept = {name: wanted[name] for name in ("apiVersion", "kind", "metadata") if name in wanted}
    body = {name: value for name, value in wanted.items() if name not in kept}
    body = defaulted(schema, pruned(schema, body))
    rules = {**schema, "properties": {**schema.get("properties", {})}}
    for error in jsonschema.Draft202012Validator(_plain(rules)).iter_errors(body):
        path = ".".join(map(str, error.absolute_path))
        raise invalid(kind, wanted["metadata"].get("name", ""), f"{path}: {error.message}")
    whole: Object = kept | body
    return whole


def _plain(schema: Any) -> Any:
    """Without what only Kubernetes knows."""
    if isinstance(schema, list):
        return [_plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: _plain(each) for name, each in schema.items() if not name.startswith("x-")}
    if schema.get("nullable") and "type" in found:
        found["type"] = [found["type"], "null"]
    found.pop("format", None)
    return found
