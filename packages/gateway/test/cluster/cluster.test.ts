/** Two or three nodes on a real NATS server: members, directory, RPC, broadcasts and event replication. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { until } from "../../../../test/inbox.ts";
import { ManualClock } from "../../../../test/manual-clock.ts";
import { NatsServer } from "../../../../test/nats-server.ts";
import { type Clock, systemClock } from "../../src/clock.ts";
import { Cluster, type Placed } from "../../src/cluster/cluster.ts";

let nats: NatsServer;
let names = 0;

beforeAll(async () => {
  nats = await NatsServer.start();
});
afterAll(async () => {
  await nats.stop();
});

/** The name of a new cluster on the shared server. */
function newName(): string {
  names += 1;
  return `test${names}`;
}

interface Joined {
  readonly cluster: Cluster;
  readonly placed: Map<string, Placed | undefined>;
  readonly states: string[];
  readonly lost: () => number;
}

async function join(name: string, node: string, url = nats.url, clock: Clock = systemClock): Promise<Joined> {
  const states: string[] = [];
  let lost = 0;
  const cluster = await Cluster.join({
    url: `${url}/${name}`,
    clock,
    node,
    version: "0.0.0",
    devices: () => 0,
    moving: () => 0,
    onState: (state) => states.push(state),
    onFault: () => {},
    onEventsLost: (count) => {
      lost += count;
    },
  });
  onTestFinished(() => cluster.leave());
  const placed = new Map<string, Placed | undefined>();
  await cluster.openDirectory(
    (device, where) => placed.set(device, where),
    async () => {},
  );
  return { lost: () => lost, cluster, placed, states };
}

async function pair(): Promise<[Joined, Joined]> {
  const name = newName();
  const one = await join(name, "one");
  const two = await join(name, "two");
  await until(() => one.cluster.nodes().length === 2 && two.cluster.nodes().length === 2);
  return [one, two];
}

function claim(instance: string, connectedAt = 1) {
  return { instance, node: "n", transport: "websocket", kind: "esp32" as const, hasTools: true, connectedAt };
}

describe("members", () => {
  it("see each other at once, and see when one has left", async () => {
    const [one, two] = await pair();
    expect(one.cluster.nodes().map(({ node }) => node)).toEqual(["one", "two"]);
    const changes: [string, boolean][] = [];
    one.cluster.members.onChange((instance, alive) => changes.push([instance, alive]));
    await two.cluster.leave();
    await until(() => one.cluster.nodes().length === 1);
    expect(changes).toEqual([[two.cluster.instance, false]]);
  });

  it("do not count others as failed after their own pause, and do count one that stays silent", async () => {
    const clocks = [new ManualClock(), new ManualClock()] as const;
    const name = newName();
    const one = await join(name, "one", nats.url, clocks[0]);
    const two = await join(name, "two", nats.url, clocks[1]);
    await until(() => one.cluster.nodes().length === 2);
    const changes: [string, boolean][] = [];
    one.cluster.members.onChange((instance, alive) => changes.push([instance, alive]));
    // Frozen for a minute: all timers are due at once, before any message is read.
    clocks[0].advance(60_000);
    expect([changes, one.cluster.nodes().length]).toEqual([[], 2]);
    clocks[1].advance(2_000);
    await two.cluster.flush();
    // From here on this node runs, and the other one is silent.
    let beats = 0;
    while (changes.length === 0 && beats < 20) {
      beats += 1;
      clocks[0].advance(2_000);
      await one.cluster.flush();
    }
    expect(changes).toEqual([[two.cluster.instance, false]]);
    expect(beats).toBeGreaterThanOrEqual(5);
    expect(beats).toBeLessThanOrEqual(7);
  });
});

describe("the directory", () => {
  it("tells every node which one holds a device, also nodes that join later", async () => {
    const name = newName();
    const one = await join(name, "one");
    const revision = await one.cluster.directory.claim("aa:bb", claim(one.cluster.instance));
    const two = await join(name, "two");
    expect(two.placed.get("aa:bb")).toEqual({ claim: claim(one.cluster.instance), revision });
  });

  it("lets the newest claim win; releasing an older one has no effect", async () => {
    const [one, two] = await pair();
    const first = await one.cluster.directory.claim("aa:bb", claim(one.cluster.instance));
    const second = await two.cluster.directory.claim("aa:bb", claim(two.cluster.instance));
    expect(second).toBeGreaterThan(first);
    await one.cluster.directory.release("aa:bb", first);
    expect((await one.cluster.directory.find("aa:bb"))?.claim.instance).toBe(two.cluster.instance);
    await two.cluster.directory.release("aa:bb", second);
    await until(() => one.placed.has("aa:bb") && one.placed.get("aa:bb") === undefined);
    expect(await one.cluster.directory.find("aa:bb")).toBeUndefined();
  });
});

describe("RPC", () => {
  it("reaches the node that holds a device, and fails when none does", async () => {
    const [one, two] = await pair();
    const unserve = two.cluster.rpc.serveDevice("aa:bb", async (body) => ({ heard: body }));
    const subject = one.cluster.rpc.deviceSubject("aa:bb");
    const ask = () => one.cluster.rpc.ask(subject, two.cluster.instance, 7, { timeoutMs: 5_000 });
    await until(async () => (await ask().catch(() => undefined)) !== undefined);
    expect(await ask()).toEqual({ heard: 7 });
    unserve();
    await until(async () => (await ask().catch(() => undefined)) === undefined);
    await expect(ask()).rejects.toMatchObject({ code: "device_offline" });
  });

  it("answers a request that was in flight when the device left", async () => {
    const [one, two] = await pair();
    const subject = one.cluster.rpc.deviceSubject("aa:bb");
    const ask = () => one.cluster.rpc.ask(subject, two.cluster.instance, 7, { timeoutMs: 5_000 });
    const codes = new Set<unknown>();
    for (let round = 0; round < 50; round += 1) {
      const unserve = two.cluster.rpc.serveDevice("aa:bb", async () => "here");
      await two.cluster.flush();
      const answers = [ask(), ask(), ask()];
      // NATS has delivered them: they are in the other node's socket, or already read.
      await one.cluster.flush();
      unserve();
      for (const outcome of await Promise.allSettled(answers))
        codes.add(outcome.status === "fulfilled" ? outcome.value : outcome.reason.code);
    }
    expect([...codes]).toEqual(["here"]);
  });

  it("transfers replies that are larger than a message unchanged", async () => {
    const [one, two] = await pair();
    const large = "ü\u0001€😀x".repeat(400_000);
    two.cluster.rpc.serveNode("large", async () => ({ large }));
    const answer = await untilAnswered(() =>
      one.cluster.rpc.askNode(two.cluster.instance, "large", {}, { timeoutMs: 10_000 }),
    );
    expect((answer as { large: string }).large === large).toBe(true);
  });

  it("returns errors with their code, and cancels the work when the caller stops waiting", async () => {
    const [one, two] = await pair();
    let aborted = false;
    two.cluster.rpc.serveNode(
      "slow",
      (_body, signal) =>
        new Promise((resolve) => {
          signal.addEventListener("abort", () => {
            aborted = true;
            resolve(null);
          });
        }),
    );
    const { TendonError } = await import("../../src/errors.ts");
    two.cluster.rpc.serveNode("failing", async () => {
      throw new TendonError("queue_full", "32 calls wait", { queue: 32 });
    });
    const ask = (topic: string, signal?: AbortSignal) =>
      one.cluster.rpc.askNode(two.cluster.instance, topic, {}, { timeoutMs: 10_000, signal });
    await until(
      async () => (await ask("failing").catch((error: { code: string }) => error.code)) === "queue_full",
    );
    await expect(ask("failing")).rejects.toMatchObject({ code: "queue_full", context: { queue: 32 } });
    const controller = new AbortController();
    const waiting = ask("slow", controller.signal);
    setImmediate(() => controller.abort());
    await expect(waiting).rejects.toMatchObject({ code: "cancelled" });
    await until(() => aborted);
  });

  it("reports an unknown outcome when the node or NATS is lost", async () => {
    const own = await NatsServer.start();
    onTestFinished(() => own.stop());
    const one = await join("lost", "one", own.url);
    const two = await join("lost", "two", own.url);
    two.cluster.rpc.serveNode("silent", () => new Promise(() => {}));
    await until(() => one.cluster.nodes().length === 2);
    const ask = () => one.cluster.rpc.askNode(two.cluster.instance, "silent", {}, { timeoutMs: 60_000 });
    const first = ask().catch((error: unknown) => error);
    one.cluster.rpc.nodeLost(two.cluster.instance);
    expect(await first).toMatchObject({ code: "node_unreachable", context: { sent: true } });
    const second = ask().catch((error: unknown) => error);
    await own.kill();
    expect(await second).toMatchObject({ code: "node_unreachable", context: { sent: true } });
    await expect(ask()).rejects.toMatchObject({ code: "node_unreachable", context: { sent: false } });
    await own.startAgain();
    await until(
      () => one.states.includes("connected") && two.states.includes("connected"),
      "both connected again",
    );
    expect(one.cluster.connected).toBe(true);
  });
});

describe("broadcasts", () => {
  it("are applied by every other node before the sender continues", async () => {
    const [one, two] = await pair();
    const taken: string[] = [];
    two.cluster.broadcasts.onBroadcast(async (news) => {
      taken.push(JSON.stringify(news));
    });
    await until(async () => {
      await one.cluster.broadcasts.sendAndWait({ kind: "token", id: "t" });
      return taken.length > 0;
    });
    taken.length = 0;
    await one.cluster.broadcasts.sendAndWait({ kind: "device", id: "aa:bb" });
    expect(taken).toEqual([JSON.stringify({ kind: "device", id: "aa:bb" })]);
  });

  it("that a node could not apply are applied when it tries again", async () => {
    const [one, two] = await pair();
    const applied: string[] = [];
    let isAvailable = false;
    two.cluster.broadcasts.onBroadcast(async (broadcast) => {
      if (!isAvailable) throw new TypeError("the store is unavailable");
      applied.push(JSON.stringify(broadcast));
    });
    const change = { kind: "device", id: "aa:bb" } as const;
    for (let time = 0; time < 3; time += 1) await one.cluster.broadcasts.sendAndWait(change);
    await two.cluster.broadcasts.retryFailed();
    isAvailable = true;
    await two.cluster.broadcasts.retryFailed();
    await two.cluster.broadcasts.retryFailed();
    expect(applied).toEqual([JSON.stringify(change)]);
  });
});

describe("event replication", () => {
  it("gives all nodes the same events in the same order, and earlier events to nodes that join later", async () => {
    const name = newName();
    const one = await join(name, "one");
    const two = await join(name, "two");
    const seen: Record<string, [number, string][]> = { one: [], two: [], three: [] };
    const listen = async (who: Joined, key: string) =>
      await who.cluster.openEventReplication<string>(100, (sequence, event) =>
        seen[key]?.push([sequence, event]),
      );
    const a = await listen(one, "one");
    const b = await listen(two, "two");
    for (let number = 0; number < 20; number += 1) {
      a.publish(`a${number}`);
      b.publish(`b${number}`);
    }
    await until(() => seen["one"]?.length === 40 && seen["two"]?.length === 40);
    expect(seen["one"]).toEqual(seen["two"]);
    const ofOne = seen["one"]?.map(([, event]) => event).filter((event) => event.startsWith("a"));
    expect(ofOne).toEqual(Array.from({ length: 20 }, (_, number) => `a${number}`));
    const three = await join(name, "three");
    await listen(three, "three");
    expect(seen["three"]).toEqual(seen["one"]);
  });

  it("counts an event that is too large for a message as lost, and continues", async () => {
    const one = await join(newName(), "one");
    const seen: string[] = [];
    const exchange = await one.cluster.openEventReplication<string>(100, (_sequence, event) =>
      seen.push(event),
    );
    exchange.publish("before");
    exchange.publish("x".repeat(2 * 1024 * 1024));
    exchange.publish("after");
    await until(() => seen.length === 2);
    expect(seen).toEqual(["before", "after"]);
    expect(one.lost()).toBe(1);
  });

  it("delivers the last events before its node leaves", async () => {
    const name = newName();
    const one = await join(name, "one");
    const two = await join(name, "two");
    const seen: string[] = [];
    await two.cluster.openEventReplication<string>(100, (_sequence, event) => seen.push(event));
    const leaving = await one.cluster.openEventReplication<string>(100, () => {});
    leaving.publish("the last word");
    await one.cluster.leave();
    await until(() => seen.length === 1);
    expect(seen).toEqual(["the last word"]);
  });
});

async function untilAnswered(ask: () => Promise<unknown>): Promise<unknown> {
  let answer: unknown;
  await until(async () => {
    answer = await ask().catch(() => undefined);
    return answer !== undefined;
  });
  return answer;
}
