//===- RecorderTest.cpp - Records of a session's runs ---------------------===//
#include "runtime/recorder/Recorder.h"
#include "runtime/recorder/Recording.h"

#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <thread>
#include <vector>

using namespace nnv12;
using namespace nnv12::runtime;
using artifact::Fault;

namespace {

/// Memory for recordings, at a multiple of 64.
struct Room {
  explicit Room(size_t size)
      : size(size), lines(new Line[(size + 63) / 64]()) {}
  uint8_t *data() { return lines[0].bytes; }

  size_t size;

private:
  struct alignas(64) Line {
    uint8_t bytes[64];
  };
  std::unique_ptr<Line[]> lines;
};

/// A ring by itself.
struct LoneRing {
  explicit LoneRing(uint64_t capacity)
      : records(new SharedRecord[capacity]()),
        writer(header, records.get(), capacity),
        reader{&header, records.get(), capacity} {}

  RingHeader header = {};
  std::unique_ptr<SharedRecord[]> records;
  RingWriter writer;
  RingReader reader;
};

/// Each of its words follows from the number.
Record numbered(uint64_t number) {
  Record record = {};
  record.start = number;
  record.ticks = number * 3;
  record.index = static_cast<uint32_t>(number * 5);
  record.run = static_cast<uint32_t>(number * 7);
  record.first = static_cast<uint16_t>(number * 11);
  record.flags = static_cast<uint8_t>(number * 13);
  return record;
}

bool isNumbered(const Record &record) {
  Record expected = numbered(record.start);
  return memcmp(&record, &expected, sizeof record) == 0;
}

} // namespace

TEST(Clock, ticksAscendAndPairsAreClose) {
  Clock clock(Clock::best());
  uint64_t before = clock.ticks();
  ClockPair pair = clock.pair();
  uint64_t after = clock.ticks();
  EXPECT_LE(before, pair.ticks);
  EXPECT_LE(pair.ticks, after);
  clock.change(Clock::Monotonic);
  pair = clock.pair();
  EXPECT_NEAR(double(pair.ticks), double(pair.ns), 1e6);
}

TEST(Clock, tellsDrift) {
  auto at = [](double ns, double rate) {
    return ClockPair{uint64_t(ns * rate), uint64_t(ns)};
  };
  // A second each; 2.5 ticks a nanosecond.
  ClockPair first = at(0, 2.5), second = at(1e9, 2.5);
  auto next = [&](double ns, double rate) {
    return ClockPair{second.ticks + uint64_t(ns * rate),
                     second.ns + uint64_t(ns)};
  };
  EXPECT_TRUE(keepsTime(first, second, next(1e9, 2.5)));
  EXPECT_TRUE(keepsTime(first, second, next(1e9, 2.5 * 1.00005)));
  EXPECT_FALSE(keepsTime(first, second, next(1e9, 2.5 * 1.0002)));
  EXPECT_FALSE(keepsTime(first, second, next(1e9, 2.5 * 0.9998)));
  // Too short to tell; a counter that stands still or runs back.
  EXPECT_TRUE(keepsTime(first, second, next(1e3, 2.5 * 1.1)));
  EXPECT_TRUE(keepsTime(first, second, second));
  EXPECT_FALSE(keepsTime(first, second, {second.ticks, second.ns + 100'000}));
  EXPECT_FALSE(
      keepsTime(first, second, {second.ticks - 1000, second.ns + 1'000'000}));
}

TEST(Timeline, isPiecewise) {
  // Two ticks a nanosecond, then one.
  ClockPair pairs[] = {{1000, 500}, {3000, 1500}, {4000, 2500}};
  Timeline timeline = {pairs, 3};
  EXPECT_EQ(timeline.ns(1000), 500u);
  EXPECT_EQ(timeline.ns(2000), 1000u);
  EXPECT_EQ(timeline.ns(3500), 2000u);
  // Beyond: as between the nearest two.
  EXPECT_EQ(timeline.ns(800), 400u);
  EXPECT_EQ(timeline.ns(5000), 3500u);
  EXPECT_FALSE((Timeline{pairs, 1}.isKnown()));
}

TEST(Ring, keepsTheNewest) {
  LoneRing ring(8);
  Record out[32];
  uint64_t cursor = 0, lost = 0;
  EXPECT_EQ(ring.reader.read(cursor, out, 32, lost), 0u);
  uint64_t number = 0;
  for (; number < 5; ++number)
    ring.writer.write(numbered(number));
  // Some, and the rest.
  EXPECT_EQ(ring.reader.read(cursor, out, 2, lost), 2u);
  EXPECT_EQ(out[1].start, 1u);
  EXPECT_EQ(ring.reader.read(cursor, out, 32, lost), 3u);
  EXPECT_EQ(out[0].start, 2u);
  EXPECT_EQ(lost, 0u);
  // Only the last 7 of 20 more: the place of the eighth may be written to.
  for (; number < 25; ++number)
    ring.writer.write(numbered(number));
  EXPECT_EQ(ring.reader.read(cursor, out, 32, lost), 7u);
  EXPECT_EQ(out[0].start, 18u);
  EXPECT_EQ(out[6].start, 24u);
  EXPECT_EQ(lost, 13u);
  EXPECT_EQ(cursor, 25u);
  // A cursor of another recording.
  cursor = 1000;
  EXPECT_EQ(ring.reader.read(cursor, out, 32, lost), 0u);
  EXPECT_EQ(cursor, 25u);
}

/// Nothing torn, nothing twice, and lost records are counted.
TEST(Ring, isReadWhileItIsWritten) {
  constexpr uint64_t total = 3'000'000;
  LoneRing ring(64);
  std::thread writer([&] {
    for (uint64_t number = 0; number < total; ++number)
      ring.writer.write(numbered(number));
  });
  uint64_t cursor = 0, lost = 0, seen = 0, next = 0;
  std::vector<Record> out(48);
  while (cursor < total) {
    uint64_t before = lost;
    size_t count = ring.reader.read(cursor, out.data(), out.size(), lost);
    next += lost - before;
    for (size_t i = 0; i < count; ++i) {
      ASSERT_EQ(out[i].start, next);
      ASSERT_TRUE(isNumbered(out[i])) << "record " << next;
      ++next;
    }
    seen += count;
  }
  writer.join();
  EXPECT_EQ(seen + lost, total);
  EXPECT_GT(seen, 0u);
}

TEST(Recorder, sizes) {
  EXPECT_EQ(Recorder::sizeFor(0, 100), 0u);
  EXPECT_EQ(Recorder::sizeFor(256, 100), 0u);
  EXPECT_EQ(Recorder::sizeFor(1, ~0u), 0u);
  EXPECT_EQ(Recorder::sizeFor(1, 1),
            sizeof(RecordingHeader) + sizeof(RingHeader) + 2 * 32);
  EXPECT_EQ(Recorder::sizeFor(3, 100),
            sizeof(RecordingHeader) + 3 * (sizeof(RingHeader) + 128 * 32));
}

TEST(Recorder, refusesWhatItCannotUse) {
  Room room(Recorder::sizeFor(2, 4));
  auto refusal = [](Recorder::Options options, uint32_t threads) {
    Recorder recorder;
    Fault fault;
    EXPECT_FALSE(recorder.create(options, {{}, 0, threads, 0}, fault));
    return std::string(fault.text);
  };
  Recorder::Options options;
  options.memory = room.data();
  options.size = room.size;
  options.level = RecordLevel(4);
  EXPECT_EQ(refusal(options, 2),
            "recorder: level: found 4, expected at most 3");
  options.level = RecordLevel::Operation;
  EXPECT_EQ(refusal(options, 200), "recorder: size: found " +
                                       std::to_string(room.size) +
                                       ", expected 26752 at least for 200 "
                                       "threads");
  options.memory = room.data() + 8;
  EXPECT_NE(refusal(options, 2).find("expected a multiple of 64"),
            std::string::npos);
  options.memory = nullptr;
  EXPECT_NE(refusal(options, 2).find("recorder: memory: found"),
            std::string::npos);
  EXPECT_EQ(refusal(options, 256),
            "recorder: threads: found 256, expected at most 255");
}

namespace {

/// A recorder over some memory, and its reader.
struct Session {
  explicit Session(RecordLevel level, uint32_t sampleEvery = 1,
                   uint32_t threads = 2, uint32_t records = 64)
      : room(Recorder::sizeFor(threads, records)), recorder(new Recorder) {
    Recorder::Options options;
    options.memory = room.data();
    options.size = room.size;
    options.level = level;
    options.sampleEvery = sampleEvery;
    artifact::Digest digest = {};
    digest.bytes[0] = 42;
    Fault fault;
    EXPECT_TRUE(recorder->create(options, {digest, 7, threads, 1}, fault))
        << fault.text;
    EXPECT_TRUE(recording.open(room.data(), room.size, fault)) << fault.text;
  }

  /// One run of an operation of some microseconds.
  void run(uint32_t operations = 1) {
    recorder->beginRun();
    for (uint32_t i = 0; i < operations; ++i) {
      Record record = {};
      record.start = recorder->ticks();
      uint64_t until = now() + 20'000;
      while (now() < until)
        ;
      record.ticks = recorder->ticks() - record.start;
      record.index = i;
      if (recorder->records(RecordLevel::Operation))
        recorder->write(record);
    }
    recorder->endRun(0);
  }

  const RecordingHeader &header() {
    return *reinterpret_cast<const RecordingHeader *>(room.data());
  }

  std::vector<Record> read(uint32_t ring = 0) {
    std::vector<Record> out(40'000);
    out.resize(recording.read(ring, out.data(), out.size(), lost));
    return out;
  }

  Room room;
  std::unique_ptr<Recorder> recorder;
  Recording recording;
  uint64_t lost = 0;
};

} // namespace

TEST(Recorder, timesAreThoseOfTheSystem) {
  Session session(RecordLevel::Operation);
  EXPECT_TRUE(session.read().empty());
  uint64_t before = now();
  session.run(3);
  uint64_t after = now();
  std::vector<Record> records = session.read();
  ASSERT_EQ(records.size(), 4u);
  uint64_t last = before;
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(records[i].kind, RecordKind::Execute);
    EXPECT_EQ(records[i].index, i);
    // The length of a tick was measured over 60 microseconds alone.
    EXPECT_GE(records[i].start + 1000, last);
    EXPECT_GE(records[i].ticks, 19'000u);
    last = records[i].start + records[i].ticks;
  }
  EXPECT_EQ(records[3].kind, RecordKind::Run);
  EXPECT_GE(records[3].start + 1000, before);
  EXPECT_LE(records[3].start + records[3].ticks, after + 1000);
  EXPECT_GE(records[3].ticks, 57'000u);
}

TEST(Recorder, levelsAndSampling) {
  Session runs(RecordLevel::Run, 3);
  for (int i = 0; i < 7; ++i)
    runs.run(2);
  std::vector<Record> records = runs.read();
  ASSERT_EQ(records.size(), 3u);
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(records[i].run, 3 * i);
    EXPECT_EQ(records[i].kind, RecordKind::Run);
  }
  EXPECT_EQ(runs.recording.runs(), 7u);
  EXPECT_EQ(runs.recording.facts().sampleEvery, 3u);

  Session off(RecordLevel::Operation, 4);
  EXPECT_EQ(off.recorder->level(), RecordLevel::Operation);
  off.run();
  off.recorder->beginRun();
  EXPECT_EQ(off.recorder->level(), RecordLevel::Off);
}

TEST(Recorder, saysWhatItIs) {
  Session session(RecordLevel::Piece, 1, 5);
  const RecordingFacts &facts = session.recording.facts();
  EXPECT_EQ(facts.level, RecordLevel::Piece);
  EXPECT_EQ(facts.numRings, 5u);
  EXPECT_EQ(facts.numPreparing, 1u);
  EXPECT_EQ(facts.process, uint32_t(getpid()));
  EXPECT_EQ(facts.bundle.bytes[0], 42);
  EXPECT_EQ(facts.program, 7u);
  EXPECT_FALSE(session.recording.isClosed());
  session.recorder.reset();
  EXPECT_TRUE(session.recording.isClosed());
}

TEST(Recorder, eachThreadHasARing) {
  Session session(RecordLevel::Operation, 1, 3, 4);
  session.run();
  Record record = {};
  record.start = session.recorder->ticks();
  record.thread = 2;
  for (int i = 0; i < 10; ++i)
    session.recorder->write(record);
  EXPECT_EQ(session.read(0).size(), 2u);
  EXPECT_EQ(session.read(1).size(), 0u);
  EXPECT_EQ(session.lost, 0u);
  std::vector<Record> records = session.read(2);
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(session.lost, 7u);
  EXPECT_EQ(records[0].run, 1u);
}

/// More pairs than are kept: the newest count.
TEST(Recorder, clockPairsGoInARing) {
  Session session(RecordLevel::Run, 1u << 20);
  for (int i = 0; i < 1024 * 80; ++i) {
    session.recorder->beginRun();
    session.recorder->endRun(0);
  }
  Record record = {};
  record.start = session.recorder->ticks();
  uint64_t before = now();
  session.recorder->write(record);
  std::vector<Record> records = session.read();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_NEAR(double(records[1].start), double(before), 1e5);
}

namespace nnv12::runtime {
extern uint64_t (*fakeTicks)();
}

/// A counter that goes twice as fast all of a sudden: records before are as
/// exact as that counter was, and records after it are exact again, for they
/// take the system's clock.
TEST(Recorder, doesWithoutACounterThatDoesNotKeepTime) {
  static double rate;
  static uint64_t turn, turnTicks;
  rate = 3;
  turn = now();
  turnTicks = 0;
  fakeTicks = [] { return turnTicks + uint64_t(rate * double(now() - turn)); };
  if (Clock::best() == Clock::Monotonic)
    GTEST_SKIP() << "this CPU has no counter";
  {
    Session session(RecordLevel::Operation, 1, 2, 32'768);
    auto runFor = [&](uint64_t ns) {
      for (uint64_t end = now() + ns; now() < end;)
        session.run();
    };
    runFor(60'000'000);
    EXPECT_TRUE(session.header().monotonicFrom == ~0u);
    turnTicks = fakeTicks();
    turn = now();
    rate = 6;
    runFor(120'000'000);
    uint32_t first = session.header().monotonicFrom;
    ASSERT_NE(first, ~0u);
    std::vector<Record> records = session.read();
    ASSERT_EQ(session.lost, 0u);
    uint64_t last = 0, checked = 0;
    for (const Record &record : records) {
      if (record.run < first || record.kind != RecordKind::Execute)
        continue;
      EXPECT_GE(record.start, last);
      EXPECT_GE(record.ticks, 20'000u);
      EXPECT_LE(record.start + record.ticks, now());
      last = record.start;
      ++checked;
    }
    EXPECT_GT(checked, 10u);
  }
  fakeTicks = nullptr;
}

namespace {

std::string openingFault(const uint8_t *bytes, size_t size) {
  Recording recording;
  Fault fault;
  return recording.open(bytes, size, fault) ? "" : fault.text;
}

} // namespace

TEST(Recording, isNotTrusted) {
  Session session(RecordLevel::Operation, 1, 2, 4);
  session.run();
  Room &room = session.room;
  auto *header = reinterpret_cast<RecordingHeader *>(room.data());
  auto *rings = reinterpret_cast<RingHeader *>(header + 1);
  EXPECT_EQ(openingFault(room.data(), room.size), "");
  EXPECT_EQ(openingFault(room.data(), 100), "found no recording");
  EXPECT_EQ(openingFault(room.data(), room.size - 1),
            "size: found " + std::to_string(room.size) +
                ", expected no more than there is");
  auto with = [&](auto &field, auto value) {
    auto before = field;
    field = value;
    std::string text = openingFault(room.data(), room.size);
    field = before;
    return text;
  };
  RecordingFacts &facts = header->facts;
  EXPECT_EQ(with(facts.version, 2u), "version: found 2, expected 1");
  EXPECT_EQ(with(facts.recordSize, 24u), "record size: found 24, expected 32");
  EXPECT_EQ(with(facts.numRings, 0u), "rings: found 0, expected 1 to 255");
  EXPECT_EQ(with(facts.numPreparing, 2u),
            "threads that only prepare: found 2, expected less than all");
  EXPECT_EQ(with(facts.numRings, 3u),
            "header size: found 1280, expected that of its rings");
  EXPECT_EQ(with(facts.level, RecordLevel(9)),
            "level: found 9, expected 1 to 3");
  EXPECT_EQ(with(facts.clockSource, Clock::Source(3)),
            "clock: found 3, expected 0 to 2");
  EXPECT_EQ(with(rings[1].capacity, uint64_t(3)),
            "ring's capacity: found 3, expected a power of two, 2 to 2^30");
  EXPECT_EQ(with(rings[1].capacity, uint64_t(8)),
            "ring's offset: found 1408, expected room for its records");
  EXPECT_EQ(with(rings[1].offset, uint64_t(-32)),
            "ring's offset: found 18446744073709551584, expected room for its "
            "records");
  EXPECT_EQ(with(rings[0].offset, uint64_t(1152)),
            "ring's offset: found 1152, expected room for its records");
}

/// For any bytes, reading ends and stays inside.
TEST(Recording, survivesDamage) {
  Session session(RecordLevel::Operation, 1, 2, 4);
  session.run(3);
  std::vector<uint8_t> good(session.room.data(),
                            session.room.data() + session.room.size);
  std::mt19937 random(1);
  unsigned opened = 0;
  for (int i = 0; i < 20'000; ++i) {
    Room room(good.size());
    memcpy(room.data(), good.data(), good.size());
    for (int k = 0; k < 4; ++k)
      room.data()[random() % good.size()] = uint8_t(random());
    Recording recording;
    Fault fault;
    if (!recording.open(room.data(), room.size, fault))
      continue;
    ++opened;
    Record out[16];
    uint64_t lost = 0;
    for (uint32_t ring = 0; ring < recording.facts().numRings; ++ring)
      EXPECT_LE(recording.read(ring, out, 16, lost), 16u);
  }
  EXPECT_GT(opened, 1000u);
}
