/** The decoders of `packages/protocol`, with the promises that hold for every input. */
import { isDeepStrictEqual } from "node:util";
import {
  type AudioFraming,
  audioFramingOf,
  boardTlsPort,
  type Decoded,
  decodeAudio,
  decodeDeviceFrame,
  decodeServerFrame,
  decodeServerLine,
  encodeAudio,
  encodeMcp,
  encodeServerMessage,
  isClientId,
  isMacAddress,
  isMonoOpus,
  isNewerFirmware,
  limits,
  macMistake,
  makeMqttClientId,
  misspeltArguments,
  namesBoard,
  nearNames,
  normaliseDeviceId,
  opusDurationMs,
  parseJson,
  readBoardEndpoint,
  readBoardUrl,
  readImage,
  readMqttClientId,
  readUdpHeader,
  udpHeaderBytes,
  writeUdpHeader,
} from "@tendon/protocol";
import fc from "fast-check";
import { makeImage } from "../firmware-image.ts";
import { seeds } from "./seeds.ts";
import { must, type Target } from "./target.ts";

function texts(...each: readonly string[]): Buffer[] {
  return each.map((text) => Buffer.from(text));
}

/** As JSON, because it has no negative zero. */
function sameJson(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** A refusal has a reason, and an unknown kind a short name. */
function outcomeOf(decoded: Decoded<unknown>): string {
  if (decoded.outcome === "invalid") {
    must(decoded.reason !== "" && decoded.reason.length < 2_000, "a refusal has a short reason");
    return `invalid:${decoded.reason.slice(0, 40)}`;
  }
  if (decoded.outcome === "unknown") {
    must(decoded.kind.length <= 64, "an unknown kind is cut");
    return "unknown";
  }
  return "ok";
}

const jsonText = fc.json({ maxDepth: 6 }).map((text) => Buffer.from(text));
const anyBytes = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes));
const anyText = fc.string({ unit: "binary", maxLength: 200 }).map((text) => Buffer.from(text));
const rpc = fc.record(
  {
    jsonrpc: fc.constantFrom("2.0", "1.0", 2),
    id: fc.oneof(fc.integer(), fc.string(), fc.constant(null), fc.double()),
    method: fc.oneof(fc.string(), fc.jsonValue()),
    params: fc.jsonValue({ maxDepth: 3 }),
    result: fc.jsonValue({ maxDepth: 3 }),
    error: fc.oneof(fc.record({ message: fc.string(), code: fc.integer() }), fc.jsonValue()),
  },
  { requiredKeys: [] },
);
const frame = fc
  .record({
    session_id: fc.string(),
    type: fc.constantFrom("mcp", "hello", "listen", "custom"),
    payload: rpc,
  })
  .map((value) => Buffer.from(JSON.stringify(value)));

const deviceFrame: Target = {
  name: "device-frame",
  seeds: seeds.deviceFrames,
  maxBytes: limits.deviceFrameBytes.max,
  arbitrary: fc.oneof(frame, jsonText, anyText),
  run(input) {
    const decoded = decodeDeviceFrame(input.toString());
    if (decoded.outcome !== "ok") return outcomeOf(decoded);
    const { message } = decoded;
    if (message.type !== "mcp") {
      const again = decodeDeviceFrame(JSON.stringify(message));
      must(sameJson(again, decoded), "a decoded frame decodes to the same again");
    } else if (message.rpc.kind === "result") {
      const { id, result } = message.rpc;
      const again = decodeDeviceFrame(encodeMcp("s", { jsonrpc: "2.0", id, result }));
      must(sameJson(again, decoded), "a decoded reply decodes to the same again");
    }
    return `ok:${message.type}`;
  },
};

const serverFrame: Target = {
  name: "voice-server-frame",
  seeds: seeds.serverFrames,
  maxBytes: limits.deviceFrameBytes.max,
  arbitrary: fc.oneof(frame, jsonText),
  run(input) {
    const decoded = decodeServerFrame(input.toString());
    if (decoded.outcome === "ok" && decoded.message.type !== "mcp") {
      const again = decodeServerFrame(encodeServerMessage(decoded.message));
      must(sameJson(again, decoded), "a decoded frame decodes to the same again");
    }
    return outcomeOf(decoded);
  },
};

const line: Target = {
  name: "json-line",
  seeds: seeds.lines,
  maxBytes: limits.deviceFrameBytes.max,
  arbitrary: fc.oneof(jsonText, anyText),
  run(input) {
    const decoded = decodeServerLine(input.toString());
    if (decoded.outcome === "ok") {
      const again = decodeServerLine(JSON.stringify(decoded.message));
      must(sameJson(again, decoded), "a decoded line decodes to the same again");
    }
    return outcomeOf(decoded);
  },
};

const json: Target = {
  name: "json",
  seeds: [...seeds.deviceFrames.slice(0, 20), ...seeds.lines],
  maxBytes: limits.deviceFrameBytes.max,
  arbitrary: fc.oneof(jsonText, anyText),
  run(input) {
    const value = parseJson(input.toString());
    if (value === undefined) return "invalid";
    must(typeof JSON.stringify(value) === "string", "parsed JSON can be written");
    return `ok:${typeof value}`;
  },
};

const audio: Target = {
  name: "audio-frame",
  seeds: [
    Buffer.from("0200020000000000000000000000000005" + "0102030405", "hex"),
    Buffer.from("03000000050102030405", "hex"),
    Buffer.from("010102030405", "hex"),
  ],
  maxBytes: 70_000,
  arbitrary: anyBytes,
  run(input) {
    const framing: AudioFraming = audioFramingOf((input[0] ?? 0) % 4);
    const bytes = input.subarray(1);
    const decoded = decodeAudio(framing, bytes);
    opusDurationMs(bytes);
    isMonoOpus(bytes);
    if (decoded.outcome !== "ok") return outcomeOf(decoded);
    const encoded = encodeAudio(framing, decoded.message);
    if (encoded.outcome !== "ok") return outcomeOf(encoded);
    const again = decodeAudio(framing, encoded.message);
    must(
      again.outcome === "ok" && Buffer.compare(again.message.opus, decoded.message.opus) === 0,
      "decoded audio decodes to the same again",
    );
    return `ok:${framing}`;
  },
};

const udp: Target = {
  name: "udp-packet",
  seeds: [
    Buffer.concat([Buffer.from("01000005000000070000003c00000001", "hex"), Buffer.from([1, 2, 3, 4, 5])]),
  ],
  maxBytes: 1_600,
  arbitrary: anyBytes,
  run(input) {
    const header = readUdpHeader(input);
    if (header === undefined) return "invalid";
    const written = Buffer.alloc(udpHeaderBytes);
    writeUdpHeader(written, header, input.length - udpHeaderBytes);
    must(written.equals(input.subarray(0, udpHeaderBytes)), "a header is written as it was read");
    return "ok";
  },
};

const identity: Target = {
  name: "device-identity",
  seeds: texts(
    "02:00:00:00:00:01",
    "GID_test@@@02_00_00_00_00_01@@@8d0f1c52-3a57-4f3b-9a8e-0c6f3c1c0a01",
    "8d0f1c52-3a57-4f3b-9a8e-0c6f3c1c0a01",
    "salon-home",
    "0200.0000.0001",
  ),
  maxBytes: 4_096,
  arbitrary: anyText,
  run(input) {
    const text = input.toString();
    const id = normaliseDeviceId(text);
    isMacAddress(text);
    isClientId(text);
    macMistake(text);
    const read = readMqttClientId(text);
    if (id !== undefined) {
      must(normaliseDeviceId(id) === id, "a normalised id stays as it is");
      must(/^[\w:.-]+$/.test(id), "an id has letters, digits and marks only");
      return "ok";
    }
    if (read === undefined) return "invalid";
    must(
      isDeepStrictEqual(readMqttClientId(makeMqttClientId(read)), read),
      "a client id is read as it was made",
    );
    return "ok:mqtt";
  },
};

const boardUrl: Target = {
  name: "board-url",
  seeds: texts("http://192.168.1.5:8600/xiaozhi/ota/", "wss://tendon.example/xiaozhi/v1/", "broker.lan:1883"),
  maxBytes: 4_096,
  arbitrary: fc.oneof(
    fc.webUrl({ withQueryParameters: true }).map((url) => Buffer.from(url)),
    anyText,
  ),
  run(input) {
    const text = input.toString();
    const url = readBoardUrl(text);
    const endpoint = readBoardEndpoint(text);
    for (const read of [url, endpoint]) {
      if (read.kind === "misread") must(read.why !== "", "a refusal has a reason");
      else {
        must(read.port >= 1 && read.port <= 65_535, "a port is a port");
        must(/^[\w.-]+$/.test(read.host), "a host is plain");
      }
    }
    must(endpoint.kind === "misread" || endpoint.secure === (endpoint.port === boardTlsPort), "TLS by port");
    return url.kind === "misread" ? `invalid:${url.why}` : "ok";
  },
};

const image: Target = {
  name: "firmware-image",
  seeds: [makeImage({ version: "2.0.0" }), makeImage({ version: "2.0.0" }).subarray(0, 300)],
  maxBytes: 64 * 1024,
  arbitrary: anyBytes,
  run(input) {
    const decoded = readImage(input);
    namesBoard(input, "esp-box");
    if (decoded.outcome !== "ok") return outcomeOf(decoded);
    const { end, version, project } = decoded.message;
    must(end <= input.length, "an image ends inside its file");
    must(/^[ -~]*$/.test(version + project), "texts of an image are printable");
    isNewerFirmware(version, "1.0.0");
    return "ok";
  },
};

const names: Target = {
  name: "near-names",
  seeds: texts(
    "self.audio_speaker.set_volume\nself.audio_speaker.get_volume",
    "volume\nvolum\nvoluem\nlevel",
  ),
  maxBytes: 32 * 1024,
  arbitrary: anyText,
  run(input) {
    const [wanted = "", ...known] = input.toString().split("\n").slice(0, 200);
    const near = nearNames(wanted, known);
    must(
      near.every((name) => known.includes(name)),
      "only known names are suggested",
    );
    misspeltArguments([wanted], known);
    return near.length > 0 ? "ok" : "nothing near";
  },
};

export const protocolTargets: readonly Target[] = [
  deviceFrame,
  serverFrame,
  line,
  json,
  audio,
  udp,
  identity,
  boardUrl,
  image,
  names,
];
