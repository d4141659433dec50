/** Principals and scopes. `admin` includes every other scope; no other scope implies another. */
import { TendonError } from "../errors.ts";

export type Scope = "read" | "call" | "call:user" | "provision" | "endpoint" | "admin";

/** The caller: a token, an app or a voice server. History and events show its name. */
export interface Principal {
  /** Unique. What belongs to one principal is keyed by it. */
  readonly id: string;
  readonly name: string;
  readonly scopes: ReadonlySet<Scope>;
  /** The devices it is limited to; it cannot see any other. */
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
 * The same principal at an endpoint for agents. There `admin` means `read` and `call` only: user-only tools need a token
 * that names `call:user`, so that an agent with the wrong token cannot restart devices.
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

/** For figures of the whole fleet. `what` names them, such as "the overview". */
export function requireEveryDevice(principal: Principal, what: string): void {
  if (principal.devices === undefined) return;
  throw new TendonError("forbidden", `${what} covers all devices, but this token is limited to some`);
}
