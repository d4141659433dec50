import type { Decided, PendingDevice, PendingList } from "@tendon/protocol";
import { isObject, limits, normaliseDeviceId } from "@tendon/protocol";
import { hasScope, maySee, type Principal, requireScope, Throttle } from "../access/access.ts";
import { type Clock, isoTime } from "../clock.ts";
import { TendonError } from "../errors.ts";
import { refuseProgram } from "../fleet/fleet.ts";
import type { ImportedDevice, Pairing, Store } from "../store/store.ts";
import type { DeviceCredentials } from "./credentials.ts";
import { type ApprovalDependencies, type PairApproval, replacedReason } from "./pair-approval.ts";
import { needsProof } from "./serial-proof.ts";

export interface DecisionsDependencies extends ApprovalDependencies {
  readonly store: Store;
  readonly clock: Clock;
  readonly pairApproval: PairApproval;
}

const wrongCodeIntervalMs = 10_000;

/**
 * The decisions of people about devices [PRV-1…5]. `provision` admits new devices only. Replacing a board, revoking it
 * and approving a revoked one need `admin`, so that a lost token of a factory cannot take over devices.
 */
export class Decisions {
  readonly #dependencies: DecisionsDependencies;
  readonly #wrongCodes: Throttle;

  constructor(dependencies: DecisionsDependencies) {
    this.#dependencies = dependencies;
    this.#wrongCodes = new Throttle(dependencies.clock, {
      burst: limits.wrongCodes.max,
      everyMs: wrongCodeIntervalMs,
    });
  }

  /** Limits wrong codes by token and by the address `from`. */
  async approveCode(principal: Principal, code: string, from: string): Promise<Decided> {
    requireScope(principal, "provision");
    const guessers = [`token ${principal.id}`, `address ${from}`];
    const retryAfterMs = Math.max(...guessers.map((who) => this.#wrongCodes.waitMs(who)));
    if (retryAfterMs > 0) {
      throw new TendonError(limits.wrongCodes.error, "too many wrong codes; retry later", { retryAfterMs });
    }
    // Counted before the code is checked: of a thousand simultaneous guesses only ten are checked.
    for (const who of guessers) this.#wrongCodes.count(who);
    const pairing = await this.#dependencies.store.pairings.byCode(code);
    if (pairing === undefined || !(await this.#sees(principal, pairing.device))) {
      throw new TendonError("device_unknown", "no board shows this code now; a code is valid for 15 minutes");
    }
    for (const who of guessers) this.#wrongCodes.refund(who);
    return await this.#approve(principal, pairing);
  }

  /** Approves the one board that waits under this id, or a revoked one again. */
  async approveDevice(principal: Principal, reference: string): Promise<Decided> {
    const { credentials, store, devices } = this.#dependencies;
    const device = devices.idOf(reference);
    const codes = hasScope(principal, "provision") ? await store.pairings.ofDevice(device) : [];
    const waiting = codes.filter((pairing) => this.#isWaiting(pairing));
    if (
      (waiting.length === 0 && devices.find(device) === undefined) ||
      !(await this.#sees(principal, device))
    )
      throw this.#dependencies.devices.unknown(principal, reference);
    requireScope(principal, "provision");
    const known = devices.find(device);
    if (known !== undefined) refuseProgram(known);
    const [pairing] = waiting;
    if (waiting.length > 1) {
      throw new TendonError(
        "conflict",
        `${waiting.length} boards with this id are waiting; approve the right one by the code it shows`,
      );
    }
    if (pairing !== undefined) return await this.#approve(principal, pairing);
    const before = credentials.revokedPair(device);
    if (before === undefined) {
      if (credentials.isApproved(device)) return this.#decided(device, "it was approved already");
      throw new TendonError(
        "conflict",
        "no board with this id is waiting; start the board, and it shows a code",
      );
    }
    requireScope(principal, "admin");
    await this.#dependencies.pairApproval.approve(device, before, { by: principal.name });
    return this.#decided(device, "it gets new credentials at its next start");
  }

  /** Revokes the device's credentials and disconnects it. */
  async revoke(principal: Principal, reference: string): Promise<Decided> {
    const { credentials, store, devices, events, disconnect } = this.#dependencies;
    const device = devices.idOf(reference);
    const known = devices.find(device);
    if (known === undefined || !(await this.#sees(principal, device)))
      throw this.#dependencies.devices.unknown(principal, reference);
    requireScope(principal, "admin");
    refuseProgram(known);
    const again = credentials.isRevoked(device);
    const written = credentials.revoke(device);
    disconnect(device, "the device's credentials were revoked");
    await written;
    if (!again) events.deviceRevoked(device, { by: principal.name });
    await store.pairings.remove(device);
    return this.#decided(device, "its credentials are no longer valid; it shows a code at its next start");
  }

  async pending(principal: Principal): Promise<PendingList> {
    requireScope(principal, "provision");
    const { store, devices, credentials } = this.#dependencies;
    const waiting = await store.pairings.waiting();
    const imported = await store.imports.of(waiting.map(({ device }) => device));
    const pending = waiting
      .filter((pairing) => this.#isWaiting(pairing))
      .filter(({ device: id }) =>
        maySee(principal, { id, tags: devices.find(id)?.tags ?? imported.get(id)?.tags ?? [] }),
      )
      .map((pairing): PendingDevice => {
        const { device } = pairing;
        const standing: PendingDevice["standing"] = credentials.isRevoked(device)
          ? "revoked"
          : credentials.isApproved(device)
            ? "taken"
            : "new";
        return { device, standing, proof: proofOf(pairing, imported.get(device)), ...reportedBy(pairing) };
      });
    const total = principal.devices === undefined ? await store.pairings.count() : pending.length;
    return { pending, total };
  }

  /** Creates credentials before the device connects. */
  async provision(principal: Principal, id: string, clientId: string): Promise<DeviceCredentials> {
    const device = normaliseDeviceId(id);
    if (device === undefined) throw new TendonError("bad_request", "`id` is not a valid device id");
    if (!(await this.#sees(principal, device))) throw this.#dependencies.devices.unknown(principal, id);
    requireScope(principal, "provision");
    const { credentials, store } = this.#dependencies;
    if (credentials.stateOf(device, clientId).kind !== "approved") this.#mayReplace(principal, device);
    await store.ping();
    const { written, made } = this.provisionHere(device, clientId, principal.name);
    await written;
    return made;
  }

  /** The same for the program that runs the gateway, without authorization. */
  provisionHere(
    id: string,
    clientId: string,
    by: string,
  ): { readonly made: DeviceCredentials; readonly written: Promise<void> } {
    const { credentials: made, ...change } = this.#dependencies.credentials.provision(id, clientId);
    this.#dependencies.pairApproval.disconnectReplaced(made.deviceId, change);
    this.#dependencies.pairApproval.publish(made.deviceId, change, by);
    return { made, written: change.written };
  }

  /** Deletes a device, whether it is known, waiting or imported. */
  async remove(principal: Principal, reference: string): Promise<void> {
    const { store, devices, credentials, disconnect } = this.#dependencies;
    const device = devices.idOf(reference);
    const known = devices.find(device) !== undefined;
    const admin = hasScope(principal, "admin");
    const listed = known || !admin ? undefined : await store.imports.get(device);
    const waits = known || !admin ? [] : await store.pairings.ofDevice(device);
    const here = known || listed !== undefined || waits.length > 0;
    if (!here || !(await this.#sees(principal, device)))
      throw this.#dependencies.devices.unknown(principal, reference);
    requireScope(principal, "admin");
    await store.ping();
    credentials.forget(device);
    if (known) await devices.remove(principal, device);
    disconnect(device, "the device was deleted");
    await store.pairings.remove(device);
    await store.imports.remove(device);
  }

  async #approve(principal: Principal, pairing: Pairing): Promise<Decided> {
    const { store, pairApproval } = this.#dependencies;
    const { device, clientIdHash, code, provenAt } = pairing;
    const imported = await store.imports.get(device);
    if (needsProof(imported) && provenAt === undefined) {
      throw new TendonError(
        "conflict",
        "this device was imported with a serial number, and the board has not proved that it has it",
      );
    }
    // Checked last and without a wait before the approval, so that nothing can change in between.
    this.#mayReplace(principal, device);
    const replaced = await pairApproval.approve(device, Buffer.from(clientIdHash, "hex"), {
      by: principal.name,
      tags: imported?.tags,
    });
    await store.pairings.take(code);
    const others = replaced
      ? `; ${replacedReason}, and the credentials of the previous board are revoked`
      : "";
    return this.#decided(device, `it gets its settings within seconds${others}`, replaced);
  }

  #mayReplace(principal: Principal, device: string): void {
    const { credentials } = this.#dependencies;
    if (hasScope(principal, "admin")) return;
    if (!credentials.isApproved(device) && !credentials.isRevoked(device)) return;
    throw new TendonError(
      "forbidden",
      "this device was provisioned before: replacing it, or approving it after a revocation, needs the scope `admin`",
      { scope: "admin" },
    );
  }

  #decided(id: string, message: string, replaced = false): Decided {
    const { devices, credentials } = this.#dependencies;
    const approval = credentials.isRevoked(id) ? "revoked" : "approved";
    return { id, alias: devices.find(id)?.alias ?? id, approval, replaced, message };
  }

  /** A board that was provisioned meanwhile no longer waits, although its code has not expired. */
  #isWaiting({ device, clientIdHash }: Pairing): boolean {
    return !this.#dependencies.credentials.isCurrentPair(device, Buffer.from(clientIdHash, "hex"));
  }

  async #sees(principal: Principal, id: string): Promise<boolean> {
    if (principal.devices === undefined) return true;
    const { devices, store } = this.#dependencies;
    const tags = devices.find(id)?.tags ?? (await store.imports.get(id))?.tags ?? [];
    return maySee(principal, { id, tags });
  }
}

function proofOf(
  { provenAt, attempts }: Pairing,
  imported: ImportedDevice | undefined,
): PendingDevice["proof"] {
  if (provenAt !== undefined) return "given";
  if (!needsProof(imported)) return "unneeded";
  return attempts > 0 ? "failed" : "missing";
}

function reportedBy({ details, createdAt, expiresAt }: Pairing) {
  const reported = isObject(details) ? details : {};
  const text = (key: string) => (typeof reported[key] === "string" ? reported[key] : null);
  return {
    board: text("board"),
    firmware: text("firmware"),
    serial: text("serial"),
    from: text("from"),
    since: isoTime(createdAt),
    expiresAt: isoTime(expiresAt),
  };
}
