/**
 * What became of a call of `self.upgrade_firmware` [MCP-16]. The firmware answers only when the upgrade failed: after
 * a successful one it restarts without an answer. So the version that the device reports when it is back decides, and
 * where it does not, the result says that the outcome is unknown.
 */
import type { ToolResult } from "@tendon/protocol";
import type { Clock } from "../clock.ts";
import { TendonError } from "../errors.ts";
import { type Deadline, withDeadline } from "../with-deadline.ts";

/** A device that has left after it was asked to upgrade. */
export interface Upgrading {
  readonly device: string;
  /** What it ran when it was asked. */
  readonly before: string | undefined;
  readonly transport: string;
  /** The device as this node knows it now, on whatever node it is. */
  readonly now: () => { readonly online: boolean; readonly firmware: string | undefined };
}

type Return =
  | { readonly kind: "back"; readonly firmware: string | undefined }
  | { readonly kind: "stopping" };

interface Waiter {
  readonly of: Upgrading;
  readonly settle: (how: Return) => void;
}

const lookFirst = "Look at the device's `firmware` before you repeat the call.";

export class FirmwareUpgrades {
  readonly #clock: Clock;
  readonly #waiters = new Set<Waiter>();
  #stopping = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A device has connected to this node and has named its firmware. */
  connected(device: string, firmware: string | undefined): void {
    for (const { of, settle } of this.#waiters) {
      if (of.device === device) settle({ kind: "back", firmware });
    }
  }

  /** Another node has written a device anew, for whatever reason; only another version says that it is back. */
  heardOf(device: string, firmware: string | undefined): void {
    for (const { of, settle } of this.#waiters) {
      if (of.device === device && of.before !== firmware) settle({ kind: "back", firmware });
    }
  }

  /** The gateway stops: callers get what is known by now. */
  stop(): void {
    this.#stopping = true;
    for (const { settle } of this.#waiters) settle({ kind: "stopping" });
  }

  async afterLeaving(of: Upgrading, patience: Deadline): Promise<ToolResult> {
    const { before, transport } = of;
    const seen = await this.#return(of, patience);
    const { online, firmware: known } = of.now();
    // A device that came back to another node with the version it had is not reported: it is looked up.
    const how: Return | "timeout" = seen === "timeout" && online ? { kind: "back", firmware: known } : seen;
    if (how === "timeout") {
      const why = `the device left and was not back within the call's deadline. ${mayReturn(transport)}`;
      return upgradeResult("unknown", before, undefined, why);
    }
    if (how.kind === "stopping") {
      const why = "the gateway stopped before the device was back.";
      return upgradeResult("unknown", before, undefined, `${why} ${lookFirst}`);
    }
    const { firmware } = how;
    if (before !== undefined && firmware !== undefined && firmware !== before) {
      const result = upgradeResult(
        "updated",
        before,
        firmware,
        `the device runs ${firmware} now, before ${before}.`,
      );
      return { ...result, isError: false };
    }
    const why =
      before === undefined || firmware === undefined
        ? "the device left and came back, but its firmware versions are not known."
        : `the device left and came back with the same firmware, ${firmware}. The upgrade failed, still runs, or the image has that version.`;
    return upgradeResult("unknown", before, firmware, `${why} ${lookFirst}`);
  }

  async #return(of: Upgrading, patience: Deadline): Promise<Return | "timeout"> {
    if (this.#stopping) return { kind: "stopping" };
    // At another node it may have come back before this node learnt that it had left.
    const { firmware } = of.now();
    if (firmware !== undefined && firmware !== of.before) return { kind: "back", firmware };
    let waiter: Waiter | undefined;
    const back = new Promise<Return>((settle) => {
      waiter = { of, settle };
      this.#waiters.add(waiter);
    });
    try {
      return await withDeadline(this.#clock, back, patience);
    } catch (error) {
      throw sentAlready(error);
    } finally {
      if (waiter !== undefined) this.#waiters.delete(waiter);
    }
  }
}

/** The device has answered, whatever it said. */
export function upgradeFailed(before: string | undefined, { content }: ToolResult): ToolResult {
  const said = content.flatMap((item) =>
    item.type === "text" && typeof item.text === "string" ? [item.text] : [],
  );
  const still = before === undefined ? "" : ` It still runs ${before}.`;
  const why =
    `the device answered (${said.join(" ").slice(0, 200)}), and the firmware answers only when the upgrade failed.${still}` +
    " Check that the device can reach the address, and that the image fits its board.";
  return upgradeResult("failed", before, before, why);
}

/** Neither an answer nor its end came in time: the code stays what it is, and the words tell what to look at. */
export function upgradeOverdue(error: unknown): unknown {
  if (
    !(error instanceof TendonError) ||
    error.code !== "device_timeout" ||
    error.context["phase"] !== "device"
  )
    return error;
  const detail = `${error.message}. Whether the upgrade succeeds is unknown: the firmware answers only when it fails, and a download may take minutes. ${lookFirst} A longer \`timeoutMs\` waits for the outcome.`;
  return new TendonError(error.code, detail, { ...error.context, retryable: false }, error);
}

function mayReturn(transport: string): string {
  return transport === "websocket"
    ? `A board over WebSocket closes its connection before it downloads, and connects again only when a person talks to it. ${lookFirst}`
    : `It may still be starting. ${lookFirst} A longer \`timeoutMs\` waits for its return.`;
}

function upgradeResult(
  upgrade: "updated" | "failed" | "unknown",
  before: string | undefined,
  now: string | undefined,
  why: string,
): ToolResult {
  return {
    content: [{ type: "text", text: `${upgrade}: ${why}` }],
    // What is not known to have succeeded is not reported as a success.
    isError: true,
    structuredContent: { upgrade, firmwareBefore: before ?? null, firmwareNow: now ?? null },
  };
}

function sentAlready(error: unknown): unknown {
  if (!(error instanceof TendonError)) return error;
  return new TendonError(error.code, error.message, { ...error.context, sent: true }, error);
}
