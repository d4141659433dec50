// Many devices in a process of their own, so that their sockets do not share a loop with the callers or the server.
import { macOf } from "../devices/firmwares.mjs";
import { MqttDevice } from "../devices/mqtt-device.mjs";
import { WebSocketDevice } from "../devices/websocket-device.mjs";
import { takeOrders } from "./orders.mjs";

/** A board waits before it tries again. */
const retryMs = 1_000;
const provisionAtOnce = 50;
const addresses = 200;
const devices = new Map();
const settings = new Map();

/** The numbers of this process's devices: every process has the same devices at any time, whatever the order's range. */
function numbers({ from, count, share: { at, of } }) {
  const all = Array.from({ length: count }, (_, step) => from + step);
  return all.filter((index) => index % of === at);
}

/** Connects one device, again and again until it is listed. Resolves with how long that took, and how often it failed. */
function connectOne(make, index) {
  const started = performance.now();
  let retries = 0;
  return new Promise((resolve) => {
    const attempt = () => {
      const device = make(index, {
        onListed: () => resolve({ ms: performance.now() - started, retries }),
        // Also when it was listed: a board comes back.
        onClosed: () => {
          if (devices.get(index) !== device) return;
          retries += 1;
          setTimeout(() => {
            if (devices.get(index) === device) attempt();
          }, retryMs);
        },
      });
      devices.set(index, device);
    };
    attempt();
  });
}

const makers = {
  websocket({ target, share }) {
    const { hostname: host, port, pathname: path } = new URL(target.url);
    const place = { host, port: Number(port), path };
    const { network } = target;
    if (network === undefined) return (index, events) => new WebSocketDevice(place, index, events);
    // A source address has some 28,000 ports, those of closed connections stay taken for a minute, and the search for a
    // free one gets slower with each.
    return (index, events) => {
      const localAddress = `127.0.${network}.${1 + (Math.floor(index / share.of) % addresses)}`;
      return new WebSocketDevice({ ...place, localAddress }, index, events);
    };
  },
  mqtt({ target: { version } }) {
    return (index, events) => new MqttDevice({ ...settings.get(index), version }, index, events);
  },
  /** A client of a broker with nothing behind it: it connects and publishes once. */
  "mqtt-bare"({ target }) {
    return (index, { onListed, onClosed }) =>
      new MqttDevice(
        {
          endpoint: target.endpoint,
          client_id: `bench-${index}`,
          username: "u",
          password: "p",
          publish_topic: "device-server",
          version: target.version,
        },
        index,
        {
          onClosed,
          onAccepted: (device) => {
            device.send('{"type":"hello"}');
            onListed();
          },
        },
      );
  },
  /** A device at the bare bridge, which knows it by its client id. */
  "mqtt-bridge"({ target }) {
    return (index, events) =>
      new MqttDevice(
        {
          endpoint: target.endpoint,
          client_id: `board-${index}`,
          username: "u",
          password: "p",
          publish_topic: "device-server",
        },
        index,
        events,
      );
  },
};

const orders = {
  /** Settings the way a board gets them: by asking. */
  async provision({ url, ...range }) {
    const own = numbers(range);
    for (let at = 0; at < own.length; at += provisionAtOnce) {
      await Promise.all(
        own.slice(at, at + provisionAtOnce).map(async (index) => {
          const headers = { "device-id": macOf(index), "client-id": `bench-${index}` };
          const response = await fetch(`${url}/xiaozhi/ota/`, { method: "POST", headers, body: "{}" });
          if (response.status !== 200) throw new Error(`provisioning: status ${response.status}`);
          settings.set(index, (await response.json()).mqtt);
        }),
      );
    }
    return {};
  },
  /** All at once, or `atOnce` at a time. */
  async connect(order) {
    const own = numbers(order);
    const { transport, atOnce = own.length } = order;
    const make = makers[transport](order);
    const results = [];
    let next = 0;
    const worker = async () => {
      while (next < own.length) {
        next += 1;
        results.push(await connectOne(make, own[next - 1]));
      }
    };
    await Promise.all(Array.from({ length: Math.min(atOnce, own.length) }, worker));
    return {
      took: results.map(({ ms }) => ms),
      retries: results.reduce((all, { retries }) => all + retries, 0),
    };
  },
  /** What the server sends after each frame of the device, until the device is listed. */
  async record({ target, index }) {
    const record = [];
    const make = makers.websocket({ target });
    const device = await new Promise((resolve) => {
      const made = make(index, { record, onListed: () => resolve(made) });
    });
    await new Promise((resolve) => setTimeout(resolve, 200));
    device.close();
    return { script: record };
  },
  async bytes() {
    return { bytes: [...devices.values()].reduce((all, { bytes }) => all + bytes, 0) };
  },
  async close() {
    const closing = [...devices.values()];
    devices.clear();
    for (const device of closing) device.close();
    return {};
  },
};

takeOrders(orders);
