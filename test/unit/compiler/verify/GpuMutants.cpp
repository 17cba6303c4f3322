//===- GpuMutants.cpp - Random faults in a GPU's part ---------------------===//

#include "test/unit/compiler/verify/GpuMutants.h"

#include "artifact/Limits.h"

#include <algorithm>
#include <tuple>

using namespace nnv12;
using namespace nnv12::test;
using artifact::Codec;
using artifact::Dispatch;
using artifact::gpuAlignment;
using artifact::GpuExtent;
using artifact::GpuOperand;
using artifact::GpuPreparation;
using artifact::Operand;
using artifact::OperationId;
using artifact::ProgramGpu;
using artifact::Rows;
using artifact::Stretch;
using artifact::StretchKind;
using artifact::Touched;
using artifact::Upload;

static auto tied(const GpuOperand &o) {
  return std::tie(o.space, o.index, o.offset, o.size);
}
static auto tied(const Operand &o) {
  return std::tie(o.space, o.index, o.offset, o.size);
}

/// Moves a place by some multiples of 256 bytes, to 0 at least.
static bool move(uint64_t &offset, Chance &chance) {
  uint64_t old = offset, by = gpuAlignment * (1 + chance.below(8));
  offset = chance.below(2) ? offset + by : offset - std::min(offset, by);
  return offset != old;
}

/// Less, but for something; or a little more.
static bool resize(uint64_t &size, Chance &chance) {
  uint64_t old = size;
  switch (chance.below(3)) {
  case 0:
    size -= std::min(size, gpuAlignment);
    break;
  case 1:
    size /= 2;
    break;
  default:
    size += gpuAlignment;
  }
  return size != old;
}

template <typename T> static bool assign(T &to, const T &from) {
  bool isNew = to != from;
  to = from;
  return isNew;
}

static Dispatch &dispatchOf(ProgramGpu &gpu, Chance &chance) {
  return chance.among(chance.among(gpu.stretches).dispatches);
}

/// Null: there is none.
static Upload *uploadOf(ProgramGpu &gpu, Chance &chance) {
  std::vector<Upload *> all;
  for (GpuPreparation &preparation : gpu.preparations)
    for (Upload &upload : preparation.uploads)
      all.push_back(&upload);
  return all.empty() ? nullptr : chance.among(all);
}

static bool moveOperand(ProgramGpu &gpu, Chance &chance) {
  return move(chance.among(dispatchOf(gpu, chance).operands).offset, chance);
}

static bool replaceOperand(ProgramGpu &gpu, Chance &chance) {
  Stretch &stretch = chance.among(gpu.stretches);
  GpuOperand &to = chance.among(chance.among(stretch.dispatches).operands);
  GpuOperand from = chance.among(chance.among(stretch.dispatches).operands);
  // The place alone, or also the size.
  if (chance.below(2))
    from.size = to.size;
  bool isNew = tied(to) != tied(from);
  to = from;
  return isNew;
}

static bool swapOperands(ProgramGpu &gpu, Chance &chance) {
  std::vector<GpuOperand> &operands = dispatchOf(gpu, chance).operands;
  GpuOperand &a = chance.among(operands), &b = chance.among(operands);
  std::swap(a, b);
  return tied(a) != tied(b);
}

static bool resizeOperand(ProgramGpu &gpu, Chance &chance) {
  return resize(chance.among(dispatchOf(gpu, chance).operands).size, chance);
}

static bool replacePipeline(ProgramGpu &gpu, Chance &chance) {
  return assign(dispatchOf(gpu, chance).pipeline,
                dispatchOf(gpu, chance).pipeline);
}

static bool changeGroups(ProgramGpu &gpu, Chance &chance) {
  GpuExtent &groups = dispatchOf(gpu, chance).groups;
  uint32_t *axes[] = {&groups.x, &groups.y, &groups.z};
  uint32_t &axis = *axes[chance.below(3)], old = axis;
  axis = chance.below(2) ? axis + 1 : (axis + 1) / 2;
  return axis != old;
}

static bool changePush(ProgramGpu &gpu, Chance &chance) {
  std::vector<uint32_t> &push = dispatchOf(gpu, chance).push;
  if (push.empty())
    return false;
  uint32_t &word = chance.among(push);
  return chance.below(2) ? ++word, true : assign(word, chance.among(push));
}

static bool swapDispatches(ProgramGpu &gpu, Chance &chance) {
  std::vector<Dispatch> &all = chance.among(gpu.stretches).dispatches;
  if (all.size() < 2)
    return false;
  // Barriers stay where they are.
  uint64_t i = chance.below(all.size() - 1),
           j = chance.below(2) ? i + 1 : chance.below(all.size());
  std::swap(all[i], all[j]);
  std::swap(all[i].barrier, all[j].barrier);
  return i != j;
}

static bool dropBarrier(ProgramGpu &gpu, Chance &chance) {
  return assign(dispatchOf(gpu, chance).barrier, false);
}

static bool replaceLayer(ProgramGpu &gpu, Chance &chance) {
  std::vector<Dispatch> &all = chance.among(gpu.stretches).dispatches;
  return assign(chance.among(all).operation, chance.among(all).operation);
}

static bool dropDispatch(ProgramGpu &gpu, Chance &chance) {
  std::vector<Dispatch> &all = chance.among(gpu.stretches).dispatches;
  all.erase(all.begin() + chance.below(all.size()));
  return true;
}

static bool moveUpload(ProgramGpu &gpu, Chance &chance) {
  Upload *upload = uploadOf(gpu, chance);
  return upload && move(upload->offset, chance);
}

static bool replaceSource(ProgramGpu &gpu, Chance &chance) {
  Upload *upload = uploadOf(gpu, chance);
  if (!upload)
    return false;
  Operand &source = upload->source;
  if (chance.below(2))
    return move(source.offset, chance);
  Operand from = uploadOf(gpu, chance)->source;
  from.size = source.size;
  bool isNew = tied(source) != tied(from);
  source = from;
  return isNew;
}

static bool changeForm(ProgramGpu &gpu, Chance &chance) {
  Upload *upload = uploadOf(gpu, chance);
  if (!upload)
    return false;
  if (chance.below(2)) {
    upload->planes = upload->planes == 4 ? 2 : 4;
    return true;
  }
  upload->codec = upload->codec == Codec::Stored ? Codec::Zstd : Codec::Stored;
  return true;
}

static bool resizeUpload(ProgramGpu &gpu, Chance &chance) {
  Upload *upload = uploadOf(gpu, chance);
  if (!upload || !resize(upload->size, chance))
    return false;
  if (chance.below(4))
    upload->source.size = upload->size;
  return true;
}

static bool dropUpload(ProgramGpu &gpu, Chance &chance) {
  for (GpuPreparation &preparation : gpu.preparations)
    if (preparation.uploads.size() > 1) {
      preparation.uploads.erase(preparation.uploads.begin() +
                                chance.below(preparation.uploads.size()));
      return true;
    }
  return false;
}

static bool changeHost(ProgramGpu &gpu, Chance &chance) {
  Operand &host = chance.among(gpu.boundaries).host;
  switch (chance.below(3)) {
  case 0:
    return move(host.offset, chance);
  case 1:
    return resize(host.size, chance);
  }
  Operand from = chance.among(gpu.boundaries).host;
  bool isNew = tied(host) != tied(from);
  host = from;
  return isNew;
}

static bool changeDevice(ProgramGpu &gpu, Chance &chance) {
  uint64_t &device = chance.among(gpu.boundaries).device;
  return chance.below(2) ? move(device, chance)
                         : assign(device, chance.among(gpu.boundaries).device);
}

static bool changeRows(ProgramGpu &gpu, Chance &chance) {
  Stretch &stretch = chance.among(gpu.stretches);
  std::vector<Rows> &list = chance.below(2) ? stretch.in : stretch.out;
  if (list.empty())
    return false;
  uint64_t i = chance.below(list.size());
  switch (chance.below(4)) {
  case 0:
    list.erase(list.begin() + i);
    return true;
  case 1:
    return move(list[i].offset, chance);
  case 2:
    return resize(list[i].bytes, chance);
  }
  return assign(list[i].boundary,
                uint32_t(chance.below(gpu.boundaries.size())));
}

static bool changeRange(ProgramGpu &gpu, Chance &chance) {
  Stretch &stretch = chance.among(gpu.stretches);
  uint32_t &number = chance.below(2) ? stretch.first : stretch.count;
  number += chance.below(2) ? 1 : -1;
  return true;
}

static bool dropWait(ProgramGpu &gpu, Chance &chance) {
  std::vector<OperationId> &after = chance.below(2)
                                        ? chance.among(gpu.stretches).after
                                        : chance.among(gpu.preparations).after;
  if (after.empty())
    return false;
  after.erase(after.begin() + chance.below(after.size()));
  return true;
}

//===----------------------------------------------------------------------===//
// Splits
//===----------------------------------------------------------------------===//

/// Null: no stretch is split.
static Stretch *splitOf(ProgramGpu &gpu, Chance &chance) {
  std::vector<Stretch *> all;
  for (Stretch &stretch : gpu.stretches)
    if (!stretch.parts.empty())
      all.push_back(&stretch);
  return all.empty() ? nullptr : chance.among(all);
}

/// Less or more, by little or by half.
template <typename T> static bool count(T &number, Chance &chance) {
  T old = number;
  switch (chance.below(3)) {
  case 0:
    number += 1;
    break;
  case 1:
    number -= number > 0;
    break;
  default:
    number /= 2;
  }
  return number != old;
}

static bool changeTiles(ProgramGpu &gpu, Chance &chance) {
  Stretch *split = splitOf(gpu, chance);
  if (!split)
    return false;
  artifact::Operation &part = chance.among(split->parts);
  bool isNew = chance.below(2) && count(part.tileBegin, chance);
  return (chance.below(2) && count(part.tiles, chance)) || isNew;
}

static bool replaceKernel(ProgramGpu &gpu, Chance &chance) {
  Stretch *split = splitOf(gpu, chance);
  if (!split)
    return false;
  uint32_t &kernel = chance.among(split->parts).kernel;
  return chance.below(2) ? count(kernel, chance)
                         : assign(kernel, chance.among(split->parts).kernel);
}

static bool changePlace(ProgramGpu &gpu, Chance &chance) {
  Stretch *split = splitOf(gpu, chance);
  if (!split)
    return false;
  artifact::Operation &part = chance.among(split->parts);
  Operand &place = chance.among(part.operands);
  switch (chance.below(4)) {
  case 0:
    return move(place.offset, chance);
  case 1:
    return resize(place.size, chance);
  case 2:
    part.operands.pop_back();
    return true;
  }
  Operand from = chance.among(chance.among(split->parts).operands);
  bool isNew = tied(place) != tied(from);
  place = from;
  return isNew;
}

static bool swapParts(ProgramGpu &gpu, Chance &chance) {
  Stretch *split = splitOf(gpu, chance);
  if (!split || split->parts.size() < 2)
    return false;
  uint64_t i = chance.below(split->parts.size()),
           j = chance.below(split->parts.size());
  std::swap(split->parts[i], split->parts[j]);
  return i != j;
}

static bool dropPart(ProgramGpu &gpu, Chance &chance) {
  Stretch *split = splitOf(gpu, chance);
  if (!split)
    return false;
  std::vector<artifact::Operation> &parts = split->parts;
  auto at = parts.begin() + static_cast<ptrdiff_t>(chance.below(parts.size()));
  if (chance.below(2)) {
    artifact::Operation twice = *at;
    parts.insert(at, std::move(twice));
  } else {
    parts.erase(at);
  }
  return true;
}

static bool changeTouched(ProgramGpu &gpu, Chance &chance) {
  Stretch *split = splitOf(gpu, chance);
  if (!split)
    return false;
  std::vector<Touched> &list = chance.among(split->dispatches).touched;
  if (list.empty())
    return false;
  Touched &touched = chance.among(list);
  switch (chance.below(5)) {
  case 0:
    return move(touched.stride, chance);
  case 1:
    return resize(touched.bytes, chance);
  case 2:
    return count(touched.count, chance);
  case 3:
    return count(touched.operand, chance);
  }
  list.erase(list.begin() + static_cast<ptrdiff_t>(chance.below(list.size())));
  return true;
}

static bool changeCut(ProgramGpu &gpu, Chance &chance) {
  Stretch *split = splitOf(gpu, chance);
  if (!split)
    return false;
  switch (chance.below(3)) {
  case 0:
    split->kind = StretchKind::Whole;
    return true;
  case 1:
    return count(split->dim, chance);
  }
  return count(split->at, chance);
}

const std::vector<MutantKind> &nnv12::test::mutantKinds() {
  static const std::vector<MutantKind> kinds = {
      {"an operand moved", moveOperand},
      {"an operand like another one", replaceOperand},
      {"two operands exchanged", swapOperands},
      {"an operand's size", resizeOperand},
      {"a pipeline of another dispatch", replacePipeline},
      {"groups", changeGroups},
      {"push words", changePush},
      {"two dispatches exchanged", swapDispatches},
      {"no barrier", dropBarrier},
      {"a dispatch of another layer", replaceLayer},
      {"no dispatch", dropDispatch},
      {"an upload moved", moveUpload},
      {"an upload of another source", replaceSource},
      {"an upload's codec or planes", changeForm},
      {"an upload's size", resizeUpload},
      {"no upload", dropUpload},
      {"a boundary's host", changeHost},
      {"a boundary's device", changeDevice},
      {"rows", changeRows},
      {"a stretch's executes", changeRange},
      {"no wait", dropWait},
      {"a part's tiles", changeTiles},
      {"a part's kernel", replaceKernel},
      {"a part's operand", changePlace},
      {"two parts exchanged", swapParts},
      {"no part, or one twice", dropPart},
      {"touched bytes", changeTouched},
      {"where it is cut", changeCut},
  };
  return kinds;
}
