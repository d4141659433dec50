import { benchCrossNode } from "../cross-node.mjs";

const baseline = "raw NATS request-reply + a call at the device's node";
const row = (what, parallel, unit, title) => ({
  name: `cross-node-${what}-${parallel}`,
  title: `call that another node answers, ${parallel} in flight: ${title}`,
  unit,
  ...(what === "cpu" ? { clock: "cpu" } : {}),
  better: "less",
  baseline,
});

const rows = [
  row("cpu", 32, "ms", "CPU of all nodes, NATS and PostgreSQL"),
  row("p50", 32, "ms", "p50"),
  row("cpu", 1, "ms", "CPU of all nodes, NATS and PostgreSQL"),
  row("p50", 1, "ms", "p50"),
];

const scales = { full: { rounds: 7, seconds: 0.5 }, quick: { rounds: 3, seconds: 0.4 } };

async function run({ scale, log, results }) {
  Object.assign(results, await benchCrossNode({ ...scales[scale], print: log }));
}

export const crossNode = { name: "cross-node", title: "Calls between nodes", rows, run };
