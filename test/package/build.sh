#!/usr/bin/env bash
# build.sh KIND MAKE_SAMPLE_BUNDLE: makes and tries a package; see tools/wheel.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$2" "$work/sample.nnv"
"$(dirname "$0")/../../tools/wheel" "$1" --sample "$work/sample.nnv"
