// The faults of the table, each with what it does and what it may cost. `fault` runs while calls are made.
import { pause } from "./stack.mjs";

const second = 1_000;

export const faults = [
  {
    name: "rolling",
    title: "rolling `SIGTERM` of three nodes",
    leastSeconds: 20,
    async fault({ nodes }) {
      for (const node of nodes) {
        await node.program.end("SIGTERM");
        await node.start();
        // Until the load balancer has seen it: two checks of half a second.
        await pause(1.5 * second);
      }
    },
    target: "≤ 1 % of plain calls, gap ≤ 0.3 s, keyed ≤ 5 s",
    holds: ({ plainShare, gapMs, slowestMs, never }) =>
      plainShare <= 0.01 && gapMs <= 300 && slowestMs <= 5_000 && never === 0,
  },
  {
    name: "kill",
    title: "`SIGKILL` of one",
    leastSeconds: 40,
    async fault({ nodes: [node] }) {
      await node.program.end("SIGKILL");
      await pause(15 * second);
      await node.start();
    },
    target: "keyed ≤ 10 s",
    holds: ({ slowestMs }) => slowestMs <= 10_000,
  },
  {
    name: "freeze",
    title: "`SIGSTOP` of one for 20 s",
    leastSeconds: 40,
    async fault({ nodes: [, node] }) {
      node.program.signal("SIGSTOP");
      await pause(20 * second);
      node.program.signal("SIGCONT");
    },
    target: "no key that never succeeds, unless it ran",
    holds: ({ never, knownToHaveRun }) => never === knownToHaveRun,
  },
  {
    name: "nats",
    title: "NATS away for 15 s",
    leastSeconds: 35,
    async fault({ nats }) {
      await nats.end("SIGKILL");
      await pause(15 * second);
      await nats.start();
    },
    target: "gap ≤ 0.5 s",
    holds: ({ gapMs, never, knownToHaveRun }) => gapMs <= 500 && never === knownToHaveRun,
  },
  {
    name: "cut",
    title: "one node cut off from NATS for 30 s",
    leastSeconds: 45,
    async fault({ nodes: [watcher, , node] }) {
      const before = await watcher.online();
      node.way.cut();
      const cutAt = Date.now();
      let movedMs;
      while (Date.now() - cutAt < 30 * second) {
        await pause(250);
        if (movedMs === undefined && (await watcher.reachable(2)) === before) movedMs = Date.now() - cutAt;
      }
      node.way.heal();
      return { movedMs };
    },
    target: "its boards move within 15 s; no key that never succeeds, unless it ran",
    holds: ({ movedMs, never, knownToHaveRun }) => movedMs <= 15_000 && never === knownToHaveRun,
  },
  {
    name: "reload",
    title: "reload of the load balancer",
    leastSeconds: 15,
    async fault({ balancer }) {
      balancer.reload();
      await pause(5 * second);
    },
    target: "no call fails",
    holds: ({ plainFailed, never }) => plainFailed === 0 && never === 0,
  },
  {
    name: "postgres",
    title: "PostgreSQL away for 30 s",
    leastSeconds: 45,
    async fault({ postgres }) {
      await postgres.end("SIGQUIT");
      await pause(30 * second);
      await postgres.start();
    },
    target: "no plain call fails; keys wait until it is back",
    holds: ({ plainFailed, never, slowestMs }) => plainFailed === 0 && never === 0 && slowestMs <= 40_000,
  },
];
