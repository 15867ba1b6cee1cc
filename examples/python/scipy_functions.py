"""SciPy's functions on tensors: signals, statistics, clusters, integrals: scipy_functions.py [DEVICE]"""

import os
import sys

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # before SciPy is imported: it takes any arrays of the standard then

import backplane as bp
from scipy import cluster, differentiate, fft, integrate, signal, special, stats

device = sys.argv[1] if len(sys.argv) > 1 else "cpu:0"
f64 = bp.float64

with bp.device(device):
    time = bp.arange(512, dtype=f64) / 512
    bp.manual_seed(4)
    noisy = bp.sin(2 * bp.pi * 20 * time) + 0.5 * bp.sin(2 * bp.pi * 55 * time) + 0.4 * bp.randn(512, dtype=f64)

spectrum = fft.rfft(noisy).abs()
print("the loudest frequencies:", sorted(spectrum.topk(2).indices.tolist()), "of", type(spectrum).__name__)
envelope = signal.hilbert(signal.detrend(noisy)).abs()
print(f"mean of the envelope: {envelope.mean().item():.3f}")

halves = noisy[:256], noisy[256:]
test = stats.ttest_ind(*halves)
print(f"do the halves differ? p = {test.pvalue.item():.3f}; skewness {stats.skew(noisy).item():.3f}")
print(f"log of the sum of exponentials: {special.logsumexp(noisy).item():.4f}")

points = bp.cat([bp.randn(50, 2, dtype=f64) + shift for shift in (-4, 0, 4)]).to(device)
centers, _ = cluster.vq.kmeans2(points, points[[0, 50, 100]])
print("centers of three clouds:", [[round(x) for x in row] for row in centers.tolist()])

bell = integrate.tanhsinh(lambda x: bp.exp(-x * x), bp.tensor(-6.0, dtype=f64), bp.tensor(6.0, dtype=f64)).integral
print(f"the bell's area, squared: {bell.item() ** 2:.10f}")
slope = differentiate.derivative(bp.sin, bp.linspace(0, 1, 3, dtype=f64)).df
print(f"the sine's slope: {', '.join(f'{each:.8f}' for each in slope.tolist())}")
