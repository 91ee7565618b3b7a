"""The page on the agent's side names every variable that paddock sets, and no other."""

import ast
import re

from tests.architecture.source import PACKAGE, PROJECT, modules, tree

PAGE = PROJECT / "docs/reference/agent-protocol.md"
NAME = re.compile(r"PADDOCK_[A-Z_]*[A-Z]")
# Who sets variables for agents; `stream` for the steps of one, `tool` for commands of one.
ROOMS = ("drivers", "supervisor", "workspaces", "stream", "tool")
# Of a command that is run after the end (commands.md), and of paddock's own store.
NOT_FOR_AGENTS = {"PADDOCK_OUTCOME", "PADDOCK_EXIT_CODE", "PADDOCK_BECAUSE", "PADDOCK_REPOSITORY"}


def named_in_code(room: str) -> set[str]:
    found = set()
    for path in modules(PACKAGE / room):
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= {node.value} if NAME.fullmatch(node.value) else set()
    return found


def test_every_variable_that_paddock_sets_is_on_the_page_and_no_other() -> None:
    code = set().union(*map(named_in_code, ROOMS)) - NOT_FOR_AGENTS
    page = set(NAME.findall(PAGE.read_text(encoding="utf-8")))
    assert page == code


def test_the_helper_for_python_knows_only_what_paddock_sets() -> None:
    assert named_in_code("agent") <= set().union(*map(named_in_code, ROOMS))
