"""Passwords in addresses are never shown."""

import base64

import pytest

from paddock.workspaces.secrets import is_address, parted, without_secrets


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://user:token@host/x.git", "https://host/x.git"),
        ("fatal: failed for 'https://t0k@host/x/'", "fatal: failed for 'https://host/x/'"),
        ("https://user:p@ss:w@host:8443/x", "https://host:8443/x"),
        ("ssh://git@host/x and HTTP://a:b@c/d", "ssh://host/x and HTTP://c/d"),
        ("https://host/x?private_token=abc&a=b", "https://host/x?private_token=…&a=b"),
        ("git@host:team/x.git", "git@host:team/x.git"),
        ("/home/me/a@b", "/home/me/a@b"),
        ("https://host/people@work", "https://host/people@work"),
    ],
)
def test_what_is_shown_has_no_password(text: str, shown: str) -> None:
    assert without_secrets(text) == shown


def test_a_password_goes_to_git_as_a_header_for_that_host_only() -> None:
    address = parted("https://me:p%40ss@host:8443/team/x.git")
    assert address.url == "https://host:8443/team/x.git"
    (key, value) = next(iter(address.headers.items()))
    assert key == "http.https://host:8443/.extraHeader"
    assert base64.b64decode(value.rpartition(" ")[2]) == b"me:p@ss"
    assert "p@ss" not in repr(address)
    assert value not in repr(address)


@pytest.mark.parametrize("text", ["https://host/x", "git@host:x.git", "ssh://me@host/x", "/a/b"])
def test_an_address_without_a_password_stays_as_it_is(text: str) -> None:
    assert parted(text).url == text
    assert parted(text).headers == {}


@pytest.mark.parametrize(
    ("text", "afar"),
    [
        ("https://host/x", True),
        ("git@host:x.git", True),
        ("file:///a/b", True),
        ("/a/b", False),
        ("a/b:c", False),
        ("./a:b", False),
        (".", False),
    ],
)
def test_addresses_are_told_from_paths(text: str, *, afar: bool) -> None:
    assert is_address(text) is afar
