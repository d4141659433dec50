/**
 * Reads the identity that a connection claims, before any frame. The admission policy is a dependency; this file only
 * reads what the transport carries.
 */
import type { IncomingHttpHeaders } from "node:http";
import { isClientId, normaliseDeviceId } from "@tendon/protocol";
import { TendonError } from "../errors.ts";

/** The identity that a device claims. The token is only compared, never stored or logged. */
export interface DeviceClaim {
  readonly deviceId: string;
  readonly clientId: string | undefined;
  readonly token: string | undefined;
}

/** Throws a TendonError for a device that is not admitted. */
export type Admit = (claim: DeviceClaim) => void;

/** [DEV-6] The firmware's handshake headers. */
export function readClaim(headers: IncomingHttpHeaders): DeviceClaim {
  const named = single(headers["device-id"]);
  if (named === undefined) throw new TendonError("bad_request", "the Device-Id header is missing");
  const deviceId = normaliseDeviceId(named);
  if (deviceId === undefined)
    throw new TendonError("bad_request", "the Device-Id header is not a valid device id");
  const clientId = single(headers["client-id"]);
  if (clientId !== undefined && !isClientId(clientId)) {
    throw new TendonError("bad_request", "the Client-Id header is not a valid client id");
  }
  return { deviceId, clientId, token: bearer(headers.authorization) };
}

function single(value: string | string[] | undefined): string | undefined {
  const text = Array.isArray(value) ? value[0] : value;
  return text === undefined || text === "" ? undefined : text;
}

/** The firmware sends a token that contains a space without `Bearer`. Tendon's tokens never contain one. */
function bearer(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  const match = /^Bearer\s+(\S+)$/i.exec(header.trim());
  return match?.[1] ?? header.trim();
}
