#!/usr/bin/env bash
# run.sh CMAKE BUILD_DIR CC MAKE_SAMPLE_BUNDLE: see CMakeLists.txt.
set -euo pipefail
cmake=$1 build=$2 cc=$3 make_sample=$4
source=$(dirname "$0")/user
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$cmake" --install "$build" --prefix "$work/first" >/dev/null
# The package must not depend on where it was installed.
mv "$work/first" "$work/moved"
prefix=$work/moved
"$make_sample" "$work/sample.nnv"

expect() {
  local found
  found=$("$@" "$work/sample.nnv")
  # y[0] = (x[0] + 0) * 0.5 with x[0] = 1
  [ "$found" = 0.5 ] || { echo "$*: found $found, expected 0.5"; exit 1; }
}

"$cmake" -S "$source" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_C_COMPILER="$cc" >/dev/null
"$cmake" --build "$work/cmake" >/dev/null
expect "$work/cmake/user-nnv12"
expect "$work/cmake/user-nnv12-static"

if command -v pkg-config >/dev/null; then
  pc=$(dirname "$(find "$prefix" -name nnv12.pc)")
  flags=$(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs nnv12)
  # shellcheck disable=SC2086 # several flags
  "$cc" "$source/user.c" $flags -o "$work/user-pc"
  LD_LIBRARY_PATH=$(dirname "$pc") expect "$work/user-pc"
fi

strip -o "$work/stripped.so" "$(find "$prefix" -name 'libnnv12.so.*.*')"
size=$(stat -c %s "$work/stripped.so")
# 110 KiB, and 80 for GPUs, where it knows of them: these shall take 45.
limit=112640
! grep -q vkGetInstanceProcAddr "$work/stripped.so" || limit=194560
[ "$size" -le "$limit" ] || {
  echo "stripped library: found $size bytes, expected at most $limit"
  exit 1
}
echo "libnnv12.so: $size bytes stripped"
