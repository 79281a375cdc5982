"""Annotating treebanks with a parser's help: the next question, decisions, and possible errors.

A project is a CoNLL-U file with a journal; its sentences are edited here, and a parser learns from them.
Everything here works on sentences, parsers and files; pages and servers are in `web`, verbs in `cli`.
"""
