//===- WriterTest.cpp - Writing bundles -----------------------------------===//
#include "artifact/Writer.h"

#include "artifact/AtomicFile.h"
#include "artifact/Compatibility.h"
#include "artifact/Header.h"
#include "artifact/KeyFile.h"
#include "artifact/ProgramView.h"
#include "artifact/Sodium.h"
#include "artifact/Verifier.h"
#include "test/unit/sample/GpuSample.h"
#include "test/unit/sample/SplitSample.h"
#include "test/unit/sample/StoredBundle.h"
#include "test/unit/sample/VideoSample.h"

#include <csignal>
#include <filesystem>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace nnv12;
using namespace nnv12::artifact;
using namespace nnv12::test;

static size_t countFiles(const std::string &folder) {
  size_t count = 0;
  for (auto &entry : std::filesystem::directory_iterator(folder)) {
    (void)entry;
    ++count;
  }
  return count;
}

TEST(Writer, RoundTrip) {
  TemporaryFolder folder;
  Sample sample;
  ASSERT_EQ(writeBundle(sample.bundle, folder.file("a.nnv")), "");
  AlignedCopy image(readFile(folder.file("a.nnv")));
  Fault fault;
  const bundle::Bundle *read = verifyBundle(image.data, image.size, fault);
  ASSERT_TRUE(read) << fault.text;
  EXPECT_EQ(read->model()->str(), "sample");
  EXPECT_EQ(read->programs()->Get(2)->inputs()->size(), 1u);
  EXPECT_EQ(read->programs()->Get(2)->inputs()->Get(0)->name()->str(), "x");
  EXPECT_EQ(read->programs()->Get(2)->inputs()->Get(0)->shape()->Get(1),
            int64_t(tileSize));
  EXPECT_EQ(read->programs()->size(), 3u);
  const bundle::Program *program = read->programs()->Get(1);
  EXPECT_EQ(read->targets()->size(), 3u);
  const bundle::Target *target = targetOf(read, program);
  EXPECT_EQ(target->name()->str(), "x86-64");
  EXPECT_EQ(target->revision()->str(), "sample 1");
  EXPECT_EQ(target->processors()->size(), 1u);
  EXPECT_EQ(cpuOf(target)->architecture()->str(), "x86-64");
  EXPECT_EQ(cpuOf(target)->features()->Get(0)->name()->str(), "sse2");
  EXPECT_EQ(program->memories()->Get(0)->size(), 2 * 3 * tileSize * 4);
  EXPECT_EQ(program->memories()->Get(1)->kind(), bundle::MemoryKind_Prepared);
  EXPECT_EQ(target->kernels()->Get(2)->scratch(), 64u);
  EXPECT_EQ(program->operations()->Get(1)->operands()->Get(2)->space(),
            bundle::Space_Weights);
  for (uint32_t i = 0; i < read->segments()->size(); ++i)
    EXPECT_TRUE(verifySegment(
        read, i, image.data + read->segments()->Get(i)->offset(), fault))
        << fault.text;
}

TEST(Writer, FactsOfKernels) {
  TemporaryFolder folder;
  Sample sample;
  ASSERT_EQ(writeBundle(sample.bundle, folder.file("a.nnv")), "");
  AlignedCopy image(readFile(folder.file("a.nnv")));
  Fault fault;
  const bundle::Bundle *read = verifyBundle(image.data, image.size, fault);
  ASSERT_TRUE(read) << fault.text;
  for (uint32_t i = 0; i < 3; ++i)
    for (uint32_t k = 0; k < 3; ++k) {
      const Kernel &source = sample.bundle.programs[i].kernels[k];
      const bundle::Kernel *kernel = read->targets()->Get(i)->kernels()->Get(k);
      EXPECT_EQ(kernel->tiles(), 3u);
      EXPECT_EQ(kernel->routine()->str(), source.routine);
      EXPECT_EQ(kernel->multiply_adds(), source.multiplyAdds);
      EXPECT_EQ(kernel->bytes(), source.bytes);
      EXPECT_EQ(kernel->key()->str(), source.key);
      EXPECT_EQ(kernel->key()->size(), 32u);
      EXPECT_EQ(std::vector<uint8_t>(kernel->fingerprint()->begin(),
                                     kernel->fingerprint()->end()),
                source.fingerprint);
      ASSERT_EQ(kernel->maps()->size(), 1u);
      const bundle::TileMap *map = kernel->maps()->Get(0);
      EXPECT_EQ(map->axes()->Get(0)->extent(), 3 * tileSize);
      EXPECT_EQ(map->axes()->Get(0)->stride(), 1u);
      const bundle::TilePart *part = map->parts()->Get(0);
      EXPECT_EQ(part->lo()->Get(0), 0u);
      EXPECT_EQ(part->hi()->Get(0), 3 * tileSize);
      EXPECT_EQ(part->cuts()->Get(0)->axis(), 0u);
      EXPECT_EQ(part->cuts()->Get(0)->count(), 3u);
      EXPECT_EQ(part->cuts()->Get(0)->size(), tileSize);
    }
}

/// In the file executes and preparations are numbered together.
TEST(Writer, NumbersOperationsInOneGo) {
  TemporaryFolder folder;
  PlannedSample sample(3, 3, 2);
  Program &source = sample.bundle.programs[0];
  source.operations[1].after.push_back({LaneKind::Execute, 0});
  source.operations[0].tileBegin = 1;
  source.operations[0].tiles = 2;
  source.preparations[3].lastReader = true;
  ASSERT_EQ(writeBundle(sample.bundle, folder.file("a.nnv")), "");
  AlignedCopy image(readFile(folder.file("a.nnv")));
  Fault fault;
  const bundle::Bundle *read = verifyBundle(image.data, image.size, fault);
  ASSERT_TRUE(read) << fault.text;
  const bundle::Program *program = read->programs()->Get(0);
  auto numbers = [](const flatbuffers::Vector<uint32_t> *list) {
    return std::vector<uint32_t>(list->begin(), list->end());
  };
  using Numbers = std::vector<uint32_t>;
  const auto *operations = program->operations();
  EXPECT_EQ(numExecutes(program), 5u);
  EXPECT_EQ(operations->size(), 13u);
  EXPECT_EQ(operations->Get(0)->tile_begin(), 1u);
  EXPECT_EQ(operations->Get(0)->tile_end(), 3u);
  EXPECT_EQ(operations->Get(1)->live_arena(), 2 * 3 * tileSize * 4);
  EXPECT_EQ(numbers(operations->Get(1)->after()), (Numbers{7, 0}));
  EXPECT_EQ(numbers(operations->Get(7)->after()), (Numbers{6}));
  EXPECT_FALSE(operations->Get(6)->last_reader());
  EXPECT_TRUE(operations->Get(8)->last_reader());
  EXPECT_EQ(program->switches()->Get(0)->operation(), 1u);
  EXPECT_EQ(numbers(program->switches()->Get(0)->replacement()->after()),
            (Numbers{8}));
  EXPECT_EQ(numbers(program->lanes()->Get(0)->queue()),
            (Numbers{5, 0, 1, 10, 2, 3, 4}));
  EXPECT_EQ(numbers(program->lanes()->Get(0)->background()), (Numbers{8}));
}

TEST(Writer, SameBytesEachTime) {
  TemporaryFolder folder;
  Sample one, two;
  ASSERT_EQ(writeBundle(one.bundle, folder.file("a.nnv")), "");
  ASSERT_EQ(writeBundle(two.bundle, folder.file("b.nnv")), "");
  EXPECT_EQ(readFile(folder.file("a.nnv")), readFile(folder.file("b.nnv")));
}

TEST(Writer, Overlay) {
  TemporaryFolder folder;
  GpuSample sample;
  ASSERT_EQ(writeBundle(sample.bundle, folder.file("a.nnv")), "");
  AlignedCopy image(readFile(folder.file("a.nnv")));
  Fault fault;
  const bundle::Bundle *read = verifyBundle(image.data, image.size, fault);
  ASSERT_TRUE(read) << fault.text;
  const bundle::GpuOverlays *overlays = gpuOverlaysIn(read, image.data);
  const bundle::Gpu *tables = overlays->gpu();
  const bundle::GpuModule *module = tables->modules()->Get(1);
  EXPECT_EQ(module->name()->str(), "sample_multiply");
  const Segment::Piece &piece = sample.bundle.segments[3].pieces[1];
  const bundle::Segment *code = read->segments()->Get(tables->code());
  EXPECT_EQ(code->kind(), bundle::SegmentKind_Spirv);
  EXPECT_EQ(module->words() * sizeof(uint32_t), piece.size);
  EXPECT_EQ(memcmp(image.data + code->offset() + module->offset(), piece.data,
                   piece.size),
            0);
  EXPECT_EQ(tables->pipelines()->Get(1)->local()->x(), tileSize);
  const bundle::Program *program = read->programs()->Get(1);
  EXPECT_EQ(program->memories()->Get(0)->alignment(), gpuAlignment);
  EXPECT_EQ(program->memories()->Get(1)->alignment(), memoryAlignment);
  const bundle::ProgramGpu *gpu = overlayOf(overlays, program);
  EXPECT_EQ(gpu->memories()->Get(0)->processor(), 1u);
  EXPECT_EQ(gpu->memories()->Get(0)->size(), 1280u);
  EXPECT_EQ(gpu->memories()->Get(1)->kind(), bundle::MemoryKind_Prepared);
  EXPECT_EQ(gpu->boundaries()->Get(1)->device(), 256u);
  // Behind the program's 13 operations.
  auto numbers = [](const flatbuffers::Vector<uint32_t> *list) {
    return std::vector<uint32_t>(list->begin(), list->end());
  };
  EXPECT_EQ(numbers(gpu->preparations()->Get(3)->after()),
            (std::vector<uint32_t>{13, 7}));
  EXPECT_EQ(numbers(gpu->lanes()->Get(0)->queue()),
            (std::vector<uint32_t>{13, 14, 19, 18}));
  const bundle::Stretch *stretch = gpu->stretches()->Get(1);
  EXPECT_EQ(stretch->first() + stretch->count(), 2u);
  EXPECT_EQ(numbers(stretch->after()), (std::vector<uint32_t>{19, 16}));
  const bundle::GpuOperand *operand =
      stretch->dispatches()->Get(1)->operands()->Get(0);
  EXPECT_EQ(operand->space(), bundle::GpuSpace_Boundary);
  EXPECT_EQ(operand->index(), 1u);
  EXPECT_EQ(stretch->dispatches()->Get(1)->tile_begin(), 0u);
  EXPECT_EQ(stretch->dispatches()->Get(1)->tile_end(),
            stretch->dispatches()->Get(1)->groups()->x());
  // All that is known without them.
  ASSERT_EQ(program->overlays()->size(), 1u);
  EXPECT_EQ(program->overlays()->Get(0)->kind(), bundle::OverlayKind_Gpu);
  EXPECT_EQ(program->overlays()->Get(0)->segment(),
            read->segments()->size() - 1);
  const bundle::OverlayHead *head = program->overlays()->Get(0)->head();
  EXPECT_EQ(head->index(), 1u);
  EXPECT_EQ(head->start(), bundle::OverlayStart_AfterFirst);
  const bundle::Processor *processor =
      targetOf(read, program)->processors()->Get(head->processor());
  EXPECT_EQ(processor->kind(), bundle::ProcessorKind_Gpu);
  EXPECT_EQ(processor->architecture()->str(), "spirv");
  EXPECT_EQ(processor->features()->size(), 0u);
  EXPECT_EQ(processor->code(), tables->code());
  uint32_t cold = 0, warm = 0;
  for (const bundle::Stretch *each : *gpu->stretches())
    cold += each->cold() ? 1 + each->dispatches()->size() : 0;
  for (uint32_t each : *gpu->warm())
    warm += 1 + gpu->stretches()->Get(each)->dispatches()->size();
  EXPECT_GT(warm, 0u);
  EXPECT_EQ(head->cold_records(), cold);
  EXPECT_EQ(head->warm_records(), warm);
}

/// Each target has an overlay of its own.
TEST(Writer, OverlaysForVideo) {
  TemporaryFolder folder;
  VideoSample sample;
  sample.bundle.programs.erase(sample.bundle.programs.begin());
  ASSERT_EQ(sample.bundle.programs.size(), 2u);
  // So that each number is another one.
  for (uint32_t p : {0, 1}) {
    ProgramVideo &video = *sample.bundle.programs[p].video;
    video.arenaSize += 64 * p;
    video.sets[2].reads[0].rows = {2, 3, -4, int32_t(5 + p)};
    video.sets[2].reads[0].columns = {6, 7, -8, 9};
    video.executes[2].part.tiles = VideoTiles::Rows;
    video.executes[1].check->place = 1280 + 256 * p;
    video.tolerance = 0.5F;
    video.refresh = 11 + p;
    video.reuse = p ? VideoReuse::Exact : VideoReuse::Bounded;
  }
  ASSERT_EQ(writeBundle(sample.bundle, folder.file("a.nnv")), "");
  AlignedCopy image(readFile(folder.file("a.nnv")));
  Fault fault;
  const bundle::Bundle *read = verifyBundle(image.data, image.size, fault);
  ASSERT_TRUE(read) << fault.text;
  auto isSame = [](const bundle::VideoWindow *a, const VideoWindow &b) {
    return a->num() == b.num && a->den() == b.den && a->low() == b.low &&
           a->high() == b.high;
  };
  auto expectPart = [](const bundle::VideoPart *a, const VideoPart &b) {
    EXPECT_EQ(a->tiles(), bundle::VideoTiles(b.tiles));
    EXPECT_EQ(a->row_axis(), b.rowAxis);
    EXPECT_EQ(a->column_axis(), b.columnAxis);
    EXPECT_EQ(a->kernel(), b.kernel);
  };
  auto expectPixels = [](const bundle::PixelLayout *a) {
    EXPECT_EQ(a->row(), 128u);
    EXPECT_EQ(a->column(), 4u);
    EXPECT_EQ(a->pieces(), 1u);
    EXPECT_EQ(a->distance(), 0u);
    EXPECT_EQ(a->piece(), 4u);
  };
  for (uint32_t p : {0, 1}) {
    const bundle::Program *program = read->programs()->Get(p);
    ASSERT_EQ(program->overlays()->size(), 1u);
    const bundle::Overlay *overlay = program->overlays()->Get(0);
    EXPECT_EQ(overlay->kind(), bundle::OverlayKind_Video);
    EXPECT_EQ(overlay->head()->reuse(),
              p ? bundle::VideoReuse_Exact : bundle::VideoReuse_Bounded);
    EXPECT_EQ(overlay->segment(), read->segments()->size() - 1);
    EXPECT_EQ(overlay->head()->index(), p);
    EXPECT_EQ(overlay->head()->processor(), 0u);
    EXPECT_EQ(overlay->head()->cold_records(), 0u);
    const ProgramVideo &source = *sample.bundle.programs[p].video;
    const bundle::ProgramVideo *video =
        videoOf(videoOverlaysIn(read, image.data), program);
    EXPECT_EQ(video->arena_size(), source.arenaSize);
    ASSERT_EQ(video->kernels()->size(), source.kernels.size());
    for (uint32_t i = 0; i < source.kernels.size(); ++i) {
      const bundle::Kernel *kernel = video->kernels()->Get(i);
      EXPECT_EQ(kernel->processor(), 0u);
      EXPECT_EQ(kernel->entry(), source.kernels[i].entry);
      EXPECT_EQ(kernel->tiles(), source.kernels[i].tiles);
      EXPECT_EQ(kernel->maps()->Get(0)->axes()->Get(1)->extent(), 32u);
    }
    ASSERT_EQ(video->sets()->size(), source.sets.size());
    for (uint32_t i = 0; i < source.sets.size(); ++i) {
      const bundle::VideoSet *set = video->sets()->Get(i);
      EXPECT_EQ(set->rows(), source.sets[i].rows);
      EXPECT_EQ(set->columns(), source.sets[i].columns);
      ASSERT_EQ(set->reads()->size(), source.sets[i].reads.size());
      for (uint32_t k = 0; k < set->reads()->size(); ++k) {
        EXPECT_EQ(set->reads()->Get(k)->set(), source.sets[i].reads[k].set);
        EXPECT_EQ(set->reads()->Get(k)->all(), source.sets[i].reads[k].all);
        EXPECT_TRUE(
            isSame(set->reads()->Get(k)->rows(), source.sets[i].reads[k].rows));
        EXPECT_TRUE(isSame(set->reads()->Get(k)->columns(),
                           source.sets[i].reads[k].columns));
      }
    }
    const bundle::VideoInput *input = video->inputs()->Get(0);
    EXPECT_EQ(input->set(), 0u);
    EXPECT_EQ(input->place(), 0u);
    expectPixels(input->pixels());
    EXPECT_EQ(video->tolerance(), 0.5F);
    EXPECT_EQ(video->input_tolerance(), 0.125F);
    EXPECT_EQ(video->refresh(), 11 + p);
    ASSERT_EQ(video->executes()->size(), 5u);
    for (uint32_t i = 0; i < 5; ++i) {
      const bundle::VideoExecute *execute = video->executes()->Get(i);
      EXPECT_EQ(std::vector<uint64_t>(execute->places()->begin(),
                                      execute->places()->end()),
                source.executes[i].places);
      EXPECT_EQ(execute->set(), source.executes[i].set);
      expectPart(execute->part(), source.executes[i].part);
      ASSERT_EQ(execute->check() != nullptr, i != 3) << i;
      if (i == 3)
        continue;
      EXPECT_EQ(execute->check()->place(), i == 1 ? 1280 + 256 * p : 1536);
      expectPixels(execute->check()->pixels());
    }
    ASSERT_EQ(video->switches()->size(), 2u);
    for (uint32_t i = 0; i < 2; ++i)
      expectPart(video->switches()->Get(i), source.switches[i]);
    EXPECT_EQ(video->outputs()->Get(0), source.outputs[0]);
  }
}

TEST(Writer, SplitStretches) {
  TemporaryFolder folder;
  SplitSample sample;
  ASSERT_EQ(writeBundle(sample.bundle, folder.file("a.nnv")), "");
  AlignedCopy image(readFile(folder.file("a.nnv")));
  Fault fault;
  const bundle::Bundle *read = verifyBundle(image.data, image.size, fault);
  ASSERT_TRUE(read) << fault.text;
  const auto *stretches =
      overlayOf(gpuOverlaysIn(read, image.data), read->programs()->Get(1))
          ->stretches();
  EXPECT_EQ(stretches->Get(0)->kind(), bundle::StretchKind_Whole);
  EXPECT_EQ(stretches->Get(0)->parts(), nullptr);
  const bundle::Stretch *stretch = stretches->Get(1);
  EXPECT_EQ(stretch->kind(), bundle::StretchKind_Split);
  EXPECT_EQ(stretch->dim(), 0u);
  EXPECT_EQ(stretch->at(), 32u);
  ASSERT_EQ(stretch->parts()->size(), 2u);
  const bundle::Operation *part = stretch->parts()->Get(1);
  EXPECT_EQ(part->kind(), bundle::OperationKind_Execute);
  EXPECT_EQ(part->layer()->str(), "round0");
  EXPECT_EQ(part->kernel(), 1u);
  EXPECT_EQ(part->operands()->Get(0)->offset(), 256u);
  EXPECT_EQ(part->tile_begin(), 2u);
  EXPECT_EQ(part->tile_end(), 4u);
  const bundle::Dispatch *dispatch = stretch->dispatches()->Get(0);
  ASSERT_EQ(dispatch->touched()->size(), 3u);
  const bundle::Touched *touched = dispatch->touched()->Get(2);
  EXPECT_EQ(touched->operand(), 2u);
  EXPECT_EQ(touched->stride(), 256u);
  EXPECT_EQ(touched->bytes(), 128u);
  EXPECT_EQ(touched->count(), 1u);
}

/// Equal maps are one table, but not for so many that readers refuse it.
TEST(Writer, MapsOfDispatches) {
  TemporaryFolder folder;
  GpuSample sample;
  std::vector<uint64_t> lo(64, 0), hi(64, 1);
  TileMap map = {std::vector<TileAxis>(64, {1, 1}),
                 std::vector<TilePart>(4, {lo, hi, {}})};
  std::vector<Dispatch> &dispatches =
      sample.bundle.programs[1].gpu->stretches[0].dispatches;
  ASSERT_EQ(dispatches[0].groups.x, 4u);
  dispatches[0].maps = {map};
  dispatches.insert(dispatches.begin(), 100, dispatches[0]);
  ASSERT_EQ(writeBundle(sample.bundle, folder.file("a.nnv")), "");
  AlignedCopy image(readFile(folder.file("a.nnv")));
  Fault fault;
  const bundle::Bundle *read = verifyBundle(image.data, image.size, fault);
  ASSERT_TRUE(read) << fault.text;
  const auto *all =
      overlayOf(gpuOverlaysIn(read, image.data), read->programs()->Get(1))
          ->stretches()
          ->Get(0)
          ->dispatches();
  auto mapOf = [&](uint32_t dispatch) {
    return all->Get(dispatch)->maps()->Get(0);
  };
  EXPECT_EQ(mapOf(0)->parts()->Get(3)->hi()->Get(63), 1u);
  EXPECT_EQ(mapOf(0), mapOf(1));
  EXPECT_NE(mapOf(0), mapOf(100));
  EXPECT_EQ(all->Get(101)->maps()->size(), 0u);
}

/// Programs for equal targets share it, with a GPU that only some have.
TEST(Writer, Targets) {
  TemporaryFolder folder;
  GpuSample sample;
  std::vector<Program> &programs = sample.bundle.programs;
  programs.push_back(programs[1]);
  programs[3].gpu.reset();
  programs.push_back(programs[1]);
  programs[4].kernels[0].scratch += 64;
  ASSERT_EQ(writeBundle(sample.bundle, folder.file("a.nnv")), "");
  AlignedCopy image(readFile(folder.file("a.nnv")));
  Fault fault;
  const bundle::Bundle *read = verifyBundle(image.data, image.size, fault);
  ASSERT_TRUE(read) << fault.text;
  EXPECT_EQ(read->targets()->size(), 4u);
  for (uint32_t i = 0; i < 5; ++i) {
    const uint32_t targets[] = {0, 1, 2, 1, 3};
    EXPECT_EQ(read->programs()->Get(i)->target(), targets[i]);
    EXPECT_EQ(targetOf(read, read->programs()->Get(i))->processors()->size(),
              2u);
    EXPECT_EQ(read->programs()->Get(i)->overlays()->size(), i != 3);
  }
}

/// A bundle that was read and is written again is the same; with another object
/// in memory as well.
TEST(Writer, OverlaysAreTheSameBytesEachTime) {
  TemporaryFolder folder;
  GpuSample one, two;
  ASSERT_EQ(writeBundle(one.bundle, folder.file("a.nnv")), "");
  ASSERT_EQ(writeBundle(two.bundle, folder.file("b.nnv")), "");
  StoredBundle stored;
  ASSERT_EQ(stored.read(folder.file("a.nnv")), "");
  ASSERT_EQ(writeBundle(stored.bundle, folder.file("c.nnv")), "");
  EXPECT_EQ(readFile(folder.file("a.nnv")), readFile(folder.file("b.nnv")));
  EXPECT_EQ(readFile(folder.file("a.nnv")), readFile(folder.file("c.nnv")));
}

TEST(Writer, PadsPieces) {
  TemporaryFolder folder;
  Sample sample;
  // 3 bytes and 5 bytes at a piece alignment of 64 make a segment of 128.
  Segment segment{SegmentKind::Weights, {{"abc", 3}, {"vwxyz", 5}}};
  sample.bundle.segments.push_back(segment);
  ASSERT_EQ(writeBundle(sample.bundle, folder.file("a.nnv")), "");
  AlignedCopy image(readFile(folder.file("a.nnv")));
  Fault fault;
  const bundle::Bundle *read = verifyBundle(image.data, image.size, fault);
  ASSERT_TRUE(read) << fault.text;
  const bundle::Segment *last = read->segments()->Get(3);
  EXPECT_EQ(last->size(), 128u);
  EXPECT_EQ(last->offset() % segmentAlignment, 0u);
  EXPECT_EQ(memcmp(image.data + last->offset() + 64, "vwxyz\0", 6), 0);
}

TEST(Writer, RefusesWhatTheVerifierWould) {
  TemporaryFolder folder;
  Sample sample;
  sample.bundle.programs[1].operations[0].operands[0].size += 1 << 20;
  std::string error = writeBundle(sample.bundle, folder.file("a.nnv"));
  EXPECT_NE(error.find("operation 0: operand 0"), std::string::npos) << error;
  EXPECT_EQ(countFiles(folder.path), 0u);
}

TEST(Writer, KeepsTheOldFileOnFailure) {
  TemporaryFolder folder;
  writeFile(folder.file("a.nnv"), "old", 3);
  AtomicFile file;
  Fault fault;
  ASSERT_TRUE(file.open(folder.file("a.nnv").c_str(), fault)) << fault.text;
  ASSERT_TRUE(file.write("new", 3, fault));
  // Not committed: as when the process fails half-way.
  EXPECT_EQ(readFile(folder.file("a.nnv")).size(), 3u);
  EXPECT_EQ(readFile(folder.file("a.nnv"))[0], 'o');
}

TEST(Writer, LeavesNothingBehind) {
  TemporaryFolder folder;
  {
    AtomicFile file;
    Fault fault;
    ASSERT_TRUE(file.open(folder.file("a.nnv").c_str(), fault));
    ASSERT_TRUE(file.write("new", 3, fault));
  }
  EXPECT_EQ(countFiles(folder.path), 0u);
  Sample sample;
  ASSERT_EQ(writeBundle(sample.bundle, folder.file("a.nnv")), "");
  ASSERT_EQ(writeBundle(sample.bundle, folder.file("a.nnv")), "");
  EXPECT_EQ(countFiles(folder.path), 1u);
}

/// A file that has no name yet gets one by way of /proc, which some root
/// folders lack. The child sees such a folder as its root.
TEST(Writer, WithoutProc) {
  TemporaryFolder folder;
  enum { Written, Forbidden, Failed };
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (geteuid() != 0 && unshare(CLONE_NEWUSER) != 0)
      _exit(Forbidden);
    if (chroot(folder.path.c_str()) != 0)
      _exit(Forbidden);
    AtomicFile file;
    Fault fault;
    bool isWritten = file.open("/a.nnv", fault) &&
                     file.write("new", 3, fault) && file.commit(fault);
    if (!isWritten)
      fprintf(stderr, "%s\n", fault.text);
    _exit(isWritten ? Written : Failed);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == Forbidden)
    GTEST_SKIP() << "nobody may change the root here";
  EXPECT_EQ(WEXITSTATUS(status), Written);
  EXPECT_EQ(countFiles(folder.path), 1u);
  EXPECT_EQ(readFile(folder.file("a.nnv")).size(), 3u);
}

/// A limit on the size of files stands in for a full disk.
TEST(Writer, FullDisk) {
  TemporaryFolder folder;
  writeFile(folder.file("a.nnv"), "old", 3);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  auto handler = signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 70000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  Sample sample;
  std::string error = writeBundle(sample.bundle, folder.file("a.nnv"));
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  EXPECT_EQ(error, folder.file("a.nnv") + ": cannot write: File too large");
  EXPECT_EQ(countFiles(folder.path), 1u);
  EXPECT_EQ(readFile(folder.file("a.nnv")).size(), 3u);
}

TEST(Writer, FollowsLinks) {
  TemporaryFolder folder;
  writeFile(folder.file("real.nnv"), "old", 3);
  ASSERT_EQ(symlink("real.nnv", folder.file("link.nnv").c_str()), 0);
  Sample sample;
  ASSERT_EQ(writeBundle(sample.bundle, folder.file("link.nnv")), "");
  EXPECT_GT(readFile(folder.file("real.nnv")).size(), 3u);
  EXPECT_TRUE(std::filesystem::is_symlink(folder.file("link.nnv")));
}

TEST(Writer, NamesThePathInErrors) {
  Sample sample;
  EXPECT_EQ(writeBundle(sample.bundle, "/nonexistent/a.nnv"),
            "/nonexistent/a.nnv: cannot create: No such file or directory");
  EXPECT_EQ(writeBundle(sample.bundle, "/dev/null"),
            "/dev/null: found a special file, expected a regular file");
  EXPECT_EQ(writeBundle(sample.bundle, "/tmp"),
            "/tmp: found a folder, expected a regular file");
  EXPECT_EQ(writeBundle(sample.bundle, "/tmp/nnv12-unused", "/nonexistent.key"),
            "/nonexistent.key: key: cannot read: No such file or directory");
}

namespace {
/// A key pair in files; skips the test when there is no libsodium.
class Signing : public testing::Test {
protected:
  void SetUp() override {
    uint8_t seed[32] = {1, 2, 3};
    Fault fault;
    if (!signWithSeed(seed, nullptr, 0, publicKey, nullptr, fault))
      GTEST_SKIP() << fault.text;
    ASSERT_TRUE(writeKeyFile(folder.file("k.key").c_str(), KeyKind::Secret,
                             seed, fault));
    ASSERT_TRUE(writeKeyFile(folder.file("k.pub").c_str(), KeyKind::Public,
                             publicKey, fault));
  }
  TemporaryFolder folder;
  uint8_t publicKey[32];
};
} // namespace

TEST_F(Signing, GoodSignature) {
  Sample sample;
  ASSERT_EQ(
      writeBundle(sample.bundle, folder.file("a.nnv"), folder.file("k.key")),
      "");
  AlignedCopy image(readFile(folder.file("a.nnv")));
  Fault fault;
  EXPECT_TRUE(verifyBundle(image.data, image.size, fault, publicKey))
      << fault.text;
}

TEST_F(Signing, AnotherKey) {
  Sample sample;
  ASSERT_EQ(
      writeBundle(sample.bundle, folder.file("a.nnv"), folder.file("k.key")),
      "");
  AlignedCopy image(readFile(folder.file("a.nnv")));
  Fault fault;
  publicKey[0] ^= 1;
  EXPECT_FALSE(verifyBundle(image.data, image.size, fault, publicKey));
  EXPECT_EQ(fault.code, Fault::Untrusted);
}

TEST_F(Signing, UnsignedBundle) {
  Sample sample;
  ASSERT_EQ(writeBundle(sample.bundle, folder.file("a.nnv")), "");
  AlignedCopy image(readFile(folder.file("a.nnv")));
  Fault fault;
  EXPECT_FALSE(verifyBundle(image.data, image.size, fault, publicKey));
  EXPECT_EQ(fault.code, Fault::Untrusted);
}

// Comes before any other fault: a stranger's file is not read further.
TEST_F(Signing, ComesBeforeAllThatTheFileSays) {
  Sample sample;
  ASSERT_EQ(writeBundle(sample.bundle, folder.file("a.nnv")), "");
  AlignedCopy image(readFile(folder.file("a.nnv")));
  Header header;
  memcpy(&header, image.data, sizeof header);
  header.fileSize = ~uint64_t(0);
  header.metadataOffset = header.metadataSize = ~uint64_t(0);
  header.headerDigest = digestOf(&header, offsetof(Header, headerDigest));
  memcpy(image.data, &header, sizeof header);
  Fault fault;
  EXPECT_FALSE(verifyBundle(image.data, image.size, fault, publicKey));
  EXPECT_STREQ(fault.text,
               "signature: found none, expected one by the given public key");
  EXPECT_FALSE(verifyBundle(image.data, image.size, fault));
  EXPECT_EQ(std::string(fault.text).find("file size"), 0u);
}

TEST_F(Signing, KeyFilesKeepTheirKindAndMode) {
  uint8_t key[32];
  Fault fault;
  ASSERT_TRUE(
      readKeyFile(folder.file("k.pub").c_str(), KeyKind::Public, key, fault));
  EXPECT_EQ(memcmp(key, publicKey, 32), 0);
  EXPECT_FALSE(
      readKeyFile(folder.file("k.pub").c_str(), KeyKind::Secret, key, fault));
  EXPECT_FALSE(
      writeKeyFile(folder.file("k.pub").c_str(), KeyKind::Public, key, fault));
  struct stat info;
  ASSERT_EQ(stat(folder.file("k.key").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST(KeyFile, RefusesOtherFiles) {
  TemporaryFolder folder;
  uint8_t key[32];
  Fault fault;
  const std::string good = "nnv12-public-key " + std::string(64, 'a');
  for (std::string text :
       {std::string(), std::string("nnv12-public-key "), good.substr(0, 80),
        good + "b", good + " x", std::string(81, 'z'),
        "nnv12-public-key " + std::string(64, 'g')}) {
    writeFile(folder.file("k"), text.data(), text.size());
    EXPECT_FALSE(
        readKeyFile(folder.file("k").c_str(), KeyKind::Public, key, fault))
        << text;
  }
  writeFile(folder.file("k"), good.data(), good.size());
  EXPECT_TRUE(
      readKeyFile(folder.file("k").c_str(), KeyKind::Public, key, fault));
}
