//===- ToleranceChoice.cpp - Which tolerances a clip allows ---------------===//
#include "tools/common/ToleranceChoice.h"

#include <algorithm>
#include <cassert>
#include <cstdio>

namespace nnv12::tools {

std::vector<Tolerances> tolerancesToTry() {
  std::vector<Tolerances> all = {{copiesAlone, copiesAlone, 30}};
  for (float input : {0.025F, 0.05F, 0.1F})
    for (float value : {0.01F, 0.02F, 0.05F, 0.1F})
      for (uint32_t refresh : {6U, 10U, 30U})
        all.push_back({input, value, refresh});
  return all;
}

double ageLimit(double maxAge, double noise) {
  return std::max(maxAge, mostOfNoise * noise);
}

static bool savesEnough(const ToleranceTrial &trial) {
  return trial.saved >= leastSaved;
}

static bool isYoung(const ToleranceTrial &trial, double limit) {
  return trial.age.age <= limit;
}

static bool hasGoodWorst(const ToleranceTrial &trial) {
  return trial.age.worst <= mostOfSkipping * trial.skipping.worst;
}

std::optional<size_t>
chooseTolerances(const std::vector<ToleranceTrial> &trials, double limit) {
  std::optional<size_t> best;
  for (size_t i = 0; i < trials.size(); ++i) {
    const ToleranceTrial &trial = trials[i];
    if (!savesEnough(trial) || !isYoung(trial, limit) || !hasGoodWorst(trial))
      continue;
    if (!best || trial.saved > trials[*best].saved ||
        (trial.saved == trials[*best].saved &&
         trial.age.age < trials[*best].age.age))
      best = i;
  }
  return best;
}

std::string whyNone(const std::vector<ToleranceTrial> &trials, double limit) {
  assert(!trials.empty() && !chooseTolerances(trials, limit));
  double mostSaved = 0;
  const ToleranceTrial *youngest = nullptr, *best = nullptr;
  for (const ToleranceTrial &trial : trials) {
    mostSaved = std::max(mostSaved, trial.saved);
    if (!savesEnough(trial))
      continue;
    if (!youngest || trial.age.age < youngest->age.age)
      youngest = &trial;
    if (isYoung(trial, limit) && (!best || trial.age.worst < best->age.worst))
      best = &trial;
  }
  char text[200];
  if (!youngest)
    snprintf(text, sizeof text,
             "found %.0f %% of the work saved at most, expected %.0f %%",
             100 * mostSaved, 100 * leastSaved);
  else if (!best)
    snprintf(text, sizeof text, "found an age of %.2f, expected at most %.2f",
             youngest->age.age, limit);
  else
    snprintf(text, sizeof text,
             "found a worst frame of %.3g, expected half of the %.3g of "
             "leaving out frames",
             1000 * best->age.worst, 1000 * best->skipping.worst);
  return text;
}

} // namespace nnv12::tools
