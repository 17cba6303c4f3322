# The lit suite: IR, passes and tools. Run as the ctest `lit`.
import ctypes.util
import glob
import os
import shutil
import subprocess

import lit.formats

# Folders that others can write hold neither caches nor temporary files.
os.umask(0o022)

config.name = "nnv12"
config.test_format = lit.formats.ShTest(execute_external=True)
config.suffixes = [".mlir", ".test"]
config.excludes = [
    "Inputs",
    "install",
    "unit",
    "fuzz",
    "data",
    "conformance",
    "models",
]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.nnv12_build, "test")

config.environment["PATH"] = os.pathsep.join(
    [
        os.path.join(config.nnv12_build, "bin"),
        config.llvm_tools,
        os.environ["PATH"],
    ]
)
config.substitutions.append(("%source", config.nnv12_source))
config.substitutions.append(("%build", config.nnv12_build))
config.substitutions.append(("%python", config.python))
# `%onnx TEST NAME OUT.onnx` writes the model NAME of a test of the importer.
config.substitutions.append(
    (
        "%onnx",
        " ".join(
            [
                config.python,
                os.path.join(
                    config.test_source_root, "compiler/import/onnx_text.py"
                ),
            ]
        ),
    )
)
# A tool must say no in one line and leave with 1: `%refuses COMMAND |
# FileCheck`.
config.substitutions.append(
    ("%refuses", os.path.join(config.test_source_root, "refuses.sh"))
)
# The tier of tools/check: a test that takes ten seconds says `UNSUPPORTED:
# quick`, one that takes a minute `REQUIRES: full`.
tier = os.environ.get("NNV12_TIER")
if tier in ("quick", "full"):
    config.available_features.add(tier)
if config.nnv12_gpu:
    config.available_features.add("gpu")
# Software is a device everywhere.
if ctypes.util.find_library("vulkan") and glob.glob(
    "/usr/share/vulkan/icd.d/lvp_icd*.json"
):
    config.available_features.add("vulkan")
if config.nnv12_compiler:
    config.available_features.add("compiler")
else:
    config.suffixes = [".test"]
if (
    subprocess.run(
        [config.python, "-c", "import onnx.parser"], capture_output=True
    ).returncode
    == 0
):
    config.available_features.add("onnx")
# Sanitizers need more address space than a limit leaves them.
if config.nnv12_sanitized:
    config.available_features.add("sanitized")
if ctypes.util.find_library("sodium"):
    config.available_features.add("sodium")
# A file system of a few bytes, without being root.
if (
    subprocess.run(
        ["unshare", "-rm", "sh", "-c", "mount -t tmpfs none /mnt"],
        capture_output=True,
    ).returncode
    == 0
):
    config.available_features.add("tmpfs")
if shutil.which("chromium"):
    config.available_features.add("chromium")
# tools/check --require: a missing feature is a failure, not a test less.
if os.environ.get("NNV12_REQUIRE"):
    expected = {"gpu", "vulkan", "onnx", "sodium", "chromium"}
    for feature in sorted(expected - config.available_features):
        lit_config.error(f"found nothing for the feature '{feature}'")
