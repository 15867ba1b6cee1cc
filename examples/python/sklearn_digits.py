"""Estimators of scikit-learn on tensors: handwritten digits by discriminant analysis: sklearn_digits.py [DEVICE]"""

import csv
import os
import sys
from pathlib import Path

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # before SciPy is imported, which scikit-learn asks for

import backplane as bp
import sklearn
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Ridge
from sklearn.metrics import accuracy_score, confusion_matrix, r2_score
from sklearn.preprocessing import StandardScaler

device = sys.argv[1] if len(sys.argv) > 1 else "cpu:0"
rows = [list(map(int, row)) for row in csv.reader(open(Path(__file__).parents[1] / "digits" / "digits.csv"))]
table = bp.tensor(rows, dtype=bp.float64).to(device)
pixels, digits = table[:, :64], table[:, 64].long()
held_out = bp.arange(len(rows), device=device) % 5 == 0
x, y, x_test, y_test = pixels[~held_out], digits[~held_out], pixels[held_out], digits[held_out]

with sklearn.config_context(array_api_dispatch=True):
    pca = PCA(n_components=20, svd_solver="full").fit(x)
    print(f"20 of 64 directions hold {pca.explained_variance_ratio_.sum().item():.1%} of the variance")
    lda = LinearDiscriminantAnalysis().fit(pca.transform(x), y)
    found = lda.predict(pca.transform(x_test))
    print(f"{accuracy_score(y_test, found):.1%} of {len(y_test)} held-out digits are read on {found.device}")
    print("right, digit by digit:", confusion_matrix(y_test, found).diagonal().tolist())
    scaler = StandardScaler().fit(x)
    ridge = Ridge(alpha=1.0, solver="svd").fit(scaler.transform(x), y.double())
    explained = r2_score(y_test.double(), ridge.predict(scaler.transform(x_test)))
    print(f"a ridge regression explains {explained:.3f} of the digit")
