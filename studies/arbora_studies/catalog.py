"""The studies by name."""

from arbora.registry import Registry
from arbora_studies.crfae import CrfaeStudy
from arbora_studies.hypergraph import HypergraphStudy
from arbora_studies.logistic import LogisticStudy
from arbora_studies.matrix_tree import MatrixTreeStudy
from arbora_studies.pegasos import PegasosStudy
from arbora_studies.study import Study

studies: Registry[Study] = Registry("study")
for study in (PegasosStudy, MatrixTreeStudy, HypergraphStudy, LogisticStudy, CrfaeStudy):
    studies.register(study.name, study)

__all__ = ["studies"]
