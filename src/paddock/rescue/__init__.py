"""Watch, relieve and kill on a starved machine. Small, quick, and needs no daemon."""
