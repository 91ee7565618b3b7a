"""How each provider's requests are read and its answers are written.

Each module has `read`, `whole` (one JSON value), `stream` (server-sent events), `opening` (how a
stream begins) and `problem` (what an error looks like).
"""
