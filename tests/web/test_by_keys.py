"""The dashboard without a mouse: everything can be reached, and nobody gets lost in a question."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.web.conftest import Sight
from tests.web.looking import focused, not_reached, running, tab_to, view_of

LATE_MS = 30_000


@pytest.mark.parametrize(
    "path", ["/", "/agents", "/agents/{run}", "/workspaces", "/benchmarks", "/capacity"]
)
def test_tab_comes_to_all_that_can_be_used(sight: Sight, path: str) -> None:
    text = "for i in $(seq 300); do echo line $i; done; sleep 600"
    run = running(sight, f"at{path.replace('/', '-')[:8]}", text)
    page = sight.open(path.format(run=run))
    if run in page.url:
        expect(page.get_by_role("log")).to_contain_text("line 300", timeout=LATE_MS)
        expect(page.get_by_role("table", name="Story")).to_be_visible(timeout=LATE_MS)
    if path == "/workspaces":
        expect(page.locator(".pd-main")).to_contain_text("in all", timeout=LATE_MS)
    assert not_reached(page) == []
    sight.house.paddock("kill", "--force", run)


def test_an_agent_is_found_by_a_filter_and_opened(sight: Sight) -> None:
    run, top = running(sight, "by-keys", "sleep 600"), sight.web.top
    page = sight.open("/agents")
    expect(page.locator("tbody tr", has_text=run)).to_be_visible(timeout=LATE_MS)
    page.keyboard.press("/")
    page.keyboard.type("by-keys")
    expect(page.locator("tbody tr")).to_have_count(1)
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.getAttribute('href')") == f"{top}/agents/{run}":
            break
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(run))
    expect(page.locator("h1")).to_have_text("by-keys")
    sight.house.paddock("kill", "--force", run)


def test_arrows_lead_from_tab_to_tab(sight: Sight) -> None:
    page = sight.open("/agents")
    page.get_by_role("tab", name="At work").focus()
    for key, chosen in (("ArrowRight", "Waiting"), ("ArrowLeft", "At work"), ("ArrowLeft", "All")):
        page.keyboard.press(key)
        tab = page.get_by_role("tab", name=chosen)
        expect(tab).to_be_focused()
        expect(tab).to_have_attribute("aria-selected", "true")


def test_a_question_keeps_the_focus_until_it_is_answered_and_gives_it_back(sight: Sight) -> None:
    run = running(sight, "asked", "sleep 600")
    page = sight.open(f"/agents/{run}")
    dialog = page.get_by_role("dialog")
    for button, key, ends in (
        *(("Kill", "Tab", "Escape"), ("Kill", "Shift+Tab", "Enter")),
        ("Force", "Tab", "Escape"),
    ):
        tab_to(page, button)
        page.keyboard.press("Enter")
        expect(dialog).to_be_visible()
        passed = [focused(page)]
        for _ in range(4):
            page.keyboard.press(key)
            passed.append(focused(page))
        # What does no harm comes first, and nothing besides the two is ever reached.
        assert passed == ["Leave it", "Kill", "Leave it", "Kill", "Leave it"]
        page.keyboard.press(ends)
        expect(dialog).to_be_hidden()
        assert focused(page) == button
    assert view_of(sight, run).state == "running"
    sight.house.paddock("kill", "--force", run)


def test_an_agent_is_frozen_killed_and_tried_again(sight: Sight) -> None:
    run = running(sight, "by-hand", "sleep 600")
    page = sight.open(f"/agents/{run}")
    chip = page.locator(".pd-title .pd-chip")
    tab_to(page, "Freeze")
    page.keyboard.press("Enter")
    expect(chip).to_have_text("frozen", timeout=LATE_MS)
    # The button says what it does now, and still has the focus.
    assert focused(page) == "Thaw"
    page.keyboard.press("Enter")
    expect(chip).to_have_text("running", timeout=LATE_MS)
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    assert focused(page) == "Kill"
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(chip).to_have_text("cancelled", timeout=LATE_MS)
    assert view_of(sight, run).outcome == "cancelled"
    # Kill is gone with the run; the next key goes on from where it was.
    page.keyboard.press("Tab")
    assert focused(page) == "Retry"
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/agents/(?!" + run + ")"))
    sight.house.paddock("kill", "--force", page.url.rpartition("/")[2])
