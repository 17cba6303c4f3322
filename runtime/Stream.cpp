//===- Stream.cpp - Reuse between the frames of a session -----------------===//
#include "runtime/Stream.h"

#if NNV12_VIDEO

#include "artifact/Compatibility.h"
#include "artifact/Limits.h"
#include "runtime/video/InputMatch.h"

#include <algorithm>
#include <cassert>
#include <cinttypes>

namespace nnv12::runtime {

using artifact::Fault;

static constexpr uint32_t none = ~uint32_t(0);
static constexpr uint64_t inProgram = ~uint64_t(0);

static constexpr size_t hugePage = size_t(1) << 21;

static uint64_t aligned(uint64_t size) {
  return (size + artifact::memoryAlignment - 1) &
         ~(artifact::memoryAlignment - 1);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

bool Stream::create(const LoadedBundle &bundle, Fault &fault) {
  bundle_ = &bundle;
  return load(fault) && allocate(fault);
}

bool Stream::load(Fault &fault) {
  const bundle::Program *program = bundle_->chosenProgram();
  const bundle::Overlay *overlay =
      artifact::videoOverlayOf(bundle_->metadata(), program);
  if (!overlay && artifact::findOverlay(program, bundle::OverlayKind_Video))
    return fault.set(Fault::Unsupported,
                     "stream: found a part for video that is sealed, expected "
                     "one that needs no key");
  if (!overlay)
    return fault.set(Fault::Unsupported,
                     "stream: found a bundle without a part for video, "
                     "expected one (nnv12c --video)");
  const bundle::VideoOverlays *all = bundle_->loadVideo(overlayCopy_, fault);
  if (!all)
    return false;
  if (!artifact::isUnderstood(bundle_->metadata(), all, program,
                              bundle_->programNumber(), fault))
    return false;
  video_ = artifact::videoOf(all, program);
  for (const bundle::Kernel *kernel : *video_->kernels())
    scratch_ = std::max<uint64_t>(scratch_, kernel->scratch());
  return true;
}

bool Stream::allocate(Fault &fault) {
  const bundle::Program *program = bundle_->chosenProgram();
  uint64_t words = 0, pixels = 0, tiles = 0;
  for (const bundle::VideoSet *set : *video_->sets()) {
    VideoPlane plane = {1, set->rows(), set->columns()};
    words += aligned(DirtySet::sizeOf(plane));
    pixels = std::max(pixels, plane.numPixels());
  }
  size_t numOperands = 0;
  auto include = [&](const bundle::VideoPart *how,
                     const bundle::Operation *operation) {
    if (how->tiles() != bundle::VideoTiles_All)
      tiles = std::max<uint64_t>(tiles, kernelOf(how, operation)->tiles());
  };
  for (uint32_t i = 0; i < video_->executes()->size(); ++i) {
    const bundle::VideoExecute *execute = video_->executes()->Get(i);
    numOperands += execute->places()->size();
    include(execute->part(), program->operations()->Get(i));
  }
  for (uint32_t i = 0; i < artifact::numSwitches(program); ++i)
    include(video_->switches()->Get(i),
            program->switches()->Get(i)->replacement());
  // A grid has no more rectangles than tiles, or than pixels.
  uint64_t rectangles = std::min(tiles, pixels);
  uint64_t arena = aligned(video_->arena_size());
  memory_ = arena + words;
  if (!pages_.allocate(memory_, hugePage) || !operands_.allocate(numOperands) ||
      !parts_.allocate(video_->executes()->size()) ||
      !sets_.allocate(video_->sets()->size()) || !tiles_.allocate(tiles) ||
      !rectangles_.allocate(rectangles) || !marks_.allocate(rectangles))
    return fault.set(Fault::OutOfMemory,
                     "stream: no memory for %" PRIu64 " bytes", memory_);
  pages_.adviseHuge(memory_);
  uint8_t *next = pages_.data() + arena;
  for (uint32_t i = 0; i < sets_.size(); ++i) {
    const bundle::VideoSet *set = video_->sets()->Get(i);
    VideoPlane plane = {1, set->rows(), set->columns()};
    sets_[i].create(plane, reinterpret_cast<uint64_t *>(next));
    sets_[i].clear();
    next += aligned(DirtySet::sizeOf(plane));
  }
  for (Part &part : parts_)
    part.switchNumber = none;
  for (uint32_t i = 0; i < artifact::numSwitches(program); ++i)
    parts_[program->switches()->Get(i)->operation()].switchNumber = i;
  return true;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

Stream::Grid Stream::gridOf(const bundle::VideoPart *how,
                            const bundle::TileMap *map) {
  Grid grid;
  grid.tiles = how->tiles();
  uint64_t stride = 1;
  const auto *cuts = map->parts()->Get(0)->cuts();
  for (uint32_t i = cuts->size(); i-- > 0;) {
    const bundle::TileCut *cut = cuts->Get(i);
    auto size = static_cast<uint32_t>(
        std::min<uint64_t>(cut->size(), artifact::maxPixels));
    auto count = static_cast<uint32_t>(cut->count());
    if (cut->axis() == how->row_axis()) {
      grid.rowSize = size;
      grid.rowCount = count;
      grid.rowStride = stride;
    } else if (how->tiles() == bundle::VideoTiles_Cells &&
               cut->axis() == how->column_axis()) {
      grid.columnSize = size;
      grid.columnCount = count;
      grid.columnStride = stride;
    }
    stride *= cut->count();
  }
  return grid;
}

/// The kernel that computes parts of an operation's result.
const bundle::Kernel *
Stream::kernelOf(const bundle::VideoPart *how,
                 const bundle::Operation *operation) const {
  return how->kernel() == none
             ? artifact::kernelOf(bundle_->target(), operation)
             : video_->kernels()->Get(how->kernel());
}

void Stream::choosePart(Part &part, const bundle::VideoPart *how,
                        const bundle::Operation *operation) const {
  const bundle::Kernel *own = artifact::kernelOf(bundle_->target(), operation),
                       *kernel = kernelOf(how, operation);
  part.kernel = reinterpret_cast<artifact::KernelFn>(
      reinterpret_cast<uintptr_t>(bundle_->code() + kernel->entry()));
  part.tiles = kernel->tiles();
  part.work = std::max<uint64_t>(own->multiply_adds(), 1);
  part.grid = {};
  if (how->tiles() != bundle::VideoTiles_All)
    part.grid = gridOf(how, kernel->maps()->Get(0));
}

void Stream::adopt(const Array<Step> &steps) {
  const bundle::Program *program = bundle_->chosenProgram();
  void **place = operands_.data();
  for (uint32_t i = 0; i < parts_.size(); ++i) {
    const bundle::VideoExecute *execute = video_->executes()->Get(i);
    Part &part = parts_[i];
    part.whole = steps[i];
    part.whole.operands = place;
    for (uint32_t k = 0; k < execute->places()->size(); ++k) {
      uint64_t at = execute->places()->Get(k);
      *place++ = at == inProgram ? steps[i].operands[k] : pages_.data() + at;
    }
    const bundle::Operation *operation = program->operations()->Get(i);
    const bundle::VideoPart *how = execute->part();
    if (steps[i].switched) {
      operation = program->switches()->Get(part.switchNumber)->replacement();
      how = video_->switches()->Get(part.switchNumber);
    }
    choosePart(part, how, operation);
  }
  assert(place == operands_.end() && "all were counted");
  forget();
}

//===----------------------------------------------------------------------===//
// Frames
//===----------------------------------------------------------------------===//

void Stream::forget() {
  hasValues_ = false;
  forgetTries();
}

bool Stream::takesNext() {
  ++runs_;
  if (runsWithout_ == 0)
    return true;
  --runsWithout_;
  hasValues_ = false;
  return false;
}

bool Stream::begin(const CallersBuffers &callers, Workers &workers) {
  isWhole_ = !hasValues_;
  hasValues_ = false; // until the end
  computed_ = 0;
  work_ = allWork_ = 0;
  ++frames_;
  wholeFrames_ += isWhole_;
  bool isChanged = isWhole_;
  for (uint32_t i = 0; i < video_->inputs()->size(); ++i) {
    const bundle::VideoInput *input = video_->inputs()->Get(i);
    const nnv12_input &given = elementOf(callers.inputs, i);
    if (!isWhole_)
      isChanged |= match(i, given.data, workers);
    else if (given.size)
      memcpy(pages_.data() + input->place(), given.data, given.size);
  }
  if (!isChanged)
    for (const Part &part : parts_)
      allWork_ += part.work;
  return isChanged;
}

/// Finds the pixels of an input that differ, and takes them over. Whether there
/// are some.
bool Stream::match(uint32_t number, const void *given, Workers &workers) {
  const bundle::VideoInput *input = video_->inputs()->Get(number);
  const bundle::PixelLayout *pixels = input->pixels();
  DirtySet &set = sets_[input->set()];
  MatchJob job = {};
  // Bytes are compared, so that each is a channel.
  job.layout = {set.plane(),
                static_cast<uint32_t>(pixels->pieces() * pixels->piece()),
                static_cast<uint32_t>(pixels->piece()),
                /*valueSize=*/1,
                /*imageStride=*/0,
                pixels->distance(),
                pixels->row(),
                pixels->column()};
  set.clear();
  if (job.layout.channels == 0)
    return false;
  job.mode = MatchJob::Mode::Exact;
  job.input = given;
  job.reference = pages_.data() + input->place();
  job.dirty = &set;
  void *operand = &job;
  Step step = {};
  step.executor = &workers;
  step.count = 1;
  step.end = job.numBands();
  step.kernel = matchBands;
  step.operands = &operand;
  Record record = workers.recorder().begin(RecordKind::Match, number);
  workers.run(step);
  uint64_t changed = set.count();
  record.count = partOfAll(changed, set.plane().numPixels());
  workers.recorder().end(record);
  changed_ += changed;
  pixels_ += set.plane().numPixels();
  return changed != 0;
}

/// Adds the pixels that set `number` has of the sets that it reads.
void Stream::addReads(DirtySet &set, uint32_t number) const {
  auto window = [](const bundle::VideoWindow *w) {
    return VideoWindow{static_cast<int32_t>(w->num()),
                       static_cast<int32_t>(w->den()), w->low(), w->high()};
  };
  for (const bundle::VideoRead *read : *video_->sets()->Get(number)->reads()) {
    const DirtySet &source = sets_[read->set()];
    if (source.isEmpty())
      continue;
    if (read->all())
      set.addAll(source);
    else
      set.addThrough(source, window(read->rows()), window(read->columns()));
  }
}

/// Computes the sets before `end`; begin() has those of inputs. Values without
/// operands never change.
void Stream::computeSets(uint32_t end) {
  for (; computed_ < end; ++computed_) {
    if (!video_->sets()->Get(computed_)->reads()->size())
      continue;
    sets_[computed_].clear();
    addReads(sets_[computed_], computed_);
  }
}

/// Lists the tiles with dirty pixels; returns how many they are.
uint32_t Stream::listTiles(const Part &part, const DirtySet &set) {
  const Grid &grid = part.grid;
  uint32_t columns = grid.tiles == bundle::VideoTiles_Cells ? grid.columnSize
                                                            : set.plane().cols;
  uint32_t count =
      grid.tiles == bundle::VideoTiles_Runs
          ? set.listFlatTiles(grid.rowSize, rectangles_.data())
          : set.listTiles(grid.rowSize, columns, rectangles_.data());
  uint64_t all = uint64_t(grid.rowCount) * grid.columnCount;
  // As a rule each rectangle is a tile, in the same order.
  if (all == part.tiles && (grid.columnCount == 1 || grid.columnStride == 1)) {
    memcpy(tiles_.data(), rectangles_.data(), count * sizeof(uint32_t));
    return count;
  }
  memset(marks_.data(), 0, all);
  for (uint32_t i = 0; i < count; ++i)
    marks_[rectangles_[i]] = 1;
  uint32_t tiles = 0;
  for (uint32_t t = 0; t < part.tiles; ++t) {
    auto row = static_cast<uint32_t>(t / grid.rowStride % grid.rowCount),
         column =
             static_cast<uint32_t>(t / grid.columnStride % grid.columnCount);
    if (marks_[row * grid.columnCount + column])
      tiles_[tiles++] = t;
  }
  return tiles;
}

Step Stream::stepOf(uint32_t execute) {
  const Part &part = parts_[execute];
  if (isWhole_)
    return part.whole;
  Step step = part.whole;
  allWork_ += part.work;
  uint32_t number = video_->executes()->Get(execute)->set();
  computeSets(number + 1);
  const DirtySet &set = sets_[number];
  if (set.isEmpty()) {
    step.end = step.begin;
    return step;
  }
  uint64_t tiles = part.tiles;
  if (part.grid.tiles != bundle::VideoTiles_All)
    tiles = listTiles(part, set);
  if (areMost(tiles, part)) {
    work_ += part.work;
    return step;
  }
  work_ += part.work * tiles / part.tiles;
  step.kernel = part.kernel;
  step.begin = 0;
  step.end = tiles;
  step.tiles = tiles_.data();
  return step;
}

void Stream::end(const CallersBuffers &callers) {
  for (uint32_t i = 0; i < video_->outputs()->size(); ++i) {
    const nnv12_output &wanted = elementOf(callers.outputs, i);
    if (wanted.size)
      memcpy(wanted.data, pages_.data() + video_->outputs()->Get(i),
             wanted.size);
  }
  hasValues_ = true;
  if (isWhole_)
    return;
  totalWork_ += work_;
  totalAllWork_ += allWork_;
  // Less is not worth the comparing.
  if (work_ <= allWork_ - allWork_ / 4) {
    forgetTries();
    return;
  }
  // Copies may follow one new picture.
  if (++tries_ < 2)
    return;
  runsWithout_ = nextWithout_;
  nextWithout_ = std::min(2 * nextWithout_, most);
}

void Stream::forgetTries() {
  tries_ = runsWithout_ = 0;
  nextWithout_ = least;
}

void Stream::tell(nnv12_stream_info &info) const {
  info.frames = frames_;
  info.whole_frames = wholeFrames_;
  info.memory_size = memory_;
  info.changed = pixels_ ? double(changed_) / double(pixels_) : 0;
  info.computed =
      totalAllWork_ ? double(totalWork_) / double(totalAllWork_) : 0;
  info.runs = runs_;
}

} // namespace nnv12::runtime

#endif // NNV12_VIDEO
