"""The paddock command, one file a command. Commands are imported only when called."""
