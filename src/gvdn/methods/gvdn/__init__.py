"""Graph Variational Diffusion Network (Zhuang and Al Hasan, AAAI 2024): the model, its objective and its recovery."""

from gvdn.methods.gvdn.model import GVDN as GVDN
