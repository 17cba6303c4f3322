// ONNX Runtime behind a line protocol, for many models one after the other.
//
//   node answers.js MODULES
//
// MODULES is the node_modules folder that holds onnxruntime-node. A line of
// standard input is {"model": FILE, "inputs": {NAME: FILE.npy}, "folder": DIR};
// the answer, a line as well,
// {"outputs": [NAME]} once DIR/output_I.npy are written, or {"error": TEXT}.
//
// Graphs are taken as they are, not optimised: the answer is what the operators
// say. Like nnv12, it flushes denormals.
"use strict";
const path = require("path");
const readline = require("readline");
const {readNpy, writeNpy} = require("../../tools/lib/npy");

const modules = process.argv[2];
const {Tensor} = require(path.join(modules, "onnxruntime-common"));
const {binding, initOrt} =
    require(path.join(modules, "onnxruntime-node/dist/binding"));

const OPTIONS = {
  graphOptimizationLevel: "disabled",
  intraOpNumThreads: 1,
  interOpNumThreads: 1,
  executionMode: "sequential",
  logSeverityLevel: 3,
  extra: {session: {set_denormal_as_zero: "1"}},
};

function answer({model, inputs, folder}) {
  const session = new binding.InferenceSession();
  session.loadModel(model, OPTIONS);
  const feeds = {};
  for (const [name, file] of Object.entries(inputs))
    feeds[name] = readNpy(file, Tensor);
  const names = session.outputMetadata.map(o => o.name);
  const result =
      session.run(feeds, Object.fromEntries(names.map(n => [n, null])), {});
  names.forEach(
      (n, i) => writeNpy(path.join(folder, `output_${i}.npy`), result[n]));
  session.dispose();
  return {outputs: names};
}

initOrt();
readline.createInterface({input: process.stdin}).on("line", line => {
  let reply;
  try {
    reply = answer(JSON.parse(line));
  } catch (error) {
    reply = {error: String(error.message || error).split("\n")[0]};
  }
  console.log(JSON.stringify(reply));
});
