/**
 * Calls that need a person's word [APR-1…8]. A request waits in the store until somebody else decides; what comes of
 * it is a grant for exactly one call: this principal, device, tool, arguments and schema, once, within ten minutes.
 */
import { hash } from "node:crypto";
import {
  type ApprovalList,
  type ApprovalQuery,
  type ApprovalView,
  isObject,
  type JsonObject,
  limits,
  type ToolDefinition,
} from "@tendon/protocol";
import { hasScope, type Principal } from "../access/access.ts";
import { type Clock, isoTime } from "../clock.ts";
import { TendonError } from "../errors.ts";
import type { Events } from "../events/events.ts";
import type { Approval, GuardedCall, Store } from "../store/store.ts";

/** What a person is asked on the shorter way, by whoever carries the call. */
interface ConfirmRequest {
  readonly approvalId?: string;
  /** Stands for exactly this call: a yes to another, or to this tool before it changed, is no yes to it. */
  readonly binding: string;
  readonly device: string;
  readonly tool: string;
  readonly arguments: JsonObject;
  readonly reason: string;
}

/**
 * Asks the person in front of the caller. `unticked` is a form sent off without its yes, `closed` a question put away
 * without any answer, `unavailable` nobody to ask.
 */
export type Confirm = (
  request: ConfirmRequest,
) => Promise<"accept" | "unticked" | "decline" | "closed" | "unavailable">;

/** The same, ready to be asked about one call. */
export type ShortWay = (binding: string) => ReturnType<Confirm>;

/** A call as the person who decides sees it, and as a grant is bound to it. */
export interface Question {
  readonly principal: Principal;
  /** `undefined` for a call to many. */
  readonly device: string | undefined;
  /** Of a call to many: whom it reaches. */
  readonly targets: { readonly digest: string; readonly shown: JsonObject } | undefined;
  readonly tool: string;
  readonly arguments: JsonObject;
  readonly schemaDigest: string;
  readonly reason: string | undefined;
}

/** A person's yes, not used up yet. */
export interface Grant {
  /** Uses it up and gives its id; throws where somebody was faster. */
  use(): Promise<string>;
}

export interface ApprovalsNeeds {
  readonly store: Pick<Store, "approvals" | "firstAnswers">;
  /** This run of the gateway. */
  readonly run: string;
  readonly clock: Clock;
  readonly events: Events;
  readonly visible: (principal: Principal, device: string) => boolean;
  /** The name of a principal that is known by its id. */
  readonly nameOf: (principalId: string) => string;
}

/** What the history says of a call that the caller's own person said yes to. */
const elicited = "elicited";
/** Stands for the principal where tickets are kept; no principal has this id. */
const ticketHolder = ":tickets";
/** Stands for the device of a call to many. */
const manyDevices = "*";
export const defaultReason = "a rule asks for a person's word";
const defaultPage = 100;

export class Approvals {
  readonly #needs: ApprovalsNeeds;

  constructor(needs: ApprovalsNeeds) {
    this.#needs = needs;
  }

  /** The word of a person for this call. Without one it is asked for, and the call is refused meanwhile. */
  async grant(question: Question, confirm: ShortWay | undefined): Promise<Grant> {
    const call = guarded(question);
    const standing = await this.#needs.store.approvals.standing(call);
    if (standing?.state === "approved") return { use: () => this.#use(question, call) };
    if (standing !== undefined)
      throw refusal(standing, `a person has denied \`${question.tool}\` (request ${standing.id})`);
    switch (await confirm?.(hash("sha256", JSON.stringify(call)))) {
      case "accept":
        return { use: () => Promise.resolve(elicited) };
      case "unticked":
        throw new TendonError("forbidden", `the box that allows \`${question.tool}\` was not ticked`);
      case "decline":
        throw new TendonError("forbidden", `the person who was asked declined \`${question.tool}\``);
      case "closed":
        throw unanswered(question.tool);
      case "unavailable":
      case undefined:
        return await this.#ask(question, call);
    }
  }

  async list(principal: Principal, query: ApprovalQuery): Promise<ApprovalList> {
    const all = mayDecide(principal);
    if (!all && !hasScope(principal, "call")) {
      throw new TendonError("forbidden", "the token lacks the scope `call:user`", { scope: "call:user" });
    }
    const page = await this.#needs.store.approvals.list({
      state: query.state,
      cursor: query.cursor,
      limit: query.limit ?? defaultPage,
      accept: (approval) => this.#mayKnow(principal, approval),
    });
    return { ...page, approvals: page.approvals.map((approval) => this.#view(approval)) };
  }

  async get(principal: Principal, id: string): Promise<ApprovalView> {
    return this.#view(await this.#find(principal, id));
  }

  /** Whether this is the first use of what a person's word came with, on any node and in any run. */
  async useTicket(ticket: string, expiresAt: number): Promise<boolean> {
    const { store, run } = this.#needs;
    const before = await store.firstAnswers.claim(ticketHolder, ticket, { digest: "", run, expiresAt });
    return before === undefined;
  }

  /** Somebody else's word on a request that waits: somebody who may call what is for people, and sees the device. */
  async decide(principal: Principal, id: string, approve: boolean): Promise<ApprovalView> {
    const asked = await this.#find(principal, id);
    if (!mayDecide(principal)) {
      throw new TendonError("forbidden", "the token lacks the scope `call:user`", { scope: "call:user" });
    }
    if (asked.call.principal === principal.id) {
      throw new TendonError("forbidden", "whoever asked cannot decide; somebody else has to");
    }
    const expiresAt = this.#needs.clock.now() + limits.approvalGrantMs.max;
    const decided = await this.#needs.store.approvals.decide(id, { approve, by: principal.id, expiresAt });
    if (decided === undefined) {
      const { state } = await this.#find(principal, id);
      throw new TendonError("conflict", `this request no longer waits: it is ${state}`, { state });
    }
    const { call } = decided;
    this.#needs.events.approvalDecided(deviceOf(call), {
      approvalId: id,
      tool: call.tool,
      principal: this.#needs.nameOf(call.principal),
      decision: approve ? "approved" : "denied",
      by: principal.name,
    });
    return this.#view(decided);
  }

  async #use(question: Question, call: GuardedCall): Promise<string> {
    const used = await this.#needs.store.approvals.consume(call);
    // Somebody took it between our look and now.
    return used === undefined ? await this.#ask(question, call) : used.id;
  }

  async #ask(question: Question, call: GuardedCall): Promise<never> {
    const { tool, principal, reason, targets } = question;
    // Read before the request can be decided: a client that reads on from here finds the decision.
    const since = this.#needs.events.lastId;
    const asked = await this.#needs.store.approvals.request({
      call,
      details: { arguments: question.arguments, reason, target: targets?.shown },
      expiresAt: this.#needs.clock.now() + limits.approvalWaitMs.max,
    });
    if (asked === undefined) {
      throw new TendonError("rate_limited", "too many of your calls already wait for a person");
    }
    const { approval, isNew } = asked;
    if (isNew) {
      const event = { approvalId: approval.id, tool, principal: principal.name };
      this.#needs.events.approvalRequested(question.device, event);
    }
    const why = reason ?? defaultReason;
    throw refusal(approval, `\`${tool}\` needs a person's approval (request ${approval.id}): ${why}`, since);
  }

  async #find(principal: Principal, id: string): Promise<Approval> {
    const found = await this.#needs.store.approvals.get(id);
    if (found !== undefined && this.#mayKnow(principal, found)) return found;
    throw new TendonError("not_found", "no request for approval has this id");
  }

  /** Those who may decide see what concerns their devices; everybody else only what they asked themselves. */
  #mayKnow(principal: Principal, { call, details }: Approval): boolean {
    if (call.principal !== principal.id && !mayDecide(principal)) return false;
    if (call.device !== manyDevices) return this.#needs.visible(principal, call.device);
    if (call.principal === principal.id || principal.devices === undefined) return true;
    const target =
      isObject(details) && isObject(details["target"]) ? details["target"]["devices"] : undefined;
    return Array.isArray(target) && target.every((id) => this.#needs.visible(principal, String(id)));
  }

  #view(approval: Approval): ApprovalView {
    const { call, details, decidedAt, decidedBy, consumedAt } = approval;
    const { arguments: args, reason, target } = isObject(details) ? details : {};
    const at = (time: number | undefined) => (time === undefined ? null : isoTime(time));
    return {
      id: approval.id,
      state: approval.state,
      device: deviceOf(call) ?? null,
      ...(isObject(target) ? { target } : {}),
      tool: call.tool,
      arguments: isObject(args) ? args : {},
      principal: this.#needs.nameOf(call.principal),
      ...(typeof reason === "string" ? { reason } : {}),
      askedAt: isoTime(approval.askedAt),
      expiresAt: isoTime(approval.expiresAt),
      decidedAt: at(decidedAt),
      decidedBy: decidedBy === undefined ? null : this.#needs.nameOf(decidedBy),
      consumedAt: at(consumedAt),
    };
  }
}

function mayDecide(principal: Principal): boolean {
  return hasScope(principal, "call:user");
}

function deviceOf({ device }: GuardedCall): string | undefined {
  return device === manyDevices ? undefined : device;
}

/** `since`: the event after which the decision follows [APR-9]. */
function refusal({ id, state, expiresAt }: Approval, detail: string, since?: string): TendonError {
  return new TendonError("approval_required", detail, {
    approvalId: id,
    approvalState: state,
    approvalExpiresAt: isoTime(expiresAt),
    ...(since === undefined ? {} : { since }),
    // Until the denial lapses, trying again helps nobody.
    ...(state === "denied" ? { retryable: false } : {}),
  });
}

/** Neither a yes nor a no: the same call asks again, if it is still wanted. */
function unanswered(tool: string): TendonError {
  const detail = `the person who was asked closed the question about \`${tool}\` without answering, which is neither a yes nor a no; nothing was called. Ask the user before you make the same call again: it asks them anew`;
  return new TendonError("cancelled", detail, { sent: false });
}

const digests = new WeakMap<ToolDefinition, string>();

/** What a grant was given for: a tool that has become another one is not called under it. */
export function schemaDigest(tool: ToolDefinition | undefined): string {
  if (tool === undefined) return "unlisted";
  const known = digests.get(tool);
  if (known !== undefined) return known;
  const { description, inputSchema, outputSchema, audience } = tool;
  const digest = hash("sha256", JSON.stringify([description, inputSchema, outputSchema ?? null, audience]));
  digests.set(tool, digest);
  return digest;
}

function guarded(question: Question): GuardedCall {
  const { principal, device, targets, tool, schemaDigest } = question;
  if (tool.length > limits.toolNameLength.max * 2 || /[\p{Cc}\p{Surrogate}]/u.test(tool)) {
    throw new TendonError("bad_request", "the tool's name cannot be written down");
  }
  const written = canonical(question.arguments, 0);
  if (Buffer.byteLength(written) > limits.callArgumentBytes.max) {
    const most = limits.callArgumentBytes.max;
    throw new TendonError("payload_too_large", `arguments may take ${most} bytes at most`);
  }
  return {
    principal: principal.id,
    device: device ?? manyDevices,
    tool,
    argumentDigest: hash("sha256", written),
    targetsDigest: targets?.digest,
    schemaDigest,
  };
}

/** The same text for the same arguments, in whatever order they were given. */
function canonical(value: unknown, depth: number): string {
  if (depth > limits.callArgumentDepth.max) {
    throw new TendonError("arguments_invalid", "the arguments are nested too deeply for a device");
  }
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, depth + 1)).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? "null";
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key], depth + 1)}`);
  return `{${members.join(",")}}`;
}
