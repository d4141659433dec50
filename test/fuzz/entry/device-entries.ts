/** What devices send: handshakes, frames, answers and packets. */
import { isErrorCode, visionLimits } from "@tendon/protocol";
import { mqttSeeds } from "../gateway-targets.ts";
import { seeds } from "../seeds.ts";
import { must } from "../target.ts";
import { clientId, type Dial, envelope, FuzzDevice, hello } from "./device.ts";
import type { Entry, FuzzSite, Sender } from "./entry.ts";
import { soon } from "./entry.ts";
import { ask, asObject, exchange, outcomeOf } from "./http.ts";
import { dialMqtt } from "./mqtt-line.ts";

const answerMs = 5_000;

function idOf(family: string, worker: number): string {
  return `fuzz-${family}-${worker}`;
}

/** Reconnects before the connection has used up its burst of frames. */
const framesPerConnection = 300;

function frames(name: string, dial?: Dial): Entry {
  return {
    name,
    workers: 8,
    maxBytes: 300 * 1024,
    seeds: () => seeds.deviceFrames,
    async open(site, worker): Promise<Sender> {
      const device = new FuzzDevice(
        site.url,
        `02:00:00:00:${dial === undefined ? "0a" : "0b"}:0${worker}`,
        dial,
      );
      let sent = 0;
      return {
        async send(input) {
          if (sent % framesPerConnection === 0 || !device.isOpen) await device.connect();
          sent += 1;
          device.send(input.toString());
          const answered = await soon(device.ping(), answerMs, undefined);
          must(answered !== undefined, "a device gets an answer after any frame");
          return answered === true ? "ok" : "disconnected";
        },
        close: () => device.close(),
      };
    },
  };
}

function masked(opcode: number, payload: Buffer): Buffer {
  const length =
    payload.length < 126
      ? Buffer.from([0x80 | payload.length])
      : Buffer.from([0x80 | 126, payload.length >> 8, payload.length & 0xff]);
  return Buffer.concat([Buffer.from([0x80 | opcode]), length, Buffer.alloc(4), payload]);
}

function upgrade(headers: Readonly<Record<string, string>>, path = "/xiaozhi/v1/"): Buffer {
  const lines = Object.entries({
    Host: "127.0.0.1",
    Upgrade: "websocket",
    Connection: "Upgrade",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`GET ${path} HTTP/1.1\r\n${lines.join("")}\r\n`);
}

function portOf(site: FuzzSite): number {
  return Number(new URL(site.url).port);
}

const identity = { "Device-Id": "fuzz-raw-0", "Client-Id": clientId, "Protocol-Version": "1" };

/** The bytes behind a valid handshake. */
const frameBytes: Entry = {
  name: "websocket-bytes",
  workers: 16,
  maxBytes: 64 * 1024,
  seeds: () => [
    masked(1, Buffer.from(hello)),
    masked(2, Buffer.from([1, 2, 3, 4])),
    masked(8, Buffer.from([0x03, 0xe8])),
    Buffer.concat([masked(1, Buffer.from(hello)), masked(9, Buffer.from("x")), masked(10, Buffer.alloc(0))]),
    Buffer.concat([
      Buffer.from([0x01, 0x82, 0, 0, 0, 0]),
      Buffer.from("{}"),
      Buffer.from([0x80, 0x80, 0, 0, 0, 0]),
    ]),
    ...seeds.deviceFrames.slice(0, 20).map((frame) => masked(1, frame)),
  ],
  async open(site, worker) {
    const head = upgrade({ ...identity, "Device-Id": idOf("bytes", worker) });
    return {
      async send(input) {
        const back = await exchange(portOf(site), head, 20, { bytes: input, answerMs });
        must(back.toString("latin1").startsWith("HTTP/1.1 101"), "a valid handshake is accepted");
        return "ok";
      },
      close: () => undefined,
    };
  },
};

/** Anything on the HTTP port, handshakes first. */
const rawHttp: Entry = {
  name: "http-bytes",
  workers: 16,
  maxBytes: 32 * 1024,
  seeds: (site) => [
    upgrade(identity),
    upgrade({ ...identity, Authorization: "Bearer x", "Sec-WebSocket-Extensions": "permessage-deflate" }),
    upgrade({ "Sec-WebSocket-Protocol": "mqtt" }, "/mqtt"),
    upgrade({ ...identity, "Sec-WebSocket-Protocol": "a, b" }, "/xiaozhi/v1/?a=b"),
    Buffer.from("GET /api/v1/devices HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"),
    Buffer.from("GET /docs/static/../x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"),
    Buffer.from("GET /%2e%2e/%00 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"),
    Buffer.from(
      `POST /mcp HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${site.adminToken}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
    ),
    Buffer.from("POST /xiaozhi/ota/ HTTP/1.1\r\nHost: a\r\nDevice-Id: x\r\nContent-Length: 2\r\n\r\n{}"),
  ],
  async open(site) {
    return {
      async send(input) {
        const back = (await exchange(portOf(site), input, 150)).toString();
        const status = /^HTTP\/1\.1 (\d{3})/.exec(back)?.[1];
        if (status === undefined) return back === "" ? "no answer" : "other";
        if (Number(status) < 400) return "ok";
        const { code } = asObject(firstBody(back));
        must(typeof code === "string" && isErrorCode(code), `a refusal has a code: ${back.slice(0, 600)}`);
        must(code !== "internal", `no internal error: ${back.slice(0, 600)}`);
        return String(code);
      },
      close: () => undefined,
    };
  },
};

/** Several requests get several answers. */
function firstBody(text: string): string {
  const from = text.indexOf("\r\n\r\n") + 4;
  const length = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, from))?.[1];
  const body = Buffer.from(text.slice(from));
  return body.subarray(0, length === undefined ? body.length : Number(length)).toString();
}

/** Answers of a device to a call, such as recorded and changed ones. The caller gets a result or a code. */
const answers: Entry = {
  name: "device-answers",
  workers: 8,
  maxBytes: 250 * 1024,
  seeds: () => seeds.results,
  async open(site, worker): Promise<Sender> {
    const device = new FuzzDevice(site.url, idOf("answers", worker));
    await device.connect();
    let answer: Buffer = Buffer.alloc(0);
    device.onCall = (id) =>
      `{"session_id":"","type":"mcp","payload":{"jsonrpc":"2.0","id":${id},"result":${answer.toString()}}}`;
    return {
      async send(input) {
        if (!device.isOpen) await device.connect();
        answer = input;
        const answered = await ask(site.url, {
          method: "POST",
          path: `/api/v1/devices/${device.id}/tools/any/call`,
          headers: { authorization: `Bearer ${site.adminToken}`, "content-type": "application/json" },
          body: '{"arguments":{"a":1},"timeoutMs":100}',
        });
        return outcomeOf(answered);
      },
      close: () => device.close(),
    };
  },
};

/** The bytes on the MQTT port: a board's or an app's CONNECT, and anything behind it. */
const mqttBytes: Entry = {
  name: "mqtt-bytes",
  workers: 16,
  maxBytes: 300 * 1024,
  seeds: (site) => [...mqttSeeds, ...appPackets(site)],
  async open(site, worker) {
    const [connect = Buffer.alloc(0)] = appPackets(site);
    return {
      async send(input) {
        // Half of them behind the sign-in of an app, where more packets are read.
        if (worker % 2 === 1) {
          const back = await exchange(site.mqttPort, connect, 20, { bytes: input, answerMs });
          must(back[0] === 0x20 && back[3] === 0, "an app can sign in");
          return back.length > 4 ? "answered" : "signed in";
        }
        // A share of them byte by byte: a parser must not depend on where a packet is cut.
        const single = worker % 4 === 0 && input.length < 300;
        const back = await exchange(site.mqttPort, input, 100, single ? "bytes" : undefined);
        return back.length === 0 ? "no answer" : back[0] === 0x20 ? `connack ${back[3]}` : "other";
      },
      close: () => undefined,
    };
  },
};

function appPackets({ adminToken }: FuzzSite): Buffer[] {
  const text = (value: string) =>
    Buffer.concat([Buffer.from([value.length >> 8, value.length & 0xff]), Buffer.from(value)]);
  const body = Buffer.concat([
    text("MQTT"),
    Buffer.from([4, 0xc2, 0, 60]),
    text("app"),
    text("app"),
    text(adminToken),
  ]);
  const connect = Buffer.concat([Buffer.from([0x10, body.length]), body]);
  const publish = (topic: string, payload: string) => {
    const packet = Buffer.concat([text(topic), Buffer.from(payload)]);
    return Buffer.concat([connect, Buffer.from([0x30, packet.length]), packet]);
  };
  return [
    connect,
    publish("tendon/control", '{"action":"get_volume","device":"keeper","request_id":"r"}'),
    publish("tendon/devices/keeper/control", '{"action":"mute"}'),
    Buffer.concat([connect, Buffer.from([0x82, 6, 0, 1, 0, 1, 0x23, 0])]),
  ];
}

/** The uploads of screenshots, each with the ticket of a call that waits for it. */
const vision: Entry = {
  name: "vision-uploads",
  workers: 4,
  maxBytes: 256 * 1024,
  seeds: () => visionSeeds,
  async open(site, worker): Promise<Sender> {
    const device = new FuzzDevice(site.url, idOf("vision", worker));
    await device.connect();
    let form: Buffer = Buffer.alloc(0);
    let uploaded: Promise<string> | undefined;
    const upload = async (path: string) => {
      const answered = await ask(site.url, {
        method: "POST",
        path,
        headers: { "content-type": `multipart/form-data; boundary=${boundary}`, "device-id": device.id },
        body: form,
        // A large part without headers stops the form's parser, and is answered when its time is over.
        answerMs: 2 * visionLimits.uploadMs.max,
      });
      const { success, message } = asObject(answered?.text ?? "");
      must(typeof success === "boolean", `an upload is answered: ${answered?.text.slice(0, 200)}`);
      must(success === true || (typeof message === "string" && message !== ""), "a refusal has a message");
      return success === true ? "ok" : `refused:${String(message).slice(0, 30)}`;
    };
    device.onCall = async (id, _name, args) => {
      uploaded = upload(new URL(String(args["url"])).pathname);
      await uploaded.catch(() => undefined);
      return envelope({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text: "true" }] } });
    };
    return {
      async send(input) {
        if (!device.isOpen) await device.connect();
        [form, uploaded] = [input, undefined];
        const answered = await ask(site.url, {
          method: "POST",
          path: `/api/v1/devices/${device.id}/tools/self.screen.snapshot/call`,
          headers: { authorization: `Bearer ${site.adminToken}`, "content-type": "application/json" },
          body: '{"arguments":{},"timeoutMs":4000}',
        });
        const outcome = outcomeOf(answered);
        return (await uploaded) ?? `call ${outcome}`;
      },
      close: () => device.close(),
    };
  },
};

const boundary = "----ESP32_CAMERA_BOUNDARY";
const picture = Buffer.concat([
  Buffer.from("ffd8ffe000104a46494600010100000100010000ffdb00040000ffc0000b0800f00140010101", "hex"),
  Buffer.from("1100ffda0008010100003f00", "hex"),
  Buffer.alloc(100, 0x5a),
  Buffer.from("ffd9", "hex"),
]);
const part = (head: string, body: Buffer | string) =>
  Buffer.concat([Buffer.from(`--${boundary}\r\n${head}\r\n\r\n`), Buffer.from(body), Buffer.from("\r\n")]);
const file = (name: string) =>
  part(
    `Content-Disposition: form-data; name="file"; filename="${name}"\r\nContent-Type: image/jpeg`,
    picture,
  );
const end = Buffer.from(`--${boundary}--\r\n`);
const visionSeeds: readonly Buffer[] = [
  Buffer.concat([file("screenshot.jpg"), end]),
  Buffer.concat([part('Content-Disposition: form-data; name="question"', "What?"), file("camera.jpg"), end]),
  Buffer.concat([
    part('Content-Disposition: form-data; name="__proto__"', "x"),
    file("../../etc/passwd"),
    end,
  ]),
  Buffer.concat([file("a.jpg"), file("b.jpg"), end]),
  end,
];

export const deviceEntries: readonly Entry[] = [
  frames("websocket-texts"),
  frames("mqtt-texts", dialMqtt),
  frameBytes,
  rawHttp,
  answers,
  mqttBytes,
  vision,
];
