//===- WeightTable.cpp - The constants of a model in the file -------------===//

#include "compiler/emit/WeightTable.h"

#include "compiler/codegen/cpu/CpuRoutine.h"
#include "compiler/emit/Codec.h"
#include "compiler/weights/StoredBytes.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "llvm/Support/ErrorHandling.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using plan::Storage;
using plan::StoredForm;

/// The constant in a form, before a codec.
static StoredBytes bytesOf(Value constant, const StoredForm &form,
                           FormMaker maker) {
  if (form.storage != Storage::transformed)
    return storedBytes(constant, form);
  StoredBytes packed = storedBytes(constant, {});
  uint64_t size = maker.routine->weightForm(maker.layer)->bytes;
  std::shared_ptr<char> memory = allocateBytes(size);
  codegen::CpuRoutine::of(*maker.routine)
      .transform(maker.layer, packed.data.get(), memory.get());
  return {memory, size};
}

WeightTable::Place WeightTable::add(Value constant, StoredForm form,
                                    FormMaker maker) {
  if (form.storage == Storage::transformed)
    form.name = maker.routine->weightForm(maker.layer)->name;
  WeightsKey key = WeightsKey::of(constant, form);
  RankedTensorType type = nn::typeOf(constant);
  // Raw ones are packed in a dense layout, whichever layer reads them.
  if (form.storage == Storage::raw) {
    key.type = nn::withLayout(type, "");
    key.form.storage = Storage::packed;
  }
  auto [it, isNew] = places.try_emplace(std::move(key));
  Place &place = it->second;
  if (!isNew)
    return place;
  StoredBytes bytes = bytesOf(constant, form, maker);
  place.offset = size_;
  place.bytes = bytes.size;
  if (form.codec == plan::Codec::zstd) {
    unsigned elementSize = storedElementSize(type, form);
    auto *data = static_cast<const char *>(bytes.data.get());
    for (uint64_t begin = 0; begin < place.bytes; begin += frameBytes) {
      uint64_t part = std::min(frameBytes, place.bytes - begin);
      auto encoded =
          std::make_shared<Encoded>(encode(data + begin, part, elementSize));
      if (encoded->bytes.empty())
        llvm::report_bad_alloc_error("compression of weights");
      place.frames.push_back(
          {size_, encoded->bytes.size(), part, encoded->planes});
      place.size = size_ + encoded->bytes.size() - place.offset;
      append(encoded, encoded->bytes.data(), encoded->bytes.size());
    }
  } else {
    place.size = bytes.size;
    append(bytes.data, bytes.data.get(), bytes.size);
  }
  return place;
}

WeightTable::Place WeightTable::add(StringRef table) {
  auto [it, isNew] = tables_.try_emplace(table.str());
  Place &place = it->second;
  if (!isNew)
    return place;
  place.offset = size_;
  place.size = place.bytes = table.size();
  std::shared_ptr<char> memory = allocateBytes(table.size());
  llvm::copy(table, memory.get());
  append(memory, memory.get(), table.size());
  return place;
}

void WeightTable::append(std::shared_ptr<const void> owner, const void *data,
                         uint64_t size) {
  assert(size_ % pieceAlignment_ == 0 && "pieces lie at multiples of it");
  pieces_.push_back({data, size});
  owned.push_back(std::move(owner));
  size_ += llvm::alignTo(size, pieceAlignment_);
}
