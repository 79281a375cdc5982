"""The command line: one file per verb, named in `verbs.py` and imported when it is called.

Other files here hold what verbs share: options, inputs and outputs, tables and progress bars.
"""
