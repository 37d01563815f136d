"""What a file browser does by itself: a link to a folder is one to its README, one to a source is one to its text."""

import re
from pathlib import Path
from posixpath import normpath

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"(\]\()([^)#\s:]+)((?:#[^)\s]*)?\))")


def on_page_markdown(markdown, page, config, files):
    here = Path(page.file.src_uri).parent.as_posix()

    def leads(match):
        link = match[2]
        target = normpath(f"{here}/{link}")
        if (ROOT / target / "README.md").is_file():
            link = f"{link.rstrip('/')}/README.md"
        return f"{match[1]}{link}{match[3]}"

    # Code is left as it is.
    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else LINK.sub(leads, part) for part in parts)
