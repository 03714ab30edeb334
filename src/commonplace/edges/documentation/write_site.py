"""`make site`: the documentation as a folder of HTML files that any web server, or none, can show."""

import posixpath
import sys
from pathlib import Path

from commonplace.edges.documentation.documentation_routes import read_style, render_all
from commonplace.edges.documentation.markdown_page import render_page
from commonplace.edges.documentation.page_layout import PageLayout
from commonplace.edges.documentation.page_tree import FRONT_PAGE, PageTree, load_page_tree, name_url


def name_file(path: str) -> str:
    """Where a page is in the folder: guides/locks.html."""
    return "index.html" if path == FRONT_PAGE else f"{name_url(path).removeprefix('/docs/')}.html"


def write_site(tree: PageTree, folder: Path) -> int:
    """Write every page with relative links; return the number of bytes."""
    titles = {path: page.title for path, page in render_all(tree).items()}
    written = {folder / "documentation.css": read_style()}
    for path in sorted(tree.paths):
        start = posixpath.dirname(name_file(path)) or "."

        def url_of(target: str, start: str = start) -> str:
            return posixpath.relpath(name_file(target), start)

        def link_to(target: str, start: str = start) -> str | None:
            known = target if target in tree.paths else f"{target}/README.md"
            return posixpath.relpath(name_file(known), start) if known in tree.paths else None

        style = posixpath.relpath("documentation.css", start)
        layout = PageLayout(tree, titles.__getitem__, url_of, style, "")
        page = render_page(path, tree.read(path), link_to)
        written[folder / name_file(path)] = layout.render_page(page).encode()
    for file, body in written.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(body)
    return sum(map(len, written.values()))


def main() -> None:
    tree, folder = load_page_tree(), Path(sys.argv[1] if len(sys.argv) > 1 else "build/site")
    if tree is None:
        sys.exit("The pages of the documentation are not installed.")
    size = write_site(tree, folder)
    sys.stdout.write(f"{len(tree.paths)} pages, {size / 1e6:.1f} MB: {folder / 'index.html'}\n")


if __name__ == "__main__":
    main()
