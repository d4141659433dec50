import type { TokenRequest } from "@tendon/protocol";
import { describe, expect, it, onTestFinished } from "vitest";
import { NamedToken, type NamedTokenState, type Principal, Tokens } from "../../src/access/access.ts";
import { Databases, type OpenStore } from "../store/databases.ts";

const admin: Principal = { id: "admin", name: "admin", scopes: new Set(["admin"]), devices: undefined };

async function openTokens({ store, clock }: OpenStore): Promise<Tokens> {
  const devices = { idOf: (reference: string) => reference, visible: () => true };
  const tokens = await Tokens.open({ store, clock, adminToken: "an-admin-token-for-tests", devices });
  onTestFinished(() => tokens.stop());
  return tokens;
}

function watch(tokens: Tokens, name: string): { readonly token: NamedToken; readonly changes: string[] } {
  const changes: string[] = [];
  const token = new NamedToken(tokens, name, (state: NamedTokenState) => {
    changes.push(state.kind === "valid" ? state.principal.id : state.detail);
  });
  onTestFinished(() => token.stop());
  return { token, changes };
}

async function create(tokens: Tokens, name: string, more: Partial<TokenRequest> = {}): Promise<string> {
  const { id } = await tokens.create(admin, { name, scopes: ["read"], ...more }, "127.0.0.1");
  return id;
}

describe("a token that settings refer to by name", () => {
  const databases = new Databases("sqlite");

  it("[TOK-5] is waited for until it exists, and again after it was revoked or has expired", async () => {
    const open = await databases.open();
    const tokens = await openTokens(open);
    const { token, changes } = watch(tokens, "house");
    const missing = "no valid token is named `house`; create it with: tendon token create house";
    expect(token.state).toEqual({ kind: "waiting_for_token", detail: missing });
    await create(tokens, "another");
    expect(changes).toEqual([]);
    const first = await create(tokens, "house");
    expect(token.principal?.name).toBe("house");
    await tokens.revoke(admin, first);
    expect(token.principal).toBeUndefined();
    const expiresAt = new Date(open.clock.now() + 5_000).toISOString();
    const second = await create(tokens, "house", { expiresAt });
    open.clock.advance(6_000);
    expect(changes).toEqual([first, missing, second, missing]);
    token.stop();
    await create(tokens, "house");
    expect(changes).toHaveLength(4);
  });

  it("[TOK-5] changes also if another node creates or revokes it", async () => {
    const open = await databases.open();
    const [here, there] = [await openTokens(open), await openTokens(open)];
    there.shareWith((id) => here.reload(id));
    const { changes } = watch(here, "house");
    const id = await create(there, "house");
    await there.revoke(admin, id);
    expect(changes).toEqual([id, expect.stringContaining("no valid token")]);
  });

  it("[TOK-5] is reported and not used if several have the name, as data of earlier versions may", async () => {
    const open = await databases.open();
    const before = await openTokens(open);
    const [first, second] = [await create(before, "house"), await create(before, "home")];
    await databases.query(open.place, "UPDATE tendon_tokens SET name = 'house'");
    const tokens = await openTokens(open);
    expect(tokens.duplicateNames()).toEqual(["house"]);
    const { token, changes } = watch(tokens, "house");
    expect(token.state).toEqual({
      kind: "waiting_for_token",
      detail: "2 valid tokens are named `house`, so none of them is used; revoke all but one",
    });
    await tokens.revoke(admin, first);
    expect(changes).toEqual([second]);
    expect(tokens.duplicateNames()).toEqual([]);
  });
});
