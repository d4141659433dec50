// The groups in the order of the run. `optIn`: only with --only.
import { calls } from "./calls.mjs";
import { connect } from "./connect.mjs";
import { crossNode } from "./cross-node.mjs";
import { fairness } from "./fairness.mjs";
import { home } from "./home.mjs";
import { idle } from "./idle.mjs";
import { largeFleet } from "./large-fleet.mjs";
import { mcp } from "./mcp.mjs";
import { overload } from "./overload.mjs";
import { queue } from "./queue.mjs";
import { start } from "./start.mjs";
import { voice } from "./voice.mjs";

export const groups = [
  start,
  connect,
  largeFleet,
  calls,
  mcp,
  home,
  crossNode,
  voice,
  fairness,
  overload,
  queue,
  idle,
];

/** The names that --only takes. */
export function allNames() {
  return groups.flatMap(({ name, rows }) => [name, ...rows.map((row) => row.name)]);
}

/** The groups to run, each with a function that tells whether a row is wanted. */
export function chosen(only) {
  return groups
    .map((group) => {
      const all = only === undefined ? group.optIn !== true : only.includes(group.name);
      return { ...group, wants: (row) => all || (only?.includes(row) ?? false) };
    })
    .filter(({ rows, wants }) => rows.some(({ name }) => wants(name)));
}
