#!/bin/sh
# Builds the console: artifact/, which the server contains, and in artifact/SOURCES.sha256 the hash of all that it was
# built from. The same sources give the same bytes. Needs Node.js 20.19 or newer and gzip.
#
# HEDDLE_ARTIFACT_OUT names another folder to write to, to compare.
set -eu
cd "$(dirname "$0")"

[ node_modules/.package-lock.json -nt package-lock.json ] || PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm ci --no-audit --no-fund
npm run types
# Unless it was done just before, as in CI.
[ "${CONSOLE_CHECKED:-}" = 1 ] || npm run check
npm run build
node tools/pack.js "${HEDDLE_ARTIFACT_OUT:-artifact}"
