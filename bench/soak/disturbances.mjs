// What else happens to a gateway: devices come and go, tokens are created and revoked, readers read, and strangers
// send what they like. Each kind happens at its own average rate.
import { setMaxListeners } from "node:events";
import net from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { connectDevice, macOf } from "../quick-device.mjs";
import { countTool } from "./devices.mjs";

const mostStreams = 12;
const floodFrames = 3_000;
/** Far from the fleet's. */
const floodIndex = 900_000;
const flooders = 20;
const strangerIndex = 910_000;
const strangers = 50;
const variants = 4;
const floodPatienceMs = 10_000;

export class Disturbances {
  calm = false;
  counts = new Map();
  #floods = 0;
  #soak;
  #stopped = new AbortController();
  #open = new Set();
  #streams = new Set();
  /** Name, how often a minute, whether it changes presence, what it does. */
  #kinds = [
    ["connection dropped", 40, true, () => this.#quick()?.cut()],
    ["reboot with other tools", 10, true, () => this.#reboot()],
    ["taken over by a second connection", 6, true, () => this.#takeOver()],
    ["garbage from a device", 20, false, () => this.#garbage()],
    ["flood that is cut", 2, true, () => this.#flood()],
    ["garbage on a port", 20, false, () => this.#rawBytes()],
    ["half a request", 10, false, () => this.#halfRequest()],
    ["token created, used, revoked", 8, false, () => this.#token()],
    ["event stream", 20, false, () => this.#stream()],
    ["read", 60, false, () => this.#read()],
    ["OTA request", 30, false, () => this.#ota()],
  ];

  constructor(soak) {
    this.#soak = soak;
    setMaxListeners(0, this.#stopped.signal);
  }

  async run() {
    await Promise.all(this.#kinds.map((kind) => this.#repeat(kind)));
  }

  async stop() {
    this.#stopped.abort();
    for (const stream of this.#streams) stream.destroy();
    await Promise.all(this.#open);
  }

  async #repeat([name, perMinute, changesPresence, work]) {
    const { random, records, gateway } = this.#soak;
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      const ms = (-Math.log(1 - random()) * 60_000) / perMinute;
      await pause(ms, undefined, { signal }).catch(() => {});
      if (signal.aborted || (this.calm && changesPresence)) continue;
      this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
      const done = (async () => await work())()
        .catch((error) => {
          if (!signal.aborted && !this.#soak.wasRestarted()) records.violation(`${name}: ${error.message}`);
        })
        .finally(() => this.#open.delete(done));
      this.#open.add(done);
      if (!gateway.running) await pause(100);
    }
  }

  #quick() {
    const { devices, random } = this.#soak;
    const connected = devices.quick.filter((device) => device.connected);
    return connected[Math.floor(random() * connected.length)];
  }

  #reboot() {
    const device = this.#quick();
    if (device === undefined) return;
    device.variant = (device.variant + 1) % variants;
    device.cut();
  }

  #garbage() {
    const device = this.#quick();
    if (device !== undefined) this.#soak.devices.sendGarbage(device);
  }

  /** The gateway closes the older connection; the device then closes the newer one and connects again. */
  async #takeOver() {
    const { devices, gateway } = this.#soak;
    const device = this.#quick();
    if (device?.kind !== "websocket") return;
    const socket = await connectDevice(gateway.deviceUrl, devices.quick.indexOf(device) + 1, {
      tools: [],
      call: () => undefined,
    }).catch(() => undefined);
    socket?.terminate();
  }

  async #flood() {
    const { gateway, records } = this.#soak;
    // One that was cut must wait before it may return, so several take turns.
    this.#floods += 1;
    const index = floodIndex + (this.#floods % flooders);
    const socket = await connectDevice(gateway.deviceUrl, index);
    const cut = new Promise((resolve) => {
      socket.once("close", () => resolve(true));
    });
    for (let sent = 0; sent < floodFrames; sent += 1) socket.send('{"type":"telemetry"}');
    // Paused five times, then closed: at the allowed rate a flood of this size ends in time and is only slowed down.
    const ended = await Promise.race([cut, pause(floodPatienceMs, false, { ref: false })]);
    if (!ended) {
      const { body } = await gateway.rest("GET", `/devices/${macOf(index)}`);
      if (body.online !== true) records.violation("a flooding device is neither connected nor cut");
    }
    socket.terminate();
  }

  async #dial(endpoint) {
    const { hostname, port } = new URL(`tcp://${endpoint}`);
    const socket = net.connect(Number(port), hostname);
    socket.on("error", () => {});
    await new Promise((resolve) => {
      socket.once("connect", resolve);
      socket.once("close", resolve);
    });
    return socket;
  }

  async #rawBytes() {
    const { random, gateway } = this.#soak;
    const endpoint = random() < 0.5 ? gateway.mqttEndpoint : new URL(gateway.url).host;
    const socket = await this.#dial(endpoint);
    const bytes = Buffer.from(
      Array.from({ length: 1 + Math.floor(random() * 2_000) }, () => Math.floor(random() * 256)),
    );
    socket.write(bytes);
    await this.#keepFor(socket, 2_000);
  }

  async #halfRequest() {
    const { random, gateway } = this.#soak;
    const mqtt = random() < 0.3;
    const socket = await this.#dial(mqtt ? gateway.mqttEndpoint : new URL(gateway.url).host);
    socket.write(
      mqtt ? Buffer.from([0x10, 0x40, 0x00]) : "POST /api/v1/calls HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Le",
    );
    await this.#keepFor(socket, 20_000);
  }

  /** Until the other side closes it, or for some time. */
  async #keepFor(socket, mostMs) {
    const { signal } = this.#stopped;
    const closed = new Promise((resolve) => {
      socket.once("close", resolve);
    });
    socket.resume();
    await Promise.race([closed, pause(this.#soak.random() * mostMs, undefined, { signal }).catch(() => {})]);
    socket.destroy();
  }

  async #token() {
    const { gateway, records, devices, random } = this.#soak;
    const { status, body } = await gateway.rest("POST", "/tokens", {
      name: "soak",
      scopes: ["read", "call"],
    });
    if (status !== 201) throw new Error(`status ${status}`);
    const { id, token } = body;
    const ids = devices.ids(false);
    const at = `/devices/${ids[Math.floor(random() * ids.length)]}/tools/${countTool}/check`;
    const check = { arguments: { number: 0 } };
    const before = await gateway.rest("POST", at, check, { token });
    if (before.status === 401 || before.status === 403)
      records.violation(`a new token was rejected: ${before.text}`);
    await gateway.rest("DELETE", `/tokens/${id}`);
    const after = await gateway.rest("POST", at, check, { token });
    if (after.status !== 401) records.violation(`a revoked token got status ${after.status}`);
  }

  /** Most read for a while and leave; some stop reading. */
  async #stream() {
    const { gateway, random } = this.#soak;
    if (this.#streams.size >= mostStreams) return;
    const { signal } = this.#stopped;
    const leave = new AbortController();
    const response = await gateway.open("GET", "/api/v1/events", {
      token: gateway.token,
      signal: leave.signal,
      idle: true,
    });
    if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`);
    this.#streams.add(response);
    response.on("error", () => {});
    if (random() < 0.85) response.resume();
    await pause(random() * 60_000, undefined, { signal }).catch(() => {});
    leave.abort();
    response.destroy();
    this.#streams.delete(response);
  }

  async #read() {
    const { gateway, random, records } = this.#soak;
    const paths = [
      "/devices?limit=100",
      "/calls?limit=50",
      "/calls/running",
      "/audit?limit=20",
      "/devices/counter/tools",
      "/tokens",
    ];
    const at = paths[Math.floor(random() * paths.length)];
    const { status, body } = await gateway.rest("GET", at);
    if (status !== 200) throw new Error(`${at}: status ${status}`);
    const [call] = body.calls ?? [];
    if (call === undefined) return;
    const trace = await gateway.rest("GET", `/calls/${call.callId}`);
    if (trace.status !== 200) records.violation(`call ${call.callId} is listed and cannot be read`);
  }

  async #ota() {
    const { devices, random } = this.#soak;
    const index = strangerIndex + Math.floor(random() * strangers);
    const settings = await devices.settingsOf(index);
    if (settings?.endpoint === undefined) throw new Error("no settings");
  }
}
