"""The search in an interval against SciPy's, which goes by the same book."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from arbora.parsing.calibration import minimize_between

LOSSES = {
    "parabola": lambda x, best: (x - best) ** 2,
    "corner": lambda x, best: abs(x - best),
    "steep": lambda x, best: np.cosh(3 * (x - best)),
    "lopsided": lambda x, best: np.exp(x - best) - (x - best),
    "quartic": lambda x, best: (x - best) ** 4 + 1e-3 * x,
    "flat": lambda x, best: 0.0,
}


@pytest.mark.parametrize("precision", [0.02, 1e-5])
@pytest.mark.parametrize("name", LOSSES)
def test_the_same_place_after_as_many_values(name, precision):
    for best in np.linspace(-4.5, 4.5, 19):
        calls = []

        def loss(x, best=best, calls=calls):
            calls.append(x)
            return float(LOSSES[name](x, best))

        found = minimize_between(loss, -3.9, 3.8, precision)
        count = len(calls)
        theirs = minimize_scalar(loss, bounds=(-3.9, 3.8), method="bounded", options={"xatol": precision})
        assert found == pytest.approx(theirs.x, abs=precision)
        assert count <= theirs.nfev + 2
        if name != "flat":
            assert loss(found) <= loss(np.clip(best, -3.9 + precision, 3.8 - precision)) + 10 * precision
