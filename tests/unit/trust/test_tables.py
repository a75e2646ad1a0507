import numpy as np
from communities import with_links

from gvdn.trust.diagnosis import diagnose
from gvdn.trust.tables import PARTS, link_table, node_table


def test_tables_have_every_node_and_every_new_link_ranked(clean, votes, trust, baseline):
    graph = with_links(clean, [(5, node) for node in range(100, 140)])
    found = diagnose(trust, baseline, graph, votes(graph), clean.class_names)
    nodes, links = node_table(found), link_table(found)
    assert (nodes.num_rows, links.num_rows) == (240, len(found.links))
    for table in (nodes, links):
        scores = table["score"].to_numpy()
        assert (np.diff(scores) <= 0).all()
    assert nodes["id"][0].as_py() == "n005"
    assert np.allclose(sum(nodes[part].to_numpy() for part in PARTS), nodes["score"].to_numpy())
    assert nodes["suspicious"].to_pylist() == (nodes["score"].to_numpy() > baseline.calibration.node).tolist()
    assert "40 new links" in nodes["why"][0].as_py() or "new links in one step" in nodes["why"][0].as_py()
    assert {"n005"} <= set(links["source"].to_pylist()) | set(links["target"].to_pylist())


def test_a_new_node_has_no_class_before(clean, votes, trust, baseline):
    from gvdn.testing.graphs import grown

    graph = grown(clean, 3)
    found = diagnose(trust, baseline, graph, votes(graph), clean.class_names)
    row = node_table(found).to_pylist()[found.ranked_nodes.tolist().index(240)]
    assert (row["id"], row["new"], row["class_before"]) == ("new", True, None)
