"""What is otherwise in an object: by paths, without what the server keeps for itself."""

from __future__ import annotations

from paddock.cluster.client import Refused
from paddock.manifests.applying import shortened, why
from paddock.manifests.differences import differences


def test_single_values_are_shown_and_others_named() -> None:
    before = {"spec": {"hard": {"pods": "30"}, "list": [1], "text": "x" * 99}, "status": {"a": 1}}
    after = {"spec": {"hard": {"pods": "40", "new": "1"}, "list": [2], "text": "y"}, "status": {}}
    assert list(differences(before, after)) == [
        "spec.hard.pods 30 → 40",
        "spec.hard.new - → 1",
        "spec.list",
        "spec.text",
    ]


def test_versions_and_managers_are_no_difference() -> None:
    before = {"metadata": {"name": "a", "resourceVersion": "1", "managedFields": []}}
    after = {"metadata": {"name": "a", "resourceVersion": "2", "managedFields": [{}]}}
    assert list(differences(before, after)) == []


def test_many_are_counted() -> None:
    assert shortened(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"


def test_conflicts_of_field_managers_are_one_line() -> None:
    one = 'Apply failed with 1 conflict: conflict with "kubectl-edit" using v1: .spec.hard.pods'
    assert why(Refused(409, "Conflict", one)) == (
        ".spec.hard.pods was set by kubectl-edit: --force takes it over"
    )
    many = (
        'Apply failed with 2 conflicts: conflicts with "helm" using apps/v1:\n- .spec.replicas\n'
        '- .spec.template.spec.containers[name="controller"].image'
    )
    assert why(Refused(409, "Conflict", many)) == (
        '.spec.replicas, .spec.template.spec.containers[name="controller"].image was set by helm: '
        "--force takes it over"
    )
