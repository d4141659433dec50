/**
 * The address a stock board asks at every boot [OTA-1…4]: it says who it is and gets the settings to connect with.
 * The firmware reads the reply with little care, so what is sent is small, short-keyed and of the right types.
 */

import { isObject, parseJson } from "@tendon/protocol";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Clock } from "../clock.ts";
import { TendonError } from "../errors.ts";
import type { Events } from "../events.ts";
import { readClaim } from "./admission.ts";

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
interface BoardReport {
  readonly deviceId: string;
  /** The board's name as its firmware build knows it. */
  readonly board: string | undefined;
  /** What runs on it; `undefined` where that is not numbers and dots. */
  readonly version: string | undefined;
}

/** The version has numbers and dots only: anything else would crash the board. */
interface FirmwareOffer {
  readonly version: string;
  readonly url: string;
  /** 1 installs it although it is not newer. */
  readonly force?: 0 | 1;
}

export interface OtaNeeds {
  readonly clock: Clock;
  readonly events: Events;
  /** The settings of this pair; throws a TendonError for a device that gets none. */
  readonly settingsFor: (deviceId: string, clientId: string) => OtaSettings;
  /** What the board is to install, if anything; asked for boards that get settings only. */
  readonly firmwareFor: (report: BoardReport) => Promise<FirmwareOffer | undefined>;
}

const bodyLimit = 64 * 1024;
const numbersAndDots = /^\d{1,5}(\.\d{1,5}){0,3}$/;
const boardName = /^[A-Za-z0-9._-]{1,64}$/;

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
      const { deviceId, clientId } = readClaim(request.headers);
      if (clientId === undefined) throw new TendonError("bad_request", "the Client-Id header is missing");
      const report = readReport(request, deviceId);
      const settings = settingsOrNone(needs, deviceId, clientId);
      const offer = settings === undefined ? undefined : await needs.firmwareFor(report);
      const now = needs.clock.now();
      return {
        ...settings,
        server_time: { timestamp: now, timezone_offset: -new Date(now).getTimezoneOffset() },
        // Its own version and no address: it finds nothing newer.
        firmware: offer ?? { version: report.version ?? "0.0.0", url: "" },
      };
    };
    const hidden = { schema: { hide: true } };
    routes.post("/xiaozhi/ota/", hidden, answer);
    routes.get("/xiaozhi/ota/", hidden, answer);
  });
}

function settingsOrNone(needs: OtaNeeds, deviceId: string, clientId: string): OtaSettings | undefined {
  try {
    return needs.settingsFor(deviceId, clientId);
  } catch (error) {
    if (!(error instanceof TendonError)) throw error;
    // Still a 200: anything else makes the board try again and again instead of saying what it can.
    needs.events.connectionRefused({ code: error.code, reason: error.message, device: deviceId });
    return undefined;
  }
}

/** What runs where; from the body, or from the `board/version` of the User-Agent where the body does not say. */
function readReport(request: FastifyRequest, deviceId: string): BoardReport {
  const body = typeof request.body === "string" ? parseJson(request.body) : undefined;
  const [agentName, agentVersion] = (request.headers["user-agent"] ?? "").split("/");
  const application = isObject(body) ? body["application"] : undefined;
  const board = isObject(body) ? body["board"] : undefined;
  const version = isObject(application) ? application["version"] : undefined;
  const name = isObject(board) ? board["name"] : undefined;
  return {
    deviceId,
    board: matching(boardName, name) ?? matching(boardName, agentName),
    version: matching(numbersAndDots, version === undefined ? agentVersion : version),
  };
}

function matching(pattern: RegExp, value: unknown): string | undefined {
  return typeof value === "string" && pattern.test(value) ? value : undefined;
}
