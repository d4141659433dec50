// Calls over every interface, at a steady rate on average. Each chooses a device, what the device shall do with the
// call (`act`), and a deadline; the answer goes into the records.
import { setTimeout as pause } from "node:timers/promises";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import mqtt from "mqtt";
import { countTool } from "./devices.mjs";

const deadlineMs = 5_000;
const lateDeadlineMs = 1_000;
const mostOpen = 300;
const agentsPerEra = 4;
const mqttApps = 3;
/** Callers wait this much longer than the deadline: the records judge what is too late. */
const appPatienceMs = 120_000;

const acts = [
  ["answer", 78],
  ["slow", 8],
  ["fail", 3],
  ["garbage", 3],
  ["twice", 3],
  ["late", 1],
  ["drop", 2],
  ["drop unread", 2],
];
/** Acts after which a device is still connected. */
const calmActs = acts.filter(([name]) => !name.startsWith("drop"));

function weighted(random, choices) {
  let left = random() * choices.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [name, weight] of choices) {
    left -= weight;
    if (left < 0) return name;
  }
  return choices[0][0];
}

export class Callers {
  /** Calls to fail no connection: while presence is checked. */
  calm = false;
  byInterface = new Map();
  #soak;
  #rate;
  #stopped = false;
  #open = new Set();
  #agents = [];
  #apps = [];
  #interfaces = [
    ["REST", 40, (call) => this.#overRest(call)],
    ["REST, hung up", 4, (call) => this.#hangingUp(call)],
    ["REST, repeated with one key", 4, (call) => this.#repeated(call)],
    ["MCP 2026-07-28", 16, (call) => this.#overMcp(call, "auto")],
    ["MCP 2025-11-25", 16, (call) => this.#overMcp(call, "legacy")],
    ["MQTT", 20, (call) => this.#overMqtt(call)],
  ];

  constructor(soak, rate) {
    this.#soak = soak;
    this.#rate = rate;
  }

  async run() {
    const { random } = this.#soak;
    let at = performance.now();
    while (!this.#stopped) {
      at += (-Math.log(1 - random()) * 1_000) / this.#rate;
      const wait = at - performance.now();
      if (wait > 0) await pause(wait);
      else if (wait < -5_000) at = performance.now();
      if (this.#stopped || this.#open.size >= mostOpen) continue;
      const call = this.#one().finally(() => this.#open.delete(call));
      this.#open.add(call);
    }
  }

  async stop() {
    this.#stopped = true;
    await Promise.all(this.#open);
    await Promise.all([
      ...this.#agents.map(({ agent }) => agent.then(endAgent, () => {})),
      ...this.#apps.map(({ client }) => client.endAsync(true).catch(() => {})),
    ]);
  }

  async #one() {
    const { random, devices, records } = this.#soak;
    const ids = devices.ids(!this.calm);
    const device = ids[Math.floor(random() * ids.length)];
    const act = weighted(random, this.calm ? calmActs : acts);
    const limit = act === "late" ? lateDeadlineMs : deadlineMs;
    const ms =
      act === "slow" ? Math.round(20 + random() * 800) : act === "late" ? lateDeadlineMs + 500 : undefined;
    const number = records.begin(device, act, limit);
    const call = { number, device, limit, args: { number, act, ...(ms === undefined ? {} : { ms }) } };
    const name = weighted(random, this.#interfaces);
    this.byInterface.set(name, (this.byInterface.get(name) ?? 0) + 1);
    const [, , make] = this.#interfaces.find(([candidate]) => candidate === name);
    try {
      const { outcome, ...more } = await make(call);
      records.ended(number, outcome, { ...more, via: name });
    } catch (error) {
      this.#failed(number, error);
    }
  }

  /** Without an answer: the gateway was killed, or that is a violation. */
  #failed(number, error) {
    const { records } = this.#soak;
    records.ended(number, this.#soak.wasRestarted() ? "no gateway" : `no answer: ${error.message}`);
  }

  /** Sessions end with the gateway's process. */
  gatewayKilled() {
    for (const entry of this.#agents.splice(0)) {
      entry.left = 0;
      void entry.agent
        .then(
          ({ client }) => client.close(),
          () => {},
        )
        .catch(() => {});
    }
  }

  #post({ device, args, limit }, options) {
    return this.#soak.gateway.rest(
      "POST",
      `/devices/${device}/tools/${countTool}/call`,
      { arguments: args, timeoutMs: limit },
      options,
    );
  }

  async #overRest(call) {
    return restOutcome(await this.#post(call));
  }

  async #hangingUp(call) {
    const left = new AbortController();
    const timer = setTimeout(() => left.abort(), this.#soak.random() * 60);
    try {
      return restOutcome(await this.#post(call, { signal: left.signal }));
    } catch (error) {
      if (left.signal.aborted) return { outcome: "hung up" };
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** The same request two times with one Idempotency-Key: it runs once, and both get the same answer. */
  async #repeated(call) {
    this.#soak.records.repeated(call.number);
    const headers = { "idempotency-key": `soak-${this.#soak.seed}-${call.number}` };
    const [first, second] = await Promise.all([this.#post(call, { headers }), this.#post(call, { headers })]);
    const [one, other] = [restOutcome(first), restOutcome(second)];
    // A failure that was not sent is not kept: each of the two tries on its own.
    if (one.outcome === "ok" && other.outcome === "ok" && one.callId !== other.callId)
      this.#soak.records.violation(
        `two answers to one Idempotency-Key: calls ${one.callId} and ${other.callId}`,
      );
    if (one.outcome === other.outcome)
      return one.callId === other.callId ? one : { ...one, callId: undefined };
    const done = [one, other].find(({ sent }) => sent !== false) ?? one;
    return { ...done, callId: undefined, sent: undefined };
  }

  /** An agent of this era; each is replaced after some calls, and half of the sessions are never ended. */
  #agent(mode) {
    const { random, gateway } = this.#soak;
    const pool = this.#agents.filter((entry) => entry.mode === mode && entry.left > 0);
    if (pool.length >= agentsPerEra) {
      const entry = pool[Math.floor(random() * pool.length)];
      entry.left -= 1;
      return entry;
    }
    const client = new Client({ name: "soak", version: "1" }, { versionNegotiation: { mode } });
    const transport = new StreamableHTTPClientTransport(new URL("/mcp/compact", gateway.url), {
      fetch: gateway.fetch,
      requestInit: { headers: { authorization: `Bearer ${gateway.token}` } },
    });
    const agent = client.connect(transport).then(() => ({ client, transport, ends: random() < 0.5 }));
    const entry = { mode, agent, left: 10 + Math.floor(random() * 40), open: 0 };
    this.#agents.push(entry);
    return entry;
  }

  async #overMcp({ device, args, limit }, mode) {
    const entry = this.#agent(mode);
    entry.open += 1;
    try {
      const { client } = await entry.agent;
      const result = await client.callTool(
        { name: "device_call", arguments: { device, tool: countTool, arguments: args, timeoutMs: limit } },
        { timeout: limit + appPatienceMs },
      );
      const { "tendon/error": error, "tendon/call": call } = result._meta ?? {};
      if (error !== undefined) return { outcome: error.code, callId: error.callId, sent: error.sent };
      return { outcome: result.isError === true ? "tool_error" : "ok", callId: call?.callId };
    } catch (error) {
      entry.left = 0;
      throw error;
    } finally {
      entry.open -= 1;
      if (entry.left <= 0 && entry.open === 0) {
        const index = this.#agents.indexOf(entry);
        if (index >= 0) this.#agents.splice(index, 1);
        void entry.agent.then(endAgent, () => {});
      }
    }
  }

  async #overMqtt({ number, device, args, limit }) {
    const app = this.#app();
    const reply = new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error("no reply over MQTT")), limit + appPatienceMs);
      app.waiting.set(number, (message) => {
        clearTimeout(timer);
        app.waiting.delete(number);
        if (message instanceof Error) reject(message);
        else resolve(message);
      });
    });
    void app.ready.then(
      () =>
        app.client.publish(
          `tendon/devices/${device}/call`,
          JSON.stringify({ request_id: number, tool: countTool, arguments: args, timeoutMs: limit }),
        ),
      (error) => app.waiting.get(number)?.(error),
    );
    const { ok, result, error, callId } = await reply;
    if (!ok) return { outcome: error.code, callId: error.callId, sent: error.sent };
    return { outcome: result.isError ? "tool_error" : "ok", callId };
  }

  /** An app on the broker; replaced after some calls, once all of them have their replies. */
  #app() {
    const { random, gateway } = this.#soak;
    for (const app of this.#apps.filter(({ left, waiting }) => left <= 0 && waiting.size === 0)) {
      this.#apps.splice(this.#apps.indexOf(app), 1);
      app.client.end(random() < 0.5);
    }
    const pool = this.#apps.filter(({ left }) => left > 0);
    if (pool.length >= mqttApps) {
      const app = pool[Math.floor(random() * pool.length)];
      app.left -= 1;
      return app;
    }
    const client = mqtt.connect(`mqtt://${gateway.mqttEndpoint}`, {
      protocolVersion: 4,
      username: "app",
      password: gateway.token,
      reconnectPeriod: 0,
    });
    const waiting = new Map();
    const app = { client, waiting, left: 20 + Math.floor(random() * 100) };
    const lost = (error) => {
      app.left = 0;
      for (const settle of [...waiting.values()]) settle(error);
    };
    client.on("error", lost);
    client.on("close", () => lost(new Error("the broker closed the connection")));
    client.on("message", (_topic, payload) => {
      const message = JSON.parse(payload.toString());
      waiting.get(message.request_id)?.(message);
    });
    app.ready = client.subscribeAsync("tendon/devices/+/call/reply");
    app.ready.catch(lost);
    this.#apps.push(app);
    return app;
  }
}

async function endAgent({ client, transport, ends }) {
  if (ends) await transport.terminateSession().catch(() => {});
  await client.close().catch(() => {});
}

function restOutcome({ status, body }) {
  if (status === 200)
    return {
      outcome: body.result?.isError === true || body.isError === true ? "tool_error" : "ok",
      callId: body.callId,
    };
  return { outcome: body.code ?? `HTTP ${status}`, callId: body.callId, sent: body.sent };
}
