//===- GpuFlowVerifier.cpp - Checks hand-overs and dispatches -------------===//
#include "artifact/Checks.h"
#include "artifact/GpuVerifier.h"
#include "artifact/ProgramView.h"
#include "artifact/SplitParts.h"
#include "artifact/TilePieces.h"

#include <algorithm>
#include <cinttypes>
#include <cstddef>
#include <initializer_list>

namespace nnv12::artifact {

namespace {

using After = flatbuffers::Vector<uint32_t>;
using RowsList = flatbuffers::Vector<flatbuffers::Offset<bundle::Rows>>;

constexpr uint32_t none = ~0u;

/// The spaces whose bytes are followed: each output of the caller is one, from
/// `OutputSpace` on. Inputs and weights are not, as nothing writes them.
enum FollowedSpace : uint32_t {
  GpuArenaSpace,
  GpuPreparedSpace,
  ArenaSpace,
  OutputSpace
};

/// A place in a space. No bundle has more than 2^46 bytes in one.
constexpr unsigned offsetBits = 47;
constexpr uint64_t mostSpaces = uint64_t(1) << (64 - offsetBits);

struct Place {
  uint64_t begin = 0, end = 0; ///< the same: of no bytes that are followed
};

Place placeIn(uint32_t space, uint64_t offset, uint64_t size) {
  uint64_t begin = uint64_t(space) << offsetBits | offset;
  return {begin, begin + size};
}

/// All places begin and end at certain bytes, sorted: so they are made of
/// pieces between two of those, [begin, end) by number.
struct Pieces {
  uint32_t begin, end;
};

class FlowVerifier : public Checks {
public:
  FlowVerifier(const bundle::Bundle *bundle,
               const bundle::GpuOverlays *overlays,
               const bundle::Program *program, uint32_t number, Fault &fault)
      : Checks(fault), code_(overlays->gpu()),
        target_(targetOf(bundle, program)), program_(program),
        gpu_(overlayOf(overlays, program)), executes_(numExecutes(program)),
        firstGpu_(program->operations()->size()),
        root_{nullptr, "program", number} {}

  bool verify() {
    if (!switches_.create(program_))
      return fault.set(Fault::OutOfMemory, "no memory to check the plan");
    return hold([this] {
      allocate();
      verifyPreparations();
      collect();
      forEach(&overlay_, "preparation", gpu_->preparations(),
              &Self::verifyUploads);
      verifyStretches();
    });
  }

private:
  using Self = FlowVerifier;
  /// A bit for each of the pieces that places are made of.
  using Bits = Array<uint64_t>;

  void allocate() {
    uint32_t stretches = gpu_->stretches()->size();
    makeRoom(recordOf_, stretches);
    makeRoom(nextEnd_, stretches);
    makeRoom(makerOf_, code_->pipelines()->size());
    makeRoom(marked_, gpu_->preparations()->size());
    makeRoom(firstEnd_, size_t(executes_) + 1);
    for (Array<uint32_t> *list : {&recordOf_, &makerOf_, &firstEnd_, &nextEnd_})
      std::fill(list->begin(), list->end(), none);
    for (uint32_t i = 0; i < stretches; ++i) {
      const bundle::Stretch *stretch = gpu_->stretches()->Get(i);
      uint32_t &head = firstEnd_[stretch->first() + stretch->count()];
      nextEnd_[i] = head;
      head = i;
    }
  }

  /// All wait for the device; each pipeline and each stretch has one
  /// preparation.
  void verifyPreparations() {
    uint32_t count = gpu_->preparations()->size(), device = 0;
    while (preparation(device)->stage() != bundle::GpuStage_Device)
      ++device;
    for (uint32_t i = 0; i < count; ++i) {
      Where where = {&overlay_, "preparation", i};
      if (i != device && !isAfter(preparation(i)->after(), device))
        refuse(where, "after: found no operation %u|the Device among them",
               firstGpu_ + device);
      for (uint32_t pipeline : elementsOf(preparation(i)->pipelines())) {
        uint32_t &maker = makerOf_[pipeline];
        if (maker != none)
          refuse(where, "pipelines: found %u, which preparation %u makes too",
                 pipeline, maker);
        maker = i;
      }
      if (preparation(i)->stage() != bundle::GpuStage_Record)
        continue;
      uint32_t &record = recordOf_[preparation(i)->stretch()];
      if (record != none)
        refuse(where, "stretch: found %u, which preparation %u records too",
               preparation(i)->stretch(), record);
      record = i;
    }
    forEach(&overlay_, "preparation", gpu_->preparations(),
            &Self::verifyRecord);
    forEach(&overlay_, "stretch", gpu_->stretches(), &Self::verifyStart);
  }

  void verifyRecord(const Where &where,
                    const bundle::GpuPreparation *preparation) {
    if (preparation->stage() != bundle::GpuStage_Record)
      return;
    for (uint32_t before : elementsOf(preparation->after()))
      if (before >= firstGpu_)
        marked_[before - firstGpu_] = where.index + 1;
    for (const bundle::Dispatch *dispatch :
         *gpu_->stretches()->Get(preparation->stretch())->dispatches()) {
      uint32_t maker = makerOf_[dispatch->pipeline()];
      if (maker == none || marked_[maker] != where.index + 1)
        refuse(where,
               "after: found none that makes pipeline %u, which its stretch "
               "dispatches",
               dispatch->pipeline());
    }
  }

  void verifyStart(const Where &where, const bundle::Stretch *stretch) {
    uint32_t record = recordOf_[where.index];
    if (record == none || !isAfter(stretch->after(), record))
      refuse(where, "after: found no Record of it");
  }

  template <typename Visit> void forEachPlace(Visit &visit) const {
    auto visitOperands = [&](const bundle::Operation *operation) {
      for (const bundle::Operand *operand : *operation->operands())
        visit(place(operand));
    };
    for (uint32_t i = 0; i < executes_; ++i)
      visitOperands(program_->operations()->Get(i));
    for (uint32_t i = 0; i < numSwitches(program_); ++i)
      visitOperands(program_->switches()->Get(i)->replacement());
    for (const bundle::GpuPreparation *preparation : *gpu_->preparations())
      for (const bundle::Upload *upload : elementsOf(preparation->uploads()))
        visit(place(upload));
    for (const bundle::Stretch *stretch : *gpu_->stretches()) {
      for (const RowsList *list : {stretch->in(), stretch->out()})
        for (const bundle::Rows *rows : *list) {
          visit(hostPlace(rows));
          visit(devicePlace(rows));
        }
      for (const bundle::Dispatch *dispatch : *stretch->dispatches())
        for (uint32_t k = 0; k < dispatch->operands()->size(); ++k)
          for (bool isHost : {false, true})
            forEachTouched(dispatch, k, isHost, visit);
      for (const bundle::Operation *part : elementsOf(stretch->parts()))
        forEachWritten(part, visit);
    }
  }

  /// The places that a dispatch touches through operand `k`, where the CPU has
  /// them or the GPU.
  template <typename Visit>
  void forEachTouched(const bundle::Dispatch *dispatch, uint32_t k, bool isHost,
                      Visit &visit) const {
    const bundle::GpuOperand *operand = dispatch->operands()->Get(k);
    Place all = isHost ? hostPlace(operand) : devicePlace(operand);
    for (const bundle::Touched *touched : elementsOf(dispatch->touched()))
      if (touched->operand() == k) {
        if (all.begin != all.end)
          for (uint64_t i = 0; i < touched->count(); ++i) {
            uint64_t begin = all.begin + i * touched->stride();
            visit(Place{begin, begin + touched->bytes()});
          }
        return;
      }
    visit(all);
  }

  /// The places that a part of a split stretch writes.
  template <typename Visit>
  void forEachWritten(const bundle::Operation *part, Visit &visit) const {
    const bundle::Kernel *kernel = kernelOf(target_, part);
    for (uint32_t k = 0; k < kernel->outputs(); ++k) {
      const bundle::Operand *operand = part->operands()->Get(k);
      const bundle::TileMap *map = kernel->maps()->Get(k);
      uint64_t element = elementBytes(map, operand->size());
      TilePieces pieces(map, part->tile_begin(), part->tile_end());
      for (uint64_t first, count; pieces.next(first, count);)
        visit(place(operand, first * element, count * element));
    }
  }

  void collect() {
    if (OutputSpace + uint64_t(program_->outputs()->size()) > mostSpaces)
      refuse(overlay_, "found too many outputs to check");
    // Once to count them, once to collect them.
    size_t places = 0;
    uint64_t *end = nullptr;
    auto visit = [&](Place place) {
      if (place.begin == place.end)
        return;
      if (!end) {
        ++places;
        return;
      }
      *end++ = place.begin;
      *end++ = place.end;
    };
    forEachPlace(visit);
    makeRoom(points_, 2 * places);
    end = points_.begin();
    forEachPlace(visit);
    // Half the code of std::sort, and as good in the worst case.
    std::make_heap(points_.begin(), end);
    std::sort_heap(points_.begin(), end);
    numPoints_ = std::unique(points_.begin(), end) - points_.begin();
    size_t words = numPoints_ / 64 + 1;
    for (Bits *bits : {&live_, &handedOut_, &defined_, &written_, &read_})
      makeRoom(*bits, words);
    maxSteps_ = leastSteps + stepsPerPlace * places;
  }

  void put(Bits &bits, Pieces pieces, bool value) {
    if (isEntangled())
      return;
    for (uint32_t word = pieces.begin / 64; word * 64 < pieces.end; ++word) {
      uint64_t mask = maskOf(pieces, word);
      bits[word] = value ? bits[word] | mask : bits[word] & ~mask;
      ++steps_;
    }
  }

  void wipe(Bits &bits) {
    if (isEntangled())
      return;
    std::fill(bits.begin(), bits.end(), 0);
    steps_ += bits.size();
  }

  /// The first of the pieces that is in `bits`, or is not (`isIn` false), and
  /// also in `others`; `none`: there is none.
  uint32_t find(Pieces pieces, const Bits &bits, bool isIn,
                const Bits *others = nullptr) {
    if (isEntangled())
      return none;
    for (uint32_t word = pieces.begin / 64; word * 64 < pieces.end; ++word) {
      uint64_t found = maskOf(pieces, word) &
                       (isIn ? bits[word] : ~bits[word]) &
                       (others ? (*others)[word] : ~uint64_t(0));
      ++steps_;
      if (found)
        return word * 64 + static_cast<uint32_t>(__builtin_ctzll(found));
    }
    return none;
  }

  /// Checks that there is none: found to be `what`.
  void expectNone(const Where &where, uint32_t piece, const char *what) {
    if (piece == none)
      return;
    static constexpr char names[][26] = {
        "the GPU's arena", "the GPU's prepared memory", "the arena"};
    uint32_t space = static_cast<uint32_t>(points_[piece] >> offsetBits);
    uint64_t offset = points_[piece] & ((uint64_t(1) << offsetBits) - 1);
    if (space < OutputSpace)
      refuse(where, "found byte %" PRIu64 " of %s %s", offset, names[space],
             what);
    refuse(where, "found byte %" PRIu64 " of output %u %s", offset,
           space - OutputSpace, what);
  }

  void verifyUploads(const Where &where,
                     const bundle::GpuPreparation *preparation) {
    for (const bundle::Upload *upload : elementsOf(preparation->uploads())) {
      Pieces pieces = piecesOf(place(upload));
      expectNone(where, find(pieces, defined_, true), "uploaded twice|once");
      put(defined_, pieces, true);
    }
  }

  /// Goes backwards over the program. So the live bytes at each execute are
  /// known when stretches that begin or end there are looked at.
  void verifyStretches() {
    uint32_t outputs = pieceAt(uint64_t(OutputSpace) << offsetBits);
    if (outputs < numPoints_)
      put(live_, {outputs, static_cast<uint32_t>(numPoints_)}, true);
    uint32_t left = gpu_->stretches()->size();
    for (uint32_t at = executes_;; --at) {
      for (uint32_t i = firstEnd_[at]; i != none; i = nextEnd_[i])
        verifyEnd(i);
      for (; left && gpu_->stretches()->Get(left - 1)->first() == at; --left)
        verifyBegin(left - 1);
      if (isEntangled())
        refuse(overlay_, "stretches: too entangled to check");
      if (at == 0)
        return;
      computeBefore(at - 1);
    }
  }

  /// Turns the live bytes behind the execute into those before it. An execute
  /// with a switch may read operands of either kernel. One that computes a part
  /// of its grid leaves the rest as it was.
  void computeBefore(uint32_t index) {
    const bundle::Operation *execute = program_->operations()->Get(index);
    const bundle::Kernel *kernel = kernelOf(target_, execute);
    if (isWhole(execute))
      for (uint32_t k = 0; k < kernel->outputs(); ++k)
        put(live_, piecesOf(place(execute->operands()->Get(k))), false);
    auto addReads = [&](const bundle::Operation *operation) {
      uint32_t k = kernelOf(target_, operation)->outputs();
      for (; k < operation->operands()->size(); ++k)
        put(live_, piecesOf(place(operation->operands()->Get(k))), true);
    };
    addReads(execute);
    if (const bundle::Operation *other = switches_.replacementOf(index))
      addReads(other);
  }

  /// Whether the execute computes all of its grid.
  bool isWhole(const bundle::Operation *execute) const {
    uint64_t tiles = kernelOf(target_, execute)->tiles();
    return execute->tile_begin() == 0 &&
           (tiles == 0 || execute->tile_end() == tiles);
  }

  /// With what is live behind the stretch: is it handed back?
  void verifyEnd(uint32_t index) {
    const bundle::Stretch *stretch = gpu_->stretches()->Get(index);
    putWrittenByParts(stretch);
    for (const bundle::Rows *rows : *stretch->out())
      put(handedOut_, piecesOf(hostPlace(rows)), true);
    const char *expected =
        stretch->kind() == bundle::StretchKind_Split
            ? "written by its executes and read later|it in `out` or written "
              "by a part"
            : "written by its executes and read later|it in `out`";
    for (uint32_t i = 0; i < stretch->count() && !isEntangled(); ++i) {
      const bundle::Operation *execute =
          program_->operations()->Get(stretch->first() + i);
      uint32_t outputs = kernelOf(target_, execute)->outputs();
      ++steps_;
      for (uint32_t k = 0; k < outputs; ++k) {
        expectNone({&overlay_, "stretch", index},
                   find(piecesOf(place(execute->operands()->Get(k))),
                        handedOut_, false, &live_),
                   expected);
      }
    }
    wipe(handedOut_);
  }

  /// Puts the bytes that parts leave behind. Where several executes of the
  /// stretch write a byte, a part of the last one has to.
  void putWrittenByParts(const bundle::Stretch *stretch) {
    const auto &parts = elementsOf(stretch->parts());
    PartFinder finder(program_, switches_, stretch);
    auto putPiece = [this](Place place) {
      put(handedOut_, piecesOf(place), true);
    };
    uint32_t next = stretch->first();
    for (uint32_t i = 0; i <= parts.size() && !isEntangled(); ++i) {
      bool isLast = i == parts.size();
      if (!isLast)
        (void)finder.find(parts.Get(i));
      uint32_t end =
          isLast ? stretch->first() + stretch->count() : finder.execute() + 1;
      for (; next < end && parts.size(); ++next) {
        const bundle::Operation *execute = program_->operations()->Get(next);
        uint32_t outputs =
            isWhole(execute) ? kernelOf(target_, execute)->outputs() : 0;
        for (uint32_t k = 0; k < outputs; ++k)
          put(handedOut_, piecesOf(place(execute->operands()->Get(k))), false);
      }
      if (!isLast)
        forEachWritten(parts.Get(i), putPiece);
    }
  }

  /// `live` holds the bytes that are live before the stretch.
  void verifyBegin(uint32_t index) {
    const bundle::Stretch *stretch = gpu_->stretches()->Get(index);
    Where where = {&overlay_, "stretch", index};
    wipe(defined_);
    wipe(written_);
    wipe(read_);
    for (uint32_t before : elementsOf(stretch->after())) {
      if (before < firstGpu_)
        continue;
      for (const bundle::Upload *upload :
           elementsOf(preparation(before - firstGpu_)->uploads()))
        if (!isEntangled())
          put(defined_, piecesOf(place(upload)), true);
    }
    forEach(&where, "in", stretch->in(), &Self::verifyIn);
    for (const bundle::Rows *rows : *stretch->in())
      put(defined_, piecesOf(hostPlace(rows)), true);
    forEach(&where, "out", stretch->out(), &Self::verifyHandedOut);
    forEach(&where, "part", stretch->parts(), &Self::verifyPart);
    forEach(&where, "dispatch", stretch->dispatches(), &Self::verifyDispatch);
    forEach(&where, "out", stretch->out(), &Self::verifyOut);
    wipe(handedOut_);
  }

  /// Rows that are copied in must be there, even if the GPU took over the
  /// layers before: a stretch hands back only bytes that executes read.
  void verifyIn(const Where &where, const bundle::Rows *rows) {
    Pieces device = piecesOf(devicePlace(rows));
    expectNone(where, find(piecesOf(hostPlace(rows)), live_, false),
               "not read from here on before it is written|what executes read");
    expectNone(where, find(device, defined_, true), "copied in twice|once");
    put(defined_, device, true);
  }

  void verifyHandedOut(const Where &where, const bundle::Rows *rows) {
    Pieces host = piecesOf(hostPlace(rows));
    uint32_t twice = find(host, handedOut_, true);
    uint32_t needed = find(host, live_, true);
    expectNone(where, std::min(twice, needed),
               needed < twice
                   ? "still needed as it was before the stretch|another place"
                   : "handed back twice|once");
    put(handedOut_, host, true);
  }

  /// The GPU may write the bytes of `out` at any time while the parts are
  /// computed. `in` is needed as it was before the stretch.
  void verifyPart(const Where &where, const bundle::Operation *part) {
    if (isEntangled())
      return;
    uint32_t outputs = kernelOf(target_, part)->outputs();
    for (uint32_t k = outputs; k < part->operands()->size(); ++k)
      expectNone(
          {&where, "operand", k},
          find(piecesOf(place(part->operands()->Get(k))), handedOut_, true),
          "read and handed back by the GPU|another place");
    auto expectOwn = [&](Place place) {
      Pieces pieces = piecesOf(place);
      expectNone(where, find(pieces, handedOut_, true),
                 "written and handed back by the GPU|one of both");
      expectNone(where, find(pieces, live_, true),
                 "written, which is still needed as it was before the stretch|"
                 "another place");
    };
    forEachWritten(part, expectOwn);
  }

  /// An operand of a boundary lies in two places, of which a device uses one: a
  /// rule must hold in both.
  void verifyDispatch(const Where &where, const bundle::Dispatch *dispatch) {
    uint32_t outputs = code_->pipelines()->Get(dispatch->pipeline())->written();
    if (dispatch->barrier()) {
      wipe(written_);
      wipe(read_);
    }
    // All are looked at before any counts as used.
    for (bool isUsed : {false, true})
      for (uint32_t k = 0; k < dispatch->operands()->size(); ++k) {
        bool isWritten = outputs >> k & 1;
        for (bool isHost : {false, true}) {
          auto use = [&](Place place) {
            Pieces pieces = piecesOf(place);
            if (!isUsed) {
              verifyUse({&where, "operand", k}, pieces, isWritten, isHost);
              return;
            }
            put(isWritten ? written_ : read_, pieces, true);
            if (isWritten)
              put(defined_, pieces, true);
          };
          forEachTouched(dispatch, k, isHost, use);
        }
      }
  }

  /// Checks an operand in one of its places.
  void verifyUse(const Where &where, Pieces pieces, bool isWritten,
                 bool isHost) {
    uint32_t hazard = find(pieces, written_, true);
    if (isWritten)
      hazard = std::min(hazard, find(pieces, read_, true));
    expectNone(
        where, hazard,
        "used by an earlier dispatch, one of both writing|a barrier between");
    if (!isWritten)
      expectNone(where, find(pieces, defined_, false),
                 "read|it to be copied in, uploaded or written before");
    else if (isHost)
      expectNone(where, find(pieces, handedOut_, false), "written|it in `out`");
  }

  void verifyOut(const Where &where, const bundle::Rows *rows) {
    for (Place place : {hostPlace(rows), devicePlace(rows)})
      expectNone(where, find(piecesOf(place), defined_, false),
                 "handed back|a dispatch to write it");
  }

  const bundle::GpuPreparation *preparation(uint32_t index) const {
    return gpu_->preparations()->Get(index);
  }
  /// Whether `after` names GPU preparation `index`.
  bool isAfter(const After *after, uint32_t index) const {
    for (uint32_t before : elementsOf(after))
      if (before == firstGpu_ + index)
        return true;
    return false;
  }

  /// Where the CPU has it.
  Place place(const bundle::Operand *operand, uint64_t offset,
              uint64_t size) const {
    uint32_t space = ArenaSpace;
    if (operand->space() == bundle::Space_Output)
      space = OutputSpace + operand->index();
    else if (!isIn(program_, operand, bundle::MemoryKind_Arena))
      return {};
    return placeIn(space, operand->offset() + offset, size);
  }
  Place place(const bundle::Operand *operand) const {
    return place(operand, 0, operand->size());
  }
  Place hostPlace(const bundle::Rows *rows) const {
    return place(gpu_->boundaries()->Get(rows->boundary())->host(),
                 rows->offset(), rows->bytes());
  }
  Place devicePlace(const bundle::Rows *rows) const {
    return placeIn(GpuArenaSpace,
                   gpu_->boundaries()->Get(rows->boundary())->device() +
                       rows->offset(),
                   rows->bytes());
  }
  Place hostPlace(const bundle::GpuOperand *operand) const {
    if (operand->space() != bundle::GpuSpace_Boundary)
      return {};
    return place(gpu_->boundaries()->Get(operand->index())->host(),
                 operand->offset(), operand->size());
  }
  Place devicePlace(const bundle::GpuOperand *operand) const {
    uint64_t base = 0;
    if (operand->space() == bundle::GpuSpace_Boundary)
      base = gpu_->boundaries()->Get(operand->index())->device();
    return placeIn(operand->space() == bundle::GpuSpace_Prepared
                       ? GpuPreparedSpace
                       : GpuArenaSpace,
                   base + operand->offset(), operand->size());
  }
  static Place place(const bundle::Upload *upload) {
    return placeIn(GpuPreparedSpace, upload->offset(), upload->size());
  }

  uint32_t pieceAt(uint64_t point) const {
    return static_cast<uint32_t>(
        std::lower_bound(points_.begin(), points_.begin() + numPoints_, point) -
        points_.begin());
  }
  Pieces piecesOf(Place place) const {
    if (place.begin == place.end)
      return {0, 0};
    return {pieceAt(place.begin), pieceAt(place.end)};
  }
  /// Bits of a word that belong to the pieces.
  static uint64_t maskOf(Pieces pieces, uint32_t word) {
    uint64_t mask = ~uint64_t(0);
    if (word == pieces.begin / 64)
      mask <<= pieces.begin % 64;
    if (word == (pieces.end - 1) / 64)
      mask &= ~uint64_t(0) >> (63 - (pieces.end - 1) % 64);
    return mask;
  }

  /// The steps of searches, for each place: sensible plans take a few.
  static constexpr uint64_t stepsPerPlace = 256;
  static constexpr uint64_t leastSteps = 1 << 16;
  uint64_t steps_ = 0, maxSteps_ = 0;
  /// From then on nothing is searched, and nothing found means anything.
  bool isEntangled() const { return steps_ > maxSteps_; }

  const bundle::Gpu *code_;
  const bundle::Target *target_;
  const bundle::Program *program_;
  const bundle::ProgramGpu *gpu_;
  uint32_t executes_, firstGpu_;
  Where root_, overlay_ = {&root_, "gpu"};

  SwitchTable switches_;
  Array<uint32_t> recordOf_; ///< of a stretch: the preparation, or `none`
  Array<uint32_t> makerOf_;  ///< of a pipeline: the preparation, or `none`
  Array<uint32_t> marked_;   ///< of a preparation: for which Record, and 1
  Array<uint32_t> firstEnd_; ///< of an execute: a stretch that ends before it
  Array<uint32_t> nextEnd_;  ///< of a stretch: one with the same end, or `none`

  Array<uint64_t> points_; ///< sorted, each once
  size_t numPoints_ = 0;
  // By piece.
  Bits live_;      ///< read later, before it is written
  Bits handedOut_; ///< `out` of the stretch
  Bits defined_;   ///< to the GPU
  Bits written_;   ///< since the last barrier
  Bits read_;      ///< the same
};

} // namespace

bool verifyFlow(const bundle::Bundle *bundle,
                const bundle::GpuOverlays *overlays,
                const bundle::Program *program, uint32_t number, Fault &fault) {
  return FlowVerifier(bundle, overlays, program, number, fault).verify();
}

} // namespace nnv12::artifact
