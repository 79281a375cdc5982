"""The settings of a training, and changes given as text. `arbora.training.resolve` resolves `auto`."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

from arbora.costs import COST, TreeCost
from arbora.data.projectivize import Encoding
from arbora.errors import MOST_SEED, InputError, UnknownNameError
from arbora.interfaces import Learner, Roots, Trees
from arbora.learners.stage import Which
from arbora.neural.settings import NeuralSettings
from arbora.pipeline.lemmatizer import default_settings as lemmatizer_settings
from arbora.pipeline.tagger import TaggerSettings
from arbora.pipeline.train_segmenter import SegmenterSettings
from arbora.pipeline.words import WordSettings
from arbora.registry import learners, losses, scorers, seeded_learner
from arbora.scorers.cube import CubeSettings, Update
from arbora.scorers.linear import Labels, table_bits
from arbora.scorers.transition import TransitionSettings
from arbora.search.pruner import PrunerSettings
from arbora.settings import (
    Settings,
    flat_parameters,
    from_dict,
    load_config,
    merge,
    parameter,
    parameters_of,
    to_dict,
)
from arbora.training.annotation import Projectivize
from arbora.training.recipes import Recipe, ScorerRecipe, Value, recipe_of

WORD_FILES = ("vectors", "text")
"""Settings that name a file with more information about words."""
LATER = (*WORD_FILES, "vector_words", "start", "encoder", "embed_encoder")
"""Settings that a model stores only if they are not the default, as in files of earlier versions."""


@dataclass(frozen=True, kw_only=True)
class TrainConfig(Settings):
    """All settings of a training. The treebank decides `auto` settings; the model stores the decisions."""

    parser: str = parameter(
        "auto",
        "auto, or one of `arbora list parsers`. auto: neural if PyTorch is installed, unless the treebank is "
        "tiny or tags are given without vectors; else graph. graph: exact search with linear scores, order 1 "
        "or 2; cube: any order, labels with heads, by cube pruning: slower and more accurate; transition: "
        "left to right in linear time: the fastest (transition.beam=64: more accurate); exact, or another "
        "package's search: with the scores of any scorer; neural: exact search with the scores of a network, "
        "which predicts tags, too: the most accurate (training needs PyTorch)",
    )
    scorer: str = parameter("linear", "one of `arbora list scorers`")
    scorer_settings: dict[str, Any] = parameter(factory=dict, help="settings of that scorer, by name")
    loss: str = parameter(
        "auto", "one of `arbora list losses`; auto: the learner's own, crf with exact search"
    )
    cost: TreeCost = parameter(COST, "costs of wrong heads and labels")
    trees: Trees | Literal["auto"] = parameter("auto", "whether arcs may cross; auto: as in the treebank")
    roots: Roots | Literal["auto"] = parameter(
        "auto", "whether trees may have several roots; auto: as in the treebank"
    )
    order: Literal[1, 2, 3, "auto"] = parameter(
        "auto",
        "parts that are scored. 1: arcs; 2: siblings and grandparents, too; 3: larger contexts (cube "
        "pruning); auto: 2, or 3 with cube pruning; transition parsers have none",
    )
    grandparents: bool = parameter(True, "from order 2 on: score grandparents, too")
    labels: Labels | Literal["auto"] = parameter(
        "auto",
        "when labels are predicted. staged: on the finished tree; joint: with it; none: not at all; auto: "
        "staged, or joint with cube pruning and transitions",
    )
    features: str = parameter(
        "auto",
        "a template set; auto: graph-v1, cube-v1 or zhang-nivre-v1, by parser; with `stack`, one with "
        "guides; with `vectors` or `text`, one with clusters",
    )
    tree_bits: int | Literal["auto"] = table_bits(
        "auto", "log2 of the number of tree weights; auto: 22, or 24 with cube pruning and transitions"
    )
    label_bits: int = table_bits(22, "log2 of the number of label weights")
    pruner: bool | Literal["auto"] = parameter(
        "auto", "prune arcs first; auto: yes; transition parsers have none"
    )
    pruner_settings: PrunerSettings = parameter(PrunerSettings(rule="auto"), "of the pruner")
    cube: CubeSettings = parameter(factory=CubeSettings, help="of cube pruning")
    update: Update | Literal["auto"] = parameter(
        "auto",
        "with cube pruning: where in a tree weights are updated if search went wrong. standard: at its root; "
        "skip: there, if that helps; s-max: at the largest violation; p-max: at every violation; auto: p-max",
    )
    transition: TransitionSettings = parameter(factory=TransitionSettings, help="of transition parsers")
    neural: NeuralSettings = parameter(factory=NeuralSettings, help="of neural parsers")
    learner: str = parameter(
        "auto",
        "one of `arbora list learners`; auto: passive_aggressive; perceptron for transition parsers, muon "
        "for neural ones",
    )
    parameters: dict[str, Value] = parameter(
        factory=dict, help="parameters of the learner, by name; `arbora info learner NAME` lists them"
    )
    weights: Which = parameter("averaged", "which weights of the learner to use")
    projectivize: Projectivize = parameter(
        "flatten",
        "how crossing arcs of the treebank are changed if trees are projective. pseudo-projective: lifted, "
        "with marks in labels that undo it after parsing; `trees = auto` is projective then",
    )
    encoding: Encoding = parameter("head", "encoding of the marks of pseudo-projective trees")
    decode: Literal["same", "projective", "auto"] = parameter(
        "same",
        "trees when parsing, if training is over first-order non-projective ones; auto: the better on dev",
    )
    stack: str | None = parameter(
        None,
        "a model file whose parser is the guide: its trees become features. The guide must have been trained "
        "on TRAIN, and not on DEV. Parsers like it are trained on folds of TRAIN first, so that the new "
        "parser sees trees of unseen sentences. The new model contains both parsers",
    )
    vectors: str | None = parameter(
        None,
        "a file of word vectors (fastText or word2vec text, .gz, or safetensors), the most frequent words "
        "first. They help with words that TRAIN lacks",
    )
    vector_words: int = parameter(60_000, "words of the vector table, the most frequent first", least=1)
    start: str | None = parameter(
        None,
        "a neural model whose weights training starts from, for neural parsers: to adapt it to a treebank. "
        "Words, labels and tags that it lacks are added",
    )
    encoder: str | None = parameter(
        None,
        "a transformer that reads the words in place of an LSTM, for neural parsers: a folder, or a name on "
        "the Hugging Face hub (extra transformers)",
    )
    embed_encoder: bool = parameter(
        True,
        "fine-tune the encoder and store it in the model; false: leave it as it is, and store only its name",
    )
    text: str | None = parameter(
        None, "a file of raw text (.gz or not), in place of vectors: clusters of words are learned from it"
    )
    patience: int | Literal["auto"] = parameter(
        "auto", "stop if dev has not improved for this many epochs; 0: never; auto: 4, neural 20", least=0
    )
    seed: int = parameter(0, "random seed; the same seed gives the same model", least=0, most=MOST_SEED)
    only: Literal["all", "parser"] = parameter(
        "all",
        "parts to train. parser: only the parser, for input that is tagged; all: also segmenter, tagger and "
        "lemmatizer, as far as the treebank allows",
    )
    tags: Literal["auto", "jackknife", "gold", "none"] = parameter(
        "auto",
        "tags that the parser sees. jackknife: predicted, in training by taggers that were trained on other "
        "folds; gold: those of the treebank; none: a neural parser predicts them with the trees; auto: none "
        "for neural parsers, else jackknife; gold with `only = parser`",
    )
    folds: int = parameter(5, "folds of jackknifing, of tags and of a guide's trees", least=2, most=100)
    segmenter: SegmenterSettings = parameter(factory=SegmenterSettings, help="of the segmenter")
    tagger: TaggerSettings = parameter(factory=TaggerSettings, help="of the tagger")
    lemmatizer: WordSettings = parameter(factory=lemmatizer_settings, help="of the lemmatizer")

    def __post_init__(self) -> None:
        """Check names, and how settings go together."""
        super().__post_init__()
        scorers.factory(self.scorer)
        if self.vectors is not None and self.text is not None:
            raise InputError("text: only without vectors, got both; clusters are made from one of them")
        if self.loss != "auto":
            losses.factory(self.loss)
        self.recipe.check(self)

    def is_changed(self, name: str) -> bool:
        """Whether a setting, named with a dot if it is in a table, differs from its default."""
        first, _, last = name.partition(".")
        default = next(declared.default for declared in parameters_of(TrainConfig) if declared.name == first)
        return bool(attrgetter(name)(self) != (getattr(default, last) if last else default))

    @property
    def kind(self) -> str:
        """The parser; where it is `auto`, the one that the settings need, before the treebank is known."""
        if self.parser != "auto":
            return self.parser
        names = ("neural", "start", "encoder")
        is_neural = any(map(self.is_changed, names)) or self.tags == "none"
        return "neural" if is_neural else "graph"

    @property
    def recipe(self) -> type[Recipe]:
        """How parsers of this kind are trained, and the settings they have."""
        own = recipe_of(self.kind)  # checks the name
        return own if self.scorer == "linear" else ScorerRecipe

    @property
    def tags_seen(self) -> str:
        """The setting `tags`, also where it is `auto`."""
        if self.tags != "auto":
            return self.tags
        if self.only == "parser":
            return "gold"
        return self.recipe.tags if self.stack is None else "jackknife"

    @property
    def learner_name(self) -> str:
        """The learner, also where it is `auto`."""
        if self.learner != "auto":
            return self.learner
        return self.recipe.loss_learners.get(self.loss) or str(self.recipe.defaults["learner"])

    def make_learner(self) -> Learner:
        """The learner, with the parser's defaults for parameters that are not given."""
        recipe = recipe_of(self.kind)
        by_learner = recipe.laplace if self.parameters.get("prior") == "laplace" else recipe.parameters
        parameters = {**by_learner.get(self.learner_name, {}), **self.parameters}
        return seeded_learner(self.learner_name, parameters, self.seed)

    @property
    def word_files(self) -> dict[str, str]:
        """The files given besides the treebank, by the setting that names them."""
        files = {name: getattr(self, name) for name in WORD_FILES}
        return {name: file for name, file in files.items() if file is not None}

    @property
    def learns_from_parts(self) -> bool:
        """Whether some heads of a treebank may be unknown."""
        return self.recipe.learns_from_parts(self)

    @staticmethod
    def elsewhere(name: str) -> str | None:
        """The full name of a learner's parameter: these have their own table."""
        factories: list[Any] = [learners.factory(learner) for learner in learners]
        known = {declared.name for factory in factories for declared in factory.parameters()}
        return f"parameters.{name}" if name in known else None


def make_config(given: TrainConfig | Mapping[str, Any] | str | os.PathLike[str] | None) -> TrainConfig:
    """A configuration from any of the forms that `train` takes; InputError if it is invalid."""
    if given is None or isinstance(given, TrainConfig):
        return given or TrainConfig()
    if isinstance(given, Mapping):
        return from_dict(TrainConfig, given)
    if not isinstance(given, str | os.PathLike):
        raise InputError(
            f"config: expected a TrainConfig, a mapping or a TOML file's name, got {type(given).__name__}"
        )
    try:
        return load_config(given, TrainConfig)
    except OSError as error:
        raise InputError(f"config: {os.fspath(given)}: {error.strerror or error}") from None


def storable(config: TrainConfig) -> dict[str, Any]:
    """The configuration as JSON can hold it; numbers that are not finite, such as `C = inf`, become text.

    Paths of vectors, text, abbreviations, encoders and other models become names: the model contains what it
    needs of them.
    """
    values = to_dict(config)
    files = {name: Path(file).name for name, file in config.word_files.items()}
    if config.encoder is not None and Path(config.encoder).is_dir():
        files["encoder"] = Path(config.encoder).name
    if config.start is not None:
        files["start"] = Path(config.start).name
    others = {name for name in LATER if not config.is_changed(name)}
    values = {name: value for name, value in values.items() if name not in others} | files
    if config.segmenter.abbreviations:
        name = Path(config.segmenter.abbreviations).name
        values["segmenter"] = {**values["segmenter"], "abbreviations": name}
    values["parameters"] = {
        name: str(value) if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in config.parameters.items()
    }
    return values


def override(config: TrainConfig, given: Mapping[str, str], *, option: str = "-p") -> TrainConfig:
    """A copy with other values, e.g. `{"C": "0.1", "order": "1", "pruner_settings.keep": "4"}`.

    A name is a parameter of the learner, or a field of TrainConfig; `seed` is the latter. InputError for
    unknown names and invalid values; `option` is what messages put before NAME=VALUE.
    """
    named = {name.removeprefix("parameters."): text for name, text in given.items()}
    learner = named.get("learner", config.learner)
    if learner != config.learner:  # keep the parameters that both have, such as the number of epochs
        lost = lost_parameters(config, learner)
        kept = {name: value for name, value in config.parameters.items() if name not in lost}
        config = replace(config, learner=learner, parameters=kept)
    factory: Any = learners.factory(config.learner_name)
    parameters = [declared.name for declared in factory.parameters() if declared.name != "seed"]
    fields = {name: text for name, text in named.items() if name not in parameters}
    settings = [name for name in flat_parameters(TrainConfig) if not name.endswith("parameters")]
    known = [*parameters, *settings]
    lasts = {name.rpartition(".")[2] for name in known}
    for name, text in fields.items():
        if name not in known and name not in lasts and not name.startswith("scorer_settings."):
            where = f"{option} {name}={text}: with the learner {config.learner_name}"
            raise UnknownNameError("setting", name, known, where=where)
    config = merge(config, fields, option=option)
    try:
        values = factory.parse({name: text for name, text in named.items() if name in parameters})
    except InputError as error:
        raise InputError(str(error), where=option) from None
    kept = {n: value for n, value in config.parameters.items() if n != "seed" or "seed" not in fields}
    return replace(config, parameters={**kept, **values})


def lost_parameters(config: TrainConfig, name: str) -> list[str]:
    """Parameters of a configuration that another learner does not have."""
    if name in (config.learner, config.learner_name):
        return []
    factory: Any = learners.factory(name)
    known = {declared.name for declared in factory.parameters()}
    return [each for each in config.parameters if each not in known]


def say_lost(config: TrainConfig, name: str) -> str:
    """A message about lost parameters, empty if there are none. The seed is also a setting of its own."""
    lost = [each for each in lost_parameters(config, name) if each != "seed"]
    ignored = f"{name} has no parameter {', '.join(lost)}: the values for {config.learner_name} are ignored"
    return ignored if lost else ""
