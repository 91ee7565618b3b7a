"""HTTP over a Unix socket, server-sent events, metrics. Only translates; decides nothing."""
