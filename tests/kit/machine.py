"""A machine made of files, for tests that read one."""

from pathlib import Path

V1_UNLIMITED = 9223372036854771712


class Machine:
    """Writes /proc and cgroup files below a directory that stands for `/`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._mounts: list[str] = []
        self._cgroups: list[str] = []

    def write(self, path: str, text: str) -> None:
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def meminfo(self, *, total_kb: int, available_kb: int) -> None:
        self.write(
            "/proc/meminfo",
            f"MemTotal:       {total_kb} kB\nMemFree:  1 kB\nMemAvailable:   {available_kb} kB\n"
            "HugePages_Total:       0\n",
        )

    def v2(self, own: str, *, mounted_from: str = "/", at: str = "/sys/fs/cgroup") -> None:
        self._cgroups.append(f"0::{own}")
        self._mounts.append(f"30 23 0:26 {mounted_from} {at} rw,nosuid - cgroup2 cgroup2 rw")
        self._tell()

    def v1(self, own: str, *, mounted_from: str = "/", at: str = "/sys/fs/cgroup/memory") -> None:
        self._cgroups += ["5:cpu,cpuacct:/elsewhere", f"4:memory:{own}"]
        self._mounts.append(f"35 24 0:31 {mounted_from} {at} rw shared:9 - cgroup cgroup rw,memory")
        self._tell()

    def limit_v2(self, directory: str, limit: object, *, anon: int | None = 0) -> None:
        self.write(f"{directory}/memory.max", f"{limit}\n")
        if anon is not None:
            self.write(f"{directory}/memory.stat", f"anon {anon}\nfile 99999999\nshmem 5\n")

    def limit_v1(self, directory: str, limit: object, *, rss: int = 0) -> None:
        self.write(f"{directory}/memory.limit_in_bytes", f"{limit}\n")
        self.write(f"{directory}/memory.stat", f"cache 7777\ntotal_rss {rss}\ntotal_shmem 3\n")

    def _tell(self) -> None:
        self.write("/proc/self/cgroup", "\n".join(self._cgroups) + "\n")
        self.write("/proc/self/mountinfo", "\n".join(self._mounts) + "\n")
