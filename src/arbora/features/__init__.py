"""Template sets: which words and tags of a tree a linear scorer looks at, one versioned set per file.

The template language is here too. A saved model names its set, so a released set never changes.
"""

from arbora.features._templates import ContextGroup, TemplateSet
from arbora.features._transitions import TransitionTemplates
from arbora.features.cube_v1 import CUBE_V1
from arbora.features.graph_v1 import GRAPH_V1
from arbora.features.guide_v1 import guided, guided_transitions
from arbora.features.nivre_v1 import NIVRE_V1
from arbora.features.pruner_v1 import PRUNER_V1
from arbora.features.zhang_nivre_v1 import ZHANG_NIVRE_V1

GUIDED_GRAPH_V1, GUIDED_CUBE_V1 = guided(GRAPH_V1), guided(CUBE_V1)
GUIDED_ZHANG_NIVRE_V1, GUIDED_NIVRE_V1 = guided_transitions(ZHANG_NIVRE_V1), guided_transitions(NIVRE_V1)

__all__ = [
    "CUBE_V1",
    "GRAPH_V1",
    "GUIDED_CUBE_V1",
    "GUIDED_GRAPH_V1",
    "GUIDED_NIVRE_V1",
    "GUIDED_ZHANG_NIVRE_V1",
    "NIVRE_V1",
    "PRUNER_V1",
    "ZHANG_NIVRE_V1",
    "ContextGroup",
    "TemplateSet",
    "TransitionTemplates",
    "guided",
    "guided_transitions",
]
