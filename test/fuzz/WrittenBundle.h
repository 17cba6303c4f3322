//===- WrittenBundle.h - A bundle as bytes, for fuzzers ---------*- C++ -*-===//
#ifndef NNV12_TEST_FUZZ_WRITTENBUNDLE_H
#define NNV12_TEST_FUZZ_WRITTENBUNDLE_H

#include "artifact/Header.h"
#include "artifact/Writer.h"
#include "bundle_generated.h"
#include "test/unit/sample/SampleBundle.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace nnv12::test {

/// Ends the process where something is wrong.
inline void expect(bool good, const char *what) {
  if (good)
    return;
  fprintf(stderr, "%s\n", what);
  abort();
}

/// The bytes of a good bundle's file.
inline std::vector<unsigned char> written(const artifact::Bundle &bundle) {
  TemporaryFolder folder;
  std::string error = artifact::writeBundle(bundle, folder.file("a.nnv"));
  expect(error.empty(), error.c_str());
  return readFile(folder.file("a.nnv"));
}

inline const bundle::Bundle *
metadataOf(const std::vector<unsigned char> &image) {
  artifact::Header header;
  memcpy(&header, image.data(), sizeof header);
  return bundle::GetBundle(image.data() + header.metadataOffset);
}

} // namespace nnv12::test

#endif // NNV12_TEST_FUZZ_WRITTENBUNDLE_H
