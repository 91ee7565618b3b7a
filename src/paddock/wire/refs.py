"""What is said of a run that is not there, by whoever notices it first."""

from __future__ import annotations


def no_such_run(ref: str) -> str:
    return f"there is no run {ref!r}; `paddock ls --all` lists those there are"
