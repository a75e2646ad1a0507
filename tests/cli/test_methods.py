import dataclasses
import json

import pytest

from gvdn.methods.contract import METHODS

BOTH = "evasion, poisoning"
LISTED = {
    "gcn-jaccard": ("no", BOTH, "embed"),
    "gcn-svd": ("no", BOTH, "embed"),
    "dropedge": ("no", BOTH, "embed"),
    "grand": ("no", BOTH, "embed"),
    "rgcn": ("no", BOTH, "embed"),
    "prognn": ("yes", BOTH, "embed"),
    "mc-dropout": ("no", BOTH, "embed, uncertainty"),
    "graphss": ("yes", BOTH, "recover, embed"),
    "lindt": ("yes", BOTH, "recover, embed"),
    "gpr-gae": ("no", "evasion", "embed"),
    "gnnguard": ("no", BOTH, "embed"),
    "airgnn": ("no", BOTH, "embed"),
    "elastic-gnn": ("no", BOTH, "embed"),
    "soft-median-gdc": ("no", BOTH, "embed"),
    "adversarial-training": ("no", BOTH, "embed"),
    "gtrans": ("no", "evasion", "recover, embed"),
    "gvdn": ("yes", BOTH, "recover, embed, uncertainty, diagnose"),
    "gcn": ("no", BOTH, "embed"),
    "gcn-retrained": ("no", "poisoning", "recover, embed"),
    "mlp": ("no", BOTH, "embed"),
    "snapshot": ("yes", "evasion", "embed, diagnose"),
}
PAPERS = {
    "gcn-jaccard": ("Wu", "2019"),
    "gcn-svd": ("Entezari", "2020"),
    "dropedge": ("Rong", "2020"),
    "grand": ("Feng", "2020"),
    "rgcn": ("Zhu", "2019"),
    "prognn": ("Jin", "2020"),
    "mc-dropout": ("Gal and Ghahramani", "2016"),
    "graphss": ("Zhuang and Al Hasan", "2022"),
    "lindt": ("Zhuang and Al Hasan", "2022"),
    "gpr-gae": ("Lee and Park", "2025"),
    "gnnguard": ("Zhang and Zitnik", "2020"),
    "airgnn": ("Liu", "2021"),
    "elastic-gnn": ("Liu", "2021"),
    "soft-median-gdc": ("Geisler", "2021"),
    "adversarial-training": ("Gosch", "2023"),
    "gtrans": ("Jin", "2023"),
    "gvdn": ("Zhuang and Al Hasan", "2024"),
    "gcn": ("Kipf and Welling", "2017"),
}


def test_twenty_one_methods_are_listed_with_what_each_was_given(gvdn):
    done = gvdn("methods")
    assert (done.returncode, done.stderr) == (0, "")
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    for name, (snapshot, threats, can) in LISTED.items():
        assert lines.count(f"{name} {snapshot} {threats} {can}") == 1, name
    assert "snapshot threat models can" in lines
    rows = lines[next(number for number, line in enumerate(lines) if line.startswith("──")) + 1 :]
    assert len([row for row in rows if row.split(" ")[0] in METHODS]) == len(LISTED) == len(METHODS) == 21


def test_the_list_for_a_program_says_the_same(inside):
    found = json.loads(inside("methods", "--json").stdout)
    said = {
        name: ("yes" if about["snapshot"] else "no", ", ".join(about["threat_models"]), ", ".join(about["can"]))
        for name, about in found.items()
    }
    assert said == LISTED


@pytest.mark.parametrize("name", list(LISTED))
def test_the_settings_for_a_program_are_those_that_the_method_takes(inside, name):
    found = json.loads(inside("methods", name, "--json").stdout)
    assert list(found) == [name]
    assert set(found[name]["settings"]) == {field.name for field in dataclasses.fields(METHODS[name])}
    assert METHODS[name](**found[name]["settings"]).get_params() == found[name]["settings"]
    for dataset, changes in found[name]["per_dataset"].items():
        assert METHODS[name].preset(dataset).get_params() == found[name]["settings"] | changes


@pytest.mark.parametrize("name", list(LISTED))
def test_one_method_is_explained_with_every_setting_and_its_default(inside, name):
    done = inside("methods", name)
    assert (done.returncode, done.stderr) == (0, "")
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert lines[0] == name
    for field in dataclasses.fields(METHODS[name]):
        assert f"{field.name} {'–' if field.default is None else field.default}" in lines


@pytest.mark.parametrize("name", list(PAPERS))
def test_a_published_method_names_its_paper(inside, name):
    authors, year = PAPERS[name]
    text = " ".join(inside("methods", name).stdout.split())
    assert authors in text
    assert year in text


def test_a_setting_with_brackets_is_not_taken_for_a_colour(inside):
    for name in LISTED:
        text = json.loads(inside("methods", name, "--json").stdout)[name]["text"]
        shown = "".join(inside("methods", name).stdout.split())
        assert "".join(text.split()) in shown


def test_the_printed_settings_of_a_dataset_are_shown(inside):
    lines = inside("methods", "mc-dropout").stdout.splitlines()
    assert "cora: dropout=0.7" in lines
    assert "pubmed: dropout=0.5 (the paper prints dropout=0.9)" in lines
    assert not any(line.startswith("debian:") for line in lines)


@pytest.mark.parametrize(("wrong", "right"), [("grnad", "grand"), ("GVDN", None), ("gcnsvd", "gcn-svd"), ("zzz", None)])
@pytest.mark.parametrize("more", [[], ["--json"]])
def test_an_unknown_method_is_one_line_with_a_suggestion(inside, wrong, right, more):
    done = inside("methods", wrong, *more)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert f"error: unknown method {wrong!r};" in done.stderr
    if right:
        assert f"did you mean {right!r}?" in done.stderr
    assert "known: gcn-jaccard, gcn-svd, dropedge" in done.stderr


def test_the_perturbations_are_listed_and_one_is_explained_with_its_settings(inside):
    from gvdn.perturbations import PERTURBATIONS

    assert all(f" {name} " in inside("perturbations").stdout for name in PERTURBATIONS)
    found = json.loads(inside("perturbations", "--json").stdout)
    assert {name: about["settings"] for name, about in found.items()} == {
        name: member.settings for name, member in PERTURBATIONS.items()
    }
    lines = [" ".join(line.split()) for line in inside("perturbations", "nettack").stdout.splitlines()]
    assert "link_flips 2" in lines
    assert "target –" in lines


def test_an_unknown_perturbation_is_one_line_with_a_suggestion(inside):
    done = inside("perturbations", "nettak")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "unknown perturbation 'nettak'; did you mean 'nettack'?" in done.stderr


@pytest.mark.parametrize("words", [("recover",), ("bench", "status")])
def test_the_lines_of_a_help_are_broken_by_the_terminal_alone(words, gvdn):
    shown = gvdn(*words, "--help", env={"COLUMNS": "76"}).stdout.split("╭")[0].splitlines()
    paragraphs = "\n".join(line.strip() for line in shown).strip().split("\n\n")
    broken = [line for part in paragraphs for line in part.splitlines()[:-1]]  # the last line of each may be short
    assert len(broken) >= 5
    assert min(map(len, broken)) > 55
