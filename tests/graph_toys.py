"""Tiny treebanks and settings for tests of graph parsers: all that trains on them takes milliseconds."""

from functools import lru_cache
from itertools import product

from arbora.data.columns import parse_text
from arbora.data.encode import Names
from arbora.data.synthetic import generate
from arbora.registry import features
from arbora.scorers import GraphSettings, LinearScorer
from arbora.search.pruner import PrunerSettings
from arbora.training import TrainConfig

BITS = 12


@lru_cache
def treebank(sentences=40, seed=1, nonprojective=0.0, longest=12):
    """Columns of a synthetic treebank; trees cross in that share of sentences."""
    given = generate(sentences, seed=seed, nonprojective=nonprojective, longest=longest)
    return parse_text("".join(sentence.to_conllu() for sentence in given), "conllu")


def settings(**options):
    return GraphSettings(**{"tree_bits": BITS, "label_bits": BITS, **options})


SHAPES = [
    {"trees": trees, "roots": roots, **order}
    for trees, roots, order in product(
        ("projective", "nonprojective"),
        ("single", "multi"),
        ({"order": 1}, {"order": 2, "grandparents": False}, {"order": 2, "grandparents": True}),
    )
]


def name_of(shape):
    order = shape["order"] + shape.get("grandparents", False)
    return f"{shape['trees']}-{shape['roots']}-{order}"


def scorer(columns, **options):
    """A scorer with the labels of a treebank, and the treebank as it sees it; the guide, if any, is right."""
    shape = settings(**options)
    names = Names.of(columns)
    encoded = names.encode(columns)
    seen = encoded.seen_labels(len(names.labels))
    templates = features.create(shape.features)
    if templates.needs_guide:
        encoded.set_guide(columns.heads, names.label_numbers(columns), names.labels)
    made = LinearScorer(shape, templates, labels=len(names.labels), seen=seen)
    return made, encoded


def config(*, epochs=3, **options):
    """A training of little size; `epochs` of the learner for trees."""
    parameters = {"epochs": epochs, **options.pop("parameters", {})}
    if options.get("parser") != "transition":
        options.setdefault("pruner_settings", PrunerSettings(bits=10, keep=4))
    sizes = {"tree_bits": BITS, "label_bits": BITS, "only": "parser"}
    return TrainConfig(**{**sizes, **options}, parameters=parameters)


def check_probabilities(parser, sentences):
    """Those that come from a list of trees change no tree, and agree with each other."""
    plain = parser.parse(sentences)
    parsed = parser.parse(sentences, probabilities=True)
    assert [p.heads for p in parsed] == [s.heads for s in plain]
    assert [p.deprels for p in parsed] == [s.deprels for s in plain]
    for each in parsed:
        assert 0.0 < each.probability <= min(each.head_probabilities) + 1e-12
        assert all(share <= 1.0 for share in each.head_probabilities)
        assert all(0.0 <= share <= 1.0 for share in each.label_probabilities)
        assert each.entropy >= 0.0
    assert parser.is_calibrated
