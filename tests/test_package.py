import arbora


def test_public_names_exist_and_are_few():
    assert all(hasattr(arbora, name) for name in arbora.__all__)
    assert len(arbora.__all__) <= 15
