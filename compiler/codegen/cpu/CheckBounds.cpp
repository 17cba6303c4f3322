//===- CheckBounds.cpp - Every access of a kernel against its operand -----===//

#include "compiler/codegen/cpu/CheckBounds.h"
#include "artifact/BoundsFault.h"
#include "compiler/codegen/cpu/KernelBuilder.h"
#include "dialects/nn/Layout.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

#include <cassert>
#include <numeric>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;

static constexpr llvm::StringLiteral titleAttribute = "bounds.title";
static constexpr llvm::StringLiteral bytesAttribute = "bounds.bytes";
static constexpr llvm::StringLiteral faultFunction = "out_of_bounds";

void nnv12::codegen::describeBounds(ModuleOp module, llvm::StringRef symbol,
                                    llvm::StringRef title,
                                    ArrayRef<int64_t> operandBytes,
                                    int64_t scratchBytes) {
  auto body =
      module.lookupSymbol<func::FuncOp>((symbol + kernelBodySuffix).str());
  assert(body && "a kernel of this module");
  Builder b(module.getContext());
  SmallVector<int64_t> bytes(operandBytes);
  bytes.push_back(scratchBytes);
  body->setAttr(titleAttribute, b.getStringAttr(title));
  body->setAttr(bytesAttribute, b.getDenseI64ArrayAttr(bytes));
}

namespace {

/// A piece of memory inside a function, as index values.
struct Extent {
  Value bytes;
  Value operand; ///< its number in the kernel's operand table
};

/// The size of an element of a memref or vector, in bytes.
int64_t elementBytes(Type type) {
  return nn::storageElementSize(getElementTypeOrSelf(type));
}

/// The title as a string in the code, and its address.
Value titleAddress(ImplicitLocOpBuilder &b, ModuleOp module,
                   const std::string &symbol, StringRef text) {
  SmallVector<int8_t> chars(text.begin(), text.end());
  chars.push_back(0);
  auto type = MemRefType::get({int64_t(chars.size())}, b.getI8Type());
  auto data = DenseElementsAttr::get(
      RankedTensorType::get(type.getShape(), b.getI8Type()),
      ArrayRef<int8_t>(chars));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    memref::GlobalOp::create(b, symbol, b.getStringAttr("private"), type, data,
                             /*constant=*/true, b.getI64IntegerAttr(1));
  }
  Value global = memref::GetGlobalOp::create(b, type, symbol);
  return memref::ExtractAlignedPointerAsIndexOp::create(b, global);
}

/// The checks of one function.
class FunctionChecks {
public:
  FunctionChecks(func::FuncOp function, func::FuncOp fault)
      : function(function), fault(fault), b(function.getLoc(), function) {}

  LogicalResult run(ModuleOp module);

private:
  Value constant(int64_t c) { return arith::ConstantIndexOp::create(b, c); }
  /// A kernel's own operands: their sizes are constants.
  LogicalResult findKernelExtents(ModuleOp module) {
    auto text = function->getAttrOfType<StringAttr>(titleAttribute);
    auto bytes = function->getAttrOfType<DenseI64ArrayAttr>(bytesAttribute);
    size_t memories =
        llvm::count_if(function.getArgumentTypes(), llvm::IsaPred<MemRefType>);
    if (!text || !bytes || size_t(bytes.size()) != memories)
      return function.emitError("found no sizes of its ")
             << memories << " operands, expected them for checks of bounds";
    title = titleAddress(b, module, function.getName().str() + ".title", text);
    for (size_t i = 0; i < memories; ++i)
      extents[function.getArgument(i)] = {constant(bytes[i]), constant(i)};
    return success();
  }

  FailureOr<Extent> extentOf(Operation *access, Value memory) {
    if (auto global = memory.getDefiningOp<memref::GetGlobalOp>()) {
      auto type = cast<MemRefType>(memory.getType());
      return Extent{constant(type.getNumElements() * elementBytes(type)),
                    constant(-1)};
    }
    auto found = extents.find(memory);
    if (found == extents.end())
      return access->emitError("goes to memory of unknown size");
    return found->second;
  }

  /// `elements` consecutive ones.
  LogicalResult check(Operation *access, Value memory, Value offset,
                      int64_t elements) {
    auto extent = extentOf(access, memory);
    if (failed(extent))
      return failure();
    int64_t size = elementBytes(memory.getType());
    Value start = arith::MulIOp::create(b, offset, constant(size));
    Value end = arith::AddIOp::create(b, start, constant(elements * size));
    Value before =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, start, constant(0));
    Value behind =
        arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, end, extent->bytes);
    failIf(arith::OrIOp::create(b, before, behind), start, elements * size,
           *extent);
    return success();
  }

  /// One element a lane, at offset + lanes, where the mask is set.
  LogicalResult checkLanes(Operation *access, Value memory, Value offset,
                           Value lanes, Value mask) {
    auto extent = extentOf(access, memory);
    if (failed(extent))
      return failure();
    int64_t size = elementBytes(memory.getType());
    auto type = VectorType::get(cast<VectorType>(lanes.getType()).getShape(),
                                b.getI64Type());
    auto splat = [&](Value index) -> Value {
      Value x = arith::IndexCastOp::create(b, b.getI64Type(), index);
      return vector::BroadcastOp::create(b, type, x);
    };
    if (lanes.getType() != type)
      lanes = arith::ExtSIOp::create(b, type, lanes);
    Value place = arith::AddIOp::create(b, splat(offset), lanes);
    Value bound = arith::DivSIOp::create(b, extent->bytes, constant(size));
    Value before = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, place,
                                         splat(constant(0)));
    Value behind = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, place,
                                         splat(bound));
    Value bad =
        arith::AndIOp::create(b, mask, arith::OrIOp::create(b, before, behind));
    Value any = vector::ReductionOp::create(b, vector::CombiningKind::OR, bad);
    // Reports the first of several bad lanes.
    Value start = arith::MulIOp::create(b, offset, constant(size));
    failIf(any, start, type.getNumElements() * size, *extent);
    return success();
  }

  LogicalResult checkMasked(Operation *access, Value memory, Value offset,
                            VectorType type, Value mask) {
    if (auto known = mask.getDefiningOp<vector::ConstantMaskOp>())
      return check(access, memory, offset, known.getMaskDimSizes().front());
    SmallVector<int64_t> lanes(type.getNumElements());
    std::iota(lanes.begin(), lanes.end(), 0);
    auto lanesType = VectorType::get(type.getShape(), b.getI64Type());
    Value iota = arith::ConstantOp::create(
        b, DenseElementsAttr::get(lanesType, ArrayRef<int64_t>(lanes)));
    return checkLanes(access, memory, offset, iota, mask);
  }

  /// Ends the run if the access of `bytes` at element `offset` is not inside.
  void failIf(Value condition, Value offset, int64_t bytes,
              const Extent &extent) {
    scf::IfOp::create(b, condition, [&](OpBuilder &inner, Location loc) {
      func::CallOp::create(
          inner, loc, fault,
          ValueRange{title, extent.operand, offset,
                     arith::ConstantIndexOp::create(inner, loc, bytes),
                     extent.bytes});
      scf::YieldOp::create(inner, loc);
    });
  }

  func::FuncOp function, fault;
  ImplicitLocOpBuilder b;
  llvm::DenseMap<Value, Extent> extents;
  Value title; ///< address of the kernel's title
};

LogicalResult FunctionChecks::run(ModuleOp module) {
  b.setInsertionPointToStart(&function.getBody().front());
  if (function->hasAttr(kernelEntryAttribute)) {
    if (failed(findKernelExtents(module)))
      return failure();
  } else {
    // addArguments() appended these: a pair for each memory, and the title.
    size_t memories = 0;
    while (isa<MemRefType>(function.getArgument(memories).getType()))
      ++memories;
    assert(function.getNumArguments() >= 3 * memories + 1 &&
           "addArguments() has been here");
    size_t first = function.getNumArguments() - 2 * memories - 1;
    for (size_t i = 0; i < memories; ++i)
      extents[function.getArgument(i)] = {
          function.getArgument(first + 2 * i),
          function.getArgument(first + 2 * i + 1)};
    title = function.getArgument(function.getNumArguments() - 1);
  }
  SmallVector<Operation *> accesses;
  function.walk([&](Operation *op) { accesses.push_back(op); });
  for (Operation *op : accesses) {
    b.setInsertionPoint(op);
    LogicalResult result =
        llvm::TypeSwitch<Operation *, LogicalResult>(op)
            .Case<memref::LoadOp, memref::StoreOp>([&](auto access) {
              return check(op, access.getMemRef(), access.getIndices()[0], 1);
            })
            .Case<vector::LoadOp, vector::StoreOp>([&](auto access) {
              return check(op, access.getBase(), access.getIndices()[0],
                           access.getVectorType().getNumElements());
            })
            .Case<vector::MaskedLoadOp, vector::MaskedStoreOp>(
                [&](auto access) {
                  return checkMasked(op, access.getBase(),
                                     access.getIndices()[0],
                                     access.getVectorType(), access.getMask());
                })
            .Case([&](vector::GatherOp gather) {
              return checkLanes(op, gather.getBase(), gather.getOffsets()[0],
                                gather.getIndices(), gather.getMask());
            })
            .Case([&](func::CallOp call) -> LogicalResult {
              SmallVector<Value> operands(call.getOperands());
              for (Value operand : call.getOperands())
                if (isa<MemRefType>(operand.getType())) {
                  auto extent = extentOf(op, operand);
                  if (failed(extent))
                    return failure();
                  operands.push_back(extent->bytes);
                  operands.push_back(extent->operand);
                }
              operands.push_back(title);
              call->setOperands(operands);
              return success();
            })
            .Case<memref::GetGlobalOp, memref::PrefetchOp,
                  memref::ExtractAlignedPointerAsIndexOp>(
                [](Operation *) { return success(); })
            .Default([&](Operation *op) -> LogicalResult {
              // Any other operation on memory would pass unchecked.
              if (llvm::any_of(op->getOperandTypes(),
                               llvm::IsaPred<MemRefType>))
                return op->emitError(
                    "is an access to memory that cannot be checked");
              return success();
            });
    if (failed(result))
      return failure();
  }
  return success();
}

/// A function of an artifact::BoundsFault's members that does not return.
func::FuncOp createFault(ModuleOp module, const Target &target) {
  ImplicitLocOpBuilder b(module.getLoc(), module.getContext());
  b.setInsertionPointToEnd(module.getBody());
  SmallVector<Type> types(5, b.getIndexType());
  auto function =
      func::FuncOp::create(b, faultFunction, b.getFunctionType(types, {}));
  function->setAttr(
      "llvm.linkage",
      LLVM::LinkageAttr::get(b.getContext(), LLVM::Linkage::Internal));
  Block *entry = function.addEntryBlock();
  b.setInsertionPointToStart(entry);
  SmallVector<Value> operands;
  for (Value argument : entry->getArguments())
    operands.push_back(arith::IndexCastOp::create(b, b.getI64Type(), argument));
  bool isArm = target.architecture == "aarch64";
  std::string code =
      isArm
          ? llvm::formatv(".inst {0}", artifact::boundsFaultInstruction).str()
          : llvm::formatv("ud2\n.long {0}", artifact::boundsFaultMarker).str();
  LLVM::InlineAsmOp::create(b, TypeRange(), operands, code,
                            isArm ? "{x0},{x1},{x2},{x3},{x4},~{memory}"
                                  : "{rdi},{rsi},{rdx},{rcx},{r8},~{memory}",
                            /*has_side_effects=*/true, /*is_align_stack=*/false,
                            LLVM::tailcallkind::TailCallKind::None,
                            /*asm_dialect=*/nullptr, /*operand_attrs=*/nullptr);
  func::ReturnOp::create(b);
  return function;
}

/// Room for the extents of a micro-kernel's memories and for the title.
void addArguments(func::FuncOp function) {
  size_t memories =
      llvm::count_if(function.getArgumentTypes(), llvm::IsaPred<MemRefType>);
  Type index = IndexType::get(function.getContext());
  for (size_t i = 0; i < 2 * memories + 1; ++i)
    (void)function.insertArgument(function.getNumArguments(), index, {},
                                  function.getLoc());
}

} // namespace

LogicalResult nnv12::codegen::checkBounds(ModuleOp module,
                                          const Target &target) {
  SmallVector<func::FuncOp> functions(module.getOps<func::FuncOp>());
  for (func::FuncOp function : functions)
    if (!function->hasAttr(kernelEntryAttribute))
      addArguments(function);
  func::FuncOp fault = createFault(module, target);
  for (func::FuncOp function : functions)
    if (failed(FunctionChecks(function, fault).run(module)))
      return failure();
  return success();
}
