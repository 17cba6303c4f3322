//===- SharedWeightsTest.cpp - Sessions that share prepared weights -------===//
//
// The sessions of a bundle come and go, fail and fork at the same time. Each
// gives the results that it would give alone.
//
//===----------------------------------------------------------------------===//
#include "artifact/Fault.h"
#include "artifact/Writer.h"
#include "runtime/Decoder.h"
#include "runtime/include/nnv12.hpp"
#include "test/unit/runtime/RandomDelays.h"
#include "test/unit/sample/PlannedSample.h"

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace nnv12;
using namespace nnv12::test;
using Decode = PlannedSample::Decode;
using std::chrono::milliseconds;

namespace nnv12::runtime {
/// Called before and after a thread takes a piece.
extern void (*beforePiece)();
} // namespace nnv12::runtime

//===----------------------------------------------------------------------===//
// Memory that runs out
//===----------------------------------------------------------------------===//

/// How many allocations of this thread succeed before one fails; negative: all.
static thread_local int allocationsLeft = -1;
static bool isRefused() {
  return allocationsLeft >= 0 && allocationsLeft-- == 0;
}

// The linker has all objects of this program call these (CMakeLists.txt).
extern "C" {
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
int __real_posix_memalign(void **memory, size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
int __wrap_posix_memalign(void **memory, size_t alignment, size_t size);

void *__wrap_malloc(size_t size) {
  return isRefused() ? nullptr : __real_malloc(size);
}
void *__wrap_calloc(size_t count, size_t size) {
  return isRefused() ? nullptr : __real_calloc(count, size);
}
int __wrap_posix_memalign(void **memory, size_t alignment, size_t size) {
  return isRefused() ? ENOMEM : __real_posix_memalign(memory, alignment, size);
}
}

namespace {

#ifdef NNV12_SANITIZED
constexpr bool isSanitized = true;
#else
constexpr bool isSanitized = false;
#endif

/// A round of 40 tiles has one piece of its read, one of its decode and 14 of
/// its transform. Later runs need one more decode.
constexpr uint32_t firstPieces = 16, laterPieces = 1;

std::atomic<uint32_t> numCalls{0};
void countCalls() { ++numCalls; }

/// Holds a thread that has taken a piece, the first one that is not the
/// caller's, from its `heldPiece`th on.
std::atomic<bool> isHeld{false}, isReleased{false};
uint32_t heldPiece = 1;
pthread_t callersThread;
void holdOne() {
  static thread_local uint32_t calls = 0;
  if (pthread_equal(pthread_self(), callersThread) ||
      ++calls != 2 * heldPiece || isHeld.exchange(true))
    return;
  while (!isReleased)
    usleep(100);
}
void beginHolding(uint32_t piece) {
  isHeld = isReleased = false;
  heldPiece = piece;
  callersThread = pthread_self();
  runtime::beforePiece = holdOne;
}
/// Until a thread is held, or there is none that has so many pieces.
bool waitUntilHeld() {
  for (int i = 0; i < 500 && !isHeld; ++i)
    usleep(100);
  return isHeld;
}

class SharedWeightsTest : public testing::Test {
protected:
  void SetUp() override {
    artifact::Fault fault;
    if (!runtime::loadZstd(fault))
      GTEST_SKIP() << fault.text;
    make(40);
  }
  void TearDown() override {
    isReleased = true;
    runtime::beforePiece = nullptr;
  }
  void make(size_t tiles) {
    sample = std::make_unique<PlannedSample>(tiles, 3, numRounds);
    write();
  }
  void write() {
    path = folder.file("a.nnv");
    ASSERT_EQ(artifact::writeBundle(sample->bundle, path), "");
    x.resize(sample->elements());
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = float(i * 31 % 97);
    for (bool isLater : {false, true}) {
      expected[isLater].resize(x.size());
      for (size_t i = 0; i < x.size(); ++i)
        expected[isLater][i] = sample->expectedRun(i, x[i], isLater);
    }
  }
  /// Whether the pieces of decodes may be computed twice. Where not, weights
  /// are others, whose results are those of sessions alone.
  void setRepeats(bool mayRepeat) {
    for (artifact::Program &program : sample->bundle.programs)
      for (artifact::Operation &operation : program.preparations)
        if (operation.codec == artifact::Codec::Zstd)
          operation.planes = mayRepeat ? 4 : 1;
    write();
    Bundle bundle(path);
    Session cold(bundle, alone()), later(bundle, alone(NNV12_MODE_CONTINUOUS));
    ASSERT_TRUE(later.prepare(milliseconds(60000)));
    expected[false] = run(cold);
    expected[true] = run(later);
  }

  static SessionOptions options(uint32_t threads, nnv12_mode mode,
                                uint32_t preparing = 0) {
    SessionOptions result;
    result.threads = threads;
    result.oversubscribe = true;
    result.mode = mode;
    result.preparationThreads = preparing;
    return result;
  }
  static SessionOptions alone(nnv12_mode mode = NNV12_MODE_COLD) {
    return options(1, mode, noPreparation);
  }
  std::vector<float> run(Session &session) {
    std::vector<float> y(x.size(), -1);
    session.run({{x.data(), x.size() * 4}}, {{y.data(), y.size() * 4}});
    return y;
  }
  nnv12_status runStatus(Session &session) {
    std::vector<float> y(x.size());
    nnv12_input in = NNV12_INPUT(x.data(), x.size() * 4);
    nnv12_output out = NNV12_OUTPUT(y.data(), y.size() * 4);
    nnv12_error error;
    return nnv12_session_run(session.get(), &in, 1, &out, 1, &error);
  }
  /// A run whose results are as the session says.
  bool isRight(Session &session) {
    std::vector<float> y = run(session);
    return y == expected[session.info().switches_done != 0];
  }
  /// The exit code of a child process that does `work`; it has no other threads
  /// than the calling one, and 20 s. 255: a signal has ended it.
  template <typename Work> static int codeOfChild(const Work &work) {
    pid_t child = fork();
    if (child == 0) {
      runtime::beforePiece = nullptr;
      alarm(20);
      int code = 254;
      try {
        code = work();
      } catch (...) {
      }
      _exit(code);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
  }

  static constexpr unsigned numRounds = 4;
  TemporaryFolder folder;
  std::unique_ptr<PlannedSample> sample;
  std::string path;
  std::vector<float> x, expected[2];
};

/// Bytes of this process: of its address space, and in memory.
struct Bytes {
  uint64_t all = 0, resident = 0;
  Bytes() {
    std::ifstream("/proc/self/statm") >> all >> resident;
    all *= uint64_t(sysconf(_SC_PAGESIZE));
    resident *= uint64_t(sysconf(_SC_PAGESIZE));
  }
};

} // namespace

/// Each piece is computed once, and a session that comes later has nothing left
/// to do.
TEST_F(SharedWeightsTest, AreComputedOnce) {
  runtime::beforePiece = countCalls;
  Bundle bundle(path);
  for (uint32_t threads : {1, 2, 4}) {
    numCalls = 0;
    Session first(bundle, alone());
    EXPECT_EQ(first.info().preparations_done, 0u);
    ASSERT_EQ(run(first), expected[false]);
    EXPECT_EQ(numCalls, 2 * numRounds * firstPieces);
    numCalls = 0;
    Session second(bundle, options(threads, NNV12_MODE_COLD));
    EXPECT_EQ(second.info().preparations_done, second.info().num_preparations);
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ(run(second), expected[false]);
      ASSERT_EQ(run(first), expected[false]);
    }
    EXPECT_EQ(numCalls, 0u);
    // One of another mode has other results, and computes only the rest.
    uint32_t preparing = threads == 1 ? noPreparation : 0;
    Session third(bundle, options(threads, NNV12_MODE_CONTINUOUS, preparing));
    ASSERT_TRUE(third.prepare(milliseconds(60000)));
    ASSERT_EQ(run(third), expected[true]);
    // A thread that is too late for the last piece makes one of two calls.
    if (third.info().preparation_threads + third.threads() == 1) {
      EXPECT_EQ(numCalls, 2 * numRounds * laterPieces);
    }
    Session fourth(bundle, options(threads, NNV12_MODE_CONTINUOUS));
    ASSERT_TRUE(fourth.prepare(milliseconds(0)));
    ASSERT_EQ(run(fourth), expected[true]);
    ASSERT_EQ(run(first), expected[false]);
    ASSERT_EQ(run(second), expected[false]);
    EXPECT_EQ(first.info().num_preparations, 3 * numRounds);
    EXPECT_EQ(first.info().preparations_done, 3 * numRounds);
  }
}

/// The last session takes them along.
TEST_F(SharedWeightsTest, AreComputedAgainAfterTheLastSession) {
  runtime::beforePiece = countCalls;
  Bundle bundle(path);
  for (int i = 0; i < 2; ++i) {
    numCalls = 0;
    Session session(bundle, alone());
    EXPECT_EQ(session.info().preparations_done, 0u);
    ASSERT_EQ(run(session), expected[false]);
    EXPECT_EQ(numCalls, 2 * numRounds * firstPieces);
  }
}

/// Sessions of all kinds come and go, with weights in between and without.
TEST_F(SharedWeightsTest, ManySessions) {
  runtime::beforePiece = delayAtRandom<8>;
  for (unsigned numThreads : {8, 2}) {
    Bundle bundle(path);
    std::atomic<unsigned> wrong{0};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < numThreads; ++t)
      threads.emplace_back([&, t] {
        for (unsigned i = 0; i < 64 / numThreads; ++i) {
          unsigned way = t * 7 + i * 5;
          uint32_t preparing[] = {0, 1, noPreparation};
          SessionOptions options = this->options(
              way % 4 + 1, way % 3 ? NNV12_MODE_CONTINUOUS : NNV12_MODE_COLD,
              preparing[way % 3]);
          options.noStealing = way % 5 == 0;
          Session session(bundle, options);
          for (unsigned k = 0; k < way % 4; ++k)
            wrong += !isRight(session);
          if (way % 2) {
            wrong += !session.prepare(milliseconds(60000));
            wrong +=
                run(session) != expected[options.mode == NNV12_MODE_CONTINUOUS];
          }
        }
      });
    for (std::thread &thread : threads)
      thread.join();
    EXPECT_EQ(wrong, 0u);
  }
}

/// A thread of the first session holds a piece when the session is closed, and
/// another one waits for the same weights. Also where no piece may be computed
/// twice, so that the other can only wait for the end of that one.
TEST_F(SharedWeightsTest, ClosedWhileAnotherWaits) {
  for (bool mayRepeat : {true, false}) {
    setRepeats(mayRepeat);
    Bundle bundle(path);
    unsigned held = 0;
    for (uint32_t piece = 1; piece <= 20; ++piece) {
      beginHolding(piece);
      auto first =
          std::make_unique<Session>(bundle, options(1, NNV12_MODE_COLD, 1));
      held += waitUntilHeld();
      std::thread closing;
      std::vector<float> found;
      std::thread running([&] {
        Session second(bundle, alone());
        closing = std::thread([&] { first.reset(); });
        found = run(second);
      });
      usleep(3000);
      isReleased = true;
      running.join();
      closing.join();
      ASSERT_EQ(found, expected[false]) << piece;
      runtime::beforePiece = nullptr;
    }
    EXPECT_GE(held, 5u) << "a lane has a third of the pieces";
  }
}

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

/// A frame for later runs alone is damaged.
TEST_F(SharedWeightsTest, OnlySessionsThatNeedThemFail) {
  sample->damage(2, Decode::Later);
  write();
  Bundle bundle(path);
  for (uint32_t threads : {1, 3}) {
    Session before(bundle, options(threads, NNV12_MODE_COLD));
    ASSERT_EQ(run(before), expected[false]);
    Session later(bundle, options(threads, NNV12_MODE_CONTINUOUS));
    EXPECT_THROW((void)later.prepare(milliseconds(60000)), Error);
    Session after(bundle, options(threads, NNV12_MODE_COLD));
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(runStatus(later), NNV12_BAD_BUNDLE);
      ASSERT_EQ(run(before), expected[false]);
      ASSERT_EQ(run(after), expected[false]);
    }
    EXPECT_TRUE(before.prepare(milliseconds(60000)));
    // One that comes later learns it from the first.
    Session again(bundle, options(threads, NNV12_MODE_CONTINUOUS));
    EXPECT_THROW((void)again.prepare(milliseconds(60000)), Error);
  }
}

/// One that each session needs is: it fails in all of them. Once all of them
/// are closed a new one tries again.
TEST_F(SharedWeightsTest, ANewSessionTriesAgain) {
  std::vector<unsigned char> good = readFile(path);
  sample->damage(2, Decode::First);
  write();
  AlignedCopy copy(readFile(path));
  nnv12_bundle *bundle = nullptr;
  nnv12_error error;
  ASSERT_EQ(
      nnv12_bundle_open_memory(copy.data, copy.size, nullptr, &bundle, &error),
      NNV12_OK);
  auto create = [&](const SessionOptions &options) {
    nnv12_session_options c = options.get();
    nnv12_session *session = nullptr;
    EXPECT_EQ(nnv12_session_create(bundle, &c, &session, &error), NNV12_OK);
    return session;
  };
  std::vector<float> y(x.size());
  auto run = [&](nnv12_session *session) {
    nnv12_input in = NNV12_INPUT(x.data(), x.size() * 4);
    nnv12_output out = NNV12_OUTPUT(y.data(), y.size() * 4);
    return nnv12_session_run(session, &in, 1, &out, 1, &error);
  };
  nnv12_session *first = create(alone()),
                *second = create(options(2, NNV12_MODE_CONTINUOUS));
  EXPECT_EQ(run(first), NNV12_BAD_BUNDLE);
  EXPECT_EQ(run(second), NNV12_BAD_BUNDLE);
  nnv12_session_close(first);
  first = create(alone());
  EXPECT_EQ(run(first), NNV12_BAD_BUNDLE);
  // The frame's fifth byte is its only wrong one.
  const unsigned char wrong[] = {0x28, 0xb5, 0x2f, 0xfd, 0xff};
  auto *data = const_cast<unsigned char *>(
      static_cast<const unsigned char *>(copy.data));
  unsigned char *place =
      std::search(data, data + copy.size, wrong, wrong + sizeof wrong);
  ASSERT_NE(place, data + copy.size);
  place[4] = 0xe0;
  EXPECT_EQ(run(first), NNV12_BAD_BUNDLE);
  nnv12_session_close(first);
  EXPECT_EQ(run(second), NNV12_BAD_BUNDLE);
  nnv12_session_close(second);
  first = create(alone());
  EXPECT_EQ(run(first), NNV12_OK);
  EXPECT_EQ(y, expected[false]);
  nnv12_session_close(first);
  nnv12_bundle_close(bundle);
}

/// A session that could not be made is as if nobody had tried.
TEST_F(SharedWeightsTest, NoMemoryInTheMiddle) {
  for (bool isFirst : {true, false}) {
    Bundle bundle(path);
    std::unique_ptr<Session> other;
    if (!isFirst)
      other = std::make_unique<Session>(bundle, alone());
    uint32_t refused = 0;
    nnv12_status status = NNV12_OUT_OF_MEMORY;
    for (int left = 0; status != NNV12_OK && left < 1000; ++left) {
      SessionOptions wanted = options(2, NNV12_MODE_CONTINUOUS);
      nnv12_session_options c = wanted.get();
      nnv12_session *session = nullptr;
      nnv12_error error;
      allocationsLeft = left;
      status = nnv12_session_create(bundle.get(), &c, &session, &error);
      allocationsLeft = -1;
      nnv12_session_close(session);
      refused += status == NNV12_OUT_OF_MEMORY;
      ASSERT_TRUE(status == NNV12_OK || status == NNV12_OUT_OF_MEMORY)
          << error.message;
      Session next(bundle, options(1, NNV12_MODE_COLD));
      ASSERT_EQ(run(next), expected[false]) << left;
      if (other) {
        ASSERT_EQ(run(*other), expected[false]) << left;
      }
    }
    EXPECT_EQ(status, NNV12_OK);
    EXPECT_GE(refused, 10u);
  }
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Prepared weights lie behind the first session's own memory, and stay when
/// that one is closed, but its own memory goes.
TEST_F(SharedWeightsTest, TheFirstSessionIsClosedFirst) {
  make(40000);
  uint64_t bytes = sample->elements() * 4, arena = 2 * bytes;
  Bundle bundle(path);
  Bytes before;
  auto first = std::make_unique<Session>(bundle, alone());
  ASSERT_EQ(run(*first), expected[false]);
  auto second = std::make_unique<Session>(bundle, alone());
  ASSERT_EQ(run(*second), expected[false]);
  Bytes both;
  first.reset();
  Bytes one;
  ASSERT_EQ(run(*second), expected[false]);
  EXPECT_EQ(second->info().preparations_done, 3 * numRounds);
  {
    Session third(bundle, alone());
    EXPECT_EQ(third.info().preparations_done, 3 * numRounds);
    ASSERT_EQ(run(third), expected[false]);
  }
  Bytes still;
  second.reset();
  Bytes none;
  if (isSanitized)
    return;
  EXPECT_GE(both.resident - one.resident, arena);
  EXPECT_GE(both.all - one.all, arena);
  // Two of three weights of a round.
  EXPECT_GE(still.resident - none.resident, 2 * numRounds * bytes);
  EXPECT_LE(none.all, before.all + 2 * bytes);
}

//===----------------------------------------------------------------------===//
// Child processes
//===----------------------------------------------------------------------===//

/// A thread of the parent is in the middle of a piece, which it never finishes
/// for the child.
TEST_F(SharedWeightsTest, ForkedInTheMiddle) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "TSan does without forks of processes with threads";
#endif
  for (bool mayRepeat : {true, false}) {
    setRepeats(mayRepeat);
    Bundle bundle(path);
    for (uint32_t piece = 1; piece <= 20; ++piece) {
      beginHolding(piece);
      Session session(bundle, options(1, NNV12_MODE_COLD, 1));
      waitUntilHeld();
      uint32_t done = session.info().preparations_done;
      int code = codeOfChild([&] {
        Session own(bundle, alone());
        if (own.info().preparations_done != done)
          return 1;
        if (run(own) != expected[false])
          return 2;
        Session more(bundle, options(2, NNV12_MODE_CONTINUOUS));
        if (!more.prepare(milliseconds(60000)) || run(more) != expected[true])
          return 3;
        return run(own) == expected[false] ? 0 : 4;
      });
      EXPECT_EQ(code, 0) << piece;
      isReleased = true;
      EXPECT_EQ(run(session), expected[false]);
      runtime::beforePiece = nullptr;
    }
  }
}

/// Threads of the parent are anywhere in making and closing sessions.
TEST_F(SharedWeightsTest, ForkedAtAnyTime) {
  if (isSanitized)
    GTEST_SKIP() << "the allocators of sanitizers may stay locked in a child";
  Bundle bundle(path);
  std::atomic<bool> isOver{false};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (unsigned i = t; !isOver; ++i) {
        Session session(bundle, alone());
        if (i % 4 == 0)
          run(session);
      }
    });
  for (int i = 0; i < 200; ++i) {
    int code = codeOfChild([&] {
      for (int k = 0; k < 2; ++k) {
        Session own(bundle, i % 2 ? alone() : options(2, NNV12_MODE_COLD));
        if (run(own) != expected[false])
          return 1;
        // And its own children.
        if (i % 16 == 0 && codeOfChild([&] {
                             Session inner(bundle, alone());
                             return run(inner) == expected[false] ? 0 : 1;
                           }) != 0)
          return 2;
      }
      return 0;
    });
    EXPECT_EQ(code, 0) << i;
  }
  isOver = true;
  for (std::thread &thread : threads)
    thread.join();
}
