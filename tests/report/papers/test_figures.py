import sys

import numpy as np
import pytest
from sklearn.decomposition import PCA

from nearspan.errors import ResourceError
from nearspan.report.papers.figures import bars, lines, load_matplotlib, scatter
from nearspan.report.papers.projection import principal, project


def test_a_scatter_has_a_title_for_each_point():
    svg = scatter(np.array([[0, 0], [1, 2], [2, 1]], dtype=np.float32), [1, 0, 1], ["<a>", "b", "$c_$"], "space")
    assert [part.split("<")[0] for part in svg.split("<title>")[1:]] == ["b", "&lt;a&gt;", "$c_$"]
    assert "http" not in svg
    assert 'id="figure' not in svg


def test_lines_have_the_ticks_and_levels_they_are_given():
    svg = lines(
        {1: {1.0: [60.0, 61.0], 0.125: [50.0]}}, "curve", ("share", "F1"), {0.125: "1/8", 1.0: "1"}, levels={1: 55.0}
    )
    assert ">1/8</text>" in svg
    assert "stroke-dasharray" in svg
    assert "var(--second)" in svg
    assert "var(--accent)" not in svg
    assert "currentColor" in svg


def test_the_axes_of_a_scatter_may_have_names():
    svg = scatter(
        np.eye(2, dtype=np.float32), [0, 0], ["", ""], "components", ["component 1: 60.0%", "component 2: 9%"]
    )
    assert ">component 1: 60.0%</text>" in svg
    assert ">component 2: 9%</text>" in svg


def test_bars_are_drawn_for_every_model_where_it_has_a_value():
    svg = bars(["1", "2", "11+"], [[80.0, 60.5, 0.0], [70.0, None, None]], "widths", "words")
    assert svg.count("var(--accent)") == 3
    assert svg.count("var(--second)") == 1
    assert all(f">{text}</text>" in svg for text in ("11+", "words", "F1"))
    assert 'aria-label="widths"' in svg


def test_the_same_points_give_the_same_figure():
    points = np.random.default_rng(0).normal(size=(9, 2)).astype(np.float32)
    assert scatter(points, [0] * 9, [""] * 9, "a") == scatter(points, [0] * 9, [""] * 9, "a")


def test_the_projection_is_the_same_each_time_and_takes_equal_vectors():
    vectors = np.random.default_rng(0).normal(size=(12, 4)).astype(np.float32)
    assert np.array_equal(project(vectors), project(vectors))
    assert np.isfinite(project(np.ones((8, 4), dtype=np.float32))).all()
    assert len(project(vectors[:2])) == 0


def test_principal_components_are_those_of_scikit_learn():
    vectors = np.random.default_rng(0).normal(size=(40, 7)).astype(np.float32) * np.arange(1, 8, dtype=np.float32)
    expected = PCA(2)
    points = expected.fit_transform(vectors)
    components = principal(vectors)
    assert components.explained == pytest.approx(expected.explained_variance_ratio_, abs=1e-5)
    signs = np.sign((points * components.points).sum(0))
    assert np.allclose(points * signs, components.points, atol=1e-3)


def test_principal_components_of_odd_vectors():
    assert principal(np.ones((8, 4), dtype=np.float32)).explained == (0, 0)
    narrow = principal(np.arange(6, dtype=np.float32)[:, None])
    assert narrow.explained == (1, 0)
    assert narrow.points.tolist() == [[i - 2.5, 0] for i in range(6)]
    assert len(principal(np.ones((4, 4), dtype=np.float32)).points) == 0


@pytest.mark.parametrize(
    ("package", "use"), [("matplotlib", load_matplotlib), ("sklearn.manifold", lambda: project(np.ones(1)))]
)
def test_a_missing_package_is_named_with_the_way_to_get_it(package, use, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ResourceError, match=r"pip install 'nearspan\[viz\]'"):
        use()
