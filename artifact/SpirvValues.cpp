//===- SpirvValues.cpp - Checks what functions of SPIR-V compute ----------===//
//
// The part of SpirvFunctions that is about values, their types and memory.
//
//===----------------------------------------------------------------------===//
#include "artifact/SpirvFunctions.h"

#include <cstring>

namespace nnv12::artifact {

using spv::Op;
using spv::StorageClass;

bool SpirvFunctions::value(uint32_t i) {
  if (!m.isId(i))
    return false;
  const SpirvId &id = ids[m.word(i)];
  if (!type(i))
    return m.fail(i, "found id %u, expected a value", m.word(i));
  if (id.block && !dominates(id.block, block))
    return m.fail(i,
                  "found id %u of block %u, expected one that is computed "
                  "on every way to here",
                  m.word(i), id.block);
  return true;
}

bool SpirvFunctions::valueOf(uint32_t i, uint32_t expected) {
  if (!value(i))
    return false;
  if (type(i) != expected)
    return m.fail(i, "found a value of type %u, expected type %u", type(i),
                  expected);
  return true;
}

/// Whether word `i` is a vector of components of that type.
bool SpirvFunctions::vector(uint32_t i, uint32_t component) {
  if (!value(i))
    return false;
  if (!m.is(type(i), Op::OpTypeVector) || ids[type(i)].type != component)
    return m.fail(i, "found a value of type %u, expected a vector of type %u",
                  type(i), component);
  return true;
}

bool SpirvFunctions::resultType() {
  if (!m.isId(1))
    return false;
  if (!m.isComputable(m.word(1)))
    return m.fail(1,
                  "found id %u, expected the type of a scalar or vector "
                  "that is not for storage alone",
                  m.word(1));
  return true;
}

bool SpirvFunctions::result(uint32_t decorations) {
  if (!m.define(2, m.word(1), decorations))
    return false;
  ids[m.word(2)].block = uint16_t(block);
  return true;
}

bool SpirvFunctions::isOperand(char letter, uint32_t type,
                               uint32_t first) const {
  uint32_t result = m.word(1);
  bool isLike = m.componentsOf(type) == m.componentsOf(result);
  switch (letter) {
  case '=':
    return type == result;
  case '~':
    return type == first;
  case 'f':
    return isLike && m.isFloat(type) && m.isComputable(type);
  case 'i':
    return isLike && m.isInteger(type) && m.isComputable(type);
  case 'b':
    return isLike && m.isBool(type);
  case 'g':
    return isLike && m.isFloat(type) && m.widthOf(type) != m.widthOf(result);
  case 'j':
    return isLike && m.isInteger(type) && m.widthOf(type) != m.widthOf(result);
  case 'n':
    return isLike && type != result && m.isNumber(type) &&
           m.isComputable(type) && m.isNumber(result) &&
           m.widthOf(type) == m.widthOf(result);
  case 'c':
    return m.is(result, Op::OpTypeVector) && type == m.scalarOf(result);
  case 'v':
    return m.is(type, Op::OpTypeVector) && m.scalarOf(type) == result;
  case 'x':
    return m.is(type, Op::OpTypeInt) && m.isComputable(type);
  default:
    return false;
  }
}

/// See SpirvInstructions.h.
bool SpirvFunctions::withSignature(const char *signature,
                                   uint32_t firstOperand) {
  if (m.count != firstOperand + strlen(signature) - 1)
    return m.fail(0, "found %u words, expected %zu", m.count,
                  firstOperand + strlen(signature) - 1);
  if (!m.isId(1))
    return false;
  uint32_t result = m.word(1);
  bool isFloat = m.isFloat(result), isInteger = m.isInteger(result);
  bool isComputable = m.isComputable(result);
  char letter = signature[0];
  if (!(letter == 'F'   ? isFloat && isComputable
        : letter == 'I' ? isInteger && isComputable
        : letter == 'B' ? m.isBool(result)
        : letter == 'G' ? isFloat
        : letter == 'J' ? isInteger
                        : isComputable))
    return m.fail(1,
                  "found type %u for the result of opcode %u, expected one "
                  "of class %c",
                  result, unsigned(m.opcode()), letter);
  for (uint32_t i = firstOperand; i < m.count; ++i)
    if (!value(i))
      return false;
    else if (!isOperand(signature[1 + i - firstOperand], type(i),
                        type(firstOperand)))
      return m.fail(i,
                    "found an operand of type %u, expected one that fits "
                    "opcode %u and result type %u",
                    type(i), unsigned(m.opcode()), result);
  return this->result(letter == 'F' ? uint32_t(MarkNoContraction) : 0u);
}

bool SpirvFunctions::extendedInstruction() {
  if (!m.glsl || m.word(3) != m.glsl)
    return m.fail(3, "found id %u, expected GLSL.std.450", m.word(3));
  const char *signature = findGlslSignature(m.word(4));
  if (!signature)
    return m.fail(4,
                  "found instruction %u of GLSL.std.450, expected one of "
                  "those that kernels use",
                  m.word(4));
  return withSignature(signature, 5);
}

bool SpirvFunctions::compositeConstruct() {
  if (!resultType())
    return false;
  uint32_t result = m.word(1), components = 0;
  for (uint32_t i = 3; i < m.count; ++i) {
    if (!value(i))
      return false;
    if (!m.isComputable(type(i)) || m.scalarOf(type(i)) != m.scalarOf(result))
      return m.fail(i,
                    "found a part of type %u, expected components of type "
                    "%u",
                    type(i), result);
    components += m.componentsOf(type(i));
  }
  if (components != m.componentsOf(result))
    return m.fail(1, "found type %u for %u components, expected their vector",
                  result, components);
  return this->result();
}

bool SpirvFunctions::compositeExtract() {
  if (!resultType() || !vector(3, m.word(1)))
    return false;
  if (m.word(4) >= m.componentsOf(type(3)))
    return m.fail(4, "found component %u, expected less than %u", m.word(4),
                  m.componentsOf(type(3)));
  return result();
}

bool SpirvFunctions::compositeInsert() {
  if (!resultType() || !valueOf(4, m.word(1)))
    return false;
  if (!value(3) || !vector(4, type(3)))
    return false;
  if (m.word(5) >= m.componentsOf(m.word(1)))
    return m.fail(5, "found component %u, expected less than %u", m.word(5),
                  m.componentsOf(m.word(1)));
  return result();
}

bool SpirvFunctions::vectorShuffle() {
  if (!resultType() || !vector(3, m.scalarOf(m.word(1))) ||
      !vector(4, m.scalarOf(m.word(1))))
    return false;
  uint32_t given = m.componentsOf(type(3)) + m.componentsOf(type(4));
  if (m.count - 5 != m.componentsOf(m.word(1)))
    return m.fail(0, "found %u components, expected those of type %u",
                  m.count - 5, m.word(1));
  for (uint32_t i = 5; i < m.count; ++i)
    if (m.word(i) >= given && m.word(i) != 0xffffffff)
      return m.fail(i, "found component %u, expected less than %u", m.word(i),
                    given);
  return result();
}

bool SpirvFunctions::controlBarrier() {
  constexpr uint32_t workgroup = uint32_t(spv::Scope::Workgroup);
  constexpr uint32_t semantics =
      uint32_t(spv::MemorySemanticsMask::AcquireRelease) |
      uint32_t(spv::MemorySemanticsMask::WorkgroupMemory);
  constexpr uint32_t buffers =
      uint32_t(spv::MemorySemanticsMask::UniformMemory);
  for (uint32_t i = 1; i < 4; ++i) {
    if (!m.isDefined(i, Op::OpConstant, "a constant"))
      return false;
    uint32_t found = 0;
    bool isKnown = m.constantValue(m.word(i), found);
    bool isGood = i < 3 ? found == workgroup : (found & ~buffers) == semantics;
    if (!isKnown || !isGood)
      return m.fail(i,
                    "found a barrier with %u, expected the workgroup, and "
                    "its memory acquired and released",
                    found);
  }
  return true;
}

// Memory.

bool SpirvFunctions::variable() {
  if (!isAtVariables)
    return m.fail(0, "found a variable, expected it at the begin of a "
                     "function");
  if (!m.isDefined(1, Op::OpTypePointer, "a type of pointers"))
    return false;
  if (m.storageOf(m.word(1)) != StorageClass::Function ||
      m.word(3) != uint32_t(StorageClass::Function))
    return m.fail(3, "found storage class %u, expected Function", m.word(3));
  if (!result())
    return false;
  ids[m.word(2)].root = uint16_t(m.word(2));
  return true;
}

/// Whether word `i` is a pointer: a variable, or an access chain into one.
bool SpirvFunctions::pointer(uint32_t i) {
  if (!value(i))
    return false;
  if (!m.is(type(i), Op::OpTypePointer))
    return m.fail(i, "found a value of type %u, expected a pointer", type(i));
  uint32_t root = ids[m.word(i)].root;
  if (m.storageOf(type(i)) == StorageClass::Input &&
      !(ids[root].marks & MarkListed))
    return m.fail(i, "found input %u, expected one that the entry point names",
                  root);
  return true;
}

bool SpirvFunctions::memoryOperands(uint32_t i) {
  constexpr uint32_t aligned = uint32_t(spv::MemoryAccessMask::Aligned);
  if (m.count == i)
    return true;
  if (m.word(i) != (m.count == i + 1 ? 0 : aligned))
    return m.fail(i, "found memory operands 0x%x, expected none or Aligned",
                  m.word(i));
  if (m.count == i + 2) {
    uint32_t alignment = m.word(i + 1);
    if (alignment == 0 || alignment > 16 || (alignment & (alignment - 1)))
      return m.fail(i + 1,
                    "found an alignment of %u, expected 1, 2, 4, 8 or "
                    "16",
                    alignment);
  }
  return true;
}

bool SpirvFunctions::load() {
  if (!m.isId(1) || !pointer(3) || !memoryOperands(4))
    return false;
  uint32_t pointee = ids[type(3)].type;
  if (m.word(1) != pointee || !(m.isNumber(pointee) || m.isBool(pointee)))
    return m.fail(1,
                  "found a load of type %u, expected the scalar or vector "
                  "that is pointed to, %u",
                  m.word(1), pointee);
  return result();
}

bool SpirvFunctions::store() {
  if (!pointer(1) || !memoryOperands(3))
    return false;
  uint32_t pointee = ids[type(1)].type;
  if (!(m.isNumber(pointee) || m.isBool(pointee)))
    return m.fail(1, "found a store of type %u, expected a scalar or vector",
                  pointee);
  StorageClass storage = m.storageOf(type(1));
  uint32_t root = ids[m.word(1)].root;
  if (storage == StorageClass::Input || storage == StorageClass::PushConstant ||
      ids[root].marks & MarkNonWritable)
    return m.fail(1,
                  "found a store to variable %u, expected one that is not "
                  "for reading only",
                  root);
  return valueOf(2, pointee);
}

bool SpirvFunctions::accessChain() {
  if (!m.isDefined(1, Op::OpTypePointer, "a type of pointers") ||
      !m.isDefined(3, Op::OpVariable, "a variable") || !pointer(3))
    return false;
  StorageClass storage = m.storageOf(type(3));
  if (storage == StorageClass::Function)
    return m.fail(3, "found an access chain into a variable of a function, "
                     "expected loads and stores of all of it");
  uint32_t reached = ids[type(3)].type;
  for (uint32_t i = 4; i < m.count; ++i) {
    if (!value(i))
      return false;
    if (!m.is(type(i), Op::OpTypeInt) || !m.isComputable(type(i)))
      return m.fail(i, "found an index of type %u, expected an integer",
                    type(i));
    uint32_t index = 0, length = 0;
    bool isKnown = m.constantValue(m.word(i), index), mustBe = true;
    if (m.is(reached, Op::OpTypeStruct)) {
      length = 1;
      isKnown = isKnown && m.is(m.word(i), Op::OpConstant);
    } else if (m.is(reached, Op::OpTypeVector)) {
      length = m.componentsOf(reached);
    } else if (m.is(reached, Op::OpTypeArray)) {
      m.constantValue(m.part(reached, 3), length);
      // Access is robust in buffers only.
      mustBe = storage == StorageClass::PushConstant;
    } else if (m.is(reached, Op::OpTypeRuntimeArray)) {
      isKnown = mustBe = false;
    } else {
      return m.fail(i, "found an index into type %u, expected a composite",
                    reached);
    }
    if (isKnown ? index >= length : mustBe)
      return m.fail(i, "found an index of %u, expected a constant less than %u",
                    index, length);
    reached = ids[reached].type;
  }
  if (m.storageOf(m.word(1)) != storage || ids[m.word(1)].type != reached)
    return m.fail(1,
                  "found pointers of type %u, expected storage class %u and "
                  "type %u",
                  m.word(1), unsigned(storage), reached);
  if (!result())
    return false;
  ids[m.word(2)].root = ids[m.word(3)].root;
  return true;
}

} // namespace nnv12::artifact
