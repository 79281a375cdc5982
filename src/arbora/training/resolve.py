"""Resolves `auto` settings from the treebank and the other settings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from arbora.data.columns import Columns
from arbora.errors import InputError
from arbora.features.clusters_v1 import SUFFIX as CLUSTER_SUFFIX
from arbora.features.guide_v1 import SUFFIX as GUIDE_SUFFIX
from arbora.neural.settings import SIZES, sizes_of
from arbora.training.annotation import crossing_arcs
from arbora.training.config import TrainConfig
from arbora.training.neural import load_start

ROOTS_SHARE = 0.005
"""With `roots="auto"`: above this share of sentences with several roots, trees may have several."""

NEURAL_WORDS, NEURAL_WORDS_WITH_TAGS = 5_000, 50_000
"""With `parser="auto"`: networks are trained on treebanks of this size or larger."""
LINEAR_SETTINGS = (
    *("order", "grandparents", "labels", "features", "tree_bits", "label_bits", "pruner", "pruner_settings"),
    *("cube", "update", "transition", "learner", "scorer", "stack", "text"),
)
"""Settings that, if they are given, make `parser="auto"` a linear parser."""
SHARED_PARAMETERS = {"epochs", "seed"}
"""Parameters of learners that do not."""


def choose_parser(config: TrainConfig, columns: Columns) -> tuple[TrainConfig, str]:
    """The configuration with a parser in place of `auto`, and a note on why; empty if there was no choice."""
    if config.start is not None:
        return like_start(config, config.start), ""
    if config.parser != "auto":
        return config, ""
    if config.kind == "neural":
        return replace(config, parser=config.kind), ""
    linear = [name for name in LINEAR_SETTINGS if config.is_changed(name)]
    if linear := [*linear, *sorted(config.parameters.keys() - SHARED_PARAMETERS)]:
        why = f"parser: graph, since {linear[0]} is given; --parser neural, cube and others can be named"
        return replace(config, parser=config.kind), why
    reads_tags = config.only == "parser" or config.tags != "auto"
    least = NEURAL_WORDS_WITH_TAGS if reads_tags else NEURAL_WORDS
    if columns.words < least:
        given = " with given tags" if reads_tags else ""
        why = f"graph: {columns.words:,} words{given} are few for a network"
    elif reads_tags and config.vectors is None:
        why = "graph: with given tags, a network is better only with word vectors"
    elif find_spec("torch") is None:
        why = "graph: a network would be more accurate; pip install 'arbora-nlp[neural]'"
    else:
        why = f"neural: {columns.words:,} words, and PyTorch is installed; `--parser graph` trains faster"
    return replace(config, parser=why.partition(":")[0]), f"parser: {why}"


def like_start(config: TrainConfig, start: str) -> TrainConfig:
    """The configuration with the decisions of the model `start`; InputError if it is of another kind."""
    search = load_start(start).search
    found: Any = {"parser": "neural", "tags": "gold" if search.scorer.given else "none"}
    found |= {name: getattr(search, name) for name in ("trees", "roots", "order")}
    found = {name: value for name, value in found.items() if getattr(config, name) == "auto"}
    sizes = sizes_of(search.scorer.tensors)
    named = {(own["layers"], own["units"]): size for size, own in SIZES.items()}
    sizes["size"] = named.get((sizes.get("layers", 0), sizes.get("units", 0)), config.neural.size)
    return replace(config, **found, neural=replace(config.neural, **sizes))


def resolve(config: TrainConfig, columns: Columns) -> TrainConfig:
    """The configuration with everything that is `auto` decided."""
    shape = TreebankShape(columns)
    pick = {name: value for name, value in config.recipe.defaults.items() if getattr(config, name) == "auto"}
    pick |= {"patience": config.recipe.patience} if config.patience == "auto" else {}
    pick |= {"tags": config.tags_seen, "trees": config.recipe.trees(config)}
    if pick["trees"] == "auto":
        may_cross = (
            shape.crossing_share > config.recipe.crossing_share(config)
            and config.projectivize != "pseudo-projective"
        )
        pick["trees"] = "nonprojective" if may_cross else "projective"
        if may_cross:
            pick["projectivize"] = TrainConfig.projectivize  # not needed then
    if config.roots == "auto":
        pick["roots"] = "multi" if shape.several_roots > ROOTS_SHARE * len(columns) else "single"
    pick |= {"parser": config.kind, "features": _features(config), "learner": config.learner_name}
    by_size = config.recipe.parameters_for(config, columns).get(config.learner_name, {})
    config = replace(config, parameters={**by_size, **config.parameters})
    decided = replace(config, **pick, parameters=config.make_learner().settings())
    return replace(decided, **config.recipe.resolve(decided))


def _features(config: TrainConfig) -> str:
    """The template set, with clusters and guides if there are some; InputError if it needs others."""
    name = str(config.recipe.defaults["features"]) if config.features == "auto" else config.features
    known = config.recipe.template_sets
    given = known.create(name)
    has_clusters = bool(config.word_files) and config.recipe.is_linear
    if given.needs_guide and config.stack is None:
        raise InputError(
            f"features: {name} reads the trees of another parser, got none; name it with stack "
            f"(--stack MODEL), or choose {name.removesuffix(GUIDE_SUFFIX)}"
        )
    if given.needs_clusters and not has_clusters:
        raise InputError(
            f"features: {name} reads word clusters, got none; name a file of vectors (--vectors "
            f"FILE) or text (--text FILE), or choose {name.replace(CLUSTER_SUFFIX, '')}"
        )
    name = name.removesuffix(GUIDE_SUFFIX)
    name += CLUSTER_SUFFIX if has_clusters and not given.needs_clusters else ""
    name += GUIDE_SUFFIX if config.stack is not None else ""
    if name not in known:
        option = "stack" if config.stack is not None else " or ".join(config.word_files)
        fits = (s for s in map(known.create, known) if s.needs_guide == (config.stack is not None))
        sets = ", ".join(each.name for each in fits if each.needs_clusters == has_clusters)
        raise InputError(f"features: with {option}, expected one of {sets}, got {config.features}")
    return name


class TreebankShape:
    """The counts of a treebank that decide settings that are `auto`."""

    def __init__(self, columns: Columns) -> None:
        crossing = crossing_arcs(columns)
        sentence = np.repeat(np.arange(len(columns)), np.diff(columns.offsets))
        known = int(np.count_nonzero(columns.heads >= 0))
        self.sentences = len(columns)
        self.crossing_trees = len(np.unique(sentence[crossing]))
        self.crossing_share = np.count_nonzero(crossing) / max(1, known)
        self.several_roots = int(np.count_nonzero(np.bincount(sentence[columns.heads == 0]) > 1))

    def decisions(self, given: TrainConfig, chosen: TrainConfig) -> Iterator[str]:
        """A line for each setting that the treebank decided."""
        if given.trees == "auto":
            share = f"{100 * self.crossing_share:.2g}% of arcs"
            what = chosen.trees if chosen.projectivize != "pseudo-projective" else chosen.projectivize
            yield f"trees: {self.crossing_trees:,} of {self.sentences:,} have crossing arcs ({share}): {what}"
        if given.roots == "auto":
            yield f"roots: {self.several_roots:,} of {self.sentences:,} trees have several: {chosen.roots}"
