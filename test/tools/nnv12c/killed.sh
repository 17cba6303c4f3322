#!/usr/bin/env bash
# killed.sh MODEL FOLDER: kills compiles at several moments; the output must
# always be the old file or the complete new one (FOLDER/a.nnv).
set -eu
mkdir -p "$2/killed"
out=$2/killed/out.nnv
for moment in 0.005 0.02 0.04 0.06 0.08 0.1 0.15 0.2 0.3; do
  echo old > "$out"
  timeout -s KILL "$moment" nnv12c "$1" -o "$out" 2>/dev/null || true
  cmp -s "$out" "$2/a.nnv" || [ "$(cat "$out")" = old ] || {
    echo "killed after $moment s: found neither the old nor the new bundle"
    exit 1
  }
done
