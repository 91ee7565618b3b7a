"""Rehearsal: the real agent programs against a stand-in for their model. No tokens, no network.

`stage` puts on an attempt (a network of its own, a clean environment, the stand-in beside the
program); `stand_in` answers as a model provider would; `script` says what the model asks for. What
runs inside an attempt uses the standard library alone, so that it weighs little beside the program.
"""
