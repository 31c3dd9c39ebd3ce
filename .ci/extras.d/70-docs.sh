#!/usr/bin/env bash
# The site builds without a warning (every page in the nav, every link and anchor resolves, nothing
# from the network); the tutorial is followed to the letter in an empty home, from its installation
# on; then every how-to, those that need another package included.
set -euo pipefail

export PIP_NO_COMPILE=1 # most of what is installed is never imported

site() {
    local tools
    if ! tools=$(bash .ci/environment docs); then
        echo "the environment docs could not be installed"
        return 77
    fi
    NO_MKDOCS_2_WARNING=1 "$(dirname "$tools")/mkdocs" build --quiet --strict --site-dir "$SCRATCH/site" || return
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
if ! uv=$(bash .ci/environment uv) ||
    ! timeout 150 "$uv" -m uv pip install --quiet --python "$reader" pyarrow duckdb mcp; then
    echo "pyarrow, duckdb and mcp could not be installed; site and tutorial passed"
    exit 77
fi
"$reader" tests/docs/follow.py docs/index.md docs/how-to/*.md
