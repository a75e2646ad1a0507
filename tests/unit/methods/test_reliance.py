from gvdn.methods.contract import METHODS


def test_a_method_that_stores_nothing_relies_on_nothing(ring, split):
    model = METHODS["gcn"](hidden=4, epochs=1).fit(ring, split, seed=0)
    assert model.reliance(ring) == {}
