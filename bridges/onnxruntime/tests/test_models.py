"""Whole nets give what ONNX Runtime's CPU gives, without it."""

import backplane as bp
import backplane_onnxruntime
import models
import numpy
import pytest
import sentence_encoder


def found(row):
    file = models.path_of(row)
    if not file:
        pytest.skip(f"{row['file'].split('/')[0]} is missing, which ./dev test --full installs (dependencies/pip-onnx-models.txt)")
    return file


@pytest.mark.parametrize("row", models.rows(), ids=lambda row: row["name"])
def test_whole_nets(row):
    file = found(row)
    has_branches = row["name"] == "silero_vad"  # which stay with ONNX Runtime
    theirs, ours = models.session_of(file, ""), models.session_of(file, "cpu:0", strict=not has_branches)
    assert not has_branches or all("it has graphs of its own" in each for each in backplane_onnxruntime.unserved())
    feeds = models.inputs_of(theirs, file)
    expected = theirs.run(None, feeds)
    if models.is_light(file):
        assert len(set(expected[-1].ravel().tolist())) > 100  # else any net would give it
    assert models.difference(ours.run(None, feeds), expected) <= models.TOLERANCE


def test_sentences_of_any_length_have_the_vectors_of_onnx_runtime_and_of_our_own_encoder():
    file = found(next(row for row in models.rows() if row["name"] == "sentence_encoder"))
    theirs, ours = models.session_of(file, ""), models.session_of(file, "cpu:0", strict=True)
    native, lines = sentence_encoder.sentences().load_encoder(file.parent), sentence_encoder.lines()
    for texts in (lines[:1], ["a"], [" ".join(lines[:60]), "yes"], lines[:20]):
        feeds = sentence_encoder.feeds_of(file, texts)
        vectors = ours.run(None, feeds)
        assert models.difference(vectors, theirs.run(None, feeds)) <= models.TOLERANCE
        pieces = bp.tensor(feeds["input_ids"].tolist())
        with bp.inference_mode():
            assert numpy.abs(numpy.array(native(pieces, pieces != 0).tolist()) - vectors[0]).max() <= 1e-5
