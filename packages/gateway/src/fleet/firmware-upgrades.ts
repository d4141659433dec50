/**
 * The result of a call of `self.upgrade_firmware` [MCP-16]. The firmware replies only if the upgrade failed; after a
 * successful upgrade it restarts without a reply. The gateway therefore compares the firmware versions before and after
 * the restart. If a version is missing or both are the same, the result is `unknown`.
 */
import type { ToolResult } from "@tendon/protocol";
import type { Clock } from "../clock.ts";
import { TendonError } from "../errors.ts";
import { type Deadline, withDeadline } from "../with-deadline.ts";

/** A device that has disconnected after a call of the upgrade tool. */
export interface UpgradeInProgress {
  readonly device: string;
  /** The firmware version at the time of the call. */
  readonly before: string | undefined;
  readonly transport: string;
  /** The current state of the device, which may be connected to another node. */
  readonly now: () => { readonly online: boolean; readonly firmware: string | undefined };
}

type Return =
  | { readonly kind: "back"; readonly firmware: string | undefined }
  | { readonly kind: "stopping" };

interface Waiter {
  readonly of: UpgradeInProgress;
  readonly settle: (how: Return) => void;
}

const checkFirst = "Check the device's `firmware` before you repeat the call.";

export class FirmwareUpgrades {
  readonly #clock: Clock;
  readonly #waiters = new Set<Waiter>();
  #stopping = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A device has connected to this node and reported its firmware version. */
  connected(device: string, firmware: string | undefined): void {
    for (const { of, settle } of this.#waiters) {
      if (of.device === device) settle({ kind: "back", firmware });
    }
  }

  /** Another node has saved a device. Only a different version shows that the device has restarted. */
  firmwareReported(device: string, firmware: string | undefined): void {
    for (const { of, settle } of this.#waiters) {
      if (of.device === device && of.before !== firmware) settle({ kind: "back", firmware });
    }
  }

  /** Ends all waits when the gateway stops. */
  stop(): void {
    this.#stopping = true;
    for (const { settle } of this.#waiters) settle({ kind: "stopping" });
  }

  async awaitReturn(of: UpgradeInProgress, deadline: Deadline): Promise<ToolResult> {
    const { before, transport } = of;
    const seen = await this.#return(of, deadline);
    const { online, firmware: known } = of.now();
    // A device that reconnects to another node with the same version is not reported, so it is looked up here.
    const how: Return | "timeout" = seen === "timeout" && online ? { kind: "back", firmware: known } : seen;
    if (how === "timeout") {
      const why = `the device disconnected and did not reconnect within the call's deadline. ${mayReturn(transport)}`;
      return upgradeResult("unknown", before, undefined, why);
    }
    if (how.kind === "stopping") {
      const why = "the gateway stopped before the device reconnected.";
      return upgradeResult("unknown", before, undefined, `${why} ${checkFirst}`);
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
        ? "the device reconnected, but its firmware versions are not known."
        : `the device reconnected with the same firmware, ${firmware}. The upgrade failed, is still running, or the image has that version.`;
    return upgradeResult("unknown", before, firmware, `${why} ${checkFirst}`);
  }

  async #return(of: UpgradeInProgress, deadline: Deadline): Promise<Return | "timeout"> {
    if (this.#stopping) return { kind: "stopping" };
    // The device may have reconnected to another node before this node noticed the disconnect.
    const { firmware } = of.now();
    if (firmware !== undefined && firmware !== of.before) return { kind: "back", firmware };
    let waiter: Waiter | undefined;
    const back = new Promise<Return>((settle) => {
      waiter = { of, settle };
      this.#waiters.add(waiter);
    });
    try {
      return await withDeadline(this.#clock, back, deadline);
    } catch (error) {
      throw asSent(error);
    } finally {
      if (waiter !== undefined) this.#waiters.delete(waiter);
    }
  }
}

/** The result if the device replied, with any content. */
export function upgradeFailed(before: string | undefined, { content }: ToolResult): ToolResult {
  const texts = content.flatMap((item) =>
    item.type === "text" && typeof item.text === "string" ? [item.text] : [],
  );
  const still = before === undefined ? "" : ` It still runs ${before}.`;
  const why =
    `the device replied (${texts.join(" ").slice(0, 200)}), and the firmware replies only if the upgrade failed.${still}` +
    " Check that the device can reach the address, and that the image is for its board.";
  return upgradeResult("failed", before, before, why);
}

/** Adds to a timeout error that the upgrade may still succeed, and how to check it. The code stays the same. */
export function upgradeTimeout(error: unknown): unknown {
  if (
    !(error instanceof TendonError) ||
    error.code !== "device_timeout" ||
    error.context["phase"] !== "device"
  )
    return error;
  const detail = `${error.message}. Whether the upgrade succeeds is unknown: the firmware replies only if it fails, and a download may take minutes. ${checkFirst} A longer \`timeoutMs\` waits for the outcome.`;
  return new TendonError(error.code, detail, { ...error.context, retryable: false }, error);
}

function mayReturn(transport: string): string {
  return transport === "websocket"
    ? `A board over WebSocket closes its connection before it downloads, and reconnects only when a person talks to it. ${checkFirst}`
    : `It may still be starting. ${checkFirst} A longer \`timeoutMs\` waits until it reconnects.`;
}

function upgradeResult(
  upgrade: "updated" | "failed" | "unknown",
  before: string | undefined,
  now: string | undefined,
  why: string,
): ToolResult {
  return {
    content: [{ type: "text", text: `${upgrade}: ${why}` }],
    // Only a known success is reported as a success.
    isError: true,
    structuredContent: { upgrade, firmwareBefore: before ?? null, firmwareNow: now ?? null },
  };
}

function asSent(error: unknown): unknown {
  if (!(error instanceof TendonError)) return error;
  return new TendonError(error.code, error.message, { ...error.context, sent: true }, error);
}
