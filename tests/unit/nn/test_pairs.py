import itertools

import pytest
import torch

from gvdn.nn.pairs import NonLinks, numbered_pairs, pair_numbers
from gvdn.seeds import torch_generator


def ends(pairs: list[tuple[int, int]]) -> tuple[torch.Tensor, torch.Tensor]:
    u, v = torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).T
    return u, v


def test_all_pairs_of_seven_nodes_are_numbered_without_a_gap():
    every = sorted(itertools.combinations(range(7), 2), key=lambda pair: (pair[1], pair[0]))
    assert pair_numbers(*ends(every)).tolist() == list(range(21))
    assert torch.stack(numbered_pairs(torch.arange(21)), dim=1).tolist() == [list(pair) for pair in every]


def test_numbers_of_a_graph_of_a_hundred_million_nodes_come_back():
    v = torch.tensor([1, 2, 94_906_267, 10_000_000, 99_999_999])
    for u in (torch.zeros_like(v), v - 1, v // 2):
        found = numbered_pairs(pair_numbers(u, v))
        assert torch.equal(found[0], u)
        assert torch.equal(found[1], v)


def test_every_unlinked_pair_is_drawn_equally_often_and_no_link_ever():
    links = [(0, 1), (0, 4), (2, 3), (3, 4)]
    u, v = NonLinks(*ends(links), 5).draw(60_000, torch_generator(0, "draw"))
    pairs, counts = torch.stack([u, v], dim=1).unique(dim=0, return_counts=True)
    wanted = [list(pair) for pair in itertools.combinations(range(5), 2) if pair not in links]
    assert pairs.tolist() == wanted
    assert (counts / 60_000 - 1 / 6).abs().max() < 0.01


def test_the_order_of_the_links_does_not_matter():
    links = [(2, 3), (0, 4), (3, 4), (0, 1)]
    one, other = (NonLinks(*ends(given), 6).draw(50, torch_generator(1, "draw")) for given in (links, sorted(links)))
    assert torch.equal(torch.stack(one), torch.stack(other))


@pytest.mark.parametrize("nodes", [1, 2, 4])
def test_where_all_pairs_are_linked_none_is_drawn(nodes):
    u, v = NonLinks(*ends(list(itertools.combinations(range(nodes), 2))), nodes).draw(9, torch_generator(0, "draw"))
    assert len(u) == len(v) == 0
