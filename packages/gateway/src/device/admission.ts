/**
 * The first look at a connection, before any frame: who says it is there, and may it come in. The policy itself is
 * handed in; this file only reads what the transport carries.
 */
import type { IncomingHttpHeaders } from "node:http";
import { isClientId, normaliseDeviceId } from "@tendon/protocol";
import { TendonError } from "../errors.ts";

/** What a device says of itself. The token stays here: it is compared and forgotten, never kept or logged. */
export interface DeviceClaim {
  readonly deviceId: string;
  readonly clientId: string | undefined;
  readonly token: string | undefined;
}

/** Throws a TendonError for a device that may not come in. */
export type Admit = (claim: DeviceClaim) => void;

/** [DEV-6] The firmware's handshake headers. */
export function readClaim(headers: IncomingHttpHeaders): DeviceClaim {
  const named = single(headers["device-id"]);
  if (named === undefined) throw new TendonError("bad_request", "the Device-Id header is missing");
  const deviceId = normaliseDeviceId(named);
  if (deviceId === undefined)
    throw new TendonError("bad_request", "the Device-Id header is not a device's id");
  const clientId = single(headers["client-id"]);
  if (clientId !== undefined && !isClientId(clientId)) {
    throw new TendonError("bad_request", "the Client-Id header is not a client's id");
  }
  return { deviceId, clientId, token: bearer(headers.authorization) };
}

function single(value: string | string[] | undefined): string | undefined {
  const text = Array.isArray(value) ? value[0] : value;
  return text === undefined || text === "" ? undefined : text;
}

/** The firmware sends a token with a space in it as it is; ours never have one. */
function bearer(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  const match = /^Bearer\s+(\S+)$/i.exec(header.trim());
  return match?.[1] ?? header.trim();
}
