/** Opens the device transports: WebSocket and MQTT for boards, stdio for the programs of the configuration. */

import { randomUUID } from "node:crypto";
import { limits } from "@tendon/protocol";
import { Throttle } from "../access/access.ts";
import type { Addresses } from "../addresses.ts";
import type { Clock } from "../clock.ts";
import { type Config, headersOf, inheritedEnvironment } from "../config/config.ts";
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
import { messageOf, StartError } from "../errors.ts";
import { HttpDevices } from "../http-devices/http-devices.ts";
import { FlooderRefused, type Flooders } from "../intake.ts";
import { SealedKeys } from "../provisioning/provisioning.ts";
import { HeldLeases } from "../store/store.ts";
import type { Foundation, Started } from "./foundation.ts";
import type { Modules } from "./modules.ts";

export interface DeviceConnections {
  readonly webSocket: WebSocketDevices;
  readonly frames: FrameLog;
  readonly flooders: Flooders;
  openMqtt(identity: DeviceIdentity, connection: MqttConnection): MqttListener;
  readonly http: HttpDevices;
  stopPrograms(): Promise<void>;
}

export async function openDeviceConnections(
  config: Config,
  programs: Config["devices"]["stdio"],
  { clock, events, store, run, cluster, deviceSecret }: Foundation,
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
  const http = await HttpDevices.open({
    clock,
    events,
    store,
    frames,
    queueLimit: config.calls.queue,
    owner: fleet.connections,
    random: Math.random,
    seals: new SealedKeys(deviceSecret, "tendon headers of servers"),
    configured: config.devices.http.map((entry) => ({ ...entry, headers: readHeaders(entry) })),
    leases: new HeldLeases(
      store.httpDevices.leases,
      run,
      cluster && ((other) => cluster.cluster.members.isAlive(other)),
    ),
    isShared: cluster !== undefined,
    expect: (id, timeoutMs) => fleet.expect(id, "http", timeoutMs),
    isFree: (alias) => fleet.devices.get(alias) === undefined && fleet.devices.names.isFree(alias, alias),
  });
  const stopPrograms = async () => {
    await Promise.all([...running.map((program) => program.stop()), http.stop()]);
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
    http,
    openMqtt: (identity, connection) => openMqttDevice(identity, connection, { open }),
    stopPrograms,
  };
}

function readHeaders(entry: Config["devices"]["http"][number]): Record<string, string> {
  try {
    return headersOf(entry);
  } catch (error) {
    throw new StartError(`The headers of the device ${entry.alias} cannot be read:`, [messageOf(error)]);
  }
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
