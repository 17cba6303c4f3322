//===- SpirvInstructions.h - Instructions that kernels use ------*- C++ -*-===//
//
// The instructions of SPIR-V that a module may have, in which section, with how
// many words and, of most of those that compute, with operands of which types.
//
// A signature has a letter for the result's type and one for each operand's.
// Results: F float, I integer, B bool, A any of them, all scalars or vectors;
// G float and J integer of types, too, that are for storage alone.
// Operands, with as many components as the result unless told otherwise:
//   =  of the result's type            ~  of the first operand's type
//   f  float                           i  integer
//   b  bool                            g, j  as G and J, of another width
//   n  a number of the result's width, but of another type
//   c  a scalar, the result's component
//   v  a vector, whose component is the result
//   x  an integer, scalar
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_ARTIFACT_SPIRVINSTRUCTIONS_H
#define NNV12_ARTIFACT_SPIRVINSTRUCTIONS_H

#include <cstdint>
#include <spirv/unified1/spirv.hpp11>

namespace nnv12::artifact {

/// In the order in which they lie in a module.
enum class SpirvSection : uint8_t {
  Capabilities,
  Extensions,
  ExtendedInstructions,
  MemoryModel,
  EntryPoints,
  ExecutionModes,
  Names,
  Decorations,
  Declarations, ///< types, constants, global variables
  Functions
};

/// There are many of them: all of it is bytes.
struct SpirvInstruction {
  static constexpr uint8_t any = 0xff; ///< as `mostWords`

  uint8_t opcode;
  SpirvSection section;
  uint8_t fewestWords, mostWords; ///< the first one included
  char signature[5] = {};         ///< or empty

  constexpr SpirvInstruction(spv::Op opcode, SpirvSection section,
                             uint8_t fewestWords, uint8_t mostWords,
                             const char *text)
      : opcode(uint8_t(opcode)), section(section), fewestWords(fewestWords),
        mostWords(mostWords) {
    for (char *letter = signature; *text; ++text)
      *letter++ = *text;
  }
};

/// Null where kernels have no use for it. `opcode` has 16 bits.
const SpirvInstruction *findSpirvInstruction(uint32_t opcode);

/// The signature of an instruction of GLSL.std.450, or null.
const char *findGlslSignature(uint32_t number);

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_SPIRVINSTRUCTIONS_H
