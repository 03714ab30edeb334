"""The bundled model's graph without the work that nobody uses: 0.8 of the CPU for a passage, the same vectors.

Each text is embedded alone, so the attention mask is all ones, and adding it changes nothing; and of the last layer only
the first token is read, so the others need no query, attention or feed-forward there. An ONNX file is a Protocol Buffers
message; this edits it on the level of its fields, because the onnx package would be needed for nothing else.
The fields are those of onnx.proto: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
"""

from collections.abc import Iterator
from dataclasses import dataclass

Field = tuple[int, int | bytes]
"""A field's number, and its value: a number, or the bytes of a text or of a message."""

_GRAPH, _NODE, _INITIALIZER, _INPUT = 7, 1, 5, 11
_NODE_INPUT, _NODE_OUTPUT, _NODE_NAME, _NODE_OPERATION = 1, 2, 3, 4
_TENSOR_DIMENSION, _TENSOR_TYPE, _TENSOR_NAME, _TENSOR_BYTES = 1, 2, 8, 9
_VALUE_NAME = 1
_INT64 = 7
_VARINT, _BYTES = 0, 2
_CONTINUED = 0x80
_MASK_INPUT = "attention_mask"
_MASK_NODES = ("/Unsqueeze", "/Unsqueeze_1", "/Cast", "/Sub", "/Mul")
_LAST_LAYER = 11
_LAST = f"/encoder/layer.{_LAST_LAYER}"
_HIDDEN = f"/encoder/layer.{_LAST_LAYER - 1}/output/LayerNorm/Add_1_output_0"
_FIRST = "first_token"
# Start, end and axis of the slice that is the first token.
_SLICE = {"first_token_start": 0, "first_token_end": 1, "first_token_axis": 1}


@dataclass(slots=True)
class Node:
    inputs: list[str]
    outputs: list[str]
    name: str
    operation: str
    others: list[Field]

    @classmethod
    def parse(cls, message: bytes) -> "Node":
        texts: dict[int, list[str]] = {number: [] for number in range(_NODE_INPUT, _NODE_OPERATION + 1)}
        others: list[Field] = []
        for number, value in read_fields(message):
            if number in texts and isinstance(value, bytes):
                texts[number].append(value.decode())
            else:
                others.append((number, value))
        inputs, outputs, (name,), (operation,) = texts.values()
        return cls(inputs, outputs, name, operation, others)

    def encode(self) -> bytes:
        texts = [(_NODE_INPUT, name) for name in self.inputs]
        texts += [(_NODE_OUTPUT, name) for name in self.outputs]
        texts += [(_NODE_NAME, self.name), (_NODE_OPERATION, self.operation)]
        return write_fields([*((number, text.encode()) for number, text in texts), *self.others])


def reduce_graph(model: bytes) -> bytes:
    """The model without its attention mask, and with the first token alone in its last layer."""
    return write_fields(
        [
            (number, _reduce_fields(value) if number == _GRAPH and isinstance(value, bytes) else value)
            for number, value in read_fields(model)
        ]
    )


def _reduce_fields(graph: bytes) -> bytes:
    fields: list[Field] = []
    has_first_token = False
    for number, value in read_fields(graph):
        if number == _NODE and isinstance(value, bytes):
            node = Node.parse(value)
            if node.name in _MASK_NODES or _adds_mask(node):
                continue
            _reduce_node(node)
            if any(name.startswith(_FIRST) for name in node.inputs) and not has_first_token:
                fields += [(_NODE, each.encode()) for each in _build_first_token_nodes()]
                has_first_token = True
            fields.append((_NODE, node.encode()))
        elif not (number == _INPUT and isinstance(value, bytes) and _is_mask_input(value)):
            fields.append((number, value))
    return write_fields([*fields, *((_INITIALIZER, _encode_number(*each)) for each in _SLICE.items())])


def _adds_mask(node: Node) -> bool:
    return node.operation == "Add" and node.name.endswith("/attention/self/Add")


def _reduce_node(node: Node) -> None:
    if node.operation == "Softmax":
        node.inputs = [name.replace("/self/Add_output_0", "/self/Div_output_0") for name in node.inputs]
    elif node.name == f"{_LAST}/attention/self/query/MatMul_quant":
        node.inputs[0], node.inputs[2] = f"{_FIRST}_quantized", f"{_FIRST}_zero_point"
    elif node.name == f"{_LAST}/attention/self/query/MatMul_quant_scales_mul":
        node.inputs[0] = f"{_FIRST}_scale"
    elif node.name == f"{_LAST}/attention/output/Add":
        node.inputs[1] = _FIRST


def _build_first_token_nodes() -> list[Node]:
    quantized = [f"{_FIRST}_{part}" for part in ("quantized", "scale", "zero_point")]
    return [
        Node([_HIDDEN, *_SLICE], [_FIRST], "/first_token/Slice", "Slice", []),
        Node([_FIRST], quantized, "/first_token/DynamicQuantizeLinear", "DynamicQuantizeLinear", []),
    ]


def _is_mask_input(message: bytes) -> bool:
    return (_VALUE_NAME, _MASK_INPUT.encode()) in read_fields(message)


def _encode_number(name: str, number: int) -> bytes:
    """A tensor of one number."""
    return write_fields(
        [
            (_TENSOR_DIMENSION, 1),
            (_TENSOR_TYPE, _INT64),
            (_TENSOR_NAME, name.encode()),
            (_TENSOR_BYTES, number.to_bytes(8, "little", signed=True)),
        ]
    )


def read_fields(message: bytes) -> Iterator[Field]:
    at = 0
    while at < len(message):
        key, at = _read_number(message, at)
        number, wire_type = key >> 3, key & 7
        value, at = _read_number(message, at)
        if wire_type == _BYTES:
            yield number, message[at : at + value]
            at += value
        elif wire_type == _VARINT:
            yield number, value
        else:
            raise ValueError(f"Field {number} has the wire type {wire_type}, which is not expected here.")


def write_fields(fields: list[Field]) -> bytes:
    parts = []
    for number, value in fields:
        if isinstance(value, bytes):
            parts += [_write_number(number << 3 | _BYTES), _write_number(len(value)), value]
        else:
            parts += [_write_number(number << 3 | _VARINT), _write_number(value)]
    return b"".join(parts)


def _read_number(message: bytes, at: int) -> tuple[int, int]:
    """A number of seven bits per byte, the lowest first; and the place behind it."""
    number = shift = 0
    while True:
        byte = message[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < _CONTINUED:
            return number, at


def _write_number(number: int) -> bytes:
    encoded = bytearray()
    while number >= _CONTINUED:
        encoded.append(number & 0x7F | _CONTINUED)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)
