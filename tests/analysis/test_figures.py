import sys

import numpy as np
import pytest

from nearspan.analysis.figures import lines, require, scatter
from nearspan.analysis.projection import project
from nearspan.analysis.sizes import Point
from nearspan.errors import ResourceError


def test_a_scatter_has_a_title_for_each_point():
    svg = scatter(np.array([[0, 0], [1, 2], [2, 1]], dtype=np.float32), [1, 0, 1], ["<a>", "b", "$c_$"], "space")
    assert [part.split("<")[0] for part in svg.split("<title>")[1:]] == ["b", "&lt;a&gt;", "$c_$"]
    assert "http" not in svg
    assert 'id="figure' not in svg


def test_a_curve_writes_shares_as_text():
    points = [Point("m", share, 8, seed, share + seed / 10, 0.5, 0.5) for share in (1.0, 0.125) for seed in (0, 1)]
    svg = lines(points, ["m"])
    assert ">1/8</text>" in svg
    assert "currentColor" in svg


def test_the_same_points_give_the_same_figure():
    points = np.random.default_rng(0).normal(size=(9, 2)).astype(np.float32)
    assert scatter(points, [0] * 9, [""] * 9, "a") == scatter(points, [0] * 9, [""] * 9, "a")


def test_the_projection_is_the_same_each_time_and_takes_equal_vectors():
    vectors = np.random.default_rng(0).normal(size=(12, 4)).astype(np.float32)
    assert np.array_equal(project(vectors), project(vectors))
    assert np.isfinite(project(np.ones((8, 4), dtype=np.float32))).all()
    assert len(project(vectors[:2])) == 0


@pytest.mark.parametrize(
    ("package", "use"), [("matplotlib", require), ("sklearn.manifold", lambda: project(np.ones(1)))]
)
def test_a_missing_package_is_named_with_the_way_to_get_it(package, use, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ResourceError, match=r"pip install 'nearspan\[viz\]'"):
        use()
