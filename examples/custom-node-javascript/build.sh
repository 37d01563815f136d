#!/bin/sh
# Builds triage.wasm, 12 MB, which is not checked in. Needs Node.js and npm, and takes a minute or two.
set -eu
cd "$(dirname "$0")/node"
npm install --no-package-lock --no-audit --no-fund
npm run build
