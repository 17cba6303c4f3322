#!/usr/bin/env bash
# part.sh CMAKE BUILD_DIR: installs as if a program or the library had not been
# built: the scripts of the build folder, copied, look for another name.
set -euo pipefail
cmake=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

wrong() { echo "$*"; exit 1; }

# copy FOLDER MISSING...: the scripts that install, in $work/FOLDER, without
# the files MISSING of the build folder.
copy() {
  local to=$work/$1 missing=("${@:2}") queue=("$build/cmake_install.cmake")
  local script file target
  while [ ${#queue[@]} -gt 0 ]; do
    script=${queue[0]} queue=("${queue[@]:1}")
    target=$to${script#"$build"}
    mkdir -p "$(dirname "$target")"
    cp "$script" "$target"
    mapfile -t -O "${#queue[@]}" queue < <(
      sed -n 's/^ *include("\(.*cmake_install.cmake\)")/\1/p' "$script")
    sed -i "s|include(\"$build/|include(\"$to/|" "$target"
    for file in "${missing[@]}"; do
      sed -i "s|\"$build/$file\"|\"$build/$file.missing\"|g" "$target"
    done
  done
}

# install FOLDER
install() {
  "$cmake" -DCMAKE_INSTALL_PREFIX="$work/prefix-$1" \
    -P "$work/$1/cmake_install.cmake" >"$work/log" 2>&1
}

# A program that was not built is left out, and named.
copy tool bin/nnv12-prof
install tool || wrong "without nnv12-prof: $(cat "$work/log")"
grep -q '^-- Left out: nnv12-prof, which was not built$' "$work/log" ||
  wrong "found no line that nnv12-prof is left out: $(cat "$work/log")"
[ ! -e "$work/prefix-tool/bin/nnv12-prof" ] || wrong "found nnv12-prof"
[ -x "$work/prefix-tool/bin/nnv12-run" ] || wrong "found no nnv12-run"
[ -n "$(find "$work/prefix-tool" -name nnv12-config.cmake)" ] ||
  wrong "found no nnv12-config.cmake"
[ "$(grep -c 'Left out' "$work/log")" = 1 ] || wrong "$(cat "$work/log")"

# Without the library nothing is installed, and one line says what to build.
library=$(basename "$(find "$build/lib" -name 'libnnv12.so.*.*.*')")
copy library "lib/$library"
! install library || wrong "without the library: found status 0"
grep -q -- "--target nnv12" "$work/log" || wrong "$(cat "$work/log")"
[ ! -e "$work/prefix-library/include" ] || wrong "found headers"
