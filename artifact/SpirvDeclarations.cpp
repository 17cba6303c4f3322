//===- SpirvDeclarations.cpp - Checks what a SPIR-V module declares -------===//
#include "artifact/SpirvDeclarations.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace nnv12::artifact {

using spv::BuiltIn;
using spv::Op;
using spv::StorageClass;

bool SpirvDeclarations::verify() {
  switch (m.opcode()) {
  case Op::OpTypeVoid:
    return uniqueType(!std::exchange(hasVoid, true)) && m.define(1, 0);
  case Op::OpTypeBool:
    return uniqueType(!std::exchange(hasBool, true)) && m.define(1, 0);
  case Op::OpTypeInt:
    return integerType();
  case Op::OpTypeFloat:
    return floatType();
  case Op::OpTypeVector:
    return vectorType();
  case Op::OpTypeArray:
    return arrayType();
  case Op::OpTypeRuntimeArray:
    return runtimeArrayType();
  case Op::OpTypeStruct:
    return structType();
  case Op::OpTypePointer:
    return pointerType();
  case Op::OpTypeFunction:
    return functionType();
  case Op::OpConstantTrue:
  case Op::OpConstantFalse:
  case Op::OpConstant:
  case Op::OpConstantNull:
    return constant();
  case Op::OpConstantComposite:
  case Op::OpSpecConstantComposite:
    return composite();
  case Op::OpSpecConstant:
    return specConstant();
  case Op::OpUndef:
    return undefined();
  case Op::OpVariable:
    return variable();
  default:
    return m.fail(0, "found opcode %u, expected a declaration",
                  unsigned(m.opcode()));
  }
}

bool SpirvDeclarations::finish() {
  if (shared != facts.shared)
    return m.fail(0, "found %u bytes of workgroup memory, expected %u", shared,
                  facts.shared);
  return true;
}

// Types.

bool SpirvDeclarations::uniqueType(bool isNew) {
  return isNew || m.fail(0, "found a type again, expected it declared once");
}

/// Whether numbers of `width` bits may be declared: `full`y, or to be stored.
bool SpirvDeclarations::numberType(uint32_t width, uint64_t full,
                                   uint64_t storage) {
  if (full & ~m.declared & ~(storage & m.declared ? full : 0))
    return m.fail(2,
                  "found a type of %u bits, expected its capability "
                  "declared",
                  width);
  if (!m.define(1, 0))
    return false;
  if (full & ~m.declared)
    m.ids[m.word(1)].marks |= MarkStorageOnly;
  return true;
}

bool SpirvDeclarations::integerType() {
  uint32_t width = m.word(2);
  if ((width != 8 && width != 16 && width != 32 && width != 64) || m.word(3))
    return m.fail(2,
                  "found an integer of %u bits and signedness %u, expected "
                  "8, 16, 32 or 64 and 0",
                  width, m.word(3));
  if (!uniqueType(!(integers & width)))
    return false;
  integers |= width;
  uint64_t full = 0;
  if (width != 32)
    full = width == 8 ? SpirvInt8 : width == 16 ? SpirvInt16 : SpirvInt64;
  uint64_t storage = width == 8 ? storage8 : width == 16 ? storage16 : 0;
  return numberType(width, full, storage);
}

bool SpirvDeclarations::floatType() {
  uint32_t width = m.word(2);
  if (width != 16 && width != 32 && width != 64)
    return m.fail(2, "found a float of %u bits, expected 16, 32 or 64", width);
  if (!uniqueType(!(floats & width)))
    return false;
  floats |= width;
  uint64_t full = 0;
  if (width != 32)
    full = width == 16 ? SpirvFloat16 : SpirvFloat64;
  return numberType(width, full, width == 16 ? storage16 : 0);
}

bool SpirvDeclarations::vectorType() {
  if (!m.isId(2))
    return false;
  uint32_t component = m.word(2), components = m.word(3);
  bool isScalar = m.scalarOf(component) == component &&
                  (m.isNumber(component) || m.isBool(component));
  if (!isScalar || components < 2 || components > 4)
    return m.fail(2,
                  "found a vector of %u of type %u, expected 2 to 4 of a "
                  "scalar",
                  components, component);
  uint32_t mark = MarkVector2 << (components - 2);
  if (!uniqueType(!(m.ids[component].marks & mark)))
    return false;
  m.ids[component].marks |= mark;
  return m.define(1, component);
}

/// Checks the stride of an array, where it has one, against its elements.
bool SpirvDeclarations::stride(uint32_t element) {
  if (!m.isNumber(element))
    return m.fail(2,
                  "found an array of type %u, expected scalars or vectors "
                  "of numbers",
                  element);
  if (!m.define(1, element, MarkStride))
    return false;
  const SpirvId &id = m.ids[m.word(1)];
  uint32_t alignment = m.alignmentOf(element);
  if (id.marks & MarkStride &&
      (id.number < m.bytesOf(element) || id.number % alignment))
    return m.fail(1,
                  "found an ArrayStride of %u, expected %u at least, and a "
                  "multiple of %u",
                  id.number, m.bytesOf(element), alignment);
  return true;
}

bool SpirvDeclarations::arrayType() {
  if (!m.isId(2) || !m.isId(3))
    return false;
  uint32_t length = 0;
  bool isKnown = m.constantValue(m.word(3), length);
  // Before it is specialised, too.
  if (isKnown && m.is(m.word(3), Op::OpSpecConstant) && length != 0)
    length = m.part(m.word(3), 3);
  if (length == 0)
    return m.fail(3,
                  "found an array of length %u, expected a constant of 32 "
                  "bits, 1 at least",
                  length);
  return stride(m.word(2));
}

bool SpirvDeclarations::runtimeArrayType() {
  return m.isId(2) && stride(m.word(2));
}

/// An array and no more: a block, or undecorated for workgroup memory.
bool SpirvDeclarations::structType() {
  if (!m.isId(2))
    return false;
  const SpirvId &array = m.ids[m.word(2)];
  bool isRuntime = m.is(m.word(2), Op::OpTypeRuntimeArray);
  if (!isRuntime && !m.is(m.word(2), Op::OpTypeArray))
    return m.fail(2, "found a member of type %u, expected an array", m.word(2));
  if (!m.define(1, m.word(2), MarkBlock | MarkOffset | MarkNonWritable))
    return false;
  uint32_t marks = m.ids[m.word(1)].marks;
  bool hasLayout = (marks & MarkOffset) && (array.marks & MarkStride);
  bool isPlain = !(marks & allDecorations) && !(array.marks & MarkStride);
  if (marks & MarkBlock ? !hasLayout : !isPlain || isRuntime)
    return m.fail(1,
                  "found type %u with a part of a layout, expected a block "
                  "with Offset and ArrayStride, or none of them",
                  m.word(1));
  return true;
}

/// Whether numbers as wide as those of `pointee` may lie there.
bool SpirvDeclarations::isWideEnough(StorageClass storage, uint32_t pointee) {
  while (m.is(pointee, Op::OpTypeStruct) || m.is(pointee, Op::OpTypeArray) ||
         m.is(pointee, Op::OpTypeRuntimeArray))
    pointee = m.ids[pointee].type;
  uint32_t width = m.isNumber(pointee) ? m.widthOf(pointee) : 32;
  uint64_t needed = width == 8 ? storage8 : storage16;
  return width >= 32 ||
         (storage == StorageClass::StorageBuffer && (m.declared & needed) != 0);
}

bool SpirvDeclarations::pointerType() {
  if (!m.isId(3))
    return false;
  StorageClass storage = StorageClass(m.word(2));
  uint32_t pointee = m.word(3);
  bool isNumber = m.isNumber(pointee), isGood = false;
  switch (storage) {
  case StorageClass::StorageBuffer:
    isGood = isBlock(pointee) || isNumber;
    if (m.version < spirvVersion13 && !(m.extensions & StorageBufferClass))
      return m.fail(2, "found storage class StorageBuffer, expected its "
                       "extension");
    break;
  case StorageClass::PushConstant:
    isGood = isNumber ||
             (isBlock(pointee) && m.is(m.ids[pointee].type, Op::OpTypeArray));
    break;
  case StorageClass::Input:
    isGood = m.isUint3(pointee) || m.isInt32(pointee);
    break;
  case StorageClass::Workgroup:
    isGood = isNumber ||
             (m.is(pointee, Op::OpTypeStruct) && !isBlock(pointee)) ||
             (m.is(pointee, Op::OpTypeArray) &&
              !(m.ids[pointee].marks & MarkStride));
    break;
  case StorageClass::Function:
    isGood = m.isComputable(pointee);
    break;
  default:
    break;
  }
  bool isStored = storage != StorageClass::Function;
  if (!isGood || (isStored && !isWideEnough(storage, pointee)))
    return m.fail(2,
                  "found a pointer of storage class %u to type %u, expected "
                  "a class of kernels and what may lie there",
                  m.word(2), pointee);
  return m.define(1, pointee);
}

bool SpirvDeclarations::functionType() {
  if (numFunctionTypes == mostFunctionTypes)
    return m.fail(0, "found another type of functions, expected at most %u",
                  mostFunctionTypes);
  for (uint32_t i = 2; i < m.count; ++i) {
    if (!m.isId(i))
      return false;
    bool isVoid = i == 2 && m.is(m.word(i), Op::OpTypeVoid);
    if (!isVoid && !m.isComputable(m.word(i)))
      return m.fail(i,
                    "found id %u, expected the type of a scalar or vector "
                    "that is not for storage alone",
                    m.word(i));
  }
  for (uint32_t i = 0; i < numFunctionTypes; ++i) {
    const uint32_t *other = m.words + functionTypes[i];
    if (other[0] == m.word(0) &&
        std::equal(other + 2, other + m.count, m.words + m.at + 2))
      return uniqueType(false);
  }
  functionTypes[numFunctionTypes++] = m.at;
  return m.define(1, m.word(2));
}

// Constants.

bool SpirvDeclarations::constant() {
  if (!m.isId(1))
    return false;
  uint32_t type = m.word(1);
  bool isScalar = m.scalarOf(type) == type, isGood = false;
  switch (m.opcode()) {
  case Op::OpConstant:
    isGood = isScalar && m.isNumber(type) && m.isComputable(type) &&
             m.count == (m.widthOf(type) == 64 ? 5u : 4u);
    if (isGood && m.widthOf(type) < 32 && m.word(3) >> m.widthOf(type))
      return m.fail(3, "found 0x%x, expected a constant of %u bits", m.word(3),
                    m.widthOf(type));
    break;
  case Op::OpConstantNull:
    isGood = m.isComputable(type);
    break;
  default:
    isGood = isScalar && m.isBool(type);
    break;
  }
  if (!isGood)
    return m.fail(1,
                  "found type %u for a constant of %u words, expected one "
                  "that is as large and not for storage alone",
                  type, m.count);
  return m.define(2, type);
}

bool SpirvDeclarations::composite() {
  if (!m.isId(1))
    return false;
  uint32_t type = m.word(1);
  bool isSpecialised = m.opcode() == Op::OpSpecConstantComposite;
  if (!m.isComputable(type) || m.componentsOf(type) != m.count - 3)
    return m.fail(1,
                  "found type %u for a composite of %u, expected a vector "
                  "of as many",
                  type, m.count - 3);
  for (uint32_t i = 3; i < m.count; ++i) {
    if (!m.isId(i))
      return false;
    uint32_t part = m.word(i);
    bool isConstant =
        m.isConstant(part) || (isSpecialised && m.is(part, Op::OpSpecConstant));
    if (!isConstant || m.typeOf(part) != m.scalarOf(type))
      return m.fail(i, "found id %u, expected a constant of type %u", part,
                    m.scalarOf(type));
  }
  if (!m.define(2, type, MarkBuiltIn))
    return false;
  return !(m.ids[m.word(2)].marks & MarkBuiltIn) || workgroupSize();
}

/// The local size that is in force is that of this constant.
bool SpirvDeclarations::workgroupSize() {
  uint32_t builtIn = m.ids[m.word(2)].number;
  if (builtIn != uint32_t(BuiltIn::WorkgroupSize) || hasWorkgroupSize_ ||
      !facts.numConstants || !m.isUint3(m.word(1)))
    return m.fail(0,
                  "found a constant as builtin %u, expected WorkgroupSize, "
                  "once, of a specialised module, and 3 integers",
                  builtIn);
  hasWorkgroupSize_ = true;
  for (uint32_t i = 0; i < 3; ++i) {
    uint32_t size = 0;
    m.constantValue(m.word(3 + i), size);
    if (size != facts.local[i])
      return m.fail(3 + i, "found a local size of %u, expected %u", size,
                    facts.local[i]);
  }
  return true;
}

bool SpirvDeclarations::specConstant() {
  if (!m.isId(1))
    return false;
  if (!m.isInt32(m.word(1)))
    return m.fail(1,
                  "found a specialization constant of type %u, expected an "
                  "integer of 32 bits",
                  m.word(1));
  if (!m.define(2, m.word(1), MarkSpecId))
    return false;
  const SpirvId &id = m.ids[m.word(2)];
  if (!(id.marks & MarkSpecId) || id.number >= facts.numConstants ||
      specialised & 1u << id.number)
    return m.fail(2,
                  "found a specialization constant with SpecId %u, expected "
                  "one less than %u, once",
                  id.number, facts.numConstants);
  specialised |= 1u << id.number;
  return true;
}

bool SpirvDeclarations::undefined() {
  if (!m.isId(1))
    return false;
  if (!m.isComputable(m.word(1)))
    return m.fail(1, "found id %u, expected the type of a scalar or vector",
                  m.word(1));
  return m.define(2, m.word(1));
}

// Variables.

bool SpirvDeclarations::variable() {
  if (!m.isDefined(1, Op::OpTypePointer, "a type of pointers"))
    return false;
  uint32_t pointer = m.word(1);
  if (m.word(3) != uint32_t(m.storageOf(pointer)))
    return m.fail(3, "found storage class %u, expected its pointer's, %u",
                  m.word(3), unsigned(m.storageOf(pointer)));
  constexpr uint32_t ofBuffer = MarkSet | MarkBinding | MarkNonWritable;
  StorageClass storage = m.storageOf(pointer);
  uint32_t decorations = 0;
  if (storage == StorageClass::StorageBuffer)
    decorations = ofBuffer;
  else if (storage == StorageClass::Input)
    decorations = MarkBuiltIn;
  if (!m.define(2, pointer, decorations))
    return false;
  SpirvId &id = m.ids[m.word(2)];
  id.root = uint16_t(m.word(2));
  if ((id.marks & MarkListed) && storage != StorageClass::Input)
    return m.fail(2, "found variable %u in the interface, expected inputs",
                  m.word(2));
  uint32_t pointee = m.ids[pointer].type;
  switch (storage) {
  case StorageClass::StorageBuffer:
    return storageBuffer(id, pointee);
  case StorageClass::PushConstant:
    return pushConstants(pointee);
  case StorageClass::Input:
    return input(id, pointee);
  case StorageClass::Workgroup:
    return workgroup(pointee);
  default:
    return m.fail(3,
                  "found a variable of storage class %u, expected a global "
                  "one",
                  m.word(3));
  }
}

bool SpirvDeclarations::storageBuffer(SpirvId &id, uint32_t block) {
  if (!isBlock(block))
    return m.fail(1, "found a buffer of type %u, expected a block", block);
  if (!(id.marks & MarkSet) || !(id.marks & MarkBinding) ||
      id.number >= facts.bindings || bound & 1u << id.number)
    return m.fail(2,
                  "found a buffer at binding %u, expected one in set 0 less "
                  "than %u, once",
                  id.number, facts.bindings);
  bound |= 1u << id.number;
  id.marks |= m.ids[block].marks & MarkNonWritable;
  bool isWritten = facts.written & 1u << id.number;
  if (isWritten == bool(id.marks & MarkNonWritable))
    return m.fail(2, "found binding %u %s NonWritable, expected it %s",
                  id.number, isWritten ? "with" : "without",
                  isWritten ? "without, as it is written"
                            : "with, as it is not written");
  return true;
}

bool SpirvDeclarations::pushConstants(uint32_t block) {
  if (!isBlock(block) || hasPushConstants)
    return m.fail(1, "found push constants of type %u, expected one block",
                  block);
  hasPushConstants = true;
  uint32_t array = m.ids[block].type, length = 0;
  m.constantValue(m.part(array, 3), length);
  uint64_t bytes = uint64_t(length) * m.ids[array].number;
  if (bytes > 4 * uint64_t(facts.pushWords))
    return m.fail(1,
                  "found %llu bytes of push constants, expected at most %u "
                  "words",
                  static_cast<unsigned long long>(bytes), facts.pushWords);
  return true;
}

bool SpirvDeclarations::input(const SpirvId &id, uint32_t pointee) {
  static constexpr BuiltIn vectors[] = {
      BuiltIn::NumWorkgroups, BuiltIn::WorkgroupId, BuiltIn::LocalInvocationId,
      BuiltIn::GlobalInvocationId};
  bool isVector = std::find(std::begin(vectors), std::end(vectors),
                            BuiltIn(id.number)) != std::end(vectors);
  bool isIndex = id.number == uint32_t(BuiltIn::LocalInvocationIndex);
  if (!(id.marks & MarkBuiltIn) || !(isVector || isIndex) ||
      builtIns & 1u << id.number)
    return m.fail(2,
                  "found an input that is builtin %u, expected an "
                  "invocation's or workgroup's place, once",
                  id.number);
  builtIns |= 1u << id.number;
  if (isVector ? !m.isUint3(pointee) : !m.isInt32(pointee))
    return m.fail(1, "found type %u for builtin %u, expected %s of 32 bits",
                  pointee, id.number, isVector ? "3 integers" : "an integer");
  return true;
}

/// Variables follow one another as std430 would place them.
bool SpirvDeclarations::workgroup(uint32_t pointee) {
  uint32_t type = pointee;
  if (m.is(type, Op::OpTypeStruct))
    type = m.ids[type].type;
  uint32_t length = 1;
  if (m.is(type, Op::OpTypeArray)) {
    m.constantValue(m.part(type, 3), length);
    type = m.ids[type].type;
  }
  uint64_t alignment = m.alignmentOf(type);
  uint64_t stride =
      length > 1 ? alignment * ((m.bytesOf(type) + alignment - 1) / alignment)
                 : m.bytesOf(type);
  uint64_t begin = (shared + alignment - 1) / alignment * alignment;
  uint64_t total = begin + length * stride;
  if (total > facts.shared)
    return m.fail(1, "found %llu bytes of workgroup memory, expected %u",
                  static_cast<unsigned long long>(total), facts.shared);
  shared = uint32_t(total);
  return true;
}

} // namespace nnv12::artifact
