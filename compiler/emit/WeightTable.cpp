//===- WeightTable.cpp - The constants of a model in the file -------------===//

#include "compiler/emit/WeightTable.h"

#include "compiler/codegen/cpu/CpuRoutine.h"
#include "compiler/emit/Codec.h"
#include "compiler/narrow/Narrow.h"
#include "dialects/nn/ConstantData.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "llvm/Support/ErrorHandling.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using plan::Storage;

/// The type that says how the form's bytes lie, before any transform.
static RankedTensorType layoutOf(Value constant, Storage storage) {
  auto type = cast<RankedTensorType>(constant.getType());
  return storage == Storage::raw ? nn::withLayout(type, "") : type;
}

/// Fresh bytes at a multiple of 64: transforms may rely on it.
static std::shared_ptr<char> allocate(uint64_t size) {
  uint64_t rounded = llvm::alignTo(std::max<uint64_t>(size, 1), 64);
  auto *memory = static_cast<char *>(std::aligned_alloc(64, rounded));
  if (!memory)
    llvm::report_bad_alloc_error("weights");
  return std::shared_ptr<char>(memory, std::free);
}

WeightTable::Bytes WeightTable::bytesOf(Value constant,
                                        const StoredForm &form) {
  if (form.narrow) {
    std::optional<std::vector<char>> found = narrowed(constant, *form.narrow);
    assert(found && "weights are narrow where they can be");
    auto bytes = std::make_shared<std::vector<char>>(std::move(*found));
    return {std::shared_ptr<const void>(bytes, bytes->data()), bytes->size()};
  }
  if (form.rounded) {
    auto bytes = std::make_shared<std::vector<char>>(roundedToHalves(constant));
    return {std::shared_ptr<const void>(bytes, bytes->data()), bytes->size()};
  }
  auto value = constant.getDefiningOp<nn::ConstantOp>().getValue();
  auto type = layoutOf(constant, form.storage);
  uint64_t size = nn::storageSize(type);
  auto data = std::make_shared<nn::ConstantData>(*nn::ConstantData::get(value));
  Bytes packed;
  if (nn::layoutTag(type).empty()) {
    packed = {std::shared_ptr<const void>(data, data->bytes().data()), size};
  } else {
    std::shared_ptr<char> memory = allocate(size);
    nn::pack(type, data->bytes().data(), memory.get());
    packed = {memory, size};
  }
  if (form.storage != Storage::transformed)
    return packed;
  uint64_t formSize = form.routine->weightForm(form.layer)->bytes;
  std::shared_ptr<char> memory = allocate(formSize);
  codegen::CpuRoutine::of(*form.routine)
      .transform(form.layer, packed.first.get(), memory.get());
  return {memory, formSize};
}

WeightTable::Place WeightTable::add(Value constant, const StoredForm &form) {
  auto value = constant.getDefiningOp<nn::ConstantOp>().getValue();
  std::string name;
  if (form.storage == Storage::transformed)
    name = form.routine->weightForm(form.layer)->name;
  else if (form.narrow)
    name = plan::stringifyNarrowing(*form.narrow);
  else if (form.rounded)
    name = "rounded";
  Key key = {value.getAsOpaquePointer(),
             layoutOf(constant, form.storage).getAsOpaquePointer(), name,
             static_cast<unsigned>(form.codec)};
  auto [it, isNew] = places.try_emplace(key);
  Place &place = it->second;
  if (!isNew)
    return place;
  Bytes bytes = bytesOf(constant, form);
  place.offset = size_;
  place.bytes = bytes.second;
  if (form.codec == plan::Codec::zstd) {
    auto element = cast<RankedTensorType>(constant.getType()).getElementType();
    unsigned elementSize = form.narrow ? narrowElementSize(*form.narrow)
                                       : nn::storageElementSize(element);
    auto *data = static_cast<const char *>(bytes.first.get());
    for (uint64_t begin = 0; begin < place.bytes; begin += frameBytes) {
      uint64_t part = std::min(frameBytes, place.bytes - begin);
      auto encoded =
          std::make_shared<Encoded>(encode(data + begin, part, elementSize));
      if (encoded->bytes.empty())
        llvm::report_bad_alloc_error("compression of weights");
      place.frames.push_back(
          {size_, encoded->bytes.size(), part, encoded->planes});
      append(encoded, encoded->bytes.data(), encoded->bytes.size());
    }
    place.size = place.frames.empty()
                     ? 0
                     : place.frames.back().offset + place.frames.back().size -
                           place.offset;
  } else {
    place.size = bytes.second;
    append(bytes.first, bytes.first.get(), bytes.second);
  }
  return place;
}

WeightTable::Place WeightTable::add(StringRef table) {
  auto [it, isNew] = tables.try_emplace(table.str());
  Place &place = it->second;
  if (!isNew)
    return place;
  place.offset = size_;
  place.size = place.bytes = table.size();
  std::shared_ptr<char> memory = allocate(table.size());
  llvm::copy(table, memory.get());
  append(memory, memory.get(), table.size());
  return place;
}

std::vector<WeightTable::Entry> WeightTable::entries() const {
  std::vector<Entry> result;
  for (const auto &[key, place] : places) {
    const auto &[elements, type, form, codec] = key;
    result.push_back({Attribute::getFromOpaquePointer(elements),
                      cast<RankedTensorType>(Type::getFromOpaquePointer(type)),
                      form, static_cast<plan::Codec>(codec), place});
  }
  return result;
}

void WeightTable::append(std::shared_ptr<const void> owner, const void *data,
                         uint64_t size) {
  assert(size_ % pieceAlignment_ == 0 && "pieces lie at multiples of it");
  pieces_.push_back({data, size});
  owned.push_back(std::move(owner));
  size_ += llvm::alignTo(size, pieceAlignment_);
}
