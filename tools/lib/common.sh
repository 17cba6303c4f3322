# What tools/check, tools/demo and their like share: packages, configuring,
# building. Sourced by bash scripts that stand in tools/; changes to the top of
# the project.
# shellcheck shell=bash disable=SC2034 # variables are for those scripts
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# Debian 12 packages by what needs them. MLIR 22 comes from bookworm-security.
packages_build=(
  cmake flatbuffers-compiler g++ libcli11-dev libflatbuffers-dev
  liblld-22-dev libmlir-22-dev libonnx-dev libprotobuf-dev libsodium-dev
  libstb-dev libvulkan-dev libzstd-dev llvm-22-dev llvm-22-tools mlir-22-tools
  ninja-build nlohmann-json3-dev pkg-config protobuf-compiler spirv-headers
  zlib1g-dev
)
packages_test=(
  chromium clang g++-aarch64-linux-gnu libclang-rt-14-dev libgtest-dev
  libonnx-testdata libvulkan1 llvm-22 mesa-vulkan-drivers python3
  python3-numpy python3-onnx qemu-user spirv-tools vulkan-validationlayers
)
packages_package=(binutils dpkg-dev lld-22 python3-onnx python3-venv)
packages_lint=(black clang-format-22 mypy shellcheck)
# Only the comparison with ONNX Runtime wants Node.js; any installed one will
# do.
packages_peers=(nodejs npm)

# Debian's Python, which is the one that sees python3-onnx and python3-numpy.
python=/usr/bin/python3

jobs=${NNV12_JOBS:-$(nproc)}
# Where ccache is installed, checkouts share what was compiled in one of them.
# The compiler says what it has read, so that nothing is preprocessed twice.
export CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
# tools/demo and tools/check share a folder: with the same options, nothing that
# the one has compiled is compiled again by the other.
release_options=(-DNNV12_WERROR=ON)

say() { printf '\n== %s\n' "$*"; }
fail() { printf '%s: error: %s\n' "$0" "$*" >&2; exit 1; }

# as_root COMMAND...: through sudo where the caller is not root.
as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif command -v sudo >/dev/null; then sudo "$@"
  else
    fail "'$*' needs root, and there is no sudo;" \
      "run it yourself and try again"
  fi
}

# install_packages PACKAGE...: those that are missing, nothing where none is.
install_packages() {
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null |
      grep -qx installed || missing+=("$package")
  done
  [ ${#missing[@]} = 0 ] && return
  command -v apt-get >/dev/null ||
    fail "found no ${missing[*]}, expected those packages of Debian 12," \
      "and no apt-get to install them"
  say "Installing ${missing[*]}"
  if ! as_root apt-get update -q ||
    ! as_root env DEBIAN_FRONTEND=noninteractive \
      apt-get install -q -y --no-install-recommends "${missing[@]}"
  then
    fail "cannot install ${missing[*]}"
  fi
}

# configure PRESET [CMAKE_OPTION...]: a build folder of CMakePresets.json; anew
# where what an older checkout left there does not fit any more.
configure() { cmake --preset "$@" || cmake --fresh --preset "$@"; }

# build FOLDER [TARGET...]: all targets where none is named.
build() {
  local folder=$1 targets=()
  shift
  [ $# = 0 ] || targets=(--target "$@")
  cmake --build "$folder" --parallel "$jobs" "${targets[@]}"
}

# Where models and media beside the repository lie, or nothing. NNV12_SHARED
# names another place; an empty value says that there is none.
shared_folder() {
  local folder=${NNV12_SHARED-$PWD/../shared}
  if [ -n "$folder" ] && [ -d "$folder/models" ]; then
    (cd "$folder" && pwd)
  fi
}

# peers: onnxruntime-node of the pinned version in build/peers; prints
# node_modules.
onnxruntime_version=1.30.0
peers() {
  local modules=$PWD/build/peers/node_modules
  local have
  have=$(sed -n 's/^ *"version": "\(.*\)",*$/\1/p' \
    "$modules/onnxruntime-node/package.json" 2>/dev/null || true)
  if [ "$have" != "$onnxruntime_version" ]; then
    if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
      install_packages "${packages_peers[@]}" >&2
    fi
    mkdir -p build/peers
    echo '{"private": true}' > build/peers/package.json
    (cd build/peers && npm install --ignore-scripts --no-audit --no-fund \
      --loglevel=error "onnxruntime-node@$onnxruntime_version") >&2
  fi
  echo "$modules"
}
