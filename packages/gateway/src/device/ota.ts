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

export interface OtaNeeds {
  readonly clock: Clock;
  readonly events: Events;
  /** The settings of this pair; throws a TendonError for a device that gets none. */
  readonly settingsFor: (deviceId: string, clientId: string) => OtaSettings;
}

const bodyLimit = 64 * 1024;

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
    const answer = (request: FastifyRequest) => {
      const { deviceId, clientId } = readClaim(request.headers);
      if (clientId === undefined) throw new TendonError("bad_request", "the Client-Id header is missing");
      const body = typeof request.body === "string" ? parseJson(request.body) : undefined;
      const now = needs.clock.now();
      return {
        ...settingsOrNone(needs, deviceId, clientId),
        server_time: { timestamp: now, timezone_offset: -new Date(now).getTimezoneOffset() },
        firmware: { version: numericVersion(body), url: "" },
      };
    };
    const hidden = { schema: { hide: true } };
    routes.post("/xiaozhi/ota/", hidden, answer);
    routes.get("/xiaozhi/ota/", hidden, answer);
  });
}

function settingsOrNone(needs: OtaNeeds, deviceId: string, clientId: string): OtaSettings {
  try {
    return needs.settingsFor(deviceId, clientId);
  } catch (error) {
    if (!(error instanceof TendonError)) throw error;
    // Still a 200: anything else makes the board try again and again instead of saying what it can.
    needs.events.connectionRefused({ code: error.code, reason: error.message, device: deviceId });
    return {};
  }
}

/** The board's own version, so that it finds nothing newer; a version that is not numbers and dots would crash it. */
function numericVersion(body: unknown): string {
  const application = isObject(body) ? body["application"] : undefined;
  const version = isObject(application) ? application["version"] : undefined;
  return typeof version === "string" && /^\d{1,5}(\.\d{1,5}){0,3}$/.test(version) ? version : "0.0.0";
}
