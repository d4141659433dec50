// The fleet: quick devices over WebSocket and MQTT that do what a call's `act` says, virtual boards with the
// simulator's faults, and one program that the gateway starts.
import fs from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { Fleet, faultsNamed } from "@tendon/simulator";
import mqttPacket from "mqtt-packet";
import { connectDevice, macOf } from "../quick-device.mjs";
import { connectMqttDevice } from "../quick-mqtt-device.mjs";
import { programId } from "./gateway.mjs";

export const countTool = "self.count.add";
const countDefinition = {
  name: countTool,
  description: "Counts a call.",
  inputSchema: {
    type: "object",
    properties: { number: { type: "integer" }, act: { type: "string" }, ms: { type: "integer" } },
    required: ["number"],
  },
};
const pingMs = 25_000;
const firstBoard = "02:00:00:f0:00:01";
/** One board each. The first group keeps its connection. */
const steadyFaults = [
  ["duplicate-reply"],
  ["foreign-ids"],
  ["notifications=2000"],
  ["old-firmware"],
  ["unknown-kinds"],
];
const roughFaults = [["dropped-reply=4"], ["slow=400"], ["reboot-mid-call"], ["broken-json"]];

function extraTool(variant) {
  return {
    name: `self.extra.part_${variant}`,
    description: "Comes and goes with the firmware.",
    inputSchema: { type: "object", properties: {} },
  };
}

/** A device of the quick kind. It reconnects until `stop`. */
class QuickDevice {
  connected = false;
  /** Why its last connection ended or failed. */
  lastProblem = "";
  /** Part of the tool list, and changed by a reboot. */
  variant = 0;
  #fleet;
  #index;
  #send = () => {};
  #cut = () => {};
  #stopped = false;
  #running;

  constructor(fleet, index, kind) {
    this.#fleet = fleet;
    this.#index = index;
    this.kind = kind;
    this.id = macOf(index);
  }

  start() {
    this.#running = this.#stayConnected();
  }

  async stop() {
    this.#stopped = true;
    this.#cut();
    await this.#running;
  }

  /** Drops the connection without a word. */
  cut() {
    this.#cut();
  }

  /** Sends one text as a message, whatever it is. */
  send(text) {
    this.#send(text);
  }

  async #stayConnected() {
    while (!this.#stopped) {
      try {
        const { closed } = this.kind === "websocket" ? await this.#overWebSocket() : await this.#overMqtt();
        this.connected = true;
        this.lastProblem = "connected";
        await closed;
        this.lastProblem = "lost";
      } catch (error) {
        // The gateway is away, or closed the connection before the list was complete.
        this.lastProblem = error.message;
      }
      this.connected = false;
      this.#send = () => {};
      if (!this.#stopped) await pause(100 + this.#fleet.random() * 1_500);
    }
  }

  #behaviour() {
    return {
      tools: [countDefinition, extraTool(this.variant)],
      call: ({ arguments: args }) => this.#run(args),
    };
  }

  async #overWebSocket() {
    const { gateway } = this.#fleet;
    const socket = await connectDevice(gateway.deviceUrl, this.#index, this.#behaviour());
    this.#cut = () => socket.terminate();
    this.#send = (text) => socket.send(text);
    const closed = new Promise((resolve) => {
      socket.once("close", resolve);
    });
    if (this.#stopped) socket.terminate();
    return { closed };
  }

  async #overMqtt() {
    const settings = await this.#fleet.settingsOf(this.#index);
    const { socket, listed } = await connectMqttDevice(settings, () => {}, this.#behaviour());
    const closed = new Promise((resolve) => {
      socket.once("close", resolve);
    });
    const timer = setInterval(() => socket.write(mqttPacket.generate({ cmd: "pingreq" })), pingMs);
    void closed.then(() => clearInterval(timer));
    this.#cut = () => socket.destroy();
    this.#send = (payload) =>
      socket.write(
        mqttPacket.generate({
          cmd: "publish",
          topic: settings.publish_topic,
          payload,
          qos: 0,
          dup: false,
          retain: false,
        }),
      );
    if (this.#stopped) socket.destroy();
    await Promise.race([listed, closed]);
    return { closed };
  }

  #run({ number, act, ms }) {
    const { records } = this.#fleet;
    if (act === "drop unread") {
      records.dropped(number);
      this.#cut();
      return undefined;
    }
    records.ran(number, this.id);
    const result = { content: [{ type: "text", text: String(number) }], isError: act === "fail" };
    if (act === "drop") {
      records.dropped(number);
      this.#cut();
      return undefined;
    }
    if (act === "garbage") this.#fleet.sendGarbage(this);
    return ms === undefined ? result : pause(ms).then(() => result);
  }
}

export class Devices {
  quick = [];
  virtual = [];
  #rough = new Set();
  #fleets = [];
  #ranBytes = 0;

  constructor({ gateway, records, random, count }) {
    this.gateway = gateway;
    this.records = records;
    this.random = random;
    for (let index = 0; index < count; index += 1)
      this.quick.push(new QuickDevice(this, index + 1, index % 2 === 0 ? "websocket" : "mqtt"));
  }

  /** Resolves when all are connected. */
  async start() {
    for (const device of this.quick) device.start();
    await Promise.all([
      this.#startVirtual(steadyFaults, 0),
      this.#startVirtual(roughFaults, steadyFaults.length),
    ]);
  }

  async #startVirtual(faults, offset) {
    const fleet = new Fleet({
      count: faults.length,
      firstMac: firstBoard.replace(/01$/, String(1 + offset).padStart(2, "0")),
      device: { autoReconnect: true, backoff: { minimumMs: 200, maximumMs: 1_000 }, timing: { bootMs: 300 } },
      each: ({ index }) => ({
        faults: faultsNamed(faults[index]),
        ...(index % 2 === 0
          ? { otaUrl: `${this.gateway.url}/xiaozhi/ota/` }
          : { url: this.gateway.deviceUrl }),
      }),
      built: (device) => {
        const properties = {
          number: { type: "integer" },
          act: { type: "string", default: "" },
          ms: { type: "integer", default: 0 },
        };
        device.addTool(countTool, "Counts a call.", properties, ({ number }) => {
          this.records.ran(number, device.id);
          return String(number);
        });
      },
    });
    this.#fleets.push(fleet);
    await fleet.start();
    this.virtual.push(...fleet.devices);
    if (faults === roughFaults) for (const { id } of fleet.devices) this.#rough.add(id);
  }

  async stop() {
    await Promise.all([...this.quick, ...this.#fleets].map((one) => one.stop()));
  }

  /** Ids of devices to call. Without `rough`: those that disconnect or fail by themselves are left out. */
  ids(rough) {
    const virtual = this.virtual.map(({ id }) => id).filter((id) => rough || !this.#rough.has(id));
    return [...this.quick.map(({ id }) => id), ...virtual, programId];
  }

  isQuick(id) {
    return this.quick.some((device) => device.id === id);
  }

  /** Whether every device has its connection. */
  get complete() {
    return [...this.quick, ...this.virtual].every(({ connected }) => connected);
  }

  /** The settings that a board gets from the OTA address. */
  async settingsOf(index) {
    const { body } = await this.gateway.request("POST", "/xiaozhi/ota/", {
      body: {},
      token: undefined,
      headers: { "device-id": macOf(index), "client-id": `bench-${index}` },
    });
    return body.mqtt;
  }

  sendGarbage(device) {
    for (const text of [
      "not JSON",
      '{"type":"telemetry","uptime":1}',
      '{"type":"mcp","payload":{"jsonrpc":"2.0","id":2147483000,"result":{}}}',
      '{"type":"mcp","payload":[]}',
    ])
      device.send(text);
  }

  /** Reads the calls that the program has written down since the last time. */
  readProgram() {
    if (!fs.existsSync(this.gateway.ranFile)) return;
    const text = fs.readFileSync(this.gateway.ranFile, "utf8").slice(this.#ranBytes);
    const whole = text.slice(0, text.lastIndexOf("\n") + 1);
    this.#ranBytes += whole.length;
    for (const number of whole.split("\n").slice(0, -1)) this.records.ran(Number(number), programId);
  }
}
