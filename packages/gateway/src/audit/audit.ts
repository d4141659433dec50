/**
 * Who changed what, when and from where: sign-ins, tokens, devices, approvals, firmware, settings. Entries are only added.
 * Interfaces record a change after it has succeeded. Calls are not here; they have the history.
 */
import type { AuditAction, AuditList, AuditQuery, JsonObject, SettingView } from "@tendon/protocol";
import { v7 } from "uuid";
import { type Principal, requireEveryDevice, requireScope } from "../access/access.ts";
import { type Clock, isoTime } from "../clock.ts";
import type { Events } from "../events/events.ts";
import type { AuditEntry, Store } from "../store/store.ts";

/** Who acts, and the address that they act from. */
export interface Actor {
  readonly principal: Pick<Principal, "id" | "name">;
  readonly from: string;
}

export interface AuditDependencies {
  readonly clock: Clock;
  readonly events: Events;
  readonly entries: Store["audit"];
}

/** For what no principal requests. */
const gateway: Actor = { principal: { id: "gateway", name: "gateway" }, from: "gateway" };

export class Audit {
  readonly #dependencies: AuditDependencies;

  constructor(dependencies: AuditDependencies) {
    this.#dependencies = dependencies;
  }

  /** The entry is durable when this resolves, unless the database is unavailable; then it is written later. */
  async record(
    { principal, from }: Actor,
    action: AuditAction,
    target: AuditEntry["target"],
    detail?: JsonObject,
  ): Promise<void> {
    const { clock, entries, events } = this.#dependencies;
    // These ids also order the entries of one millisecond.
    const entry = {
      id: v7(),
      at: clock.now(),
      principal: principal.name,
      principalId: principal.id,
      action,
      target,
      from,
      detail,
    };
    await entries.append(entry);
    events.auditRecorded(viewOf(entry));
  }

  /** The settings that differ from the defaults, with secrets hidden. */
  async recordStart(
    { node, nodeId }: { readonly node: string; readonly nodeId: string },
    settings: readonly SettingView[],
  ): Promise<void> {
    const chosen = settings.filter(({ source }) => source !== "default");
    const detail = Object.fromEntries(chosen.map(({ name, value }) => [name, value]));
    await this.record(gateway, "settings.start", { type: "gateway", id: nodeId, name: node }, detail);
  }

  /** Whether entries have names or tags of this device, for the deletion of what is kept about it. */
  async namesDevice(principal: Principal, device: string): Promise<boolean> {
    requireScope(principal, "admin");
    requireEveryDevice(principal, "the audit");
    return await this.#dependencies.entries.namesDevice(device);
  }

  /** Newest first. */
  async list(principal: Principal, { since, ...query }: AuditQuery): Promise<AuditList> {
    requireScope(principal, "admin");
    requireEveryDevice(principal, "the audit");
    const { entries, nextCursor } = await this.#dependencies.entries.query({
      ...query,
      since: since === undefined ? undefined : Date.parse(since),
    });
    return { entries: entries.map(viewOf), ...(nextCursor === undefined ? {} : { nextCursor }) };
  }
}

function viewOf({ at, principalId, detail, ...entry }: AuditEntry): AuditList["entries"][number] {
  return {
    ...entry,
    at: isoTime(at),
    ...(principalId === undefined ? {} : { principalId }),
    ...(detail === undefined ? {} : { detail }),
  };
}
