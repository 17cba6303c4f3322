//===- Matrix.cpp - Matrix products ---------------------------------------===//

#include "compiler/import/ops/Products.h"

#include "compiler/import/OpTable.h"
#include "compiler/import/ops/Activation.h"

#include <cassert>
#include <map>
#include <numeric>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

static bool checkProduct(Node &n, Value lhs, Value rhs) {
  if (n.failed())
    return false;
  int64_t k = n.dim(lhs, n.rank(lhs) - 1);
  int64_t other = n.dim(rhs, std::max<int64_t>(n.rank(rhs) - 2, 0));
  if (n.rank(lhs) < 1 || n.rank(rhs) < 1 || k != other)
    return n.refuse("matrices " + str(n.shape(lhs)) + " and " +
                        str(n.shape(rhs)),
                    "inner dimensions that agree");
  return true;
}

Value importer::numpyMatmul(Node &n, Value lhs, Value rhs, Type element,
                            llvm::function_ref<Value(Value, Value)> product) {
  if (!checkProduct(n, lhs, rhs))
    return {};
  bool leftVector = n.rank(lhs) == 1, rightVector = n.rank(rhs) == 1;
  if (leftVector)
    lhs = n.unsqueeze(lhs, {0});
  if (rightVector)
    rhs = n.unsqueeze(rhs, {1});
  Ints l = n.shape(lhs), r = n.shape(rhs);
  if (n.failed())
    return {};
  Ints result = n.broadcastShape(ArrayRef<int64_t>(l).drop_back(2),
                                 ArrayRef<int64_t>(r).drop_back(2));
  result.push_back(l[l.size() - 2]);
  result.push_back(r.back());
  if (!n.type(result, element))
    return {};
  Value y = product(lhs, rhs);
  Ints s = n.shape(y);
  if (n.failed())
    return {};
  if (rightVector)
    s.erase(s.end() - 1);
  if (leftVector)
    s.erase(s.end() - (rightVector ? 1 : 2));
  return n.reshape(y, s);
}

Value importer::numpyMatmul(Node &n, Value lhs, Value rhs) {
  return numpyMatmul(n, lhs, rhs, n.elem(lhs),
                     [&](Value l, Value r) { return n.matmul(l, r); });
}

static void matmul(Node &n) {
  if (n.expectTypeOf(0, {1}))
    n.out(numpyMatmul(n, n.in(0), n.in(1)));
}

/// alpha * A' * B' + beta * C. The factors go into constants where they can.
static Value gemmOf(Node &n) {
  Value a = n.in(0), b = n.in(1), c = n.optional(2);
  bool transA = n.intAttr("transA", 0) != 0,
       transB = n.intAttr("transB", 0) != 0;
  double alpha = n.floatAttr("alpha", 1), beta = n.floatAttr("beta", 1);
  if (!n.expectTypeOf(0, {1, 2}))
    return {};
  if (!n.expectRank(a, 2, 2, "A") || !n.expectRank(b, 2, 2, "B"))
    return {};
  int64_t m = n.dim(a, transA ? 1 : 0), k = n.dim(a, transA ? 0 : 1);
  int64_t k2 = n.dim(b, transB ? 1 : 0), cols = n.dim(b, transB ? 0 : 1);
  if (k != k2)
    return n.refuse("matrices " + str(n.shape(a)) + " and " + str(n.shape(b)),
                    "inner dimensions that agree");
  if (!n.type({m, cols}, n.elem(a)))
    return {};
  if (c && beta != 1)
    c = n.mul(c, beta);
  if (c && n.broadcastShape(n.shape(c), {m, cols}) != Ints{m, cols})
    return n.refuse("C of shape " + str(n.shape(c)),
                    "one that broadcasts to " + str({m, cols}));
  if (alpha != 1) {
    Value &scaled = n.isConstant(b) ? b : a; // a constant folds
    scaled = n.mul(scaled, alpha);
  }
  return n.matmul(a, b, beta == 0 ? Value() : c, transA, transB);
}

static void gemm(Node &n) { n.out(gemmOf(n)); }

static void fusedGemm(Node &n) {
  Value y = gemmOf(n);
  Doubles given;
  for (const char *name :
       {"activation_alpha", "activation_beta", "activation_gamma"})
    if (n.hasAttr(name))
      given.push_back(n.floatAttr(name, 0));
  n.out(activated(n, y, given));
}

/// The dimensions [rows, batch..., columns] as [batch..., rows, columns], if
/// that is asked for, and then the last two exchanged.
static Value transposed(Node &n, Value x, bool batch, bool matrix) {
  int64_t rank = n.rank(x);
  if (n.failed() || rank < 2)
    return x;
  Ints perm = llvm::to_vector(llvm::seq<int64_t>(rank));
  if (batch)
    std::rotate(perm.begin(), perm.begin() + 1, perm.end() - 1);
  if (matrix)
    std::swap(perm[rank - 2], perm[rank - 1]);
  return n.transpose(x, perm);
}

/// alpha * A' * B'. A vector is not transposed.
static void fusedMatmul(Node &n) {
  if (!n.expectTypeOf(0, {1}))
    return;
  Value a = transposed(n, n.in(0), n.intAttr("transBatchA", 0) != 0,
                       n.intAttr("transA", 0) != 0);
  Value b = transposed(n, n.in(1), n.intAttr("transBatchB", 0) != 0,
                       n.intAttr("transB", 0) != 0);
  double alpha = n.floatAttr("alpha", 1);
  Value y = numpyMatmul(n, a, b);
  n.out(alpha == 1 ? y : n.mul(y, alpha));
}

//===----------------------------------------------------------------------===//
// Einsum
//===----------------------------------------------------------------------===//

namespace {
/// A tensor whose dimensions have names; those of an ellipsis are 1, 2, … from
/// the last backwards, so that they broadcast.
struct Labelled {
  Value value;
  std::string labels;
};

/// Evaluates terms from left to right, each step a batched matrix product.
class Einsum {
public:
  explicit Einsum(Node &node) : n_(node) {}

  Value run(std::string equation, ArrayRef<Value> operands) {
    llvm::erase(equation, ' ');
    size_t arrow = equation.find("->");
    std::string terms = equation.substr(0, arrow);
    SmallVector<StringRef> parts;
    StringRef(terms).split(parts, ',');
    if (parts.size() != operands.size())
      return bad(equation);
    SmallVector<Labelled> labelled;
    for (auto [part, value] : llvm::zip(parts, operands)) {
      Labelled l{value, expand(part.str(), n_.rank(value))};
      if (n_.failed() || l.labels.size() != size_t(n_.rank(value)))
        return bad(equation);
      for (auto [i, c] : llvm::enumerate(l.labels)) {
        int64_t d = n_.dim(value, i);
        auto [it, isNew] = sizes_.try_emplace(c, d);
        if (!isNew && it->second != d && it->second != 1 && d != 1)
          return n_.refuse("dimensions of different sizes for one index in '" +
                               equation + "'",
                           "one size");
        it->second = std::max(it->second, d);
      }
      labelled.push_back(diagonals(std::move(l)));
    }
    std::string result =
        expand(arrow == std::string::npos ? implicit(terms)
                                          : equation.substr(arrow + 2),
               -1);
    std::string seen;
    for (char c : result) {
      if (!sizes_.count(c) || seen.find(c) != std::string::npos)
        return bad(equation);
      seen += c;
    }
    Labelled left = labelled[0];
    for (size_t i = 1; i < labelled.size(); ++i) {
      std::string later = result;
      for (size_t k = i + 1; k < labelled.size(); ++k)
        later += labelled[k].labels;
      left = contract(left, labelled[i], later);
    }
    left = sumOut(left, result);
    Ints target;
    for (char c : result)
      target.push_back(sizes_[c]);
    return n_.broadcast(arrange(left, result), target);
  }

private:
  Value bad(const std::string &equation) {
    return n_.refuse("equation '" + equation + "'",
                     "one that fits the operands");
  }

  /// Replaces "..." by names of its dimensions.
  std::string expand(std::string labels, int64_t rank) {
    size_t dots = labels.find("...");
    for (size_t i = 0; i < labels.size(); ++i)
      if (!(dots != std::string::npos && i >= dots && i < dots + 3) &&
          !isalpha(static_cast<unsigned char>(labels[i])))
        n_.fail("'" + labels + "' in the equation", "letters");
    if (dots == std::string::npos || n_.failed())
      return labels;
    int64_t count = rank < 0 ? ellipsis_ : rank - int64_t(labels.size() - 3);
    if (count < 0 || count > 30) {
      n_.fail("'" + labels + "' for rank " + Twine(rank), "fewer indices");
      return labels;
    }
    ellipsis_ = std::max(ellipsis_, count);
    std::string names;
    for (int64_t i = count; i > 0; --i)
      names += char(i);
    return labels.replace(dots, 3, names);
  }

  /// All labels met once, in alphabetical order, after the ellipsis.
  std::string implicit(const std::string &terms) {
    std::map<char, int> counts;
    for (char c : terms)
      if (isalpha(static_cast<unsigned char>(c)))
        ++counts[c];
    std::string result = "...";
    for (auto [c, count] : counts)
      if (count == 1)
        result += c;
    return result;
  }

  /// A label that comes twice takes the diagonal of its two dimensions.
  Labelled diagonals(Labelled l) {
    for (size_t i = 0; i < l.labels.size(); ++i) {
      size_t j = l.labels.find(l.labels[i], i + 1);
      if (j == std::string::npos || n_.failed())
        continue;
      // Multiply by the identity and add up the second dimension.
      int64_t size = n_.dim(l.value, i);
      Ints eye(l.labels.size(), 1);
      eye[i] = eye[j] = size;
      Value mask = n_.generate(eye, n_.i1(), [&](int64_t k) {
        return k % size == k / size ? 1.0 : 0.0;
      });
      l.value = n_.select(mask, l.value, n_.scalar(n_.elem(l.value), 0));
      l.value = n_.reduce(ReduceKind::sum, l.value, {int64_t(j)}, false);
      l.labels.erase(j, 1);
      --i;
    }
    return l;
  }

  [[maybe_unused]] bool hasLabels(const Labelled &l) const {
    return n_.failed() || l.labels.size() == size_t(n_.rank(l.value));
  }

  /// Broadcasts dimension `d` to the size that its label has.
  void widen(Labelled &l, size_t d) {
    Ints s = n_.shape(l.value);
    if (n_.failed() || s[d] == sizes_[l.labels[d]])
      return;
    s[d] = sizes_[l.labels[d]];
    l.value = n_.broadcast(l.value, s);
  }

  Labelled sumOut(Labelled l, const std::string &keep) {
    assert(hasLabels(l) && "a label for each dimension");
    Ints axes;
    std::string left;
    for (auto [i, c] : llvm::enumerate(l.labels))
      if (keep.find(c) == std::string::npos)
        axes.push_back(i);
      else
        left += c;
    // Indices that broadcast here count as often as their real size.
    for (int64_t a : axes)
      widen(l, a);
    l.value = n_.reduce(ReduceKind::sum, l.value, axes, false);
    l.labels = left;
    return l;
  }

  /// The value with exactly these labels in order; absent ones have size one.
  Value arrange(const Labelled &l, const std::string &labels) {
    assert(hasLabels(l) && "a label for each dimension");
    Ints perm, s;
    for (char c : labels) {
      size_t at = l.labels.find(c);
      s.push_back(at == std::string::npos ? 1 : n_.dim(l.value, at));
      if (at != std::string::npos)
        perm.push_back(at);
    }
    return n_.reshape(n_.transpose(l.value, perm), s);
  }

  int64_t product(const std::string &labels, Value v,
                  const std::string &dimensions) {
    int64_t p = 1;
    for (auto [i, c] : llvm::enumerate(dimensions))
      if (StringRef(labels).contains(c))
        p *= n_.dim(v, i);
    return p;
  }

  /// left · right, keeping the labels in `later`.
  Labelled contract(Labelled l, Labelled r, const std::string &later) {
    auto in = [](char c, StringRef s) { return s.contains(c); };
    // Labels that only one side has and nobody needs are added up first.
    l = sumOut(l, later + r.labels);
    r = sumOut(r, later + l.labels);
    std::string batch, rows, columns, inner;
    for (char c : l.labels)
      (!in(c, r.labels) ? rows : in(c, later) ? batch : inner) += c;
    for (char c : r.labels)
      if (!in(c, l.labels))
        columns += c;
    for (char c : inner) { // both sides must have the full size
      widen(l, l.labels.find(c));
      widen(r, r.labels.find(c));
    }
    Value x = arrange(l, batch + rows + inner);
    Value y = arrange(r, batch + inner + columns);
    if (n_.failed())
      return l;
    Ints xs, ys, result;
    for (char c : batch) {
      xs.push_back(n_.dim(l.value, l.labels.find(c)));
      ys.push_back(n_.dim(r.value, r.labels.find(c)));
      result.push_back(std::max(xs.back(), ys.back()));
    }
    int64_t m = product(rows, l.value, l.labels);
    int64_t k = product(inner, l.value, l.labels);
    int64_t cols = product(columns, r.value, r.labels);
    xs.append({m, k});
    ys.append({k, cols});
    for (char c : rows)
      result.push_back(n_.dim(l.value, l.labels.find(c)));
    for (char c : columns)
      result.push_back(n_.dim(r.value, r.labels.find(c)));
    x = n_.reshape(x, xs);
    y = n_.reshape(y, ys);
    // 8-bit integers wrap around as the equation's other steps do.
    Value z = inner.empty() && (m == 1 || cols == 1)
                  ? n_.mul(x, y)
                  : n_.cast(n_.matmul(x, y), n_.elem(x));
    return {n_.reshape(z, result), batch + rows + columns};
  }

  Node &n_;
  std::map<char, int64_t> sizes_;
  int64_t ellipsis_ = 0;
};
} // namespace

static void einsum(Node &n) {
  Values operands = n.variadic();
  if (operands.empty())
    return n.fail("no inputs", "at least one");
  n.out(Einsum(n).run(n.stringAttr("equation", ""), operands));
}

//===----------------------------------------------------------------------===//
// Determinant and inverse
//===----------------------------------------------------------------------===//

/// By cofactors along the first row, for small matrices [batch, k, k].
static Value determinant(Node &n, Value x, int64_t k) {
  assert((n.failed() || (n.dim(x, 1) == k && n.dim(x, 2) == k)) && k >= 1 &&
         "the caller has looked");
  if (k == 1)
    return n.reshape(x, {n.dim(x, 0)});
  Value below = n.slice(x, 1, 1, k - 1), sum;
  for (int64_t c = 0; c < k; ++c) {
    Values rest;
    if (c > 0)
      rest.push_back(n.slice(below, 2, 0, c));
    if (c + 1 < k)
      rest.push_back(n.slice(below, 2, c + 1, k - c - 1));
    Value minor = determinant(n, n.concat(rest, 2), k - 1);
    Value factor =
        n.reshape(n.slice(n.slice(x, 1, 0, 1), 2, c, 1), {n.dim(x, 0)});
    Value term = n.mul(factor, minor);
    sum = c == 0 ? term : c % 2 ? n.sub(sum, term) : n.add(sum, term);
  }
  return sum;
}

/// Gauss and Jordan's elimination with the largest pivot of each column, for
/// matrices [batch, k, k].
static Value inverted(Node &n, Value x, int64_t batch, int64_t k) {
  Type type = n.elem(x);
  Value eye =
      n.generate({1, k, k}, type, [&](int64_t i) { return i / k == i % k; });
  Value both = n.concat({x, n.broadcast(eye, {batch, k, k})}, 2);
  Value rows = n.generate({1, k, 1}, n.i64(), [](int64_t i) { return i; });
  for (int64_t step = 0; step < k && !n.failed(); ++step) {
    Value column = n.slice(both, 2, step, 1);
    Value size = n.slice(n.unary(UnaryKind::abs, column), 1, step, k - step);
    Value largest =
        n.add(n.argReduce(ReduceKind::max, size, 1, /*keepDims=*/true,
                          /*selectLast=*/false),
              n.scalar(n.i64(), step)); // [batch, 1, 1]
    Value isPivot = n.binary(BinaryKind::equal, rows, largest);
    Value isHere = n.binary(BinaryKind::equal, rows, n.scalar(n.i64(), step));
    // The only summand that is not zero is the pivot's row.
    Value zero = n.scalar(type, 0);
    Value pivotRow = n.reduce(ReduceKind::sum, n.select(isPivot, both, zero),
                              {1}, /*keepDims=*/true);
    Value displaced = n.slice(both, 1, step, 1);
    both = n.select(isPivot, displaced, both);
    pivotRow = n.div(pivotRow, n.slice(pivotRow, 2, step, 1));
    Value factors = n.slice(both, 2, step, 1);
    both = n.select(isHere, pivotRow, n.sub(both, n.mul(factors, pivotRow)));
  }
  return n.slice(both, 2, k, k);
}

static void inverse(Node &n) {
  Value x = n.in(0);
  if (!n.expectRank(x, 2, 64, "an input"))
    return;
  Ints s = n.shape(x);
  int64_t k = s.back();
  if (s[s.size() - 2] != k || k > 64)
    return n.fail("matrices " + str(s), "square ones, at most 64x64");
  if (n.size(x) == 0)
    return n.out(x);
  int64_t batch = n.size(x) / (k * k);
  // Half precision is too coarse for the steps between.
  Value wide = n.elem(x).isF64() ? x : n.cast(x, n.f32());
  Value y = inverted(n, n.reshape(wide, {batch, k, k}), batch, k);
  n.out(n.cast(n.reshape(y, s), n.elem(x)));
}

static void det(Node &n) {
  Value x = n.in(0);
  if (!n.expectRank(x, 2, 64, "an input"))
    return;
  Ints s = n.shape(x);
  int64_t k = s.pop_back_val();
  if (s.pop_back_val() != k || k < 1 || k > 4)
    return n.fail("matrices " + str(n.shape(x)), "square ones, at most 4x4");
  Value flat = n.reshape(x, {n.size(x) / (k * k), k, k});
  n.out(n.reshape(determinant(n, flat, k), s));
}

OpRows importer::matrixOps() {
  constexpr TypeSet kMatrix = kFloats | kInt32 | kInt64 | kUInt32 | kUInt64;
  static const OpRow rows[] = {
      {"Det", 11, kFloats, det, "at most 4x4"},
      {"Einsum", 12, kNumbers, einsum},
      microsoftOp("FusedGemm", kFloats, fusedGemm),
      microsoftOp("FusedMatMul", kFloats, fusedMatmul),
      {"Gemm", 1, kMatrix, gemm},
      microsoftOp("Inverse", kFloats, inverse, "at most 64x64"),
      {"MatMul", 1, kMatrix, matmul},
      microsoftOp("TransposeMatMul", kFloats, fusedMatmul),
  };
  return rows;
}
