//===- StoredBytes.h - The bytes of weights in a form -----------*- C++ -*-===//
#ifndef NNV12_COMPILER_WEIGHTS_STOREDBYTES_H
#define NNV12_COMPILER_WEIGHTS_STOREDBYTES_H

#include "dialects/plan/StoredForm.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

#include <memory>

namespace nnv12 {

/// Bytes and their owner; at a multiple of 64 unless they are the
/// model's own.
struct StoredBytes {
  std::shared_ptr<const void> data;
  uint64_t size = 0;
};

/// New bytes at a multiple of 64.
std::shared_ptr<char> allocateBytes(uint64_t size);

// For constants whose type says how packed ones lie. Codecs do not count, and a
// routine alone knows the bytes of a transformed form.

int64_t storedSize(mlir::RankedTensorType packed, const plan::StoredForm &form);
/// The size of one element, which codecs look at.
unsigned storedElementSize(mlir::RankedTensorType packed,
                           const plan::StoredForm &form);
/// Narrow forms that are exact must be so for the constant (canNarrow()).
StoredBytes storedBytes(mlir::Value constant, const plan::StoredForm &form);

} // namespace nnv12

#endif // NNV12_COMPILER_WEIGHTS_STOREDBYTES_H
