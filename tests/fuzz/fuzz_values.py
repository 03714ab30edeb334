"""Random values: what a schema allows, what lies just beside it, and what no schema expects. All from one seed."""

import json
import random
from typing import Any

Schema = dict[str, Any]

HOSTILE_TEXTS = (
    "", " ", "\0", "\n", "\r\n", "\ud800", "\ufeff", "\u202e" + "gnp.exe", "²", "٣", "-0", "1e999", "NaN", "null", "true",
    "'", '"', "\\", "`", "%", "_", "*", "?", "[", "]", "{", "}", "()", "a" * 300, "é" * 70_000, "../../etc/passwd", "C:\\x",
    "con", ".", "..", "/", "//", "~", "$HOME", "a/../b", "{{x}}", "%s%n", "'; drop table audit; --", "<script>", "\x1b[2J",
    "[" * 200, "(" * 200, "(a+)+$", "(?=x)", "a{1000000}", "\\", "[z-a]", "(?P<n>", "**/**/**/**", "[!", "{a,b", "a" * 64 + "!",
    "🧑‍💻" * 20, "A\u0300" * 50, "\u0130", "ß", "ﬀ", "\u1e9e", "9" * 25, "9" * 5000, "-" + "9" * 25, "0x10", "1_000", " 1", "+1",
    "2026-01-15T08:00:00Z", "0000-00-00", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59+00:00:01", "0001-01-01T00:00:00+23:59",
    '["a"]', "[1]", '{"a":1}', "[" * 5000, "memory://x", "doc_0000000000", "msg_1", "session_1", "#0", "#99999999999999999999",
)  # fmt: skip
HOSTILE_NUMBERS = (0, -1, 1, 2**31, 2**53, 2**63 - 1, -(2**63), 2**63, 1e308, -0.0, 1.5, 1e-320)
_MAX_DEPTH = 4


class ValueMaker:
    """`known` has values that exist in the server, by the name of the argument that takes them."""

    def __init__(self, seed: int, known: dict[str, list[Any]] | None = None) -> None:
        self.dice = random.Random(seed)
        self.known = known or {}

    def make_text(self) -> str:
        dice = self.dice
        if dice.random() < 0.5:
            return dice.choice(HOSTILE_TEXTS)
        if dice.random() < 0.5:
            return dice.choice(HOSTILE_TEXTS) + dice.choice(HOSTILE_TEXTS)
        letters = [chr(dice.choice((dice.randint(1, 127), dice.randint(1, 0xD7FF), dice.randint(0x1F300, 0x1F600)))) for _ in range(dice.randint(1, 30))]  # fmt: skip
        return "".join(letters)

    def make_json(self, depth: int = 0) -> Any:
        dice = self.dice
        kind = dice.randint(0, 7 if depth < _MAX_DEPTH else 5)
        if kind <= 2:
            return self.make_text()
        if kind == 3:
            return dice.choice(HOSTILE_NUMBERS)
        if kind <= 5:
            return dice.choice((None, True, False))
        if kind == 6:
            return [self.make_json(depth + 1) for _ in range(dice.randint(0, 4))]
        return {self.make_text(): self.make_json(depth + 1) for _ in range(dice.randint(0, 4))}

    def make_value(self, schema: Schema, name: str = "") -> Any:  # noqa: PLR0911 - one for each kind
        """A value of this schema; one in eight is anything else."""
        dice = self.dice
        if name == "wait_seconds":
            return dice.choice((0, 0, 0, -1, "x", 2**63))
        if self.known.get(name) and dice.random() < 0.6:
            return dice.choice(self.known[name])
        if dice.random() < 0.12:
            return self.make_json()
        choices = schema.get("anyOf") or schema.get("oneOf")
        if choices:
            return self.make_value(dice.choice(choices), name)
        if "enum" in schema:
            return dice.choice(schema["enum"])
        if "const" in schema:
            return schema["const"]
        return self._make_typed(schema, name)

    def _make_typed(self, schema: Schema, name: str) -> Any:  # noqa: PLR0911 - the same
        dice = self.dice
        match schema.get("type"):
            case "string":
                longest = schema.get("maxLength", 100)
                if dice.random() < 0.05:
                    return "x" * min(dice.choice((longest, longest + 1)), 2_000_000)
                return self.make_text() if dice.random() < 0.5 else f"shop {dice.randint(0, 50)}"[:longest]
            case "integer" | "number":
                low, high = schema.get("minimum", -5), schema.get("maximum", 1000)
                return dice.choice((low, high, low - 1, high + 1, dice.randint(int(low), int(high)), str(high), dice.choice(HOSTILE_NUMBERS)))  # fmt: skip
            case "boolean":
                return dice.choice((True, False, "true", 1))
            case "array":
                return [self.make_value(schema.get("items", {}), name) for _ in range(dice.choice((0, 1, 1, 2, 5)))]  # fmt: skip
            case "object":
                properties = schema.get("properties")
                return self.make_arguments(schema) if properties else {self.make_text(): self.make_json()}
        return self.make_json()

    def make_arguments(self, schema: Schema) -> dict[str, Any]:
        """Arguments of an operation: the required ones nearly always, some of the others, seldom a strange one."""
        required = set(schema.get("required", ()))
        arguments = {
            name: self.make_value(kind, name)
            for name, kind in schema.get("properties", {}).items()
            if self.dice.random() < (0.95 if name in required else 0.35)
        }
        if (
            "session_id" in schema.get("properties", {})
            and self.dice.random() < 0.8
            and self.known.get("session_id")
        ):
            arguments["session_id"] = self.dice.choice(self.known["session_id"])
        if self.dice.random() < 0.03:
            arguments[self.make_text()] = self.make_json()
        return arguments

    def damage(self, text: bytes) -> bytes:
        """The same bytes with a few of them changed, removed, repeated or cut off."""
        dice, data = self.dice, bytearray(text)
        for _ in range(dice.randint(1, 6)):
            place = dice.randrange(len(data) + 1)
            match dice.randint(0, 4):
                case 0:
                    data[place : place + 1] = bytes([dice.randrange(256)])
                case 1:
                    del data[place : place + dice.randint(1, 20)]
                case 2:
                    data[place:place] = data[place : place + dice.randint(1, 40)] * dice.randint(1, 20)
                case 3:
                    data[place:place] = dice.choice(HOSTILE_TEXTS)[:500].encode("utf-8", "surrogatepass")
                case 4:
                    if dice.random() < 0.3:
                        del data[place:]
        return bytes(data)


def encode_json(value: Any) -> bytes:
    """JSON that may hold lone surrogates and numbers that no client should send."""
    return json.dumps(value).encode()
