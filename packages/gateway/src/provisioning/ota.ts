/**
 * The OTA address, which a stock board requests at every boot [OTA-1…8]. A board gets its connection settings, or a code
 * to show until a person approves it. The firmware parses the reply without checks, so the reply is small, with short
 * keys and exact types. `Provisioning` decides what a board gets.
 */

import { boardPattern, isFirmwareVersion, isObject, parseJson } from "@tendon/protocol";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Clock } from "../clock.ts";
import { readClaim } from "../device/device.ts";
import { TendonError } from "../errors.ts";
import type { Events } from "../events/events.ts";
import { named } from "../named-routes.ts";

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
  /** The board's name in its firmware build. */
  readonly board: string | undefined;
  /** The firmware version; `undefined` if it is not numbers and dots. */
  readonly version: string | undefined;
  /** Its chip, such as esp32s3. */
  readonly chip?: string | undefined;
  /** The size of the largest image that fits. */
  readonly slotBytes?: number | undefined;
}

/** The version must be numbers and dots: anything else would crash the board. */
export interface FirmwareOffer {
  readonly version: string;
  readonly url: string;
  /** 1: the board installs the image even if it is not newer. */
  readonly force?: 0 | 1;
}

/** A board's request, with all that it reports. The Client-Id is a secret. */
export interface BoardRequest extends BoardReport {
  readonly clientId: string;
  readonly serial: string | undefined;
  readonly from: string | undefined;
}

/** A board's proof of its serial number [OTA-7]. */
export interface SerialProof {
  readonly algorithm: string;
  readonly serial: string;
  readonly challenge: string;
  readonly hmac: string;
}

type BoardAnswer =
  | { readonly kind: "settings"; readonly settings: OtaSettings }
  /** Without a code if too many boards are waiting; the board then asks again automatically. */
  | { readonly kind: "waits"; readonly code: string | undefined; readonly challenge: string }
  | { readonly kind: "refused"; readonly error: TendonError };

export interface OtaDependencies {
  readonly clock: Clock;
  readonly events: Events;
  readonly enter: (ask: BoardRequest) => Promise<BoardAnswer>;
  /** Whether the board is approved now; throws a TendonError if it is rejected. */
  readonly activate: (ask: BoardRequest, proof: SerialProof | undefined) => Promise<boolean>;
  /**
   * The firmware offer, if any, for a board that gets settings. With MQTT a board connects at boot, with WebSocket only
   * when a person talks to it.
   */
  readonly firmwareFor: (report: BoardReport, connectsAtBoot: boolean) => Promise<FirmwareOffer | undefined>;
  readonly upstream: OtaUpstream | undefined;
}

/** A board as it introduces itself to a voice server's OTA address. */
export interface OtaIdentity {
  readonly deviceId: string;
  readonly clientId: string;
  /** The board's other headers and its body, if the board itself made the request. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The board shows and speaks it until a person enters the code at the voice server. */
export interface UpstreamActivation {
  readonly code?: string;
  readonly message?: string;
  readonly challenge?: string;
  readonly timeout_ms?: number;
}

/**
 * [VOI-11] The OTA address of the board's voice server. It may require an activation there first, and then the board
 * shows the voice server's code. It never throws, so that a board gets its settings while the voice server is down.
 */
export interface OtaUpstream {
  activationFor(identity: OtaIdentity): Promise<UpstreamActivation | undefined>;
  activate(identity: OtaIdentity): Promise<boolean>;
}

const bodyLimit = 64 * 1024;
const boardName = new RegExp(boardPattern);
const chipName = /^[a-z0-9]{1,32}$/;
/** The partitions for application images. */
const slots = { type: 0, first: 16, last: 31 };
const serialNumber = /^[\x21-\x7e]{1,64}$/;
/** The firmware parses this value and does not use it. */
const activationMs = 30_000;

export async function otaRoutes(http: FastifyInstance, dependencies: OtaDependencies): Promise<void> {
  const register = async (routes: FastifyInstance) => {
    // Boards put their network's name into the body unescaped, so a body may be invalid JSON. The board gets its settings anyway.
    routes.removeAllContentTypeParsers();
    routes.addContentTypeParser("*", { parseAs: "string", bodyLimit }, (_request, body, done) =>
      done(null, body),
    );
    // Any content type is read as text: Fastify would reject an invalid one before reading the body.
    routes.addHook("onRequest", (request, _reply, next) => {
      request.raw.headers["content-type"] = "text/plain";
      next();
    });
    const answer = async (request: FastifyRequest) => {
      const ask = readBoardRequest(request);
      const entry = await dependencies.enter(ask);
      const activation =
        entry.kind === "settings"
          ? await dependencies.upstream?.activationFor(identityOf(request, ask))
          : undefined;
      const { deviceId, version } = ask;
      const offer = await offerOrNone(dependencies, ask, entry);
      const now = dependencies.clock.now();
      return {
        ...(activation === undefined ? replyFor(dependencies, deviceId, entry) : { activation }),
        server_time: { timestamp: now, timezone_offset: -new Date(now).getTimezoneOffset() },
        // With its own version and no address, the board finds nothing newer.
        firmware: offer ?? { version: version ?? "0.0.0", url: "" },
      };
    };
    const activate = async (request: FastifyRequest, reply: FastifyReply) => {
      const ask = readBoardRequest(request);
      const here = await dependencies.activate(ask, readProof(request));
      const approved = here && ((await dependencies.upstream?.activate(identityOf(request, ask))) ?? true);
      reply.code(approved ? 200 : 202);
      return { status: approved ? "approved" : "pending" };
    };
    const hidden = { schema: { hide: true } };
    routes.post("/xiaozhi/ota/", hidden, answer);
    routes.get("/xiaozhi/ota/", hidden, answer);
    routes.post("/xiaozhi/ota/activate", hidden, activate);
  };
  await http.register(named("ota", register));
}

function replyFor(dependencies: OtaDependencies, deviceId: string, entry: BoardAnswer) {
  switch (entry.kind) {
    case "settings":
      return entry.settings;
    case "waits": {
      const { code, challenge } = entry;
      // The board shows `message` and speaks `code`, so both contain the code.
      const shown = code === undefined ? { message: "Tendon" } : { code, message: `Tendon\n${code}` };
      return { activation: { ...shown, challenge, timeout_ms: activationMs } };
    }
    case "refused": {
      // The status stays 200: after any other status the board retries endlessly and shows no message.
      const { code, message } = entry.error;
      dependencies.events.connectionRefused({ code, reason: message, device: deviceId });
      return {};
    }
    default:
      return entry satisfies never;
  }
}

/** A board gets its settings even if the offer fails. */
async function offerOrNone(
  { firmwareFor, events }: OtaDependencies,
  { clientId: _clientId, serial: _serial, from: _from, ...report }: BoardRequest,
  entry: BoardAnswer,
): Promise<FirmwareOffer | undefined> {
  if (entry.kind !== "settings") return undefined;
  try {
    return await firmwareFor(report, entry.settings.mqtt !== undefined);
  } catch (error) {
    events.firmwareOfferFailed(report.deviceId, error);
    return undefined;
  }
}

/** Board and version come from the body, or from the User-Agent (`board/version`) if the body has none. */
function readBoardRequest(request: FastifyRequest): BoardRequest {
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

/** The smallest application partition, because the board does not report which one is free. */
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

/** What the board would have sent to the voice server's OTA address. */
function identityOf(request: FastifyRequest, { deviceId, clientId }: BoardRequest): OtaIdentity {
  const headers = ["activation-version", "serial-number", "user-agent", "accept-language"].flatMap((name) => {
    const value = request.headers[name];
    return typeof value === "string" ? [[name, value]] : [];
  });
  const body = typeof request.body === "string" ? request.body : "{}";
  return { deviceId, clientId, headers: Object.fromEntries(headers), body };
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
