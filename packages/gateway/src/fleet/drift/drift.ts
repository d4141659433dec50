/**
 * Tools that are no longer what they were when they were first seen [DRI-1…4]. A device may say tomorrow that its lamp
 * opens the door; whoever trusts it by name is told, and, where that is set, the tool is kept shut until an operator
 * agrees. What was accepted is kept only where it differs from what the device lists now.
 */
import { didYouMean, limits, nearNames, type ToolChanges, type ToolDefinition } from "@tendon/protocol";
import { type Principal, requireScope } from "../../access/access.ts";
import { type Clock, isoTime } from "../../clock.ts";
import { TendonError } from "../../errors.ts";
import type { StoredPin } from "../../store/store.ts";
import type { DeviceRecord } from "../device-record.ts";
import { differences, digestOf, type ToolPart } from "./meaning.ts";

export interface DriftNeeds {
  readonly clock: Clock;
  readonly quarantine: boolean;
  readonly find: (principal: Principal, reference: string) => DeviceRecord;
  /** Writes down a device with its tools and `pinsOf` it. */
  readonly remember: (record: DeviceRecord) => Promise<void>;
  readonly accepted: (record: DeviceRecord, tool: string) => void;
}

interface Pin {
  readonly known: ToolDefinition;
  readonly notedAt: number;
}

/** What is new in a device's list, beside what it has learnt for the first time. */
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

const namesTold = 50;

export class Drift {
  readonly #needs: DriftNeeds;
  readonly #pins = new Map<string, Map<string, Pin>>();

  constructor(needs: DriftNeeds) {
    this.#needs = needs;
  }

  /** What was written down; a tool that is again what it was is none of them. */
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

  /** What is to be written of a device, together with its list; `undefined` where nothing ever differed. */
  pinsOf(device: string): Omit<StoredPin, "device">[] | undefined {
    const pins = this.#pins.get(device);
    return pins === undefined ? undefined : [...pins].map(([tool, pin]) => ({ tool, ...pin }));
  }

  /** Whether a tool is kept shut; looked at on every call. */
  isQuarantined(device: string, tool: string): boolean {
    return this.#needs.quarantine && this.#pins.get(device)?.has(tool) === true;
  }

  /** A device has another list than before. */
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
      const isNews = last === undefined || differences(last, tool).length > 0;
      if (!isNews) return [];
      const { quarantine } = this.#needs;
      return [
        { tool: tool.name, what, before: digestOf(known), after: digestOf(tool), quarantined: quarantine },
      ];
    });
    const removed = before.filter(({ name }) => !has.has(name));
    for (const tool of removed) this.#pin(pins, tool.name, tool);
    const added = after.filter(({ name }) => !had.has(name) && !changed.some(({ tool }) => tool === name));
    forgetOldest(pins, has);
    return {
      ...(added.length === 0 ? {} : { added: namesOf(added) }),
      ...(removed.length === 0 ? {} : { removed: namesOf(removed) }),
      ...(changed.length === 0 ? {} : { changed: changed.slice(0, namesTold) }),
    };
  }

  /** What a list of tools says of one that has changed. */
  changeOf(device: string, tool: ToolDefinition): Change | undefined {
    const change = this.#changeOf(device, tool);
    if (change === undefined) return undefined;
    const { what, pin } = change;
    return { what, since: isoTime(pin.notedAt), quarantined: this.#needs.quarantine };
  }

  /** What has changed of a device's tools and nobody has agreed to yet. */
  changes(principal: Principal, reference: string): ToolChanges {
    const record = this.#needs.find(principal, reference);
    requireScope(principal, "read");
    const changes = record.catalogue.tools().flatMap((tool) => {
      const change = this.changeOf(record.id, tool);
      const known = this.#pins.get(record.id)?.get(tool.name)?.known;
      if (change === undefined || known === undefined) return [];
      return [{ tool: tool.name, ...change, before: shownOf(known), after: shownOf(tool) }];
    });
    return { changes };
  }

  /** An operator agrees to a tool as it is now; the digest says which tool it was that was looked at. */
  async accept(principal: Principal, reference: string, name: string, digest: string): Promise<ToolChanges> {
    const record = this.#needs.find(principal, reference);
    requireScope(principal, "admin");
    const tool = record.catalogue.find(name);
    if (tool === undefined) {
      const names = record.catalogue.tools().map((known) => known.name);
      const near = didYouMean(nearNames(name, names));
      throw new TendonError("tool_unknown", `\`${record.alias}\` has no tool \`${name}\`${near}`);
    }
    if (digestOf(tool) !== digest) {
      throw new TendonError("conflict", `\`${name}\` is not, or no longer, the tool with this digest`, {
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
      await this.#needs.remember(record);
    } catch (error) {
      // Not written down is not agreed: after a restart it would be shut again.
      this.#pinsOf(record.id).set(tool, pin);
      throw error;
    }
    this.#needs.accepted(record, tool);
  }

  #changeOf(device: string, tool: ToolDefinition): { what: ToolPart[]; pin: Pin } | undefined {
    const pin = this.#pins.get(device)?.get(tool.name);
    if (pin === undefined) return undefined;
    const what = differences(pin.known, tool);
    return what.length === 0 ? undefined : { what, pin };
  }

  /** What was accepted first counts, however often it changes afterwards. */
  #pin(pins: Map<string, Pin>, tool: string, known: ToolDefinition): void {
    if (!pins.has(tool)) pins.set(tool, { known, notedAt: this.#needs.clock.now() });
  }

  #pinsOf(device: string): Map<string, Pin> {
    const known = this.#pins.get(device);
    if (known !== undefined) return known;
    const pins = new Map<string, Pin>();
    this.#pins.set(device, pins);
    return pins;
  }
}

/** Of tools that are gone only so many are remembered: a device could make up new ones for ever. */
function forgetOldest(pins: Map<string, Pin>, listed: ReadonlyMap<string, ToolDefinition>): void {
  const gone = [...pins.keys()].filter((tool) => !listed.has(tool));
  for (const tool of gone.slice(0, Math.max(0, gone.length - limits.goneToolsPerDevice.max)))
    pins.delete(tool);
}

function namesOf(tools: readonly ToolDefinition[]): string[] {
  return tools.slice(0, namesTold).map(({ name }) => name);
}

function shownOf(tool: ToolDefinition) {
  const { description, inputSchema, audience } = tool;
  return { digest: digestOf(tool), description, inputSchema, audience };
}
