/** Bounds what one MQTT connection sends, before aedes parses it: each packet by its header, and all of them by rate. */
import type { Duplex } from "node:stream";
import { limits } from "@tendon/protocol";
import type { Clock } from "../clock.ts";
import { boardRates, Intake, type IntakeRates } from "../intake.ts";
import { perSecond } from "../token-bucket.ts";
import { gateReads } from "./aedes-overrides.ts";
import { paceArrival } from "./paced-connections.ts";
import { PacketGate } from "./packet-gate.ts";

/** Requests of apps are limited per token, and each by its size. */
const appRates: IntakeRates = {
  packets: { burst: limits.appPacketBurst.max, everyMs: perSecond(limits.appPacketsPerSecond.max) },
  bytes: { burst: Number.POSITIVE_INFINITY, everyMs: 1 },
};

export interface GateListener {
  /** A packet was rejected by its header. */
  rejected(reason: string): void;
  /** The connection is not read for a moment. */
  paused(): void;
  /** The client went on sending more than it may. */
  flooded(exceeded: "frames" | "bytes"): void;
}

export class ConnectionGate {
  readonly #clock: Clock;
  readonly #packets = new PacketGate(limits.mqttConnectBytes.max, limits.mqttPacketBytes.max);
  readonly #valve: ConstructorParameters<typeof Intake>[2];
  #intake: Intake;
  #isApp = false;

  constructor(clock: Clock, socket: Duplex, listener: GateListener) {
    this.#clock = clock;
    const reads = gateReads(socket, {
      begin: paceArrival,
      rejects: (chunk) => {
        const rejection = this.#packets.admit(chunk);
        if (rejection === undefined) return !this.#count(chunk.byteLength);
        listener.rejected(rejection);
        return true;
      },
    });
    this.#valve = {
      pause: () => {
        listener.paused();
        reads.hold();
      },
      resume: () => reads.release(),
      cut: (exceeded) => listener.flooded(exceeded),
    };
    this.#intake = new Intake(clock, boardRates, this.#valve);
  }

  /** The client has signed in as an app. */
  isApp(): void {
    this.#isApp = true;
    this.#intake.end();
    this.#intake = new Intake(this.#clock, appRates, this.#valve);
  }

  /** The gateway has sent a message that the device may answer. */
  expectAnswer(): void {
    this.#intake.expectAnswer(limits.deviceFrameBytes.max);
  }

  end(): void {
    this.#intake.end();
  }

  #count(bytes: number): boolean {
    const { publishes, others } = this.#packets.takeCounts();
    return this.#isApp ? this.#intake.count(others, 0) : this.#intake.count(publishes + others, bytes);
  }
}
