import numpy as np
import pytest
from errors import rejects
from inference.helpers import ONE_ARRAY_QUERIES, each_family, identical, make_scores, unaligned

from arbora import inference
from arbora.errors import InputError

QUERIES = ONE_ARRAY_QUERIES | {
    "log_prob": lambda s, **o: inference.log_prob(s, np.array([-1, 0, 1, 1, 3]), **o),
    "wrong_heads": lambda s, **o: inference.expected_wrong_heads(s, [-1, 0, 1, 1, 3], **o),
    "kl_divergence": lambda s, **o: inference.kl_divergence(s, s, **o),
}
each_query = pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES.keys())


def with_value(value):
    scores = np.zeros((5, 5))
    scores[2, 3] = value
    return scores


BAD_SCORES = {
    "not square": np.zeros((5, 4)),
    "no root": np.zeros((0, 0)),
    "a vector": np.zeros(5),
    "a number": np.float64(3.0),
    "four axes": np.zeros((5, 5, 2, 2)),
    "no labels": np.zeros((5, 5, 0)),
    "labelled but not square": np.zeros((5, 4, 3)),
    "NaN": with_value(np.nan),
    "plus infinity": with_value(np.inf),
    "complex": np.zeros((5, 5), dtype=complex),
    "text": np.full((5, 5), "a"),
    "objects": np.full((5, 5), None),
    "dates": np.zeros((5, 5), dtype="datetime64[s]"),
    "nothing": None,
    "a string": "scores",
    "a dictionary": {"scores": np.zeros((5, 5))},
    "a batch of numbers": [1.0, 2.0],
    "a batch with nothing": [np.zeros((5, 5)), None],
    "NaN among labels": np.full((5, 5, 2), np.nan),
}


@each_query
@pytest.mark.parametrize("scores", BAD_SCORES.values(), ids=BAD_SCORES.keys())
def test_bad_scores_are_rejected(query, scores):
    with pytest.raises(InputError) as caught:
        query(scores)
    assert len(str(caught.value)) > 20


def test_errors_name_the_argument():
    with rejects(InputError, field="scores"):
        inference.argmax(with_value(np.nan))
    with rejects(InputError, field="scores"):
        inference.argmax(np.zeros((5, 4)))
    with rejects(InputError, field="trees"):
        inference.argmax(np.zeros((5, 5)), trees="planar")
    with rejects(InputError, field="roots"):
        inference.argmax(np.zeros((5, 5)), roots="two")


@each_query
@pytest.mark.parametrize(
    "options",
    [
        {"trees": "Projective"},
        {"trees": None},
        {"trees": 1},
        {"roots": "both"},
        {"roots": True},
        {"roots": ["single"]},
        {"threads": 0},
        {"threads": 2**31},
        {"threads": None},
    ],
)
def test_bad_options_are_rejected(query, options):
    with rejects(InputError, field=next(iter(options))):
        query(np.zeros((5, 5)), **options)


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("k", [0, 2**40, 2**80])
def test_impossible_numbers_of_samples_are_rejected(k, replacement):
    with rejects(InputError, field="k"):
        inference.sample(np.zeros((3, 3)), k, replacement=replacement)


@each_query
def test_unknown_options_are_rejected(query):
    with pytest.raises(TypeError):
        query(np.zeros((5, 5)), root="single")


@each_query
@each_family
def test_layout_and_type_do_not_matter(query, trees, roots):
    scores = np.round(np.random.default_rng(0).normal(size=(5, 5)) * 4)
    options = {"trees": trees, "roots": roots}
    expected = query(scores, **options)
    wide = np.zeros((10, 15))
    wide[::2, ::3] = scores
    read_only = scores.copy()
    read_only.setflags(write=False)
    variants = [
        np.asfortranarray(scores),
        wide[::2, ::3],
        scores[::-1, ::-1].copy()[::-1, ::-1],
        read_only,
        scores.astype(np.float32),
        scores.astype(np.float16),
        scores.astype(np.int64),
        scores.astype(np.int8),
        scores.astype(np.longdouble),
        scores.astype(">f8"),
    ]
    for variant in variants:
        assert identical(query(variant, **options), expected), variant.dtype


@each_query
def test_unaligned_memory(query):
    scores = np.random.default_rng(1).normal(size=(5, 5))
    assert identical(query(unaligned(scores)), query(scores))


@each_query
@each_family
@pytest.mark.parametrize("kind", ["normal", "mutual_pair", "masked", "million"])
def test_inputs_are_never_written_to(query, kind, trees, roots):
    scores = make_scores(kind, 4, 1)
    before = scores.tobytes()
    try:
        query(scores, trees=trees, roots=roots)
    finally:
        assert scores.tobytes() == before


@each_query
def test_column_zero_and_the_diagonal_are_ignored(query):
    scores = np.random.default_rng(2).normal(size=(5, 5))
    expected = query(scores)
    for junk in (np.nan, np.inf, -np.inf, 1e300):
        spoilt = scores.copy()
        spoilt[:, 0] = junk
        np.fill_diagonal(spoilt, junk)
        assert identical(query(spoilt), expected)


@each_query
def test_labelled_column_zero_and_diagonal_are_ignored(query):
    if query in (QUERIES["log_prob"],):
        return  # wants labels
    scores = np.random.default_rng(2).normal(size=(5, 5, 2))
    expected = query(scores)
    spoilt = scores.copy()
    spoilt[:, 0] = np.nan
    spoilt[np.arange(5), np.arange(5)] = np.inf
    assert identical(query(spoilt), expected)


def test_answers_are_fresh_arrays():
    scores = np.random.default_rng(3).normal(size=(5, 5))
    first = inference.marginals(scores)
    kept = first.copy()
    inference.marginals(-scores)
    assert np.array_equal(first, kept)
    heads = inference.argmax(scores).heads
    kept = heads.copy()
    inference.argmax(-scores)
    assert np.array_equal(heads, kept)


@pytest.mark.parametrize("seed", [-1, 1.5, "seed", None, 2**70])
def test_bad_seeds_are_rejected(seed):
    with rejects(InputError, field="seed"):
        inference.sample(np.zeros((3, 3)), 2, seed=seed)
