"""What counts as the definition of a cited symbol, in every language that the librarian reads and in some it does not."""

import pytest

from commonplace.client.verify import verification

SOURCES = {
    "a.py": """import os
SIZE: int = 10
LOW, HIGH = 1, 2
type Name = str


@cache
def total(items): return sum(items)


class Pool(Thing):
    limit = 3
    def __init__(self): self.open_count = 0
    async def close(self): return None
""",
    "a.js": """export const SIZE = 10;
function total(items) { return 1; }
export const arrow = async (x) => x;
class Pool extends Thing { limit = 3; #hidden() { return 1; } close() { return 2; } }
exports.shut = 4;
Pool.prototype.drain = function () { return 5; };
const settings = { retries: 3, 'wait': 4, start() { return 1; } };
""",
    "a.ts": """type Name = string;
enum Colour { Red, Green = 2 }
interface Shape extends Thing { area(): number; side: string }
export abstract class Pool extends Base implements Shape { private limit = 3; close(): void {} }
namespace Deep { export const SIZE = 1; }
declare function total(x: number): void;
export const handler = wrap(() => 1);
""",
    "a.tsx": """export const Button = (props: Props) => <b onClick={props.press}>x</b>;
function Panel() { const pressed = useCallback(() => 1); return <Button press={pressed} />; }
class Page extends Component { render() { return <Panel />; } }
type Props = { press: () => void };
""",
    "a.go": """package a

const (
	Low = 1
	High, Higher = 2, 3
)

var Default Server

type Server struct {
	name string
}

type ID = int

type Shape interface {
	Area() int
}

func (s *Server) Handle() error { return nil }

func run() { helper(1) }
""",
    "a.rs": """pub(crate) fn run() { helper(1); }
const SIZE: i32 = 1;
static NAME: &str = "x";
type Short = Vec<u8>;
macro_rules! twice { () => {} }
enum Colour { Red, Green(i32) }
struct Unit;
struct Server { name: String }
trait Shape { fn area(&self) -> i32; const SIDES: i32; }
impl<T> Shape for Server { fn close(&self) {} }
mod deep { pub async unsafe fn inner() {} }
""",
    "a.java": """package org.shop;
public class Pool extends Base implements Thing {
  private static final int SIZE = 10;
  Pool() {}
  @Override public synchronized List<String> close(int x) throws IOException { return helper(1); }
  enum Colour { RED, GREEN(1); }
}
interface Shape extends Other { int area(); }
record Point(int x, int y) {}
@interface Mark { int value() default 1; }
""",
    "a.cs": """namespace Shop.Tax;
public delegate void Told(int x);
public sealed class Pool : Base, IThing {
  const int SIZE = 10;
  public int Limit { get; set; }
  event Action Closed;
  public Pool() {}
  public async Task<int> CloseAsync() { int Local() => 1; return helper(1); }
}
interface IThing { void Shut(); }
enum Colour { Red, Green }
struct Point { public int X; }
""",
    "a.c": """#define SIZE 10
#define TWICE(x) ((x) * 2)
typedef struct { int field; } Pool;
enum colour { RED, GREEN = 2 };
union both { int i; };
struct node { struct node *next; };
static char *name(int a) { return helper(1); }
int count = 3, *place;
int proto(int);
int (*callback)(int);
""",
    "a.cpp": """namespace shop { using Id = int; class Pool : public Base { int limit_; void close() const; ~Pool(); }; }
void Foo::bar() const { helper(1); }
int& reference() { return x; }
template <class T> T largest(T a) { return a; }
constexpr int SIZE = 1;
auto lambda = [](int x) { return x; };
""",
    "a.rb": """SIZE = 10
module Shop
  class Pool < Base
    attr_reader :limit, :count
    def self.find(id) = id
    def empty?; helper(1); end
    class << self
      def inner; 1; end
    end
  end
end
""",
    "a.php": """<?php
namespace Shop\\Tax;
const SIZE = 10;
function total(array $items): int { return helper(1); }
final class Pool extends Base implements Thing {
  public const LIMIT = 3;
  private ?int $count = 1;
  public function __construct(private int $width) {}
  public static function find(int $id): self { return $this->other(); }
}
enum Colour: string { case Red = 'r'; }
trait Shared {}
""",
    "a.kt": """class Pool(val size: Int) : Base() {
    override suspend fun close() {
        helper(1)
    }
}
fun String.shout() = uppercase()
fun <T> List<T>.second(): T = this[1]
private const val SIZE = 10
object Registry
""",
    "a.swift": "public struct Pool {\n    func close() -> Int { helper(1) }\n}\nprotocol Shape {}\n",
    "a.sh": "SIZE=10\ntotal() {\n  helper 1\n}\nfunction shut {\n  :\n}\n",
    "a.sql": "create table if not exists shop.users (id int);\nCREATE OR REPLACE FUNCTION total() returns int;\n",
    "a.toml": "[tool.ruff]\nline-length = 110\n[[tool.more]]\nx = 1\n",
    "a.yaml": "jobs:\n  build:\n    steps: 1\n",
    "a.json": '{\n  "scripts": {\n    "build": "make"\n  }\n}\n',
    "a.md": "# Tax\n\n## How it's counted (2)\n\nBy sums.\n\n## Else\n",
}  # fmt: skip

DEFINED = {
    "a.py": "SIZE LOW HIGH Name total total() Pool Pool.limit Pool.open_count Pool.close close a.total",
    "a.js": "SIZE total arrow Pool Pool.limit Pool.#hidden Pool.close shut Pool.drain settings settings.retries wait start",
    "a.ts": "Name Colour Colour.Red Colour.Green Shape Shape.area Shape.side Pool Pool.limit Pool.close Deep Deep.SIZE"
    " total handler",
    "a.tsx": "Button Panel Panel.pressed Page Page.render Props press",
    "a.go": "Low High Higher Default Server Server.name ID Shape Shape.Area Server.Handle (*Server).Handle Handle run",
    "a.rs": "run crate::run SIZE NAME Short twice Colour Colour::Red Green Unit Server Server.name Shape Shape::area"
    " Shape::SIDES Server::close deep deep::inner",
    "a.java": "Pool Pool.SIZE Pool.close Pool.close(int) Colour Pool.Colour.RED GREEN Shape Shape.area Point Mark value",
    "a.cs": "Told Pool Pool.SIZE Pool.Limit Closed Pool.CloseAsync Local IThing IThing.Shut Colour Colour.Red Point.X",
    "a.c": "SIZE TWICE Pool Pool.field colour RED GREEN both node next name count place proto callback",
    "a.cpp": "shop Id Pool shop::Pool Pool::limit_ Pool::close ~Pool Foo::bar Foo.bar bar reference largest SIZE lambda",
    "a.rb": "SIZE Shop Pool Shop::Pool Pool#limit count Pool.find find Pool#empty? empty? inner",
    "a.php": "SIZE total Pool Pool::LIMIT Pool::$count count width Pool::find Pool->find Colour::Red Shared",
    "a.kt": "Pool Pool.close close String.shout shout second SIZE Registry",
    "a.swift": "Pool Pool.close Shape",
    "a.sh": "SIZE total shut",
    "a.sql": "users shop.users total",
    "a.toml": "ruff tool.ruff line-length tool.more",
    "a.yaml": "jobs jobs.build steps",
    "a.json": "scripts scripts.build",
    "a.md": "tax how-its-counted-2 Else",
}
CALLING = {
    "a.py": "def run(a):\n    a.helper(1)\n    helper(1)\n    return total(helper=helper)\n# def helper\n",
    "a.js": "import { helper } from './b';\nrun(helper(1)); a.helper(2);\n// function helper() {}\n",
    "a.ts": "import { helper } from './b';\nconst x: number = helper(1) + a.helper<string>(2);\n",
    "a.tsx": "const X = () => <B helper={helper(1)} />;\n",
    "a.go": "package a\n\nfunc run() { helper(1); a.helper(2) }\n",
    "a.rs": "fn run() { helper(1); a.helper(2); b::helper(3); }\n",
    "a.java": "class A { int run() { a.helper(2); return helper(1); } }\n",
    "a.cs": "class A { int Run() { a.helper(2); return helper(1); } }\n",
    "a.c": "int run(void) { struct helper *x; return helper(1); }\n",
    "a.cpp": "int run() { a.helper(2); b::helper(3); return helper(1); }\n",
    "a.rb": "def run\n  helper(1)\n  a.helper 2\nend\n",
    "a.php": "<?php\nfunction run() { $this->helper(2); A::helper(3); return helper(1); }\n",
}


def look(root, place, fingerprint=""):
    return verification.check_citation(
        root, {"document": "doc_000000000000", "place": place, "fingerprint": fingerprint}
    )


@pytest.mark.parametrize(
    ("file", "symbol"), [(file, symbol) for file, symbols in DEFINED.items() for symbol in symbols.split()]
)
def test_found_is_fresh_where_the_symbol_is_defined(tmp_path, file, symbol):
    (tmp_path / file).write_text(SOURCES[file])
    seen = look(tmp_path, f"{file}#{symbol}")
    assert seen.state == "fresh"
    (tmp_path / file).write_text(SOURCES[file] + "\n")
    assert look(tmp_path, f"{file}#{symbol}", seen.fingerprint) == seen


@pytest.mark.parametrize("file", CALLING)
def test_found_is_gone_where_the_symbol_is_only_used(tmp_path, file):
    (tmp_path / file).write_text(CALLING[file])
    assert look(tmp_path, f"{file}#helper").state == "gone"


@pytest.mark.parametrize("file", ["a.kt", "a.swift"])
def test_found_of_an_unread_language_is_in_doubt_until_the_definition_was_seen(tmp_path, file):
    (tmp_path / file).write_text("run { helper(1) }\n")
    assert look(tmp_path, f"{file}#helper").state == "unchecked"
    assert look(tmp_path, f"{file}#absent").state == "gone"
    assert look(tmp_path, f"{file}#helper", "1f").state == "gone"


@pytest.mark.parametrize(
    ("file", "before", "after", "symbol"),
    [
        ("a.py", "@cache\n", "@cached\n", "total"),
        ("a.py", "return None", "return 1", "Pool.close"),
        ("a.js", "return 5", "return 6", "Pool.drain"),
        ("a.ts", "Green = 2", "Green = 3", "Colour"),
        ("a.tsx", "useCallback(() => 1)", "useCallback(() => 2)", "Panel.pressed"),
        ("a.go", "return nil", "return err", "Server.Handle"),
        ("a.rs", "fn close(&self) {}", "fn close(&mut self) {}", "Server::close"),
        ("a.java", "private static final int SIZE", "public static final int SIZE", "Pool.SIZE"),
        ("a.cs", "{ get; set; }", "{ get; }", "Pool.Limit"),
        ("a.c", "static char *name(int a)", "static char *name(long a)", "name"),
        ("a.cpp", "template <class T>", "template <class T, class U>", "largest"),
        ("a.rb", "def self.find(id) = id", "def self.find(id) = nil", "find"),
        ("a.php", "const LIMIT = 3", "const LIMIT = 4", "Pool::LIMIT"),
        ("a.kt", "helper(1)", "helper(2)", "Pool.close"),
        ("a.sh", "helper 1", "helper 2", "total"),
        ("a.md", "By sums.", "By hand.", "how-its-counted-2"),
    ],
)
def test_found_drifts_with_its_own_definition_alone(tmp_path, file, before, after, symbol):
    whole = SOURCES[file]
    assert whole.count(before) == 1
    (tmp_path / file).write_text(whole)
    fingerprint = look(tmp_path, f"{file}#{symbol}").fingerprint
    (tmp_path / file).write_text(whole.replace(before, after))
    assert look(tmp_path, f"{file}#{symbol}", fingerprint).state == "drifted"


def test_found_of_a_method_is_gone_with_its_class(tmp_path):
    (tmp_path / "a.py").write_text("class Other:\n    def close(self): ...\n")
    assert look(tmp_path, "a.py#Pool.close").state == "gone"
    assert look(tmp_path, "a.py#close").state == "fresh"


def test_found_notices_a_change_of_any_overload(tmp_path):
    java = "class A {\n  void run(int x) {}\n  void run(String x) {}\n}\n"
    (tmp_path / "A.java").write_text(java)
    fingerprint = look(tmp_path, "A.java#run").fingerprint
    (tmp_path / "A.java").write_text(java.replace("String x", "Text x"))
    assert look(tmp_path, "A.java#run", fingerprint).state == "drifted"


def test_found_keeps_to_the_definition_it_knows_when_a_namesake_appears(tmp_path):
    (tmp_path / "a.py").write_text("class A:\n    def run(self): return 1\n")
    fingerprint = look(tmp_path, "a.py#run").fingerprint
    (tmp_path / "a.py").write_text("def run(): ...\n\n\nclass A:\n    def run(self): return 1\n")
    assert look(tmp_path, "a.py#run", fingerprint).state == "fresh"


def test_found_of_a_symbol_survives_a_syntax_error_elsewhere(tmp_path):
    (tmp_path / "a.py").write_text("def run():\n    return 1\n\n\ndef broken(:\n  <<<<<<< ours\n")
    assert look(tmp_path, "a.py#run").state == "fresh"
    assert look(tmp_path, "a.py#absent").state == "gone"
