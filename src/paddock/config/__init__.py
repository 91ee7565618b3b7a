"""Reading configuration: files with positions, every setting, layers. Decides nothing."""
