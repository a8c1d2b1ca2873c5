#!/usr/bin/env bash
# Builds the documentation site from docs/, mkdocs.yml and the docstrings into target/site. Any broken link or reference is
# an error.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=$(scripts/venv.sh python/requirements/docs.txt)
site="$(realpath -m "${CARGO_TARGET_DIR:-target}")/site"
PATH="$venv/bin:$PATH" NO_MKDOCS_2_WARNING=1 DISABLE_MKDOCS_2_WARNING=true \
    "$venv/bin/mkdocs" build --strict --clean --site-dir "$site"
echo "$site"
