//===- SampleBundle.h - A small bundle that runs on any host ----*- C++ -*-===//
//
// y = (x + a) * b over tiles of 16 floats, in three operations: add into the
// arena, multiply in the arena, copy to the output through scratch memory. Its
// kernels are a few instructions of machine code for each architecture, so that
// tests of format and runtime need no compiler.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_TEST_UNIT_SAMPLE_SAMPLEBUNDLE_H
#define NNV12_TEST_UNIT_SAMPLE_SAMPLEBUNDLE_H

#include "artifact/Bundle.h"

#include <cstddef>
#include <string>
#include <vector>

namespace nnv12::test {

constexpr size_t tileSize = 16;

/// Owns the memory that the bundle's segments borrow.
class Sample {
public:
  explicit Sample(size_t tiles = 3);
  Sample(const Sample &) = delete;
  virtual ~Sample() = default;

  /// The right result of run for element `i` of an input `x`.
  float expected(size_t i, float x) const { return (x + a[i]) * b[i]; }
  size_t elements() const { return a.size(); }

  artifact::Bundle bundle;

protected:
  std::vector<float> a, b;

private:
  void addProgram(const char *target, const char *architecture,
                  std::vector<std::string> features, uint32_t code,
                  const uint32_t (&entries)[3], size_t tiles);
};

/// A fresh folder, removed at the end with all its files.
class TemporaryFolder {
public:
  TemporaryFolder();
  ~TemporaryFolder();
  std::string file(const std::string &name) const { return path + "/" + name; }
  std::string path;
};

std::vector<unsigned char> readFile(const std::string &path);
void writeFile(const std::string &path, const void *data, size_t size);

/// A copy of bytes at a 64-byte aligned address.
class AlignedCopy {
public:
  AlignedCopy(const void *data, size_t size);
  explicit AlignedCopy(const std::vector<unsigned char> &bytes)
      : AlignedCopy(bytes.data(), bytes.size()) {}
  ~AlignedCopy();
  AlignedCopy(const AlignedCopy &) = delete;
  unsigned char *data;
  size_t size;
};

/// Gives a file image whose bytes were changed digests that fit: of overlays,
/// metadata and header.
void fitDigests(unsigned char *image);

} // namespace nnv12::test

#endif // NNV12_TEST_UNIT_SAMPLE_SAMPLEBUNDLE_H
