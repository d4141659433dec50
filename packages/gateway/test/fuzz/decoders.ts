/** Decoders inside the gateway, for `test/fuzz`. Each returns its outcome, and throws if a promise is broken. */
import { createHmac, randomBytes } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { isObject, limits, parseJson, repairTool, type ToolDefinition } from "@tendon/protocol";
import { parser as mqttParser } from "mqtt-packet";
import { addressFault } from "../../src/access/address-check.ts";
import type { Principal } from "../../src/access/principal.ts";
import { Rules } from "../../src/access/rules.ts";
import { sourceOf } from "../../src/access/throttle.ts";
import { UrlHosts } from "../../src/access/url-hosts.ts";
import { readAllowedHost, readCondition } from "../../src/access-settings.ts";
import { plainAddress } from "../../src/addresses.ts";
import { readArguments } from "../../src/agent/mcp/compact/compact-tool.ts";
import { cursorOf, ListPages } from "../../src/agent/mcp/list-pages.ts";
import { RequestStates } from "../../src/agent/mcp/request-state.ts";
import { readDeviceUri } from "../../src/agent/mcp/resources/device-uri.ts";
import { exportFormat } from "../../src/agent/rest/export.ts";
import { isMalformed, scopedClientId } from "../../src/broker/client-ids.ts";
import { FilterTree } from "../../src/broker/filter-tree.ts";
import { PacketGate } from "../../src/broker/packet-gate.ts";
import { timeOfCallId } from "../../src/call-ids.ts";
import { systemClock } from "../../src/clock.ts";
import { loadConfig } from "../../src/config/config.ts";
import { readClaim } from "../../src/device/admission.ts";
import { withoutKey, withoutSpeech } from "../../src/device/frame-masking.ts";
import { LineReader } from "../../src/device/line-reader.ts";
import { StartError, TendonError } from "../../src/errors.ts";
import { FirmwareLinks } from "../../src/firmware/links.ts";
import { valueWithoutSecrets, withoutSecrets } from "../../src/secret-masking.ts";
import { languageOf, readRequest, readText } from "../../src/toolset/search/text-analysis.ts";
import { pictureTypeOf } from "../../src/vision/picture-format.ts";

type Decoder = (input: Buffer) => string;

class PromiseBroken extends Error {
  override readonly name = "PromiseBroken";
}

function must(holds: boolean, promise: string): void {
  if (!holds) throw new PromiseBroken(promise);
}

/** A refusal is an error with a code; anything else is a fault. */
function coded(act: () => unknown): string {
  try {
    act();
    return "ok";
  } catch (error) {
    if (error instanceof TendonError) return error.code;
    throw error;
  }
}

/** Pieces of an input, cut where its own bytes say. */
function pieces(input: Buffer): Buffer[] {
  const found: Buffer[] = [];
  for (let at = 0; at < input.length; ) {
    const size = 1 + ((input[at] ?? 0) % 61) * (found.length > 200 ? 1_000 : 1);
    found.push(input.subarray(at, at + size));
    at += size;
  }
  return found;
}

const lines: Decoder = (input) => {
  const limit = 2_000;
  const read: string[] = [];
  let tooLong = 0;
  const reader = new LineReader(
    limit,
    (text) => read.push(text),
    () => {
      tooLong += 1;
    },
  );
  for (const piece of pieces(input)) reader.push(piece);
  const whole = input.toString("latin1").split("\n");
  const complete = whole.slice(0, -1).map((line) => Buffer.from(line, "latin1"));
  const wanted = complete.flatMap((line) => {
    const text = line.length > limit ? "" : line.toString().trim();
    return text === "" ? [] : [text];
  });
  must(
    read.length === wanted.length && read.every((text, at) => text === wanted[at]),
    "lines are split exactly",
  );
  const long = whole.filter((line) => line.length > limit).length;
  must(tooLong === long, "each line that is too long is reported once");
  return tooLong > 0 ? "too long" : "ok";
};

const mqttPackets: Decoder = (input) => {
  const chunked = new PacketGate(limits.mqttConnectBytes.max, limits.mqttPacketBytes.max);
  const whole = new PacketGate(limits.mqttConnectBytes.max, limits.mqttPacketBytes.max);
  const rejection = whole.admit(input);
  let first: string | undefined;
  for (const piece of pieces(input)) first ??= chunked.admit(piece);
  must(first === rejection, "bytes are judged alike in any pieces");
  if (rejection !== undefined) return `rejected:${rejection.replaceAll(/\d+/g, "")}`;
  const parser = mqttParser({});
  let [packets, fault]: [number, string] = [0, ""];
  parser.on("packet", () => {
    packets += 1;
  });
  parser.on("error", (error: Error) => {
    fault = error.message;
  });
  parser.parse(input);
  const { publishes, others } = whole.takeCounts();
  must(packets <= publishes + others, "the gate has counted every packet");
  return fault === "" ? "ok" : `fault:${fault.replaceAll(/\d+/g, "")}`;
};

function naiveMatch(filter: readonly string[], topic: readonly string[]): boolean {
  const [level, ...rest] = filter;
  if (level === undefined) return topic.length === 0;
  if (level === "#") return true;
  const [first, ...more] = topic;
  if (first === undefined) return false;
  return (level === "+" || level === first) && naiveMatch(rest, more);
}

const topicFilters: Decoder = (input) => {
  const [topic = "", ...filters] = input.toString().split("\n").slice(0, 20);
  // Apps may subscribe with shorter filters than this; the broker rejects longer ones.
  const levels = topic.split("/");
  if ([topic, ...filters].some((text) => text.length > limits.mqttTopicLength.max)) return "too long";
  const tree = new FilterTree<string>();
  for (const filter of filters) tree.add(filter, filter);
  const found = tree.matching(topic);
  for (const filter of filters) {
    const parts = filter.split("/");
    const odd = parts.some((part, at) => part === "#" && at < parts.length - 1) || /[#+]/.test(topic);
    // [MQTT-4.7.2] of the specification: a wildcard does not match a topic that starts with `$`.
    if (odd || topic.startsWith("$")) continue;
    must(found.has(filter) === naiveMatch(parts, levels), "a filter matches as the specification says");
    must(tree.matches(topic, filter) === found.has(filter), "both searches agree");
  }
  for (const filter of filters) tree.delete(filter, filter);
  must(tree.matching(topic).size === 0, "a deleted filter matches nothing");
  isMalformed(topic);
  scopedClientId(topic, input);
  return found.size > 0 ? "ok" : "no match";
};

const pictures: Decoder = (input) => pictureTypeOf(input) ?? "unknown";

const links = new FirmwareLinks("a secret of the tests", systemClock);
const target = { image: "0190f3a0-0000-7000-8000-000000000000", device: "02:00:00:00:00:01" };
/** A token that is valid for an hour or so, as a seed. */
export const validLink = links.make(target);
const states = new RequestStates(systemClock, createHmac("sha256", "k").digest(), {
  useTicket: () => Promise.resolve(true),
});
const binding = { principal: "p", target: "t", args: {} };
export const validState = states.seal(binding, { ticket: "t" });

const signedTexts: Decoder = (input) => {
  const text = input.toString();
  const link = links.read(text);
  must(link === undefined || text === validLink, "only a link of our own is accepted");
  try {
    states.open(text);
    must(text.split(".")[0] === validState.split(".")[0], "only a state of our own is accepted");
    return "ok:state";
  } catch (error) {
    if (error instanceof Error && error.name === "InvalidRequestState")
      return link === undefined ? "invalid" : "ok:link";
    throw error;
  }
};

const items = Array.from({ length: 600 }, (_, at) => ({ name: `tool-${at}` }));
export const validCursor = cursorOf("tool-300");
const pages = new ListPages(items);

const cursors: Decoder = (input) => {
  const text = input.toString();
  timeOfCallId(text);
  try {
    must(pages.page(text).items.length <= 250, "a page has a bounded length");
    return "ok";
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === -32_602) return "invalid";
    throw error;
  }
};

const addresses: Decoder = (input) => {
  const text = input.toString();
  const [written = "", url = ""] = text.split("\n", 2);
  sourceOf(written);
  plainAddress(written);
  readDeviceUri(url);
  exportFormat(text);
  const allowed = readAllowedHost(written);
  const fault = addressFault(url, allowed === undefined ? [] : [allowed]);
  if (fault !== undefined) {
    must(fault.message !== "", "a refusal has a message");
    return `refused:${fault.message.slice(0, 12)}`;
  }
  must(allowed !== undefined, "no address is accepted without an allowed host");
  const { hostname, username } = new URL(url);
  must(username === "" && !/[\s\\@]/.test(hostname), "an accepted address has a plain host");
  return "ok";
};

function definitionOf(raw: unknown): ToolDefinition | undefined {
  const repaired = repairTool({ name: "t", inputSchema: raw }, false);
  return repaired.ok ? repaired.tool : undefined;
}

/** `{"schema":…,"arguments":…}` */
const urlArguments: Decoder = (input) => {
  const pair = parseJson(input.toString());
  if (!isObject(pair) || !isObject(pair["arguments"])) return "invalid";
  const tool = definitionOf(pair["schema"]);
  const problems = new UrlHosts(["files.example", "*.cdn.example"]).problems(pair["arguments"], tool);
  if (problems === undefined) return "ok";
  must(
    problems.every(({ message }) => message !== ""),
    "a refusal has a message",
  );
  return "refused";
};

const device = { id: "02:00:00:00:00:01", alias: "desk", tags: ["office"] };
const principal: Principal = { id: "p", name: "p", scopes: new Set(["call"]), devices: undefined };

/** `{"rule":{…},"arguments":…}` */
const rules: Decoder = (input) => {
  const pair = parseJson(input.toString());
  if (!isObject(pair) || !isObject(pair["rule"]) || !isObject(pair["arguments"])) return "invalid";
  const args: Record<string, unknown> = {};
  for (const [name, condition] of Object.entries(pair["rule"])) {
    if (name !== "__proto__" && readCondition(condition).kind !== "wrong") args[name] = condition;
  }
  const settings = {
    rules: [{ effect: "deny", args }],
    default: "allow",
  } as unknown as ConstructorParameters<typeof Rules>[0];
  const { effect } = new Rules(settings, (reference) => reference).judge(
    principal,
    device,
    "t",
    pair["arguments"],
    undefined,
  );
  return effect;
};

const claims: Decoder = (input) => {
  const [id = "", client, authorization] = input.toString().split("\n", 3);
  return coded(() =>
    readClaim({
      "device-id": id,
      ...(client === undefined ? {} : { "client-id": client }),
      ...(authorization === undefined ? {} : { authorization }),
    }),
  );
};

const masking: Decoder = (input) => {
  const text = input.toString();
  const masked = withoutSecrets(text);
  withoutSpeech(text);
  withoutKey(text);
  const value = parseJson(text);
  if (value === undefined) return "no JSON";
  const shown = valueWithoutSecrets(value);
  if (isObject(value) && isObject(shown) && typeof value["token"] === "string")
    must(shown["token"] !== value["token"], "a token is masked");
  return masked === text ? "unchanged" : "masked";
};

const words: Decoder = (input) => {
  const text = input.toString().slice(0, limits.toolDescriptionLength.max);
  readText(text);
  languageOf(text);
  return readRequest(text.slice(0, 512)).length > 0 ? "ok" : "nothing";
};

const compactArguments: Decoder = (input) => coded(() => readArguments(input.toString()));

/** Writes each input to a file, because the file is the entry point. */
function configFile(): Decoder {
  const file = path.join(os.tmpdir(), `tendon-fuzz-${randomBytes(8).toString("hex")}.yaml`);
  return (input) => {
    fs.writeFileSync(file, input);
    try {
      const { config } = loadConfig({ file });
      must(Object.getPrototypeOf(config) === Object.prototype, "no prototype is changed");
      must(({} as { polluted?: unknown }).polluted === undefined, "no prototype is polluted");
      return "ok";
    } catch (error) {
      if (!(error instanceof StartError)) throw error;
      must(error.message !== "", "a refusal has a message");
      return "refused";
    } finally {
      fs.rmSync(file);
    }
  };
}

const environment: Decoder = (input) => {
  const env = Object.fromEntries(
    input
      .toString()
      .split("\n")
      .slice(0, 20)
      .map((line) => [line.split("=", 1)[0] ?? "", line.slice(line.indexOf("=") + 1)]),
  );
  try {
    loadConfig({ env });
    return "ok";
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    return "refused";
  }
};

/** By the name of the target. */
export function gatewayDecoders(): Readonly<Record<string, Decoder>> {
  return {
    "line-reader": lines,
    "mqtt-packets": mqttPackets,
    "topic-filters": topicFilters,
    "picture-format": pictures,
    "signed-texts": signedTexts,
    cursors,
    addresses,
    "url-arguments": urlArguments,
    "access-rules": rules,
    "device-claim": claims,
    masking,
    "search-words": words,
    "compact-arguments": compactArguments,
    "config-file": configFile(),
    environment,
  };
}
