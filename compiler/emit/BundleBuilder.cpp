//===- BundleBuilder.cpp - Puts a bundle together -------------------------===//

#include "compiler/emit/BundleBuilder.h"

#include "artifact/Writer.h"
#include "dialects/nn/SmallTypes.h"

#include <cassert>
#include <cmath>

using namespace mlir;
using namespace nnv12;

BundleBuilder::BundleBuilder(std::string model, uint32_t programs)
    : weights(/*segment=*/programs) {
  bundle.model = std::move(model);
  bundle.producer = "nnv12c " NNV12_VERSION;
}

static std::optional<artifact::ElementType> elementType(Type type) {
  using E = artifact::ElementType;
  if (type.isF32())
    return E::F32;
  if (type.isF64())
    return E::F64;
  if (type.isF16())
    return E::F16;
  if (type.isBF16())
    return E::BF16;
  if (const artifact::SmallFloat *format = nn::smallFloat(type))
    return format->type;
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer)
    return std::nullopt;
  if (integer.getWidth() == 1)
    return E::Bool;
  static constexpr std::pair<E, E> integers[] = {
      {E::I2, E::U2},   {E::I4, E::U4},   {E::I8, E::U8},
      {E::I16, E::U16}, {E::I32, E::U32}, {E::I64, E::U64}};
  for (auto [i, pair] : llvm::enumerate(integers))
    if (integer.getWidth() == 2u << i)
      return integer.isUnsigned() ? pair.second : pair.first;
  return std::nullopt;
}

/// Describes the inputs or outputs of `main`.
static LogicalResult describe(func::FuncOp main, bool isInput,
                              std::vector<artifact::Tensor> &tensors) {
  StringRef what = isInput ? "input" : "output";
  for (auto [i, type] : llvm::enumerate(isInput ? main.getArgumentTypes()
                                                : main.getResultTypes())) {
    auto tensor = cast<RankedTensorType>(type);
    auto element = elementType(tensor.getElementType());
    if (!element)
      return main.emitError() << what << " " << i << ": found elements of "
                              << tensor.getElementType()
                              << ", expected a type that a bundle can hold";
    auto name = isInput ? main.getArgAttrOfType<StringAttr>(i, "nn.name")
                        : main.getResultAttrOfType<StringAttr>(i, "nn.name");
    tensors.push_back({name ? name.str() : (what + "_" + llvm::Twine(i)).str(),
                       *element,
                       {tensor.getShape().begin(), tensor.getShape().end()}});
  }
  return success();
}

LogicalResult BundleBuilder::describeTensors(func::FuncOp main) {
  return success(succeeded(describe(main, true, bundle.inputs)) &&
                 succeeded(describe(main, false, bundle.outputs)));
}

artifact::Kernel nnv12::describeKernel(const KernelTable::Kernel &kernel,
                                       const codegen::CodeBlob &code) {
  artifact::Kernel result;
  result.name = kernel.descriptor.empty() ? kernel.name : kernel.descriptor;
  result.entry = code.entries.at(kernel.symbol);
  result.operands = kernel.operands;
  result.outputs = kernel.outputs;
  result.scratch = kernel.info.scratchBytes;
  // A kernel without a key does as much as its operations say.
  if (!kernel.facts.key.empty())
    result.tiles = kernel.info.tiles;
  result.routine = kernel.name;
  result.multiplyAdds = std::llround(kernel.facts.multiplyAdds);
  result.bytes = std::llround(kernel.facts.bytes);
  result.key = kernel.facts.key;
  result.fingerprint = code.fingerprints.at(kernel.symbol);
  // Nobody runs one that has nothing to compute.
  if (kernel.info.tiles)
    for (const TileMap &map : kernel.info.maps)
      result.maps.push_back(map.inBundle());
  return result;
}

void BundleBuilder::addProgram(const codegen::Target &target,
                               artifact::Program program,
                               const KernelTable &kernels,
                               codegen::CodeBlob code) {
  auto used = codegen::Extension::None;
  for (const KernelTable::Kernel &kernel : kernels.kernels())
    used = std::max(used, kernel.extension);
  // The runtime shall ask for no feature without a use.
  codegen::Target least = target.upTo(used);
  program.target = least.name;
  program.architecture = target.architecture;
  program.features = least.required;
  program.tune = target.tuneCpu;
  program.code = blobs.size();
  for (const KernelTable::Kernel &kernel : kernels.kernels())
    program.kernels.push_back(describeKernel(kernel, code));
  bundle.programs.push_back(std::move(program));
  blobs.push_back(std::move(code));
}

LogicalResult BundleBuilder::write(MLIRContext &context,
                                   const std::string &path,
                                   const std::string &signingKey) {
  bundle.segments.clear();
  for (const codegen::CodeBlob &blob : blobs)
    bundle.segments.push_back({artifact::SegmentKind::Code,
                               {{blob.bytes.data(), blob.bytes.size()}}});
  assert(bundle.segments.size() == weights.segment() &&
         "there are as many programs as were promised");
  if (weights.size())
    bundle.segments.push_back({artifact::SegmentKind::Weights, weights.pieces(),
                               weights.pieceAlignment()});
  if (gpu && !gpu->empty()) {
    bundle.gpu = gpu->describe(bundle.segments.size());
    bundle.segments.push_back(gpu->segment());
  }
  std::string error = artifact::writeBundle(bundle, path, signingKey);
  if (!error.empty())
    return emitError(UnknownLoc::get(&context)) << error;
  return success();
}
