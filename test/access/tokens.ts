import type { TokenRequest } from "@tendon/protocol";
import { expect } from "vitest";
import type { Site } from "../site.ts";

interface MadeToken {
  readonly id: string;
  readonly token: string;
}

const used = new WeakMap<Pick<Site, "rest">, Map<string, number>>();

/** A name that no other token of the gateway has: `test`, `test 2`, … */
export function unusedName(site: Pick<Site, "rest">, name = "test"): string {
  const names = used.get(site) ?? new Map<string, number>();
  used.set(site, names);
  const number = (names.get(name) ?? 0) + 1;
  names.set(name, number);
  return number === 1 ? name : `${name} ${number}`;
}

export async function makeToken(site: Site, request: Partial<TokenRequest>): Promise<MadeToken> {
  const { status, body } = await site.rest("POST", "/tokens", {
    scopes: ["read", "call"],
    ...request,
    name: unusedName(site, request.name),
  });
  expect(status).toBe(201);
  return body as unknown as MadeToken;
}

export function as(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` };
}
