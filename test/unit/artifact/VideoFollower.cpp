//===- VideoFollower.cpp - Addresses of an overlay for video --------------===//
#include "test/unit/artifact/VideoFollower.h"

#include "artifact/ProgramView.h"
#include "artifact/Sizes.h"

#include <algorithm>
#include <cstdint>

namespace nnv12::test {

namespace {

__extension__ typedef unsigned __int128 Wide;

constexpr uint64_t inProgram = ~uint64_t(0);
constexpr uint32_t ownKernel = ~uint32_t(0);

/// Counts along an axis, as a session reads them from a kernel's cuts.
struct Line {
  uint32_t size = 1, count = 1;
};

class Follower {
public:
  Follower(const bundle::Bundle *bundle, const bundle::Program *program,
           const bundle::ProgramVideo *video)
      : program(program), video(video),
        target(artifact::targetOf(bundle, program)),
        code(bundle->segments()->Get(artifact::cpuOf(target)->code())->size()) {
  }

  std::string follow() {
    for (const bundle::VideoSet *set : *video->sets()) {
      pixels += uint64_t(set->rows()) * set->columns();
      mostPixels = std::max(mostPixels, uint64_t(set->rows()) * set->columns());
    }
    expect(pixels <= uint64_t(1) << 26, "sets: bytes");
    for (float number : {video->tolerance(), video->input_tolerance()})
      expect(number >= 0 && number <= 1, "tolerance");
    for (uint32_t i = 0; i < video->executes()->size(); ++i)
      measure(video->executes()->Get(i)->part(), program->operations()->Get(i));
    for (uint32_t i = 0; i < video->switches()->size(); ++i)
      measure(video->switches()->Get(i),
              program->switches()->Get(i)->replacement());
    for (uint32_t i = 0; i < video->sets()->size(); ++i)
      followSet(i);
    for (uint32_t i = 0; i < program->inputs()->size(); ++i)
      followInput(video->inputs()->Get(i), program->inputs()->Get(i));
    for (uint32_t i = 0; i < program->outputs()->size(); ++i)
      followTensor(video->outputs()->Get(i), program->outputs()->Get(i));
    for (uint32_t i = 0; i < artifact::numExecutes(program); ++i)
      followExecute(i);
    for (uint32_t i = 0; i < artifact::numSwitches(program); ++i) {
      const bundle::Switch *change = program->switches()->Get(i);
      const auto *execute = video->executes()->Get(change->operation());
      followOperands(execute, change->replacement());
      followPart(video->switches()->Get(i), change->replacement(),
                 execute->set());
      followCheck(execute, change->replacement());
    }
    return wrong;
  }

private:
  void expect(bool isGood, const char *what) {
    if (!isGood && wrong.empty())
      wrong = what;
  }
  void expectPlace(uint64_t place, uint64_t size, const char *what) {
    expect(Wide(place) + size <= video->arena_size(), what);
  }

  /// An input or an output. Its elements are read as such.
  void followTensor(uint64_t place, const bundle::Tensor *tensor) {
    expectPlace(place, artifact::byteSize(tensor), "tensor: place");
    expect(place % artifact::elementSize(tensor->type()) == 0,
           "tensor: alignment");
  }

  const bundle::Kernel *kernelOf(const bundle::VideoPart *part,
                                 const bundle::Operation *operation) const {
    return part->kernel() == ownKernel
               ? target->kernels()->Get(operation->kernel())
               : video->kernels()->Get(part->kernel());
  }

  /// The room for lists of tiles.
  void measure(const bundle::VideoPart *part,
               const bundle::Operation *operation) {
    if (part->tiles() != bundle::VideoTiles_All)
      mostTiles = std::max(mostTiles, kernelOf(part, operation)->tiles());
  }

  void followSet(uint32_t number) {
    const bundle::VideoSet *set = video->sets()->Get(number);
    expect(set->rows() && set->columns(), "set: no pixels");
    for (const bundle::VideoRead *read : *set->reads()) {
      expect(read->set() < number, "set: reads one that is not there yet");
      for (const bundle::VideoWindow *window : {read->rows(), read->columns()})
        // The numbers of pixels times those stay far from 2^63.
        expect(window->den() && window->num() <= 1 << 20 &&
                   window->den() <= 1 << 20 && window->low() >= -(1 << 20) &&
                   window->high() >= -(1 << 20) && window->low() <= 1 << 20 &&
                   window->high() <= 1 << 20,
               "set: window");
    }
  }

  void followInput(const bundle::VideoInput *input,
                   const bundle::Tensor *tensor) {
    uint64_t size = artifact::byteSize(tensor);
    followTensor(input->place(), tensor);
    expect(input->set() < video->sets()->size(), "input: set");
    followPixels(input->pixels(), input->set(), size);
  }

  void followPixels(const bundle::PixelLayout *layout, uint32_t number,
                    uint64_t size) {
    const bundle::VideoSet *set = video->sets()->Get(number);
    Wide bytes = Wide(layout->pieces()) * layout->piece();
    expect(bytes <= ~uint32_t(0), "pixels: bytes of one");
    if (!bytes)
      return;
    // The last byte, and the pointer behind the last 64 columns.
    Wide end = Wide(set->rows() - 1) * layout->row() +
               Wide(set->columns() - 1) * layout->column() +
               Wide(layout->pieces() - 1) * layout->distance() +
               layout->piece();
    expect(end <= size, "pixels: outside");
    expect(Wide(layout->column()) * 64 < Wide(1) << 56, "pixels: columns");
    expect(bytes * set->rows() * set->columns() <= size, "pixels: time");
  }

  /// Floats of all pixels at a check point, and at the result's own place.
  void followCheck(const bundle::VideoExecute *execute,
                   const bundle::Operation *operation) {
    const bundle::VideoCheck *check = execute->check();
    if (!check || !wrong.empty())
      return;
    const bundle::PixelLayout *layout = check->pixels();
    uint64_t place = check->place(), kept = execute->places()->Get(0),
             size = operation->operands()->Get(0)->size();
    expect(target->kernels()->Get(operation->kernel())->outputs() == 1,
           "check point: other results");
    expectPlace(place, size, "check point: place");
    expectPlace(kept, size, "check point: the result's place");
    expect(Wide(place) + size <= kept || Wide(kept) + size <= place,
           "check point: on top of the result");
    for (uint64_t number : {place, kept, layout->row(), layout->column(),
                            layout->distance(), layout->piece()})
      expect(number % alignof(float) == 0, "check point: alignment");
    for (uint64_t bit = 1; bit <= 32; bit *= 2)
      if (operation->operands()->Get(0)->space() == bundle::Space_Memory)
        expect(operation->operands()->Get(0)->offset() % (2 * bit) ||
                   place % (2 * bit) == 0,
               "check point: the kernel's alignment");
    expect(layout->pieces() && layout->piece(), "check point: no channels");
    followPixels(layout, execute->set(), size);
  }

  void followOperands(const bundle::VideoExecute *execute,
                      const bundle::Operation *operation) {
    expect(execute->places()->size() == operation->operands()->size(),
           "operands: count");
    for (uint32_t i = 0; i < execute->places()->size(); ++i) {
      const bundle::Operand *operand = operation->operands()->Get(i);
      uint64_t place = execute->places()->Get(i);
      bool isWeights =
          operand->space() == bundle::Space_Weights ||
          artifact::isIn(program, operand, bundle::MemoryKind_Prepared);
      bool isInArena =
          artifact::isIn(program, operand, bundle::MemoryKind_Arena);
      expect(isInArena || isWeights == (place == inProgram), "operand: space");
      if (place == inProgram)
        continue;
      expectPlace(place, operand->size(), "operand: place");
      for (uint64_t bit = 1; bit <= 32; bit *= 2)
        if (operand->space() == bundle::Space_Memory)
          expect(operand->offset() % (2 * bit) || place % (2 * bit) == 0,
                 "operand: alignment");
    }
  }

  void followExecute(uint32_t number) {
    const bundle::VideoExecute *execute = video->executes()->Get(number);
    const bundle::Operation *operation = program->operations()->Get(number);
    followOperands(execute, operation);
    expect(execute->set() < video->sets()->size(), "execute: set");
    expect(number == 0 ||
               execute->set() >= video->executes()->Get(number - 1)->set(),
           "execute: a set before that of another one");
    followPart(execute->part(), operation, execute->set());
    followCheck(execute, operation);
  }

  void followPart(const bundle::VideoPart *part,
                  const bundle::Operation *operation, uint32_t number) {
    const bundle::Kernel *own = target->kernels()->Get(operation->kernel());
    expect(part->kernel() == ownKernel ||
               part->kernel() < video->kernels()->size(),
           "part: kernel");
    expect(part->tiles() <= bundle::VideoTiles_Runs, "part: tiles");
    if (!wrong.empty())
      return;
    const bundle::Kernel *kernel = kernelOf(part, operation);
    expect(kernel->operands() == own->operands() && kernel->entry() < code &&
               kernel->processor() == 0,
           "part: kernel's facts");
    if (part->tiles() == bundle::VideoTiles_All || !wrong.empty())
      return;
    const bundle::TileMap *map = kernel->maps()->Get(0);
    const auto *cuts = map->parts()->Get(0)->cuts();
    // As a session reads it: an axis without a cut has one line of one.
    Line rows, columns;
    for (const bundle::TileCut *cut : *cuts) {
      Line line = {uint32_t(std::min<uint64_t>(cut->size(), 1 << 26)),
                   uint32_t(cut->count())};
      if (cut->axis() == part->row_axis())
        rows = line;
      else if (part->tiles() == bundle::VideoTiles_Cells &&
               cut->axis() == part->column_axis())
        columns = line;
    }
    const bundle::VideoSet *set = video->sets()->Get(number);
    uint64_t height = set->rows(), width = set->columns();
    if (part->tiles() == bundle::VideoTiles_Runs)
      height *= std::exchange(width, 1);
    if (part->tiles() != bundle::VideoTiles_Cells)
      columns.size = uint32_t(width);
    // All rectangles of the plane are dirty in some frame.
    uint64_t listed = ((height - 1) / rows.size + 1) *
                      ((width - 1) / columns.size + 1),
             grid = uint64_t(rows.count) * columns.count;
    expect(listed <= grid, "part: lists a rectangle that is not there");
    expect(std::max(listed, grid) <= std::min(mostTiles, mostPixels),
           "part: more rectangles than there is room for");
    uint64_t tiles = 1;
    for (const bundle::TileCut *cut : *cuts)
      tiles *= cut->count();
    expect(tiles == kernel->tiles(), "part: tiles outside of the grid");
    if (part->kernel() == ownKernel)
      expect(operation->tile_begin() == 0 && operation->tile_end() == tiles,
             "part: tiles of another operation");
    // Each tile computes the pixels that it is listed for.
    for (uint64_t tile = 0; tile < tiles && wrong.empty(); ++tile) {
      uint64_t rest = tile;
      for (uint32_t i = cuts->size(); i-- > 0;) {
        const bundle::TileCut *cut = cuts->Get(i);
        uint64_t begin = rest % cut->count() * cut->size();
        rest /= cut->count();
        if (cut->axis() == part->row_axis())
          expect(begin < height, "part: a tile behind the last row");
        else if (part->tiles() == bundle::VideoTiles_Cells &&
                 cut->axis() == part->column_axis())
          expect(begin < width, "part: a tile behind the last column");
      }
    }
  }

  const bundle::Program *program;
  const bundle::ProgramVideo *video;
  const bundle::Target *target;
  const uint64_t code;
  uint64_t pixels = 0, mostPixels = 0, mostTiles = 0;
  std::string wrong;
};

} // namespace

std::string findOutside(const bundle::Bundle *bundle,
                        const bundle::Program *program,
                        const bundle::ProgramVideo *video) {
  return Follower(bundle, program, video).follow();
}

} // namespace nnv12::test
