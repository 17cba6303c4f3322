//===- ReadAhead.h - What opening asks storage for --------------*- C++ -*-===//
#ifndef NNV12_RUNTIME_READAHEAD_H
#define NNV12_RUNTIME_READAHEAD_H

#include "artifact/MappedFile.h"

namespace nnv12::runtime {

/// Of a file that was opened with its head asked for (Policy.h): waits for the
/// first `needed` bytes, and asks for what follows them and would be read in
/// small pieces otherwise.
void readAhead(const artifact::MappedFile &file, size_t needed);

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_READAHEAD_H
