from functools import cache

import pytest
from studies_toys import run


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A quick run of a study by its name; each study runs once."""
    return cache(lambda name: run(name, tmp_path_factory.mktemp(name)))
