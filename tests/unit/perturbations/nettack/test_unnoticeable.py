import numpy as np
import pytest
import scipy.stats

from gvdn.graph import Graph
from gvdn.perturbations.nettack.unnoticeable import D_MIN, TAU, Cooccurrence, DegreeTest


def words(*rows: str) -> Graph:
    """Nodes without edges; the letters of a row are its words."""
    features = np.array([[float(letter in row) for letter in "abcdef"] for row in rows], dtype=np.float32)
    return Graph.from_edges(np.empty((0, 2), dtype=np.int64), features)


def admitted(graph: Graph, node: int) -> str:
    return "".join(letter for letter, yes in zip("abcdef", Cooccurrence(graph).admits(node), strict=True) if yes)


def test_a_word_that_is_reached_with_exactly_half_of_the_largest_probability_is_not_admitted():
    """Both words of the first node co-occur with two others; c is reached from a alone, with half of the most."""
    graph = words("ab", "ac", "bd")
    assert admitted(graph, 0) == "ab"


def test_a_word_that_is_reached_with_more_than_half_is_admitted():
    """c co-occurs with both words, d with one of them."""
    graph = words("ab", "ac", "bc", "bd")
    assert admitted(graph, 0) == "abc"


def test_a_word_counts_the_less_the_more_words_it_co_occurs_with():
    """a has one companion beside b, b has three: c is reached with 1/2 of 1/2 + 1/4, d with 1/4 of it."""
    graph = words("ab", "ac", "bd", "be", "bf")
    assert admitted(graph, 0) == "abc"


def test_a_word_that_occurs_alone_leads_nowhere():
    assert admitted(words("a", "bc", ""), 0) == "a"
    assert admitted(words("a", "bc", ""), 2) == ""


def test_degrees_from_two_up_are_in_the_tail():
    test = DegreeTest(np.array([0, 1, 2, 3, 10]))
    assert D_MIN == 2
    assert test.count == [3]
    assert test.logs == pytest.approx([np.log(2) + np.log(3) + np.log(10)])


def test_the_threshold_is_passed_by_chance_in_one_case_of_twenty():
    assert scipy.stats.chi2(df=1).cdf(TAU) == pytest.approx(0.05, abs=0.002)


def test_equal_degrees_differ_by_nothing():
    degrees = np.array([1, 2, 2, 3, 5, 8])
    test = DegreeTest(degrees)
    assert test.ratio(test.count, test.logs) == pytest.approx([0.0], abs=1e-9)


def test_a_link_changes_the_degrees_of_both_of_its_ends():
    """The test for one link is the ratio for the degrees written out."""
    clean = np.array([1, 1, 2, 2, 3, 3, 4, 6])
    test, end = DegreeTest(clean), 2
    for step in (1, -1):
        steps = np.full(len(clean), step)
        found = test.admits(clean, end, steps)
        for other in np.flatnonzero(np.arange(len(clean)) != end):
            changed = clean.copy()
            changed[[end, other]] += step
            tail = changed[changed >= 2]
            ratio = test.ratio(np.array([len(tail)], dtype=np.float64), np.log(tail).sum(keepdims=True))
            assert found[other] == (ratio < TAU)
