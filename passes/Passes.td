//===- Passes.td - Passes on nn layers ---------------------*- tablegen -*-===//
//
// By phase. Pipelines.cpp says in which order they run.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_PASSES_PASSES
#define NNV12_PASSES_PASSES

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// Simplify: whatever the model is compiled for
//===----------------------------------------------------------------------===//

def WidenHalf : Pass<"widen-half", "::mlir::func::FuncOp"> {
  let summary = "compute layers of f16 and bf16 tensors in f32";
  let description = [{
    The templates of hot layers work in f32, and the CPUs that they are made for
    compute 16-bit floats in f32 anyway. Every such layer gets f32 operands and
    results between casts, and casts to 16 bits and back between two of them go:
    that drops a rounding, which makes results more accurate, never less.
    Weights become f32 here, and halves in the file again where they are halves
    ([the plan](#-plan-model)). The model's inputs and outputs keep their type.
  }];
  let statistics = [Statistic<"widenedLayers", "layers",
                              "layers computed in f32 instead">];
}

def SimplifySlices : Pass<"simplify-slices", "::mlir::func::FuncOp"> {
  let summary = "read from where a value is made, not through copies of it";
  let description = [{
    Exporters cut and join tensors for every index of a Python expression. A
    gather with evenly spaced constant indices is a slice; a slice of a concat
    is a slice of what it covers; concats of concats and of neighbouring slices
    are one; a resize or a pool that changes nothing is gone.
  }];
  let statistics = [Statistic<"removed", "removed",
                              "layers fewer than before">];
}

def SinkTransposes : Pass<"sink-transposes", "::mlir::func::FuncOp"> {
  let summary = "move transposes and reshapes down until they cancel";
  let description = [{
    Models converted from NHWC frameworks wrap every convolution in two
    transposes. Each one is moved below the layers that work alike in any order
    of dimensions (element-wise, concat, reduce, slice, pad), where it meets its
    inverse. One that only moves dimensions of size one becomes a reshape; a
    reshape moves below element-wise layers, which so come next to the layer
    they fuse with; a matmul reads a transposed operand as such. Last dimensions
    that are merged for a transpose alone stay apart.
  }];
  let statistics = [Statistic<"removed", "removed",
                              "transposes fewer than before">];
}

def RecognizeFunctions : Pass<"recognize-functions", "::mlir::func::FuncOp"> {
  let summary = "name the functions that exporters spell out in several layers";
  let description = [{
    A layer with a number becomes a function of one operand (x * 2 + 1 is an
    affine, max(x, 0) a relu), and their compositions get a name where they have
    one: clip(x + 3, 0, 6) / 6 is hard_sigmoid, x * f(x) is swish, hard_swish,
    gelu or mish, log(1 + exp(x)) is softplus. A function fuses into the layer
    before it; its spelling would be one or more passes over memory.

    What is named computes what was spelled but for a rounding that no function
    after it can tell: x / 41 stays a quotient, because its integer part at 41
    is 1 and that of x * (1/41) is 0; sums that cancel or round stay as they
    are, and so does what would leave the range of the type.
  }];
  let statistics = [Statistic<"removed", "removed",
                              "layers fewer than before">];
}

def RecognizeNormalize : Pass<"recognize-normalize", "::mlir::func::FuncOp"> {
  let summary = "name layer normalisation that is spelled out";
  let description = [{
    (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon) over trailing
    dimensions is one nn.normalize: one pass over a row that stays in the cache.
  }];
  let statistics = [Statistic<"recognized", "recognized",
                              "nn.normalize layers made">];
}

def NormalizeQuantized : Pass<"normalize-quantized", "::mlir::func::FuncOp"> {
  let summary = "quantise to unsigned bytes, and move them instead of floats";
  let description = [{
    Products of bytes take ui8 and i8, for which x86 has instructions. So
    tensors of i8 inside a model become ui8, with 128 added to the zero point.
    i8 for the rest of the model is one more layer, which cancels with another
    of its kind, with a dequantize, or at a product. It moves on below layers
    that only move elements.

    A layer that moves dequantised elements of one scale (reshape, transpose,
    slice, concat, broadcast, gather, pad with zero, max pool) moves the bytes:
    a quarter of the memory. Bytes that are dequantised and quantised by the
    same scale do not change: each quotient is off an integer by less
    than 2^-14.

    With scales of f16, values between a dequantize or quantize and a layer that
    is computed in f32 are not rounded to f16, as those between such layers
    ([widen-half](#-widen-half)).
  }];
  let statistics =
      [Statistic<"unsignedBytes", "unsigned", "quantizes to ui8 instead of i8">,
       Statistic<"moved", "moved", "layers that move bytes instead of floats">];
}

def FuseQuantized : Pass<"fuse-quantized", "::mlir::func::FuncOp"> {
  let summary = "compute products of dequantised bytes as products of bytes";
  let description = [{
    conv(dequantize x, dequantize w, bias) is an nn.qconv, whose sums are exact
    in 32 bits, and a matmul is an nn.qmatmul. A vector that is added behind it,
    a relu or clip and a quantize become its end; then result, shift and bounds
    count in steps of the result, as in ONNX's QLinearConv: one multiplication
    by (x's scale * w's scale) / result's scale. Bounds that saturation implies
    go. Another function stays one of f32, and is followed by the division that
    QuantizeLinear defines.

    Products whose weights are constants within [-64, 64] are marked
    (`small_weights`).

    Layers of the model that sum up integers (MatMulInteger, ConvInteger) get
    the bias, the scale, the shift, the function and the quantize that follow
    them in the same way, each computed as it was spelled.

    A layer stays one of floats where its operands have several scales along
    other dimensions than the outputs, weights of a convolution are computed, or
    sums may leave 32 bits. With `why-float` a remark says so. Weights of such
    layers become float constants later
    ([dequantize-constants](#-dequantize-constants)). A bias that is quantised
    with another scale than the product of the two is one of floats.

    Runs before the passes that change weights: those would take them off the
    grid of 8 bits.
  }];
  let options = [Option<"whyFloat", "why-float", "bool", /*default=*/"false",
                        "say why layers with dequantised operands stay float">];
  let statistics = [Statistic<"fused", "fused", "products of bytes made">];
}

def DequantizeConstants : Pass<"dequantize-constants", "::mlir::func::FuncOp"> {
  let summary = "make float constants of those that are dequantised";
  let description = [{
    No constant is dequantised at run time, whatever its size: neither weights
    of layers that stay float nor biases and tables. The plan finds that they
    lie on a grid of 8 bits and stores them so. Runs before fold-scale with
    `keep-weights`, so that it multiplies the scale of weights and not the
    weights, which keeps them on their grid, and after it.
  }];
  let options = [Option<"keepWeights", "keep-weights", "bool",
                        /*default=*/"false",
                        "leave weights of convolutions and matmuls">];
  let statistics = [Statistic<"made", "made", "float constants made">];
}

def SpellRoundTrips : Pass<"spell-round-trips", "::mlir::func::FuncOp"> {
  let summary = "compute a quantize and its dequantize with floats alone";
  let description = [{
    A dequantize of a quantize with the same zero point, a constant, is a
    division, a rounding, a clip and a product, for processors that have no
    integers of 8 bits. Runs where quantised products stay float, after the
    passes that would make the division a part of a product.
  }];
  let statistics = [Statistic<"spelled", "spelled", "dequantizes replaced">];
}

def FoldScale : Pass<"fold-scale", "::mlir::func::FuncOp"> {
  let summary = "fold scales and shifts by channel into weights and bias";
  let description = [{
    Batch normalisation is a scale and a shift by channel. After a convolution
    or a matrix product it multiplies the weights and changes the bias, at
    compile time; before one it does so too, a shift only where every output
    sums all weights (no padding). Computed in double and rounded once. Weights
    that other layers share are left alone unless they are small. So are shifts
    that cancel the bias or round what they are added to, shifts above 16 before
    a layer (x - 1e6 is exact where x is close to it, the sums of its products
    are not), and what would leave the range of the type.
  }];
  let statistics = [Statistic<"foldedAfter", "folded-after",
                              "layers folded into their producer">,
                    Statistic<"foldedBefore", "folded-before",
                              "layers folded into their user">];
}

def FuseActivation : Pass<"fuse-activation", "::mlir::func::FuncOp"> {
  let summary = "fuse a function into the convolution or matmul before it";
  let description = [{
    The value is in a register when the producer stores it: the function costs
    no pass over memory. After a residual it is the residual activation. Runs
    before fuse-residual and again after it, then with `second`: a layer without
    a residual has room for one function more, which would have been in the
    residual's way.
  }];
  let options = [Option<
      "second", "second", "bool", /*default=*/"false",
      "also fuse a second function, as the residual activation">];
  let statistics = [Statistic<"fused", "fused",
                              "functions fused into their producer">];
}

def FuseResidual : Pass<"fuse-residual", "::mlir::func::FuncOp"> {
  let summary =
      "fuse a sum into the convolution or matmul that makes a summand";
  let description = [{
    The other summand becomes the residual operand, added when the result is
    stored. Of two layers that could take it, the later one does, since the
    other's result is there by then.
  }];
  let statistics = [Statistic<"fused", "fused", "sums fused into a producer">];
}

def FusePad : Pass<"fuse-pad", "::mlir::func::FuncOp"> {
  let summary =
      "give constant padding to the convolution or pool that reads it";
  let description = [{
    A convolution pads with zeros by itself. A pool does so where the result is
    the same: a max pool pads with -inf, so that zeros go in only beside
    elements known to be zero or more; an average pool counts the padding.
  }];
  let statistics = [Statistic<"fused", "fused", "pads given to their user">];
}

def TrimWindow : Pass<"trim-window", "::mlir::func::FuncOp"> {
  let summary = "leave out the taps of a convolution that see padding alone";
  let description = [{
    With a dilation as large as the map, as in the last layers of segmentation
    models (atrous spatial pyramids), the outer taps of a window never meet an
    element of the input: a 3x3 window with dilation 24 on 20x20 elements is a
    1x1 window. The weights of such taps go, and as much padding.
  }];
  let statistics = [Statistic<"trimmed", "trimmed",
                              "convolutions with a smaller window">];
}

def MergeGroups : Pass<"merge-groups", "::mlir::func::FuncOp"> {
  let summary = "make groups of convolutions as wide as blocks of channels";
  let description = [{
    Kernels take groups of whole blocks of 16 channels; those for floats take
    groups of 1, 2, 4 and 8 channels, too, those for bytes groups of one.
    Neighbouring groups of other widths become one group, whose constant weights
    have zeros between the channels of different groups: a group of 24 channels
    becomes half a group of 48. Groups that are left over are a layer of their
    own. A layer has up to 16 times as many products then (8 times, of floats),
    which take less time than a kernel that computes one element at a time. An
    infinite input makes NaN of the results of the merged groups.
  }];
  let statistics = [Statistic<"layers", "layers", "layers with merged groups">];
}

def RaiseRank : Pass<"raise-rank", "::mlir::func::FuncOp"> {
  let summary = "compute convolutions and pools of one dimension as of two";
  let description = [{
    [N, C, L] is [N, C, 1, L] without moving anything: the templates for two
    spatial dimensions serve one as well.
  }];
  let statistics = [Statistic<"raised", "raised",
                              "layers given a unit dimension">];
}

def FlushTinyWeights : Pass<"flush-tiny-weights", "::mlir::func::FuncOp"> {
  let summary = "set weights next to zero to zero";
  let description = [{
    Training with weight decay leaves weights like 1e-38. Their products with
    activations are denormal numbers, for which a processor that does not flush
    these takes a slow path, up to 25 times slower. Only weights of
    convolutions, matrix products and recurrent layers are set to zero, and only
    where they are nothing but factors.

    This is not exact. A sum of products changes by less than the threshold
    times the sum of the activations' magnitudes: by less than half a unit in
    the last place of any result above 1e-22 as long as that sum is below 1, and
    of any above 1 as long as it is below 1e22. An activation of 1e30 makes a
    weight of 1e-31 count. A threshold of 1.2e-38, where denormal numbers begin,
    takes what a kernel takes for zero anyway.
  }];
  let options = [Option<"threshold", "threshold", "double", /*default=*/"1e-30",
                        "smallest magnitude that stays">];
  let statistics = [Statistic<"flushed", "flushed", "weights set to zero">];
}

def DedupeConstants : Pass<"dedupe-constants", "::mlir::func::FuncOp"> {
  let summary = "keep one of the constants with equal elements";
  let description = [{
    Large constants are resources, which compare by name: two copies of one
    array in a model file are found by a hash of their content.
  }];
  let statistics = [Statistic<"merged", "merged",
                              "constants replaced by an equal one">];
}

def NarrowTables : Pass<"narrow-tables", "::mlir::func::FuncOp"> {
  let summary = "gather from tables of halves as halves";
  let description = [{
    A table of embeddings whose elements are all halves exactly becomes one of
    f16, and the rows that are taken from it are cast to f32: the same numbers,
    of which the file has half the bytes and a run reads half. Other layers that
    read the table keep it in f32, and [the plan](#-plan-model) decides how it
    is stored for them.
  }];
  let statistics = [Statistic<"narrowed", "narrowed", "gathers from halves">];
}

//===----------------------------------------------------------------------===//
// Layout: towards kernels
//===----------------------------------------------------------------------===//

def AssignLayouts : Pass<"assign-layouts", "::mlir::func::FuncOp"> {
  let summary = "give every tensor a memory layout and insert adapts";
  let description = [{
    Each layer is computed by the first routine that matches it. The layouts
    that the routine asks for become the layouts of its operands and results;
    where a value comes in another one, an `nn.adapt` goes between (constants
    are simply packed otherwise). A layer whose routine takes any layout keeps
    that of its operands, so that a chain of element-wise layers between two
    convolutions stays in their blocks. Model inputs and outputs are dense.
  }];
  let statistics = [Statistic<"adapts", "adapts", "nn.adapt layers inserted">];
}

def FuseElementwise : Pass<"fuse-elementwise", "::mlir::func::FuncOp"> {
  let summary = "make one kernel of neighbouring element-wise layers";
  let description = [{
    A layer that is computed element by element, and whose only users are in the
    same group, is evaluated where it is used: nothing between the layers of a
    group goes through memory. Data movement (transpose, slice, concat, adapt…)
    joins in, because it is only another index into the operand.
  }];
  let options = [Option<"maxLayers", "max-layers", "unsigned", /*default=*/"24",
                        "largest group; bounds the size of a kernel">];
  let statistics = [Statistic<"groups", "groups", "nn.fuse layers made">,
                    Statistic<"fused", "fused",
                              "layers that went into a group">];
}

def CopyOutputs : Pass<"copy-outputs", "::mlir::func::FuncOp"> {
  let summary = "copy results that cannot be computed into the caller's buffer";
  let description = [{
    A result is written right where the caller wants it. What @main returns but
    is an argument, a constant, part of another tensor, or returned twice, is
    copied by an identity layer of its own.
  }];
  let statistics = [Statistic<"copied", "copied", "results that are copied">];
}

def RoundWeights : Pass<"round-weights", "::mlir::func::FuncOp"> {
  let summary = "round weights of products to numbers that fewer bits hold";
  let description = [{
    Weights of convolutions, matrix products and recurrent layers become the
    nearest halves, or the nearest multiples of a scale that their channel has.
    They stay constants of f32, and products are computed in f32 as before.
    [The plan](#-plan-model) finds that fewer bits hold them exactly, and stores
    them so.

    Some take the number on their other side, so that the sum of an output's
    weights stays. A scale is that of some with the least squared error over its
    channel: of an output, where the layout of the weights has panels or rows of
    outputs.
    Weights stay as they are that are narrow already, that save less than 2 KiB,
    or that have a use beside products; those with a number beyond the largest
    half or not finite; and those too small for halves. Biases are no weights.

    Runs behind all passes that change weights, which would take them off the
    grid again, and behind those that give them layouts, which tell the channel.
  }];
  let options = [Option<"bits", "bits", "::nnv12::WeightBits",
                        /*default=*/"::nnv12::WeightBits::F16",
                        "how weights are rounded", [{::llvm::cl::values(
               clEnumValN(::nnv12::WeightBits::F32, "f32",
                          "not, but for those of `layers`"),
               clEnumValN(::nnv12::WeightBits::F16, "f16",
                          "to the nearest halves"),
               clEnumValN(::nnv12::WeightBits::Q8, "q8",
                          "to multiples of a scale of the channel, by integers "
                          "of 8 bits"),
               clEnumValN(::nnv12::WeightBits::Auto, "auto",
                          "as q8 where the weights' own error is 1 % at most, "
                          "else as f16"))}]>,
                 ListOption<"layers", "layers", "std::string",
                            "NAME=f32|f16|q8: the rounding of a node's "
                            "weights. The most bits of several count">];
  let statistics = [Statistic<"rounded", "rounded", "constants rounded">];
}

//===----------------------------------------------------------------------===//
// Plan: for one target
//===----------------------------------------------------------------------===//

def SelectLayouts : Pass<"select-layouts", "::mlir::ModuleOp"> {
  let summary = "select the layouts of @main by the costs of the whole net";
  let description = [{
    Starts from the layouts of preferred routines, behind all passes of the
    layout phase. A layer has a signature for each of the layouts in which some
    routine computes it, priced by the device profile; an adapt makes a copy of
    a value in another layout. `search::dprs` finds the cheapest signatures for
    each balance of execution, preparation and reading (SoftNeuro, section IV).
    Each distinct answer is planned as a whole, and the best plan's layouts are
    taken where it gains 5 % by predicted times, or 2 % by measured ones, and
    its first result is no later. Layers that are one kernel stay so. Solvers
    beside `net` are there to be compared with it, and for tests
    ([Selection](selection.md)).
  }];
  let options =
      [Option<"target", "target", "std::string", /*default=*/"\"host\"",
              "the CPU, as nnv12c's --target takes it">,
       Option<"profile", "profile", "std::string", /*default=*/"",
              "device profile with the costs; none: the built-in one of the "
              "target">,
       Option<"threads", "threads", "unsigned", /*default=*/"0",
              "threads of the execute lane; 0: one for each big core of the "
              "profile">,
       Option<"mode", "mode", "::nnv12::Mode",
              /*default=*/"::nnv12::Mode::Auto", "the inferences to come",
              [{::llvm::cl::values(
               clEnumValN(::nnv12::Mode::Cold, "cold", "one, after start"),
               clEnumValN(::nnv12::Mode::Auto, "auto",
                          "as nnv12c's default"),
               clEnumValN(::nnv12::Mode::Continuous, "continuous", "many"))}]>,
       Option<"solver", "solver", "::nnv12::Layouts",
              /*default=*/"::nnv12::Layouts::Net", "how layouts are selected",
              [{::llvm::cl::values(
               clEnumValN(::nnv12::Layouts::First, "first",
                          "preferred routines have done so"),
               clEnumValN(::nnv12::Layouts::Greedy, "greedy",
                          "layers in their order"),
               clEnumValN(::nnv12::Layouts::Uniform, "uniform",
                          "one layout wherever layers can have it"),
               clEnumValN(::nnv12::Layouts::Net, "net",
                          "the costs of the whole net"),
               clEnumValN(::nnv12::Layouts::Random, "random",
                          "chance, by `seed`"))}]>,
       Option<"seed", "seed", "unsigned", /*default=*/"0", "of random layouts">,
       Option<"margin", "margin", "double", /*default=*/"-1",
              "least gain of a net's layouts, as a part of the time; -1: as "
              "said above">,
       Option<"constantsStay", "constants-stay", "bool", /*default=*/"false",
              "constants keep their layouts">];
  let statistics =
      [Statistic<"changed", "changed", "layers in other layouts than before">,
       Statistic<"adapts", "adapts", "nn.adapt layers, where layouts changed">];
}

def PlanModel : Pass<"plan-model", "::mlir::ModuleOp"> {
  let summary = "decide how one target computes @main";
  let description = [{
    Decides once which routine computes each layer, how its weights are kept,
    which lane prepares them when, and what a GPU takes over, and writes the
    decisions as a `plan.program`. An older program of the same target goes.

    **Routines and weights.** The candidates of a layer are the routines that
    compute it in the layouts it has, each with every way to keep its largest
    constant in the file: `raw` (as in the model), `packed` (as the layout
    says), `transformed` (in the routine's weight form: bypass), `packed+q8`,
    `packed+f16`, `packed+f16o` or `packed+f16i` (packed, in fewer bits, where
    all weights are exactly an int8 times a scale of their channel, halves, or
    halves times a scale of their output or input channel), each plain or
    compressed where that saves 3 % or more, by some pieces of the packed
    weights. Where those in fewer bits are ready sooner than raw or packed ones,
    these are none, and where they are halves no wider ones are: files of halves
    stay as small as they are. With `memory` least that holds where a routine
    reads halves. Their costs come from the device profile; `search::plan` takes
    the combination whose first inference ends earliest on the simulator (NNV12,
    Algorithm 1 and local search). Where a comparison of floats for equality
    depends on a layer, its only candidate is the preferred routine: others
    round differently. A measured profile that lacks a candidate's kernel is
    refused unless `allow-predicted`.

    **Later routines.** Unless `mode` is cold another routine may take over
    after the first inference. In mode auto the rest is as in mode cold, and of
    routines those take over that gain most, as long as they gain together
    `laterMsPerMB` of the profile for each megabyte of weights and code that
    is there for them alone, and all that takes no more than half of what a
    session and its weights take without (`search::chooseLater`). With `memory`
    most a routine takes over wherever it gains; with least none does, and
    weights are kept as the layer's routine reads them.

    **Stages and lanes.** Each layer gets a read of constants that no earlier
    layer has read, a decode where they are compressed, a transform for each
    step from the form in the file to the form that the routine reads, and the
    execute. The transforms of the routine that takes over later come behind,
    with a `plan.switch`. Each stage gets a place in the queue of the execute
    lane or of a preparation lane, as the search has found with the routines.
    Lanes that get nothing are left out. Transforms that only a switch waits for
    go to the background of the preparation lanes, balanced. `cold` and `warm`
    of the program, and attributes `start` and `end` of stages (nanoseconds),
    tell what is expected.

    **A GPU.** With `gpu` the search (`search::planOverlay`) finds which layers
    a GPU takes over, by which routines, from which point on, and what prepares
    it ([the search](search.md)). Candidates are all routines of GPUs that
    compute a layer on the target in the layouts that it has, and read its
    weights in the form that the CPUs do, or packed. A layer on which a
    comparison for equality depends stays with the CPUs. Result: a `plan.gpu`
    in the program, whose stages stay as they are; none where the CPUs alone
    are faster, which a remark says. Behind the planned point of hand-over
    there are up to three others, where the CPUs have a half, a quarter and an
    eighth of the rest before them.
  }];
  let dependentDialects = ["::nnv12::plan::PlanDialect"];
  let options =
      [Option<"target", "target", "std::string", /*default=*/"\"host\"",
              "the CPU, as nnv12c's --target takes it">,
       Option<"profile", "profile", "std::string", /*default=*/"",
              "device profile with the costs; none: the built-in one of the "
              "target">,
       Option<"threads", "threads", "unsigned", /*default=*/"0",
              "threads of the execute lane; 0: one for each big core of the "
              "profile">,
       Option<"lanes", "lanes", "int", /*default=*/"-1",
              "preparation lanes; -1: one for each little core of the profile, "
              "or each big one that is left">,
       Option<"mode", "mode", "::nnv12::Mode",
              /*default=*/"::nnv12::Mode::Cold",
              "what inferences there will be", [{::llvm::cl::values(
               clEnumValN(::nnv12::Mode::Cold, "cold",
                          "one, after start"),
               clEnumValN(::nnv12::Mode::Auto, "auto",
                          "the same, and routines that are worth their memory "
                          "take over"),
               clEnumValN(::nnv12::Mode::Continuous, "continuous",
                          "many: warm routines take over"))}]>,
       Option<"memory", "memory", "::nnv12::Memory",
              /*default=*/"::nnv12::Memory::Default",
              "what a session may take of its own", [{::llvm::cl::values(
               clEnumValN(::nnv12::Memory::Least, "least",
                          "weights are used where the file is mapped"),
               clEnumValN(::nnv12::Memory::Default, "default",
                          "what is worth it by the profile"),
               clEnumValN(::nnv12::Memory::Most, "most",
                          "routines take over wherever they gain"))}]>,
       Option<"parts", "parts", "::nnv12::Parts",
              /*default=*/"::nnv12::Parts::KCP", "what of NNV12 is used",
              [{::llvm::cl::values(
               clEnumValN(::nnv12::Parts::None, "none",
                          "warm routines, weights as in the model, prepared "
                          "first"),
               clEnumValN(::nnv12::Parts::K, "K",
                          "routines chosen for the first inference"),
               clEnumValN(::nnv12::Parts::KC, "K+C",
                          "and weights stored in any form"),
               clEnumValN(::nnv12::Parts::KCP, "K+C+P",
                          "and preparation beside execution"))}]>,
       Option<"keepsNarrow", "keeps-narrow", "bool", /*default=*/"false",
              "no wider weights where fewer bits hold them: for round-weights">,
       Option<"allowPredicted", "allow-predicted", "bool", /*default=*/"false",
              "predict the costs of kernels that a measured profile lacks">,
       Option<"gpu", "gpu", "std::string", /*default=*/"",
              "the GPU, as nnv12c's --gpu takes it; none: no GPU">,
       Option<"gpuForce", "gpu-force", "bool", /*default=*/"false",
              "all layers on the GPU that it can compute: for tests">,
       Option<"gpuForceFrom", "gpu-force-from", "unsigned", /*default=*/"0",
              "with gpu-force: of the layers from this one on">,
       Option<"split", "split", "::nnv12::Split",
              /*default=*/"::nnv12::Split::Auto",
              "layers that GPU and CPU compute together", [{::llvm::cl::values(
               clEnumValN(::nnv12::Split::Auto, "auto",
                          "where the profile knows both, and it gains"),
               clEnumValN(::nnv12::Split::Off, "off", "none"),
               clEnumValN(::nnv12::Split::Force, "force",
                          "all that can be cut: for tests"))}]>,
       Option<"gpuHalf", "gpu-half", "bool", /*default=*/"false",
              "tensors of f32 in f16 in the GPU's memory">,
       Option<"gpuCache", "gpu-cache", "bool", /*default=*/"true",
              "plan for a driver's cache that has all pipelines">];
  let statistics = [Statistic<"candidates", "candidates",
                              "candidates of all layers on the CPUs">,
                    Statistic<"switched", "switched",
                              "layers for which another routine takes over">,
                    Statistic<"bypassed", "bypassed",
                              "layers whose weights are stored transformed">,
                    Statistic<"compressed", "compressed",
                              "layers whose weights are stored compressed">,
                    Statistic<"narrowed", "narrowed",
                              "layers whose weights are stored in fewer bits">,
                    Statistic<"onGpu", "on-gpu",
                              "layers that later inferences leave to the GPU">];
}

#endif // NNV12_PASSES_PASSES
