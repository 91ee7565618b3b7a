"""What setup can change, as data: each with what was there before, so that it can be taken back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Final

MARKER: Final = "# off by `paddock host setup`: "
ADDED: Final = "# added by `paddock host setup`:"


@dataclass(frozen=True, slots=True)
class Owner:
    uid: int
    gid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteFile:
    """A file of our own: it is there with this text, and with no other."""

    kind: ClassVar = "file"
    path: str
    text: str
    mode: int = 0o644
    old: str | None = None

    @property
    def says(self) -> str:
        return f"write {self.path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EditLines:
    """A file of somebody else's, such as fstab: lines become comments, others come at its end."""

    kind: ClassVar = "lines"
    path: str
    off: tuple[str, ...] = ()
    add: tuple[str, ...] = ()

    @property
    def says(self) -> str:
        parts = [f"comment out {line!r}" for line in self.off]
        parts += [f"add {line!r}" for line in self.add]
        return f"{self.path}: {', '.join(parts)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mask:
    """A unit that systemd may not start: a link to /dev/null, as `systemctl mask` makes it."""

    kind: ClassVar = "mask"
    path: str

    @property
    def says(self) -> str:
        return f"mask the unit {self.path.rpartition('/')[2]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveAway:
    """A unit file in /etc, which a mask could not cover."""

    kind: ClassVar = "away"
    path: str
    to: str

    @property
    def says(self) -> str:
        return f"move {self.path} to {self.to}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SetParameter:
    kind: ClassVar = "parameter"
    name: str  # as sysctl(8) writes it
    value: int
    old: int

    @property
    def says(self) -> str:
        return f"set {self.name} from {self.old} to {self.value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeDirectory:
    kind: ClassVar = "directory"
    path: str
    owner: Owner
    mode: int

    @property
    def says(self) -> str:
        return f"make {self.path}, mode {self.mode:o}, owned by {self.owner.uid}:{self.owner.gid}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Own:
    """A directory that is there, and somebody else's."""

    kind: ClassVar = "owner"
    path: str
    owner: Owner
    old: Owner

    @property
    def says(self) -> str:
        return (
            f"give {self.path} to {self.owner.uid}:{self.owner.gid} "
            f"(now {self.old.uid}:{self.old.gid})"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SwapOff:
    kind: ClassVar = "swap"
    device: str
    priority: int

    @property
    def says(self) -> str:
        return f"swapoff {self.device}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeCgroup:
    """With the files that whoever owns a cgroup must be able to write."""

    kind: ClassVar = "cgroup"
    path: str
    owner: Owner
    controllers: tuple[str, ...] = ()  # v2: that those below it may have walls for

    @property
    def says(self) -> str:
        down = f", {', '.join(self.controllers)} handed down" if self.controllers else ""
        return f"make the cgroup {self.path}, owned by {self.owner.uid}:{self.owner.gid}{down}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HandDown:
    """v2: what cgroups below this one may have walls for."""

    kind: ClassVar = "controllers"
    path: str
    controllers: tuple[str, ...]

    @property
    def says(self) -> str:
        return f"hand {', '.join(self.controllers)} down in {self.path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MountTmpfs:
    kind: ClassVar = "tmpfs"
    path: str
    options: str

    @property
    def says(self) -> str:
        return f"mount a tmpfs at {self.path} ({self.options})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Linger:
    kind: ClassVar = "linger"
    user: str

    @property
    def says(self) -> str:
        return f"loginctl enable-linger {self.user}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EnableUnit:
    kind: ClassVar = "unit"
    unit: str

    @property
    def says(self) -> str:
        return f"systemctl enable {self.unit}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reload:
    """Units were changed: systemd reads them again, now and when they are taken back.

    One record for all: `about` is the same, so that it is taken back once.
    """

    kind: ClassVar = "reload"
    about: str = "units"

    @property
    def says(self) -> str:
        return "systemctl daemon-reload"


Change = (
    WriteFile
    | EditLines
    | Mask
    | MoveAway
    | SetParameter
    | MakeDirectory
    | Own
    | SwapOff
    | MakeCgroup
    | HandDown
    | MountTmpfs
    | Linger
    | EnableUnit
    | Reload
)
_KINDS: Final[tuple[type[Change], ...]] = (
    *(WriteFile, EditLines, Mask, MoveAway, SetParameter, MakeDirectory, Own, SwapOff),
    *(MakeCgroup, HandDown, MountTmpfs, Linger, EnableUnit, Reload),
)
BY_KIND: Final[Mapping[str, type[Change]]] = {kind.kind: kind for kind in _KINDS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing that setup sees to. Without changes it is so already, or `stuck` says why not."""

    name: str
    why: str
    now: str
    new: str
    changes: tuple[Change, ...] = ()
    notes: tuple[str, ...] = ()
    stuck: str | None = None


def key_of(change: Change) -> str:
    """The same for two changes of the same thing: the older's `old` is then what was there."""
    what = next(
        str(getattr(change, name))
        for name in ("path", "name", "device", "user", "unit", "about")
        if hasattr(change, name)
    )
    return f"{change.kind} {what}"


def as_json(change: Change) -> dict[str, Any]:
    found: dict[str, Any] = {"kind": change.kind}
    for each in fields(change):
        value = getattr(change, each.name)
        found[each.name] = [value.uid, value.gid] if isinstance(value, Owner) else value
    return found


def from_json(said: Mapping[str, Any]) -> Change:
    """ValueError: it was not written by this program, or by a later one."""
    try:
        kind = BY_KIND[said["kind"]]
        given = {name: _value(name, value) for name, value in said.items() if name != "kind"}
        return kind(**given)
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a change that this paddock knows: {dict(said)!r}") from error


def _value(name: str, value: Any) -> Any:
    if name == "owner" or (name == "old" and isinstance(value, list)):
        return Owner(*value)
    return tuple(value) if isinstance(value, list) else value
