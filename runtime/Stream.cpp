//===- Stream.cpp - Reuse between the frames of a session -----------------===//
#include "runtime/Stream.h"

#if NNV12_VIDEO

#include "artifact/Compatibility.h"
#include "artifact/Limits.h"
#include "artifact/ProgramView.h"
#include "runtime/video/InputMatch.h"
#include "runtime/video/ResultMerge.h"
#include "runtime/video/SquareSum.h"

#include <algorithm>
#include <cassert>
#include <cinttypes>
#include <cmath>

namespace nnv12::runtime {

using artifact::Fault;

#ifdef NNV12_TEST_HOOKS
/// Called at the end of each frame with the memory of kept values.
void (*atEndOfFrame)(const uint8_t *values, bool isWhole) = nullptr;
#define AT_END_OF_FRAME()                                                      \
  (atEndOfFrame ? atEndOfFrame(pages_.data(), isWhole_) : (void)0)
#else
#define AT_END_OF_FRAME() (void)0
#endif

static constexpr uint32_t none = ~uint32_t(0);
static constexpr uint64_t inProgram = ~uint64_t(0);

/// Where more than this part of an input changed, layers have next to nothing
/// to reuse: their sets have a border around each change.
static constexpr uint64_t mostChanged = 4; // a quarter

static constexpr size_t hugePage = size_t(1) << 21;

static uint64_t aligned(uint64_t size) {
  return (size + artifact::memoryAlignment - 1) &
         ~(artifact::memoryAlignment - 1);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// A plane of all images: their rows and columns are alike.
static VideoPlane planeOfSet(const bundle::VideoSet *set) {
  return {1, set->rows(), set->columns()};
}

static PixelLayout layoutOf(const bundle::PixelLayout *pixels,
                            const VideoPlane &plane, uint32_t valueSize) {
  auto inner = static_cast<uint32_t>(pixels->piece() / valueSize);
  return {plane,
          static_cast<uint32_t>(pixels->pieces() * inner),
          inner,
          valueSize,
          /*imageStride=*/0,
          pixels->distance(),
          pixels->row(),
          pixels->column()};
}

bool Stream::create(const LoadedBundle &bundle,
                    const nnv12_stream_options &options, Fault &fault) {
  bundle_ = &bundle;
  isBounded_ = options.reuse == NNV12_REUSE_BOUNDED;
  if (!load(fault) || !allocate(fault))
    return false;
  auto orElse = [](float given, float own) { return given > 0 ? given : own; };
  tolerance_ = orElse(options.tolerance, video_->tolerance());
  inputTolerance_ = orElse(options.input_tolerance, video_->input_tolerance());
  audits_ = options.audit != 0;
  uint32_t refresh = options.refresh;
  if (refresh == 0 && isBounded_)
    refresh = video_->refresh();
  pace_.setRefresh(refresh == NNV12_NO_REFRESH ? 0 : refresh);
  // Comparing cells and values takes longer than comparing bytes.
  if (isBounded_)
    pace_.setMost(5);
  return true;
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
  if (isBounded_ && overlay->head()->reuse() == bundle::VideoReuse_Exact)
    return fault.set(Fault::Unsupported,
                     "stream: reuse: found bounded, expected exact, as the "
                     "bundle was compiled (nnv12c --video)");
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

bool Stream::isChecked(const bundle::VideoExecute *execute) const {
  return isBounded_ && execute->check() && execute->check()->pixels()->piece();
}

bool Stream::allocate(Fault &fault) {
  const bundle::Program *program = bundle_->chosenProgram();
  uint64_t words = 0, pixels = 0, tiles = 0, checkedRows = 0;
  for (const bundle::VideoSet *set : *video_->sets()) {
    VideoPlane plane = planeOfSet(set);
    words += aligned(DirtySet::sizeOf(plane));
    pixels = std::max(pixels, plane.numPixels());
  }
  for (const bundle::VideoInput *input : *video_->inputs())
    words += aligned(
        DirtySet::sizeOf(planeOfSet(video_->sets()->Get(input->set()))));
  size_t numOperands = 0;
  auto include = [&](const bundle::VideoPart *how,
                     const bundle::Operation *operation) {
    if (how->tiles() != bundle::VideoTiles_All)
      tiles = std::max<uint64_t>(tiles, kernelOf(how, operation)->tiles());
  };
  for (uint32_t i = 0; i < video_->executes()->size(); ++i) {
    const bundle::VideoExecute *execute = video_->executes()->Get(i);
    numOperands += execute->places()->size();
    if (isChecked(execute)) {
      numOperands += execute->places()->size();
      checkedRows = std::max<uint64_t>(
          checkedRows, video_->sets()->Get(execute->set())->rows());
    }
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
      !rectangles_.allocate(rectangles) || !marks_.allocate(rectangles) ||
      !inputs_.allocate(video_->inputs()->size()) ||
      !rowSums_.allocate(checkedRows))
    return fault.set(Fault::OutOfMemory,
                     "stream: no memory for %" PRIu64 " bytes", memory_);
  pages_.adviseHuge(memory_);
  uint8_t *next = pages_.data() + arena;
  auto createSet = [&](DirtySet &set, const VideoPlane &plane) {
    set.create(plane, reinterpret_cast<uint64_t *>(next));
    set.clear();
    next += aligned(DirtySet::sizeOf(plane));
  };
  for (uint32_t i = 0; i < sets_.size(); ++i)
    createSet(sets_[i], planeOfSet(video_->sets()->Get(i)));
  for (uint32_t i = 0; i < inputs_.size(); ++i)
    createSet(inputs_[i].clean, sets_[video_->inputs()->Get(i)->set()].plane());
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
    part.checked = nullptr;
    if (isChecked(execute)) {
      part.checked = place;
      place = std::copy(part.whole.operands,
                        part.whole.operands + execute->places()->size(), place);
      part.checked[0] = pages_.data() + execute->check()->place();
    }
    part.isInTail =
        execute->places()->size() && execute->places()->Get(0) == inProgram;
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
  kept_ = Kept::Nothing;
  pace_.forget();
}

bool Stream::takesNext() {
  ++runs_;
  if (pace_.takesNext())
    return true;
  kept_ = Kept::Nothing;
  return false;
}

/// Takes over the inputs as they are, and measures their values in some frames.
void Stream::takeInputs(const CallersBuffers &callers) {
  measures_ = isBounded_ && pace_.measuresWhole();
  for (uint32_t i = 0; i < video_->inputs()->size(); ++i) {
    const nnv12_input &given = elementOf(callers.inputs, i);
    if (given.size)
      memcpy(pages_.data() + video_->inputs()->Get(i)->place(), given.data,
             given.size);
    if (measures_)
      measureInput(i, given);
  }
}

/// Begins a frame that computes all.
Stream::Frame Stream::beginWhole(const CallersBuffers &callers) {
  takeInputs(callers);
  isWhole_ = true;
  ++frames_;
  ++wholeFrames_;
  return Frame::Computed;
}

/// Whether more of the inputs changed than leaves something to reuse.
bool Stream::changedMuch() const {
  // Inputs of one pixel tell nothing of others.
  bool hasPlanes = pixelsNow_ > video_->inputs()->size();
  return hasPlanes && changedNow_ > pixelsNow_ / mostChanged;
}

Stream::Frame Stream::begin(const CallersBuffers &callers, Workers &workers,
                            bool isAudit) {
  Kept had = kept_;
  isCompared_ = isAudit_ && had == Kept::Values;
  isAudit_ = isAudit;
  isReused_ = isWhole_ = measures_ = false;
  kept_ = Kept::Nothing; // until the end
  computed_ = 0;
  work_ = allWork_ = tailWork_ = 0;
  changedNow_ = pixelsNow_ = 0;
  if (had == Kept::Nothing) {
    // Nobody knows yet whether there will be something to reuse.
    takeInputs(callers);
    return Frame::Left;
  }
  if (pace_.isRefreshDue() && !isAudit)
    return beginWhole(callers);
  bool isChanged = false;
  for (uint32_t i = 0; i < video_->inputs()->size(); ++i)
    isChanged |= match(i, elementOf(callers.inputs, i).data, workers);
  if (changedMuch() && !isAudit) {
    addChanges();
    pace_.addPoor();
    takeInputs(callers);
    return Frame::Left;
  }
  if (isChanged && had != Kept::Values)
    return beginWhole(callers);
  frames_ += !isAudit;
  if (isChanged)
    return Frame::Computed;
  for (const Part &part : parts_)
    allWork_ += part.work;
  kept_ = had;
  return Frame::Same;
}

void Stream::leave(const CallersBuffers &callers) {
  for (uint32_t i = 0; i < video_->outputs()->size(); ++i)
    if (const nnv12_output &given = elementOf(callers.outputs, i); given.size)
      memcpy(pages_.data() + video_->outputs()->Get(i), given.data, given.size);
  kept_ = Kept::Answer;
  pace_.addLeft();
}

/// Calls `kernel` with a job for all of its tiles.
template <typename Job>
static void share(Workers &workers, artifact::KernelFn kernel, Job &job,
                  uint64_t tiles) {
  void *operand = &job;
  Step step = {};
  step.executor = &workers;
  step.count = 1;
  step.end = tiles;
  step.kernel = kernel;
  step.operands = &operand;
  workers.run(step);
}

/// A record that begins now. An audit's would be those of one run twice.
static Record beginRecord(const Workers &workers, RecordKind kind,
                          uint32_t index, bool isAudit) {
  Record record = workers.recorder().begin(kind, index);
  if (isAudit)
    record.start = 0;
  return record;
}

/// How the cells of an input are compared in bounded streams.
static MatchJob::Mode cellModeOf(const bundle::PixelLayout *pixels,
                                 nnv12_type type, const VideoPlane &plane) {
  if (plane.isPoint())
    return MatchJob::Mode::Exact;
  if (type == NNV12_U8)
    return MatchJob::Mode::BoundedUint8;
  uint64_t distances =
      pixels->row() | pixels->column() | pixels->distance() | pixels->piece();
  return type == NNV12_F32 && distances % sizeof(float) == 0
             ? MatchJob::Mode::BoundedF32
             : MatchJob::Mode::Exact;
}

/// Finds the pixels of an input that differ, and takes them over. Whether there
/// are some.
bool Stream::match(uint32_t number, const void *given, Workers &workers) {
  const bundle::VideoInput *input = video_->inputs()->Get(number);
  DirtySet &set = sets_[input->set()];
  set.clear();
  if (input->pixels()->piece() == 0)
    return false;
  MatchJob job = {};
  job.mode = MatchJob::Mode::Exact;
  if (isBounded_)
    job.mode = cellModeOf(input->pixels(), bundle_->inputs()[number].type,
                          set.plane());
  // Elsewhere bytes are compared, so that each is a channel.
  job.layout = layoutOf(input->pixels(), set.plane(),
                        job.mode == MatchJob::Mode::BoundedF32 ? 4 : 1);
  job.limit = inputs_[number].limit;
  job.input = given;
  job.reference = pages_.data() + input->place();
  job.dirty = &set;
  job.clean = hasHints_ ? &inputs_[number].clean : nullptr;
  Record record = beginRecord(workers, RecordKind::Match, number, isAudit_);
  share(workers, matchBands, job, job.numBands());
  uint64_t changed = set.count();
  record.count = partOfAll(changed, set.plane().numPixels());
  workers.recorder().end(record);
  changedNow_ += changed;
  pixelsNow_ += set.plane().numPixels();
  return changed != 0;
}

/// The limit of a mean of squares, where values have that mean of squares.
static float limitOf(float tolerance, double meanSquare) {
  return static_cast<float>(double(tolerance) * tolerance * meanSquare);
}

void Stream::measureInput(uint32_t number, const nnv12_input &given) {
  double variance = 0;
  switch (bundle_->inputs()[number].type) {
  case NNV12_F32:
    variance = varianceOf(static_cast<const float *>(given.data),
                          given.size / sizeof(float));
    break;
  case NNV12_U8:
    variance = varianceOf(static_cast<const uint8_t *>(given.data), given.size);
    break;
  default:
    break;
  }
  inputs_[number].limit = limitOf(inputTolerance_, variance);
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
  merges_ = false;
  allWork_ += part.work;
  tailWork_ += part.isInTail ? part.work : 0;
  uint32_t number = video_->executes()->Get(execute)->set();
  computeSets(number + 1);
  DirtySet &set = sets_[number];
  if (set.isEmpty()) {
    step.end = step.begin;
    return step;
  }
  if (part.checked) {
    // Where most pixels are dirty, few of them would stay. All are taken over
    // then, since those between them may have stayed in frames before.
    uint64_t pixels = set.plane().numPixels();
    merges_ = set.count() < pixels - pixels / 4;
    if (merges_)
      step.operands = part.checked;
    else
      set.setAll();
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

void Stream::finish(uint32_t execute, Workers &workers) {
  Part &part = parts_[execute];
  if (!part.checked || !(isWhole_ ? measures_ : merges_))
    return;
  const bundle::VideoExecute *how = video_->executes()->Get(execute);
  DirtySet &set = sets_[how->set()];
  PixelLayout layout =
      layoutOf(how->check()->pixels(), set.plane(), sizeof(float));
  void *kept = part.whole.operands[0];
  uint64_t rows = layout.plane.numRows();
  if (isWhole_) {
    SquareSumJob job = {layout, static_cast<const float *>(kept),
                        rowSums_.data()};
    share(workers, sumSquares, job, rows);
    part.limit = limitOf(tolerance_, meanSquareOf(job));
    return;
  }
  MergeJob job = {layout,     MergeJob::Mode::BoundedF32,
                  part.limit, part.checked[0],
                  kept,       &set};
  Record record = beginRecord(workers, RecordKind::Merge, execute, isAudit_);
  share(workers, mergeRows, job, rows);
  if (record.start)
    record.count = partOfAll(set.count(), set.plane().numPixels());
  workers.recorder().end(record);
}

/// Adds the squares of the differences of an output's values, and those of the
/// values.
static void addSquaredErrors(const float *reused, const float *plain,
                             size_t count, double (&sums)[2]) {
  for (size_t i = 0; i < count; ++i) {
    // Values of the same bytes do not differ, be they NaN.
    double difference = memcmp(&reused[i], &plain[i], sizeof(float))
                            ? double(reused[i]) - double(plain[i])
                            : 0;
    sums[0] += difference * difference;
    sums[1] += double(plain[i]) * double(plain[i]);
  }
}

void Stream::end(const CallersBuffers &callers) {
  double squares[2] = {};
  for (uint32_t i = 0; i < video_->outputs()->size(); ++i) {
    const nnv12_output &wanted = elementOf(callers.outputs, i);
    const uint8_t *values = pages_.data() + video_->outputs()->Get(i);
    if (!wanted.size)
      continue;
    if (isCompared_ && bundle_->outputs()[i].type == NNV12_F32)
      addSquaredErrors(static_cast<const float *>(wanted.data),
                       reinterpret_cast<const float *>(values),
                       wanted.size / sizeof(float), squares);
    memcpy(wanted.data, values, wanted.size);
  }
  isReused_ = !isWhole_;
  // Frames without a change leave it as it was.
  if (kept_ == Kept::Nothing)
    kept_ = Kept::Values;
  if (isCompared_) {
    ++numAudits_;
    double error = squares[0] > 0 ? sqrt(squares[0] / squares[1]) : squares[0];
    // NaN is more than any number, and stays.
    if (auditError_ == auditError_ && !(error <= auditError_))
      auditError_ = error;
  }
  if (isAudit_)
    return;
  if (kept_ == Kept::Values)
    AT_END_OF_FRAME();
  if (isWhole_) {
    pace_.addWhole();
    return;
  }
  addChanges();
  totalWork_ += work_;
  totalAllWork_ += allWork_;
  pace_.add(work_, allWork_, tailWork_);
}

bool Stream::hint(const nnv12_stream_hint &hint, Fault &fault) {
  if (hint.input >= inputs_.size())
    return fault.set(Fault::InvalidArgument,
                     "hint: input: found %u, expected less than %zu",
                     hint.input, inputs_.size());
  if (hint.shift_x || hint.shift_y)
    return fault.set(Fault::Unsupported,
                     "hint: shift: found (%d, %d), expected (0, 0)",
                     hint.shift_x, hint.shift_y);
  if (!hint.clean && hint.num_clean)
    return fault.set(Fault::InvalidArgument,
                     "hint: clean: found NULL, expected %zu rectangles",
                     hint.num_clean);
  DirtySet &clean = inputs_[hint.input].clean;
  const VideoPlane &plane = clean.plane();
  for (size_t i = 0; i < hint.num_clean; ++i) {
    const nnv12_rectangle &pixels = hint.clean[i];
    auto fits = [](uint32_t first, uint32_t size, uint32_t all) {
      return first < all && size >= 1 && size <= all - first;
    };
    if (!fits(pixels.x, pixels.width, plane.cols) ||
        !fits(pixels.y, pixels.height, plane.rows))
      return fault.set(Fault::InvalidArgument,
                       "hint: rectangle %zu: found %ux%u pixels at (%u, %u), "
                       "expected some of the input's %ux%u",
                       i, pixels.width, pixels.height, pixels.x, pixels.y,
                       plane.cols, plane.rows);
  }
  for (size_t i = 0; i < hint.num_clean; ++i) {
    const nnv12_rectangle &pixels = hint.clean[i];
    clean.set({/*image=*/0, pixels.y, pixels.y + pixels.height, pixels.x,
               pixels.x + pixels.width});
  }
  hasHints_ = true;
  return true;
}

void Stream::forgetHints() {
  if (!hasHints_)
    return;
  for (Input &input : inputs_)
    input.clean.clear();
  hasHints_ = false;
}

void Stream::tell(nnv12_stream_info &info) const {
  info.frames = frames_;
  info.whole_frames = wholeFrames_;
  info.memory_size = memory_;
  info.changed = pixels_ ? double(changed_) / double(pixels_) : 0;
  info.computed =
      totalAllWork_ ? double(totalWork_) / double(totalAllWork_) : 0;
  info.runs = runs_;
  info.audits = numAudits_;
  info.audit_error = auditError_;
}

} // namespace nnv12::runtime

#endif // NNV12_VIDEO
