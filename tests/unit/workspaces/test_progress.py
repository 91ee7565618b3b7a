"""What `git --progress` says, as numbers."""

from paddock.workspaces.progress import Progress, listener, parse


def test_lines_of_both_sides_are_understood() -> None:
    assert parse(b"Receiving objects:  45% (450/1000), 1 MiB | 2 MiB/s") == Progress(
        "Receiving objects", 450, 1000
    )
    assert parse(b"remote: Counting objects: 100% (3/3), done.") == Progress(
        "Counting objects", 3, 3
    )


def test_anything_else_is_no_progress() -> None:
    for line in (
        b"",
        b"Cloning into 'x'...",
        b"fatal: 50% (1/2)",
        b"Receiving objects: 5",
        b"\xff",
    ):
        assert parse(line) is None


def test_pieces_are_put_together_and_nothing_is_told_twice() -> None:
    told: list[Progress] = []
    hear = listener(told.append)
    for piece in (b"Resolving del", b"tas:  50% (1/2)\rResolving deltas:  50% (1/2)\r", b"Res"):
        hear(piece)
    hear(b"olving deltas: 100% (2/2), done.\n")
    assert [(one.phase, one.percent) for one in told] == [
        ("Resolving deltas", 50),
        ("Resolving deltas", 100),
    ]


def test_a_line_without_end_takes_no_memory() -> None:
    hear = listener(lambda _: None)
    for _ in range(100):
        hear(b"x" * 100_000)
    kept = [cell.cell_contents for cell in hear.__closure__ or ()]
    assert [len(one) for one in kept if isinstance(one, bytes)] == [4096]
