"""The names that paddock's objects carry in a cluster. Others rely on them: they stay."""

from __future__ import annotations

import hashlib
import re
from typing import Final

GROUP: Final = "paddock.dev"
MANAGED: Final = "app.kubernetes.io/managed-by"
INSTANCE: Final = f"{GROUP}/instance"  # which paddock's it is
RUN: Final = f"{GROUP}/run"
ATTEMPT: Final = f"{GROUP}/attempt"
AGENT: Final = f"{GROUP}/agent"  # what the NetworkPolicy of agents selects
ROLE: Final = f"{GROUP}/role"
TIER: Final = f"{GROUP}/tier"  # a digest of the sizes that it was given
ASK: Final = f"{GROUP}/ask"  # annotation: what an agent is asked, for its entry to read
STOP: Final = f"{GROUP}/stop"  # annotation: why paddock ends it
MARK: Final = f"{GROUP}/mark"  # annotation: by which its entry speaks in the log
LIMIT: Final = f"{GROUP}/limit-bytes"
JOB_NAME: Final = "batch.kubernetes.io/job-name"  # Kubernetes' own, on pods of Jobs
CONTAINER: Final = "agent"

_LABEL: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_SAFE: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
LONGEST_PART: Final = 36


def label_of(text: str) -> str:
    """As it is where Kubernetes takes it, else a digest of it."""
    return text if _LABEL.fullmatch(text) else digest(text)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def name_part(text: str) -> str:
    """Part of a name: readable as far as it can be, and never the same for two."""
    low = re.sub(r"[^a-z0-9-]+", "-", text.lower()).strip("-")
    if low == text and len(text) <= LONGEST_PART and _SAFE.fullmatch(text):
        return text
    short = low[: LONGEST_PART - 17].strip("-")
    return f"{short}-{digest(text)}" if short else digest(text)


def job_name(instance: str, run: str, number: int) -> str:
    """The same attempt has the same name: to start it twice is to start it once."""
    return f"pd-{instance[:8]}-{name_part(run)}-{number}"


def volume_name(instance: str, run: str) -> str:
    return f"pd-{instance[:8]}-{name_part(run)}"
