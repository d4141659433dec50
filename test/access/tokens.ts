import type { TokenRequest } from "@tendon/protocol";
import { expect } from "vitest";
import type { Site } from "../site.ts";

interface MadeToken {
  readonly id: string;
  readonly token: string;
}

export async function makeToken(site: Site, request: Partial<TokenRequest>): Promise<MadeToken> {
  const { status, body } = await site.rest("POST", "/tokens", {
    name: "test",
    scopes: ["read", "call"],
    ...request,
  });
  expect(status).toBe(201);
  return body as unknown as MadeToken;
}

export function as(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` };
}
