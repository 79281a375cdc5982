"""Closes the projects that a test has opened."""

import annotation_toys
import pytest


@pytest.fixture(autouse=True)
def _close_projects():
    yield
    annotation_toys.close_all()
