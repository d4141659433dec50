/** Who may do what. Scopes are names in a token; `admin` includes every other one, and nothing else implies another. */
import { TendonError } from "../errors.ts";

export type Scope = "read" | "call" | "call:user" | "provision" | "admin";

/** Whoever asks: a token, an app, later an upstream server. The name stands in history and events. */
export interface Principal {
  /** Unique; what is one principal's alone hangs on this. */
  readonly id: string;
  readonly name: string;
  readonly scopes: ReadonlySet<Scope>;
  /** Where it is limited: outside these a device does not exist for it. */
  readonly devices: { readonly ids: ReadonlySet<string>; readonly tags: ReadonlySet<string> } | undefined;
}

export type Access = "allowed" | "confirm" | "denied";

export function hasScope(principal: Principal, scope: Scope): boolean {
  return principal.scopes.has("admin") || principal.scopes.has(scope);
}

export function maySee(
  principal: Principal,
  device: { readonly id: string; readonly tags: readonly string[] },
): boolean {
  const { devices } = principal;
  return (
    devices === undefined || devices.ids.has(device.id) || device.tags.some((tag) => devices.tags.has(tag))
  );
}

const agents = new WeakMap<Principal, Principal>();

/**
 * The same principal at a door for agents. There `admin` stands for reading and calling only: user-only tools are for
 * tokens that name `call:user`, so that an agent with the wrong token cannot restart a house.
 */
export function asAgent(principal: Principal): Principal {
  if (!principal.scopes.has("admin")) return principal;
  const known = agents.get(principal);
  if (known !== undefined) return known;
  const scopes = new Set<Scope>(["read", "call", ...principal.scopes]);
  scopes.delete("admin");
  const agent = { ...principal, scopes };
  agents.set(principal, agent);
  return agent;
}

export function requireScope(principal: Principal, scope: Scope): void {
  if (hasScope(principal, scope)) return;
  throw new TendonError("forbidden", `the token lacks the scope \`${scope}\``, { scope });
}
