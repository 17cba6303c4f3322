#!/usr/bin/env bash
# truncate.sh MODEL FOLDER: compiles prefixes of a model; each must be refused.
set -eu
size=$(stat -c %s "$1")
here=$(dirname "$0")
for length in 1 2 7 64 500 $((size / 4)) $((size / 2)) $((size * 3 / 4)) \
  $((size - 100)) $((size - 1)); do
  head -c "$length" "$1" > "$2/cut.onnx"
  line=$("$here/../../refuses.sh" nnv12c "$2/cut.onnx" -o "$2/out.nnv") ||
    { echo "cut at $length: $line"; exit 1; }
  case $line in
    *cut.onnx*) ;;
    *) echo "cut at $length: found no file name in: $line"; exit 1 ;;
  esac
done
