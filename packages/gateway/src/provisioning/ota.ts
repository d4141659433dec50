/**
 * The address a stock board asks at every boot [OTA-1…8]: it says who it is and gets the settings to connect with, or a
 * code to show until somebody approves it. The firmware reads the reply with little care, so what is sent is small,
 * short-keyed and of the right types. Who gets what is decided elsewhere and handed in.
 */

import { boardPattern, isFirmwareVersion, isObject, parseJson } from "@tendon/protocol";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Clock } from "../clock.ts";
import { readClaim } from "../device/device.ts";
import { TendonError } from "../errors.ts";
import type { Events } from "../events/events.ts";

export interface OtaSettings {
  readonly mqtt?: {
    readonly endpoint: string;
    readonly client_id: string;
    readonly username: string;
    readonly password: string;
    readonly publish_topic: string;
    readonly keepalive: number;
  };
  readonly websocket?: { readonly url: string; readonly token: string; readonly version: number };
}

/** A board that has settings and may be offered newer firmware. */
export interface BoardReport {
  readonly deviceId: string;
  /** The board's name as its firmware build knows it. */
  readonly board: string | undefined;
  /** What runs on it; `undefined` where that is not numbers and dots. */
  readonly version: string | undefined;
  /** Its chip, such as esp32s3. */
  readonly chip?: string | undefined;
  /** How large an image it has room for. */
  readonly slotBytes?: number | undefined;
}

/** The version has numbers and dots only: anything else would crash the board. */
export interface FirmwareOffer {
  readonly version: string;
  readonly url: string;
  /** 1 installs it although it is not newer. */
  readonly force?: 0 | 1;
}

/** A board that asks, with all it says of itself. The Client-Id is a secret. */
export interface BoardAsk extends BoardReport {
  readonly clientId: string;
  readonly serial: string | undefined;
  readonly from: string | undefined;
}

/** How a board shows that it is the one of its serial number [OTA-7]. */
export interface SerialProof {
  readonly algorithm: string;
  readonly serial: string;
  readonly challenge: string;
  readonly hmac: string;
}

type BoardAnswer =
  | { readonly kind: "settings"; readonly settings: OtaSettings }
  /** Without a code there is no room for it now; it asks again by itself. */
  | { readonly kind: "waits"; readonly code: string | undefined; readonly challenge: string }
  | { readonly kind: "refused"; readonly error: TendonError };

export interface OtaNeeds {
  readonly clock: Clock;
  readonly events: Events;
  readonly enter: (ask: BoardAsk) => Promise<BoardAnswer>;
  /** Whether the board is approved by now; throws a TendonError for one that is not going to be. */
  readonly activate: (ask: BoardAsk, proof: SerialProof | undefined) => Promise<boolean>;
  /**
   * What the board is to install, if anything; asked for boards that get settings only. Over MQTT they connect at
   * their boot, over WebSocket not before somebody talks to them.
   */
  readonly firmwareFor: (report: BoardReport, connectsAtBoot: boolean) => Promise<FirmwareOffer | undefined>;
  readonly upstream: OtaUpstream | undefined;
}

/** A board as it introduces itself to a voice server's OTA address. */
export interface OtaIdentity {
  readonly deviceId: string;
  readonly clientId: string;
  /** What else the board said in its headers and its body, where it is the board itself that asks. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Shown and spoken by the board until a person enters the code at the voice server. */
export interface UpstreamActivation {
  readonly code?: string;
  readonly message?: string;
  readonly challenge?: string;
  readonly timeout_ms?: number;
}

/**
 * [VOI-11] The OTA address of the board's voice server: it may want the board to be activated there first, and then
 * it is its code that the board shows. Never throws: a voice server that is away costs nobody their settings.
 */
export interface OtaUpstream {
  activationFor(identity: OtaIdentity): Promise<UpstreamActivation | undefined>;
  activate(identity: OtaIdentity): Promise<boolean>;
}

const bodyLimit = 64 * 1024;
const boardName = new RegExp(boardPattern);
const chipName = /^[a-z0-9]{1,32}$/;
/** Partitions that applications are updated into. */
const slots = { type: 0, first: 16, last: 31 };
const serialNumber = /^[\x21-\x7e]{1,64}$/;
/** The firmware reads it and does not use it. */
const activationMs = 30_000;

export async function otaRoutes(http: FastifyInstance, needs: OtaNeeds): Promise<void> {
  await http.register(async (routes) => {
    // Boards paste their network's name into the body unescaped; a quote in it must not cost them their settings.
    routes.removeAllContentTypeParsers();
    routes.addContentTypeParser("*", { parseAs: "string", bodyLimit }, (_request, body, done) =>
      done(null, body),
    );
    // Whatever the body is called it is text: a content type that is none would be refused before it is read.
    routes.addHook("onRequest", (request, _reply, next) => {
      request.raw.headers["content-type"] = "text/plain";
      next();
    });
    const answer = async (request: FastifyRequest) => {
      const ask = readAsk(request);
      const entry = await needs.enter(ask);
      const activation =
        entry.kind === "settings" ? await needs.upstream?.activationFor(identityOf(request, ask)) : undefined;
      const { deviceId, version } = ask;
      const offer = await offerOrNone(needs, ask, entry);
      const now = needs.clock.now();
      return {
        ...(activation === undefined ? written(needs, deviceId, entry) : { activation }),
        server_time: { timestamp: now, timezone_offset: -new Date(now).getTimezoneOffset() },
        // Its own version and no address: it finds nothing newer.
        firmware: offer ?? { version: version ?? "0.0.0", url: "" },
      };
    };
    const activate = async (request: FastifyRequest, reply: FastifyReply) => {
      const ask = readAsk(request);
      const here = await needs.activate(ask, readProof(request));
      const approved = here && ((await needs.upstream?.activate(identityOf(request, ask))) ?? true);
      reply.code(approved ? 200 : 202);
      return { status: approved ? "approved" : "pending" };
    };
    const hidden = { schema: { hide: true } };
    routes.post("/xiaozhi/ota/", hidden, answer);
    routes.get("/xiaozhi/ota/", hidden, answer);
    routes.post("/xiaozhi/ota/activate", hidden, activate);
  });
}

function written(needs: OtaNeeds, deviceId: string, entry: BoardAnswer) {
  switch (entry.kind) {
    case "settings":
      return entry.settings;
    case "waits": {
      const { code, challenge } = entry;
      // The board shows the message and says the code: the code has to be in both.
      const shown = code === undefined ? { message: "Tendon" } : { code, message: `Tendon\n${code}` };
      return { activation: { ...shown, challenge, timeout_ms: activationMs } };
    }
    case "refused": {
      // Still a 200: anything else makes the board try again and again instead of saying what it can.
      const { code, message } = entry.error;
      needs.events.connectionRefused({ code, reason: message, device: deviceId });
      return {};
    }
    default:
      return entry satisfies never;
  }
}

/** A board gets its settings whether or not there is something to install. */
async function offerOrNone(
  { firmwareFor, events }: OtaNeeds,
  { clientId: _clientId, serial: _serial, from: _from, ...report }: BoardAsk,
  entry: BoardAnswer,
): Promise<FirmwareOffer | undefined> {
  if (entry.kind !== "settings") return undefined;
  try {
    return await firmwareFor(report, entry.settings.mqtt !== undefined);
  } catch (error) {
    events.noOffer(report.deviceId, error);
    return undefined;
  }
}

/** What runs where; from the body, or from the `board/version` of the User-Agent where the body does not say. */
function readAsk(request: FastifyRequest): BoardAsk {
  const { deviceId, clientId } = readClaim(request.headers);
  if (clientId === undefined) throw new TendonError("bad_request", "the Client-Id header is missing");
  const body = bodyOf(request);
  const [agentName, agentVersion] = (request.headers["user-agent"] ?? "").split("/");
  const application = body?.["application"];
  const board = body?.["board"];
  const version = isObject(application) ? application["version"] : undefined;
  const name = isObject(board) ? board["name"] : undefined;
  return {
    deviceId,
    clientId,
    board: matching(boardName, name) ?? matching(boardName, agentName),
    version: numeric(version === undefined ? agentVersion : version),
    chip: matching(chipName, body?.["chip_model_name"]),
    slotBytes: slotBytes(body?.["partition_table"]),
    serial: matching(serialNumber, request.headers["serial-number"]),
    from: request.ip,
  };
}

/** The smaller of the places for applications: which of them is free is not said. */
function slotBytes(table: unknown): number | undefined {
  const sizes = (Array.isArray(table) ? table : []).flatMap((entry: unknown) => {
    const { type, subtype, size } = isObject(entry) ? entry : {};
    const isSlot = type === slots.type && typeof subtype === "number";
    return isSlot && subtype >= slots.first && subtype <= slots.last && typeof size === "number"
      ? [size]
      : [];
  });
  return sizes.length === 0 ? undefined : Math.min(...sizes);
}

function numeric(value: unknown): string | undefined {
  return typeof value === "string" && isFirmwareVersion(value) ? value : undefined;
}

/** What a voice server's own OTA address would have been told by the board. */
function identityOf(request: FastifyRequest, { deviceId, clientId }: BoardAsk): OtaIdentity {
  const told = ["activation-version", "serial-number", "user-agent", "accept-language"].flatMap((name) => {
    const value = request.headers[name];
    return typeof value === "string" ? [[name, value]] : [];
  });
  const body = typeof request.body === "string" ? request.body : "{}";
  return { deviceId, clientId, headers: Object.fromEntries(told), body };
}

function readProof(request: FastifyRequest): SerialProof | undefined {
  const { algorithm, serial_number: serial, challenge, hmac } = bodyOf(request) ?? {};
  const texts = [algorithm, serial, challenge, hmac];
  if (!texts.every((text) => typeof text === "string")) return undefined;
  return { algorithm, serial, challenge, hmac } as SerialProof;
}

function bodyOf(request: FastifyRequest) {
  const body = typeof request.body === "string" ? parseJson(request.body) : undefined;
  return isObject(body) ? body : undefined;
}

function matching(pattern: RegExp, value: unknown): string | undefined {
  return typeof value === "string" && pattern.test(value) ? value : undefined;
}
