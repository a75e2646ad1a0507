"""The linearised GCN on a graph that changes flip by flip, without forming Â²: one row of it is needed at a time.

With d̃ = degree + 1, C = XW, Q = D̃^-1/2 C and S = (A + I) Q, row v of Â² X W is

    d̃_v^-1/2  Σ_{k in N[v]}  S_k / d̃_k,        N[v]: v and its neighbours.

A flipped link changes Q at its two ends, S around them, and a few terms of the sum; a flipped feature changes one row
of C and Q, and S around it. Rows that change are summed anew rather than corrected, so that errors do not accumulate
and the same flips give the same numbers, to the last bit.
"""

import copy
import dataclasses

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float32, Float64, Int64

from gvdn.graph import Graph, Positions
from gvdn.perturbations.receipt import Changes

Row = Float32[np.ndarray, " d"]


class LinearisedGCN:
    """Logits of single nodes, now and after every flip of a link at one end, on a graph that may be changed."""

    def __init__(self, graph: Graph, W: Float64[np.ndarray, "d K"]) -> None:
        self.clean, self.W = graph, W
        self.degrees = graph.degrees.copy()
        self.neighbours = np.split(graph.adjacency.indices.astype(np.int64), graph.adjacency.indptr[1:-1])
        self.rows: dict[int, Row] = {}
        self.toggled: set[tuple[int, int]] = set()
        self.C: Float64[np.ndarray, "n K"] = np.asarray(graph.features @ W)
        self.Q = self.C / np.sqrt(1.0 + self.degrees)[:, None]
        self.S = self._sums(np.arange(graph.num_nodes))

    def copy(self) -> "LinearisedGCN":
        """A copy that can be changed on its own."""
        other = copy.copy(self)
        other.degrees, other.C, other.Q, other.S = (part.copy() for part in (self.degrees, self.C, self.Q, self.S))
        other.neighbours, other.rows, other.toggled = list(self.neighbours), dict(self.rows), set(self.toggled)
        return other

    def row(self, node: int) -> Row:
        """The current features of a node."""
        if node in self.rows:
            return self.rows[node]
        features = self.clean.features
        return features[node] if isinstance(features, np.ndarray) else features[[node]].toarray()[0]

    def reach(self, victim: int) -> tuple[Float64[np.ndarray, " n"], Float64[np.ndarray, " n"]]:
        """w_k = 1 / d̃_k for k in N[v], else 0; and P = (A + I) w, row v of Â² before it is scaled."""
        ball = np.append(self.neighbours[victim], victim)
        w = np.zeros(len(self.degrees))
        w[ball] = 1 / (1.0 + self.degrees[ball])
        near = np.concatenate([self.neighbours[node] for node in ball])
        return w, w + np.bincount(near, np.repeat(w[ball], self.degrees[ball]), minlength=len(w))

    def influence(self, victim: int, nodes: list[int]) -> list[float]:
        """[Â²]_{victim, node}: the victim's logits change by this times the change of each node's xW."""
        scale = np.sqrt((1.0 + self.degrees[victim]) * (1.0 + self.degrees[nodes]))
        return (self.reach(victim)[1][nodes] / scale).tolist()

    def logits(self, victim: int) -> Float64[np.ndarray, " K"]:
        """Row v of Â² X W."""
        return self._unscaled(victim) / np.sqrt(1.0 + self.degrees[victim])

    def steps(self, end: int) -> Int64[np.ndarray, " n"]:
        """The change of degree that a flip of the link to this end makes: +1 for a new neighbour, -1 for an old one."""
        step = np.ones_like(self.degrees)
        step[self.neighbours[end]] = -1
        return step

    def link_logits(self, victim: int, end: int, others: Positions) -> Float64[np.ndarray, "m K"]:
        """The victim's logits if the link between `end` (the victim, or any other node) and u were flipped, for each u.

        A flip changes d̃ and thus Q at both ends; S_k by ΔQ_end where k is a neighbour of `end`, and by ΔQ_u where k
        is one of u; S_end and S_u besides by the other's Q, which they gain or lose; and the weights w of both. In the
        victim's sum that leaves one coefficient each of S_u, C_u, S_end and C_end. `others` must not hold `end`, nor
        the victim.
        """
        (all_w, all_P), direct = self.reach(victim), end == victim
        step = self.steps(end)[others]
        gone = step < 0
        w, P, d = all_w[others], all_P[others], 1.0 + self.degrees[others]
        w_end, P_end, d_end = all_w[end], all_P[end], 1.0 + self.degrees[end]
        seen = ~gone if direct else w > 0  # u in N[victim], after the flip
        w_new, w_end_new = seen / (d + step), (w_end > 0) / (d_end + step)
        r, r_new, r_end, r_end_new = (1 / np.sqrt(degree) for degree in (d, d + step, d_end, d_end + step))

        # The coefficients of S_u, S_end, C_u and C_end.
        S_u, S_end = w_new - w, w_end_new - w_end
        C_u = (P - w - w_end * gone + w_new) * (r_new - r) + w_end_new * np.where(gone, -r, r_new)
        C_end = (P_end - w_end - w * gone + w_end_new) * (r_end_new - r_end) + w_new * np.where(gone, -r_end, r_end_new)
        ends = np.stack([S_end, C_end], axis=1) @ np.stack([self.S[end], self.C[end]])
        total = self._unscaled(victim) + ends + S_u[:, None] * self.S[others] + C_u[:, None] * self.C[others]
        return total / np.sqrt(1.0 + self.degrees[victim] + step * direct)[:, None]

    def flip_link(self, a: int, b: int) -> None:
        """Add the link between two nodes, or remove it."""
        step = -1 if self.linked(a, b) else 1
        for node, other in ((a, b), (b, a)):
            near = self.neighbours[node]
            index = int(np.searchsorted(near, other))
            self.neighbours[node] = np.insert(near, index, other) if step > 0 else np.delete(near, index)
        ends = np.array([a, b])
        self.degrees[ends] += step
        self.toggled ^= {(min(a, b), max(a, b))}
        self._refresh(ends)

    def set_row(self, node: int, row: Row) -> None:
        """Set the features of a node."""
        self.rows[node] = row
        present = np.flatnonzero(row)
        self.C[node] = row[present].astype(np.float64) @ self.W[present]
        self._refresh(np.array([node]))

    def linked(self, a: int, b: int) -> bool:
        """Whether there is a link between two nodes."""
        index = int(np.searchsorted(self.neighbours[a], b))
        return index < len(self.neighbours[a]) and int(self.neighbours[a][index]) == b

    def changes(self) -> Changes:
        """The difference from the clean graph."""
        pairs = np.array(sorted(self.toggled), dtype=np.int64).reshape(-1, 2)
        new = np.array([self.linked(a, b) for a, b in pairs.tolist()], dtype=bool)
        links = Changes(added=pairs[new], removed=pairs[~new])
        nodes = sorted(self.rows)
        if not nodes:
            return links
        values = sp.vstack([sp.csr_array(self.rows[node][None]) for node in nodes], format="csr")
        return dataclasses.replace(links, feature_rows=np.array(nodes), feature_values=sp.csr_array(values))

    def _unscaled(self, victim: int) -> Float64[np.ndarray, " K"]:
        """Σ_{k in N[v]} S_k / d̃_k."""
        ball = np.append(self.neighbours[victim], victim)
        return (self.S[ball] / (1.0 + self.degrees[ball])[:, None]).sum(axis=0)

    def _refresh(self, nodes: Positions) -> None:
        """Compute Q of these nodes and S of their neighbourhoods anew."""
        self.Q[nodes] = self.C[nodes] / np.sqrt(1.0 + self.degrees[nodes])[:, None]
        touched = np.unique(np.concatenate([nodes, *(self.neighbours[node] for node in nodes)]))
        self.S[touched] = self._sums(touched)

    def _sums(self, nodes: Positions) -> Float64[np.ndarray, "m K"]:
        """Rows of S = (A + I) Q; a row is always summed in the same order."""
        near = [self.neighbours[node] for node in nodes]
        starts = np.concatenate([[0], np.cumsum([len(one) for one in near])])
        columns = np.concatenate(near)
        pattern = sp.csr_array((np.ones(len(columns)), columns, starts), shape=(len(nodes), len(self.degrees)))
        return self.Q[nodes] + pattern @ self.Q
