"""The normalised adjacency Â and the row normalisation of features."""

import numpy as np
import scipy.sparse as sp

from gvdn.graph.graph import Features, Graph


def normalised_adjacency(graph: Graph) -> sp.csr_array:
    """Â = D̃^-1/2 (A + I) D̃^-1/2, D̃ = D + I (Eq. 1), with the weights in A and their sums in D.

    An isolated node keeps its loop, of weight 1, so nothing divides by zero.
    """
    scale = ((1.0 + graph.strengths) ** -0.5).astype(np.float32)
    made = sp.csr_array(graph.adjacency + sp.eye_array(graph.num_nodes, dtype=np.float32, format="csr"))
    made.data *= np.repeat(scale, np.diff(made.indptr))
    made.data *= scale[made.indices]
    return made


def row_normalised(features: Features) -> Features:
    """Each row divided by its sum; a row of zeros stays zero."""
    sums = np.asarray(features.sum(axis=1), dtype=np.float64).ravel()
    scale = np.divide(1.0, sums, out=np.zeros_like(sums), where=sums != 0).astype(np.float32)
    if isinstance(features, np.ndarray):
        return features * scale[:, None]
    return sp.csr_array(sp.diags_array(scale) @ features)
