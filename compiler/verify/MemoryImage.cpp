//===- MemoryImage.cpp - The contents of a memory's bytes -----------------===//

#include "compiler/verify/MemoryImage.h"

#include <algorithm>
#include <cassert>

using namespace nnv12;

void nnv12::append(Runs &runs, const Run &run) {
  if (run.begin == run.end)
    return;
  assert(run.begin < run.end && "a run has bytes");
  assert((runs.empty() || runs.back().end <= run.begin) && "runs are sorted");
  if (!runs.empty() && runs.back().end == run.begin &&
      runs.back().contentAt(run.begin) == run.content)
    runs.back().end = run.end;
  else
    runs.push_back(run);
}

/// Appends the part of `run` inside of [begin, end), counted from `begin`.
static void appendPart(Runs &runs, const Run &run, uint64_t begin,
                       uint64_t end) {
  uint64_t from = std::max(begin, run.begin), to = std::min(end, run.end);
  if (from < to)
    append(runs, {from - begin, to - begin, run.contentAt(from)});
}

Runs nnv12::cut(const Runs &runs, uint64_t begin, uint64_t end) {
  Runs result;
  auto it = std::partition_point(runs.begin(), runs.end(), [&](const Run &run) {
    return run.end <= begin;
  });
  for (; it != runs.end() && it->begin < end; ++it)
    appendPart(result, *it, begin, end);
  return result;
}

Difference nnv12::firstDifference(const Runs &first, const Runs &second,
                                  uint64_t size) {
  auto a = first.begin(), b = second.begin();
  for (uint64_t at = 0; at < size;) {
    while (a != first.end() && a->end <= at)
      ++a;
    while (b != second.end() && b->end <= at)
      ++b;
    Difference d{at, size};
    if (a != first.end() && a->begin <= at)
      d.first = a->contentAt(at);
    if (b != second.end() && b->begin <= at)
      d.second = b->contentAt(at);
    if (a != first.end())
      d.end = std::min(d.end, d.first ? a->end : a->begin);
    if (b != second.end())
      d.end = std::min(d.end, d.second ? b->end : b->begin);
    if (!(d.first == d.second))
      return d;
    // Where both hold nothing there is no difference either.
    at = d.end;
  }
  return {};
}

void MemoryImage::split(uint64_t at) {
  auto it = runs.upper_bound(at);
  if (it == runs.begin())
    return;
  Run &run = std::prev(it)->second;
  if (run.begin == at || run.end <= at)
    return;
  runs.emplace_hint(it, at, Run{at, run.end, run.contentAt(at)});
  run.end = at;
}

void MemoryImage::erase(uint64_t begin, uint64_t end) {
  if (begin >= end)
    return;
  split(begin);
  split(end);
  runs.erase(runs.lower_bound(begin), runs.lower_bound(end));
}

void MemoryImage::write(uint64_t begin, uint64_t end, Content content) {
  erase(begin, end);
  if (begin < end)
    runs[begin] = {begin, end, content};
}

void MemoryImage::write(uint64_t at, const Runs &runs) {
  for (const Run &run : runs)
    write(at + run.begin, at + run.end, run.content);
}

Runs MemoryImage::read(uint64_t begin, uint64_t end) const {
  Runs result;
  auto it = runs.upper_bound(begin);
  if (it != runs.begin())
    --it;
  for (; it != runs.end() && it->first < end; ++it)
    appendPart(result, it->second, begin, end);
  return result;
}
