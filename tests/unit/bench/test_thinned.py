from gvdn.bench.measure import thinned


def test_every_fifth_epoch_is_kept_from_the_first_to_four_figures_and_the_score_is_left_out():
    history = [{"ce": epoch + 0.123456, "kl": 0.0, "val": 0.9} for epoch in range(12)]
    assert thinned(history) == {"epochs": [1.0, 6.0, 11.0], "ce": [0.1235, 5.123, 10.12], "kl": [0.0] * 3}


def test_no_epoch_and_one_epoch():
    assert thinned([]) == {"epochs": []}
    assert thinned([{"ce": 2.0}]) == {"epochs": [1.0], "ce": [2.0]}
