"""What is known of pinned packages: from pip-audit's answer, and from a directory of advisories."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

NOTHING, SOMETHING, NOT_ALL = 0, 1, 3


def main(words: list[str]) -> int:
    index, directory, *locks = words
    pins = {pin for lock in locks for pin in pins_in(Path(lock).read_text(encoding="utf-8"))}
    by_index, found = from_index(Path(index))
    say(f"audit: the index told of {len(by_index & pins)} of {len(pins)} pinned packages")
    looked_up = by_index & pins
    if directory:
        here = set()
        for name, version in sorted(pins):
            here.add((name, version))
            found += from_directory(Path(directory), name, version)
        looked_up |= here
        known = len(list(Path(directory).iterdir()))
        say(f"audit: {len(here)} were looked up in advisories about {known} packages")
    for line in sorted(set(found)):
        say(line)
    left = pins - looked_up
    say(f"audit: {len(found)} known vulnerabilities; {len(left)} packages were looked up nowhere")
    return SOMETHING if found else NOT_ALL if left else NOTHING


def pins_in(text: str) -> Iterator[tuple[str, str]]:
    for name, version in re.findall(r"^([\w.-]+)==([^\s;\\]+)", text, re.MULTILINE):
        yield canonicalize_name(name), version


def from_index(answer: Path) -> tuple[set[tuple[str, str]], list[str]]:
    """Whom it told of, and what it knows. A package that it passed over was not looked up."""
    try:
        said = json.loads(answer.read_text(encoding="utf-8"))["dependencies"]
    except (OSError, ValueError, KeyError):
        return set(), []
    told = [one for one in said if "skip_reason" not in one]
    found = [
        f"{one['name']} {one['version']}: {each['id']}" for one in told for each in one["vulns"]
    ]
    return {(canonicalize_name(one["name"]), one["version"]) for one in told}, found


def from_directory(directory: Path, name: str, version: str) -> list[str]:
    found = []
    for file in sorted((directory / name).glob("*.yaml")):
        advisory = yaml.safe_load(file.read_text(encoding="utf-8"))
        if not advisory.get("withdrawn") and any(
            affects(each, Version(version)) for each in advisory.get("affected", ())
        ):
            found.append(f"{name} {version}: {advisory['id']}")
    return found


def affects(affected: dict[str, Any], version: Version) -> bool:
    if str(version) in affected.get("versions", ()):
        return True
    ranges = (one for one in affected.get("ranges", ()) if one["type"] == "ECOSYSTEM")
    return any(is_within(one["events"], version) for one in ranges)


def is_within(events: Iterable[dict[str, str]], version: Version) -> bool:
    """Each is a line that is crossed: into what is affected, or out of it."""
    inside = False
    for event in events:
        for word, text in event.items():
            at = version_in(text)
            if at is not None and version >= at and not (word == "last_affected" and version == at):
                inside = word == "introduced"
    return inside


def version_in(text: str) -> Version | None:
    try:
        return Version(str(text))
    except InvalidVersion:
        return None


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
