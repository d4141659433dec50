import type { Decided, PendingDevice, PendingList } from "@tendon/protocol";
import { isObject, limits, normaliseDeviceId } from "@tendon/protocol";
import { hasScope, maySee, type Principal, requireScope, Throttle } from "../access/access.ts";
import { type Clock, isoTime } from "../clock.ts";
import { TendonError } from "../errors.ts";
import { refuseProgram } from "../fleet/fleet.ts";
import type { ImportedDevice, Pairing, Store } from "../store/store.ts";
import type { DeviceCredentials } from "./credentials.ts";
import { needsProof } from "./serial-proof.ts";
import { replacedReason, type Welcome, type WelcomeNeeds } from "./welcome.ts";

export interface DecisionsNeeds extends WelcomeNeeds {
  readonly store: Store;
  readonly clock: Clock;
  readonly welcome: Welcome;
}

const anotherTryMs = 10_000;

/**
 * What people decide about devices [PRV-1…5]. `provision` lets new devices in. It never touches one that is here:
 * replacing a board, bringing back one that was revoked and revoking need `admin`, so that a factory's token that
 * gets lost opens no house.
 */
export class Decisions {
  readonly #needs: DecisionsNeeds;
  readonly #wrongCodes: Throttle;

  constructor(needs: DecisionsNeeds) {
    this.#needs = needs;
    this.#wrongCodes = new Throttle(needs.clock, { burst: limits.wrongCodes.max, everyMs: anotherTryMs });
  }

  /** `from`: codes are guessed neither by one token nor from one address. */
  async approveCode(principal: Principal, code: string, from: string): Promise<Decided> {
    requireScope(principal, "provision");
    const guessers = [`token ${principal.id}`, `address ${from}`];
    const retryAfterMs = Math.max(...guessers.map((who) => this.#wrongCodes.waitMs(who)));
    if (retryAfterMs > 0) {
      throw new TendonError(limits.wrongCodes.error, "too many wrong codes; wait a moment", { retryAfterMs });
    }
    // Counted before it is known: of a thousand guesses at the same moment ten are looked at.
    for (const who of guessers) this.#wrongCodes.count(who);
    const pairing = await this.#needs.store.pairings.byCode(code);
    if (pairing === undefined || !(await this.#sees(principal, pairing.device))) {
      throw new TendonError("device_unknown", "no board shows this code now; a code counts for 15 minutes");
    }
    for (const who of guessers) this.#wrongCodes.refund(who);
    return await this.#approve(principal, pairing);
  }

  /** By its id, where one board waits under it; or one that was revoked and is to come back. */
  async approveDevice(principal: Principal, reference: string): Promise<Decided> {
    const { credentials, store, devices } = this.#needs;
    const device = devices.idOf(reference);
    const codes = hasScope(principal, "provision") ? await store.pairings.ofDevice(device) : [];
    const waiting = codes.filter((pairing) => this.#waits(pairing));
    if (
      (waiting.length === 0 && devices.find(device) === undefined) ||
      !(await this.#sees(principal, device))
    )
      throw this.#needs.devices.unknown(principal, reference);
    requireScope(principal, "provision");
    const known = devices.find(device);
    if (known !== undefined) refuseProgram(known);
    const [pairing] = waiting;
    if (waiting.length > 1) {
      throw new TendonError(
        "conflict",
        `${waiting.length} boards wait under this id; approve the right one by the code it shows`,
      );
    }
    if (pairing !== undefined) return await this.#approve(principal, pairing);
    const before = credentials.revokedPair(device);
    if (before === undefined) {
      if (credentials.isApproved(device)) return this.#decided(device, "it was approved before");
      throw new TendonError("conflict", "no board waits under this id; start it, and it shows a code");
    }
    requireScope(principal, "admin");
    await this.#needs.welcome.approve(device, before, { by: principal.name });
    return this.#decided(device, "it gets new credentials when it starts the next time");
  }

  /** The device's credentials no longer count, and it is disconnected. */
  async revoke(principal: Principal, reference: string): Promise<Decided> {
    const { credentials, store, devices, events, cut } = this.#needs;
    const device = devices.idOf(reference);
    const known = devices.find(device);
    if (known === undefined || !(await this.#sees(principal, device)))
      throw this.#needs.devices.unknown(principal, reference);
    requireScope(principal, "admin");
    refuseProgram(known);
    const again = credentials.isRevoked(device);
    const written = credentials.revoke(device);
    cut(device, "the device's credentials were revoked");
    await written;
    if (!again) events.deviceRevoked(device, { by: principal.name });
    await store.pairings.remove(device);
    return this.#decided(device, "its credentials no longer count; it shows a code when it starts again");
  }

  async pending(principal: Principal): Promise<PendingList> {
    requireScope(principal, "provision");
    const { store, devices, credentials } = this.#needs;
    const waiting = await store.pairings.waiting();
    const imported = await store.imports.of(waiting.map(({ device }) => device));
    const pending = waiting
      .filter((pairing) => this.#waits(pairing))
      .filter(({ device: id }) =>
        maySee(principal, { id, tags: devices.find(id)?.tags ?? imported.get(id)?.tags ?? [] }),
      )
      .map((pairing): PendingDevice => {
        const { device } = pairing;
        const standing = credentials.isRevoked(device)
          ? "revoked"
          : credentials.isApproved(device)
            ? "taken"
            : "new";
        return { device, standing, proof: proofOf(pairing, imported.get(device)), ...seen(pairing) };
      });
    const total = principal.devices === undefined ? await store.pairings.count() : pending.length;
    return { pending, total };
  }

  /** Credentials made before the device connects. */
  async provision(principal: Principal, id: string, clientId: string): Promise<DeviceCredentials> {
    const device = normaliseDeviceId(id);
    if (device === undefined) throw new TendonError("bad_request", "`id` is not a device's id");
    if (!(await this.#sees(principal, device))) throw this.#needs.devices.unknown(principal, id);
    requireScope(principal, "provision");
    const { credentials, store } = this.#needs;
    if (credentials.standing(device, clientId).kind !== "approved") this.#mayReplace(principal, device);
    await store.ping();
    const { written, made } = this.provisionHere(device, clientId, principal.name);
    await written;
    return made;
  }

  /** The same for the program that runs the gateway, which asks nobody. */
  provisionHere(
    id: string,
    clientId: string,
    by: string,
  ): { readonly made: DeviceCredentials; readonly written: Promise<void> } {
    const { credentials: made, ...change } = this.#needs.credentials.provision(id, clientId);
    this.#needs.welcome.cutReplaced(made.deviceId, change);
    this.#needs.welcome.tell(made.deviceId, change, by);
    return { made, written: change.written };
  }

  /** Forgets a device, whether it is here, waits, or stands on the list. */
  async remove(principal: Principal, reference: string): Promise<void> {
    const { store, devices, credentials, cut } = this.#needs;
    const device = devices.idOf(reference);
    const known = devices.find(device) !== undefined;
    const admin = hasScope(principal, "admin");
    const listed = known || !admin ? undefined : await store.imports.get(device);
    const waits = known || !admin ? [] : await store.pairings.ofDevice(device);
    const here = known || listed !== undefined || waits.length > 0;
    if (!here || !(await this.#sees(principal, device)))
      throw this.#needs.devices.unknown(principal, reference);
    requireScope(principal, "admin");
    await store.ping();
    credentials.forget(device);
    if (known) await devices.remove(principal, device);
    cut(device, "the device was deleted");
    await store.pairings.remove(device);
    await store.imports.remove(device);
  }

  async #approve(principal: Principal, pairing: Pairing): Promise<Decided> {
    const { store, welcome } = this.#needs;
    const { device, clientIdHash, code, provenAt } = pairing;
    const imported = await store.imports.get(device);
    if (needsProof(imported) && provenAt === undefined) {
      throw new TendonError(
        "conflict",
        "this device was imported with a serial number, and the board has not proved to be that one",
      );
    }
    // Last, with nothing to wait for in between: what it looks at is what is replaced.
    this.#mayReplace(principal, device);
    const replaced = await welcome.approve(device, Buffer.from(clientIdHash, "hex"), {
      by: principal.name,
      tags: imported?.tags,
    });
    await store.pairings.take(code);
    const others = replaced
      ? `; ${replacedReason}, and the credentials of the one before no longer count`
      : "";
    return this.#decided(device, `it gets its settings within seconds${others}`, replaced);
  }

  #mayReplace(principal: Principal, device: string): void {
    const { credentials } = this.#needs;
    if (hasScope(principal, "admin")) return;
    if (!credentials.isApproved(device) && !credentials.isRevoked(device)) return;
    throw new TendonError(
      "forbidden",
      "this id is known here: only `admin` replaces a board or brings back one that was revoked",
      { scope: "admin" },
    );
  }

  #decided(id: string, message: string, replaced = false): Decided {
    const { devices, credentials } = this.#needs;
    const approval = credentials.isRevoked(id) ? "revoked" : "approved";
    return { id, alias: devices.find(id)?.alias ?? id, approval, replaced, message };
  }

  /** One that was provisioned meanwhile no longer waits; its code runs out by itself. */
  #waits({ device, clientIdHash }: Pairing): boolean {
    return !this.#needs.credentials.holds(device, Buffer.from(clientIdHash, "hex"));
  }

  async #sees(principal: Principal, id: string): Promise<boolean> {
    if (principal.devices === undefined) return true;
    const { devices, store } = this.#needs;
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

function seen({ details, createdAt, expiresAt }: Pairing) {
  const said = isObject(details) ? details : {};
  const text = (key: string) => (typeof said[key] === "string" ? said[key] : null);
  return {
    board: text("board"),
    firmware: text("firmware"),
    serial: text("serial"),
    from: text("from"),
    since: isoTime(createdAt),
    expiresAt: isoTime(expiresAt),
  };
}
