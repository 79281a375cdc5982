"""One model on several workers: every learner, shares of a treebank, and what becomes of a lost worker."""

import json
import pickle
import signal
from dataclasses import replace

import numpy as np
import pytest
from distributed_toys import ToyShare
from errors import rejects
from graph_toys import config, treebank
from training_toys import Recorder
from typer.testing import CliRunner

from arbora._core import Weights
from arbora.cli.main import app
from arbora.distributed.engines import Pool, WorkerLostError, open_workers
from arbora.distributed.local import LocalWorkers
from arbora.distributed.share_worker import Passed, ShareWorker
from arbora.distributed.sharing import dealt, mixed, shared, way_of
from arbora.distributed.team import Team
from arbora.errors import InputError, ModelError
from arbora.interfaces import Epoch, Query
from arbora.learners.stage import Watched
from arbora.progress import Silent
from arbora.registry import learners
from arbora.training import train
from arbora.training.config import make_config
from arbora.training.parser import ParserTraining
from arbora.training.share import Share
from arbora.types import weights_of

TRAIN, DEV = treebank(40, seed=1), treebank(12, seed=2)
EXAMPLES = {"examples": 13, "seed": 3, "noise": 0.1}
FOR_TOYS = {
    "spv": {"gamma": 2.0},
    "mec": {"gamma": 4.0},
    "one_slack": {"C": 100.0, "epochs": 12},
    "log_linear": {"iterations": 2},
    "adamw": {"rate": 0.05, "k": 4},
    "muon": {"rate": 0.05, "k": 4},
    "exponentiated_gradient": {"epochs": 200, "tolerance": 1e-6},
}


@pytest.fixture(scope="module")
def workers():
    with open_workers("local", ShareWorker, 2) as opened:
        yield opened


def share_toys(workers, learner, **options):
    """The problem of one process, and the same on two workers."""
    everyone = ToyShare(learner, range(options["examples"]), **options)
    team, stage = Team(workers), everyone.stage("tree", {})
    parts = dealt(options["examples"], team.count, way_of(learner, stage.problem))
    team.set("take", [(ToyShare(learner, part.tolist(), **options),) for part in parts])
    return stage.problem, shared(stage, team, {}).problem


@pytest.mark.parametrize("name", list(learners))
def test_every_learner_trains_on_several_workers(workers, name):
    learner = learners.create(name, **FOR_TOYS.get(name, {}))
    alone, together = share_toys(workers, learner, **EXAMPLES)
    one, two = learner.fit(alone), learner.fit(Watched(together, lambda _: None))
    if learner.sharing == "sums":
        assert [each.updates for each in one.history] == [each.updates for each in two.history]
        np.testing.assert_allclose(two.last, one.last, rtol=1e-6, atol=1e-9)  # of float32
        np.testing.assert_allclose(two.averaged, one.averaged, rtol=1e-6, atol=1e-9)
    if learner.sharing == "dual":
        assert two.stopped == "converged"
        primals, duals = zip(*((e.measures["primal"], e.measures["dual"]) for e in two.history), strict=True)
        np.testing.assert_allclose(primals[-1], one.history[-1].measures["primal"], rtol=2e-6)
        assert (np.diff(duals[1:]) > -1e-7 * np.abs(duals[1:-1])).all()
    if learner.sharing == "mixing":
        assert two.history[-1].loss < two.history[0].loss
    again = learner.fit(share_toys(workers, learner, **EXAMPLES)[1])
    np.testing.assert_array_equal(again.last, two.last)
    np.testing.assert_array_equal(again.averaged, two.averaged)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("one_slack", {"C": 100.0, "epochs": 60, "epsilon": 0.0}),
        ("pegasos", {"k": 4, "epochs": 50}),
        ("pegasos", {"k": 13, "epochs": 50}),
        ("adamw", {"rate": 0.05, "k": 4}),
    ],
)
def test_sums_of_whole_features_give_the_weights_of_one_process(workers, name, options):
    """Sums of whole numbers have no order, so neither have weights."""
    learner = learners.create(name, **options)
    one, two = map(learner.fit, share_toys(workers, learner, **EXAMPLES))
    np.testing.assert_allclose(two.last, one.last, rtol=1e-9)
    np.testing.assert_allclose(two.averaged, one.averaged, rtol=1e-9)


@pytest.mark.parametrize(
    ("name", "options", "blur", "tolerance"),
    [
        ("log_linear", {"tolerance": 1e-8}, 0.0, 1e-9),
        ("log_linear", {"tolerance": 1e-8}, 0.3, 1e-9),
        ("exponentiated_gradient", {"objective": "log_linear", "tolerance": 1e-9}, 0.0, 1e-9),
        ("exponentiated_gradient", {"objective": "log_linear", "tolerance": 1e-9}, 0.3, 2e-8),  # of float32
    ],
)
def test_the_optimum_is_that_of_one_process(workers, name, options, blur, tolerance):
    """-log P + |w|²/2 in float64, at weights that are stored in float32."""
    exact = learners.create("log_linear", epochs=60, tolerance=1e-8)
    learner = replace(learners.create(name, **options), epochs=200)
    alone, together = share_toys(workers, learner, **EXAMPLES, blur=blur)

    def objective(learned):
        w = weights_of(learned.last)
        loss, _ = alone.gradient(np.arange(len(alone)), w, Query.MARGINALS)
        return loss + 0.5 * float(learned.last.astype(np.float64) @ learned.last)

    one, two = objective(exact.fit(alone)), objective(learner.fit(together))
    assert abs(one - two) <= tolerance * one


def test_a_sharded_problem_answers_as_the_whole(workers):
    learner = learners.create("pegasos")
    alone, together = share_toys(workers, learner, **EXAMPLES)
    w = weights_of(np.random.default_rng(0).normal(size=alone.size).astype(np.float32))
    w.multiply(0.3)
    everyone = np.random.default_rng(1).permutation(len(alone))
    assert (len(together), together.size, together.queries) == (len(alone), alone.size, alone.queries)
    for query in (Query.ARGMAX, Query.COST_AUGMENTED):
        one, two = alone.total(everyone, w, query), together.total(everyone, w, query)
        assert (one.loss, one.difference) == (two.loss, two.difference)
        assert one.margin == pytest.approx(two.margin, rel=1e-12)
    one, two = (each.gradient(everyone, w, Query.MARGINALS) for each in (alone, together))
    assert one[0] == pytest.approx(two[0], rel=1e-12)
    np.testing.assert_allclose(one[1], two[1], rtol=1e-10, atol=1e-14)
    for i in (0, 5, 12):
        assert alone.answer(i, w, Query.ARGMAX) == together.answer(i, w, Query.ARGMAX)
        assert alone.candidates(i, w, 3) == together.candidates(i, w, 3)
        scores = alone.arc_scores(i, w)
        np.testing.assert_array_equal(scores, together.arc_scores(i, w))
        np.testing.assert_array_equal(alone.arc_gold(i), together.arc_gold(i))
        np.testing.assert_array_equal(alone.arc_marginals(i, scores)[1], together.arc_marginals(i, scores)[1])
        assert alone.arc_features(i, scores) == together.arc_features(i, scores)


def test_more_workers_than_sentences_are_rejected(workers):
    with rejects(InputError, field="workers"):
        share_toys(workers, learners.create("pegasos"), examples=1)


@pytest.mark.parametrize("name", ["perceptron", "adagrad", "exponentiated_gradient"])
def test_runs_on_workers_resume_to_the_same_bytes(workers, name):
    learner = learners.create(name, epochs=4)
    problem = share_toys(workers, learner, **EXAMPLES)[1]
    states = []
    whole = learner.fit(problem, callbacks=[lambda progress: states.append(progress.state())])
    rest = learner.fit(share_toys(workers, learner, **EXAMPLES)[1], resume=states[1])
    np.testing.assert_array_equal(rest.last, whole.last)
    np.testing.assert_array_equal(rest.averaged, whole.averaged)


# Shares of a treebank

SHARES = [
    {},
    {"order": 1, "labels": "joint", "trees": "projective", "projectivize": "pseudo-projective"},
    {"parser": "cube", "labels": "joint"},
    {"parser": "transition"},
    {"parser": "exact", "order": 1, "learner": "adamw", "scorer": "linear"},
]


@pytest.mark.parametrize("options", SHARES, ids=lambda options: "-".join(map(str, options.values())))
def test_a_share_has_the_same_problem_over_its_sentences(options):
    sentences = treebank(20, seed=4, nonprojective=0.4)
    recipe = ParserTraining(sentences, None, config(**options), 1, Silent()).recipe
    done = {name: np.zeros(recipe.stage(name, {}).problem.size, np.float32) for name in recipe.stages[:-1]}
    chosen = np.arange(1, 20, 3)
    other = pickle.loads(pickle.dumps(Share.of(recipe, chosen))).open()
    for name in recipe.stages:
        whole, part = (each.stage(name, done) for each in (recipe, other))
        assert part.learner == whole.learner
        assert (part.problem.size, part.problem.queries) == (whole.problem.size, whole.problem.queries)
        w = Weights(part.problem.size)
        for place, number in enumerate(chosen):
            wanted = whole.problem.answer(int(number), w, Query.ARGMAX)
            assert part.problem.answer(place, w, Query.ARGMAX) == wanted


# Training


def trained(workers=2, *, observer=None, options=None, engine="local", **more):
    options = config(**(options or {"order": 2}))
    more |= {"pool": Pool(engine, workers), "together": True, "observer": observer}
    return train(TRAIN, DEV, config=options, **more)


def saved(result, path):
    result.parser.save(path)
    return path.read_bytes()


def weights(result):
    tensors, _ = result.parser.to_parts()
    return np.concatenate([np.asarray(tensors[name], np.float64).reshape(-1) for name in sorted(tensors)])


@pytest.mark.parametrize(
    ("options", "tolerance"),
    [
        ({"learner": "log_linear", "parameters": {"C": 0.1}, "epochs": 3}, 1e-9),
        ({"learner": "one_slack", "epochs": 5}, 1e-9),
        ({"learner": "pegasos", "parameters": {"k": 16}, "epochs": 2}, 1e-9),
    ],
    ids=lambda value: value["learner"] if isinstance(value, dict) else "",
)
def test_learners_of_sums_train_the_model_of_one_process(options, tolerance):
    options = {"order": 1, **options}
    one, two = weights(trained(1, options=options)), weights(trained(2, options=options))
    assert np.linalg.norm(one - two) <= tolerance * np.linalg.norm(one)


def test_trees_of_a_guide_and_clusters_of_words_reach_the_workers(tmp_path):
    forms = TRAIN.strings("form")[1:]
    lines = [f"{word} {len(word)} {ord(word[0])}" for word in forms]
    (tmp_path / "vectors.txt").write_text("\n".join([f"{len(forms)} 2", *lines]) + "\n")
    train(TRAIN, DEV, config=config(order=1)).parser.save(tmp_path / "guide.arbora")
    more = {"stack": str(tmp_path / "guide.arbora"), "vectors": str(tmp_path / "vectors.txt"), "folds": 2}
    options = {"order": 1, "learner": "log_linear", "epochs": 1, **more}
    one, two = weights(trained(1, options=options)), weights(trained(2, options=options))
    assert np.linalg.norm(one - two) <= 1e-6 * np.linalg.norm(one)


def test_mixing_is_repeatable_resumed_and_stored(tmp_path):
    recorder = Recorder()
    first = trained(observer=recorder)
    assert first.scores["las"] > 75
    assert first.parser.about["workers"] == 2
    assert any("2 workers" in note for note in recorder.notes)
    whole = saved(first, tmp_path / "whole")
    assert whole != saved(trained(1), tmp_path / "one")
    assert "workers" not in trained(1).parser.about
    checkpoint = tmp_path / "checkpoint"
    cut = trained(observer=Recorder(interrupt_after=("tree", 1)), checkpoint=checkpoint)
    assert cut.interrupted
    with pytest.raises(ModelError, match="workers was 2"):
        trained(1, checkpoint=checkpoint, resume=True)
    assert saved(trained(checkpoint=checkpoint, resume=True), tmp_path / "resumed") == whole


def test_networks_on_two_workers_are_that_of_one_process(tmp_path):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    from neural_toys import SMALL

    settings = {"parser": "neural", "neural": {**SMALL, "dropout": 0.1}, "only": "parser", "tags": "gold"}
    options = {**settings, "parameters": {"epochs": 2, "words": 60, "average": 0.9}}

    def model(workers, **more):
        return train(TRAIN, DEV, config=options, pool=Pool(count=workers), together=True, **more)

    one, two = model(1), model(2)
    np.testing.assert_allclose(weights(two), weights(one), rtol=1e-4, atol=1e-5)
    assert two.scores == one.scores
    checkpoint = tmp_path / "checkpoint"
    assert model(2, observer=Recorder(interrupt_after=("tree", 1)), checkpoint=checkpoint).interrupted
    np.testing.assert_array_equal(weights(model(2, checkpoint=checkpoint, resume=True)), weights(two))


@pytest.fixture
def losses(monkeypatch):
    """Kill the second worker when it gets some call for the first time."""

    def lose(method):
        started, killed = LocalWorkers.call, []

        def call(self, worker, name, *arguments):
            started(self, worker, name, *arguments)
            if name == method and worker == 1 and not killed:
                killed.append(worker)
                self._processes[worker].send_signal(signal.SIGKILL)

        monkeypatch.setattr(LocalWorkers, "call", call)
        return killed

    return lose


@pytest.mark.parametrize(
    ("options", "method"),
    [({"order": 2}, "poll"), ({"order": 2}, "start"), ({"order": 1, "learner": "log_linear"}, "answer")],
)
def test_training_goes_on_with_another_worker(losses, tmp_path, options, method):
    whole = saved(trained(options=options), tmp_path / "whole")
    killed = losses(method)
    assert saved(trained(options=options), tmp_path / "again") == whole
    assert killed


def test_without_what_a_worker_kept_training_ends_with_an_error(losses, tmp_path):
    killed = losses("poll")
    with pytest.raises(WorkerLostError, match="worker 2 of 2"):
        trained(options={"order": 1, "learner": "adagrad"}, checkpoint=tmp_path / "checkpoint")
    assert killed


def test_a_network_ends_with_an_error_if_a_worker_is_lost(losses):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    from neural_toys import SMALL

    losses("poll")
    options = {"parser": "neural", "neural": SMALL, "only": "parser", "tags": "gold"}
    with pytest.raises(WorkerLostError, match="worker 2 of 2"):
        train(TRAIN, DEV, config=options, pool=Pool(count=2), together=True)


@pytest.fixture
def cluster():
    ray = pytest.importorskip("ray", reason="ray is not installed")
    from arbora.distributed.ray import connect

    connect(ray, None, 2)
    yield
    ray.shutdown()


@pytest.mark.filterwarnings("ignore")  # ray has warnings of its own
def test_ray_trains_the_same_models_as_local_workers(cluster, tmp_path):
    for options in ({"order": 2}, {"order": 1, "learner": "log_linear", "epochs": 1}):
        local = saved(trained(options=options), tmp_path / "1")
        assert saved(trained(options=options, engine="ray"), tmp_path / "2") == local


@pytest.mark.filterwarnings("ignore")
def test_ray_trains_networks_as_local_workers_do(cluster):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    from neural_toys import SMALL

    settings = {"parser": "neural", "neural": SMALL, "only": "parser", "tags": "gold"}
    options = {**settings, "parameters": {"epochs": 1, "words": 60}}
    local, ray = (
        train(TRAIN, DEV, config=options, pool=Pool(engine, 2), together=True) for engine in ("local", "ray")
    )
    np.testing.assert_allclose(weights(ray), weights(local), rtol=1e-4, atol=1e-5)
    assert ray.scores == local.scores


# Settings


def test_a_pool_alone_does_not_change_the_model(tmp_path):
    alone = train(TRAIN, DEV, config=config(order=1))
    pooled = train(TRAIN, DEV, config=config(order=1), pool=Pool(count=2))
    assert saved(alone, tmp_path / "1") == saved(pooled, tmp_path / "2")


def test_the_command_line_trains_on_workers(tmp_path):
    (tmp_path / "train.conllu").write_bytes(TRAIN.to_bytes())
    arguments = [
        "train",
        str(tmp_path / "train.conllu"),
        "-o",
        str(tmp_path / "m.arbora"),
        "--only",
        "parser",
    ]
    options = ["--parser", "graph", "--order", "1", "--epochs", "2", "--json", "-p", "tree_bits=12"]
    result = CliRunner().invoke(app, [*arguments, *options, "--workers", "2", "--together"])
    assert json.loads(result.stdout)["workers"] == 2
    assert CliRunner().invoke(app, [*arguments, "--together"]).exit_code == 2


def test_changes_of_workers_are_added_up():
    def passed(*values):
        w = np.array(values, np.float32)
        return Passed(Epoch(1, 0.0, 0.0, 0), w, 2.0 * w.astype(np.float64), 2.0)

    before = weights_of(np.ones(3, np.float32), np.zeros(3, np.float32), 0)
    both = [passed(2.0, 3.0, 1.0), passed(4.0, 1.0, 1.0)]
    for way, expected in (("dual", [3.0, 2.0, 1.0]), ("mixing", [1.0 + 4.0 / 2.0**0.5, 3.0, 1.0])):
        made = mixed(before, both, way)
        np.testing.assert_allclose(made.values(), expected, rtol=1e-7)
        np.testing.assert_allclose(made.average(), expected, rtol=1e-7)
        assert made.ticks == 2.0


def test_configurations_can_be_pickled():
    given = make_config({"parameters": {"C": 0.5}})
    assert pickle.loads(pickle.dumps(given)) == given
