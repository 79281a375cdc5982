"""The LSTM layer with its own gradient against PyTorch's."""

import pytest

torch = pytest.importorskip("torch", reason="networks are trained with PyTorch")

from arbora.neural.lstm import bidirectional  # noqa: E402


def problem(lengths, inputs, size, seed=0):
    torch.manual_seed(seed)
    counts = [sum(length > t for length in lengths) for t in range(max(lengths))]
    made = torch.nn.LSTM(inputs, size, bidirectional=True).double()
    for name, bias in made.named_parameters():
        if "bias_hh" in name:
            torch.nn.init.zeros_(bias)
    sides = [
        [getattr(made, f"{name}_l0{side}") for name in ("weight_ih", "weight_hh", "bias_ih")]
        for side in ("", "_reverse")
    ]
    return made, torch.randn(sum(lengths), inputs, dtype=torch.double, requires_grad=True), counts, sides


@pytest.mark.parametrize("lengths", [[1], [5], [7, 7, 7], [9, 4, 4, 3, 1, 1], [3, 2, 1]])
@pytest.mark.parametrize("size", [1, 6])
def test_states_and_gradients_are_those_of_pytorch(lengths, size):
    made, x, counts, sides = problem(lengths, 5, size)
    weights = [x, *sides[0], *sides[1]]
    own = bidirectional(x, counts, *sides)
    packed = torch.nn.utils.rnn.PackedSequence(x, torch.tensor(counts))
    expected = made(packed)[0].data
    factors = torch.randn_like(expected)
    torch.testing.assert_close(own, expected)
    found = torch.autograd.grad((own * factors).sum(), weights)
    torch.testing.assert_close(found, torch.autograd.grad((expected * factors).sum(), weights))
