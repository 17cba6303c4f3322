//===- Structs.h - Structs of which the caller knows a part -----*- C++ -*-===//
//
// Structs of the C API grow at their end: struct_size says how much of one the
// caller was built with.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_RUNTIME_SYSTEM_STRUCTS_H
#define NNV12_RUNTIME_SYSTEM_STRUCTS_H

#include "artifact/Fault.h"
#include "runtime/include/nnv12.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace nnv12::runtime {

/// Copies the part of a caller's struct that the caller knows over defaults.
/// False where it does not say how large it is.
template <typename Struct>
bool readStruct(const Struct *given, Struct &result) {
  result.struct_size = sizeof(Struct);
  if (!given)
    return true;
  if (given->struct_size < sizeof(size_t))
    return false;
  memcpy(static_cast<void *>(&result), given,
         std::min(given->struct_size, sizeof(Struct)));
  return true;
}

/// The same for a struct that options point to. The fault names the field, and
/// the macro that sets the size.
template <typename Struct>
bool readStruct(const Struct *given, Struct &result, const char *field,
                const char *init, artifact::Fault &fault) {
  return readStruct(given, result) ||
         fault.set(artifact::Fault::InvalidArgument,
                   "%s: struct_size: found 0, expected what %s sets", field,
                   init);
}

/// Fills the part of a caller's struct that the caller knows.
template <typename Struct>
void writeStruct(const Struct &value, Struct *result) {
  size_t known = std::min(result->struct_size, sizeof(Struct));
  if (known > sizeof(size_t))
    memcpy(reinterpret_cast<char *>(result) + sizeof(size_t),
           reinterpret_cast<const char *>(&value) + sizeof(size_t),
           known - sizeof(size_t));
}

/// An element of an array of structs as large as the caller knows them.
template <typename Struct>
const Struct &elementOf(const Struct *array, uint32_t i) {
  return *reinterpret_cast<const Struct *>(
      reinterpret_cast<const char *>(array) + i * array->struct_size);
}

/// A caller's buffers for one run: arrays for elementOf().
struct CallersBuffers {
  const nnv12_input *inputs;
  const nnv12_output *outputs;
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_SYSTEM_STRUCTS_H
