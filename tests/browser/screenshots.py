"""Write screenshots of every view to docs/images/page: light, dark and phone width. Run by `make browser`."""

import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "browser")]

from chromium import start_chromium  # noqa: E402 - after the path
from page_stage import PROJECT, TRANSCRIPT, VIEWS, WORKSPACE, fill, open_stage  # noqa: E402

TARGET = TESTS.parent / "docs/images/page"
MODES = {"light": ("light", 1280, 800), "dark": ("dark", 1280, 800), "phone": ("light", 390, 844)}
OPENED = {"sessions": f"&workspace={WORKSPACE}&session={TRANSCRIPT}"}


def main() -> None:
    with (
        start_chromium() as chromium,
        tempfile.TemporaryDirectory() as folder,
        open_stage(chromium, Path(folder)) as stage,
    ):
        stage.context = stage.sign_in()
        fill(stage)
        thread = stage.call("memory_list_threads", project=PROJECT)["threads"][0]["thread_id"]
        document = stage.call("memory_list_documents", project=PROJECT)["documents"][-1]["id"]
        opened = OPENED | {"messages": f"&thread={thread}", "knowledge": f"&doc={document}"}
        for mode, (scheme, width, height) in MODES.items():
            page = stage.open("/", width=width, height=height)
            page.emulate(prefers_color_scheme=scheme)
            for view in VIEWS:
                page.goto(f"{stage.server.url}/{view}?project={PROJECT}{opened.get(view, '')}")
                page.wait_for(
                    "Boolean(document.querySelector('main.view')) && !document.querySelector('.skeleton')"
                )
                page.screenshot(TARGET / f"{view}-{mode}.png")
            page.close()


if __name__ == "__main__":
    main()
