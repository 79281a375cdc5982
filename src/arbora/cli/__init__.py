"""The command line: one file per verb, wired in main.py."""
