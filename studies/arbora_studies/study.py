"""What every study has in common: its names, and the order of its work."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

from arbora.errors import InputError, unknown
from arbora.progress import Observer
from arbora.web.plots import require_matplotlib
from arbora_studies.report import Findings, Report, write_report
from arbora_studies.runner import Options, Runner
from arbora_studies.treebanks import LANGUAGES, SYNTHETIC


class Study(ABC):
    """A paper's tables and figures, from treebanks on disk.

    A study says which treebanks and learners it has, and computes its findings cell by cell.
    """

    name: ClassVar[str]
    paper: ClassVar[str]
    """The key of the paper in docs/references.bib."""
    title: ClassVar[str]
    """Of the page."""
    treebanks: ClassVar[Sequence[str]]
    """Names of languages."""
    learners: ClassVar[Mapping[str, str]]
    """Names to choose from, each with a short description."""
    usual: ClassVar[Sequence[str]] = ()
    """The learners that run by default. Empty: all."""
    has_figure: ClassVar[bool] = False

    @property
    def languages(self) -> Mapping[str, str]:
        """The languages to choose from, with their treebanks."""
        return {name: LANGUAGES[name].treebank for name in (*self.treebanks, SYNTHETIC)}

    def run(self, options: Options, observer: Observer) -> Report:
        """Compute the cells that are missing, and write everything to the output folder."""
        if self.has_figure:
            require_matplotlib()
        default = (SYNTHETIC,) if options.quick else self.treebanks
        names = choose("language", options.languages, list(self.languages), default)
        learners = choose("learner", options.learners, list(self.learners), self.usual or [*self.learners])
        runner = Runner(self.name, options, observer)
        return write_report(self.title, self.compute(runner, names, learners), runner)

    @abstractmethod
    def compute(self, runner: Runner, names: Sequence[str], learners: Sequence[str]) -> Findings:
        """Compute the findings for some languages and learners."""


def choose(kind: str, given: Sequence[str], known: Sequence[str], default: Sequence[str]) -> tuple[str, ...]:
    """Return the given names without repetition, or the default; InputError for an unknown name."""
    for name in given:
        if name not in known:
            raise InputError(unknown(kind, name, list(known)))
    return tuple(dict.fromkeys(given)) or tuple(default)
