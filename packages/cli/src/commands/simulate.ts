import { randomBytes, randomUUID } from "node:crypto";
import type { Provisioned } from "@tendon/protocol";
import {
  type DeviceEvent,
  Fleet,
  type FleetCounters,
  faultList,
  faultsNamed,
  keepTalking,
  loadToolsFile,
  SimulatorError,
  type VirtualDevice,
  type VirtualDeviceOptions,
} from "@tendon/simulator";
import { readDuration } from "../duration.ts";
import { UsageError } from "../errors.ts";
import { GatewayClient } from "../gateway-client.ts";
import { colours, complain, plain, print, printJson, printTable } from "../output.ts";
import { readTarget, type TargetOptions } from "../target.ts";

interface SimulateOptions extends TargetOptions {
  /** WebSocket where nothing is said. */
  readonly transport?: "ws" | "mqtt";
  readonly count: number;
  /** Of the first one. */
  readonly id?: string;
  readonly board: string;
  readonly tools?: string;
  readonly fault?: string[];
  readonly deviceToken?: string;
  readonly ota?: boolean;
  readonly awaitApproval?: boolean;
  /** How long after an answer they ask again. */
  readonly speak?: string;
  readonly json?: boolean;
}

const mostDevices = 20_000;
const usualFirstId = "02:00:00:00:10:01";
/** Above this, single events would only scroll by. */
const shownOneByOne = 3;
const refreshMs = 500;

export async function simulateEsp32(options: SimulateOptions): Promise<void> {
  if (options.fault?.includes("list")) {
    await printTable(
      ["FAULT", "WHAT IT DOES"],
      faultList.map(({ name, description }) => [name, description]),
    );
    return;
  }
  if (options.count < 1 || options.count > mostDevices) {
    throw new UsageError(`--count must be from 1 to ${mostDevices}`);
  }
  refuseTransport(options);
  const pauseMs = options.speak === undefined ? undefined : readDuration(options.speak);
  const each = options.json === true ? showJson : options.count <= shownOneByOne ? showText : undefined;
  const show = each ?? (options.awaitApproval === true ? showCode : undefined);
  const firstId = options.id ?? (options.awaitApproval === true ? newId() : usualFirstId);
  const fleet = await buildFleet({ ...options, id: firstId }, (device) => {
    if (show !== undefined) device.observe((event) => show(device, event));
    if (pauseMs !== undefined) keepTalking(device, pauseMs);
  });
  const stopped = new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve());
  });
  if (options.awaitApproval === true) complain(fromTheFactory(options, firstId));
  const display = options.json === true ? jsonDisplay(fleet) : textDisplay(fleet, each === undefined);
  const started = fleet.start().then(() => display.started());
  try {
    // A gateway that refuses to provision ends the command with its reason; later faults are the devices' own.
    await Promise.race([stopped, started]);
    await stopped;
  } catch (error) {
    throw inWords(error);
  } finally {
    display.stop();
    await fleet.stop();
  }
}

/** The last two bytes count the boards, so that every --count fits. */
function newId(): string {
  const [a, b, c] = randomBytes(3).toString("hex").match(/../g) ?? [];
  return `02:${a}:${b}:${c}:00:01`;
}

function fromTheFactory({ count, id }: SimulateOptions, firstId: string): string {
  const boards = count === 1 ? `${firstId} starts` : `${count} boards, ${firstId} and following, start`;
  return `${boards} as from the factory, with a new ${id === undefined ? "id and " : ""}Client-Id`;
}

/** Boards that ask for their settings are told in them how to connect. */
function refuseTransport({ transport, awaitApproval, ota, url = "" }: SimulateOptions): void {
  if (transport === "mqtt" && isWebSocket(url))
    throw new UsageError(`${url} is an address for WebSocket: leave --transport mqtt out.`);
  const flag = awaitApproval === true ? "--await-approval" : ota === true ? "--ota" : undefined;
  if (transport === undefined || flag === undefined) return;
  throw new UsageError(
    `With ${flag} the gateway says how they connect, so leave --transport out. To choose, set devices.transport ` +
      "for all, or for one device `tendon device transport ID websocket` (or mqtt).",
  );
}

type Show = (device: VirtualDevice, event: DeviceEvent) => void;

const showJson: Show = (device, event) => {
  if (event.kind === "frame" || event.kind === "reply") return;
  const { packet: _, ...rest } = event.kind === "audio" ? event : { ...event, packet: undefined };
  print(JSON.stringify({ device: device.id, ...rest }));
};

const showText: Show = (device, event) => {
  const line = describe(event);
  if (line !== undefined) print(`${colours.dim(device.id)}  ${plain(line)}`);
};

/** Of many boards that wait, what each shows is all there is to see. */
const showCode: Show = (device, event) => {
  if (event.kind === "activation-code") showText(device, event);
};

async function buildFleet(
  options: SimulateOptions & { readonly id: string },
  built: (device: VirtualDevice) => void,
): Promise<Fleet> {
  try {
    const faults = faultsNamed(options.fault ?? []);
    const tools = options.tools === undefined ? undefined : await loadToolsFile(options.tools);
    const credentials = await credentialsFor(options);
    return new Fleet({
      count: options.count,
      firstMac: options.id,
      device: { board: { name: options.board }, faults },
      each: ({ mac, clientId }) => credentials(mac, clientId),
      ...(tools === undefined ? {} : { tools }),
      built,
    });
  } catch (error) {
    throw inWords(error);
  }
}

/** What the devices refuse to be is what was asked for on the command line. */
function inWords(error: unknown): unknown {
  return error instanceof SimulatorError ? new UsageError(error.message) : error;
}

function isWebSocket(url: string): boolean {
  return /^wss?:\/\//.test(url);
}

type Credentials = (mac: string, clientId: string) => Promise<VirtualDeviceOptions>;

/** A Tendon gateway gives each device its own token; any other backend is given by its WebSocket address. */
async function credentialsFor(options: SimulateOptions): Promise<Credentials> {
  const { url } = options;
  if (url !== undefined && isWebSocket(url)) {
    const token = options.deviceToken === undefined ? {} : { token: options.deviceToken };
    return () => Promise.resolve({ url, ...token });
  }
  const target = readTarget(options);
  const client = new GatewayClient(target);
  // On this machine the gateway's certificate may be for any name; the way there crosses no network.
  const tls = { insecureTls: target.certificate !== undefined };
  const otaUrl = `${target.url}/xiaozhi/ota/`;
  // The gateway gives a known pair of id and Client-Id its settings at once; a board from the factory has no such pair.
  if (options.awaitApproval === true)
    return () => Promise.resolve({ tls, otaUrl, board: { clientId: randomUUID() } });
  // Asked once before anything starts, so that a wrong address or token is told at once.
  await client.get("/devices/pending");
  return async (id, clientId) => {
    const { websocket, mqtt } = await client.post<Provisioned>("/devices/provision", { id, clientId });
    if (options.ota === true) return { tls, otaUrl };
    return options.transport === "mqtt" ? { tls, mqtt } : { tls, url: websocket.url, token: websocket.token };
  };
}

interface Display {
  started(): void;
  stop(): void;
}

function jsonDisplay(fleet: Fleet): Display {
  return {
    started: () => printJson({ kind: "started", ...fleet.counters }),
    stop: () => printJson({ kind: "stopped", ...fleet.counters }),
  };
}

function textDisplay(fleet: Fleet, live: boolean): Display {
  const terminal = live && process.stderr.isTTY;
  let last = "";
  const timer = setInterval(() => {
    const line = summary(fleet.counters);
    if (!live || line === last) return;
    last = line;
    if (terminal) process.stderr.write(`\r\u001b[K${line}`);
    else complain(line);
  }, refreshMs);
  return {
    started: () => complain(`${terminal ? "\n" : ""}${summary(fleet.counters)}; Ctrl+C ends them`),
    stop: () => {
      clearInterval(timer);
      complain(`${terminal ? "\n" : ""}${summary(fleet.counters)}`);
    },
  };
}

function summary(counters: FleetCounters): string {
  const { devices, connected, calls, errors, reconnects, connectFailures } = counters;
  const failed = connectFailures > 0 ? `, ${connectFailures} failed attempts to connect` : "";
  return `${connected} of ${devices} connected, ${calls} calls, ${errors} errors, ${reconnects} reconnects${failed}`;
}

function describe(event: DeviceEvent): string | undefined {
  switch (event.kind) {
    case "activation-code":
      return `shows the code ${event.code}; \`tendon device approve ${event.code}\` lets it in`;
    case "ota-failed":
      return `gets no settings: ${event.detail}`;
    case "provisioned":
      return `has its settings, connects over ${event.transport}`;
    case "connected":
      return `connected, session ${event.sessionId}`;
    case "connect-failed":
      return `cannot connect: ${event.detail}`;
    case "disconnected":
      return `disconnected (${event.reason})`;
    case "call":
      return `call ${event.tool} ${JSON.stringify(event.arguments)}`;
    case "call-finished":
      return event.error === undefined ? undefined : `error of ${event.tool}: ${event.error}`;
    case "state":
      return `${event.key}: ${String(event.previous)} -> ${String(event.value)}`;
    case "message":
      return `shows ${event.type}: ${event.fields["message"] ?? event.fields["text"] ?? ""}`;
    case "reboot":
      return `reboots (${event.cause})`;
    case "hung":
      return `hangs until it is restarted: ${event.cause}`;
    case "frame-lost":
      return `a reply of ${event.bytes} bytes is lost (${event.why})`;
    default:
      return undefined;
  }
}
