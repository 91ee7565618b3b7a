"""The keeper: parent of every local agent. Knows no paddock but itself; standard library only.

Runs from this directory alone (`python -I -S -E <here> DIRECTORY`), so that it outlives an upgrade
of the package on disk. What it imports is counted: plain classes instead of dataclasses save 1.1 MB
and no `typing` 1.8 MB, of an interpreter of 8.5 MB.
"""
