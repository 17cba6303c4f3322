//===- StoredBundle.h - A bundle's file as plain structs --------*- C++ -*-===//
#ifndef NNV12_TEST_UNIT_SAMPLE_STOREDBUNDLE_H
#define NNV12_TEST_UNIT_SAMPLE_STOREDBUNDLE_H

#include "artifact/Bundle.h"

#include <memory>
#include <string>

namespace nnv12::test {

class AlignedCopy;

/// A written bundle, to be changed and written again. Owns the memory that the
/// bundle's segments borrow.
class StoredBundle {
public:
  StoredBundle();
  ~StoredBundle();

  /// Returns an empty string, or one line that says what is wrong.
  std::string read(const std::string &path);

  artifact::Bundle bundle;

private:
  std::unique_ptr<AlignedCopy> image;
};

} // namespace nnv12::test

#endif // NNV12_TEST_UNIT_SAMPLE_STOREDBUNDLE_H
