"""Where agents work: git worktrees, clones, sizes, clean-up. Never deletes unsaved work."""
