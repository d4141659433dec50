/**
 * The order in which a gateway stops. One node of a cluster first becomes unready and serves on, until load balancers have
 * noticed. Then it sends its devices to the other nodes, group by group, and then its running calls end. A single gateway
 * has no other place for its devices, so that its calls end first.
 */
import type { Logger } from "pino";
import type { Clock } from "../clock.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { Config } from "../config/config.ts";
import { drainBoards } from "../device/device.ts";
import { within } from "../with-deadline.ts";
import type { DeviceConnections } from "./device-connections.ts";
import type { Started } from "./foundation.ts";
import type { MqttTransport } from "./mqtt.ts";
import type { OpenedServices } from "./services.ts";

export interface ShutdownDependencies {
  readonly clock: Clock;
  readonly log: Logger;
  readonly drain: Config["drain"];
  readonly cluster: Cluster | undefined;
  /** Stops sending boards away for balance. */
  readonly stopBalance: () => void;
  readonly services: OpenedServices;
  readonly devices: DeviceConnections;
  readonly mqtt: MqttTransport;
  readonly started: Started;
}

const callsMs = 2_000;
const deviceCloseMs = 1_200;
/** What is left of the drain's time for calls, connections and pending writes. */
const reserveMs = 4_500;
const reason = "the gateway is stopping";

export class Shutdown {
  readonly #dependencies: ShutdownDependencies;
  #stopping = false;
  #rejecting = false;
  #stopped: Promise<void> | undefined;

  constructor(dependencies: ShutdownDependencies) {
    this.#dependencies = dependencies;
  }

  /** The gateway is unready from now on. */
  get stopping(): boolean {
    return this.#stopping;
  }

  /** The gateway accepts no new connections. */
  get rejecting(): boolean {
    return this.#rejecting;
  }

  run(): Promise<void> {
    this.#stopped ??= this.#run();
    return this.#stopped;
  }

  async #run(): Promise<void> {
    const { clock, log, cluster, services, devices, mqtt, drain, started } = this.#dependencies;
    this.#stopping = true;
    this.#dependencies.stopBalance();
    cluster?.drain();
    const others = this.#others();
    if (others > 0) {
      const { readyDelayMs } = drain;
      log.info({ step: "unready", forMs: readyDelayMs, others }, "gateway stopping");
      await pause(clock, readyDelayMs);
    } else log.info({ step: "unready" }, "gateway stopping");
    this.#rejecting = true;
    devices.webSocket.rejectNew();
    mqtt.rejectNew();
    if (this.#others() > 0) await this.#moveDevices();
    log.info({ step: "calls" }, "gateway stopping");
    await within(clock, callsMs, services.drain());
    this.#closeBoards();
    const closed = within(clock, deviceCloseMs, devices.webSocket.closeAll());
    await Promise.all([closed, devices.stopPrograms()]);
    devices.webSocket.stop();
    for (const undo of started.reverse()) await undo();
    log.info("gateway stopped");
    await new Promise<void>((resolve) => log.flush(() => resolve()));
  }

  /** The nodes that can take devices. */
  #others(): number {
    const { cluster } = this.#dependencies;
    if (cluster === undefined || !cluster.connected) return 0;
    return cluster.nodes().filter(({ instance, draining }) => instance !== cluster.instance && !draining)
      .length;
  }

  async #moveDevices(): Promise<void> {
    const { clock, log, drain, services } = this.#dependencies;
    const boards = this.#boards();
    const withinMs = Math.max(0, drain.timeoutMs - reserveMs);
    log.info({ step: "devices", devices: boards.length, withinMs }, "gateway stopping");
    const hasMoved = (id: string) => services.fleet.isRemote(id);
    await drainBoards(boards, { clock, reason, withinMs, hasMoved });
    const moved = boards.filter(({ deviceId }) => hasMoved(deviceId)).length;
    log.info({ step: "devices", moved, of: boards.length }, "gateway stopping");
  }

  #closeBoards(): void {
    for (const session of this.#boards()) session.close(1001, reason, false);
  }

  /** Programs are stopped with their processes. */
  #boards() {
    return this.#dependencies.services.fleet.sessions().filter(({ kind }) => kind === "esp32");
  }
}

function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(ms, resolve);
  });
}
