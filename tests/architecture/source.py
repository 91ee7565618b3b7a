"""Reading paddock's own source, for the tests that hold its shape."""

import ast
import io
import tokenize
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).parents[2]
PACKAGE = PROJECT / "src/paddock"


def modules(under: Path = PACKAGE) -> list[Path]:
    return sorted(under.rglob("*.py"))


def short(path: Path) -> str:
    return str(path.relative_to(PROJECT))


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def code_lines(path: Path) -> int:
    """Lines that hold code: without blank lines, comments and docstrings."""
    text = path.read_text(encoding="utf-8")
    quiet = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    held: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        alone = token.type == tokenize.STRING and token.line.lstrip().startswith('"""')
        if token.type not in quiet and not alone:
            held.update(range(token.start[0], token.end[0] + 1))
    return len(held)


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """Line and top-level package of every absolute import, wherever in the file it stands."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name.partition(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.lineno, node.module.partition(".")[0]


def called(path: Path) -> Iterator[tuple[int, str]]:
    """Line and name of every call of a plain name."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.lineno, node.func.id
