//===- StoredBytes.cpp - The bytes of weights in a form -------------------===//

#include "compiler/weights/StoredBytes.h"

#include "compiler/weights/Narrow.h"
#include "dialects/nn/ConstantData.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>
#include <cstdlib>

using namespace mlir;
using namespace nnv12;
using plan::Storage;
using plan::StoredForm;

std::shared_ptr<char> nnv12::allocateBytes(uint64_t size) {
  uint64_t rounded = llvm::alignTo(std::max<uint64_t>(size, 1), 64);
  auto *memory = static_cast<char *>(std::aligned_alloc(64, rounded));
  if (!memory)
    llvm::report_bad_alloc_error("weights");
  return std::shared_ptr<char>(memory, std::free);
}

static RankedTensorType layoutOf(RankedTensorType packed,
                                 const StoredForm &form) {
  assert(form.storage != Storage::transformed && "a routine knows its bytes");
  return form.storage == Storage::raw ? nn::withLayout(packed, "") : packed;
}

int64_t nnv12::storedSize(RankedTensorType packed, const StoredForm &form) {
  return form.narrow ? narrowBytes(packed, *form.narrow)
                     : nn::storageSize(layoutOf(packed, form));
}

unsigned nnv12::storedElementSize(RankedTensorType packed,
                                  const StoredForm &form) {
  return form.narrow ? narrowElementSize(*form.narrow)
                     : nn::storageElementSize(packed.getElementType());
}

StoredBytes nnv12::storedBytes(Value constant, const StoredForm &form) {
  auto value = constant.getDefiningOp<nn::ConstantOp>().getValue();
  if (form.narrow) {
    std::optional<std::vector<char>> found = narrowed(constant, *form.narrow);
    assert(found && "weights are narrow where they can be");
    auto bytes = std::make_shared<std::vector<char>>(std::move(*found));
    return {std::shared_ptr<const void>(bytes, bytes->data()), bytes->size()};
  }
  auto type = layoutOf(nn::typeOf(constant), form);
  uint64_t size = nn::storageSize(type);
  auto data = std::make_shared<nn::ConstantData>(*nn::ConstantData::get(value));
  if (nn::layoutTag(type).empty())
    return {std::shared_ptr<const void>(data, data->bytes().data()), size};
  std::shared_ptr<char> memory = allocateBytes(size);
  nn::pack(type, data->bytes().data(), memory.get());
  return {memory, size};
}
