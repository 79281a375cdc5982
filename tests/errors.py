"""Check which error is raised and what it is about, without its wording."""

from contextlib import contextmanager

import pytest


@contextmanager
def rejects(kind, **fields):
    """Expect an error of this class whose attributes have these values."""
    with pytest.raises(kind) as caught:
        yield caught
    found = {name: getattr(caught.value, name) for name in fields}
    assert found == fields, f"expected {fields}, got {found} of {caught.value!r}"
