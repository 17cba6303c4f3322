//===- PlanRace.cpp - First inferences of several bundles in turns --------===//

#include "tools/nnv12c/PlanRace.h"

#include "artifact/Digest.h"
#include "tools/nnv12c/Subprogram.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cmath>
#include <limits>

using namespace nnv12;

/// Runs of each bundle, for a median that holds.
static constexpr unsigned rounds = 15;
/// After so many those are given up on whose median is so many times the best.
static constexpr unsigned firstRounds = 5;
static constexpr double clearlyBehind = 1.25;
/// Models that take long vary less: no more rounds begin after this time.
static constexpr std::chrono::seconds longEnough(60);
/// A racer is given up on if one that is as fast as the best would lose so
/// often with this probability at most.
static constexpr double chance = 0.02;
/// After so many the race may end because all that are left are alike: runs
/// vary by more.
static constexpr unsigned enoughRounds = 8;
static constexpr double alike = 1.05;
/// Medians that are so near say less than how late the late runs are.
static constexpr double asFast = 1.01;

Racer *nnv12::fastest(llvm::ArrayRef<Racer *> racers) {
  double least = std::numeric_limits<double>::infinity();
  for (Racer *racer : racers)
    if (racer->hasRun())
      least = std::min(least, racer->median());
  Racer *best = nullptr;
  for (Racer *racer : racers)
    if (racer->hasRun() && racer->median() <= asFast * least &&
        (!best || racer->p90() < best->p90()))
      best = racer;
  assert(best && "one has run");
  return best;
}

bool nnv12::isBeaten(const Racer &racer, const Racer &by) {
  size_t rounds = std::min(racer.milliseconds.size(), by.milliseconds.size());
  size_t wins = 0;
  for (size_t i = 0; i < rounds; ++i)
    wins += racer.milliseconds[i] <= by.milliseconds[i];
  // The sign test: how probable so few wins are of equals.
  double ways = 1, sum = 0;
  for (size_t k = 0; k <= wins; ++k) {
    sum += ways;
    ways *= double(rounds - k) / double(k + 1);
  }
  return sum <= chance * std::pow(2.0, double(rounds));
}

bool nnv12::areAlike(llvm::ArrayRef<Racer *> racers) {
  auto [least, most] =
      std::minmax_element(racers.begin(), racers.end(), [](Racer *a, Racer *b) {
        return a->median() < b->median();
      });
  return racers.empty() || (*most)->median() <= alike * (*least)->median();
}

/// Stands for an application's other work before a first inference: caches hold
/// something else, and free memory is not the memory that was used last.
static void workBetween() {
  static constexpr size_t bytes = 32 << 20;
  std::vector<char> memory(bytes, 1);
  volatile uint8_t used =
      artifact::digestOf(memory.data(), memory.size()).bytes[0];
  (void)used;
}

/// The milliseconds that nnv12-bench has written to `file`.
static std::optional<double> readTime(const std::string &file) {
  auto buffer = llvm::MemoryBuffer::getFile(file);
  if (!buffer)
    return std::nullopt;
  auto json =
      llvm::expectedToOptional(llvm::json::parse((*buffer)->getBuffer()));
  const llvm::json::Object *object = json ? json->getAsObject() : nullptr;
  for (const char *name : {"cold", "stages_ms", "in-process"})
    object = object ? object->getObject(name) : nullptr;
  std::optional<double> time =
      object ? object->getNumber("median") : std::nullopt;
  return time && std::isfinite(*time) && *time > 0 ? time : std::nullopt;
}

/// One cold run; "" or the fault.
static std::string run(Racer &racer, const TemporaryFolder &folder) {
  std::string json = folder.file("cold.json");
  std::string error =
      runSubprogram("nnv12-bench", {racer.bundle, "--cold", "1", "--warm", "0",
                                    "--unbacked", "--json", json});
  if (!error.empty())
    return error;
  std::optional<double> time = readTime(json);
  if (!time)
    return "nnv12-bench: found no time of a cold run in its report";
  racer.milliseconds.push_back(*time);
  return "";
}

std::string nnv12::race(llvm::ArrayRef<Racer *> racers,
                        const TemporaryFolder &folder) {
  for (Racer *racer : racers)
    racer->milliseconds.clear();
  llvm::SmallVector<Racer *> running(racers);
  std::string error;
  auto start = std::chrono::steady_clock::now();
  for (unsigned round = 0; round < rounds; ++round) {
    for (Racer *racer : running) {
      workBetween();
      std::string fault = run(*racer, folder);
      if (fault.empty())
        continue;
      error = fault;
      racer->milliseconds.clear();
    }
    llvm::erase_if(running, [](Racer *racer) { return !racer->hasRun(); });
    if (running.empty())
      return error;
    if (round + 1 < firstRounds)
      continue;
    Racer *best = fastest(running);
    double most = clearlyBehind * best->median();
    llvm::erase_if(running, [&](Racer *racer) {
      return racer->median() > most || isBeaten(*racer, *best);
    });
    if (running.size() < 2 ||
        (round + 1 >= enoughRounds && areAlike(running)) ||
        std::chrono::steady_clock::now() - start > longEnough)
      break;
  }
  return "";
}
