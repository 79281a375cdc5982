"""arbora.inference.torch: the answers of arbora.inference, with gradients that finite differences confirm."""

import numpy as np
import pytest
from errors import rejects

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'arbora-nlp[torch]'")

from arbora import inference  # noqa: E402
from arbora.errors import InputError, NoTreeError  # noqa: E402
from arbora.inference.torch import TreeDistribution  # noqa: E402

torch.set_num_threads(1)  # tests run side by side

FAMILIES = [(trees, roots) for trees in ("projective", "nonprojective") for roots in ("single", "multi")]
each_family = pytest.mark.parametrize(("trees", "roots"), FAMILIES)
LENGTHS = [3, 1, 4]


def make(*shape, seed=0, dtype=torch.float64, scale=1.0):
    generator = torch.Generator().manual_seed(seed)
    return (scale * torch.randn(*shape, generator=generator, dtype=dtype)).requires_grad_()


def cut(scores, i):
    m = LENGTHS[i] + 1
    return scores[i, :m, :m].detach().double().numpy()


@each_family
@pytest.mark.parametrize("labels", [None, 3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_answers_are_those_of_inference(labels, dtype, trees, roots):
    shape = (3, 5, 5) if labels is None else (3, 5, 5, labels)
    scores = make(*shape, dtype=dtype)
    options = {"trees": trees, "roots": roots}
    found = TreeDistribution(scores, lengths=LENGTHS, labelled=labels is not None, **options)
    best, several = found.argmax(), found.kbest(4)
    for answer in (found.log_partition, found.entropy, best.scores, found.marginals):
        assert answer.dtype == dtype
    slack = 1e-5 if dtype == torch.float32 else 1e-12
    for i, n in enumerate(LENGTHS):
        own = cut(scores, i)
        m = n + 1
        assert found.log_partition[i].item() == pytest.approx(
            inference.log_partition(own, **options), abs=slack
        )
        assert found.entropy[i].item() == pytest.approx(inference.entropy(own, **options), abs=slack)
        expected = inference.marginals(own, **options)
        marginals = found.marginals[i].detach().numpy()
        assert np.allclose(marginals[:m, :m], expected, rtol=0, atol=slack)
        assert not marginals[m:].any()
        assert not marginals[:, m:].any()
        for j, tree in enumerate(inference.kbest(own, 4, **options)):
            assert several.heads[i, j, :m].tolist() == tree.heads.tolist()
            assert several.scores[i, j].item() == pytest.approx(tree.score, abs=slack)
            if labels is not None:
                assert several.labels[i, j, :m].tolist() == tree.labels.tolist()
        assert best.heads[i].tolist() == several.heads[i, 0].tolist()
        assert best.heads[i, m:].tolist() == [-1] * (4 - n)
        heads = best.heads[i, :m].numpy()
        marked = None if labels is None else best.labels[i, :m].numpy()
        with_labels = found.log_prob(best.heads, best.labels)[i].item()
        assert with_labels == pytest.approx(inference.log_prob(own, heads, marked, **options), abs=slack)
        summed = inference.log_prob(own, heads, **options)
        assert found.log_prob(best.heads)[i].item() == pytest.approx(summed, abs=slack)


@each_family
@pytest.mark.parametrize("labels", [None, 2])
def test_gradients_are_exact(labels, trees, roots):
    shape = (2, 4, 4) if labels is None else (1, 4, 4, labels)
    options = {"lengths": [3, 2][: shape[0]], "labelled": labels is not None, "trees": trees, "roots": roots}
    best = TreeDistribution(make(*shape), **options).argmax()

    def distribution(scores):
        return TreeDistribution(scores, **options)

    scores = make(*shape, seed=1)
    check = torch.autograd.gradcheck
    assert check(lambda s: distribution(s).log_partition, scores)
    assert check(lambda s: distribution(s).log_prob(best.heads), scores)
    assert check(lambda s: distribution(s).log_prob(best.heads, best.labels), scores)
    assert check(lambda s: distribution(s).marginals, scores)
    assert check(lambda s: distribution(s).entropy, scores)
    assert check(lambda s: distribution(s).kbest(2).scores[0], scores)
    assert torch.autograd.gradgradcheck(lambda s: distribution(s).log_partition, scores)


@each_family
def test_gradient_of_kl_divergence(trees, roots):
    options = {"lengths": LENGTHS, "trees": trees, "roots": roots}
    p, q = make(3, 5, 5), make(3, 5, 5, seed=1)

    def divergence(p, q):
        return TreeDistribution(p, **options).kl_divergence(TreeDistribution(q, **options))

    assert torch.autograd.gradcheck(divergence, (p, q))
    expected = [inference.kl_divergence(cut(p, i), cut(q, i), trees=trees, roots=roots) for i in range(3)]
    assert np.allclose(divergence(p, q).detach().numpy(), expected, rtol=0, atol=1e-12)


@each_family
def test_the_gradient_of_log_partition_is_the_marginals(trees, roots):
    scores = make(2, 21, 21, dtype=torch.float32)
    found = TreeDistribution(scores, trees=trees, roots=roots)
    found.log_partition.sum().backward()
    assert torch.allclose(scores.grad, found.marginals, rtol=0, atol=1e-6)


@each_family
def test_forbidden_arcs_and_what_is_ignored_get_no_gradient(trees, roots):
    scores = make(5, 5).detach()
    scores[2, 1] = -torch.inf
    scores[:, 0] = torch.nan
    scores.fill_diagonal_(torch.nan)
    for labelled in (False, True):
        given = (torch.stack([scores, scores], dim=-1) if labelled else scores.clone()).requires_grad_()
        found = TreeDistribution(given, labelled=labelled, trees=trees, roots=roots)
        (found.entropy + found.log_partition + found.log_prob(found.argmax().heads)).backward()
        assert torch.isfinite(given.grad).all()
        assert not given.grad[2, 1].any()
        assert not given.grad[:, 0].any()
        assert given.grad.any()


def test_any_scale_of_scores():
    for scale in (1e-3, 1e3, 1e6):
        scores = make(1, 8, 8, scale=scale)
        found = TreeDistribution(scores)
        (found.entropy.sum() + found.log_prob(found.kbest(3).heads[:, 1]).sum()).backward()
        assert torch.isfinite(scores.grad).all()
        assert found.entropy.item() == pytest.approx(inference.entropy(scores[0].detach().numpy()), abs=1e-9)


def test_trees_outside_the_family_have_no_probability_and_no_gradient():
    scores = make(4, 4, 4)
    # A tree, a cycle, two roots, a head that is no node.
    heads = torch.tensor([[-1, 0, 1, 2], [-1, 2, 1, 0], [-1, 0, 0, 1], [-1, 0, 9, 1]])
    found = TreeDistribution(scores).log_prob(heads)
    assert torch.isfinite(found).tolist() == [True, False, False, False]
    found[torch.isfinite(found)].sum().backward()
    assert torch.isfinite(scores.grad).all()
    assert not scores.grad[1:].any()
    forbidden = make(1, 4, 4).detach()
    forbidden[0, 0, 1] = -torch.inf
    assert TreeDistribution(forbidden).log_prob(heads[:1]).item() == -torch.inf


def test_samples_follow_the_probabilities():
    scores = make(2, 4, 4)
    found = TreeDistribution(scores, lengths=[3, 2])
    drawn = found.sample(4000, seed=1)
    assert drawn.heads.shape == (2, 4000, 4)
    assert torch.equal(drawn.heads, found.sample(4000, seed=1).heads)
    torch.manual_seed(3)
    first = found.sample(50).heads
    assert not torch.equal(first, found.sample(50).heads)
    torch.manual_seed(3)
    assert torch.equal(first, found.sample(50).heads)
    counts = torch.stack([(drawn.heads[:, :, 1:] == head).double().mean(dim=1) for head in range(4)], dim=1)
    assert torch.allclose(counts, found.marginals[:, :, 1:].detach(), rtol=0, atol=0.05)


def test_shapes_lengths_and_masks():
    scores = make(2, 3, 5, 5)
    found = TreeDistribution(scores)
    assert found.log_partition.shape == found.entropy.shape == (2, 3)
    assert found.marginals.shape == (2, 3, 5, 5)
    assert found.sample(2, seed=0).heads.shape == (2, 3, 2, 5)
    lengths = torch.tensor([[4, 2, 0], [1, 3, 4]])
    mask = torch.arange(4) < lengths[..., None]
    by_length, by_mask = TreeDistribution(scores, lengths=lengths), TreeDistribution(scores, mask=mask)
    assert torch.equal(by_length.log_partition, by_mask.log_partition)
    assert by_length.log_partition[0, 2] == 0.0
    assert by_length.argmax().heads[0, 2].tolist() == [-1] * 5
    one = TreeDistribution(scores[0, 0])
    assert one.log_partition.shape == ()
    assert one.log_partition.item() == pytest.approx(found.log_partition[0, 0].item())
    assert one.minimum_risk().heads.shape == (5,)
    half = TreeDistribution(scores.detach().to(torch.bfloat16))
    assert half.log_partition.dtype == torch.float32
    assert TreeDistribution(make(0, 4, 4)).log_partition.shape == (0,)


def test_fewer_trees_than_asked_for():
    found = TreeDistribution(make(2, 3, 3), lengths=[1, 2]).kbest(3)
    assert found.heads[0].tolist() == [[-1, 0, -1], [-1, -1, -1], [-1, -1, -1]]
    assert torch.isinf(found.scores).tolist() == [[False, True, True], [False, False, True]]


def test_a_few_steps_of_learning_find_a_tree():
    scores = torch.zeros(1, 6, 6, requires_grad=True)
    heads = torch.tensor([[-1, 2, 0, 5, 5, 2]])
    optimizer = torch.optim.SGD([scores], lr=5.0)
    for _ in range(20):
        optimizer.zero_grad()
        loss = -TreeDistribution(scores, trees="projective").log_prob(heads).mean()
        loss.backward()
        optimizer.step()
    assert torch.equal(TreeDistribution(scores, trees="projective").argmax().heads, heads)
    assert loss.item() < 0.1


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: TreeDistribution(np.zeros((3, 3))), "scores"),
        (lambda: TreeDistribution(torch.zeros(3, 3, dtype=torch.int64)), "scores"),
        (lambda: TreeDistribution(torch.zeros(2, 3, 4)), "scores"),
        (lambda: TreeDistribution(torch.zeros(3)), "scores"),
        (lambda: TreeDistribution(torch.full((3, 3), torch.nan)), "scores"),
        (lambda: TreeDistribution(torch.zeros(2, 3, 3), lengths=[3, 1]), "lengths"),
        (lambda: TreeDistribution(torch.zeros(2, 3, 3), lengths=[1]), "lengths"),
        (lambda: TreeDistribution(torch.zeros(1, 3, 3), mask=torch.tensor([[False, True]])), "mask"),
        (lambda: TreeDistribution(torch.zeros(1, 3, 3), mask=torch.ones(1, 3, dtype=torch.bool)), "mask"),
        (lambda: TreeDistribution(torch.zeros(3, 3), trees="planar"), "trees"),
        (lambda: TreeDistribution(torch.zeros(3, 3)).log_prob(torch.zeros(2, dtype=torch.int64)), "heads"),
        (lambda: TreeDistribution(torch.zeros(3, 3)).log_prob(torch.zeros(3)), "heads"),
        (lambda: TreeDistribution(torch.zeros(3, 3)).log_prob([-1, 0, 1], [0, 0, 0]), "labels"),
        (lambda: TreeDistribution(torch.zeros(3, 3)).kbest(0), "k"),
    ],
)
def test_bad_arguments_are_rejected(call, field):
    with rejects(InputError, field=field):
        call()


def test_a_sentence_without_any_tree_is_rejected():
    scores = torch.zeros(2, 3, 3)
    scores[1, :, 1] = -torch.inf
    with rejects(NoTreeError, field="sentence 1"):
        _ = TreeDistribution(scores).log_partition


def test_second_derivatives_of_marginals_are_rejected():
    scores = make(4, 4)
    (gradient,) = torch.autograd.grad(TreeDistribution(scores).entropy, scores, create_graph=True)
    with pytest.raises(NotImplementedError):
        torch.autograd.grad(gradient.square().sum(), scores)
