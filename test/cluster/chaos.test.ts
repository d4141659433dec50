/**
 * Devices and nodes fail at random while calls run. `npm run chaos` runs it for ten minutes; CHAOS_SEED repeats the
 * choices of a run, CHAOS_SECONDS sets its length.
 */
import { expect, it } from "vitest";
import { PostgresServer } from "../../packages/gateway/test/store/postgres-server.ts";
import { until } from "../inbox.ts";
import { NatsServer } from "../nats-server.ts";
import { textContent, tool } from "../raw-device.ts";
import { ProcessNode } from "./process-node.ts";

const seconds = Number(process.env["CHAOS_SECONDS"] ?? 5);
const seed = Number(process.env["CHAOS_SEED"] ?? Date.now() % 1_000_000);
const ring = tool("self.ring", { number: { type: "integer" } }, ["number"]);
const boards = 12;
const callers = 6;
const deadlineMs = 2_000;
/** Some boards come and go, for the queued calls. */
const sleeping = 3;
const awakeMs = 400;
const awayMs = 800;
/** Until a board has run ten calls, and until the calls of a node that was killed have ended. */
const connectedMs = 1_500;
const endMs = 60_000;
/** The time that a reply may take beyond its deadline on a busy machine. */
const slackMs = 6_000;

/** The tools of a board that fails before its first listing are unknown, and at first the board is too. */
const early = ["tool_unknown", "device_unknown"];

interface Trace {
  readonly callId: string;
  readonly outcome: string;
}

/** Small and repeatable (mulberry32). */
function randomFrom(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

it(
  `loses nothing and runs nothing twice (seed ${seed}, ${seconds} s)`,
  async () => {
    const [nats, postgres] = await Promise.all([NatsServer.start(), PostgresServer.start()]);
    const env = { TENDON_CLUSTER: nats.url, TENDON_STORAGE: await postgres.newDatabase() };
    const nodes = await Promise.all([0, 1, 2].map(() => ProcessNode.start(env)));
    const random = randomFrom(seed);
    const pick = <Item>(items: readonly Item[]): Item | undefined =>
      items[Math.floor(random() * items.length)];
    const standing = () => nodes.filter(({ running }) => running);
    const over = new AbortController();
    const queueing = new AbortController();

    const sleepers = new Set(Array.from({ length: sleeping }, (_, at) => `02:00:00:00:02:0${at}`));
    /** How often each call ran. */
    const ran = new Map<number, number>();
    const cut = new Map<string, () => void>();
    const board = async (id: string) => {
      while (!over.signal.aborted) {
        const device = await pick(standing())
          ?.join(id, [ring])
          .catch(() => undefined);
        if (device === undefined) continue;
        cut.set(id, () => device.cut());
        const serve = async (): Promise<never> => {
          for (;;) {
            const { id: request, params } = await device.nextRequest("tools/call");
            const { number } = (params as { arguments: { number: number } }).arguments;
            ran.set(number, (ran.get(number) ?? 0) + 1);
            device.reply(request, textContent(String(number)));
          }
        };
        const nap =
          sleepers.has(id) && !queueing.signal.aborted ? setTimeout(() => device.cut(), awakeMs) : undefined;
        await Promise.race([serve().catch(() => {}), device.wire.ended]);
        clearTimeout(nap);
        device.cut();
        if (sleepers.has(id)) await new Promise((resolve) => setTimeout(resolve, random() * awayMs));
      }
    };

    const outcomes = new Map<string, number>();
    const slow: number[] = [];
    const answered: string[] = [];
    let numbers = 0;
    const ids = Array.from({ length: boards }, (_, at) => `02:00:00:00:01:${String(at).padStart(2, "0")}`);
    /** Calls with an Idempotency-Key, which are repeated on any node until they succeed or must not be repeated. */
    const keys = { succeeded: 0, mayHaveRun: 0, never: [] as string[] };
    const call = async (node: ProcessNode, id: string, number: number, key?: string) =>
      await node
        .rest(
          "POST",
          `/devices/${id}/tools/${ring.name}/call`,
          { arguments: { number }, timeoutMs: deadlineMs },
          key === undefined ? {} : { "idempotency-key": key },
        )
        // The node was killed while the call ran.
        .catch(() => undefined);
    const ended = new Promise<undefined>((resolve) => {
      over.signal.addEventListener("abort", () => resolve(undefined));
    });
    const keyedCaller = async () => {
      while (!over.signal.aborted) {
        const id = pick(ids);
        if (id === undefined) continue;
        const number = ++numbers;
        for (;;) {
          const node = pick(standing());
          // A repeat waits for the outcome on a killed node, longer than this test.
          const answer =
            node === undefined
              ? undefined
              : await Promise.race([call(node, id, number, `chaos-${number}`), ended]);
          const { code, sent, retryable } = answer?.body ?? {};
          if (answer?.status === 200) keys.succeeded += 1;
          else if (over.signal.aborted) break;
          else if (answer === undefined || retryable === true || early.includes(String(code))) {
            await new Promise((resolve) => setTimeout(resolve, 50));
            continue;
          } else if (sent === true) keys.mayHaveRun += 1;
          else keys.never.push(String(code));
          break;
        }
      }
    };
    const caller = async () => {
      while (!over.signal.aborted) {
        const node = pick(standing());
        const id = pick(ids);
        if (node === undefined || id === undefined) continue;
        const number = ++numbers;
        const from = performance.now();
        const answer = await call(node, id, number);
        const took = performance.now() - from;
        if (answer !== undefined && took > deadlineMs + slackMs) slow.push(Math.round(took));
        const outcome = answer === undefined ? "node died" : String(answer.body["code"] ?? "ok");
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
        if (outcome === "ok") answered.push(String(answer?.body["callId"]));
      }
    };

    /** Accepted queued calls: the number that the board gets, by call id. */
    const queued = new Map<string, number>();
    const queuer = async () => {
      while (!over.signal.aborted && !queueing.signal.aborted) {
        const node = pick(standing());
        const id = pick([...sleepers]);
        if (node === undefined || id === undefined) continue;
        const number = ++numbers;
        const body = { arguments: { number }, timeoutMs: deadlineMs, whenOffline: "queue" };
        const answer = await node
          .rest("POST", `/devices/${id}/tools/${ring.name}/call`, body)
          .catch(() => undefined);
        if (answer?.status === 202) queued.set(String(answer.body["callId"]), number);
        else await new Promise((resolve) => setTimeout(resolve, 20));
      }
    };
    /** A board on WebSocket runs ten calls per connection, so those with more are cut until all calls have ended. */
    const allEnded = async (): Promise<Trace[]> => {
      const node = standing()[0];
      const lastAt = performance.now() + endMs;
      while (performance.now() < lastAt) {
        await new Promise((resolve) => setTimeout(resolve, connectedMs));
        const { calls = [] } = (await node?.get("/calls?state=queued&limit=1000")) ?? {};
        for (const { device } of calls as { device: string }[]) cut.get(device)?.();
        if ((calls as unknown[]).length > 0) continue;
        const states = await Promise.all([...queued.keys()].map((id) => node?.get(`/calls/${id}`)));
        if (states.every((trace) => trace?.["state"] === "finished")) return states as unknown as Trace[];
      }
      throw new RangeError("queued calls still wait or run");
    };

    const misfortune = async () => {
      const end = performance.now() + seconds * 1_000;
      let killed = 0;
      while (performance.now() < end) {
        await new Promise((resolve) => setTimeout(resolve, 700 + random() * 1_500));
        const kind = random();
        const victim = pick(standing());
        if (kind < 0.5) cut.get(pick(ids) ?? "")?.();
        else if (kind < 0.75 && victim !== undefined && standing().length > 2) {
          await victim.kill();
          killed += 1;
          nodes.push(await ProcessNode.start(env));
        } else if (victim !== undefined) {
          victim.freeze();
          await new Promise((resolve) => setTimeout(resolve, 300 + random() * 1_500));
          victim.thaw();
        }
      }
      return killed;
    };

    try {
      const living = [
        ...[...ids, ...sleepers].map(board),
        ...Array.from({ length: callers }, caller),
        ...Array.from({ length: callers }, keyedCaller),
        queuer(),
      ];
      const killed = await misfortune();
      queueing.abort();
      // All boards are online on every node.
      await until(async () => {
        for (const node of standing()) {
          const { devices } = await node.get("/devices?online=true&limit=100");
          if ((devices as unknown[]).length !== boards + sleeping) return false;
        }
        return true;
      }, "all devices online on all nodes");
      const ends = await allEnded();
      over.abort();
      for (const each of cut.values()) each();
      await Promise.allSettled(living);

      expect(queued.size, "queued calls").toBeGreaterThan(5);
      const final = ["ok", "device_disconnected", "device_timeout"];
      expect(ends.filter(({ outcome }) => !final.includes(outcome))).toEqual([]);
      for (const { callId, outcome } of ends)
        if (outcome === "ok") expect(ran.get(queued.get(callId) ?? 0), `runs of ${callId}`).toBe(1);
      if (process.env["CHAOS_SECONDS"] !== undefined)
        process.stdout.write(
          `queued: ${ends.length}, of which ${ends.filter(({ outcome }) => outcome === "ok").length} ran\n`,
        );

      const twice = [...ran].filter(([, times]) => times > 1).map(([number]) => number);
      expect(twice, "calls that ran twice").toEqual([]);
      expect(slow, "calls answered after their deadline").toEqual([]);
      const codes = ["ok", "node died", "device_offline", "device_disconnected", "device_timeout"];
      const known = new Set([...codes, ...early, "node_unreachable", "shutting_down", "queue_full"]);
      expect([...outcomes.keys()].filter((outcome) => !known.has(outcome))).toEqual([]);
      expect(outcomes.get("ok")).toBeGreaterThan(10);
      const { succeeded, mayHaveRun, never } = keys;
      if (process.env["CHAOS_SECONDS"] !== undefined)
        process.stdout.write(
          `keys: ${succeeded} succeeded, ${mayHaveRun} may have run, ${never.length} never ran\n`,
        );
      expect(never, "keys that neither succeeded nor may have run").toEqual([]);
      expect(succeeded).toBeGreaterThan(10);
      // Only calls that ran on a node while it was killed, or on a board while its connection was cut.
      expect(mayHaveRun).toBeLessThan(succeeded / 4);
      // A killed node loses the last 100 ms of its history; the others write theirs soon.
      await until(async () => {
        const kept = await history(standing()[0], answered.length);
        return answered.filter((callId) => !kept.has(callId)).length <= killed * 100;
      }, "the history of every answered call");
    } finally {
      over.abort();
      for (const node of nodes) await node.kill();
      await Promise.all([nats.stop(), postgres.remove()]);
    }
  },
  (seconds + 150) * 1_000,
);

async function history(node: ProcessNode | undefined, atLeast: number): Promise<Set<string>> {
  const kept = new Set<string>();
  let cursor = "";
  for (let page = 0; page <= atLeast / 100 + 100; page += 1) {
    const { calls = [], nextCursor } = (await node?.get(`/calls?limit=1000${cursor}`)) ?? {};
    for (const { callId } of calls as { callId: string }[]) kept.add(callId);
    if (typeof nextCursor !== "string") return kept;
    cursor = `&cursor=${encodeURIComponent(nextCursor)}`;
  }
  return kept;
}
