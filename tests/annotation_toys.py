"""A small project on disk, and short ways to edit it."""

from functools import lru_cache
from itertools import count

from serving_toys import parser

from arbora.annotation import api
from arbora.annotation.assistant import Assistant
from arbora.annotation.draft import Draft
from arbora.annotation.project import Project
from arbora.data.columns import parse_sentence
from arbora.pipeline.pipeline import Pipeline
from arbora.web.limits import Limits

ROWS = "She PRON 2 nsubj|reads VERB 0 root|old ADJ 4 amod|books NOUN 2 obj"
LIMITS = Limits(seconds=60.0)
NUMBERS = count(1)
OPEN = []


def conllu(rows=ROWS, *, trees=True, comments=()):
    """A sentence from `form upos head label` by word."""
    lines = list(comments)
    for number, row in enumerate(rows.split("|"), start=1):
        form, upos, head, label = row.split()
        arc = (head, label) if trees else ("_", "_")
        lines.append("\t".join((str(number), form, "_", upos, "_", "_", *arc, "_", "_")))
    return "\n".join(lines) + "\n\n"


def draft(rows=ROWS, **options):
    return Draft.of(parse_sentence(conllu(rows, **options)))


@lru_cache
def assistant(**shape):
    return Assistant(Pipeline(parser=parser(**shape)), "toy", "given", next(NUMBERS))


def make_project(folder, text, model=True):
    """A project on a file with this text; `model`: with a toy parser."""
    folder.mkdir(exist_ok=True)
    file = folder / "toy.conllu"
    if text is not None:
        file.write_bytes(text.encode())
    project = Project(file, folder / "toy.annotation")
    OPEN.append(project)
    if model:
        project.adopt(assistant())
    return project


def close_all():
    while OPEN:
        OPEN.pop().close()


def edit(project, number, change, *, reparse=True):
    """Make an edit of the present version of a sentence."""
    version = project.summaries[number - 1].version
    return project.edit(api.EditRequest(number, version, change, reparse))
