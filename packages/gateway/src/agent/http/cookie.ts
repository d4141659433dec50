/** The session cookie. Its name has the instance id, so that two gateways on one host do not sign each other out. */
import type { FastifyRequest } from "fastify";

export function cookieName(instanceId: string): string {
  return `tendon_${instanceId}`;
}

export function readCookie(request: FastifyRequest, name: string): string | undefined {
  for (const pair of (request.headers.cookie ?? "").split(";")) {
    const [key, value] = pair.trim().split("=", 2);
    if (key === name && value !== undefined && value !== "") return value;
  }
  return undefined;
}

/** Browsers send it to /api/v1 only, and never from pages of other sites; scripts cannot read it. */
export function writeCookie(request: FastifyRequest, name: string, value: string, seconds: number): string {
  const secure = request.protocol === "https" ? "; Secure" : "";
  return `${name}=${value}; Path=/api/v1; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
}
