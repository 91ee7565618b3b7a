"""YAML with positions: what is read, and the one clear line for what cannot be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from paddock.config.located import Items, Scalar, Table, load_file, load_text
from paddock.config.mistakes import ConfigError


def complaint(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load_text(text, file="f.yaml")
    assert len(caught.value.mistakes) == 1
    return str(caught.value)


def scalar(text: str) -> object:
    value = load_text(f"x: {text}", file="f.yaml").entries["x"]
    assert isinstance(value, Scalar)
    return value.value


def test_every_key_and_value_knows_its_line_and_column() -> None:
    table = load_text("a: 1\nb:\n  - x\n  - {c: y}\n", file="f.yaml")
    assert (table.places["b"].line, table.places["b"].column) == (2, 1)
    items = table.entries["b"]
    assert isinstance(items, Items)
    last = items.values[1]
    assert isinstance(last, Table)
    assert str(last.places["c"]) == "f.yaml:4"
    assert last.entries["c"].at.column == 9


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("-5", -5),
        ("0", 0),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("true", True),
        ("null", None),
        ("", None),
        ("'5'", "5"),
        ("!!str 5", "5"),
        ("no", "no"),
        ("on", "on"),
        ("0755", "0755"),
        ("0x1f", "0x1f"),
        ("1_000", "1_000"),
        ("1:30", "1:30"),
        ("2026-11-15", "2026-11-15"),
        ("9" * 5000, "9" * 5000),
    ],
)
def test_scalars_are_what_yaml_1_2_says_without_its_surprises(text: str, value: object) -> None:
    found = scalar(text)
    assert found == value
    assert type(found) is type(value)


def test_an_empty_file_or_one_of_comments_is_an_empty_table() -> None:
    assert load_text("", file="f").entries == {}
    assert load_text("# nothing yet\n\n", file="f").entries == {}
    assert load_text("---\n", file="f").entries == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\n\tb: 2\n", "f.yaml:2: found a tab; allowed: spaces"),
        ("a:\n\t- b\n", "f.yaml:2: found a tab; allowed: spaces"),
        ("a: [1, 2\nb: 3\n", "f.yaml:2: found what is no YAML"),
        ("- 1\n- 2\n", "f.yaml:1: found a list of 2; allowed: a table of keys and values"),
        ("just text", "f.yaml:1: found 'just text'; allowed: a table"),
        ("5", "f.yaml:1: found 5; allowed: a table"),
        ("a: 1\nb: 2\na: 3\n", "f.yaml:3: a: found the same key twice (first in line 1)"),
        ("a: 1\n---\nb: 2\n", "f.yaml:2: found a second document"),
        ("a: !!python/object:os.system x", "found the tag 'tag:yaml.org,2002:python/object:os"),
        ("a: !!python/tuple [x]", "found the tag"),
        ("a: !mine {b: 1}", "f.yaml:1: found the tag '!mine'"),
        ("a: *b", "f.yaml:1: found *b; allowed: an anchor that stands, complete, further up"),
        ("a: &a [*a]", "f.yaml:1: found *a; allowed: an anchor"),
        ("? [1, 2]\n: 3\n", "f.yaml:1: found a list of 2 as a key"),
        ("a: 1\nb: x\x01y\n", "f.yaml:2: found what is no YAML text"),
        ('a: "\\ud800"', "f.yaml:1: found"),
        ("a: <<\n<<: 5", "f.yaml:2: found <<: without a table"),
        ("[" * 5000, "f.yaml:1: found more than 64 levels"),
        ("{a: " * 5000, "f.yaml:1: found more than 64 levels"),
        (f"a: &a [{'x,' * 1000}]\nb: [{'*a,' * 600}]", "f.yaml:2: found more than 500,000 values"),
    ],
)
def test_what_cannot_be_read_is_one_line_with_its_place(text: str, said: str) -> None:
    assert said in complaint(text)


def test_an_alias_bomb_is_refused_before_it_grows() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    assert "aliases expanded" in complaint("\n".join(lines))


def test_anchors_and_merge_keys_are_read_and_own_keys_win() -> None:
    text = "base: &base {memory: 2G, cpu: 1}\nrun: {<<: *base, cpu: 2}\nboth: {<<: [*base]}\n"
    run = load_text(text, file="f").entries["run"]
    assert isinstance(run, Table)
    found = {key: value.text for key, value in run.entries.items() if isinstance(value, Scalar)}
    assert found == {"memory": "2G", "cpu": "2"}


def test_two_doubled_keys_are_both_reported() -> None:
    with pytest.raises(ConfigError) as caught:
        load_text("a: 1\na: 2\nb: 1\nb: 2\n", file="f")
    assert [mistake.at.line for mistake in caught.value.mistakes] == [2, 4]


def test_files_that_are_no_text_are_refused_in_words(tmp_path: Path) -> None:
    def complaint_of(path: Path) -> str:
        with pytest.raises(ConfigError) as caught:
            load_file(path)
        return str(caught.value)

    file = tmp_path / "f.yaml"
    file.write_bytes(b"a: 1\nb: \xff\xfe\n")
    assert (
        complaint_of(file) == f"{file}:2: found byte 0xff, which is no UTF-8; allowed: UTF-8 text"
    )
    file.write_bytes(b"#" * (1024 * 1024 + 1))
    assert "found more than 1 MiB" in complaint_of(file)
    assert "no readable file" in complaint_of(tmp_path / "none.yaml")
    assert "no readable file" in complaint_of(tmp_path)
    assert "no readable file" in complaint_of(Path("a\0b"))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert "something that is no file" in complaint_of(pipe)


def test_a_byte_order_mark_is_no_part_of_the_first_key(tmp_path: Path) -> None:
    file = tmp_path / "f.yaml"
    file.write_bytes(b"\xef\xbb\xbfqueue: {depth: 5}\n")
    assert list(load_file(file).entries) == ["queue"]


def test_a_file_name_cannot_write_to_the_terminal() -> None:
    with pytest.raises(ConfigError) as caught:
        load_text("5", file="\x1b[31mred\n")
    assert "\x1b" not in str(caught.value)
    assert "\n" not in str(caught.value)
