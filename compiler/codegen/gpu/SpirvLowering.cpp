//===- SpirvLowering.cpp - Kernels of GPUs to SPIR-V ----------------------===//
//
// One conversion of all dialects, and an own lowering of the entry point:
// MLIR's gives push constants a descriptor set, which is no valid SPIR-V.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/gpu/SpirvLowering.h"
#include "compiler/codegen/gpu/GpuBuilder.h"

#include "mlir/Conversion/ArithToSPIRV/ArithToSPIRV.h"
#include "mlir/Conversion/FuncToSPIRV/FuncToSPIRV.h"
#include "mlir/Conversion/GPUToSPIRV/GPUToSPIRV.h"
#include "mlir/Conversion/MathToSPIRV/MathToSPIRV.h"
#include "mlir/Conversion/MemRefToSPIRV/MemRefToSPIRV.h"
#include "mlir/Conversion/SCFToSPIRV/SCFToSPIRV.h"
#include "mlir/Conversion/UBToSPIRV/UBToSPIRV.h"
#include "mlir/Conversion/VectorToSPIRV/VectorToSPIRV.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVDialect.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/Dialect/SPIRV/IR/TargetAndABI.h"
#include "mlir/Dialect/SPIRV/Transforms/Passes.h"
#include "mlir/Dialect/SPIRV/Transforms/SPIRVConversion.h"
#include "mlir/Dialect/SPIRV/Utils/LayoutUtils.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/SPIRV/Serialization.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

#include <cassert>
#include <optional>
#include <utility>

using namespace mlir;
using namespace nnv12::codegen;

//===----------------------------------------------------------------------===//
// Simplification
//===----------------------------------------------------------------------===//

namespace {

/// trunc(x) has a word in GLSL.std.450, but none in MLIR.
struct ExpandTrunc : OpRewritePattern<math::TruncOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::TruncOp op,
                                PatternRewriter &rewriter) const override {
    Value magnitude =
        math::AbsFOp::create(rewriter, op.getLoc(), op.getOperand());
    Value whole = math::FloorOp::create(rewriter, op.getLoc(), magnitude);
    rewriter.replaceOpWithNewOp<math::CopySignOp>(op, whole, op.getOperand());
    return success();
  }
};

/// The larger and smaller of truth values are no integers in SPIR-V.
template <typename From, typename To>
struct ExpandBoolean : OpRewritePattern<From> {
  using OpRewritePattern<From>::OpRewritePattern;
  LogicalResult matchAndRewrite(From op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isInteger(1))
      return failure();
    rewriter.replaceOpWithNewOp<To>(op, op.getLhs(), op.getRhs());
    return success();
  }
};

bool isNarrowInteger(Type type) {
  type = getElementTypeOrSelf(type);
  return type.isInteger(8) || type.isInteger(16);
}

/// Numbers that become ones of 8 or 16 bits, and then wide again, lose their
/// upper bits: without a type that only devices with such memory or arithmetic
/// have.
template <typename Extend, typename Restore>
struct ExpandRoundTrip : OpRewritePattern<Extend> {
  using OpRewritePattern<Extend>::OpRewritePattern;
  LogicalResult matchAndRewrite(Extend op, PatternRewriter &b) const override {
    auto narrow = op.getIn().template getDefiningOp<arith::TruncIOp>();
    if (!narrow || !isNarrowInteger(narrow.getType()))
      return failure();
    Location loc = op.getLoc();
    Type type = op.getType();
    auto bits = [](Type of) {
      return getElementTypeOrSelf(of).getIntOrFloatBitWidth();
    };
    unsigned width = bits(narrow.getType());
    Value x = narrow.getIn();
    if (bits(x.getType()) < bits(type))
      x = arith::ExtUIOp::create(b, loc, type, x);
    else if (bits(x.getType()) > bits(type))
      x = arith::TruncIOp::create(b, loc, type, x);
    APInt count(bits(type), bits(type) - width);
    Value by = createScalarOrSplatConstant(b, loc, type, count);
    Value high = arith::ShLIOp::create(b, loc, x, by);
    b.replaceOpWithNewOp<Restore>(op, high, by);
    return success();
  }
};

/// Floats become integers of 8 and 16 bits by way of 32, which is a conversion
/// and no arithmetic of such. In range they are the same.
template <typename Convert> struct NarrowResult : OpRewritePattern<Convert> {
  using OpRewritePattern<Convert>::OpRewritePattern;
  LogicalResult matchAndRewrite(Convert op, PatternRewriter &b) const override {
    Type narrow = op.getType();
    if (!isNarrowInteger(narrow))
      return failure();
    Value wide = Convert::create(
        b, op.getLoc(), withElement(narrow, b.getI32Type()), op.getIn());
    b.replaceOpWithNewOp<arith::TruncIOp>(op, narrow, wide);
    return success();
  }
};

/// And the other way.
template <typename Convert, typename Extend>
struct NarrowOperand : OpRewritePattern<Convert> {
  using OpRewritePattern<Convert>::OpRewritePattern;
  LogicalResult matchAndRewrite(Convert op, PatternRewriter &b) const override {
    Type narrow = op.getIn().getType();
    if (!isNarrowInteger(narrow))
      return failure();
    Value wide = Extend::create(
        b, op.getLoc(), withElement(narrow, b.getI32Type()), op.getIn());
    b.replaceOpWithNewOp<Convert>(op, op.getType(), wide);
    return success();
  }
};

/// A constant of f16, or a vector of such, in f32.
TypedAttr widenedConstant(OpBuilder &b, TypedAttr constant) {
  if (auto number = dyn_cast<FloatAttr>(constant))
    return b.getF32FloatAttr(float(number.getValueAsDouble()));
  return cast<DenseFPElementsAttr>(constant).mapValues(
      b.getF32Type(), [](const APFloat &x) {
        return APFloat(x.convertToFloat()).bitcastToAPInt();
      });
}

/// Leaves f16 to memory and to conversions from and to f32: integers go through
/// f32, as kernels are written, and so do constants. Simplification makes one
/// step of two.
void keepHalfInMemory(ModuleOp module) {
  auto isHalf = [](Type type) { return getElementTypeOrSelf(type).isF16(); };
  auto widened = [f32 = Type(Float32Type::get(module.getContext()))](
                     Type type) { return withElement(type, f32); };
  module.walk([&](Operation *op) {
    OpBuilder b(op);
    Location loc = op->getLoc();
    if (isa<arith::FPToSIOp, arith::FPToUIOp>(op) &&
        isHalf(op->getOperand(0).getType()))
      op->setOperand(
          0, arith::ExtFOp::create(b, loc, widened(op->getOperand(0).getType()),
                                   op->getOperand(0)));
    if (!isa<arith::SIToFPOp, arith::UIToFPOp, arith::ConstantOp>(op) ||
        !isHalf(op->getResult(0).getType()))
      return;
    Value result = op->getResult(0);
    b.setInsertionPointAfter(op);
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      constant.setValueAttr(widenedConstant(b, constant.getValue()));
    Type narrow = result.getType();
    result.setType(widened(narrow));
    Value half = arith::TruncFOp::create(b, loc, narrow, result);
    result.replaceAllUsesExcept(half, half.getDefiningOp());
  });
}

/// The conversion of loops stores their results where an iteration ends: a loop
/// of none would leave them undefined, not as they began.
void keepInitialValues(ModuleOp module) {
  module.walk([](scf::ForOp loop) {
    std::optional<APInt> count = loop.getStaticTripCount();
    if (loop.getNumResults() == 0 || (count && !count->isZero()))
      return;
    OpBuilder b(loop->getContext());
    b.setInsertionPointAfter(loop);
    Location loc = loop.getLoc();
    Value runs =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                              loop.getLowerBound(), loop.getUpperBound());
    for (auto [result, init] :
         llvm::zip(loop.getResults(), loop.getInitArgs())) {
      Value condition = runs;
      // SPIR-V 1.3 selects vectors by vectors.
      if (auto vector = dyn_cast<VectorType>(result.getType()))
        condition = vector::BroadcastOp::create(
            b, loc, vector.clone(b.getI1Type()), runs);
      auto select = arith::SelectOp::create(b, loc, condition, result, init);
      result.replaceAllUsesExcept(select, select);
    }
  });
}

/// Makes operands of tables, behind those that the kernel has: robust access
/// covers no other memory, and a driver need not keep them in the code.
void bindTables(ModuleOp module) {
  func::FuncOp function = *module.getOps<func::FuncOp>().begin();
  Builder b(module.getContext());
  SmallVector<Attribute> tables;
  for (auto table :
       llvm::make_early_inc_range(module.getOps<memref::GlobalOp>())) {
    auto uses = SymbolTable::getSymbolUses(table, module);
    if (uses && !uses->empty()) {
      auto type = GpuBuilder::memoryIn(spirv::StorageClass::StorageBuffer,
                                       ShapedType::kDynamic,
                                       table.getType().getElementType());
      unsigned place = function.getNumArguments() - 1;
      (void)function.insertArgument(place, type, {}, function.getLoc());
      for (SymbolTable::SymbolUse use : *uses) {
        use.getUser()->getResult(0).replaceAllUsesWith(
            function.getArgument(place));
        use.getUser()->erase();
      }
      tables.push_back(*table.getInitialValue());
    }
    table.erase();
  }
  function->setAttr(GpuKernelAttributes::tables, b.getArrayAttr(tables));
}

LogicalResult runPasses(Operation *module,
                        llvm::function_ref<void(OpPassManager &)> add) {
  // The context's implicit nesting follows the operation that is given.
  PassManager pm(module->getContext(), module->getName().getStringRef());
#ifdef NDEBUG
  pm.enableVerifier(false); // test builds have it between passes
#endif
  add(pm);
  return pm.run(module);
}

void addSimplification(OpPassManager &pm) {
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

} // namespace

LogicalResult nnv12::codegen::simplifyForSpirv(ModuleOp module) {
  if (failed(runPasses(module, [](OpPassManager &pm) {
        addSimplification(pm);
        pm.addPass(createLoopInvariantCodeMotionPass());
      })))
    return failure();
  RewritePatternSet patterns(module.getContext());
  arith::populateExpandBFloat16Patterns(patterns);
  arith::BitcastOp::getCanonicalizationPatterns(patterns, module.getContext());
  patterns.add<ExpandTrunc, ExpandBoolean<arith::MaxUIOp, arith::OrIOp>,
               ExpandBoolean<arith::MinUIOp, arith::AndIOp>,
               ExpandRoundTrip<arith::ExtSIOp, arith::ShRSIOp>,
               ExpandRoundTrip<arith::ExtUIOp, arith::ShRUIOp>,
               NarrowResult<arith::FPToSIOp>, NarrowResult<arith::FPToUIOp>,
               NarrowOperand<arith::SIToFPOp, arith::ExtSIOp>,
               NarrowOperand<arith::UIToFPOp, arith::ExtUIOp>>(
      module.getContext());
  if (failed(applyPatternsGreedily(module, std::move(patterns))))
    return module.emitError("rewriting for SPIR-V does not end");
  if (failed(runPasses(module, addSimplification)))
    return failure();
  keepInitialValues(module);
  keepHalfInMemory(module);
  bindTables(module);
  return success();
}

//===----------------------------------------------------------------------===//
// Needs
//===----------------------------------------------------------------------===//

/// Whether the operation only moves or converts numbers of 8 and 16 bits, which
/// devices can that have such memory and no such arithmetic.
static bool movesOrConverts(Operation *op) {
  auto isBool = [](Type type) {
    return getElementTypeOrSelf(type).isInteger(1);
  };
  // From and to truth values it compares or selects.
  if (isa<arith::ExtUIOp, arith::ExtSIOp, arith::TruncIOp>(op))
    return !isBool(op->getOperand(0).getType()) &&
           !isBool(op->getResult(0).getType());
  return isa<memref::LoadOp, memref::StoreOp, arith::ExtFOp, arith::TruncFOp>(
      op);
}

KernelNeeds nnv12::codegen::needsOf(ModuleOp module) {
  KernelNeeds needs;
  auto addValue = [&](Type type, Operation *op) {
    if (auto memory = dyn_cast<MemRefType>(type)) {
      type = memory.getElementType();
      needs.addMemory(type);
      if (isa<memref::LoadOp, memref::StoreOp>(op))
        return;
    }
    needs.addValue(type, movesOrConverts(op));
  };
  module.walk([&](Operation *op) {
    if (auto function = dyn_cast<func::FuncOp>(op)) {
      needs.bindings = function.getNumArguments() - 1;
      for (Type type : function.getArgumentTypes())
        needs.addMemory(cast<MemRefType>(type).getElementType());
      return;
    }
    // Its lowering takes signs from one integer and puts them into another.
    if (isa<math::CopySignOp>(op) &&
        getElementTypeOrSelf(op->getResult(0)).isF64())
      needs.features.add(GpuFeature::Int64);
    for (Type type : op->getOperandTypes())
      addValue(type, op);
    for (Type type : op->getResultTypes())
      addValue(type, op);
  });
  return needs;
}

//===----------------------------------------------------------------------===//
// Target environment
//===----------------------------------------------------------------------===//

using spirv::Capability;

/// The capability that a feature stands for.
static constexpr std::pair<GpuFeature, Capability> capabilityOf[] = {
    {GpuFeature::Int64, Capability::Int64},
    {GpuFeature::Float64, Capability::Float64},
    {GpuFeature::Int8, Capability::Int8},
    {GpuFeature::Int16, Capability::Int16},
    {GpuFeature::Storage8, Capability::StorageBuffer8BitAccess},
    {GpuFeature::Storage16, Capability::StorageBuffer16BitAccess}};

/// The environment that conversions may use. Values of 8 and 16 bits are
/// allowed where memory of them is: needsOf finds values that need more.
static spirv::TargetEnvAttr environmentOf(MLIRContext *context,
                                          GpuFeatures features) {
  SmallVector<Capability> capabilities = {Capability::Shader};
  SmallVector<spirv::Extension> extensions = {
      spirv::Extension::SPV_KHR_storage_buffer_storage_class,
      spirv::Extension::SPV_KHR_16bit_storage,
      spirv::Extension::SPV_KHR_8bit_storage};
  if (features.has(GpuFeature::Storage8))
    features.add(GpuFeature::Int8);
  if (features.has(GpuFeature::Storage16)) {
    features.add(GpuFeature::Int16);
    capabilities.push_back(Capability::Float16);
  }
  for (auto [feature, capability] : capabilityOf)
    if (features.has(feature))
      capabilities.push_back(capability);
  auto triple = spirv::VerCapExtAttr::get(spirv::Version::V_1_3, capabilities,
                                          extensions, context);
  return spirv::TargetEnvAttr::get(
      triple, spirv::getDefaultResourceLimits(context),
      spirv::ClientAPI::Vulkan, spirv::Vendor::Unknown,
      spirv::DeviceType::Unknown, spirv::TargetEnvAttr::kUnknownDeviceID);
}

//===----------------------------------------------------------------------===//
// Conversion
//===----------------------------------------------------------------------===//

static LogicalResult convert(func::FuncOp function,
                             spirv::TargetEnvAttr environment) {
  MLIRContext *context = function.getContext();
  SPIRVConversionOptions options;
  options.emulateLT32BitScalarTypes = false;
  options.emulateUnsupportedFloatTypes = false;
  SPIRVTypeConverter types(environment, options);
  RewritePatternSet patterns(context);
  ScfToSPIRVContext loops;
  populateGPUToSPIRVPatterns(types, patterns);
  populateSCFToSPIRVPatterns(types, loops, patterns);
  arith::populateArithToSPIRVPatterns(types, patterns);
  populateMathToSPIRVPatterns(types, patterns);
  populateMemRefToSPIRVPatterns(types, patterns);
  populateBuiltinFuncToSPIRVPatterns(types, patterns);
  populateFuncToSPIRVPatterns(types, patterns);
  populateVectorToSPIRVPatterns(types, patterns);
  ub::populateUBToSPIRVConversionPatterns(types, patterns);
  auto target = SPIRVConversionTarget::get(environment);
  return applyFullConversion(function.getOperation(), *target,
                             std::move(patterns));
}

//===----------------------------------------------------------------------===//
// Entry point
//===----------------------------------------------------------------------===//

/// Makes global variables of the function's arguments: a storage buffer in set
/// 0 of each but the last, which are the push constants.
static void lowerEntryPoint(spirv::ModuleOp module, spirv::FuncOp function,
                            const SpirvModule &facts) {
  MLIRContext *context = module.getContext();
  OpBuilder b(context);
  Location loc = function.getLoc();
  Block &body = function.getBody().front();
  for (BlockArgument argument : body.getArguments()) {
    auto pointer = cast<spirv::PointerType>(argument.getType());
    unsigned i = argument.getArgNumber();
    auto layout = VulkanLayoutUtils::decorateType(
        cast<spirv::StructType>(pointer.getPointeeType()));
    auto type = spirv::PointerType::get(layout, pointer.getStorageClass());
    b.setInsertionPoint(function);
    spirv::GlobalVariableOp variable;
    if (i == facts.bindings) {
      variable = spirv::GlobalVariableOp::create(b, loc, type, "words");
    } else {
      variable = spirv::GlobalVariableOp::create(
          b, loc, type, "operand" + std::to_string(i), /*descriptorSet=*/0, i);
      if (!(facts.written >> i & 1))
        variable->setAttr("non_writable", b.getUnitAttr());
    }
    b.setInsertionPointToStart(&body);
    argument.replaceAllUsesWith(spirv::AddressOfOp::create(b, loc, variable));
  }
  body.eraseArguments(0, body.getNumArguments());
  function.setType(FunctionType::get(context, {}, {}));
  function.removeArgAttrsAttr();
  function->removeAttr(GpuKernelAttributes::localSize);
  function->removeAttr(GpuKernelAttributes::written);
  function->removeAttr(GpuKernelAttributes::tables);

  // Up to SPIR-V 1.3 the interface has only variables of Input and Output.
  SmallVector<Attribute> interface;
  for (auto variable : module.getOps<spirv::GlobalVariableOp>())
    if (variable.storageClass() == spirv::StorageClass::Input)
      interface.push_back(SymbolRefAttr::get(variable));
  b.setInsertionPointToEnd(module.getBody());
  spirv::EntryPointOp::create(b, loc, spirv::ExecutionModel::GLCompute,
                              function, interface);
  SmallVector<int32_t> size(facts.localSize.begin(), facts.localSize.end());
  spirv::ExecutionModeOp::create(b, loc, function,
                                 spirv::ExecutionMode::LocalSize, size);
}

/// Drivers may neither fuse nor reorder single operations: functions rely on
/// the rounding of each. Only GL.Fma may be fused.
static void forbidContraction(spirv::ModuleOp module) {
  module.walk([](Operation *op) {
    if (isa<spirv::FAddOp, spirv::FSubOp, spirv::FMulOp, spirv::FDivOp,
            spirv::FNegateOp>(op))
      op->setAttr("no_contraction", UnitAttr::get(op->getContext()));
  });
}

/// Sets version, capabilities and extensions: those that the code uses, less
/// arithmetic that is none but conversions. Returns the features that they
/// stand for.
static GpuFeatures declare(spirv::ModuleOp module, GpuFeatures needs) {
  GpuFeatures features;
  SmallVector<Capability> capabilities;
  SmallVector<spirv::Extension> extensions;
  for (Capability capability : module.getVceTriple()->getCapabilities()) {
    if (capability == Capability::Matrix || // Shader implies it
        capability == Capability::Float16 ||
        (capability == Capability::Int8 && !needs.has(GpuFeature::Int8)) ||
        (capability == Capability::Int16 && !needs.has(GpuFeature::Int16)))
      continue;
    for (auto [feature, known] : capabilityOf)
      if (capability == known)
        features.add(feature);
    if (capability == Capability::StorageBuffer8BitAccess)
      extensions.push_back(spirv::Extension::SPV_KHR_8bit_storage);
    capabilities.push_back(capability);
  }
  // A type that is nowhere in memory needs its feature, too.
  if (needs.has(GpuFeature::Storage16) &&
      !features.has(GpuFeature::Storage16)) {
    capabilities.push_back(Capability::StorageBuffer16BitAccess);
    features.add(GpuFeature::Storage16);
  }
  module.setVceTripleAttr(spirv::VerCapExtAttr::get(
      spirv::Version::V_1_3, capabilities, extensions, module.getContext()));
  return features;
}

static std::vector<char> bytesOf(DenseElementsAttr table) {
  ArrayRef<char> raw = table.getRawData();
  std::vector<char> bytes;
  for (int64_t i = 0, end = table.isSplat() ? table.getNumElements() : 1;
       i < end; ++i)
    bytes.insert(bytes.end(), raw.begin(), raw.end());
  return bytes;
}

FailureOr<SpirvModule> nnv12::codegen::lowerToSpirv(ModuleOp module,
                                                    const GpuTarget &target) {
  MLIRContext *context = module.getContext();
  if (failed(simplifyForSpirv(module)))
    return failure();
  auto functions = module.getOps<func::FuncOp>();
  assert(llvm::hasSingleElement(functions) && "one kernel a module");
  func::FuncOp function = *functions.begin();
  KernelNeeds needs = needsOf(module);
  if (!needs.impossible.empty())
    return module.emitError("no GPU computes in ") << needs.impossible;
  if (needs.bindings > GpuTarget::maxBindings)
    return module.emitError("found ")
           << needs.bindings << " bindings, expected at most "
           << GpuTarget::maxBindings;
  if (GpuFeatures missing = needs.features.missingFrom(target.features);
      !missing.empty())
    return module.emitError("the kernel needs ")
           << missing.text() << ", which " << target.name << " lacks";

  SpirvModule result;
  for (auto table :
       function->getAttrOfType<ArrayAttr>(GpuKernelAttributes::tables)
           .getAsRange<DenseElementsAttr>())
    result.tables.push_back(bytesOf(table));
  result.bindings = function.getNumArguments() - 1;
  result.written =
      function->getAttrOfType<IntegerAttr>(GpuKernelAttributes::written)
          .getInt();
  result.pushWords =
      cast<MemRefType>(function.getArgumentTypes().back()).getNumElements();
  function.walk([&](memref::AllocOp shared) {
    Type element = shared.getType().getElementType();
    assert(getElementTypeOrSelf(element).isIntOrFloat() &&
           "memory is of numbers and vectors of them");
    result.sharedBytes += uint32_t(shared.getType().getNumElements() *
                                   DataLayout().getTypeSize(element));
  });
  assert(result.sharedBytes <= GpuTarget::maxSharedBytes &&
         "every device has as much");
  auto size = function->getAttrOfType<DenseI32ArrayAttr>(
      GpuKernelAttributes::localSize);
  llvm::copy(size.asArrayRef(), result.localSize.begin());

  spirv::TargetEnvAttr environment = environmentOf(context, target.features);
  module->setAttr(spirv::getTargetEnvAttrName(), environment);
  function.setName(SpirvModule::entry);
  if (failed(convert(function, environment)))
    return failure();
  OpBuilder b(context);
  b.setInsertionPointToEnd(module.getBody());
  auto spirvModule = spirv::ModuleOp::create(b, module.getLoc(),
                                             spirv::AddressingModel::Logical,
                                             spirv::MemoryModel::GLSL450);
  for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
    if (&op != spirvModule.getOperation())
      op.moveBefore(spirvModule.getBody(), spirvModule.getBody()->end());
  lowerEntryPoint(spirvModule, *spirvModule.getOps<spirv::FuncOp>().begin(),
                  result);
  if (failed(runPasses(spirvModule, [](OpPassManager &pm) {
        addSimplification(pm);
        pm.addPass(spirv::createSPIRVUpdateVCEPass());
      })))
    return failure();
  forbidContraction(spirvModule);
  result.features = declare(spirvModule, needs.features);
  assert(result.features.missingFrom(target.features).empty() &&
         "needsOf() has looked");

  SmallVector<uint32_t, 0> words;
  spirv::SerializationOptions options;
  options.emitSymbolName = false;
  if (failed(spirv::serialize(spirvModule, words, options)))
    return failure();
  result.words.assign(words.begin(), words.end());
  return result;
}
