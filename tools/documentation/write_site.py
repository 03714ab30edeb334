"""`make site`: the documentation as a folder of HTML files that any web server, or none, can show."""

import posixpath
import re
import sys
from pathlib import Path

from documentation.markdown_page import MarkdownPage, render_page
from documentation.page_layout import PageLayout
from documentation.page_tree import PageTree, load_page_tree, name_file

_IMAGE = re.compile(r"\]\(([^)\s:]+\.png)\)")
_TOP = Path(__file__).parents[2]


def render_all(tree: PageTree) -> dict[str, MarkdownPage]:
    """Every page with its title, its headings and its links, which lead nowhere yet."""
    return {path: render_page(path, tree.read(path), lambda _: None) for path in sorted(tree.paths)}


def write_site(tree: PageTree, folder: Path) -> int:
    """Write every page with relative links; return the number of bytes."""
    titles = {path: page.title for path, page in render_all(tree).items()}
    written = {folder / "documentation.css": Path(__file__).with_name("documentation.css").read_bytes()}
    for path in sorted(tree.paths):
        start = posixpath.dirname(name_file(path)) or "."

        def url_of(target: str, start: str = start) -> str:
            return posixpath.relpath(name_file(target), start)

        def link_to(target: str, start: str = start) -> str | None:
            known = target if target in tree.paths else f"{target}/README.md"
            return posixpath.relpath(name_file(known), start) if known in tree.paths else None

        style = posixpath.relpath("documentation.css", start)
        layout = PageLayout(tree, titles.__getitem__, url_of, style)
        page = render_page(path, tree.read(path), link_to)
        written[folder / name_file(path)] = layout.render_page(page).encode()
    written |= {
        folder / image.relative_to(_TOP): image.read_bytes() for image in _TOP.glob("docs/images/**/*.png")
    }
    for file, body in written.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(body)
    return sum(map(len, written.values()))


def main() -> None:
    tree, folder = load_page_tree(), Path(sys.argv[1] if len(sys.argv) > 1 else "build/site")
    size = write_site(tree, folder)
    sys.stdout.write(f"{len(tree.paths)} pages, {size / 1e6:.1f} MB: {folder / 'index.html'}\n")


if __name__ == "__main__":
    main()
