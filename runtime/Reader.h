//===- Reader.h - Brings pages of a mapped file into memory -----*- C++ -*-===//
#ifndef NNV12_RUNTIME_READER_H
#define NNV12_RUNTIME_READER_H

#include "artifact/MappedFile.h"

#include <cstddef>
#include <cstdint>

namespace nnv12::runtime {

/// How many bytes a Read brings in at once: enough that calls cost nothing
/// beside the transfer, and little enough that a thread is soon free for
/// something more urgent. docs/results/reading.md has the measurements.
constexpr uint64_t readPiece = 1u << 20;

/// Makes sure that [data, data + size), a part of a mapping, is in memory and
/// in this process's page tables. It touches the pages: the system reads ahead
/// of a thread that touches in order, and no call to the system is faster.
void readPages(const uint8_t *data, size_t size);

/// Waits for the first `needed` bytes of a file whose head opening has asked
/// for (RuntimePolicy.h). Then asks for the bytes that follow, which the system
/// would read in small pieces otherwise.
void readAhead(const artifact::MappedFile &file, size_t needed);

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_READER_H
