#!/usr/bin/env bash
# run.sh CMAKE BUILD_DIR CC MAKE_SAMPLE_BUNDLE VERSION: see CMakeLists.txt.
set -euo pipefail
cmake=$1 build=$2 cc=$3 make_sample=$4 version=$5
source=$(dirname "$0")/user
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

wrong() { echo "$*"; exit 1; }

"$cmake" --install "$build" --prefix "$work/first" >/dev/null
# The package must not depend on where it was installed.
mv "$work/first" "$work/moved"
prefix=$work/moved
"$make_sample" "$work/sample.nnv"

expect() {
  local found
  found=$("$@" "$work/sample.nnv")
  # y[0] = (x[0] + 0) * 0.5 with x[0] = 1
  [ "$found" = 0.5 ] || wrong "$*: found $found, expected 0.5"
}

# configure FOLDER VERSION: the program, which asks for that version.
configure() {
  "$cmake" -S "$source" -B "$work/$1" -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_C_COMPILER="$cc" -DNNV12_VERSION="$2" >"$work/log" 2>&1
}
configure cmake "$version" || wrong "$(cat "$work/log")"
"$cmake" --build "$work/cmake" >/dev/null
expect "$work/cmake/user-nnv12"
expect "$work/cmake/user-nnv12-static"

# Before 1.0 a minor version promises nothing of another one.
IFS=. read -r major minor _ <<<"$version"
for other in "$major.$((minor + 1))" "$((major + 1)).$minor" "$major.0"; do
  ! configure "other-$other" "$other" ||
    wrong "find_package(nnv12 $other): found $version, expected no package"
  grep -q "version: $version" "$work/log" || wrong "$(cat "$work/log")"
done
library=$(find "$prefix" -name "libnnv12.so.$version")
soname=$(readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
[ "$soname" = "libnnv12.so.$major.$minor" ] ||
  wrong "soname: found $soname, expected libnnv12.so.$major.$minor"

if command -v pkg-config >/dev/null; then
  pc=$(dirname "$(find "$prefix" -name nnv12.pc)")
  flags=$(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs nnv12)
  # shellcheck disable=SC2086 # several flags
  "$cc" "$source/user.c" $flags -o "$work/user-pc"
  LD_LIBRARY_PATH=$(dirname "$pc") expect "$work/user-pc"
fi

for file in LICENSE NOTICE; do
  [ -s "$prefix/share/doc/nnv12/$file" ] ||
    wrong "found no share/doc/nnv12/$file"
done

strip -o "$work/stripped.so" "$library"
size=$(stat -c %s "$work/stripped.so")
# 110 KiB, 34 for streams, which shall take 10, and 72 for GPUs, where it knows
# of them: these shall take 45. 10 more are for stretches that are split.
limit=147456
! grep -q vkGetInstanceProcAddr "$work/stripped.so" || limit=231424
[ "$size" -le "$limit" ] ||
  wrong "stripped library: found $size bytes, expected at most $limit"
echo "libnnv12.so: $size bytes stripped"
