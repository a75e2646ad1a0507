"""What a page says of its records: missing runs, failures, datasets that are left out, origins."""

from collections import Counter
from collections.abc import Mapping

from gvdn.reports.joined import Joined, distinct
from gvdn.reports.tables import Entry, Line, Table, in_words

Study = Mapping[str, Joined]
"""Name of a spec -> the spec with its records."""


def missing_runs(study: Study) -> Table | None:
    """For each spec and dataset, how many runs have no record, and of which rows."""
    lines = []
    for joined in study.values():
        for dataset in joined.spec.datasets:
            mine = [one for one in joined.runs if one.dataset == dataset]
            absent = sum(len(one.missing) for one in mine)
            if absent:
                of = sum(one.asked for one in mine)
                bare = distinct(one.name for one in mine if one.missing)
                rows = "all rows" if absent == of else ", ".join(bare[:8]) + (" …" if len(bare) > 8 else "")
                lines.append(Line(dataset, [Entry(f"{absent:,} of {of:,}"), Entry(rows)], joined.spec.name))
    return Table("Runs without a record", ["missing", "rows"], lines, text=True) if lines else None


def graphs_left_out(study: Study) -> Table | None:
    """The datasets of other specs that a spec leaves out, and why."""
    datasets = distinct(dataset for joined in study.values() for dataset in joined.spec.datasets)
    lines = []
    for joined in study.values():
        absent = [dataset for dataset in datasets if dataset not in joined.spec.datasets]
        if absent:
            lines.append(Line(joined.spec.name, [Entry(", ".join(absent)), Entry(joined.spec.left_out)]))
    return Table("Datasets that a spec leaves out", ["datasets", "why"], lines, text=True) if lines else None


def failures(study: Study) -> Table | None:
    """Every failed run with its error; an error that several seeds share is listed once."""
    lines = []
    for joined in study.values():
        for one in joined.runs:
            for error in distinct(error for _, error in sorted(one.errors.items())):
                seeds = ", ".join(str(seed) for seed, text in sorted(one.errors.items()) if text == error)
                where = f"{one.dataset}, {one.name}, {one.mode}"
                lines.append(Line(where, [Entry(seeds), Entry(error)], joined.spec.name))
    return Table("Runs that failed", ["seeds", "error"], lines, text=True) if lines else None


def remark(joined: Joined) -> str:
    """How many seeds a dataset has where that is not the same on all; or ""."""
    spec = joined.spec
    counts: dict[int, list[str]] = {}
    for dataset in spec.datasets:
        counts.setdefault(len(spec.seeds_of(dataset)), []).append(dataset)
    told = ", ".join(f"{count} on {in_words(names)}" for count, names in counts.items())
    return f"Number of seeds: {told}." if len(counts) > 1 else ""


def origins(study: Study) -> Table:
    """Where the numbers come from: devices, versions, commits and seeds, with their numbers of records."""

    def counted(joined: Joined, name: str) -> Entry:
        found = Counter(getattr(record, name) or "unknown" for record in joined.records)
        return Entry(", ".join(f"{value} ({count:,})" for value, count in sorted(found.items())) or "–")

    names = ("device", "gvdn", "torch", "python", "commit")
    lines = []
    for joined in study.values():
        seeds = sorted({record.cell.seed for record in joined.records})
        count = Entry(f"{len(joined.records):,} of {sum(one.asked for one in joined.runs):,}")
        seen = Entry(", ".join(str(seed) for seed in seeds) or "–")
        lines.append(Line(joined.spec.name, [count, seen, *(counted(joined, name) for name in names)]))
    return Table("Where the numbers come from", ["runs", "seeds", *names], lines, text=True)
