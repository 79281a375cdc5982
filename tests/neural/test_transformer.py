"""Networks over a transformer: pieces and windows, states, scores, training, model files."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from errors import rejects
from graph_toys import treebank

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from encoder_toys import PIECES, save_encoder  # noqa: E402

from arbora.data.columns import parse_text  # noqa: E402
from arbora.data.encode import Names  # noqa: E402
from arbora.errors import InputError, ModelError  # noqa: E402
from arbora.interfaces import PartKind  # noqa: E402
from arbora.neural.build import build_transformer, targets  # noqa: E402
from arbora.neural.data import TrainingData  # noqa: E402
from arbora.neural.pieces import MOST_PIECES, PieceTokenizer, windows  # noqa: E402
from arbora.neural.problem import NetworkProblem  # noqa: E402
from arbora.neural.settings import NeuralSettings  # noqa: E402
from arbora.neural.transformer import EncoderSource  # noqa: E402
from arbora.pipeline.pipeline import Pipeline  # noqa: E402
from arbora.registry import losses  # noqa: E402
from arbora.search.neural import NeuralSearch  # noqa: E402
from arbora.training import train  # noqa: E402

TRAIN, DEV = treebank(40, seed=1), treebank(15, seed=2)
NAMES = Names.of(TRAIN)
SETTINGS = NeuralSettings(arc_size=9, label_size=5, output_size=6, sibling_size=3).resolved(over_encoder=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_encoder(tmp_path_factory.mktemp("encoder"))


def scorer_of(folder, which="mean", *, siblings=False, embedded=True):
    return build_transformer(
        TRAIN,
        NAMES,
        folder,
        settings=replace(SETTINGS, pieces=which),
        embedded=embedded,
        predicted=("upos",),
        labelled=True,
        siblings=siblings,
    )


# Pieces


@pytest.mark.parametrize(("count", "room"), [(0, 5), (1, 1), (5, 5), (6, 5), (40, 7), (41, 8), (3, 1)])
def test_windows_cover_every_piece_once(count, room):
    found = list(windows(count, room))
    assert all(each.end - each.begin <= room for each in found)
    assert all(each.begin <= each.first <= each.last <= each.end for each in found)
    assert [piece for each in found for piece in range(each.first, each.last)] == list(range(count))
    if room >= 4:  # a piece within a sentence has a quarter of a window on each side
        for each in found:
            assert each.begin == 0 or each.first - each.begin >= room // 4
            assert each.end == count or each.end - each.last >= room // 4


def test_every_word_has_pieces(folder):
    tokenizer = EncoderSource.open(folder).tokenizer
    assert tokenizer.pieces("Cat") == tuple(map(PIECES.index, ("c", "##a", "##t")))
    assert tokenizer.pieces("\u200b") == tokenizer.pieces("猫") == (PIECES.index("[UNK]"),)
    assert len(tokenizer.pieces("a" * 90)) == MOST_PIECES
    assert tokenizer.marks == ((PIECES.index("[CLS]"),), (PIECES.index("[SEP]"),))


def test_a_tokenizer_that_is_none_is_rejected():
    with rejects(InputError):
        _ = PieceTokenizer("{}", 40).native


# States


def by_library(folder, words, which):
    """The states of one sentence's words, by the library alone."""
    model = transformers.AutoModel.from_pretrained(folder).eval()
    ids, groups = [PIECES.index("[CLS]")], []
    for word in words:
        pieces = [PIECES.index(c if i == 0 else f"##{c}") for i, c in enumerate(word.lower())]
        groups.append(range(len(ids), len(ids) + len(pieces)))
        ids += pieces
    with torch.no_grad():
        states = model(torch.tensor([[*ids, PIECES.index("[SEP]")]])).last_hidden_state[0].numpy()
    return np.array([states[list(g)].mean(axis=0) if which == "mean" else states[g[0]] for g in groups])


def sentences(*lists):
    rows = ["".join(f"{i}\t{w}\t_\t_\t_\t_\t_\t_\t_\t_\n" for i, w in enumerate(s, 1)) + "\n" for s in lists]
    return parse_text("".join(rows), "conllu")


@pytest.mark.parametrize("which", ["mean", "first"])
@pytest.mark.parametrize("step", [1, 1000])
def test_states_are_those_of_the_library(folder, which, step):
    from arbora.neural.encode import word_states

    lists = [["Cats", "sleep", "."], ["a"], ["She", "reads", "long", "books", "!"]]
    scorer, given = scorer_of(folder, which), sentences(*lists)
    found = word_states(scorer.in_torch().eval(), scorer.reader(given), step, 1)
    expected = np.concatenate([by_library(folder, each, which) for each in lists])
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_long_sentences_are_read_in_windows(folder):
    from arbora.neural.encode import word_states

    words = list("abcdefghijk") * 10
    scorer = scorer_of(folder)
    found = word_states(scorer.in_torch().eval(), scorer.reader(sentences(words)), 1000, 1)
    assert len(words) > 2 * scorer.encoder.tokenizer.room
    for begin, end, first, last in windows(len(words), scorer.encoder.tokenizer.room):
        own = by_library(folder, words[begin:end], "mean")
        np.testing.assert_allclose(found[first:last], own[first - begin : last - begin], atol=1e-5)


# Scores and gradients


@pytest.mark.parametrize("siblings", [False, True])
def test_native_scores_equal_those_of_pytorch(folder, siblings):
    scorer = scorer_of(folder, siblings=siblings)
    network = scorer.in_torch().eval()
    nothing = np.full(DEV.words, -1, np.int32)
    batch, _ = TrainingData(scorer.reader(DEV), nothing, nothing, {}).select(np.arange(len(DEV)))
    with torch.no_grad():
        states = network(batch)
        expected = {}
        for group, scores in network.tree_scores(states, batch):
            for place, i in enumerate(group.sentences):
                expected[i] = {kind: each[place].numpy() for kind, each in scores.items()}
        words = torch.nonzero(~batch.is_root)[:, 0]
        tags = dict(network.output_scores(states, batch))["upos"][words].numpy()
    for i, scores in enumerate(scorer.scores_of(NAMES.batch(DEV))):
        n = len(scores[PartKind.ARC])
        used = ~np.eye(n, dtype=bool) & (np.arange(n) > 0)
        for kind, own in scores.items():
            right = expected[i][kind][(slice(n),) * own.ndim]
            np.testing.assert_allclose(own[used], right[used], atol=1e-4)
    np.testing.assert_allclose(scorer.native.outputs(scorer.states(DEV), 0, 1), tags, atol=1e-4)


def problem_of(scorer, **options):
    data = TrainingData(
        scorer.reader(TRAIN), np.array(TRAIN.heads), NAMES.label_numbers(TRAIN), targets(scorer, TRAIN)
    )
    search = NeuralSearch(scorer, trees="nonprojective", roots="single")
    return NetworkProblem(
        scorer,
        scorer.in_torch(SETTINGS),
        data,
        family=search.family,
        loss=losses.create("local"),
        cost=None,
        weights={"upos": 1.0},
        **options,
    )


def test_the_gradient_is_that_of_finite_differences(folder):
    problem = problem_of(scorer_of(folder))
    network, few = problem.network.double().eval(), np.arange(4)
    problem.backward(few)
    named = dict(network.tensors())
    for name in ("root", "arcs", "encoder.encoder.layer.0.output.dense.weight"):
        weights, gradient = named[name], named[name].grad.clone()
        direction, length, values = torch.ones_like(weights), 1e-5, []
        for sign in (1, -1):
            with torch.no_grad():
                weights += sign * length * direction
            values.append(problem.backward(few))
            with torch.no_grad():
                weights -= sign * length * direction
        expected = float((gradient * direction).sum())
        assert (values[0] - values[1]) / (2 * length) == pytest.approx(expected, rel=1e-4, abs=1e-7)


def test_parts_of_a_batch_add_up(folder):
    found = []
    for parts in (1, 3):
        problem = problem_of(scorer_of(folder), accumulate=parts)
        problem.network.eval()
        loss = problem.backward(np.arange(len(TRAIN)))
        found.append((loss, {name: weights.grad.numpy() for name, weights in problem.network.tensors()}))
    assert found[0][0] == pytest.approx(found[1][0])
    for name, gradient in found[0][1].items():
        np.testing.assert_allclose(found[1][1][name], gradient, atol=1e-5)


def test_rates_fall_from_layer_to_layer(folder):
    settings = replace(SETTINGS, encoder_rate=1e-4, layer_decay=0.5)
    rates = scorer_of(folder).in_torch(settings).rates(1e-3)
    assert rates["encoder.encoder.layer.1.output.dense.weight"] == pytest.approx(0.1)
    assert rates["encoder.encoder.layer.0.output.dense.weight"] == pytest.approx(0.05)
    assert rates["encoder.embeddings.word_embeddings.weight"] == pytest.approx(0.025)
    assert "arcs" not in rates


# Training and model files


def quickly(folder, **changes):
    neural = {"arc_size": 9, "label_size": 5, "output_size": 6, "encoder_rate": 3e-3}
    config = {
        "parser": "neural",
        "encoder": folder,
        "neural": neural,
        "parameters": {"epochs": 3, "words": 60},
    }
    return {**config, **changes}


@pytest.fixture(scope="module")
def trained(folder):
    return train(TRAIN, DEV, config=quickly(folder))


def test_a_trained_model_is_read_back(trained, tmp_path):
    path = tmp_path / "m.arbora"
    trained.save(path)
    loaded = Pipeline.load(path)
    assert loaded.parser.search.scorer.name == "transformer"
    tagged = loaded.prepare(DEV, retag=True)
    assert tagged.texts("upos") == trained.pipeline.prepare(DEV, retag=True).texts("upos")
    heads, labels = loaded.parser.trees(tagged)
    expected = trained.parser.trees(tagged)
    assert np.array_equal(heads, expected[0])
    assert np.array_equal(labels, expected[1])
    (parsed,) = loaded.parse([["the", "cat", "sleeps"]], probabilities=True)
    assert 0 < parsed.probability <= 1
    assert len(loaded.kbest(["the", "cat", "sleeps"], 3)) == 3


def test_networks_learn(folder):
    config = quickly(folder, parameters={"epochs": 25, "words": 60, "rate": 5e-3})
    found = train(TRAIN, DEV, config=config)
    assert found.scores["uas"] > train(TRAIN, DEV, config=quickly(folder)).scores["uas"] + 3


def test_one_seed_gives_one_model(trained, folder, tmp_path):
    files = []
    for number, each in enumerate((trained, train(TRAIN, DEV, config=quickly(folder)))):
        each.save(tmp_path / f"{number}.arbora")
        files.append((tmp_path / f"{number}.arbora").read_bytes())
    assert files[0] == files[1]


def test_a_compact_model_has_nearly_the_same_trees(trained, tmp_path):
    trained.save(tmp_path / "compact.arbora", quantized=True)
    loaded = Pipeline.load(tmp_path / "compact.arbora")
    stored, _ = loaded.parser.search.scorer.to_parts()
    assert stored["encoder.encoder.layer.0.output.dense.weight"].dtype == np.int8
    heads, _ = loaded.parser.trees(DEV)
    assert np.mean(heads == trained.parser.trees(DEV)[0]) > 0.8


def test_a_model_may_name_its_encoder(folder, tmp_path, monkeypatch):
    """A folder by its whole path, so that it is found from elsewhere."""
    monkeypatch.chdir(Path(folder).parent)
    relative = Path(folder).name
    found = train(TRAIN, DEV, config=quickly(relative, embed_encoder=False, only="parser"))
    monkeypatch.chdir(tmp_path)
    scorer = found.parser.search.scorer
    assert not any(name.startswith("encoder.") for name in scorer.tensors)
    found.save(tmp_path / "m.arbora")
    heads, _ = Pipeline.load(tmp_path / "m.arbora").parser.trees(DEV)
    assert np.array_equal(heads, found.parser.trees(DEV)[0])


def test_training_starts_from_a_trained_model(trained, tmp_path):
    trained.save(tmp_path / "old.arbora")
    config = {"start": str(tmp_path / "old.arbora"), "parameters": {"epochs": 1, "words": 60}}
    found = train(DEV, DEV, config=config)
    scorer, old = found.parser.search.scorer, trained.parser.search.scorer
    assert scorer.name == "transformer"
    assert scorer.encoder.config == old.encoder.config
    name = "encoder.encoder.layer.0.output.dense.weight"
    np.testing.assert_allclose(scorer.tensors[name], old.tensors[name], atol=1e-2)
    assert not np.array_equal(scorer.tensors[name], old.tensors[name])


@pytest.mark.parametrize(
    "changes",
    [
        {"vectors": "x.vec"},
        {"stack": "x.arbora"},
        {"tags": "gold"},
        {"parser": "graph"},
        {"encoder": "/none/such"},
    ],
    ids=lambda changes: "-".join(changes),
)
def test_settings_that_do_not_fit_are_rejected(folder, changes):
    config = {**quickly(folder), **changes}
    if "parser" in changes:
        del config["neural"]
    with rejects(InputError):
        train(TRAIN, DEV, config=config)


@pytest.fixture(scope="module")
def parts(trained):
    return trained.parser.search.scorer.to_parts()


def changed(settings, **changes):
    copy = json.loads(json.dumps(settings))
    copy["encoder"] |= changes
    return copy


DAMAGES = {
    "no tokenizer": lambda t, s: ({n: a for n, a in t.items() if n != "tokenizer.text"}, s),
    "other tokenizer": lambda t, s: ({**t, "tokenizer.text": np.frombuffer(b"{}", np.uint8)}, s),
    "no encoder": lambda t, s: (t, {n: v for n, v in s.items() if n != "encoder"}),
    "other size": lambda t, s: (t, changed(s, config={**s["encoder"]["config"], "hidden_size": 18})),
    "huge size": lambda t, s: (t, changed(s, config={**s["encoder"]["config"], "vocab_size": 10**9})),
    "unknown kind": lambda t, s: (
        t,
        changed(s, config={**s["encoder"]["config"], "model_type": "none-such"}),
    ),
    "fewer pieces": lambda t, s: (t, changed(s, config={**s["encoder"]["config"], "vocab_size": 9})),
    "no length": lambda t, s: (t, changed(s, longest=-1)),
    "other pieces": lambda t, s: (t, changed(s, pieces="last")),
    "a missing weight": lambda t, s: ({n: a for n, a in t.items() if "layer.0.output" not in n}, s),
    "weights and a name": lambda t, s: (t, changed(s, embedded=False)),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_parts_are_rejected(trained, parts, damage):
    scorer = trained.parser.search.scorer
    with pytest.raises((InputError, ModelError)):
        type(scorer).from_parts(*damage(*parts), trained.parser.names)
    type(scorer).from_parts(*parts, trained.parser.names)
