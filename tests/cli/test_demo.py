def test_the_demo_tells_the_story_and_leaves_one_page(gvdn, tmp_path):
    done = gvdn("demo", "--quick", "-o", "out")
    assert done.returncode == 0, done.stderr
    for word in ("random connections", "sparsity, links only", "sparsity, literal", "unseen", "snapshot"):
        assert word in done.stdout
    page = (tmp_path / "out" / "report.html").read_text()
    assert page.count("<svg") == 2
    assert "three times as many" in page
    for outside in ("<script", "<link", "<img", 'href="http', "url(http"):
        assert outside not in page
