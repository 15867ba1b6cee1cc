"""examples/tour.ipynb: run again, each cell prints what the notebook says. BP_ACCEPT=1 writes the present outputs."""

import base64
import os
import re
from pathlib import Path

import pytest

nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
for needed in ("ipykernel", "matplotlib"):
    pytest.importorskip(needed)

TOUR = Path(__file__).parents[3] / "examples/tour.ipynb"
NUMBER = re.compile(r"-?\d+\.\d*(?:e[-+]?\d+)?")


def text_of(output):
    assert output["output_type"] in ("stream", "execute_result", "display_data"), output
    if output["output_type"] == "stream":
        assert output["name"] == "stdout", output["text"]
        return output["text"]
    return output["data"].get("text/plain", "")


def pictures_of(cell):
    """The sizes of its pictures, as PNG says them."""
    shown = [each.get("data", {}) for each in cell.get("outputs", [])]
    data = [base64.b64decode(each["image/png"]) for each in shown if "image/png" in each]
    return [(int.from_bytes(each[16:20], "big"), int.from_bytes(each[20:24], "big")) for each in data]


def written(notebook):
    """What differs from run to run is left out."""
    for index, cell in enumerate(notebook.cells):
        cell["metadata"] = {}
        cell["id"] = f"cell-{index}"
    notebook.metadata["language_info"] = {"name": "python"}
    nbformat.write(notebook, TOUR)


def test_every_cell_prints_what_the_notebook_says():
    notebook, shown = nbformat.read(TOUR, 4), nbformat.read(TOUR, 4)
    place = {"metadata": {"path": TOUR.parent}}
    nbclient.NotebookClient(notebook, timeout=100, kernel_name="python3", resources=place).execute()
    if os.environ.get("BP_ACCEPT"):
        return written(notebook)
    for cell, before in zip(notebook.cells, shown.cells, strict=True):
        found, expected = ("".join(map(text_of, each.get("outputs", []))) for each in (cell, before))
        assert NUMBER.sub("#", found) == NUMBER.sub("#", expected), cell["source"]
        numbers = [list(map(float, NUMBER.findall(each))) for each in (found, expected)]
        assert numbers[0] == pytest.approx(numbers[1], rel=0.02, abs=1e-3), cell["source"]
        assert len(pictures_of(cell)) == len(pictures_of(before)), cell["source"]


def test_the_notebook_has_outputs_and_pictures():
    shown = nbformat.read(TOUR, 4)
    code = [cell for cell in shown.cells if cell["cell_type"] == "code"]
    assert sum(bool(cell["outputs"]) for cell in code) >= 10
    sizes = [size for cell in code for size in pictures_of(cell)]
    assert len(sizes) >= 3 and all(width > 200 and height > 50 for width, height in sizes)
    assert TOUR.stat().st_size < 200_000
