"""Annotating treebanks with a parser's help: what to ask a human next, what was decided, what may be wrong.

A project is a CoNLL-U file with a journal; its sentences are edited here, and a parser learns from them.
Everything here works on sentences, parsers and files; pages and servers are in `web`, verbs in `cli`.
"""
