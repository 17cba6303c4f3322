//===- Elimination.cpp - The least sum of small tables --------------------===//

#include "compiler/search/Elimination.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <limits>
#include <set>

namespace nnv12::search {

Elimination::Elimination(std::vector<uint32_t> sizes)
    : sizes(std::move(sizes)) {
  assert(std::count(this->sizes.begin(), this->sizes.end(), 0u) == 0 &&
         "each variable has a value");
}

void Elimination::add(const std::vector<uint32_t> &variables,
                      const std::vector<double> &costs) {
  assert(std::is_sorted(variables.begin(), variables.end()) && "ascending");
  // Variables that cannot vary connect nothing.
  std::vector<uint32_t> scope;
  size_t entries = 1;
  for (uint32_t v : variables) {
    entries *= sizes[v];
    if (sizes[v] > 1)
      scope.push_back(v);
  }
  assert(entries == costs.size() && "a cost for each combination");
  auto [at, isNew] = addedAt.try_emplace(scope, added.size());
  if (isNew)
    added.push_back({scope, std::vector<double>(costs.size(), 0)});
  for (size_t k = 0; k < costs.size(); ++k) {
    assert(costs[k] >= 0 && "so that sums have a least");
    added[at->second].costs[k] += costs[k];
  }
}

/// The order of elimination, on scopes alone.
class Elimination::Order {
public:
  Order(const Elimination &problem, uint64_t largest)
      : problem(problem), largest(largest), neighbours(problem.sizes.size()),
        tablesOf(problem.sizes.size()), keys(problem.sizes.size()) {
    for (const Table &table : problem.added)
      put(table.scope);
    for (std::vector<uint32_t> &list : neighbours) {
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
    }
    // One that cannot vary is in no table.
    for (uint32_t v = 0; v < keys.size(); ++v)
      if (problem.sizes[v] > 1)
        queue.insert(keys[v] = keyOf(v));
  }

  Outline run(uint64_t &steps) {
    while (!queue.empty())
      eliminate(uint32_t((*queue.begin())[2]));
    steps += counted;
    return std::move(outline);
  }

private:
  /// Whether its table is too large; fill, or the number of neighbours where it
  /// is too large; variable.
  using Key = std::array<uint64_t, 3>;

  bool adjacent(uint32_t a, uint32_t b) const {
    return std::binary_search(neighbours[a].begin(), neighbours[a].end(), b);
  }

  /// Entries of a table, or `largest` + 1 if there are more.
  uint64_t entriesOf(const std::vector<uint32_t> &scope) const {
    uint64_t entries = 1;
    for (uint32_t v : scope)
      if ((entries *= problem.sizes[v]) > largest)
        return largest + 1;
    return entries;
  }

  Key keyOf(uint32_t v) {
    const std::vector<uint32_t> &around = neighbours[v];
    ++counted;
    if (entriesOf(around) > largest)
      return {1, around.size(), v};
    uint64_t fill = 0;
    for (size_t a = 0; a < around.size(); ++a)
      for (size_t b = a + 1; b < around.size(); ++b)
        if (!adjacent(around[a], around[b]))
          fill += uint64_t(problem.sizes[around[a]]) * problem.sizes[around[b]];
    counted += around.size() * around.size() / 2;
    return {0, fill, v};
  }

  void renew(uint32_t v) {
    queue.erase(keys[v]);
    queue.insert(keys[v] = keyOf(v));
  }

  /// Registers a table; its number follows the last one's.
  void put(const std::vector<uint32_t> &scope) {
    for (uint32_t v : scope) {
      tablesOf[v].push_back(uint32_t(scopes.size()));
      if (outline.buckets.empty())
        for (uint32_t other : scope)
          if (other != v)
            neighbours[v].push_back(other);
    }
    scopes.push_back(scope);
    used.push_back(false);
  }

  void connect(uint32_t a, uint32_t b) {
    auto insert = [](std::vector<uint32_t> &list, uint32_t v) {
      list.insert(std::lower_bound(list.begin(), list.end(), v), v);
    };
    insert(neighbours[a], b);
    insert(neighbours[b], a);
  }

  /// Tables go where they fit, the largest scopes first.
  std::vector<MiniBucket> parts(uint32_t v) {
    std::vector<uint32_t> tables;
    for (uint32_t table : tablesOf[v])
      if (!used[table])
        tables.push_back(table);
    std::stable_sort(tables.begin(), tables.end(), [&](uint32_t a, uint32_t b) {
      return scopes[a].size() > scopes[b].size();
    });
    std::vector<MiniBucket> result;
    for (uint32_t table : tables) {
      used[table] = true;
      std::vector<uint32_t> scope = scopes[table];
      scope.erase(std::find(scope.begin(), scope.end(), v));
      auto fits = [&](const MiniBucket &part) {
        ++counted;
        return entriesOf(joined(part.scope, scope)) <= largest;
      };
      auto part = std::find_if(result.begin(), result.end(), fits);
      if (part == result.end())
        result.push_back({{table}, std::move(scope)});
      else {
        part->tables.push_back(table);
        part->scope = joined(part->scope, scope);
      }
    }
    return result;
  }

  static std::vector<uint32_t> joined(const std::vector<uint32_t> &a,
                                      const std::vector<uint32_t> &b) {
    std::vector<uint32_t> result;
    std::set_union(a.begin(), a.end(), b.begin(), b.end(),
                   std::back_inserter(result));
    return result;
  }

  void eliminate(uint32_t v) {
    queue.erase(keys[v]);
    Bucket bucket = {v, parts(v)};
    outline.exact &= bucket.parts.size() <= 1;
    std::vector<uint32_t> around = std::move(neighbours[v]);
    neighbours[v].clear();
    std::set<uint32_t> changed(around.begin(), around.end());
    for (uint32_t other : around) {
      std::vector<uint32_t> &list = neighbours[other];
      list.erase(std::lower_bound(list.begin(), list.end(), v));
    }
    outline.buckets.push_back(bucket);
    for (const MiniBucket &part : bucket.parts) {
      put(part.scope);
      uint64_t entries = 1;
      for (uint32_t other : part.scope)
        entries *= problem.sizes[other];
      outline.entries += entries;
      outline.steps += entries * problem.sizes[v] * part.tables.size();
      for (size_t a = 0; a < part.scope.size(); ++a)
        for (size_t b = a + 1; b < part.scope.size(); ++b) {
          uint32_t x = part.scope[a], y = part.scope[b];
          if (adjacent(x, y))
            continue;
          connect(x, y);
          // Those beside both lack a pair less.
          std::set_intersection(neighbours[x].begin(), neighbours[x].end(),
                                neighbours[y].begin(), neighbours[y].end(),
                                std::inserter(changed, changed.end()));
        }
    }
    for (uint32_t other : changed)
      renew(other);
  }

  const Elimination &problem;
  uint64_t largest;
  std::vector<std::vector<uint32_t>> neighbours; ///< ascending
  std::vector<std::vector<uint32_t>> tablesOf;   ///< used ones included
  std::vector<std::vector<uint32_t>> scopes;     ///< by table
  std::vector<uint8_t> used;                     ///< by table
  std::vector<Key> keys;                         ///< as in the queue
  std::set<Key> queue;
  Outline outline;
  uint64_t counted = 0;
};

Elimination::Outline Elimination::outline(uint64_t largest,
                                          uint64_t &steps) const {
  return Order(*this, largest).run(steps);
}

Elimination::Table
Elimination::minimized(const Tables &tables, uint32_t variable,
                       const std::vector<uint32_t> &scope) const {
  size_t count = tables.size(), depth = scope.size();
  // How far a step of each variable goes in each table; the eliminated variable
  // is the last.
  std::vector<size_t> strides((depth + 1) * count, 0);
  for (size_t t = 0; t < count; ++t) {
    size_t stride = 1;
    const std::vector<uint32_t> &own = tables[t]->scope;
    for (size_t k = own.size(); k-- > 0;) {
      size_t place =
          own[k] == variable
              ? depth
              : size_t(std::lower_bound(scope.begin(), scope.end(), own[k]) -
                       scope.begin());
      strides[place * count + t] = stride;
      stride *= sizes[own[k]];
    }
  }
  size_t entries = 1;
  for (uint32_t v : scope)
    entries *= sizes[v];
  Table result = {scope, std::vector<double>(entries)};
  std::vector<uint32_t> values(depth, 0);
  std::vector<size_t> offsets(count, 0);
  const size_t *own = &strides[depth * count];
  for (size_t entry = 0; entry < entries; ++entry) {
    double least = std::numeric_limits<double>::infinity();
    for (uint32_t value = 0; value < sizes[variable]; ++value) {
      double sum = 0;
      for (size_t t = 0; t < count; ++t)
        sum += tables[t]->costs[offsets[t] + value * own[t]];
      least = std::min(least, sum);
    }
    result.costs[entry] = least;
    for (size_t k = depth; k-- > 0;) {
      const size_t *step = &strides[k * count];
      if (++values[k] < sizes[scope[k]]) {
        for (size_t t = 0; t < count; ++t)
          offsets[t] += step[t];
        break;
      }
      values[k] = 0;
      for (size_t t = 0; t < count; ++t)
        offsets[t] -= step[t] * (sizes[scope[k]] - 1);
    }
  }
  return result;
}

double Elimination::at(const Table &table,
                       const std::vector<uint32_t> &values) const {
  size_t entry = 0;
  for (uint32_t v : table.scope)
    entry = entry * sizes[v] + values[v];
  return table.costs[entry];
}

Elimination::Solution Elimination::solve(const Outline &outline) const {
  std::vector<Table> results;
  size_t count = 0;
  for (const Bucket &bucket : outline.buckets)
    count += bucket.parts.size();
  results.reserve(count);
  auto tablesOf = [&](const MiniBucket &part) {
    Tables tables;
    for (uint32_t t : part.tables)
      tables.push_back(t < added.size() ? &added[t]
                                        : &results[t - added.size()]);
    return tables;
  };
  Solution solution;
  for (const Table &table : added)
    if (table.scope.empty())
      solution.least += table.costs[0];
  for (const Bucket &bucket : outline.buckets)
    for (const MiniBucket &part : bucket.parts) {
      results.push_back(minimized(tablesOf(part), bucket.variable, part.scope));
      if (part.scope.empty())
        solution.least += results.back().costs[0];
    }
  solution.values.assign(sizes.size(), 0);
  // The last one eliminated depends on no other; each before it on later ones.
  for (size_t b = outline.buckets.size(); b-- > 0;) {
    const Bucket &bucket = outline.buckets[b];
    double least = std::numeric_limits<double>::infinity();
    uint32_t best = 0;
    for (uint32_t value = 0; value < sizes[bucket.variable]; ++value) {
      solution.values[bucket.variable] = value;
      double sum = 0;
      for (const MiniBucket &part : bucket.parts)
        for (const Table *table : tablesOf(part))
          sum += at(*table, solution.values);
      if (sum < least) {
        least = sum;
        best = value;
      }
    }
    solution.values[bucket.variable] = best;
  }
  return solution;
}

} // namespace nnv12::search
