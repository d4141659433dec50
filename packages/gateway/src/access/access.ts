/**
 * Who may do what: principals and their scopes, tokens, access rules, the address allow-list, and limits on failures by
 * address. A call is authorized here, on the node that was asked.
 */

export { Authentication, type Spent } from "./authentication.ts";
export { NamedToken, type NamedTokenState } from "./named-token.ts";
export { Policy, type Ruling } from "./policy.ts";
export {
  type Access,
  asAgent,
  hasScope,
  maySee,
  type Principal,
  requireEveryDevice,
  requireScope,
} from "./principal.ts";
export { SharedPool } from "./shared-pool.ts";
export { sourceOf, Throttle } from "./throttle.ts";
export { Tokens } from "./tokens.ts";
