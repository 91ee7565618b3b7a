"""Who may do what: Roles and their bindings, as the stand-in holds everybody to them.

A client says who it is by its token, which is its name. One without a token may do everything, but
what a test has denied.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.kit.cluster.objects import (
    BINDING,
    CLUSTER_BINDING,
    CLUSTER_ROLE,
    ROLE,
    Object,
    Refusal,
    Shelves,
)

ACCOUNT = "system:serviceaccount"


@dataclass(frozen=True, slots=True)
class Wish:
    verb: str
    group: str
    resource: str  # with its part, as in pods/log
    namespace: str = ""


class Rights:
    def __init__(self, shelves: Shelves) -> None:
        self._shelves = shelves
        self.denied: set[tuple[str, str]] = set()  # verb, resource: even to who has no token
        self.refused: list[str] = []  # everything that anybody was told no for

    def may(self, user: str, wish: Wish) -> bool:
        if (wish.verb, wish.resource) in self.denied:
            return False
        return not user or any(_allows(rule, wish) for rule in self._rules(user, wish.namespace))

    def check(self, user: str, wish: Wish, name: str) -> None:
        if self.may(user, wish):
            return
        who = user or "me"
        resource = f"{wish.resource.partition('/')[0]}.{wish.group}".rstrip(".")
        where = f'in the namespace "{wish.namespace}"' if wish.namespace else "at the cluster scope"
        text = (
            f'{resource} "{name}" is forbidden: User "{who}" cannot {wish.verb} resource '
            f'"{wish.resource}" in API group "{wish.group}" {where}'
        )
        self.refused.append(text)
        raise Refusal(403, "Forbidden", text)

    def _rules(self, user: str, namespace: str) -> list[Object]:
        bound = [(one, namespace) for one in self._shelves.all(BINDING, namespace)]
        bound += [(one, "") for one in self._shelves.all(CLUSTER_BINDING)]
        found: list[Object] = []
        for binding, space in bound:
            if not any(_is_user(one, user) for one in binding.get("subjects", [])):
                continue
            ref = binding["roleRef"]
            kind = ROLE if ref["kind"] == "Role" else CLUSTER_ROLE
            role = self._shelves.find(kind, ref["name"], space if kind is ROLE else "")
            found += [] if role is None else role.get("rules", [])
        return found


def _is_user(subject: Object, user: str) -> bool:
    if subject["kind"] == "ServiceAccount":
        return user == f"{ACCOUNT}:{subject['namespace']}:{subject['name']}"
    return bool(subject["name"] == user)


def _allows(rule: Object, wish: Wish) -> bool:
    said = (("verbs", wish.verb), ("apiGroups", wish.group), ("resources", wish.resource))
    return all({"*", value} & set(rule.get(key, [])) for key, value in said)


def review(rights: Rights, user: str, body: Object) -> Object:
    """A SelfSubjectAccessReview: the same answer that the deed itself would get."""
    asked = body.get("spec", {}).get("resourceAttributes", {})
    resource = "/".join(filter(None, (asked.get("resource", ""), asked.get("subresource", ""))))
    wish = Wish(asked.get("verb", ""), asked.get("group", ""), resource, asked.get("namespace", ""))
    return {**body, "status": {"allowed": rights.may(user, wish)}}
