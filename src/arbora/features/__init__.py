"""Template sets: which words and tags of a tree a linear scorer looks at, one versioned set per file.

The template language is here too. A saved model names its set, so a released set never changes.
"""

from arbora.features._templates import ContextGroup as ContextGroup
from arbora.features._templates import Templates as Templates
from arbora.features._templates import TemplateSet as TemplateSet
from arbora.features._templates import TransitionTemplates as TransitionTemplates
from arbora.features.clusters_v1 import clustered as clustered
from arbora.features.guide_v1 import guided as guided
