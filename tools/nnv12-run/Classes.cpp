//===- Classes.cpp - The first output as a classification -----------------===//
#include "tools/nnv12-run/Classes.h"

#include "tools/common/Files.h"
#include "tools/common/Properties.h"
#include "tools/common/Report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace nnv12::run {

using namespace tools;

std::vector<std::string> chooseLabels(const CommandLine &options,
                                      const Bundle &bundle) {
  std::string from =
      options.labels.empty() ? options.bundle + ": property" : options.labels;
  std::vector<std::string> labels = options.labels.empty()
                                        ? labelsOf(bundle)
                                        : splitLines(readText(options.labels));
  if (!options.labels.empty() && bundle.numOutputs() == 0)
    fail(options.bundle + ": outputs: found none, expected one for --labels");
  if (bundle.numOutputs() == 0 || (options.labels.empty() && labels.empty()))
    return {};
  const nnv12_tensor_info &scores = bundle.output(0);
  size_t count = scores.byte_size / elementSize(scores.type);
  if (labels.size() == count && count)
    return labels;
  if (!options.labels.empty())
    fail(from + ": labels: found " + std::to_string(labels.size()) +
         ", expected the " + std::to_string(count) + " of output '" +
         scores.name + "'");
  // A detector's are for a part of its output: no fault.
  bool isVector =
      scores.rank &&
      count ==
          size_t(*std::max_element(scores.shape, scores.shape + scores.rank));
  if (isVector)
    fprintf(stderr,
            "nnv12-run: %s labels: found %zu, expected the %zu of output "
            "'%s'; they are left alone (--labels takes others)\n",
            from.c_str(), labels.size(), count, scores.name);
  return {};
}

/// Makes probabilities of scores, unless they are some already. Ends the
/// process where scores are no numbers, of which nothing can be made.
static void makeProbabilities(const CommandLine &options, const Bundle &bundle,
                              std::vector<double> &values) {
  auto most = *std::max_element(values.begin(), values.end());
  auto numNan = std::count_if(values.begin(), values.end(),
                              [](double value) { return std::isnan(value); });
  bool hasNone = numNan || !std::isfinite(most);
  if (hasNone)
    fail(options.bundle + ": output '" + bundle.output(0).name + "': found " +
         (numNan ? std::to_string(numNan) + " of " +
                       std::to_string(values.size()) + " scores that are NaN"
                 : std::string("a largest score that is ") +
                       (most > 0 ? "infinite" : "minus infinity")) +
         ", expected numbers");
  double sum = std::accumulate(values.begin(), values.end(), 0.0);
  double least = *std::min_element(values.begin(), values.end());
  if (least >= 0 && std::fabs(sum - 1) <= 0.01)
    return;
  sum = 0;
  for (double &value : values)
    sum += value = std::exp(value - most);
  for (double &value : values)
    value /= sum;
}

std::vector<Class> topClasses(const CommandLine &options, const Bundle &bundle,
                              const Tensor &scores, size_t count) {
  std::vector<double> values(scores.data.size() / elementSize(scores.type));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = elementAt(scores.type, scores.data.data(), i);
  makeProbabilities(options, bundle, values);
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  count = std::min(count, order.size());
  std::partial_sort(order.begin(), order.begin() + ptrdiff_t(count),
                    order.end(),
                    [&](size_t a, size_t b) { return values[a] > values[b]; });
  std::vector<Class> result;
  for (size_t i = 0; i < count; ++i)
    result.push_back({order[i], values[order[i]]});
  return result;
}

} // namespace nnv12::run
