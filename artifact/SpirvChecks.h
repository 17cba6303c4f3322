//===- SpirvChecks.h - The base of checks of SPIR-V -------------*- C++ -*-===//
//
// A module's words, the facts about each id, and questions about types. The
// checks are built on top, a class on another: SpirvDeclarations,
// SpirvFunctions, and SpirvVerifier, which checks the first sections of a
// module.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_ARTIFACT_SPIRVCHECKS_H
#define NNV12_ARTIFACT_SPIRVCHECKS_H

#include "artifact/Checks.h"
#include "artifact/SpirvInstructions.h"
#include "artifact/SpirvInterface.h"

#include <cstdint>
#include <spirv/unified1/spirv.hpp11>

namespace nnv12::artifact {

/// The marks of an id.
enum SpirvMark : uint32_t {
  // Decorations, which come before the id that they decorate.
  MarkSet = 1 << 0, ///< DescriptorSet 0
  MarkBinding = 1 << 1,
  MarkNonWritable = 1 << 2, ///< itself, or its member
  MarkBlock = 1 << 3,
  MarkStride = 1 << 4,
  MarkOffset = 1 << 5, ///< of its member: 0
  MarkBuiltIn = 1 << 6,
  MarkSpecId = 1 << 7,
  MarkNoContraction = 1 << 8,
  allDecorations = (1 << 9) - 1,
  MarkMentioned = 1 << 9,    ///< before its definition, which must follow
  MarkListed = 1 << 10,      ///< an input that the entry point names
  MarkStorageOnly = 1 << 11, ///< a type to load, store and convert
  MarkVector2 = 1 << 12,     ///< a type whose vector of 2 is declared
  MarkVector3 = 1 << 13,
  MarkVector4 = 1 << 14,
  MarkMerge = 1 << 15, ///< a block that a merge instruction names as merge
  MarkContinue = 1 << 16,
  MarkMember = 1 << 17, ///< a type whose member has a name
  MarkEntered = 1 << 18 ///< a block that is no merge and no continue target
};

/// The facts about an id. All zero: nothing is known.
struct SpirvId {
  uint32_t at;     ///< word of its definition, or 0
  uint32_t marks;  ///< SpirvMark
  uint32_t number; ///< of a decoration; of a block, see SpirvFunctions.cpp
  uint16_t opcode; ///< of its definition
  /// A value's type; a type's component, element or pointee; a function's
  /// return type.
  uint16_t type;
  uint16_t block; ///< that computes the value; 0: outside of functions
  uint16_t root;  ///< of a pointer, the variable
  // The facts of blocks, see SpirvFunctions.cpp.
  uint16_t targets[2], predecessors, depth, first, last;
  /// The n-th block of a list of its own lies in id n.
  uint16_t dominator;
};

enum SpirvExtension : uint32_t {
  StorageBufferClass = 1 << 0, ///< in version 1.3 already
  Storage8 = 1 << 1,
  Storage16 = 1 << 2 ///< in version 1.3 already
};

/// Features by which numbers of 8 or 16 bits may lie in storage buffers.
constexpr uint64_t storage8 =
    SpirvStorageBuffer8 | SpirvUniformAndStorageBuffer8;
constexpr uint64_t storage16 =
    SpirvStorageBuffer16 | SpirvUniformAndStorageBuffer16;

constexpr uint32_t spirvVersion13 = 0x00010300;

class SpirvChecks : protected Checks {
protected:
  SpirvChecks(const SpirvInterface &facts, SpirvId *ids, Fault &fault)
      : Checks(fault), facts(facts), words(facts.words), ids(ids),
        bound(words[3]), version(words[1]) {}

  const SpirvInterface &facts;
  const uint32_t *words;
  SpirvId *ids;
  uint32_t bound;

  // The instruction under way.
  const uint32_t *here = words; ///< its first word
  uint32_t count = 0;
  const SpirvInstruction *instruction = nullptr;
  spv::Op opcode() const { return spv::Op(instruction->opcode); }
  uint32_t word(uint32_t i) const { return here[i]; }
  uint32_t at() const { return uint32_t(here - words); }

  uint32_t version;
  uint64_t declared = 0;   ///< by capabilities: SpirvFeature
  uint32_t extensions = 0; ///< SpirvExtension
  uint16_t glsl = 0;       ///< the id of GLSL.std.450
  uint16_t entryPoint = 0; ///< the function

  /// Leaves. "this|that" about word `i` of the instruction becomes "word N:
  /// found this, expected that".
  [[noreturn]] __attribute__((format(printf, 3, 4))) void
  fail(uint32_t i, const char *format, ...);

  // When these return, word `i` is as it must be.
  /// An id below the bound.
  uint32_t idAt(uint32_t i);
  /// An id that was defined by `opcode`.
  uint32_t idOf(uint32_t i, spv::Op opcode, const char *what);
  /// A type of pointers, in word 1.
  uint32_t resultPointer();
  /// Defines a new id, with `type` of this instruction; its decorations must be
  /// in `decorations`.
  SpirvId &define(uint32_t i, uint32_t type, uint32_t decorations = 0);

  bool is(uint32_t id, spv::Op opcode) const {
    return ids[id].at && ids[id].opcode == uint16_t(opcode);
  }
  /// Word `i` of the definition of `id`.
  uint32_t part(uint32_t id, uint32_t i) const { return words[ids[id].at + i]; }

  // Types.
  uint32_t scalarOf(uint32_t type) const {
    return is(type, spv::Op::OpTypeVector) ? ids[type].type : type;
  }
  uint32_t componentsOf(uint32_t type) const {
    return is(type, spv::Op::OpTypeVector) ? part(type, 3) : 1;
  }
  bool isFloat(uint32_t type) const {
    return is(scalarOf(type), spv::Op::OpTypeFloat);
  }
  bool isInteger(uint32_t type) const {
    return is(scalarOf(type), spv::Op::OpTypeInt);
  }
  bool isBool(uint32_t type) const {
    return is(scalarOf(type), spv::Op::OpTypeBool);
  }
  bool isNumber(uint32_t type) const {
    return isFloat(type) || isInteger(type);
  }
  /// A scalar or vector.
  bool isValueType(uint32_t type) const {
    return isNumber(type) || isBool(type);
  }
  /// A scalar or vector, and not for storage alone.
  bool isComputable(uint32_t type) const {
    return isValueType(type) && !(ids[scalarOf(type)].marks & MarkStorageOnly);
  }
  bool isInt32(uint32_t type) const {
    return is(type, spv::Op::OpTypeInt) && part(type, 2) == 32;
  }
  bool isUint3(uint32_t type) const {
    return componentsOf(type) == 3 && isInt32(scalarOf(type));
  }
  /// Bits of a component of a number.
  uint32_t widthOf(uint32_t type) const { return part(scalarOf(type), 2); }
  /// Bytes of a scalar or vector of numbers, and its alignment in std430.
  uint32_t bytesOf(uint32_t type) const {
    return componentsOf(type) * widthOf(type) / 8;
  }
  uint32_t alignmentOf(uint32_t type) const {
    uint32_t components = componentsOf(type);
    return (components == 3 ? 4 : components) * widthOf(type) / 8;
  }
  /// The type of a value; 0 where `id` is none.
  uint32_t typeOf(uint32_t id) const;
  bool isConstant(uint32_t id) const;
  /// The value of a constant of 32 bits, specialised, or false.
  bool constantValue(uint32_t id, uint32_t &value) const;
  spv::StorageClass storageOf(uint32_t pointerType) const {
    return spv::StorageClass(part(pointerType, 2));
  }

  /// The string from word `i` to the end of the instruction, or null where it
  /// does not end in the last word.
  const char *string(uint32_t i) const;
};

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_SPIRVCHECKS_H
