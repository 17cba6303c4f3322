//===- FileKindTest.cpp - Names the kind of an unexpected file ------------===//
#include "artifact/FileKind.h"

#include "artifact/Header.h"

#include <gtest/gtest.h>
#include <string>

using namespace nnv12::artifact;
using namespace std::string_literals;

static std::string kindOf(const std::string &bytes) {
  // In memory of just this size.
  std::string exact(bytes);
  exact.shrink_to_fit();
  const char *kind = fileKind(exact.data(), exact.size());
  return kind ? kind : "";
}

TEST(FileKind, Kinds) {
  EXPECT_EQ(kindOf("\x89PNG\r\n\x1a\n\0"s), "a PNG picture");
  EXPECT_EQ(kindOf("\xff\xd8\xff\xe0"s), "a JPEG picture");
  EXPECT_EQ(kindOf("RIFF1234WEBP"s), "a WebP picture");
  EXPECT_EQ(kindOf("RIFF1234WAVE\1"s), "a WAV sound");
  EXPECT_EQ(kindOf("RIFF1234AVI \1"s), "");
  EXPECT_EQ(kindOf("fLaC\0"s), "a FLAC sound");
  EXPECT_EQ(kindOf("OggS\0"s), "an Ogg sound or video");
  EXPECT_EQ(kindOf("ID3\4\0"s), "an MP3 sound");
  EXPECT_EQ(kindOf("\0\0\0\x18"
                   "ftypavif"s),
            "an AVIF picture");
  EXPECT_EQ(kindOf("\x1c\0\0\0TFL3"s), "a TensorFlow Lite model");
  EXPECT_EQ(kindOf("\x1c\0\0\0ORTM"s), "an ONNX Runtime model (.ort)");
  EXPECT_EQ(kindOf("PK\3\4"s), "a ZIP archive (as .npz and PyTorch's .pt are)");
  EXPECT_EQ(kindOf("\x7f"
                   "ELF\2"s),
            "a program or library (ELF)");
  EXPECT_EQ(kindOf("version https://git-lfs.github.com/spec/v1\n"s),
            "a Git LFS pointer, not the file that it stands for (git lfs "
            "pull)");
  EXPECT_EQ(kindOf("<!DOCTYPE html>\n"s),
            "a web page (perhaps of a download that failed)");
  EXPECT_EQ(
      kindOf(std::string(reinterpret_cast<const char *>(magic), sizeof magic) +
             "\4"),
      "a bundle of nnv12");
  EXPECT_EQ(kindOf("\x08\x07\x12\x07pytorch"s), "an ONNX model");
  EXPECT_EQ(kindOf(std::string(257, '\1') + "ustar"), "a tar archive");
}

TEST(FileKind, TextsAndOthers) {
  EXPECT_EQ(kindOf("not a model\n"), "a text");
  EXPECT_EQ(kindOf("caf\xc3\xa9"), "a text");
  EXPECT_EQ(kindOf(""), "");
  EXPECT_EQ(kindOf("a\0b"s), "");
  EXPECT_EQ(kindOf("\x08"s), "");
  EXPECT_EQ(kindOf("\x1b[2J"), "");
}

TEST(FileKind, CutAnywhere) {
  std::string whole = "RIFF1234WEBP"s + std::string(300, '\0');
  for (size_t size = 0; size < whole.size(); ++size)
    kindOf(whole.substr(0, size));
}
