/** Constructs the modules between devices and clients (fleet, calls, toolset) and connects them. */
import type { Actions, JsonObject } from "@tendon/protocol";
import type { Principal } from "../access/access.ts";
import type { Services } from "../agent/agent.ts";
import {
  Approvals,
  BoardTools,
  CallQueue,
  Calls,
  type CallsDependencies,
  Control,
  ControlSteps,
  FanOut,
  History,
  Idempotency,
  MutedLevels,
  PhotoAccess,
  type PhotoStorage,
  QueueRunner,
} from "../calls/calls.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { Config } from "../config/config.ts";
import { Fleet } from "../fleet/fleet.ts";
import type { Store } from "../store/store.ts";
import { Toolset } from "../toolset/toolset.ts";
import { shareCalls } from "./shared-calls.ts";

export interface ServiceDependencies
  extends Omit<
    CallsDependencies,
    "history" | "policy" | "approvals" | "findDevice" | "hasPicture" | "queue"
  > {
  readonly store: Store;
  readonly access: Config["access"];
  readonly agents: Config["agents"];
  readonly camera: ConstructorParameters<typeof BoardTools>[1];
  readonly screen: ConstructorParameters<typeof BoardTools>[2];
  readonly photoStorage: PhotoStorage;
  /** The name of the principal with this id. */
  readonly nameOf: (principalId: string) => string;
  /** The principal of a token while it is valid. */
  readonly principalOf: (principalId: string) => Principal | undefined;
  readonly actions: Actions;
  readonly idPrefix: string;
  /** The id of this run of the gateway. */
  readonly run: string;
  readonly isAlive: (run: string) => boolean;
  /** Whether other nodes use the same store. */
  readonly isShared: boolean;
  /** Whether a run that is not alive now may come back. */
  readonly mayReturn: (run: string) => boolean;
}

/** The services for clients, and what only the composition root uses. */
export interface OpenedServices extends Services {
  readonly mutedLevels: MutedLevels;
  /** Connects the fleet to other nodes. Before this node leaves, it must wait for `settled`. */
  join(cluster: Cluster): Promise<{ settled(): Promise<void> }>;
  /** Rejects new calls; resolves when the running ones have ended. */
  drain(): Promise<void>;
  /** Resolves when every change has been written to the store. */
  close(): Promise<void>;
}

export async function openServices(dependencies: ServiceDependencies): Promise<OpenedServices> {
  const { store, clock, events } = dependencies;
  const onWriteFault = (what: string, error: unknown) => events.notStored(what, error);
  let broadcastStatus = (_id: string, _at: number, _value: JsonObject): void => undefined;
  const mutedLevels = new MutedLevels(store, onWriteFault);
  const boardTools = new BoardTools(clock, dependencies.camera, dependencies.screen);
  const steps = new ControlSteps(clock, mutedLevels);
  const fleet = await Fleet.open({
    ...dependencies,
    local: {
      specialTools: boardTools,
      control: steps,
      onStatus(record, value) {
        const at = clock.now();
        record.setStatus(at, value);
        broadcastStatus(record.id, at, value);
      },
      onSuccess: (device, tool) => mutedLevels.forget(device, tool),
    },
    upgrades: boardTools.upgrades,
    onListed: (id) => runner.start(id),
    cancelCalls: (id) => queue.cancelAll(id, "the device was deleted"),
    forgetDevice: (id) => mutedLevels.forgetDevice(id),
    toolset: () => toolset,
  });
  const { devices, policy } = fleet;
  events.subscribe(({ type, device = "" }) => {
    if (type !== "device.revoked") return;
    queue.cancelAll(device, "the device was revoked").catch((error: unknown) => onWriteFault(device, error));
  });
  const toolset = new Toolset({
    ...dependencies.agents,
    clock,
    names: devices.names,
    devices: devices.records,
    shows: (principal, record) => devices.shows(principal, record),
    nearDevices: (principal, reference) => devices.near(principal, reference),
    access: (principal, record, tool) => policy.accessTo(principal, record, tool).access,
  });
  toolset.restored();
  await mutedLevels.restore();
  const visible = (principal: Principal, id: string) => fleet.visible(principal, id);
  const findDevice = (principal: Principal, reference: string) => fleet.find(principal, reference);
  const approvals = new Approvals({ ...dependencies, visible });
  const { photoStorage } = dependencies;
  const queue = new CallQueue({
    ...dependencies,
    setWaiting(id, count) {
      const record = devices.get(id);
      if (record !== undefined) record.waitingCalls = count;
    },
    recordEnd: (ended) => calls.recordQueued(ended),
  });
  const runner = new QueueRunner({
    ...dependencies,
    queue,
    session(id) {
      const record = devices.get(id);
      return record?.isListed === true ? record.handle?.local?.session : undefined;
    },
    runCall: (principal, call, take) => calls.runQueued(principal, call, take),
  });
  const calls = new Calls({
    ...dependencies,
    policy,
    approvals,
    findDevice,
    queue,
    history: store.calls,
    hasPicture: (callId) => photoStorage.isUploaded(callId),
  });
  const photos = new PhotoAccess(photoStorage, findDevice);
  const history = new History({
    ...dependencies,
    calls: store.calls,
    queue,
    queuedCalls: store.queuedCalls,
    digestOf: (text) => calls.digestOf(text),
    traces: calls.traces,
    running: calls.running,
    settle: () => events.settle(),
    idOf: (reference) => fleet.idOf(reference),
    visible,
    isUserOnly: (device, tool) => fleet.admin.find(device)?.catalogue.find(tool)?.audience === "user",
    hasPhoto: (device, callId) => photos.has(device, callId),
  });
  await queue.open();
  const targets: ConstructorParameters<typeof FanOut>[0]["targets"] = (principal, target) =>
    devices.targets(principal, target);
  return {
    fleet,
    calls,
    fanOut: new FanOut({
      ...dependencies,
      policy,
      approvals,
      calls,
      targets,
      isOnline: (id) => devices.get(id)?.handle !== undefined,
    }),
    control: new Control({ ...dependencies, calls, steps, findDevice }),
    approvals,
    idempotency: new Idempotency({
      ...dependencies,
      onFault: (error) => onWriteFault("a repeated request", error),
    }),
    history,
    queue,
    photos,
    toolset,
    mutedLevels,
    async join(cluster) {
      const { broadcasts } = cluster;
      shareCalls(cluster, { calls, history, photos });
      broadcastStatus = (id, at, value) => broadcasts.send({ kind: "status", id, at, value });
      mutedLevels.onChange((device, tool, level) => broadcasts.send({ kind: "muted", device, tool, level }));
      return await fleet.join(cluster, (work) => calls.inFlight.track(work));
    },
    async drain() {
      const drained = Promise.all([queue.stop(), calls.drain(), runner.stop()]);
      boardTools.upgrades.stop();
      await drained;
    },
    async close() {
      toolset.stop();
      await queue.stop();
      await Promise.all([fleet.close(), mutedLevels.close()]);
    },
  };
}
