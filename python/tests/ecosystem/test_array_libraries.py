"""Functions of SciPy, scikit-learn and xarray on our tensors: the results are tensors on the same device, with the values
that NumPy's arrays get; and the examples that show it."""

import os

os.environ["SCIPY_ARRAY_API"] = "1"  # before SciPy is imported

import re
import subprocess
import sys
from pathlib import Path

import pytest

scipy, sklearn, xr = (pytest.importorskip(name) for name in ("scipy", "sklearn", "xarray"))
import backplane as bp  # noqa: E402
import numpy as np  # noqa: E402
from scipy import cluster, fft, integrate, ndimage, signal, spatial, special, stats  # noqa: E402
from sklearn import decomposition, discriminant_analysis, linear_model, metrics, mixture, preprocessing  # noqa: E402

EXAMPLES = Path(__file__).parents[3] / "examples/python"
DEVICES = ["cpu:0", "reference:0"]
TABLE = np.random.default_rng(3).standard_normal((40, 6))
LABELS = np.arange(40) % 3


def array_of(found):
    return found.cpu().numpy() if isinstance(found, bp.Tensor) else np.asarray(found)


def same(call, *arrays, device, is_tensor=True):
    """`call` gives for tensors on the device what it gives for NumPy's arrays."""
    expected = call(*arrays)
    with bp.device(device):  # where libraries make what they need
        found = call(*(bp.tensor(each, device=device) for each in arrays))
    if is_tensor:
        assert isinstance(found, bp.Tensor) and str(found.device) == device, type(found)
    np.testing.assert_allclose(array_of(found), expected, rtol=1e-6, atol=1e-9)


SCIPY = {
    "logsumexp": lambda x: special.logsumexp(x, axis=0),
    "softmax": lambda x: special.softmax(x, axis=1),
    "erf": special.erf,
    "expit": special.expit,
    "xlogy": lambda x: special.xlogy(x * x, x * x),
    "rfftn": fft.rfftn,
    "ifft": fft.ifft,
    "detrend": lambda x: signal.detrend(x, axis=0),
    "hilbert": lambda x: signal.hilbert(x, axis=0),
    "fftconvolve": lambda x: signal.fftconvolve(x[:, 0], x[:5, 1]),
    "zscore": stats.zscore,
    "skew": stats.skew,
    "kurtosis": stats.kurtosis,
    "variation": stats.variation,
    "ttest_ind": lambda x: stats.ttest_ind(x[:, 0], x[:, 1]).pvalue,
    "pearsonr": lambda x: stats.pearsonr(x[:, 0], x[:, 1]).statistic,
    "gmean": lambda x: stats.gmean(x * x),
    "whiten": cluster.vq.whiten,
    "kmeans2": lambda x: cluster.vq.kmeans2(x, x[:3])[0],
    "trapezoid": lambda x: integrate.trapezoid(x, axis=0),
    "gaussian_filter": lambda x: ndimage.gaussian_filter(x, 1.0),
    "rotation": lambda x: spatial.transform.Rotation.from_rotvec(x[:5, :3]).as_matrix(),
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", SCIPY)
def test_scipy(name, device):
    if device != "cpu:0" and name in ("gaussian_filter", "kmeans2", "rotation", "detrend", "erf", "expit", "xlogy"):
        pytest.skip("compiled code of SciPy's, which works in the host's memory")
    same(SCIPY[name], TABLE, device=device)


SKLEARN = {
    "pca": lambda x, y: decomposition.PCA(3, svd_solver="full").fit(x).explained_variance_,
    "pca_covariance": lambda x, y: abs(decomposition.PCA(3, svd_solver="covariance_eigh").fit_transform(x)),
    "lda": lambda x, y: discriminant_analysis.LinearDiscriminantAnalysis().fit(x, y).predict(x),
    "ridge": lambda x, y: linear_model.Ridge(solver="svd").fit(x, x[:, 0]).predict(x),
    "standard_scaler": lambda x, y: preprocessing.StandardScaler().fit_transform(x),
    "min_max_scaler": lambda x, y: preprocessing.MinMaxScaler().fit_transform(x),
    "polynomial": lambda x, y: preprocessing.PolynomialFeatures().fit_transform(x),
    "confusion": lambda x, y: metrics.confusion_matrix(y, y),
    "distances": lambda x, y: metrics.pairwise.rbf_kernel(x),
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", SKLEARN)
def test_scikit_learn(name, device):
    with sklearn.config_context(array_api_dispatch=True):
        same(SKLEARN[name], TABLE, LABELS, device=device, is_tensor=name != "confusion")


def test_scikit_learn_mixture_and_scores():
    with sklearn.config_context(array_api_dispatch=True):
        x, y = bp.tensor(TABLE), bp.tensor(LABELS)
        found = mixture.GaussianMixture(2, init_params="random_from_data", random_state=0).fit_predict(x)
        assert isinstance(found, bp.Tensor) and metrics.accuracy_score(y, y) == 1.0


XARRAY = {
    "arithmetic": lambda a: 1 + a * a - a.isel(x=0),
    "mean": lambda a: a.mean("x", skipna=False),
    "sum": lambda a: a.sum("x"),
    "max": lambda a: a.max(skipna=False),
    "argmax": lambda a: a.argmax("x", skipna=False),
    "transposed": lambda a: a.transpose("y", "x") + a.mean("y", skipna=False),
    "selected": lambda a: a.sel(y=30).isel(x=slice(None, None, 2)),
    "where": lambda a: a.where(a > 0, 0.0),
    "concatenated": lambda a: xr.concat([a, a], "x"),
    "stacked": lambda a: a.stack(z=("x", "y")),
    "rolled": lambda a: a.roll(y=1),
    "dot": lambda a: xr.dot(a, a, dim="y"),
    "clip": lambda a: a.clip(-1, 1),
    "astype": lambda a: a.astype("float32"),
    "diff": lambda a: a.diff("y"),
    "isnull": lambda a: a.isnull(),
    "weighted": lambda a: a.weighted(a[0] * 0 + 1).sum("y", skipna=False),
    "dataset": lambda a: xr.Dataset({"a": a}).mean("x", skipna=False)["a"],
    "grouped": lambda a: a.groupby("y").mean(skipna=False),
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", XARRAY)
def test_xarray(name, device):
    def call(values):
        made = XARRAY[name](xr.DataArray(values, dims=("x", "y"), coords={"y": [10, 20, 30, 40, 50, 60]}))
        dims[type(values)] = made.dims
        return made.data

    dims = {}
    same(call, TABLE, device=device)
    assert dims[np.ndarray] == dims[bp.Tensor]


SIGNAL = [r"\[20, 55\] of Tensor", r"\[\[-4, -4\], \[0, 0\], \[4, 4\]\]", r"3\.1415926536"]
WEATHER = [r"Tensor on {device}", r"summer is (1[89]|20) degrees", r"in kelvin: 28\d\.\d backplane.float32"]


@pytest.mark.parametrize(
    "program, device, lines",
    [
        ("scipy_functions.py", "cpu:0", SIGNAL),
        ("sklearn_digits.py", "cpu:0", [r"9[3-9]\.\d% of 360 held-out digits are read on {device}", r"explains 0\.[56]"]),
        ("xarray_weather.py", "cpu:0", WEATHER),
        ("xarray_weather.py", "reference:0", WEATHER),
    ],
)
def test_examples(program, device, lines):
    run = subprocess.run([sys.executable, EXAMPLES / program, device], capture_output=True, text=True, timeout=100)
    assert run.returncode == 0, run.stderr
    for line in lines:
        assert re.search(line.format(device=device), run.stdout), run.stdout
