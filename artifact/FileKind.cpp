//===- FileKind.cpp - Names the kind of an unexpected file ----------------===//
#include "artifact/FileKind.h"

#include "artifact/Header.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace nnv12::artifact {

using std::string_view;
using namespace std::string_view_literals;

namespace {
/// Files of a kind have `bytes` at `offset`, and `also` at `alsoAt`.
struct Signature {
  const char *kind;
  size_t offset;
  string_view bytes;
  size_t alsoAt = 0;
  string_view also = {};
};
} // namespace

/// The first that fits: longer ones stand before shorter ones.
static constexpr Signature signatures[] = {
    {"a PNG picture", 0, "\x89PNG\r\n\x1a\n"sv},
    {"a JPEG picture", 0, "\xff\xd8\xff"sv},
    {"a GIF picture", 0, "GIF8"sv},
    {"a WebP picture", 0, "RIFF"sv, 8, "WEBP"sv},
    {"a WAV sound", 0, "RIFF"sv, 8, "WAVE"sv},
    {"a FLAC sound", 0, "fLaC"sv},
    {"an Ogg sound or video", 0, "OggS"sv},
    {"an MP3 sound", 0, "ID3"sv},
    {"a TIFF picture", 0, "II*\0"sv},
    {"a TIFF picture", 0, "MM\0*"sv},
    {"a HEIC picture", 4, "ftyphei"sv},
    {"a HEIC picture", 4, "ftypmif1"sv},
    {"an AVIF picture", 4, "ftypavif"sv},
    {"a JPEG XL picture", 0, "\xff\x0a"sv},
    {"a JPEG 2000 picture", 4, "jP  "sv},
    {"a PSD picture", 0, "8BPS"sv},
    {"a video or sound (MP4)", 4, "ftyp"sv},
    {"a NumPy array (.npy)", 0, "\x93NUMPY"sv},
    {"a TensorFlow Lite model", 4, "TFL3"sv},
    {"an ONNX Runtime model (.ort)", 4, "ORTM"sv},
    {"an ExecuTorch program", 4, "ET1"sv},
    {"an HDF5 file (as Keras writes)", 0, "\x89HDF\r\n\x1a\n"sv},
    {"a GGUF model", 0, "GGUF"sv},
    {"a ZIP archive (as .npz and PyTorch's .pt are)", 0, "PK\x03\x04"sv},
    {"a file compressed by gzip", 0, "\x1f\x8b"sv},
    {"a file compressed by zstd", 0, "\x28\xb5\x2f\xfd"sv},
    {"a file compressed by xz", 0,
     "\xfd"
     "7zXZ\0"sv},
    {"a 7z archive", 0, "7z\xbc\xaf\x27\x1c"sv},
    {"a tar archive", 257, "ustar"sv},
    {"a program or library (ELF)", 0,
     "\x7f"
     "ELF"sv},
    {"a PDF document", 0, "%PDF-"sv},
    {"a Python pickle (as PyTorch's .pth may be)", 0, "\x80\x02"sv},
    {"a Git LFS pointer, not the file that it stands for (git lfs pull)", 0,
     "version https://git-lfs"sv},
    {"a web page (perhaps of a download that failed)", 0, "<!DOCTYPE html"sv},
    {"a web page (perhaps of a download that failed)", 0, "<!doctype html"sv},
    {"a web page (perhaps of a download that failed)", 0, "<html"sv},
    {"an XML file (as OpenVINO's models are)", 0, "<?xml"sv},
    {"safetensors, which are weights alone", 8, "{\""sv},
    {"a PNM picture", 0, "P6\n"sv},
    {"a PNM picture", 0, "P5\n"sv},
    {"a BMP picture", 0, "BM"sv, 6, "\0\0\0\0"sv},
};

static bool holds(string_view file, size_t offset, string_view bytes) {
  return offset <= file.size() && file.substr(offset, bytes.size()) == bytes;
}

/// An ONNX file begins with the field ir_version, a small number; a text field
/// or the graph follows.
static bool isOnnx(string_view file) {
  return file.size() > 3 && file[0] == 0x08 && file[1] >= 3 && file[1] < 0x20 &&
         "\x12\x1a\x22\x28\x32\x3a\x42"sv.find(file[2]) != string_view::npos;
}

/// Bytes that a terminal could show; those above ASCII may be of UTF-8.
static bool isText(string_view file) {
  return !file.empty() && std::all_of(file.begin(), file.end(), [](char c) {
    auto byte = static_cast<uint8_t>(c);
    return byte == '\n' || byte == '\r' || byte == '\t' ||
           (byte >= 0x20 && byte != 0x7f);
  });
}

const char *fileKind(const void *data, size_t size) {
  static constexpr size_t enough = 512;
  string_view file(static_cast<const char *>(data), std::min(size, enough));
  string_view bundle(reinterpret_cast<const char *>(magic), sizeof magic);
  if (holds(file, 0, bundle))
    return "a bundle of nnv12";
  for (const Signature &signature : signatures)
    if (holds(file, signature.offset, signature.bytes) &&
        holds(file, signature.alsoAt, signature.also))
      return signature.kind;
  if (isOnnx(file))
    return "an ONNX model";
  return isText(file) ? "a text" : nullptr;
}

} // namespace nnv12::artifact
