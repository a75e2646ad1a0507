def test_the_demo_prints_its_table_and_leaves_one_page(gvdn, tmp_path):
    done = gvdn("demo", "--quick", "-o", "out")
    assert done.returncode == 0, done.stderr
    for word in (
        "random connections",
        "new nodes",
        "nothing",
        "Why not return yesterday's predictions?",
        "sparsity, links only",
        "sparsity, literal",
        "withheld",
        "snapshot",
    ):
        assert word in done.stdout
    page = (tmp_path / "out" / "report.html").read_text()
    assert page.count("<svg") == 4  # the rows of dots, the map, two panels of losses
    assert "4,809 nodes, 14,843 edges, 1,200 features and 9 classes" in page
    for outside in ("src=", "<link", "<img", 'href="http', "url(http"):
        assert outside not in page
