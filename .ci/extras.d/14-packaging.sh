#!/usr/bin/env bash
# What is handed out: wheel and source archive are right and the same bytes each time; they run by
# uvx and pipx; each extra brings what it is for, and without it the error names it; the oldest
# releases that pyproject.toml allows do; every other system finds wheels of what we need; the
# examples are typed against the installed package; TAB completes in bash, zsh and fish.
set -euo pipefail

root=$PWD
session=$root/corpora/sessions/claude_code/prorate.jsonl
export UV_NO_PROGRESS=1 PIP_CONSTRAINT='' SOURCE_DATE_EPOCH=1700000000
export PYTHONDONTWRITEBYTECODE=1
began=$SECONDS
say() { printf '%4d s  %s\n' "$((SECONDS - began))" "$*"; }

tools=$(bash .ci/environment packaging) || {
    echo "the environment packaging could not be installed"
    exit 77
}
tools=$(dirname "$tools")

# environment NAME REQUIREMENT...: a fresh one; the cache makes it a matter of a second.
environment() {
    local place=$SCRATCH/$1
    shift
    rm -rf "$place"
    "$tools/uv" venv --quiet --python "$PYTHON" "$place"
    VIRTUAL_ENV=$place "$tools/uv" pip install --quiet "$@"
}

# -- the archives -----------------------------------------------------------------------------

# copy NAME: the checkout in another folder.
copy() {
    mkdir -p "$SCRATCH/$1"
    tar -cf - --exclude=./.git --exclude=./.venv --exclude=./.nox --exclude='*_cache' \
        --exclude=./.hypothesis --exclude=__pycache__ --exclude=./build --exclude=./dist . |
        tar -C "$SCRATCH/$1" -xf -
}

# built NAME OPTION...: what the copy of that name is built to, in NAME/dist.
built() {
    local name=$1
    shift
    (cd "$SCRATCH/$name" && "$tools/python" -m build --no-isolation --outdir dist "$@" . >build.log 2>&1) || {
        cat "$SCRATCH/$name/build.log"
        return 1
    }
}

copy one
copy elsewhere/two
find "$SCRATCH/elsewhere/two" -exec touch -d 2001-02-03 {} +
chmod -R go-rwx "$SCRATCH/elsewhere/two"
built one # the wheel out of the source archive
(umask 077 && TZ=Asia/Tokyo LC_ALL=C built elsewhere/two)
rm -f "$SCRATCH/elsewhere/two/dist/"*.whl
built elsewhere/two --wheel # the wheel out of the tree
for path in "$SCRATCH/one/dist/"*; do
    cmp "$path" "$SCRATCH/elsewhere/two/dist/$(basename "$path")"
done
wheel=$(ls "$SCRATCH/one/dist/"*.whl)
"$tools/python" "$SCRATCH/one/tests/packaging/contents.py" "$wheel" "$SCRATCH/one/dist/"*.tar.gz
"$tools/twine" check --strict "$SCRATCH/one/dist/"* >"$SCRATCH/twine.log" || {
    cat "$SCRATCH/twine.log"
    exit 1
}
"$tools/check-wheel-contents" "$wheel"
"$tools/validate-pyproject" pyproject.toml
"$tools/cffconvert" --validate -i CITATION.cff
say "archives"

# -- run without installing -------------------------------------------------------------------

# The pages show what a summary begins with; any of these runs has to.
first=$("$tools/uvx" --quiet --python "$PYTHON" --from "$wheel" leftoff summarize "$session" | head -1)
[[ $first == "Began "*Support* ]] || { echo "uvx: $first"; exit 1; }
say "uvx"
first=$(PATH="$tools:$PATH" PIPX_HOME="$SCRATCH/pipx" "$tools/pipx" run --quiet --python "$PYTHON" \
    --spec "$wheel" leftoff summarize "$session" | head -1)
[[ $first == "Began "*Support* ]] || { echo "pipx: $first"; exit 1; }
say "pipx"

# -- extras -----------------------------------------------------------------------------------

# browse, ray, semantic-kernel and spacy have tests of their own; here they are only missed.
environment plain "$wheel"
for extra in browse gz zst redis s3 mcp parquet ray semantic-kernel spacy; do
    "$SCRATCH/plain/bin/python" tests/packaging/extras.py "$extra" without "$SCRATCH/plain/bin/leftoff"
done
for extra in gz zst redis s3 mcp parquet; do
    environment extra "$wheel[$extra]"
    "$SCRATCH/extra/bin/python" tests/packaging/extras.py "$extra" with "$SCRATCH/extra/bin/leftoff"
done
say "extras"

# -- the oldest releases, and other systems ---------------------------------------------------

environment oldest --resolution lowest-direct "$wheel[gz,zst,redis,s3,mcp,parquet]"
VIRTUAL_ENV=$SCRATCH/oldest "$tools/uv" pip install --quiet pytest pytest-timeout hypothesis
for extra in gz zst redis s3 mcp parquet; do
    "$SCRATCH/oldest/bin/python" tests/packaging/extras.py "$extra" with "$SCRATCH/oldest/bin/leftoff"
done
# From the copy without src/: the wheel is what is tried.
rm -rf "$SCRATCH/one/src"
(cd "$SCRATCH/one" && "$SCRATCH/oldest/bin/python" -m pytest -q -p no:cacheprovider \
    tests/golden tests/cli/test_list.py tests/unit/test_codec.py tests/unit/test_redaction.py \
    tests/unit/test_shell_outcomes.py tests/unit/test_file_store.py)
say "the oldest releases"

for target in 3.11/aarch64-apple-darwin 3.11/x86_64-pc-windows-msvc 3.14/x86_64-unknown-linux-gnu \
    3.14/aarch64-unknown-linux-gnu 3.14/aarch64-apple-darwin 3.14/x86_64-pc-windows-msvc; do
    "$tools/uv" pip compile --quiet --only-binary :all: --python-version "${target%/*}" \
        --python-platform "${target#*/}" pyproject.toml >"$SCRATCH/resolved.txt" ||
        { echo "not everything that we need has a wheel for $target"; exit 1; }
done
say "wheels for other systems"

# -- examples and shells ----------------------------------------------------------------------

environment user "$wheel" mypy pandas pytest pytest-timeout hypothesis
(cd "$SCRATCH" && user/bin/mypy --config-file= --strict --python-executable user/bin/python \
    --cache-dir "$SCRATCH/mypy" "$root"/examples/*.py)
say "types of the examples"

# install COMMAND PACKAGE: from Debian, where that may be done.
install() {
    command -v "$1" >/dev/null && return
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends "$2"; } >/dev/null 2>&1
}
for shell in zsh fish; do
    install "$shell" "$shell" || echo "$shell could not be installed: it is not tried"
done
(cd "$SCRATCH/one" && "$SCRATCH/user/bin/python" -m pytest -q -p no:cacheprovider tests/packaging)
say "examples and shells"
