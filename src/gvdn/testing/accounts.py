"""Generated tables of accounts and payments, a few of them fraud, day by day: `python -m gvdn.testing.accounts FOLDER`.

What a user of a bank's or a shop's data has: text ids, categories, dates, truth values, missing numbers, free text,
weighted links, labels of some accounts that arrive with delay, accounts that come and go. What is generated is known,
so results can be compared with it; nothing here is data of anybody.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
from jaxtyping import Bool

from gvdn.seeds import generator

COUNTRIES = ("AT", "BE", "CH", "CZ", "DE", "DK", "ES", "FR", "IT", "NL", "PL", "SE")
RISKY = (3, 6, 10)
FIRST_DAY = np.datetime64("2026-03-01")
WANDERS = 5
"""Days after which new fraud comes from the next countries, so that an old model slowly becomes wrong."""
CHURN, LINKS_PER_ACCOUNT, LABELLED, ARRIVING = 0.01, 5, 0.6, 0.02


@dataclass(frozen=True, eq=False)
class Day:
    """The tables of one day, and what is true of every account, labelled or not."""

    nodes: pa.Table
    edges: pa.Table
    fraud: Bool[np.ndarray, " n"]

    def write(self, folder: Path) -> None:
        """Write `nodes.csv` and `edges.csv`."""
        folder.mkdir(parents=True, exist_ok=True)
        pacsv.write_csv(self.nodes, folder / "nodes.csv")
        pacsv.write_csv(self.edges, folder / "edges.csv")


def days(seed: int = 0, accounts: int = 3000, fraud: float = 0.03) -> Iterator[Day]:
    """One day after the other, without end: 1 % of the accounts and links change daily, 2 % of the labels arrive."""
    rng = generator(seed, "accounts")
    world = _World(rng, accounts, fraud)
    while True:
        yield world.today()
        world.night()


class _World:
    """All accounts there ever were; `there` are those of today."""

    def __init__(self, rng: np.random.Generator, accounts: int, fraud: float) -> None:
        self.rng, self.share, self.date = rng, fraud, FIRST_DAY
        self.columns: dict[str, np.ndarray] = {}
        self._join(accounts)
        self.pairs = self._links(np.repeat(np.arange(accounts), LINKS_PER_ACCOUNT))

    def today(self) -> Day:
        there = np.flatnonzero(self.columns["there"])
        part = {name: values[there] for name, values in self.columns.items()}
        label = np.where(part["labelled"], np.where(part["fraud"], "fraud", "legit"), "")
        device = pa.array(part["device_age"], mask=part["unknown"])
        nodes = {
            "id": part["id"],
            "label": pa.array(label, mask=label == ""),
            "country": np.array(COUNTRIES)[part["country"]],
            "opened": pa.array(part["opened"]),
            "amount": part["amount"],
            "verified": part["verified"],
            "device_age": device,
            "note": part["note"],
        }
        ids, pairs = self.columns["id"], self.pairs
        amounts = np.round(np.exp(np.sin(np.arange(len(pairs)) * 12.9898) * 1.2), 2) + 0.01
        edges = {"source": ids[pairs[:, 0]], "target": ids[pairs[:, 1]], "weight": amounts}
        return Day(pa.table(nodes), pa.table(edges), part["fraud"])

    def night(self) -> None:
        """Accounts leave and join, links are exchanged, labels arrive."""
        there = np.flatnonzero(self.columns["there"])
        number = max(1, round(CHURN * len(there)))
        self.columns["there"][self.rng.choice(there, number, replace=False)] = False
        self._join(number)
        stays = self.columns["there"][self.pairs].all(axis=1) & (self.rng.random(len(self.pairs)) >= CHURN)
        new = np.flatnonzero(self.columns["there"])[-number:]
        others = self.rng.choice(np.flatnonzero(self.columns["there"]), round(CHURN * len(self.pairs)))
        grown = self._links(np.concatenate([np.repeat(new, LINKS_PER_ACCOUNT), others]))
        self.pairs = np.unique(np.concatenate([self.pairs[stays], grown]), axis=0)
        late = np.flatnonzero(self.columns["there"] & ~self.columns["labelled"])
        self.columns["labelled"][late[self.rng.random(len(late)) < ARRIVING]] = True
        self.date = self.date + 1

    def _join(self, number: int) -> None:
        rng = self.rng
        first = len(self.columns.get("id", ()))
        fraud = rng.random(number) < self.share
        passed = int((self.date - FIRST_DAY).astype(int))
        risky = (np.array(RISKY) + passed // WANDERS) % len(COUNTRIES)
        country = np.where(fraud & (rng.random(number) < 0.6), rng.choice(risky, number), rng.integers(0, 12, number))
        words = rng.choice(["order", "refund", "invoice", "gift", "rent"], number)
        new = {
            "id": np.array([f"acc-{first + n:06d}" for n in range(number)]),
            "fraud": fraud,
            "labelled": (rng.random(number) < LABELLED) & (first == 0),
            "there": np.ones(number, dtype=bool),
            "country": country,
            "opened": self.date - rng.integers(1, np.where(fraud, 200, 2000)),
            "amount": np.round(np.exp(rng.normal(3 + 0.8 * fraud, 0.7)), 2),
            "verified": rng.random(number) < np.where(fraud, 0.4, 0.8),
            "device_age": np.round(rng.gamma(2, np.where(fraud, 60, 180)), 1),
            "unknown": rng.random(number) < 0.1,
            "note": np.array([f"{word} {first + n} of {rng.integers(10**6)}" for n, word in enumerate(words)]),
        }
        old = self.columns
        self.columns = {name: np.concatenate([old[name], part]) if old else part for name, part in new.items()}

    def _links(self, sources: np.ndarray) -> np.ndarray:
        """Payments: of half of the fraud to other fraud, of most others within the country; each pair once."""
        rng, columns = self.rng, self.columns
        there = np.flatnonzero(columns["there"])
        targets = rng.choice(there, len(sources))
        for fraud, share in ((True, 0.5), (False, 0.7)):
            chosen = (columns["fraud"][sources] == fraud) & (rng.random(len(sources)) < share)
            for key in (0,) if fraud else range(len(COUNTRIES)):
                group = there[columns["fraud"][there] if fraud else columns["country"][there] == key]
                mine = chosen if fraud else chosen & (columns["country"][sources] == key)
                if len(group):
                    targets[mine] = rng.choice(group, mine.sum())
        pairs = np.sort(np.stack([sources, targets], axis=1), axis=1)
        return np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)


def with_bots(day: Day, bots: int = 8, victims: int = 60, seed: int = 0) -> Day:
    """The day after a wave of spam: new accounts with huge amounts, each linked to all of the same victims."""
    rng = generator(seed, "accounts", "bots")
    hit = rng.choice(day.nodes.num_rows, victims, replace=False)
    names = [f"bot-{number}" for number in range(bots)]
    made = {
        "id": names,
        "label": pa.nulls(bots, pa.string()),
        "country": [COUNTRIES[0]] * bots,
        "opened": pa.array(np.full(bots, FIRST_DAY)),
        "amount": [1e6] * bots,
        "verified": [True] * bots,
        "device_age": [1e5] * bots,
        "note": [f"win {number}" for number in range(bots)],
    }
    ids = day.nodes["id"].to_numpy(zero_copy_only=False)[hit]
    links = {"source": np.repeat(names, victims), "target": np.tile(ids, bots), "weight": np.ones(bots * victims)}
    nodes = pa.concat_tables([day.nodes, pa.table(made).cast(day.nodes.schema)])
    edges = pa.concat_tables([day.edges, pa.table(links).cast(day.edges.schema)])
    return Day(nodes, edges, np.concatenate([day.fraud, np.zeros(bots, dtype=bool)]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the folder to write day1, day2, ... and attacked into")
    parser.add_argument("--days", type=int, default=2)
    parser.add_argument("--accounts", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    stream = days(given.seed, given.accounts)
    for number in range(1, given.days + 1):
        day = next(stream)
        day.write(given.folder / f"day{number}")
    with_bots(day, seed=given.seed).write(given.folder / "attacked")
    print(f"written: {given.folder} ({given.days} days and the last one attacked)")  # noqa: T201


if __name__ == "__main__":
    main()
