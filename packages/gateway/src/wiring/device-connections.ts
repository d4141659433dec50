/** Opens the device transports: WebSocket and MQTT for boards, stdio for the programs of the configuration. */

import { randomUUID } from "node:crypto";
import { limits } from "@tendon/protocol";
import { Throttle } from "../access/access.ts";
import type { Addresses } from "../addresses.ts";
import type { Clock } from "../clock.ts";
import { type Config, inheritedEnvironment } from "../config/config.ts";
import {
  type BoardDependencies,
  BoardSession,
  type DeviceIdentity,
  type DeviceLink,
  FrameLog,
  KnownResults,
  type MqttConnection,
  type MqttListener,
  openMqttDevice,
  openUdpSink,
  randomFirstId,
  StdioDevice,
  WebSocketDevices,
} from "../device/device.ts";
import { FlooderRefused, type Flooders } from "../intake.ts";
import type { Foundation, Started } from "./foundation.ts";
import type { Modules } from "./modules.ts";

export interface DeviceConnections {
  readonly webSocket: WebSocketDevices;
  readonly frames: FrameLog;
  readonly flooders: Flooders;
  openMqtt(identity: DeviceIdentity, connection: MqttConnection): MqttListener;
  stopPrograms(): Promise<void>;
}

export async function openDeviceConnections(
  config: Config,
  programs: Config["devices"]["stdio"],
  { clock, events }: Foundation,
  { services, voice, liveness, provisioning }: Modules,
  addresses: () => Addresses,
  started: Started,
): Promise<DeviceConnections> {
  const { fleet } = services;
  const frames = new FrameLog(clock);
  const flooders = countFlooders(clock);
  const audio = voice?.udp ?? (await openUdpSink(events, config.http.host));
  if (voice === undefined) started.push(() => audio.stop());
  const boardDependencies: BoardDependencies = {
    clock,
    events,
    owner: fleet.connections,
    confirm: (who) => provisioning.credentials.confirm(who),
    newSessionId: randomUUID,
    frames,
    knownResults: new KnownResults(),
    firstRequestId: () => randomFirstId(Math.random()),
    queueLimit: config.calls.queue,
    capabilities: () => config.devices.capabilities,
    audioAddress: () => audio.addressFor(addresses().audioHost),
    voice: voice?.relay,
  };
  const open = (identity: DeviceIdentity, link: DeviceLink) => {
    const session = new BoardSession(identity, link, boardDependencies);
    liveness.watch(session);
    return session;
  };
  const running = programs.map((settings) => {
    fleet.expect(settings.alias, "process");
    return new StdioDevice(
      { protocol: "lines", restart: "always", args: [], env: {}, cwd: undefined, ...settings },
      {
        clock,
        events,
        frames,
        queueLimit: config.calls.queue,
        owner: fleet.connections,
        random: Math.random,
        environment: inheritedEnvironment(),
      },
    );
  });
  const stopPrograms = async () => {
    await Promise.all(running.map((program) => program.stop()));
  };
  for (const program of running) program.start();
  started.push(stopPrograms);
  return {
    webSocket: new WebSocketDevices({
      clock,
      events,
      admit: (claim) => provisioning.credentials.admit(claim),
      open,
      flooders,
      ...provisioning.signIn,
    }),
    frames,
    flooders,
    openMqtt: (identity, connection) => openMqttDevice(identity, connection, { open }),
    stopPrograms,
  };
}

function countFlooders(clock: Clock): Flooders {
  const floods = new Throttle(clock, { burst: 1, everyMs: limits.floodRestMs.max });
  return {
    cutOff: (deviceId) => void floods.count(deviceId),
    requireRest(deviceId) {
      const waitMs = floods.waitMs(deviceId);
      if (waitMs > 0) throw new FlooderRefused(waitMs);
    },
  };
}
