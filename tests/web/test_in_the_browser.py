"""The dashboard as people use it: a real daemon, real agents, a real Chromium."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
from contextlib import closing
from pathlib import Path

from playwright.sync_api import expect

from paddock.core.units import format_size
from tests.kit.browser import a_dashboard
from tests.kit.house import PADDOCK
from tests.kit.waiting import until
from tests.web.conftest import Sight
from tests.web.looking import (
    no_scroll_sideways,
    running,
    submitted,
    view_of,
)

SCRIPT = "<script>window.caught = 1</script><img src=x onerror='window.caught = 2'>"
LONG = ("a-very-long-name-" * 4)[:64]
LATE_MS = 30_000


# -- looking --------------------------------------------------------------------------------


def test_a_fleet_is_watched_as_it_runs(sight: Sight) -> None:
    page = sight.open("/")
    run = running(sight, "watched", "echo one; sleep 600")
    expect(page.locator(".pd-tile", has_text="Agents at work")).to_contain_text(
        re.compile(r"[1-9]"), timeout=LATE_MS
    )
    expect(page.locator(".pd-chart svg").first).to_be_visible()
    expect(page.locator(".pd-main")).to_contain_text("emergency 95", timeout=LATE_MS)
    expect(page.locator(".pd-list").last).to_contain_text("watched", timeout=LATE_MS)
    page = sight.open("/agents")
    row = page.locator("tbody tr", has_text=run)
    expect(row).to_contain_text("running", timeout=LATE_MS)
    expect(row).to_contain_text("MiB")
    sight.house.paddock("kill", run)
    expect(page.locator("tbody tr", has_text=run)).to_have_count(0, timeout=LATE_MS)
    page.get_by_role("tab", name="Ended").click()
    expect(page.locator("tbody tr", has_text=run)).to_contain_text("cancelled", timeout=LATE_MS)


def test_what_waits_says_why(sight: Sight) -> None:
    first = running(sight, "before", "sleep 600")
    waits = submitted(sight, "after", "true", needs=("before",))
    page = sight.open("/agents")
    page.get_by_role("tab", name="Waiting").click()
    row = page.locator("tbody tr", has_text=waits)
    expect(row).to_contain_text("before", timeout=LATE_MS)
    sight.house.paddock("kill", first, waits)


def test_a_log_is_followed_and_whatever_is_in_it_stays_text(sight: Sight) -> None:
    flag = sight.house.home / "go-on"
    text = f'echo "{SCRIPT}"; while [ ! -e {flag} ]; do sleep 0.05; done; echo last words'
    run = running(sight, "writer", text)
    page = sight.open(f"/agents/{run}")
    lines = page.locator(".pd-lines")
    expect(lines).to_contain_text("<script>window.caught = 1</script>", timeout=LATE_MS)
    expect(lines).to_contain_text("<img src=x onerror=")
    assert "last words" not in lines.inner_text()
    flag.touch()
    expect(lines).to_contain_text("last words", timeout=LATE_MS)
    expect(page.locator(".pd-title .pd-chip")).to_have_text("succeeded", timeout=LATE_MS)
    assert page.evaluate("window.caught") is None
    assert page.locator(".pd-lines script, .pd-lines img").count() == 0
    page.get_by_label("Find in the log").fill("last")
    expect(page.locator(".pd-lines > div:visible")).to_have_count(1)


def test_a_group_that_is_markup_stays_text_too(sight: Sight) -> None:
    run = running(sight, "odd", "sleep 600", group=f"{SCRIPT}/x/`${{1}}`")
    page = sight.open(f"/agents/{run}")
    expect(page.locator(".pd-facts.across")).to_contain_text("<script>", timeout=LATE_MS)
    sight.open("/agents")
    expect(page.locator("tbody tr", has_text=run)).to_be_visible(timeout=LATE_MS)
    assert page.evaluate("window.caught") is None
    sight.house.paddock("kill", run)


def test_a_black_box_and_the_story_are_read(sight: Sight) -> None:
    run = submitted(sight, "broken", "echo on my way; exit 3")
    sight.house.ended([run])
    page = sight.open(f"/agents/{run}")
    expect(page.locator(".pd-title .pd-chip")).to_have_text("failed", timeout=LATE_MS)
    expect(page.locator(".pd-sentence")).to_contain_text("exit code 3")
    box = page.locator(".pd-card", has=page.locator("h2", has_text="Black box"))
    expect(box).to_contain_text("64 MiB", timeout=LATE_MS)
    story = page.get_by_role("table", name="Story")
    expect(story).to_contain_text("running", timeout=LATE_MS)
    expect(story).to_contain_text("ended")


# -- acting ---------------------------------------------------------------------------------


def test_an_agent_is_killed_after_a_question(sight: Sight) -> None:
    run = running(sight, "doomed", "sleep 600")
    page = sight.open(f"/agents/{run}")
    dialog = page.get_by_role("dialog")
    page.get_by_role("button", name="Kill", exact=True).click()
    expect(dialog).to_contain_text("Kill doomed?")
    page.get_by_role("button", name="Leave it").click()
    expect(dialog).to_be_hidden()
    assert view_of(sight, run).state == "running"
    page.get_by_role("button", name="Kill", exact=True).click()
    # The question stays, though the run behind it changes.
    sight.house.paddock("priority", run, "low")
    expect(page.locator(".pd-select select")).to_have_value("low", timeout=LATE_MS)
    dialog.get_by_role("button", name="Kill").click()
    expect(page.locator(".pd-title .pd-chip")).to_have_text("cancelled", timeout=LATE_MS)
    assert view_of(sight, run).outcome == "cancelled"


def test_a_question_about_one_that_ended_meanwhile_is_taken_back(sight: Sight) -> None:
    run = running(sight, "too-late", "sleep 600")
    page = sight.open(f"/agents/{run}")
    page.get_by_role("button", name="Kill", exact=True).click()
    expect(page.get_by_role("dialog")).to_be_visible()
    sight.house.paddock("kill", "--force", run)
    expect(page.get_by_role("dialog")).to_be_hidden(timeout=LATE_MS)
    expect(page.get_by_role("button", name="Retry")).to_be_visible()


def test_an_agent_is_frozen_thawed_made_urgent_forced_and_tried_again(sight: Sight) -> None:
    run = running(sight, "worker", "sleep 600")
    page = sight.open(f"/agents/{run}")
    page.get_by_role("button", name="Freeze").click()
    expect(page.locator(".pd-title .pd-chip")).to_have_text("frozen", timeout=LATE_MS)
    page.get_by_role("button", name="Thaw").click()
    expect(page.locator(".pd-title .pd-chip")).to_have_text("running", timeout=LATE_MS)
    page.get_by_label("Priority").select_option("high")
    until(lambda: view_of(sight, run).priority == "high", within_s=30)
    page.get_by_role("button", name="Force").click()
    page.get_by_role("dialog").get_by_role("button", name="Kill").click()
    page.get_by_role("button", name="Retry").click(timeout=LATE_MS)
    page.wait_for_url(re.compile(r"/agents/(?!" + run + ")"))
    again = page.url.rpartition("/")[2]
    assert view_of(sight, again).name == "worker"
    sight.house.paddock("kill", "--force", again)


# -- the other pages ------------------------------------------------------------------------


def test_workspaces_are_listed(sight: Sight) -> None:
    repository = sight.house.home / "shop"
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@t"]
    subprocess.run([*git, "init", "-q", str(repository)], check=True)
    commit = [*git, "-C", str(repository), "commit", "-q", "--allow-empty", "-m", "first"]
    subprocess.run(commit, check=True)
    done = sight.house.paddock("run", "--repo", repository, "--name", "fix", "--", "touch", "new")
    assert done.returncode == 0, done.stderr
    page = sight.open("/workspaces")
    table = page.get_by_role("table", name="Workspaces")
    expect(table).to_contain_text("1 file not committed", timeout=LATE_MS)
    expect(table).to_contain_text("shop")


def test_a_benchmark_report_is_shown_and_can_do_nothing(sight: Sight) -> None:
    directory = sight.house.home / ".paddock/logs/benchmarks"
    directory.mkdir(parents=True, exist_ok=True)
    figure = {"name": "peak", "unit": "MiB", "samples": [1, 2, 3]}
    report = {"kind": "baseline", "made_at": 1e9, "paddock": "0", "machine": {}}
    report |= {"figures": [figure], "verdicts": ["it holds"]}
    (directory / "one.json").write_text(json.dumps(report), encoding="utf-8")
    (directory / "one.html").write_text(
        "<h1>whole</h1><script>document.querySelector('h1').textContent = 'ran'</script>",
        encoding="utf-8",
    )
    (directory / "bad.json").write_text("{", encoding="utf-8")
    page = sight.open("/benchmarks")
    expect(page.locator(".pd-main")).to_contain_text("it holds", timeout=LATE_MS)
    expect(page.locator(".pd-main")).to_contain_text("no report that can be read")
    page.get_by_role("link", name="one").click()
    expect(page.get_by_role("table", name="Figures")).to_contain_text("peak", timeout=LATE_MS)
    expect(page.frame_locator("iframe").locator("h1")).to_have_text("whole")


def test_what_if_answers_when_a_slider_is_moved_by_a_key(sight: Sight) -> None:
    page = sight.open("/capacity")
    tile = page.locator(".pd-tile", has_text="Safe at once").locator(".pd-figure")
    expect(tile).not_to_have_text("–", timeout=60_000)
    with sight.house.client() as client:
        host = client.status().host
    assert host is not None
    here = format_size(host.total_bytes >> 20 << 20)
    expect(page.locator(".pd-slider").first).to_contain_text(f"This host, with {here} of memory")
    page.get_by_role("slider", name="Memory of the host").focus()
    page.keyboard.press("End")
    expect(page.locator(".pd-slider").first).to_contain_text("Host with 2 TiB")
    expect(tile).to_have_text(re.compile(r"^\d{3}"), timeout=60_000)
    done = page.locator(".pd-tile", has_text="All done after").locator(".pd-figure")
    expect(done).not_to_have_text("–", timeout=60_000)


def test_a_page_that_is_not_there_leads_home(sight: Sight) -> None:
    page = sight.page
    answer = page.goto(f"{sight.web.address}/no/such/page")
    assert answer and answer.status == 404
    expect(page.locator("h1")).to_have_text("There is no such page")
    page.get_by_role("link", name="Go to the overview").click()
    expect(page.locator("h1")).to_have_text("Overview", timeout=LATE_MS)


def test_one_that_died_before_anybody_looked_has_its_last_minute_and_no_empty_chart(
    sight: Sight, tmp_path: Path
) -> None:
    run = running(sight, "died-early", "sleep 600")
    with sight.house.client() as client:
        until(lambda: bool(client.run(run).memory_bytes), within_s=60)
        client.kill([run], force=True)
        until(lambda: client.run(run).state == "ended", within_s=60)
        until(lambda: bool((client.why(run).black_box or {}).get("memory")), within_s=60)
    # Another dashboard, which was not there.
    with (
        a_dashboard(sight.house.env, tmp_path) as web,
        closing(web.let_in(sight.browser)[0]) as context,
    ):
        page = context.new_page()
        page.goto(f"{web.address}/agents/{run}")
        expect(page.locator(".pd-main")).to_contain_text("Its last minute: ", timeout=LATE_MS)
        expect(page.locator(".pd-chart")).to_be_hidden()
        expect(page.get_by_role("log")).to_have_text("There is no output.", timeout=LATE_MS)


def test_what_happened_before_the_dashboard_was_there_is_listed_too(
    sight: Sight, tmp_path: Path
) -> None:
    run = submitted(sight, "before-you-came", "true")
    sight.house.ended([run])
    with (
        a_dashboard(sight.house.env, tmp_path) as web,
        closing(web.let_in(sight.browser)[0]) as context,
    ):
        page = context.new_page()
        page.goto(f"{web.address}/")
        news = page.locator(".pd-card", has=page.get_by_role("heading", name="Just now"))
        expect(news.locator(".pd-line", has_text="before-you-came").first).to_contain_text(
            "succeeded", timeout=LATE_MS
        )


# -- looks ----------------------------------------------------------------------------------


def test_dark_and_light_are_kept(sight: Sight) -> None:
    page = sight.open("/")

    def background() -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    before = background()
    page.get_by_role("button", name="Light or dark").click()
    until(lambda: background() != before, within_s=30)
    after = background()
    page.reload()
    page.wait_for_selector(".pd-main h1")
    until(lambda: background() == after, within_s=30)
    page.get_by_role("button", name="Light or dark").click()
    until(lambda: background() == before, within_s=30)


def test_a_phone_scrolls_no_page_sideways(sight: Sight) -> None:
    run = running(sight, LONG, f"echo {LONG * 5}; sleep 600", group=LONG)
    page = sight.page
    page.set_viewport_size({"width": 390, "height": 844})
    for path in ("/", "/agents", f"/agents/{run}", "/workspaces", "/benchmarks", "/capacity"):
        sight.open(path)
        if path.startswith("/agents"):
            expect(page.locator(".pd-main")).to_contain_text(LONG, timeout=LATE_MS)
        assert no_scroll_sideways(page), path
    page.set_viewport_size({"width": 1360, "height": 900})
    sight.house.paddock("kill", "--force", run)


def test_nothing_was_fetched_from_elsewhere(sight: Sight) -> None:
    sight.open("/")
    assert sight.asked
    elsewhere = [url for url in sight.asked if not url.startswith((sight.web.address, "data:"))]
    assert elsewhere == []


def test_in_a_terminal_enter_prints_another_link_and_ctrl_c_ends_it(sight: Sight) -> None:
    ours, theirs = pty.openpty()
    web = subprocess.Popen(
        [*PADDOCK, "web", "--port", "0"],
        env=sight.house.env,
        cwd=sight.house.home,
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert web.stdout and web.stderr
    try:
        links = [web.stdout.readline()]
        assert "It works once" in web.stdout.readline()
        os.write(ours, b"\n")
        links.append(web.stdout.readline())
        shape = r"Open http://127\.0\.0\.1:\d+/[\w-]{22}/\?token=[\w-]{43}$"
        assert all(re.match(shape, link) for link in links)
        assert links[0] != links[1]
        web.send_signal(signal.SIGINT)
        rest, wrong = web.communicate(timeout=30)
        assert web.returncode == 130
        assert "Traceback" not in rest + wrong
    finally:
        if web.poll() is None:
            web.kill()
            web.communicate()
        os.close(ours)
        os.close(theirs)


# Last: it stops the daemon that all the others use.
def test_a_daemon_that_is_gone_is_said_and_comes_back_by_itself(sight: Sight) -> None:
    run = running(sight, "steadfast", "sleep 600")
    page = sight.open("/agents")
    expect(page.locator("tbody tr", has_text=run)).to_be_visible(timeout=LATE_MS)
    sight.house.paddock("daemon", "stop")
    expect(page.get_by_role("alert")).to_contain_text("daemon has been gone", timeout=LATE_MS)
    sight.house.start()
    expect(page.get_by_role("alert")).to_be_hidden(timeout=LATE_MS)
    expect(page.locator("tbody tr", has_text=run)).to_contain_text("running", timeout=LATE_MS)
    sight.house.paddock("kill", "--force", run)
