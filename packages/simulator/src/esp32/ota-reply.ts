import { type ByteText, fromBuffer, toText } from "./byte-text.ts";
import { type CjsonNode, member, parseCjson, stringMember, toInt32 } from "./cjson-parse.ts";
import type { Flash, FlashSpace } from "./flash.ts";

export interface Activation {
  /** The code that a person enters at the server. */
  readonly code: string | undefined;
  readonly message: string | undefined;
  readonly challenge: ByteText | undefined;
}

export interface FirmwareOffer {
  readonly version: string;
  readonly url: string;
}

export type OtaReply =
  | {
      readonly kind: "read";
      readonly protocol: FlashSpace;
      readonly activation: Activation | undefined;
      /** Only if the device would install it. */
      readonly firmware: FirmwareOffer | undefined;
      /** The device's clock in milliseconds, in local time. */
      readonly serverTime: number | undefined;
    }
  | { readonly kind: "useless"; readonly detail: string }
  /** Parsing the reply crashes the device. */
  | { readonly kind: "fatal"; readonly cause: string };

/** Reads an OTA reply as the firmware does, and stores the same settings in flash. */
export function readReply(body: Buffer, flash: Flash, runningVersion: string): OtaReply {
  const root = parseCjson(fromBuffer(body));
  if (root === undefined) return { kind: "useless", detail: "the reply is not JSON" };
  let protocol: FlashSpace | undefined;
  for (const space of ["mqtt", "websocket"] as const) {
    const settings = member(root, space);
    if (settings?.kind !== "object") continue;
    const cause = flash.store(space, settings);
    if (cause !== undefined) return { kind: "fatal", cause };
    protocol ??= space;
  }
  const firmware = readOffer(member(root, "firmware"), runningVersion);
  if (firmware === "unreadable") {
    return { kind: "fatal", cause: "a firmware version that does not begin with a number" };
  }
  return {
    kind: "read",
    // Without any transport in the reply, the device tries its stored MQTT settings.
    protocol: protocol ?? "mqtt",
    activation: readActivation(member(root, "activation")),
    firmware,
    serverTime: readTime(member(root, "server_time")),
  };
}

function readActivation(node: CjsonNode | undefined): Activation | undefined {
  const code = stringMember(node, "code");
  const challenge = stringMember(node, "challenge");
  if (code === undefined && challenge === undefined) return undefined;
  const message = stringMember(node, "message");
  return { code: code && toText(code), message: message && toText(message), challenge };
}

function readOffer(
  node: CjsonNode | undefined,
  runningVersion: string,
): FirmwareOffer | "unreadable" | undefined {
  const version = stringMember(node, "version");
  const url = stringMember(node, "url");
  if (version === undefined || url === undefined) return undefined;
  const offered = versionNumbers(toText(version));
  const running = versionNumbers(runningVersion);
  if (offered === undefined || running === undefined) return "unreadable";
  const force = member(node, "force");
  const forced = force?.kind === "number" && toInt32(force.value) === 1;
  return forced || isNewer(offered, running) ? { version: toText(version), url: toText(url) } : undefined;
}

/** Numbers separated by dots. Anything may follow a number, but each number is required. */
function versionNumbers(version: string): number[] | undefined {
  const segments = version.split(".");
  if (segments.at(-1) === "") segments.pop();
  const numbers: number[] = [];
  for (const segment of segments) {
    const digits = /^\s*([+-]?\d+)/.exec(segment)?.[1];
    if (digits === undefined || Math.abs(Number(digits)) > 2147483647) return undefined;
    numbers.push(Number(digits));
  }
  return numbers;
}

function isNewer(offered: readonly number[], running: readonly number[]): boolean {
  for (const [index, number] of offered.entries()) {
    const other = running[index];
    if (other === undefined) return true;
    if (number !== other) return number > other;
  }
  return false;
}

function readTime(node: CjsonNode | undefined): number | undefined {
  const timestamp = member(node, "timestamp");
  if (timestamp?.kind !== "number") return undefined;
  const offset = member(node, "timezone_offset");
  return timestamp.value + (offset?.kind === "number" ? toInt32(offset.value) * 60_000 : 0);
}
