#!/usr/bin/env bash
# With the real packages: calls of Semantic Kernel's functions are captured, and its conversations
# go in and out; the tools of `leftoff mcp` are listed and called by the official client library,
# over stdio; `leftoff browse` in a terminal of textual; the extractor `spacy` finds decisions.
set -euo pipefail

python=$(bash .ci/environment integrations) || {
    echo "the environment integrations could not be installed"
    exit 77
}
"$python" -c 'import mcp, semantic_kernel, spacy, textual' # the tests skip where they are not there
"$python" -m pytest -q -p no:cacheprovider tests/integrations \
    tests/unit/test_decision_spacy.py tests/unit/test_decisions.py
