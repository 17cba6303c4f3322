//===- ReadAhead.h - Asks storage for a bundle's beginning ------*- C++ -*-===//
#ifndef NNV12_RUNTIME_READAHEAD_H
#define NNV12_RUNTIME_READAHEAD_H

#include "artifact/MappedFile.h"

namespace nnv12::runtime {

/// Waits for the first `needed` bytes of a file whose head opening has asked
/// for (RuntimePolicy.h). Then asks for the bytes that follow, which the system
/// would read in small pieces otherwise.
void readAhead(const artifact::MappedFile &file, size_t needed);

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_READAHEAD_H
