/**
 * Approvals of calls [APR-1…8]. A request waits in the store until another principal decides. An approved request
 * allows exactly one call with the same principal, device, tool, arguments and schema, within ten minutes.
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

/** What the calling client shows its user when it asks for approval. */
interface ConfirmRequest {
  readonly approvalId?: string;
  /** The digest of this call: the answer is not valid for another call, or after the tool has changed. */
  readonly binding: string;
  readonly device: string;
  readonly tool: string;
  readonly arguments: JsonObject;
  readonly reason: string;
}

/**
 * Asks the user of the calling client. `unticked`: the user submitted the form without ticking the box. `closed`: the
 * user closed the form without an answer. `unavailable`: the client cannot ask.
 */
export type Confirm = (
  request: ConfirmRequest,
) => Promise<"accept" | "unticked" | "decline" | "closed" | "unavailable">;

/** Asks the user of the calling client about one call, until the call's deadline. */
export type Elicitation = (binding: string) => ReturnType<Confirm>;

/** The call that needs approval. An approval is valid only for a call with the same values. */
export interface ApprovalRequest {
  readonly principal: Principal;
  /** `undefined` for a fan-out. */
  readonly device: string | undefined;
  /** The devices of a fan-out. */
  readonly targets: { readonly digest: string; readonly shown: JsonObject } | undefined;
  readonly tool: string;
  readonly arguments: JsonObject;
  readonly schemaDigest: string;
  readonly reason: string | undefined;
}

/** An approval that no call has used yet. */
export interface Grant {
  /** Consumes the approval and returns its id; throws if another call has consumed it meanwhile. */
  use(): Promise<string>;
}

export interface ApprovalsDependencies {
  readonly store: Pick<Store, "approvals" | "idempotencyRecords">;
  /** This run of the gateway. */
  readonly run: string;
  readonly clock: Clock;
  readonly events: Events;
  readonly visible: (principal: Principal, device: string) => boolean;
  /** The name of the principal with this id. */
  readonly nameOf: (principalId: string) => string;
}

/** The approval id in the history of a call that the user of the calling client approved. */
const elicited = "elicited";
/** The principal under which tickets are stored; no real principal has this id. */
const ticketPrincipal = ":tickets";
/** The device of a fan-out in the store. */
const manyDevices = "*";
export const defaultReason = "a rule requires approval";
const defaultPage = 100;

export class Approvals {
  readonly #dependencies: ApprovalsDependencies;

  constructor(dependencies: ApprovalsDependencies) {
    this.#dependencies = dependencies;
  }

  /** Finds the approval for this call. Without one, requests it and throws `approval_required`. */
  async grant(request: ApprovalRequest, confirm: Elicitation | undefined): Promise<Grant> {
    const call = guardedCall(request);
    const existing = await this.#dependencies.store.approvals.currentDecision(call);
    if (existing?.state === "approved") return { use: () => this.#use(request, call) };
    if (existing !== undefined)
      throw refusal(existing, `a person has denied \`${request.tool}\` (request ${existing.id})`);
    switch (await confirm?.(hash("sha256", JSON.stringify(call)))) {
      case "accept":
        return { use: () => Promise.resolve(elicited) };
      case "unticked":
        throw new TendonError("forbidden", `the user did not tick the box that allows \`${request.tool}\``);
      case "decline":
        throw new TendonError("forbidden", `the user declined \`${request.tool}\``);
      case "closed":
        throw unanswered(request.tool);
      case "unavailable":
      case undefined:
        return await this.#requestApproval(request, call);
    }
  }

  async list(principal: Principal, query: ApprovalQuery): Promise<ApprovalList> {
    const all = mayDecide(principal);
    if (!all && !hasScope(principal, "call")) {
      throw new TendonError("forbidden", "the token lacks the scope `call:user`", { scope: "call:user" });
    }
    const page = await this.#dependencies.store.approvals.list({
      state: query.state,
      cursor: query.cursor,
      limit: query.limit ?? defaultPage,
      accept: (approval) => this.#canSee(principal, approval),
    });
    return { ...page, approvals: page.approvals.map((approval) => this.#view(approval)) };
  }

  async get(principal: Principal, id: string): Promise<ApprovalView> {
    return this.#view(await this.#find(principal, id));
  }

  /** Whether this is the first use of a confirmation's ticket, on any node and in any run. */
  async useTicket(ticket: string, expiresAt: number): Promise<boolean> {
    const { store, run } = this.#dependencies;
    const before = await store.idempotencyRecords.claim(ticketPrincipal, ticket, {
      digest: "",
      run,
      expiresAt,
    });
    return before === undefined;
  }

  /** Approves or denies a waiting request. The principal needs `call:user` and must not be the one that asked. */
  async decide(principal: Principal, id: string, approve: boolean): Promise<ApprovalView> {
    const found = await this.#find(principal, id);
    if (!mayDecide(principal)) {
      throw new TendonError("forbidden", "the token lacks the scope `call:user`", { scope: "call:user" });
    }
    if (found.call.principal === principal.id) {
      throw new TendonError(
        "forbidden",
        "you cannot decide on your own request; another principal must decide",
      );
    }
    const expiresAt = this.#dependencies.clock.now() + limits.approvalGrantMs.max;
    const decided = await this.#dependencies.store.approvals.decide(id, {
      approve,
      by: principal.id,
      expiresAt,
    });
    if (decided === undefined) {
      const { state } = await this.#find(principal, id);
      throw new TendonError("conflict", `this request is already ${state}`, { state });
    }
    const { call } = decided;
    this.#dependencies.events.approvalDecided(deviceOf(call), {
      approvalId: id,
      tool: call.tool,
      principal: this.#dependencies.nameOf(call.principal),
      decision: approve ? "approved" : "denied",
      by: principal.name,
    });
    return this.#view(decided);
  }

  async #use(request: ApprovalRequest, call: GuardedCall): Promise<string> {
    const used = await this.#dependencies.store.approvals.consume(call);
    // Another call may have consumed it since `grant` found it.
    return used === undefined ? await this.#requestApproval(request, call) : used.id;
  }

  async #requestApproval(request: ApprovalRequest, call: GuardedCall): Promise<never> {
    const { tool, principal, reason, targets } = request;
    // Read before the request can be decided, so that a client that resumes from this event sees the decision.
    const since = this.#dependencies.events.lastId;
    const waiting = await this.#dependencies.store.approvals.request({
      call,
      details: { arguments: request.arguments, reason, target: targets?.shown },
      expiresAt: this.#dependencies.clock.now() + limits.approvalWaitMs.max,
    });
    if (waiting === undefined) {
      throw new TendonError(
        "rate_limited",
        "too many of your calls already wait for approval; retry when some are decided",
      );
    }
    const { approval, isNew } = waiting;
    if (isNew) {
      const event = { approvalId: approval.id, tool, principal: principal.name };
      this.#dependencies.events.approvalRequested(request.device, event);
    }
    const why = reason ?? defaultReason;
    throw refusal(approval, `\`${tool}\` needs approval (request ${approval.id}): ${why}`, since);
  }

  async #find(principal: Principal, id: string): Promise<Approval> {
    const found = await this.#dependencies.store.approvals.get(id);
    if (found !== undefined && this.#canSee(principal, found)) return found;
    throw new TendonError("not_found", "no approval request has this id");
  }

  /** Principals with `call:user` see the requests for their devices, others only their own requests. */
  #canSee(principal: Principal, { call, details }: Approval): boolean {
    if (call.principal !== principal.id && !mayDecide(principal)) return false;
    if (call.device !== manyDevices) return this.#dependencies.visible(principal, call.device);
    if (call.principal === principal.id || principal.devices === undefined) return true;
    const target =
      isObject(details) && isObject(details["target"]) ? details["target"]["devices"] : undefined;
    return Array.isArray(target) && target.every((id) => this.#dependencies.visible(principal, String(id)));
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
      principal: this.#dependencies.nameOf(call.principal),
      ...(typeof reason === "string" ? { reason } : {}),
      askedAt: isoTime(approval.askedAt),
      expiresAt: isoTime(approval.expiresAt),
      decidedAt: at(decidedAt),
      decidedBy: decidedBy === undefined ? null : this.#dependencies.nameOf(decidedBy),
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
    // A retry gets the same denial until it expires.
    ...(state === "denied" ? { retryable: false } : {}),
  });
}

/** The user neither approved nor declined. Repeating the call asks again. */
function unanswered(tool: string): TendonError {
  const detail = `the user closed the question about \`${tool}\` without answering, which is neither a yes nor a no; nothing was called. Ask the user before you repeat the call: it shows the question again`;
  return new TendonError("cancelled", detail, { sent: false });
}

const digests = new WeakMap<ToolDefinition, string>();

/** The digest of the tool's definition: an approval is void after the tool has changed. */
export function schemaDigest(tool: ToolDefinition | undefined): string {
  if (tool === undefined) return "unlisted";
  const known = digests.get(tool);
  if (known !== undefined) return known;
  const { description, inputSchema, outputSchema, audience } = tool;
  const digest = hash("sha256", JSON.stringify([description, inputSchema, outputSchema ?? null, audience]));
  digests.set(tool, digest);
  return digest;
}

function guardedCall(request: ApprovalRequest): GuardedCall {
  const { principal, device, targets, tool, schemaDigest } = request;
  if (tool.length > limits.toolNameLength.max * 2 || /[\p{Cc}\p{Surrogate}]/u.test(tool)) {
    throw new TendonError("bad_request", "the tool's name is too long or contains control characters");
  }
  const written = canonical(request.arguments, 0);
  if (Buffer.byteLength(written) > limits.callArgumentBytes.max) {
    const most = limits.callArgumentBytes.max;
    throw new TendonError("payload_too_large", `arguments are limited to ${most} bytes`);
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

/** JSON with sorted keys, so that the order of the arguments does not matter. */
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
