/** Opens the modules between devices and clients, in the order of their dependencies. */
import { createHmac } from "node:crypto";
import { Actions, defaultActions } from "@tendon/protocol";
import { Authentication, Tokens } from "../access/access.ts";
import { type Addresses, uploadProblem } from "../addresses.ts";
import { Webhooks } from "../agent/agent.ts";
import { Audit } from "../audit/audit.ts";
import type { Config } from "../config/config.ts";
import { Liveness } from "../device/device.ts";
import { type OpenedFirmware, openFirmware } from "../firmware/firmware.ts";
import { type OpenedProvisioning, openProvisioning, SealedKeys } from "../provisioning/provisioning.ts";
import { HeldLeases } from "../store/store.ts";
import { type OpenedVision, openVision } from "../vision/vision.ts";
import { type OpenedVoice, openVoice } from "../voice/voice.ts";
import type { Foundation, Started } from "./foundation.ts";
import { type OpenedServices, openServices } from "./services.ts";

export interface Modules {
  readonly tokens: Tokens;
  readonly authentication: Authentication;
  readonly audit: Audit;
  readonly services: OpenedServices;
  readonly vision: OpenedVision;
  readonly firmware: OpenedFirmware;
  readonly voice: OpenedVoice | undefined;
  readonly provisioning: OpenedProvisioning;
  readonly liveness: Liveness;
  readonly webhooks: Webhooks;
}

export async function openModules(
  config: Config,
  foundation: Foundation,
  addresses: () => Addresses,
  started: Started,
): Promise<Modules> {
  const { clock, log, dataFolder, events, store, idPrefix, run, deviceSecret } = foundation;
  const cluster = foundation.cluster?.cluster;
  const tokens = await Tokens.open({
    store,
    clock,
    adminToken: foundation.adminSecret,
    devices: {
      idOf: (reference) => services.fleet.idOf(reference),
      visible: (principal, id) => services.fleet.visible(principal, id),
    },
  });
  started.push(() => tokens.stop());
  for (const name of tokens.duplicateNames())
    log.warn(
      { name },
      "several valid tokens have this name: settings that name it use none of them; revoke all but one",
    );
  const address = () => addresses().public;
  const vision = await openVision({
    config,
    dataFolder,
    clock,
    events,
    log,
    idPrefix,
    address,
    uploadProblem: (url, device) => uploadProblem(url, device, addresses()),
  });
  started.push(() => vision.stop());
  const services = await openServices({
    camera: vision.camera,
    screen: vision.screen,
    photoStorage: vision.photos,
    store,
    clock,
    events,
    node: foundation.node,
    nodeId: foundation.nodeId,
    idPrefix,
    run,
    mayReturn: (other) => cluster?.members.mayReturn(other) === true,
    isShared: cluster !== undefined,
    isAlive: (other) => other === run || cluster?.members.isAlive(other) === true,
    defaultTimeoutMs: config.calls.timeoutMs,
    keepArguments: config.calls.keepArguments,
    digestKey: createHmac("sha256", deviceSecret).update("digests of call arguments").digest(),
    queueLimit: config.calls.queue,
    actions: Actions.of(defaultActions, config.control.actions),
    access: config.access,
    nameOf: (principalId) => tokens.nameOf(principalId),
    principalOf: (principalId) => tokens.current(principalId),
    agents: config.agents,
  });
  started.push(() => services.close());
  const { fleet, calls } = services;
  const base = { config, clock, events, store };
  const firmware = await openFirmware({
    ...base,
    dataFolder,
    secret: deviceSecret,
    cluster,
    address,
    tagsOf: (deviceId) => fleet.tagsOf(deviceId),
  });
  started.push(() => firmware.stop());
  const seals = new SealedKeys(deviceSecret, "tendon voice accounts");
  const voice = await openVoice({
    ...base,
    seals,
    fleet,
    calls,
    audioHost: () => addresses().audioHost,
  });
  started.push(() => voice?.stop());
  const webhooks = await Webhooks.open({
    ...base,
    settings: config.webhooks,
    seals: new SealedKeys(deviceSecret, "tendon webhook secrets"),
    leases: new HeldLeases(
      store.webhooks.leases,
      run,
      cluster && ((other) => cluster.members.isAlive(other)),
    ),
    isShared: cluster !== undefined,
    idOf: (reference) => fleet.idOf(reference),
    isKnown: (device) => fleet.devices.get(device) !== undefined,
    tagsOf: (device) => fleet.tagsOf(device),
  });
  started.push(() => webhooks.stop());
  const liveness = new Liveness(clock);
  started.push(() => liveness.stop());
  return {
    tokens,
    authentication: new Authentication({ clock, events, tokens, settings: config.limits }),
    audit: new Audit({ clock, events, entries: store.audit }),
    services,
    vision,
    firmware,
    voice,
    provisioning: openProvisioning({
      ...base,
      secret: deviceSecret,
      devices: fleet.admin,
      disconnect: (deviceId, reason) => liveness.disconnect(deviceId, reason),
    }),
    liveness,
    webhooks,
  };
}
