"""Every setting and every key of a fleet file is documented, and reading them stays cheap."""

import re
import subprocess
import sys

from paddock.config.settings import SETTINGS
from paddock.wire.run_fields import RUN_KINDS
from tests.architecture.source import PROJECT


def test_every_setting_is_documented() -> None:
    page = (PROJECT / "docs/reference/config.md").read_text(encoding="utf-8")
    for setting in SETTINGS:
        section = page.partition(f"## `{setting.section}`")[2].partition("\n## ")[0]
        row = re.search(rf"^\| `{setting.name}` \|.*$", section, re.MULTILINE)
        assert row, setting.key
        assert setting.kind.allowed in row[0], setting.key
        assert setting.about in row[0], setting.key


def test_every_key_of_a_fleet_file_is_documented() -> None:
    page = (PROJECT / "docs/reference/fleet-file.md").read_text(encoding="utf-8")
    assert [key for key in [*RUN_KINDS, "every"] if f"| `{key}` |" not in page] == []


def test_reading_configuration_imports_nothing_heavy_and_no_yaml_without_a_file() -> None:
    code = (
        "import sys; from paddock.config.layers import settings_of; settings_of({}); "
        "heavy = ('pydantic', 'yaml', 'msgspec', 'rich', 'asyncio', 'paddock.core.run'); "
        "print([m for m in heavy if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
