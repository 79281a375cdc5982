"""Studies: papers' tables and figures from treebanks on disk, one file per paper.

`arbora reproduce NAME` runs one. To add a study, write its file and register it here.
"""

from arbora.registry import Registry
from arbora.reproduce.crfae import CrfaeStudy
from arbora.reproduce.hypergraph import HypergraphStudy
from arbora.reproduce.logistic import LogisticStudy
from arbora.reproduce.matrix_tree import MatrixTreeStudy
from arbora.reproduce.pegasos import PegasosStudy
from arbora.reproduce.study import Options, Report, Study, Table, Watcher

studies: Registry[Study] = Registry("study")
studies.register(PegasosStudy.name, PegasosStudy)
studies.register(MatrixTreeStudy.name, MatrixTreeStudy)
studies.register(HypergraphStudy.name, HypergraphStudy)
studies.register(LogisticStudy.name, LogisticStudy)
studies.register(CrfaeStudy.name, CrfaeStudy)

__all__ = ["Options", "Report", "Study", "Table", "Watcher", "studies"]
