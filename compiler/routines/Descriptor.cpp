//===- Descriptor.cpp - Routines with their schemas, for people -----------===//

#include "compiler/routines/Descriptor.h"

#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace nnv12;

std::string nnv12::schemaText(Operation *layer) {
  Type element = getElementTypeOrSelf(layer->getResult(0).getType());
  std::string text = "cpu:";
  llvm::raw_string_ostream os(text);
  // MLIR writes ui8.
  if (element.isUnsignedInteger())
    os << "u" << element.getIntOrFloatBitWidth();
  else
    os << element;
  return text;
}

std::string nnv12::descriptorOf(Operation *layer, const Routine &routine) {
  bool isAdapt = isa<nn::AdaptOp>(layer);
  std::string text =
      schemaText(layer) + "/" + (isAdapt ? "adapt" : routine.name().str());
  StringRef tag = nn::layoutTag(layer->getResult(0).getType());
  if (!routine.layouts(layer).results[0] && !tag.empty())
    text += "." + tag.str();
  return text;
}
