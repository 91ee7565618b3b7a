"""What is known of tools that start workers: how they are told how many, and what one takes."""

from __future__ import annotations

from typing import Final, NamedTuple

from .counts import BUILD_BYTES, CARGO_BYTES, GO_BYTES, MIB, NODE_BYTES, PYTEST_BYTES

CPUS: Final = "cpus"
ONE: Final = "one"
C_BYTES: Final = 300 * MIB  # cc1plus on a C++ file with templates; plain C is less
JVM_BYTES: Final = (
    700 * MIB
)  # a heap of 512 MiB, which is Gradle's and Surefire's default, and the rest
BROWSER_BYTES: Final = 500 * MIB  # one Chromium with a page


class Kind(NamedTuple):
    """`flags` name a count in the command line; `variables` in the environment, plainly or as flags
    (`MAKEFLAGS=-j8`). `alone` are flags that mean one worker."""

    names: tuple[str, ...]
    flags: tuple[str, ...]
    advice: str  # with {} for the number
    each_bytes: int
    default: str = ONE
    variables: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()


KINDS: Final = (
    Kind(
        ("pytest", "py.test"),
        ("-n", "--numprocesses"),
        "-n {}",
        PYTEST_BYTES,
        variables=("PYTEST_ADDOPTS",),
    ),
    Kind(("cargo",), ("-j", "--jobs"), "-j {}", CARGO_BYTES, CPUS, ("CARGO_BUILD_JOBS",)),
    Kind(("make", "gmake"), ("-j", "--jobs"), "-j{}", C_BYTES, ONE, ("MAKEFLAGS",)),
    Kind(("ninja", "ninja-build", "samu"), ("-j",), "-j {}", C_BYTES, CPUS),
    Kind(
        ("cmake",),
        ("-j", "--parallel"),
        "--parallel {}",
        C_BYTES,
        ONE,
        ("CMAKE_BUILD_PARALLEL_LEVEL",),
    ),
    Kind(("ctest",), ("-j", "--parallel"), "-j {}", C_BYTES, ONE, ("CTEST_PARALLEL_LEVEL",)),
    Kind(("meson",), ("-j", "--jobs", "--num-processes"), "-j {}", C_BYTES, CPUS),
    Kind(("bazel", "bazelisk"), ("--jobs",), "--jobs={}", C_BYTES, CPUS),
    Kind(("go",), ("-p",), "-p {}", GO_BYTES, CPUS, ("GOFLAGS", "GOMAXPROCS")),
    Kind(
        ("jest",),
        ("-w", "--maxWorkers", "--max-workers"),
        "--maxWorkers={}",
        NODE_BYTES,
        CPUS,
        alone=("-i", "--runInBand"),
    ),
    Kind(
        ("vitest",),
        ("--maxWorkers", "--max-workers"),
        "--maxWorkers={}",
        NODE_BYTES,
        CPUS,
        ("VITEST_MAX_WORKERS", "VITEST_MAX_FORKS", "VITEST_MAX_THREADS"),
        alone=("--no-file-parallelism",),
    ),
    Kind(("playwright",), ("-j", "--workers"), "--workers={}", BROWSER_BYTES, CPUS),
    Kind(("turbo",), ("--concurrency",), "--concurrency={}", NODE_BYTES, CPUS),
    Kind(("eslint",), ("--concurrency",), "--concurrency={}", NODE_BYTES),
    Kind(("gradle", "gradlew"), ("--max-workers",), "--max-workers={}", JVM_BYTES, CPUS),
    Kind(("mvn", "mvnw"), ("-T", "--threads"), "-T {}", JVM_BYTES),
    Kind(("uv",), (), "UV_CONCURRENT_BUILDS={}", BUILD_BYTES, CPUS, ("UV_CONCURRENT_BUILDS",)),
    Kind(("xargs",), ("-P", "--max-procs"), "-P {}", C_BYTES),
    Kind(("parallel",), ("-j", "--jobs"), "-j {}", C_BYTES, CPUS),
    Kind(("tox",), ("-p", "--parallel"), "-p {}", PYTEST_BYTES),
)
BY_NAME: Final = {name: kind for kind in KINDS for name in kind.names}
EVERY_CORE: Final = ("auto", "logical")
STARTS_OTHERS: Final = ("uv",)  # `uv run pytest -n 6`: the workers are pytest's
