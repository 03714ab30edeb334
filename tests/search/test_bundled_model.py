"""The graph of the bundled model was reduced at build time (tools/embedding_graph.py); its vectors stayed as they were."""

import numpy as np
import pytest

import embedding_graph
from commonplace.search.embed import OnnxModel
from commonplace.search.models import require_bundled_model

TEXTS = (
    "The retry queue is drained once a minute; a job that failed five times goes to the dead letters.",
    "How often are failed jobs tried again?",
    "def parse_config(path):\n    return tomllib.loads(path.read_text())",
    "The cat sat on the mat. " * 60,
)
# Of the model as its package has it.
COSINES_TO_FIRST = (1.0, 0.673, 0.380, 0.415)
LARGEST_QUANTIZATION_ERROR = 0.003


def test_reduced_model_computes_the_vectors_of_the_original():
    vectors = OnnxModel(require_bundled_model()).embed(TEXTS)
    assert vectors @ vectors[0] == pytest.approx(np.array(COSINES_TO_FIRST), abs=LARGEST_QUANTIZATION_ERROR)


def test_fields_are_written_as_they_were_read():
    fields = [(1, 300), (2, b"text"), (7, 2**40), (11, b"")]
    assert list(embedding_graph.read_fields(embedding_graph.write_fields(fields))) == fields


def test_node_that_nothing_concerns_is_written_as_it_was_read():
    node = embedding_graph.Node(["a", ""], ["b"], "/add", "Add", [(5, b"\x0a\x01k")])
    assert embedding_graph.Node.parse(node.encode()) == node
