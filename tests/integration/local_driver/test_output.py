"""Output that cannot be kept for a while: nothing is lost, and an end waits for its output."""

from __future__ import annotations

import asyncio

from paddock.core.events import Exited, Started
from tests.kit.keeping import agent
from tests.kit.stable import Stable, in_a_stable


@in_a_stable
async def test_a_file_that_cannot_be_written_is_tried_again_and_the_end_waits(
    stable: Stable,
) -> None:
    hindrance = stable.state / "output" / "a" / "1.log"
    hindrance.mkdir(parents=True)
    attempt = stable.start(*agent("last_words", 1000, 3))
    await stable.until(lambda: stable.driver.trouble is not None)
    assert "1.log" in str(stable.driver.trouble)
    await stable.until(lambda: bool(stable.of(Started, attempt)))
    await asyncio.sleep(0.3)  # time in which it must not be said to have ended
    assert not stable.of(Exited, attempt)
    hindrance.rmdir()
    assert (await stable.hear(Exited, attempt)).exit.code == 3
    assert stable.written(attempt) == b"x" * 1000
    assert stable.driver.trouble is None


@in_a_stable
async def test_output_is_read_as_one_stream_over_the_attempts_of_a_run(stable: Stable) -> None:
    for number in (1, 2):
        attempt = stable.start("echo", f"attempt {number}", number=number)
        await stable.hear(Exited, attempt)
    assert stable.output.read("a") == b"attempt 1\nattempt 2\n"
    assert stable.output.runs() == ["a"]
    silent = stable.start("true", run="silent")
    await stable.hear(Exited, silent)
    assert stable.output.size("silent") == 0


@in_a_stable
async def test_files_and_directories_are_closed_to_others(stable: Stable) -> None:
    attempt = stable.start("sh", "-c", "umask 0; echo x")
    await stable.hear(Exited, attempt)
    run = stable.state / "output" / "a"
    modes = {path.name: path.stat().st_mode & 0o777 for path in (run, run / "1.log")}
    assert modes == {"a": 0o700, "1.log": 0o600}
    assert (stable.state / "instance").stat().st_mode & 0o777 == 0o600
    assert (stable.state / "keeper" / "attempts").stat().st_mode & 0o777 == 0o700


@in_a_stable
async def test_a_link_in_the_place_of_the_file_is_not_followed(stable: Stable) -> None:
    victim = stable.directory / "victim"
    victim.write_text("precious", encoding="utf-8")
    link = stable.state / "output" / "a" / "1.log"
    link.parent.mkdir()
    link.symlink_to(victim)
    attempt = stable.start("echo", "x")
    await stable.until(lambda: stable.driver.trouble is not None)
    assert victim.read_text(encoding="utf-8") == "precious"
    link.unlink()
    await stable.hear(Exited, attempt)
    assert stable.written(attempt) == b"x\n"
