import type { FastifyRequest } from "fastify";
import type { Principal } from "../access/access.ts";
import { TendonError } from "../errors.ts";
import type { Events } from "../events/events.ts";

/** Finds out whose token this is; handed in by the composition root. `connection`: where more of the same may come. */
export type IdentifyToken = (
  token: string | undefined,
  from: string | undefined,
  connection?: object,
) => Principal | undefined;

declare module "fastify" {
  interface FastifyRequest {
    principal: Principal;
  }
}

/** A bearer token in the Authorization header, and nowhere else: addresses end up in logs. */
export function authenticate(request: FastifyRequest, identify: IdentifyToken, events: Events): Principal {
  const token = /^Bearer\s+(\S+)\s*$/i.exec(request.headers.authorization ?? "")?.[1];
  const principal = identify(token, request.ip, request.raw.socket);
  if (principal !== undefined) return principal;
  events.signInFailed(request.ip);
  const detail =
    token === undefined
      ? "send `Authorization: Bearer <token>`"
      : "the token is not known here, or no longer valid";
  throw new TendonError("unauthenticated", detail);
}
