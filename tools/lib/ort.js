// ONNX Runtime behind a line protocol, for comparisons: one session in one
// process.
//
//   node ort.js MODULES MODEL THREADS FORM NAME=FILE.npy...
//
// MODULES is the node_modules folder that holds onnxruntime-node. Commands come
// on standard input, one a line; each is answered by one line of JSON:
//   ready      libraries and inputs are    {}
//              loaded, the model is not
//   cold       makes the session, runs     {"create": nanoseconds,
//              once; before all others      "run": nanoseconds,
//                                           "cpu": nanoseconds}
//   run N      runs N times                {"ns": [nanoseconds of each run]}
//   save DIR   writes DIR/output_I.npy     {"outputs": [{"name", "dims",
//                                                        "type"}]}
//   convert F  writes the optimised model  {}
//              to F, for FORM
//
// FORM is what a program gets that sets no option but the number of threads and
// that denormals are flushed (`default`), or for a model that `convert` wrote
// and that is not optimised again: in ORT's own format, mapped, with weights
// used where they lie (`mapped`); the same without packing weights anew at each
// start (`noprepack`); in ONNX's, with the packed weights in a file beside it
// (`prepacked`).
//
// The binding is called directly, and outputs are written to tensors made
// before: the times hold as little of JavaScript as can be had.
"use strict";
const path = require("path");
const readline = require("readline");
const ort = require("./ortbinding");
const {writeNpy} = require("./npy");

const [modules, model, threads, form, ...inputs] = process.argv.slice(2);
const options = (more, session) => ort.options(threads, more, session);

const MAPPED = {
  load_model_format: "ORT",
  use_memory_mapped_ort_model: "1",
  use_ort_model_bytes_for_initializers: "1",
};
const RAW = {
  graphOptimizationLevel: "disabled"
};
const FORMS = {
  default: () => options({graphOptimizationLevel: "all"}),
  mapped: () => options(RAW, MAPPED),
  noprepack: () => options(RAW, {...MAPPED, disable_prepacking: "1"}),
  prepacked: () => options(RAW),
};

/// How the model of a form is written.
const CONVERSIONS = {
  mapped: () => ({save_model_format: "ORT"}),
  noprepack: () => ({save_model_format: "ORT"}),
  prepacked: file => ({
    optimized_model_external_initializers_file_name:
        path.basename(file) + ".data",
    optimized_model_external_initializers_min_size_in_bytes: "1024",
    save_external_prepacked_constant_initializers: "1",
  }),
};

const {binding, Tensor} = ort.load(modules);
const feeds = ort.readFeeds(inputs, Tensor);

let session, names, fetches;
const empty = () => Object.fromEntries(names.map(n => [n, null]));

/// Makes the session and runs once, to learn the shapes of the outputs.
function load() {
  const before = process.cpuUsage();
  const start = process.hrtime.bigint();
  session = new binding.InferenceSession();
  session.loadModel(model, FORMS[form]());
  names = session.outputMetadata.map(o => o.name);
  const made = process.hrtime.bigint();
  fetches = session.run(feeds, empty(), {});
  const end = process.hrtime.bigint();
  const {user, system} = process.cpuUsage(before);
  return {
    create: Number(made - start),
    run: Number(end - made),
    cpu: (user + system) * 1e3
  };
}

const COMMANDS = {
  ready: () => ({}),
  cold: () => session ? {error: "cold: the session is there already"} : load(),
  run: count => {
    if (!session) load();
    const ns = [];
    for (let i = 0; i < Number(count); ++i) {
      const start = process.hrtime.bigint();
      session.run(feeds, fetches, {});
      ns.push(Number(process.hrtime.bigint() - start));
    }
    return {ns};
  },
  save: folder => {
    if (!session) load();
    const result = session.run(feeds, empty(), {});
    names.forEach(
        (n, i) => writeNpy(path.join(folder, `output_${i}.npy`), result[n]));
    return {
      outputs: names.map(
          n => ({name: n, dims: result[n].dims, type: result[n].type}))
    };
  },
  convert: file => {
    const converter = new binding.InferenceSession();
    converter.loadModel(
        model,
        options(
            {graphOptimizationLevel: "all", optimizedModelFilePath: file},
            CONVERSIONS[form](file)));
    return {};
  },
};

readline.createInterface({input: process.stdin}).on("line", line => {
  const [name, argument] = line.split(/ (.*)/);
  let answer;
  try {
    answer = COMMANDS[name] ? COMMANDS[name](argument) :
                              {error: `unknown command '${name}'`};
  } catch (error) {
    answer = {error: String(error.message || error).split("\n")[0]};
  }
  console.log(JSON.stringify(answer));
});
