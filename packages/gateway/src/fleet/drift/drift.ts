/**
 * Tools that differ from what was first accepted [DRI-1…4]. A device could turn the tool of a lamp into one that opens a
 * door. The gateway reports the change. With `access.quarantine` it also rejects calls until an operator accepts the
 * new tool. The accepted definition is stored only while it differs from the current one.
 */
import { didYouMean, limits, nearNames, type ToolChanges, type ToolDefinition } from "@tendon/protocol";
import { type Principal, requireScope } from "../../access/access.ts";
import { type Clock, isoTime } from "../../clock.ts";
import { TendonError } from "../../errors.ts";
import type { StoredPin } from "../../store/store.ts";
import type { DeviceRecord } from "../device-record.ts";
import { differences, digestOf, type ToolPart } from "./tool-differences.ts";

export interface DriftDependencies {
  readonly clock: Clock;
  readonly quarantine: boolean;
  readonly find: (principal: Principal, reference: string) => DeviceRecord;
  /** Saves a device with its tools and its pins. */
  readonly save: (record: DeviceRecord) => Promise<void>;
  readonly onAccepted: (record: DeviceRecord, tool: string) => void;
}

interface Pin {
  readonly known: ToolDefinition;
  readonly notedAt: number;
}

/** The differences between two lists of a device. Empty for the first list of a device. */
export interface ListDrift {
  readonly added?: readonly string[];
  readonly removed?: readonly string[];
  readonly changed?: readonly {
    readonly tool: string;
    readonly what: readonly ToolPart[];
    readonly before: string;
    readonly after: string;
    readonly quarantined: boolean;
  }[];
}

interface Change {
  readonly what: ToolPart[];
  readonly since: string;
  readonly quarantined: boolean;
}

const maxReported = 50;

export class Drift {
  readonly #dependencies: DriftDependencies;
  readonly #pins = new Map<string, Map<string, Pin>>();

  constructor(dependencies: DriftDependencies) {
    this.#dependencies = dependencies;
  }

  /** Restores the stored pins, except those whose tool is again as it was accepted. */
  restore(
    pins: readonly StoredPin[],
    listed: (device: string, tool: string) => ToolDefinition | undefined,
  ): void {
    for (const { device, tool, known, notedAt } of pins) {
      const now = listed(device, tool);
      if (now !== undefined && differences(known, now).length === 0) continue;
      this.#pinsOf(device).set(tool, { known, notedAt });
    }
  }

  forget(device: string): void {
    this.#pins.delete(device);
  }

  /** The pins to save with the device's list; `undefined` if no tool has ever differed. */
  pinsOf(device: string): Omit<StoredPin, "device">[] | undefined {
    const pins = this.#pins.get(device);
    return pins === undefined ? undefined : [...pins].map(([tool, pin]) => ({ tool, ...pin }));
  }

  /** Called for every call. */
  isQuarantined(device: string, tool: string): boolean {
    return this.#dependencies.quarantine && this.#pins.get(device)?.has(tool) === true;
  }

  /** Compares a changed list with the previous one and with the accepted tools. */
  listed(device: string, before: readonly ToolDefinition[], after: readonly ToolDefinition[]): ListDrift {
    if (before.length === 0 && !this.#pins.has(device)) return {};
    const pins = this.#pinsOf(device);
    const had = new Map(before.map((tool) => [tool.name, tool]));
    const has = new Map(after.map((tool) => [tool.name, tool]));
    const changed = after.flatMap((tool) => {
      const last = had.get(tool.name);
      const known = pins.get(tool.name)?.known ?? last;
      if (known === undefined) return [];
      const what = differences(known, tool);
      if (what.length === 0) {
        pins.delete(tool.name);
        return [];
      }
      this.#pin(pins, tool.name, known);
      const isNew = last === undefined || differences(last, tool).length > 0;
      if (!isNew) return [];
      const { quarantine } = this.#dependencies;
      return [
        { tool: tool.name, what, before: digestOf(known), after: digestOf(tool), quarantined: quarantine },
      ];
    });
    const removed = before.filter(({ name }) => !has.has(name));
    for (const tool of removed) this.#pin(pins, tool.name, tool);
    const added = after.filter(({ name }) => !had.has(name) && !changed.some(({ tool }) => tool === name));
    dropOldest(pins, has);
    return {
      ...(added.length === 0 ? {} : { added: namesOf(added) }),
      ...(removed.length === 0 ? {} : { removed: namesOf(removed) }),
      ...(changed.length === 0 ? {} : { changed: changed.slice(0, maxReported) }),
    };
  }

  /** The change of one tool, for a list of tools. */
  changeOf(device: string, tool: ToolDefinition): Change | undefined {
    const change = this.#changeOf(device, tool);
    if (change === undefined) return undefined;
    const { what, pin } = change;
    return { what, since: isoTime(pin.notedAt), quarantined: this.#dependencies.quarantine };
  }

  /** The changes of a device's tools that no operator has accepted yet. */
  changes(principal: Principal, reference: string): ToolChanges {
    const record = this.#dependencies.find(principal, reference);
    requireScope(principal, "read");
    const changes = record.catalogue.tools().flatMap((tool) => {
      const change = this.changeOf(record.id, tool);
      const known = this.#pins.get(record.id)?.get(tool.name)?.known;
      if (change === undefined || known === undefined) return [];
      return [{ tool: tool.name, ...change, before: shownOf(known), after: shownOf(tool) }];
    });
    return { changes };
  }

  /** Accepts the current definition of a tool. The digest identifies the definition that the operator reviewed. */
  async accept(principal: Principal, reference: string, name: string, digest: string): Promise<ToolChanges> {
    const record = this.#dependencies.find(principal, reference);
    requireScope(principal, "admin");
    const tool = record.catalogue.find(name);
    if (tool === undefined) {
      const names = record.catalogue.tools().map((known) => known.name);
      const near = didYouMean(nearNames(name, names));
      throw new TendonError("tool_unknown", `\`${record.alias}\` has no tool \`${name}\`${near}`);
    }
    if (digestOf(tool) !== digest) {
      throw new TendonError("conflict", `the digest does not match \`${name}\`; review the tool again`, {
        digest: digestOf(tool),
      });
    }
    await this.#unpin(record, name);
    return this.changes(principal, reference);
  }

  async #unpin(record: DeviceRecord, tool: string): Promise<void> {
    const pin = this.#pins.get(record.id)?.get(tool);
    if (pin === undefined) return;
    this.#pins.get(record.id)?.delete(tool);
    try {
      await this.#dependencies.save(record);
    } catch (error) {
      // Without the write the tool would be in quarantine again after a restart.
      this.#pinsOf(record.id).set(tool, pin);
      throw error;
    }
    this.#dependencies.onAccepted(record, tool);
  }

  #changeOf(device: string, tool: ToolDefinition): { what: ToolPart[]; pin: Pin } | undefined {
    const pin = this.#pins.get(device)?.get(tool.name);
    if (pin === undefined) return undefined;
    const what = differences(pin.known, tool);
    return what.length === 0 ? undefined : { what, pin };
  }

  /** Keeps the definition that was accepted first, however often the tool changes. */
  #pin(pins: Map<string, Pin>, tool: string, known: ToolDefinition): void {
    if (!pins.has(tool)) pins.set(tool, { known, notedAt: this.#dependencies.clock.now() });
  }

  #pinsOf(device: string): Map<string, Pin> {
    const known = this.#pins.get(device);
    if (known !== undefined) return known;
    const pins = new Map<string, Pin>();
    this.#pins.set(device, pins);
    return pins;
  }
}

/** Bounds the pins of removed tools, because a device could list new names without end. */
function dropOldest(pins: Map<string, Pin>, listed: ReadonlyMap<string, ToolDefinition>): void {
  const removed = [...pins.keys()].filter((tool) => !listed.has(tool));
  for (const tool of removed.slice(0, Math.max(0, removed.length - limits.goneToolsPerDevice.max)))
    pins.delete(tool);
}

function namesOf(tools: readonly ToolDefinition[]): string[] {
  return tools.slice(0, maxReported).map(({ name }) => name);
}

function shownOf(tool: ToolDefinition) {
  const { description, inputSchema, audience } = tool;
  return { digest: digestOf(tool), description, inputSchema, audience };
}
