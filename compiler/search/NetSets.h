//===- NetSets.h - A net as costs of few variables each ---------*- C++ -*-===//
//
// The variables: the signature of each layer, and for each value the set of
// schemas in which it is wanted. The costs are pairwise, however many layers
// read a value and however many values a layer reads:
//
//   layer                 its signature's cost
//   producer and set      the least adapts from the produced schema to the set
//   reader and set        impossible where the set lacks a wanted schema
//
// Values of which the same layers want the same have one set in common. Where
// the wishes for one value are among those for another, as where layers of a
// dense block each concatenate all before, the larger set contains the smaller
// one, and that one relation stands for all the readers in common:
//
//   set and larger set    impossible where the larger lacks one of the other's
//
// Without it dense blocks would be nearly complete graphs, with it they are
// chains.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_SEARCH_NETSETS_H
#define NNV12_COMPILER_SEARCH_NETSETS_H

#include "compiler/search/DeadEnds.h"
#include "compiler/search/Elimination.h"

namespace nnv12::search {

/// The costs of a net whose layers have live signatures. The first variables
/// are the layers, their values the positions of live signatures.
Elimination eliminationOf(const NetView &view, const LiveSignatures &live);

} // namespace nnv12::search

#endif // NNV12_COMPILER_SEARCH_NETSETS_H
