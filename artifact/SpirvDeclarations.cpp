//===- SpirvDeclarations.cpp - Checks what a SPIR-V module declares -------===//
#include "artifact/SpirvDeclarations.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace nnv12::artifact {

using spv::BuiltIn;
using spv::Op;
using spv::StorageClass;

void SpirvDeclarations::declare() {
  switch (opcode()) {
  case Op::OpTypeVoid:
    uniqueType(!std::exchange(hasVoid_, true));
    define(1, 0);
    return;
  case Op::OpTypeBool:
    uniqueType(!std::exchange(hasBool_, true));
    define(1, 0);
    return;
  case Op::OpTypeInt:
    return integerType();
  case Op::OpTypeFloat:
    return floatType();
  case Op::OpTypeVector:
    return vectorType();
  case Op::OpTypeArray:
    return arrayType();
  case Op::OpTypeRuntimeArray:
    return stride(idAt(2));
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
    return globalVariable();
  default:
    fail(0, "opcode %u|a declaration", unsigned(opcode()));
  }
}

void SpirvDeclarations::finishDeclarations() {
  if (shared_ != facts.shared)
    fail(0, "%u bytes of workgroup memory|%u", shared_, facts.shared);
}

// Types.

void SpirvDeclarations::uniqueType(bool isNew) {
  if (!isNew)
    fail(0, "a type again|it declared once");
}

/// Declares numbers of the width in word 2, unless it is `known`: in `full`
/// where that is declared, else to be stored.
void SpirvDeclarations::numberType(uint32_t &known, uint64_t full) {
  uint32_t width = word(2);
  uniqueType(!(known & width));
  known |= width;
  uint64_t storage = width == 8 ? storage8 : width == 16 ? storage16 : 0;
  bool isFull = (full & ~declared) == 0;
  if (!isFull && !(storage & declared))
    fail(2, "a type of %u bits|its capability declared", width);
  SpirvId &id = define(1, 0);
  if (!isFull)
    id.marks |= MarkStorageOnly;
}

void SpirvDeclarations::integerType() {
  uint32_t width = word(2);
  if ((width != 8 && width != 16 && width != 32 && width != 64) || word(3))
    fail(2, "an integer of %u bits and signedness %u|8, 16, 32 or 64 and 0",
         width, word(3));
  numberType(integers_, width == 8    ? SpirvInt8
                        : width == 16 ? SpirvInt16
                        : width == 64 ? SpirvInt64
                                      : SpirvFeature(0));
}

void SpirvDeclarations::floatType() {
  uint32_t width = word(2);
  if (width != 16 && width != 32 && width != 64)
    fail(2, "a float of %u bits|16, 32 or 64", width);
  numberType(floats_, width == 16   ? SpirvFloat16
                      : width == 64 ? SpirvFloat64
                                    : SpirvFeature(0));
}

void SpirvDeclarations::vectorType() {
  uint32_t component = idAt(2), components = word(3);
  bool isScalar = scalarOf(component) == component && isValueType(component);
  if (!isScalar || components < 2 || components > 4)
    fail(2, "a vector of %u of type %u|2 to 4 of a scalar", components,
         component);
  uint32_t mark = MarkVector2 << (components - 2);
  uniqueType(!(ids[component].marks & mark));
  ids[component].marks |= mark;
  define(1, component);
}

/// Checks the stride of an array, where it has one, against its elements.
void SpirvDeclarations::stride(uint32_t element) {
  if (!isNumber(element))
    fail(2, "an array of type %u|scalars or vectors of numbers", element);
  const SpirvId &id = define(1, element, MarkStride);
  uint32_t alignment = alignmentOf(element);
  if (id.marks & MarkStride &&
      (id.number < bytesOf(element) || id.number % alignment))
    fail(1, "an ArrayStride of %u|%u at least, and a multiple of %u", id.number,
         bytesOf(element), alignment);
}

void SpirvDeclarations::arrayType() {
  uint32_t element = idAt(2), constant = idAt(3), length = 0;
  bool isKnown = constantValue(constant, length);
  // Before it is specialised, too.
  if (isKnown && is(constant, Op::OpSpecConstant) && length != 0)
    length = part(constant, 3);
  if (length == 0)
    fail(3, "an array of length %u|a constant of 32 bits, 1 at least", length);
  stride(element);
}

/// An array and no more: a block, or undecorated for workgroup memory.
void SpirvDeclarations::structType() {
  uint32_t array = idAt(2);
  bool isRuntime = is(array, Op::OpTypeRuntimeArray);
  if (!isRuntime && !is(array, Op::OpTypeArray))
    fail(2, "a member of type %u|an array", array);
  uint32_t marks =
      define(1, array, MarkBlock | MarkOffset | MarkNonWritable).marks;
  bool hasStride = ids[array].marks & MarkStride;
  bool hasLayout = (marks & MarkOffset) && hasStride;
  bool isPlain = !(marks & allDecorations) && !hasStride;
  if (marks & MarkBlock ? !hasLayout : !isPlain || isRuntime)
    fail(1,
         "type %u with a part of a layout|a block with Offset and ArrayStride, "
         "or none of them",
         word(1));
}

/// Whether numbers as wide as those of `pointee` may lie there.
bool SpirvDeclarations::isWideEnough(StorageClass storage, uint32_t pointee) {
  while (is(pointee, Op::OpTypeStruct) || is(pointee, Op::OpTypeArray) ||
         is(pointee, Op::OpTypeRuntimeArray))
    pointee = ids[pointee].type;
  uint32_t width = isNumber(pointee) ? widthOf(pointee) : 32;
  uint64_t needed = width == 8 ? storage8 : storage16;
  return width >= 32 ||
         (storage == StorageClass::StorageBuffer && (declared & needed) != 0);
}

void SpirvDeclarations::pointerType() {
  StorageClass storage = StorageClass(word(2));
  uint32_t pointee = idAt(3);
  bool isPlain = isNumber(pointee), isGood = false;
  switch (storage) {
  case StorageClass::StorageBuffer:
    isGood = isBlock(pointee) || isPlain;
    if (version < spirvVersion13 && !(extensions & StorageBufferClass))
      fail(2, "storage class StorageBuffer|its extension");
    break;
  case StorageClass::PushConstant:
    isGood =
        isPlain || (isBlock(pointee) && is(ids[pointee].type, Op::OpTypeArray));
    break;
  case StorageClass::Input:
    isGood = isUint3(pointee) || isInt32(pointee);
    break;
  case StorageClass::Workgroup:
    isGood =
        isPlain || (is(pointee, Op::OpTypeStruct) && !isBlock(pointee)) ||
        (is(pointee, Op::OpTypeArray) && !(ids[pointee].marks & MarkStride));
    break;
  case StorageClass::Function:
    isGood = isComputable(pointee);
    break;
  default:
    break;
  }
  bool isStored = storage != StorageClass::Function;
  if (!isGood || (isStored && !isWideEnough(storage, pointee)))
    fail(2,
         "a pointer of storage class %u to type %u|a class of kernels and a "
         "type it allows",
         word(2), pointee);
  define(1, pointee);
}

void SpirvDeclarations::functionType() {
  if (numFunctionTypes_ == mostFunctionTypes)
    fail(0, "another type of functions|at most %u", mostFunctionTypes);
  for (uint32_t i = 2; i < count; ++i) {
    uint32_t type = idAt(i);
    bool isVoid = i == 2 && is(type, Op::OpTypeVoid);
    if (!isVoid && !isComputable(type))
      fail(i,
           "id %u|the type of a scalar or vector that is not for storage alone",
           type);
  }
  for (uint32_t i = 0; i < numFunctionTypes_; ++i) {
    const uint32_t *other = words + functionTypes_[i];
    uniqueType(other[0] != word(0) ||
               !std::equal(other + 2, other + count, here + 2));
  }
  functionTypes_[numFunctionTypes_++] = at();
  define(1, word(2));
}

// Constants.

void SpirvDeclarations::constant() {
  uint32_t type = idAt(1);
  bool isScalar = scalarOf(type) == type, isGood = false;
  switch (opcode()) {
  case Op::OpConstant:
    isGood = isScalar && isNumber(type) && isComputable(type) &&
             count == (widthOf(type) == 64 ? 5u : 4u);
    if (isGood && widthOf(type) < 32 && word(3) >> widthOf(type))
      fail(3, "0x%x|a constant of %u bits", word(3), widthOf(type));
    break;
  case Op::OpConstantNull:
    isGood = isComputable(type);
    break;
  default:
    isGood = isScalar && isBool(type);
    break;
  }
  if (!isGood)
    fail(1,
         "type %u for a constant of %u words|one that is as large and not for "
         "storage alone",
         type, count);
  define(2, type);
}

void SpirvDeclarations::composite() {
  uint32_t type = idAt(1);
  bool isSpecialised = opcode() == Op::OpSpecConstantComposite;
  if (!isComputable(type) || componentsOf(type) != count - 3)
    fail(1, "type %u for a composite of %u|a vector of as many", type,
         count - 3);
  for (uint32_t i = 3; i < count; ++i) {
    uint32_t id = idAt(i);
    bool isGood =
        isConstant(id) || (isSpecialised && is(id, Op::OpSpecConstant));
    if (!isGood || typeOf(id) != scalarOf(type))
      fail(i, "id %u|a constant of type %u", id, scalarOf(type));
  }
  const SpirvId &id = define(2, type, MarkBuiltIn);
  if (id.marks & MarkBuiltIn)
    workgroupSize(id.number);
}

/// The local size that is in force is that of this constant.
void SpirvDeclarations::workgroupSize(uint32_t builtIn) {
  if (builtIn != uint32_t(BuiltIn::WorkgroupSize) || hasWorkgroupSize ||
      !facts.numConstants || !isUint3(word(1)))
    fail(0,
         "a constant as builtin %u|WorkgroupSize, once, of a specialised "
         "module, and 3 integers",
         builtIn);
  hasWorkgroupSize = true;
  for (uint32_t i = 0; i < 3; ++i) {
    uint32_t size = 0;
    constantValue(word(3 + i), size);
    if (size != facts.local[i])
      fail(3 + i, "a local size of %u|%u", size, facts.local[i]);
  }
}

void SpirvDeclarations::specConstant() {
  uint32_t type = idAt(1);
  if (!isInt32(type))
    fail(1, "a specialization constant of type %u|an integer of 32 bits", type);
  const SpirvId &id = define(2, type, MarkSpecId);
  if (!(id.marks & MarkSpecId) || id.number >= facts.numConstants ||
      specialised_ & 1u << id.number)
    fail(2, "a specialization constant with SpecId %u|one less than %u, once",
         id.number, facts.numConstants);
  specialised_ |= 1u << id.number;
}

void SpirvDeclarations::undefined() {
  uint32_t type = idAt(1);
  if (!isComputable(type))
    fail(1, "id %u|the type of a scalar or vector", type);
  define(2, type);
}

// Variables.

void SpirvDeclarations::globalVariable() {
  uint32_t pointer = resultPointer();
  StorageClass storage = storageOf(pointer);
  if (word(3) != uint32_t(storage))
    fail(3, "storage class %u|its pointer's, %u", word(3), unsigned(storage));
  constexpr uint32_t ofBuffer = MarkSet | MarkBinding | MarkNonWritable;
  uint32_t decorations = 0;
  if (storage == StorageClass::StorageBuffer)
    decorations = ofBuffer;
  else if (storage == StorageClass::Input)
    decorations = MarkBuiltIn;
  SpirvId &id = define(2, pointer, decorations);
  id.root = uint16_t(word(2));
  if ((id.marks & MarkListed) && storage != StorageClass::Input)
    fail(2, "variable %u in the interface|inputs", word(2));
  uint32_t pointee = ids[pointer].type;
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
    fail(3, "a variable of storage class %u|a global one", word(3));
  }
}

void SpirvDeclarations::storageBuffer(SpirvId &id, uint32_t block) {
  if (!isBlock(block))
    fail(1, "a buffer of type %u|a block", block);
  if (!(id.marks & MarkSet) || !(id.marks & MarkBinding) ||
      id.number >= facts.bindings || bindings_ & 1u << id.number)
    fail(2, "a buffer at binding %u|one in set 0 less than %u, once", id.number,
         facts.bindings);
  bindings_ |= 1u << id.number;
  id.marks |= ids[block].marks & MarkNonWritable;
  bool isWritten = facts.written & 1u << id.number;
  if (isWritten == bool(id.marks & MarkNonWritable))
    fail(2, "binding %u %s NonWritable|it %s", id.number,
         isWritten ? "with" : "without",
         isWritten ? "without, as it is written"
                   : "with, as it is not written");
}

void SpirvDeclarations::pushConstants(uint32_t block) {
  if (!isBlock(block) || hasPushConstants_)
    fail(1, "push constants of type %u|one block", block);
  hasPushConstants_ = true;
  uint32_t array = ids[block].type, length = 0;
  constantValue(part(array, 3), length);
  uint64_t bytes = uint64_t(length) * ids[array].number;
  if (bytes > 4 * uint64_t(facts.pushWords))
    fail(1, "%llu bytes of push constants|at most %u words",
         static_cast<unsigned long long>(bytes), facts.pushWords);
}

void SpirvDeclarations::input(const SpirvId &id, uint32_t pointee) {
  static constexpr BuiltIn vectors[] = {
      BuiltIn::NumWorkgroups, BuiltIn::WorkgroupId, BuiltIn::LocalInvocationId,
      BuiltIn::GlobalInvocationId};
  bool isVector = std::find(std::begin(vectors), std::end(vectors),
                            BuiltIn(id.number)) != std::end(vectors);
  bool isIndex = id.number == uint32_t(BuiltIn::LocalInvocationIndex);
  if (!(id.marks & MarkBuiltIn) || !(isVector || isIndex) ||
      builtIns_ & 1u << id.number)
    fail(2,
         "an input that is builtin %u|an invocation's or workgroup's place, "
         "once",
         id.number);
  builtIns_ |= 1u << id.number;
  if (isVector ? !isUint3(pointee) : !isInt32(pointee))
    fail(1, "type %u for builtin %u|%s of 32 bits", pointee, id.number,
         isVector ? "3 integers" : "an integer");
}

/// Variables follow one another as std430 would place them.
void SpirvDeclarations::workgroup(uint32_t pointee) {
  uint32_t type = pointee;
  if (is(type, Op::OpTypeStruct))
    type = ids[type].type;
  uint32_t length = 1;
  if (is(type, Op::OpTypeArray)) {
    constantValue(part(type, 3), length);
    type = ids[type].type;
  }
  uint64_t alignment = alignmentOf(type);
  uint64_t stride =
      length > 1 ? alignment * ((bytesOf(type) + alignment - 1) / alignment)
                 : bytesOf(type);
  uint64_t begin = (shared_ + alignment - 1) / alignment * alignment;
  uint64_t total = begin + length * stride;
  if (total > facts.shared)
    fail(1, "%llu bytes of workgroup memory|%u",
         static_cast<unsigned long long>(total), facts.shared);
  shared_ = uint32_t(total);
}

} // namespace nnv12::artifact
