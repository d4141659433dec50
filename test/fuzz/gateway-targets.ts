/** Decoders inside the gateway. */
import { limits } from "@tendon/protocol";
import fc from "fast-check";
import { generate, type Packet } from "mqtt-packet";
import {
  gatewayDecoders,
  validCursor,
  validLink,
  validState,
} from "../../packages/gateway/test/fuzz/decoders.ts";
import { jpeg, png } from "../../packages/gateway/test/vision/pictures.ts";
import { configSeeds } from "./config-seeds.ts";
import { seeds } from "./seeds.ts";
import type { Target } from "./target.ts";

function texts(...each: readonly string[]): Buffer[] {
  return each.map((text) => Buffer.from(text));
}

const anyText = fc.string({ unit: "binary", maxLength: 200 }).map((text) => Buffer.from(text));
const anyBytes = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes));
const jsonText = fc.json({ maxDepth: 5 }).map((text) => Buffer.from(text));

const connect: Packet = {
  cmd: "connect",
  protocolId: "MQTT",
  protocolVersion: 4,
  clean: true,
  clientId: "GID_test@@@02_00_00_00_00_01@@@8d0f1c52-3a57-4f3b-9a8e-0c6f3c1c0a01",
  keepalive: 240,
  username: "u",
  password: Buffer.from("p"),
};

const connect5 = { ...connect, protocolVersion: 5 } as const;
const request = { cmd: "publish", topic: "tendon/control", payload: "{}", qos: 1, messageId: 7, dup: false };

function encoded(packets: readonly Packet[], protocolVersion: number): Buffer {
  return Buffer.concat(packets.map((packet) => generate(packet, { protocolVersion })));
}

/** What boards and apps send, each on its own and behind a CONNECT. */
export const mqttSeeds: readonly Buffer[] = [
  [connect],
  [
    connect,
    {
      cmd: "publish",
      topic: "device-server",
      payload: '{"type":"hello"}',
      qos: 0,
      dup: false,
      retain: false,
    },
  ],
  [
    connect,
    {
      cmd: "publish",
      topic: "tendon/control",
      payload: "{}",
      qos: 1,
      messageId: 7,
      dup: false,
      retain: true,
    },
  ],
  [connect, { cmd: "subscribe", messageId: 1, subscriptions: [{ topic: "tendon/events/#", qos: 1 }] }],
  [connect, { cmd: "unsubscribe", messageId: 2, unsubscriptions: ["tendon/events/#"] }],
  [connect, { cmd: "puback", messageId: 7 }, { cmd: "pingreq" }, { cmd: "disconnect" }],
  [{ ...connect, will: { topic: "w", payload: Buffer.from("x"), qos: 1, retain: true } } as Packet],
]
  .map((packets) => encoded(packets as Packet[], 4))
  .concat(
    [
      [{ ...connect5, properties: { sessionExpiryInterval: 10, userProperties: { a: ["b", "c"] } } }],
      [
        connect5,
        { ...request, properties: { responseTopic: "tendon/reply/a", correlationData: Buffer.from("1") } },
      ],
      [connect5, { ...request, topic: "", properties: { topicAlias: 1, messageExpiryInterval: 60 } }],
      [
        connect5,
        {
          cmd: "subscribe",
          messageId: 1,
          properties: { subscriptionIdentifier: 3 },
          subscriptions: [{ topic: "tendon/#", qos: 1, nl: true, rap: true, rh: 1 }],
        },
      ],
      [connect5, { cmd: "disconnect", reasonCode: 4, properties: { sessionExpiryInterval: 5 } }],
    ].map((packets) => encoded(packets as Packet[], 5)),
  );

const pair = seeds.schemas
  .slice(0, 20)
  .map((schema) =>
    Buffer.from(`{"schema":${schema},"arguments":{"url":"http://files.example/a","list":[{"uri":"x"}]}}`),
  );

const shapes: Readonly<Record<string, Omit<Target, "name" | "run">>> = {
  "line-reader": { seeds: seeds.lines, maxBytes: 64 * 1024, arbitrary: anyBytes },
  "mqtt-packets": { seeds: mqttSeeds, maxBytes: 300 * 1024, arbitrary: anyBytes },
  "topic-filters": {
    seeds: texts(
      "tendon/events/desk\ntendon/#\ntendon/+/desk\n#\n+/+/+",
      "devices/p2p/x\ndevices/p2p/x\n$SYS/#",
    ),
    maxBytes: 4_096,
    arbitrary: fc
      .array(fc.array(fc.constantFrom("a", "b", "+", "#", "", "$SYS"), { maxLength: 5 }), { maxLength: 5 })
      .map((rows) => Buffer.from(rows.map((levels) => levels.join("/")).join("\n"))),
  },
  "picture-format": { seeds: [jpeg(), png()], maxBytes: 64 * 1024, arbitrary: anyBytes },
  "signed-texts": { seeds: texts(validLink, validState), maxBytes: 4_096, arbitrary: anyText },
  cursors: {
    seeds: texts(validCursor, "0190f3a0-0000-7000-8000-000000000000"),
    maxBytes: 4_096,
    arbitrary: anyText,
  },
  addresses: {
    seeds: texts(
      "files.example\nhttps://files.example/a?b#c",
      "*.example\nhttp://a.example:80/",
      "*\nhttp://8.8.8.8/",
      "http://[::1]:8080\nhttp://[::1]:8080/",
      "::ffff:127.0.0.1\ndevice://02%3A00%3A00%3A00%3A00%3A01/photos/3",
    ),
    maxBytes: 8_192,
    arbitrary: fc.tuple(fc.domain(), fc.webUrl()).map(([host, url]) => Buffer.from(`${host}\n${url}`)),
  },
  "url-arguments": { seeds: pair, maxBytes: 128 * 1024, arbitrary: jsonText },
  "access-rules": {
    seeds: texts(
      '{"rule":{"volume":{"min":50}},"arguments":{"volume":80}}',
      '{"rule":{"url":{"pattern":"http://*.example/*"},"a.b":[1,"x",null]},"arguments":{"url":"http://a.example/b","a":{"b":1}}}',
      '{"rule":{"x":{"present":true}},"arguments":{}}',
    ),
    maxBytes: 64 * 1024,
    arbitrary: jsonText,
  },
  "device-claim": {
    seeds: texts("02:00:00:00:00:01\n8d0f1c52-3a57-4f3b-9a8e-0c6f3c1c0a01\nBearer abc.def", "salon\n\nx y"),
    maxBytes: 16 * 1024,
    arbitrary: anyText,
  },
  masking: {
    seeds: [
      ...texts('{"token":"abcdefghijklmnop","a":"{\\"password\\":\\"x\\"}"}', "Authorization: Bearer abc"),
      ...seeds.deviceFrames.slice(0, 40),
    ],
    maxBytes: limits.deviceFrameBytes.max,
    arbitrary: fc.oneof(jsonText, anyText),
  },
  "search-words": {
    seeds: [
      ...texts("turn the volume up", "把音量调到五十", "sube el volumen", "tăng âm lượng lên", "Küche?"),
      ...seeds.texts.slice(0, 10),
    ],
    maxBytes: 64 * 1024,
    arbitrary: fc.string({ unit: "grapheme", maxLength: 200 }).map((text) => Buffer.from(text)),
  },
  "compact-arguments": { seeds: texts('{"volume":3}', ""), maxBytes: 64 * 1024, arbitrary: jsonText },
  "config-file": { seeds: configSeeds, maxBytes: 4 * 1024, mostCpuMs: 1_000, arbitrary: anyText },
  environment: {
    seeds: texts(
      "TENDON_HTTP_PORT=8600\nTENDON_LOG_LEVEL=debug",
      'TENDON_ACCESS_RULES=[{"effect":"deny"}]',
      "TENDON_DATA=/tmp/x\nTENDON_MQTT_ENABLED=false",
    ),
    maxBytes: 8_192,
    arbitrary: anyText,
  },
};

export const gatewayTargets: readonly Target[] = Object.entries(gatewayDecoders()).map(([name, run]) => {
  const shape = shapes[name];
  if (shape === undefined) throw new RangeError(`${name} has no seeds`);
  return { name, ...shape, run };
});
