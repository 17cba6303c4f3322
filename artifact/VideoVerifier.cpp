//===- VideoVerifier.cpp - Checks the overlays for video ------------------===//
#include "artifact/Verifier.h"

#include "artifact/Compatibility.h"
#include "artifact/KernelChecks.h"
#include "artifact/Limits.h"
#include "artifact/MetadataBudget.h"
#include "artifact/OverlayChecks.h"
#include "artifact/ProgramView.h"
#include "artifact/Sizes.h"

#include <algorithm>
#include <cassert>
#include <cinttypes>

namespace nnv12::artifact {

namespace {

/// Whether frames cannot find an operand where the program has it: in buffers
/// of the caller.
bool mustMove(const bundle::Operand *operand) {
  return operand->space() == bundle::Space_Input ||
         operand->space() == bundle::Space_Output;
}

/// Whether frames can find an operand in the stream's arena, where it is moved,
/// or else where the program has it.
bool canBeFound(const bundle::Program *program, const bundle::Operand *operand,
                bool isMoved) {
  return mustMove(operand)
             ? isMoved
             : !isMoved || isIn(program, operand, bundle::MemoryKind_Arena);
}

class VideoChecks : public KernelChecks {
public:
  VideoChecks(const bundle::Bundle *bundle, const bundle::Program *program,
              uint32_t number, const bundle::ProgramVideo *video, Fault &fault)
      : KernelChecks(fault), bundle_(bundle), program_(program),
        target_(targetOf(bundle, program)), video_(video),
        root_{nullptr, "program", number} {}

  bool verify() {
    return hold([this] {
      if (video_->arena_size() > maxBytes)
        refuse(overlay_, "arena: found %" PRIu64 " bytes|at most 2^46",
               video_->arena_size());
      forEach(&overlay_, "kernel", video_->kernels(), &Self::verifyKernel);
      forEach(&overlay_, "set", video_->sets(), &Self::verifySet);
      expectCount("inputs", video_->inputs()->size(),
                  program_->inputs()->size());
      forEach(&overlay_, "input", video_->inputs(), &Self::verifyInput);
      expectCount("outputs", video_->outputs()->size(),
                  program_->outputs()->size());
      for (uint32_t i = 0; i < video_->outputs()->size(); ++i)
        expectPlace({&overlay_, "output", i}, video_->outputs()->Get(i),
                    program_->outputs()->Get(i));
      expectCount("executes", video_->executes()->size(),
                  numExecutes(program_));
      forEach(&overlay_, "execute", video_->executes(), &Self::verifyExecute);
      expectCount("switches", video_->switches()->size(),
                  numSwitches(program_));
      forEach(&overlay_, "switch", video_->switches(), &Self::verifySwitch);
      verifyTolerance("tolerance", video_->tolerance());
      verifyTolerance("input tolerance", video_->input_tolerance());
    });
  }

private:
  using Self = VideoChecks;

  void expectCount(const char *what, uint32_t found, uint32_t expected) {
    if (found != expected)
      refuse(overlay_, "%s: found %u|the program's %u", what, found, expected);
  }

  void expectPlace(const Where &where, uint64_t place, uint64_t size,
                   uint64_t alignment = 1) {
    if (!fits(place, size, video_->arena_size()) || place % alignment)
      refuse(where,
             "place: found %" PRIu64 " bytes at %" PRIu64
             "|a multiple of %" PRIu64 ", inside the arena's %" PRIu64,
             size, place, alignment, video_->arena_size());
  }

  /// The place of an input or an output, whose elements are aligned.
  void expectPlace(const Where &where, uint64_t place,
                   const bundle::Tensor *tensor) {
    expectPlace(where, place, byteSize(tensor), elementSize(tensor->type()));
  }

  /// The place of an operand. Kernels may count on its alignment in the
  /// program, and on that of the caller's elements.
  void expectPlace(const Where &where, uint64_t place,
                   const bundle::Operand *operand) {
    uint64_t bits = operand->offset() | memoryAlignment;
    if (mustMove(operand)) {
      const auto *tensors = operand->space() == bundle::Space_Input
                                ? program_->inputs()
                                : program_->outputs();
      bits |= elementSize(tensors->Get(operand->index())->type());
    }
    expectPlace(where, place, operand->size(), bits & (~bits + 1));
  }

  void verifyTolerance(const char *name, float found) {
    if (!(found >= 0 && found <= 1))
      refuse(overlay_, "%s: found %g|a number from 0 to 1", name,
             double(found));
  }

  void verifyKernel(const Where &where, const bundle::Kernel *kernel) {
    if (kernel->processor())
      refuse(where, "processor: found %u|0, the CPU", kernel->processor());
    expectGood(where, bundle_, target_, kernel);
  }

  void verifySet(const Where &where, const bundle::VideoSet *set) {
    uint64_t rows = set->rows(), columns = set->columns();
    if (rows == 0 || columns == 0 || rows > maxPixels / columns ||
        rows * columns > pixelsLeft_)
      refuse(where,
             "found %" PRIu64 " rows of %" PRIu64
             "|at least one pixel, and at most 2^26 of all sets",
             rows, columns);
    pixelsLeft_ -= rows * columns;
    for (const bundle::VideoRead *read : *set->reads()) {
      expect(where, "reads: set", read->set(), 0, where.index);
      verifyWindow(where, read->rows());
      verifyWindow(where, read->columns());
    }
  }

  void verifyWindow(const Where &where, const bundle::VideoWindow *window) {
    auto isOut = [](int64_t number) {
      return number < -int64_t(maxReach) || number > int64_t(maxReach);
    };
    if (window->den() == 0 || isOut(window->num()) || isOut(window->den()) ||
        isOut(window->low()) || isOut(window->high()))
      refuse(where,
             "reads: found a window of %u / %u, %d to %d|numbers up to 2^20, "
             "and a divisor that is not 0",
             window->num(), window->den(), window->low(), window->high());
  }

  void verifyInput(const Where &where, const bundle::VideoInput *input) {
    expect(where, "set", input->set(), 0, video_->sets()->size());
    const bundle::VideoSet *set = video_->sets()->Get(input->set());
    if (set->reads()->size())
      refuse(where, "set: found one that reads others|one that reads none");
    const bundle::Tensor *tensor = program_->inputs()->Get(where.index);
    expectPlace(where, input->place(), tensor);
    verifyPixels(where, input->pixels(), set, byteSize(tensor));
  }

  /// Pixels of a tensor of `size` bytes.
  void verifyPixels(const Where &where, const bundle::PixelLayout *pixels,
                    const bundle::VideoSet *set, uint64_t size) {
    uint64_t count = uint64_t(set->rows()) * set->columns(),
             pieces = pixels->pieces(), piece = pixels->piece();
    // All of them together take as long to compare as the tensor.
    bool isAll =
        size % count == 0 && fits(0, size / count, maxPixelBytes) &&
        (piece ? size / count % piece == 0 && size / count / piece == pieces
               : size == 0 && pieces);
    if (!isAll)
      refuse(where,
             "pixels: found %" PRIu64 " pieces of %" PRIu64
             " bytes in each of %" PRIu64 "|the tensor's %" PRIu64
             ", each once, at most 2^32-1 in a pixel",
             pieces, piece, count, size);
    // The last byte, as long as it is inside.
    uint64_t end = piece;
    auto add = [&](uint64_t number, uint64_t distance) {
      if (distance > maxBytes || (number > 1 && distance > size / (number - 1)))
        end = ~uint64_t(0);
      else if (end <= size)
        end += (number - 1) * distance;
    };
    add(set->rows(), pixels->row());
    add(set->columns(), pixels->column());
    add(pieces, pixels->distance());
    if (end > size)
      refuse(where,
             "pixels: found them outside of the tensor's %" PRIu64 " bytes",
             size);
  }

  void verifyExecute(const Where &where, const bundle::VideoExecute *execute) {
    const bundle::Operation *operation =
        program_->operations()->Get(where.index);
    const auto *operands = operation->operands();
    if (execute->places()->size() != operands->size())
      refuse(where, "places: found %u|one for each of %u operands",
             execute->places()->size(), operands->size());
    for (uint32_t i = 0; i < operands->size(); ++i) {
      bool isMoved = execute->places()->Get(i) != inProgram;
      if (!canBeFound(program_, operands->Get(i), isMoved))
        refuse({&where, "operand", i}, "place: found %s",
               isMoved ? "one for weights|none" : "none|one in the arena");
      if (isMoved)
        expectPlace({&where, "operand", i}, execute->places()->Get(i),
                    operands->Get(i));
    }
    // Those before it are computed by then.
    expect(where, "set", execute->set(), lastSet_, video_->sets()->size());
    lastSet_ = execute->set();
    verifyPart(where, execute->part(), operation, execute->set());
    if (execute->check())
      verifyCheck({&where, "check point"}, execute, operation);
  }

  /// A frame computes the result at the check point's place, compares its
  /// floats with those at the result's own, and copies pixels there.
  void verifyCheck(const Where &where, const bundle::VideoExecute *execute,
                   const bundle::Operation *operation) {
    const bundle::VideoCheck *check = execute->check();
    const bundle::Kernel *kernel = kernelOf(target_, operation);
    if (kernel->outputs() != 1)
      refuse(where, "found %u results|one", kernel->outputs());
    const bundle::Operand *result = operation->operands()->Get(0);
    uint64_t place = execute->places()->Get(0), size = result->size();
    if (place == inProgram || size == 0)
      refuse(where, "found a result %s|one in the arena",
             size ? "that does not move" : "of 0 bytes");
    expectPlace(where, check->place(), result);
    if (std::max(place, check->place()) - std::min(place, check->place()) <
        size)
      refuse(where,
             "place: found %" PRIu64 "|one beside the result's %" PRIu64
             " bytes at %" PRIu64,
             check->place(), size, place);
    const bundle::PixelLayout *pixels = check->pixels();
    for (uint64_t number :
         {check->place(), place, pixels->row(), pixels->column(),
          pixels->distance(), pixels->piece()})
      if (number % sizeof(float))
        refuse(where, "found %" PRIu64 " bytes|a multiple of 4, of floats",
               number);
    verifyPixels(where, pixels, video_->sets()->Get(execute->set()), size);
  }

  /// The replacement's results and operands lie where the execute's do.
  void verifySwitch(const Where &where, const bundle::VideoPart *part) {
    const bundle::Switch *change = program_->switches()->Get(where.index);
    const bundle::Operation *replacement = change->replacement();
    const bundle::VideoExecute *execute =
        video_->executes()->Get(change->operation());
    const auto *operands = replacement->operands();
    if (operands->size() != execute->places()->size())
      refuse(where, "operands: found %u|the execute's %u", operands->size(),
             execute->places()->size());
    for (uint32_t i = 0; i < operands->size(); ++i) {
      bool isMoved = execute->places()->Get(i) != inProgram;
      if (!canBeFound(program_, operands->Get(i), isMoved))
        refuse({&where, "operand", i}, "found another space|the execute's");
      if (isMoved)
        expectPlace({&where, "operand", i}, execute->places()->Get(i),
                    operands->Get(i));
    }
    verifyPart(where, part, replacement, execute->set());
    if (execute->check())
      verifyCheck({&where, "check point"}, execute, replacement);
  }

  void verifyPart(const Where &where, const bundle::VideoPart *part,
                  const bundle::Operation *operation, uint32_t set) {
    const bundle::Kernel *kernel = kernelOf(target_, operation);
    if (part->kernel() != ownKernel) {
      expect(where, "kernel", part->kernel(), 0, video_->kernels()->size());
      const bundle::Kernel *own = kernel;
      kernel = video_->kernels()->Get(part->kernel());
      if (kernel->operands() != own->operands() ||
          kernel->outputs() != own->outputs())
        refuse(where, "kernel: found %u operands, %u written|the execute's",
               kernel->operands(), kernel->outputs());
    }
    bundle::VideoTiles tiles = part->tiles();
    if (tiles == bundle::VideoTiles_All)
      return;
    const auto &maps = elementsOf(kernel->maps());
    if (maps.size() == 0 || maps.Get(0)->parts()->size() != 1)
      refuse(where, "tiles: found a kernel without one part of boxes|one part");
    const auto *axes = maps.Get(0)->axes();
    const bundle::TilePart *box = maps.Get(0)->parts()->Get(0);
    auto expectAxis = [&](const char *name, uint32_t axis, uint64_t extent) {
      expect(where, name, axis, 0, axes->size());
      if (axes->Get(axis)->extent() != extent)
        refuse(where, "%s: found an extent of %" PRIu64 "|%" PRIu64, name,
               axes->Get(axis)->extent(), extent);
      if (box->lo()->Get(axis) || box->hi()->Get(axis) != extent)
        refuse(where, "%s: found a part of it in the kernel's boxes|all of it",
               name);
      // Else each of its positions would count as a tile.
      auto isAlong = [axis](const bundle::TileCut *cut) {
        return cut->axis() == axis;
      };
      if (std::none_of(box->cuts()->begin(), box->cuts()->end(), isAlong))
        refuse(where, "%s: found no cut of the kernel's boxes|one", name);
    };
    const bundle::VideoSet *pixels = video_->sets()->Get(set);
    uint64_t rows = pixels->rows(), columns = pixels->columns();
    expectAxis("row axis", part->row_axis(),
               tiles == bundle::VideoTiles_Runs ? rows * columns : rows);
    if (tiles == bundle::VideoTiles_Cells) {
      expectAxis("column axis", part->column_axis(), columns);
      if (part->column_axis() == part->row_axis())
        refuse(where, "column axis: found %u, that of rows|another",
               part->column_axis());
    }
    // A part of an operation's grid would leave out some of its pixels.
    if (part->kernel() == ownKernel &&
        (operation->tile_begin() || operation->tile_end() != kernel->tiles()))
      refuse(where, "tiles: found a part of the kernel's grid|all of it");
  }

  static constexpr uint64_t maxPixelBytes = ~uint32_t(0);
  static constexpr uint64_t inProgram = ~uint64_t(0);
  static constexpr uint32_t ownKernel = ~uint32_t(0);

  const bundle::Bundle *bundle_;
  const bundle::Program *program_;
  const bundle::Target *target_;
  const bundle::ProgramVideo *video_;
  Where root_, overlay_ = {&root_, "video"};
  uint64_t pixelsLeft_ = maxPixels;
  uint32_t lastSet_ = 0; ///< of the execute before
};

} // namespace

const bundle::VideoOverlays *verifyVideo(const bundle::Bundle *bundle,
                                         uint32_t segment, const void *bytes,
                                         Fault &fault) {
  assert(reinterpret_cast<uintptr_t>(bytes) % 8 == 0 &&
         "FlatBuffers are aligned");
  auto *buffer = static_cast<const uint8_t *>(bytes);
  if (!verifyVideoBuffer(buffer, bundle->segments()->Get(segment)->size(),
                         fault))
    return nullptr;
  auto *overlays = flatbuffers::GetRoot<bundle::VideoOverlays>(buffer);
  auto check = [&](const bundle::Program *program, uint32_t number) {
    Fault why;
    return !isUnderstood(bundle, overlays, program, number, why) ||
           VideoChecks(bundle, program, number, videoOf(overlays, program),
                       fault)
               .verify();
  };
  bool isGood =
      checkOverlays(bundle, bundle::OverlayKind_Video,
                    overlays->programs()->size(), "video", fault, check);
  return isGood ? overlays : nullptr;
}

bool verifyVideoIn(const bundle::Bundle *bundle, const void *image,
                   Fault &fault) {
  return checkOverlayIn(bundle, videoOverlayIn(bundle), image, fault,
                        [&](uint32_t segment, const uint8_t *bytes) {
                          return verifyVideo(bundle, segment, bytes, fault);
                        });
}

} // namespace nnv12::artifact
