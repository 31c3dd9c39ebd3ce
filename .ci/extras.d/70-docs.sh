#!/usr/bin/env bash
# The site builds without a warning (every page in the nav, every link and anchor resolves, nothing
# from the network); the tutorial is followed to the letter in an empty home, from its installation
# on; then every how-to, those that need another package included.
set -euo pipefail

export PIP_NO_COMPILE=1 # most of what is installed is never imported

# What the extra `docs` names; the site needs no leftoff that is installed. Its dependencies need
# not be those of our lock.
site() {
    "$PYTHON" -m venv "$SCRATCH/site-tools"
    local tools=$SCRATCH/site-tools/bin
    "$PYTHON" - >"$SCRATCH/docs.txt" <<'NAMES'
import tomllib

with open("pyproject.toml", "rb") as file:
    print(*tomllib.load(file)["project"]["optional-dependencies"]["docs"], sep="\n")
NAMES
    if ! PIP_CONSTRAINT='' timeout 150 "$tools/python" -m pip install --quiet -r "$SCRATCH/docs.txt"; then
        echo "pip could not install the extra docs"
        return 77
    fi
    NO_MKDOCS_2_WARNING=1 "$tools/mkdocs" build --quiet --strict --site-dir "$SCRATCH/site" || return
    # What a page loads, as against what it links to.
    if grep -rnoE '(src=|<link [^>]*href=|@import |url\()["'"'"']?https?://[^"'"'"')]*' \
        "$SCRATCH/site" --include='*.html' --include='*.css' | grep -v 'rel="canonical"' | head -5 | grep .; then
        echo "the site loads something from the network"
        return 1
    fi
    echo "the site: $(find "$SCRATCH/site" -name '*.html' | wc -l) pages"
}

site &
"$PYTHON" tests/docs/follow.py --checkout . --keep "$SCRATCH/reader" docs/tutorial.md
wait $!

reader=$SCRATCH/reader/you/leftoff/.venv/bin/python
if ! PIP_CONSTRAINT='' timeout 150 "$reader" -m pip install --quiet pyarrow duckdb mcp; then
    echo "pip could not install pyarrow, duckdb and mcp; site and tutorial passed"
    exit 77
fi
"$reader" tests/docs/follow.py docs/index.md docs/how-to/*.md
