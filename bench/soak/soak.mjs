// One run: starts the gateway and everything around it, checks the rules while it runs and at the end.
import { setTimeout as pause } from "node:timers/promises";
import { Callers } from "./callers.mjs";
import { Devices } from "./devices.mjs";
import { Disturbances } from "./disturbances.mjs";
import { Gateway, programId } from "./gateway.mjs";
import { Records } from "./records.mjs";
import { Samples } from "./samples.mjs";

const checkEveryMs = 60_000;
const settleMs = 60_000;
/** Calls that ended this long ago are in the history, which is written every 100 ms. */
const writtenMs = 2_000;
/** SQLite and Node open some descriptors at first use. */
const descriptorSlack = 4;
const tickMs = 200;
/** docs/operations/reliability.md explains these bounds. */
const bounds = { rssMbPerMinute: 0.5, heapMbPerMinute: 0.2, descriptorsPerMinute: 0.5, rssMb: 400 };
/** Trends count in runs of at least this length: caches fill in the first half hour. */
const judgedMinutes = 60;

/** Small and repeatable (mulberry32). */
function randomFrom(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export class Soak {
  gateway = new Gateway();
  records = new Records();
  restartCount = 0;
  checks = 0;
  #options;
  #lastRestart = Number.NEGATIVE_INFINITY;
  /** From the kill until the next process listens. */
  #restarting = false;
  #readSince = Date.now();

  constructor(options, log = () => {}) {
    this.#options = options;
    this.seed = options.seed;
    this.random = randomFrom(options.seed);
    this.log = log;
    this.records.onViolation = (text) => log(`VIOLATION ${text}`);
    const { gateway, records, random } = this;
    this.devices = new Devices({ gateway, records, random, count: options.devices });
    this.callers = new Callers(this, options.rate);
    this.disturbances = new Disturbances(this);
    this.samples = new Samples(gateway);
  }

  /** Whether errors of connections are explained by a kill. */
  wasRestarted() {
    return this.#restarting || !this.gateway.running || performance.now() - this.#lastRestart < 10_000;
  }

  /** Counts the time in which a busy machine ran neither this process nor the gateway: late answers are not theirs then. */
  #watchDelay() {
    let last = performance.now();
    let waited = this.gateway.waitedMs();
    return setInterval(() => {
      const now = performance.now();
      const waitedNow = this.gateway.waitedMs();
      this.records.lateMs += Math.max(0, now - last - 2 * tickMs) + Math.max(0, waitedNow - waited);
      last = now;
      waited = waitedNow;
    }, tickMs);
  }

  async run() {
    const started = performance.now();
    const watch = this.#watchDelay();
    try {
      await this.gateway.start();
      // The first requests open what stays open.
      await this.gateway.rest("GET", "/devices");
      await until(async () => (await this.#online()).has(programId), settleMs);
      const before = await this.samples.look();
      await this.devices.start();
      await until(() => this.devices.complete, settleMs);
      this.samples.start();
      const calling = this.callers.run();
      const disturbing = this.disturbances.run();
      await this.#wait(this.#options.minutes * 60_000);
      await this.#check();
      this.samples.stop();
      const last = await this.samples.take();
      await Promise.all([this.callers.stop(), this.disturbances.stop()]);
      await Promise.all([calling, disturbing]);
      // Calls that their callers left.
      await until(
        async () => (await this.gateway.rest("GET", "/calls/running")).body.calls.length === 0,
        settleMs,
      );
      await this.#readHistory();
      this.records.settle();
      this.records.unanswered();
      await this.devices.stop();
      const after = await this.#hungUp(before);
      const exitCode = await this.gateway.stop();
      if (exitCode !== 0) this.records.violation(`the gateway exited with ${exitCode}`);
      for (const line of this.gateway.errorLines().slice(0, 5))
        this.records.violation(`the log has an error: ${line}`);
      return this.#report({ before, last, after, seconds: (performance.now() - started) / 1_000 });
    } finally {
      clearInterval(watch);
      this.samples.stop();
      await this.gateway.kill();
      if (this.#options.keep !== true) this.gateway.remove();
    }
  }

  async #wait(ms) {
    const end = performance.now() + ms;
    const restartMs = (this.#options.restarts ?? 0) * 60_000;
    let nextCheck = performance.now() + checkEveryMs;
    let nextRestart = restartMs > 0 ? performance.now() + restartMs : Number.POSITIVE_INFINITY;
    while (performance.now() < end) {
      await pause(Math.max(1, Math.min(end, nextCheck, nextRestart) - performance.now()));
      if (performance.now() >= nextRestart) {
        await this.#restart();
        nextRestart = performance.now() + restartMs;
      } else if (performance.now() >= nextCheck && performance.now() < end) {
        await this.#check();
        nextCheck = performance.now() + checkEveryMs;
      }
    }
  }

  /** kill -9 right after the gateway has acknowledged a new token and new tags: both must be there afterwards. */
  async #restart() {
    const { gateway, records } = this;
    this.restartCount += 1;
    const tag = `restart-${this.restartCount}`;
    const device = this.devices.quick[this.restartCount % this.devices.quick.length];
    const scopes = ["read"];
    const [{ body: made }, changed] = await Promise.all([
      gateway.rest("POST", "/tokens", { name: tag, scopes }),
      gateway.rest("PATCH", `/devices/${device.id}`, { tags: [tag] }),
    ]);
    records.killed();
    this.#restarting = true;
    await gateway.kill();
    this.callers.gatewayKilled();
    this.log(`killed the gateway (${this.restartCount})`);
    await gateway.start();
    this.#restarting = false;
    this.#lastRestart = performance.now();
    const { status } = await gateway.rest("GET", "/devices?limit=1", undefined, { token: made.token });
    if (status !== 200) records.violation(`a token was created, and is unknown after kill -9 (${status})`);
    const { body } = await gateway.rest("GET", `/devices/${device.id}`);
    if (changed.status === 200 && body.tags?.[0] !== tag)
      records.violation(`tags of ${device.id} were changed, and are lost after kill -9`);
  }

  /** Presence and history, while calls go on and no connection fails on purpose. */
  async #check() {
    this.checks += 1;
    this.callers.calm = true;
    this.disturbances.calm = true;
    try {
      if (!(await until(() => this.devices.complete, settleMs))) {
        const missing = [...this.devices.quick, ...this.devices.virtual].filter(
          ({ connected }) => !connected,
        );
        this.records.violation(`cannot connect: ${missing.map(({ id }) => id).join(", ")}`);
      }
      let difference = "";
      const right = await until(async () => {
        difference = this.#difference(await this.#online());
        return difference === "";
      }, settleMs);
      if (!right) this.records.violation(`presence is wrong: ${difference}`);
      const ended = Date.now() - writtenMs;
      await this.#readHistory();
      this.records.settle(ended);
      const { rssMb, heapMb, externalMb, descriptors } = await this.samples.take();
      const violations =
        this.records.violationCount === 0 ? "" : `, ${this.records.violationCount} violations`;
      this.log(
        `minute ${Math.round(this.samples.rows.at(-1).minute)}: ${this.records.calls} calls, RSS ${rssMb.toFixed(1)} MB, ` +
          `heap ${heapMb.toFixed(1)} MB, external ${externalMb.toFixed(1)} MB, ${descriptors} descriptors${violations}`,
      );
    } finally {
      this.callers.calm = false;
      this.disturbances.calm = false;
    }
  }

  async #online() {
    const online = new Set();
    let cursor = "";
    do {
      const { body } = await this.gateway.rest("GET", `/devices?online=true&limit=100${cursor}`);
      for (const { id } of body.devices) online.add(id);
      cursor = body.nextCursor === undefined ? undefined : `&cursor=${encodeURIComponent(body.nextCursor)}`;
    } while (cursor !== undefined);
    return online;
  }

  #difference(online) {
    const connected = [...this.devices.quick, ...this.devices.virtual].filter((device) => device.connected);
    const expected = new Set([programId, ...connected.map(({ id }) => id)]);
    const missing = [...expected].filter((id) => !online.has(id)).map((id) => `${id} shows offline`);
    const extra = [...online].filter((id) => !expected.has(id)).map((id) => `${id} shows online`);
    return some([...missing, ...extra]);
  }

  /** Reads the rows since the last time, with some overlap for calls that were running then. */
  async #readHistory() {
    this.devices.readProgram();
    const since = new Date(this.#readSince - 30_000).toISOString();
    const now = Date.now();
    let cursor = "";
    do {
      const { body } = await this.gateway.rest("GET", `/calls?limit=1000&since=${since}${cursor}`);
      for (const call of body.calls) this.records.row(call);
      cursor = body.nextCursor === undefined ? undefined : `&cursor=${encodeURIComponent(body.nextCursor)}`;
    } while (cursor !== undefined);
    this.devices.readProgram();
    this.#readSince = now;
  }

  /** Everything has hung up: the descriptors are those of the start. */
  async #hungUp(before) {
    this.gateway.hangUp();
    let seen = await this.samples.look();
    const back = await until(async () => {
      this.gateway.hangUp();
      seen = await this.samples.look();
      return seen.descriptors === undefined || seen.descriptors <= before.descriptors + descriptorSlack;
    }, settleMs);
    if (!back)
      this.records.violation(
        `${seen.descriptors} descriptors are open after everything hung up; ${before.descriptors} at the start`,
      );
    if (seen.online !== 1)
      this.records.violation(`${seen.online} devices are online after all but the program hung up`);
    return seen;
  }

  #report({ before, last, after, seconds }) {
    const fits = this.restartCount === 0 ? this.samples.fits() : undefined;
    const bound = (name, value, most) => {
      if (value > most)
        this.records.violation(`${name} grows by ${value.toFixed(2)} a minute; the bound is ${most}`);
    };
    const judged = fits !== undefined && this.#options.minutes >= judgedMinutes;
    if (judged) {
      bound("RSS after collections in MB", fits.rssFloorMb, bounds.rssMbPerMinute);
      bound("the heap after collections in MB", fits.heapFloorMb, bounds.heapMbPerMinute);
      bound("the number of descriptors", fits.descriptors, bounds.descriptorsPerMinute);
    }
    const rssMost = Math.max(...this.samples.rows.map(({ rssMb }) => rssMb));
    if (rssMost > bounds.rssMb)
      this.records.violation(`RSS reached ${rssMost.toFixed(0)} MB; the bound is ${bounds.rssMb} MB`);
    const { records } = this;
    const count = (map) => Object.fromEntries([...map].sort((one, other) => other[1] - one[1]));
    return {
      seed: this.seed,
      minutes: this.#options.minutes,
      seconds,
      devices: this.#options.devices,
      rate: this.#options.rate,
      restarts: this.restartCount,
      checks: this.checks,
      calls: records.calls,
      outcomes: count(records.outcomes),
      interfaces: count(this.callers.byInterface),
      disturbances: count(this.disturbances.counts),
      lossMs: quantiles(records.lossMs),
      memory: { start: before, end: last, hungUp: after, rssMostMb: rssMost },
      fits,
      judged,
      bounds,
      violationCount: records.violationCount,
      violations: records.violations,
      samples: this.samples.rows,
    };
  }
}

function quantiles(values) {
  const sorted = values.toSorted((one, other) => one - other);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  return { count: sorted.length, p50: at(0.5), p99: at(0.99), most: sorted.at(-1) };
}

function some(list) {
  return list.length > 5 ? `${list.slice(0, 5).join(", ")} and ${list.length - 5} more` : list.join(", ");
}

async function until(ask, mostMs) {
  const end = performance.now() + mostMs;
  while (performance.now() < end) {
    if (await ask()) return true;
    await pause(50);
  }
  return false;
}
