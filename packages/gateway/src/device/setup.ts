/**
 * Initialises a device after its hello: `initialize`, then all pages of `tools/list` [MCP-1…8]. Lists again when the
 * device reports a change of its tools, and retries later if the device did not answer.
 */
import { isObject, type JsonObject } from "@tendon/protocol";
import type { Clock, Timer } from "../clock.ts";
import { messageOf, TendonError } from "../errors.ts";
import { version } from "../version.ts";
import type { BoardSession } from "./board-session.ts";
import type { DeviceInfo } from "./device-session.ts";
import { listTools } from "./listing.ts";
import { ListingPace, listingPauseMs } from "./listing-pace.ts";

const mcpVersionForDevices = "2024-11-05";
const clientInfo = { name: "tendon", version };
/** Covers a device that is opening its audio channel: its replies wait for that, 10 s and 10 s. */
const stepTimeoutMs = 20_000;
const retryAfterMs = [5_000, 30_000, 120_000];

/** [MCP-1] */
export function initializeParams(capabilities: JsonObject): JsonObject {
  return { protocolVersion: mcpVersionForDevices, capabilities: { ...capabilities }, clientInfo };
}

export class Setup {
  readonly #session: BoardSession;
  readonly #clock: Clock;
  readonly #capabilities: () => JsonObject;
  /** Each start increases it, and earlier rounds stop at their next step. */
  #round = 0;
  #listing = false;
  #listAgain = false;
  /** A request is running, of this round or an earlier one. */
  #requesting = false;
  /** This round starts when that request ends, so that repeated hellos cause one round. */
  #restartPending = false;
  /** Created when the device first reports a change. */
  #pace: ListingPace | undefined;
  #retries = 0;
  #timer: Timer | undefined;

  constructor(session: BoardSession, clock: Clock, capabilities: () => JsonObject) {
    this.#session = session;
    this.#clock = clock;
    this.#capabilities = capabilities;
  }

  get running(): boolean {
    return this.#listing;
  }

  /** Called after every hello. Replaces a running round. */
  start(): void {
    this.stop();
    this.#retries = 0;
    this.#listing = true;
    if (this.#requesting) this.#restartPending = true;
    else void this.#run(this.#round);
  }

  stop(): void {
    this.#round += 1;
    this.#restartPending = false;
    this.#listing = false;
    this.#listAgain = false;
    this.#timer?.cancel();
  }

  /** The device reported a change of its tools. */
  relist(): void {
    if (this.#listing) {
      this.#listAgain = true;
      return;
    }
    this.#pace ??= new ListingPace(this.#clock);
    const pause = this.#pace.begin();
    if (pause > 0) this.#later(pause, () => this.relist());
    else void this.#list(this.#round);
  }

  async #run(round: number): Promise<void> {
    this.#listing = true;
    const info = await this.#initialise(round);
    if (round !== this.#round) return;
    if (info === "silent") {
      this.#listing = false;
      this.#session.owner.listed(this.#session, {
        tools: [],
        setAside: [],
        complete: false,
        problem: "the device does not answer MCP",
        silent: true,
        truncated: false,
      });
      this.#retryLater(round);
      return;
    }
    this.#session.owner.initialised(this.#session, info);
    await this.#list(round);
  }

  async #initialise(round: number): Promise<DeviceInfo | "silent"> {
    try {
      return readInfo(await this.#ask("initialize", initializeParams(this.#capabilities())));
    } catch (error) {
      if (round === this.#round)
        this.#session.events.setupFailed(this.#session.deviceId, "initialize", messageOf(error));
      // A device that rejects `initialize` may still list and call: the firmware does not require it.
      const silent = error instanceof TendonError && error.code !== "device_error";
      return silent ? "silent" : { protocolVersion: undefined, board: undefined, firmware: undefined };
    }
  }

  async #list(round: number): Promise<void> {
    this.#listing = true;
    this.#listAgain = false;
    try {
      const listing = await listTools((params) => this.#askPage(round, params));
      if (round !== this.#round) return;
      if (listing.problem !== undefined) {
        this.#session.events.setupFailed(this.#session.deviceId, "tools/list", listing.problem);
      }
      this.#listing = false;
      this.#session.owner.listed(this.#session, listing);
      if (listing.silent) this.#retryLater(round);
      else if (this.#listAgain) this.#later(listingPauseMs, () => this.relist());
    } catch {
      // The connection ended and was reported, or a newer round replaced this one.
      if (round === this.#round) this.#listing = false;
    }
  }

  async #askPage(round: number, params: JsonObject): Promise<unknown> {
    if (round !== this.#round) throw new TendonError("device_disconnected", "the device sent a new hello");
    return await this.#ask("tools/list", params);
  }

  #retryLater(round: number): void {
    const pause = retryAfterMs[this.#retries];
    if (pause === undefined) return;
    this.#retries += 1;
    this.#later(pause, () => {
      if (round === this.#round) void this.#run(round);
    });
  }

  #later(ms: number, run: () => void): void {
    this.#timer?.cancel();
    this.#timer = this.#clock.after(ms, run);
  }

  async #ask(method: string, params: JsonObject): Promise<unknown> {
    this.#requesting = true;
    try {
      const answer = await this.#session.requests.request(method, params, { timeoutMs: stepTimeoutMs });
      return answer.result;
    } finally {
      this.#requesting = false;
      if (this.#restartPending) {
        this.#restartPending = false;
        void this.#run(this.#round);
      }
    }
  }
}

function readInfo(result: unknown): DeviceInfo {
  const reply = isObject(result) ? result : {};
  const server = isObject(reply["serverInfo"]) ? reply["serverInfo"] : {};
  return {
    protocolVersion: shortText(reply["protocolVersion"]),
    board: shortText(server["name"]),
    firmware: shortText(server["version"]),
  };
}

function shortText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value.slice(0, 64) : undefined;
}
