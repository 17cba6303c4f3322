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

uint32_t SpirvFunctions::value(uint32_t i) {
  uint32_t id = idAt(i), type = typeOf(id);
  if (!type)
    fail(i, "id %u|a value", id);
  if (!isKnown(id, block_))
    fail(i, "id %u of block %u|one that is computed on every way to here", id,
         ids[id].block);
  return type;
}

void SpirvFunctions::valueOf(uint32_t i, uint32_t expected) {
  uint32_t type = value(i);
  if (type != expected)
    fail(i, "a value of type %u|type %u", type, expected);
}

/// A vector whose components are of that type.
uint32_t SpirvFunctions::vector(uint32_t i, uint32_t component) {
  uint32_t type = value(i);
  if (!is(type, Op::OpTypeVector) || ids[type].type != component)
    fail(i, "a value of type %u|a vector of type %u", type, component);
  return type;
}

uint32_t SpirvFunctions::resultType() {
  uint32_t type = idAt(1);
  if (!isComputable(type))
    fail(1,
         "id %u|the type of a scalar or vector that is not for storage alone",
         type);
  return type;
}

SpirvId &SpirvFunctions::result(uint32_t decorations) {
  SpirvId &id = define(2, word(1), decorations);
  id.block = uint16_t(block_);
  return id;
}

bool SpirvFunctions::isOperand(char letter, uint32_t type,
                               uint32_t first) const {
  uint32_t result = word(1);
  bool isLike = componentsOf(type) == componentsOf(result);
  switch (letter) {
  case '=':
    return type == result;
  case '~':
    return type == first;
  case 'n':
    return isLike && type != result && isNumber(type) && isComputable(type) &&
           isNumber(result) && widthOf(type) == widthOf(result);
  case 'c':
    return is(result, Op::OpTypeVector) && type == scalarOf(result);
  case 'v':
    return is(type, Op::OpTypeVector) && scalarOf(type) == result;
  case 'x':
    return is(type, Op::OpTypeInt) && isComputable(type);
  case 'g':
  case 'j':
    isLike = isLike && isNumber(type) && widthOf(type) != widthOf(result);
    [[fallthrough]];
  default: // As of results, whose letters are capitals.
    return isLike && isResult(char(letter - 'a' + 'A'), type);
  }
}

bool SpirvFunctions::isResult(char letter, uint32_t type) const {
  switch (letter) {
  case 'B':
    return isBool(type);
  case 'G':
    return isFloat(type);
  case 'J':
    return isInteger(type);
  case 'F':
    return isFloat(type) && isComputable(type);
  case 'I':
    return isInteger(type) && isComputable(type);
  default:
    return isComputable(type);
  }
}

/// See SpirvInstructions.h.
void SpirvFunctions::withSignature(const char *signature,
                                   uint32_t firstOperand) {
  if (count != firstOperand + strlen(signature) - 1)
    fail(0, "%u words|%zu", count, firstOperand + strlen(signature) - 1);
  uint32_t type = idAt(1);
  char letter = signature[0];
  if (!isResult(letter, type))
    fail(1, "type %u for the result of opcode %u|one of class %c", type,
         unsigned(opcode()), letter);
  for (uint32_t i = firstOperand; i < count; ++i) {
    uint32_t found = value(i);
    if (!isOperand(*++signature, found, typeOf(word(firstOperand))))
      fail(i,
           "an operand of type %u|one that fits opcode %u and result type %u",
           found, unsigned(opcode()), type);
  }
  result(letter == 'F' ? uint32_t(MarkNoContraction) : 0u);
}

void SpirvFunctions::extendedInstruction() {
  if (!glsl || word(3) != glsl)
    fail(3, "id %u|GLSL.std.450", word(3));
  const char *signature = findGlslSignature(word(4));
  if (!signature)
    fail(4, "instruction %u of GLSL.std.450|one of those that kernels use",
         word(4));
  withSignature(signature, 5);
}

void SpirvFunctions::compositeConstruct() {
  uint32_t type = resultType(), components = 0;
  for (uint32_t i = 3; i < count; ++i) {
    uint32_t found = value(i);
    if (!isComputable(found) || scalarOf(found) != scalarOf(type))
      fail(i, "a part of type %u|components of type %u", found, type);
    components += componentsOf(found);
  }
  if (components != componentsOf(type))
    fail(1, "type %u for %u components|their vector", type, components);
  result();
}

/// Checks that word `i` is the number of one of so many.
void SpirvFunctions::component(uint32_t i, uint32_t components) {
  if (word(i) >= components)
    fail(i, "component %u|less than %u", word(i), components);
}

void SpirvFunctions::compositeExtract() {
  component(4, componentsOf(vector(3, resultType())));
  result();
}

void SpirvFunctions::compositeInsert() {
  uint32_t type = resultType();
  valueOf(4, type);
  vector(4, value(3));
  component(5, componentsOf(type));
  result();
}

void SpirvFunctions::vectorShuffle() {
  uint32_t type = resultType(), scalar = scalarOf(type);
  uint32_t given = componentsOf(vector(3, scalar));
  given += componentsOf(vector(4, scalar));
  if (count - 5 != componentsOf(type))
    fail(0, "%u components|those of type %u", count - 5, type);
  for (uint32_t i = 5; i < count; ++i)
    if (word(i) != 0xffffffff)
      component(i, given);
  result();
}

void SpirvFunctions::controlBarrier() {
  constexpr uint32_t workgroup = uint32_t(spv::Scope::Workgroup);
  constexpr uint32_t semantics =
      uint32_t(spv::MemorySemanticsMask::AcquireRelease) |
      uint32_t(spv::MemorySemanticsMask::WorkgroupMemory);
  constexpr uint32_t buffers =
      uint32_t(spv::MemorySemanticsMask::UniformMemory);
  for (uint32_t i = 1; i < 4; ++i) {
    uint32_t constant = idOf(i, Op::OpConstant, "a constant"), found = 0;
    bool hasValue = constantValue(constant, found);
    bool isGood = i < 3 ? found == workgroup : (found & ~buffers) == semantics;
    if (!hasValue || !isGood)
      fail(i,
           "a barrier with %u|the workgroup, and its memory acquired and "
           "released",
           found);
  }
}

// Memory.

void SpirvFunctions::localVariable() {
  if (!isAtVariables_)
    fail(0, "a variable|it at the begin of a function");
  uint32_t pointer = resultPointer();
  if (storageOf(pointer) != StorageClass::Function ||
      word(3) != uint32_t(StorageClass::Function))
    fail(3, "storage class %u|Function", word(3));
  result().root = uint16_t(word(2));
}

/// A variable, or an access chain into one.
uint32_t SpirvFunctions::pointer(uint32_t i) {
  uint32_t type = value(i), root = ids[word(i)].root;
  if (!is(type, Op::OpTypePointer))
    fail(i, "a value of type %u|a pointer", type);
  if (storageOf(type) == StorageClass::Input && !(ids[root].marks & MarkListed))
    fail(i, "input %u|one that the entry point names", root);
  return type;
}

void SpirvFunctions::memoryOperands(uint32_t i) {
  constexpr uint32_t aligned = uint32_t(spv::MemoryAccessMask::Aligned);
  if (count == i)
    return;
  if (word(i) != (count == i + 1 ? 0 : aligned))
    fail(i, "memory operands 0x%x|none or Aligned", word(i));
  if (count == i + 2) {
    uint32_t alignment = word(i + 1);
    if (alignment == 0 || alignment > 16 || (alignment & (alignment - 1)))
      fail(i + 1, "an alignment of %u|1, 2, 4, 8 or 16", alignment);
  }
}

void SpirvFunctions::load() {
  uint32_t type = idAt(1), pointee = ids[pointer(3)].type;
  memoryOperands(4);
  if (type != pointee || !isValueType(pointee))
    fail(1, "a load of type %u|the scalar or vector that is pointed to, %u",
         type, pointee);
  result();
}

void SpirvFunctions::store() {
  uint32_t type = pointer(1), pointee = ids[type].type;
  memoryOperands(3);
  if (!isValueType(pointee))
    fail(1, "a store of type %u|a scalar or vector", pointee);
  StorageClass storage = storageOf(type);
  uint32_t root = ids[word(1)].root;
  if (storage == StorageClass::Input || storage == StorageClass::PushConstant ||
      ids[root].marks & MarkNonWritable)
    fail(1, "a store to variable %u|one that is not for reading only", root);
  valueOf(2, pointee);
}

void SpirvFunctions::accessChain() {
  uint32_t result = resultPointer();
  uint32_t variable = idOf(3, Op::OpVariable, "a variable"), type = pointer(3);
  StorageClass storage = storageOf(type);
  if (storage == StorageClass::Function)
    fail(3, "an access chain into a variable of a function|loads and stores of "
            "all of it");
  uint32_t reached = ids[type].type;
  for (uint32_t i = 4; i < count; ++i) {
    uint32_t found = value(i);
    if (!is(found, Op::OpTypeInt) || !isComputable(found))
      fail(i, "an index of type %u|an integer", found);
    uint32_t index = 0, length = 0;
    bool hasValue = constantValue(word(i), index), mustHave = true;
    if (is(reached, Op::OpTypeStruct)) {
      length = 1;
      hasValue = hasValue && is(word(i), Op::OpConstant);
    } else if (is(reached, Op::OpTypeVector)) {
      length = componentsOf(reached);
    } else if (is(reached, Op::OpTypeArray)) {
      constantValue(part(reached, 3), length);
      // Access is robust in buffers only.
      mustHave = storage == StorageClass::PushConstant;
    } else if (is(reached, Op::OpTypeRuntimeArray)) {
      hasValue = mustHave = false;
    } else {
      fail(i, "an index into type %u|a composite", reached);
    }
    if (hasValue ? index >= length : mustHave)
      fail(i, "an index of %u|a constant less than %u", index, length);
    reached = ids[reached].type;
  }
  if (storageOf(result) != storage || ids[result].type != reached)
    fail(1, "pointers of type %u|storage class %u and type %u", result,
         unsigned(storage), reached);
  this->result().root = ids[variable].root;
}

} // namespace nnv12::artifact
