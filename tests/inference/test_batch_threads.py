import threading

import numpy as np
import pytest
from errors import rejects
from inference.helpers import ONE_ARRAY_QUERIES, each_family, identical, make_scores

from arbora import inference
from arbora.errors import InputError

LENGTHS = (4, 0, 1, 17, 2, 9, 30, 5)
# The sentences of a batch have random numbers of their own, so that samples are tested apart.
QUERIES = {name: query for name, query in ONE_ARRAY_QUERIES.items() if "sample" not in name}
each_query = pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES.keys())


def a_batch(labels=None):
    kinds = ("normal", "parser_like", "mutual_pair", "shifted_word")
    return [make_scores(kinds[i % 4], n, i, labels) for i, n in enumerate(LENGTHS)]


@each_query
@each_family
def test_a_batch_equals_its_sentences_bit_for_bit(query, trees, roots):
    batch = a_batch()
    singles = [query(scores, trees=trees, roots=roots) for scores in batch]
    for threads in (1, 2, 5):
        found = query(batch, trees=trees, roots=roots, threads=threads)
        assert len(found) == len(batch)
        assert all(identical(a, b) for a, b in zip(singles, found, strict=True))


@each_query
def test_labelled_batches_equal_their_sentences(query):
    batch = a_batch(labels=3)
    singles = [query(scores) for scores in batch]
    for threads in (1, 2):
        found = query(batch, threads=threads)
        assert all(identical(a, b) for a, b in zip(singles, found, strict=True))


@each_family
@pytest.mark.parametrize("replacement", [True, False])
def test_samples_do_not_depend_on_the_thread_count(replacement, trees, roots):
    batch = a_batch()
    options = {"seed": 3, "replacement": replacement, "trees": trees, "roots": roots}
    found = [inference.sample(batch, 6, threads=threads, **options) for threads in (1, 2, 5)]
    assert identical(found[0], found[1])
    assert identical(found[0], found[2])
    assert identical(inference.sample(batch[:1], 6, **options)[0], found[0][0])


def test_equal_sentences_of_a_batch_get_their_own_draws():
    scores = np.zeros((12, 12))
    first, second = inference.sample([scores, scores], 5, seed=0)
    assert not identical(first, second)


@each_family
def test_tree_arguments_come_in_lists_too(trees, roots):
    batch, options = a_batch(), {"trees": trees, "roots": roots}
    others = [make_scores("normal", n, 100 + n) for n in LENGTHS]
    heads = [best.heads for best in inference.argmax(batch, **options)]
    for query, argument in [
        (inference.log_prob, heads),
        (inference.expected_wrong_heads, heads),
        (inference.kl_divergence, others),
    ]:
        singles = [query(a, b, **options) for a, b in zip(batch, argument, strict=True)]
        for threads in (1, 2):
            found = query(batch, argument, threads=threads, **options)
            assert isinstance(found, np.ndarray)
            assert identical(np.array(singles), found)


def test_numbers_come_as_one_dimensional_arrays():
    for query in (inference.log_partition, inference.entropy):
        found = query(a_batch())
        assert isinstance(found, np.ndarray)
        assert found.shape == (len(LENGTHS),)
        assert found.dtype == np.float64
        assert isinstance(query(a_batch()[0]), float)


def test_tuples_are_batches_as_lists_are():
    batch = a_batch()
    left, right = inference.log_partition(batch), inference.log_partition(tuple(batch))
    assert identical(left, right)


@each_query
def test_an_empty_batch_has_an_empty_answer(query):
    assert len(query([])) == 0
    assert len(query([], threads=2)) == 0


def test_more_threads_than_sentences():
    batch = a_batch()[:2]
    assert identical(inference.argmax(batch, threads=64), inference.argmax(batch))


@pytest.mark.parametrize("threads", [0, -1, 1.5, "two"])
def test_thread_counts_that_make_no_sense(threads):
    with rejects(InputError, field="threads"):
        inference.argmax(a_batch(), threads=threads)


def test_an_error_in_one_sentence_names_it():
    batch = a_batch()
    batch[5] = np.zeros((3, 4))
    for threads in (1, 2):
        with rejects(InputError, field="scores[5]"):
            inference.argmax(batch, threads=threads)


def test_lists_of_the_wrong_length():
    batch = a_batch()
    with pytest.raises(InputError):
        inference.log_prob(batch, [np.array([-1])])
    with pytest.raises(InputError):
        inference.kl_divergence(batch, batch[:-1])


def test_calls_from_several_python_threads_do_not_disturb_each_other():
    batch = a_batch()
    expected = [inference.marginals(batch, roots=roots) for roots in ("single", "multi")]
    failures = []

    def work(index):
        for _ in range(5):
            found = inference.marginals(batch, roots=("single", "multi")[index % 2])
            if not all(identical(a, b) for a, b in zip(expected[index % 2], found, strict=True)):
                failures.append(index)

    workers = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert failures == []
