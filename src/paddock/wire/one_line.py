"""A text that others wrote as one line that acts on no terminal. Imports nothing: all use it."""

from __future__ import annotations


def safe(text: str) -> str:
    """One line, with anything that a terminal would act upon written out."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else _written_out(sign) for sign in text)


def _written_out(sign: str) -> str:
    return repr(sign)[1:-1] if sign != "\n" else " "
