"""The cells of a grid that wait for a process, and the attacked graphs that several of them need."""

from collections import Counter

from gvdn.bench.perturbed import is_attack
from gvdn.perturbations import PERTURBATIONS
from gvdn.study import Cell, Task

Batch = list[Task]


class Waiting:
    """Batches of cells in the order given. With several workers, a graph that an attack makes for more than one batch
    is made first, by one process, and these batches wait for it: else each worker would make it.

    What makes a graph is a cell without modes: measuring it leaves the graph where the others look for it. If that
    fails, the batches that wait go on, and say why themselves.
    """

    def __init__(self, batches: list[Batch], *, share: bool) -> None:
        wanted = Counter(key for batch in batches for key in attacked_graphs(batch))
        self._to_make = {key for key, count in wanted.items() if share and count > 1}
        self._waiting: list[tuple[Batch, set[str]]] = []
        """Each batch with the graphs that it needs of those that are made for several."""
        makers: set[str] = set()
        for batch in batches:
            shared = {key: cell for key, cell in attacked_graphs(batch).items() if key in self._to_make}
            self._waiting += [([(cell, ())], set()) for key, cell in shared.items() if key not in makers]
            self._waiting.append((batch, set(shared)))
            makers |= shared.keys()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def next(self) -> Batch | None:
        """The first batch whose graphs are there; None where all have to wait."""
        for number, (batch, needs) in enumerate(self._waiting):
            if not self._to_make & needs:
                del self._waiting[number]
                return batch
        return None

    def ended(self, batch: Batch, left: Batch) -> None:
        """A process is done with a batch, or ended before it was; what it left is next."""
        if is_maker(batch):
            self._to_make -= attacked_graphs(batch).keys()
        if left:
            self._waiting.insert(0, (left, set()))  # its graphs were there when it began


def is_maker(batch: Batch) -> bool:
    """Whether a batch makes a graph and measures nothing."""
    return not any(modes for _, modes in batch)


def attacked_graphs(batch: Batch) -> dict[str, Cell]:
    """The name of each graph of a batch that an attack makes, and a cell that it belongs to."""
    cells = [cell for cell, _ in batch if cell.perturbation in PERTURBATIONS]
    return {cell.graph_key(): cell for cell in cells if is_attack(cell.perturbation)}
