"""All targets: importing this room's modules puts them into the table."""

from __future__ import annotations

from . import agents, keeping, kernel, output, store, web, wire, written
from .target import TARGETS

__all__ = ["TARGETS", "agents", "keeping", "kernel", "output", "store", "web", "wire", "written"]
