//===- Windows.h - Sliding windows: kernel, stride, padding -----*- C++ -*-===//
#ifndef NNV12_COMPILER_IMPORT_OPS_WINDOWS_H
#define NNV12_COMPILER_IMPORT_OPS_WINDOWS_H

#include "compiler/import/Node.h"

namespace nnv12::importer {

/// The attributes that convolution and pooling share, one entry a spatial
/// dimension, with auto_pad and ceil_mode resolved into the pads.
struct Windows {
  Ints kernel, strides, dilations, padsLow, padsHigh;
  /// The part of padsHigh that ceil_mode did not add.
  Ints countedPadsHigh;
  Ints output;
};

/// Reads and checks the attributes for windows of `kernel` over the dimensions
/// of `x` from the third; nullopt after a fault.
std::optional<Windows> readWindows(Node &n, Value x,
                                   llvm::ArrayRef<int64_t> kernel);

/// Whether there are `count`, all at least `low` and small enough to compute
/// with.
bool windowNumbers(llvm::ArrayRef<int64_t> values, size_t count, int64_t low);

/// Attribute kernel_shape of a pooling operator, checked against x.
Ints kernelShape(Node &n, Value x);

/// f(x), where x has its channels last and f takes and gives them as dimension
/// 1. x is of rank three or more.
Value withChannelsFirst(Node &n, Value x, llvm::function_ref<Value(Value)> f);

/// The same where attribute channels_last says that x is such, else f(x).
Value channelsFirst(Node &n, Value x, llvm::function_ref<Value(Value)> f);

/// The average pooling that the node's attributes describe. Null after a fault.
Value averagePooled(Node &n, Value x);

} // namespace nnv12::importer

#endif // NNV12_COMPILER_IMPORT_OPS_WINDOWS_H
