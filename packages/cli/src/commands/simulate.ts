import { randomBytes, randomUUID } from "node:crypto";
import type { Provisioned } from "@tendon/protocol";
import {
  checkToolsFile,
  type DeviceEvent,
  Fleet,
  type FleetCounters,
  faultList,
  faultsNamed,
  keepTalking,
  loadToolsFile,
  SimulatorError,
  ToolsFileError,
  type VirtualDevice,
  type VirtualDeviceOptions,
} from "@tendon/simulator";
import { readDuration } from "../duration.ts";
import { OperationError, UsageError } from "../errors.ts";
import { GatewayClient } from "../gateway-client.ts";
import { colours, complain, plain, print, printJson, printTable } from "../output.ts";
import { ownCommand } from "../own-command.ts";
import { readTarget, type TargetOptions } from "../target.ts";

interface SimulateOptions extends TargetOptions {
  /** WebSocket by default. */
  readonly transport?: "ws" | "mqtt";
  readonly count: number;
  /** Id of the first device. */
  readonly id?: string;
  readonly board: string;
  readonly tools?: string;
  readonly fault?: string[];
  readonly deviceToken?: string;
  readonly ota?: boolean;
  readonly awaitApproval?: boolean;
  /** Pause after an answer before the next question. */
  readonly speak?: string;
  readonly json?: boolean;
}

const maxDevices = 20_000;
const defaultFirstId = "02:00:00:00:10:01";
/** With more devices than this, print a summary instead of single events. */
const maxShownOneByOne = 3;
const refreshMs = 500;

export async function simulateEsp32(options: SimulateOptions): Promise<void> {
  if (options.fault?.includes("list")) {
    await printTable(
      ["FAULT", "WHAT IT DOES"],
      faultList.map(({ name, description }) => [name, description]),
    );
    return;
  }
  if (options.count < 1 || options.count > maxDevices) {
    throw new UsageError(`--count must be from 1 to ${maxDevices}.`);
  }
  checkTransport(options);
  const pauseMs = options.speak === undefined ? undefined : readDuration(options.speak);
  const each = options.json === true ? showJson : options.count <= maxShownOneByOne ? showText : undefined;
  const show = each ?? (options.awaitApproval === true ? showCode : undefined);
  const firstId = options.id ?? (options.awaitApproval === true ? newId() : defaultFirstId);
  const fleet = await buildFleet({ ...options, id: firstId }, (device) => {
    if (show !== undefined) device.observe((event) => show(device, event));
    if (pauseMs !== undefined) keepTalking(device, pauseMs);
  });
  const stopped = new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve());
  });
  if (options.awaitApproval === true) complain(factoryNotice(options, firstId));
  const display = options.json === true ? jsonDisplay(fleet) : textDisplay(fleet, each === undefined);
  const started = fleet.start().then(() => display.started());
  try {
    // Errors of the gateway during provisioning end the command. Later errors are reported per device.
    await Promise.race([stopped, started]);
    await stopped;
  } catch (error) {
    throw asCommandError(error);
  } finally {
    display.stop();
    await fleet.stop();
  }
}

/** The last two bytes number the boards, enough for any --count. */
function newId(): string {
  const [a, b, c] = randomBytes(3).toString("hex").match(/../g) ?? [];
  return `02:${a}:${b}:${c}:00:01`;
}

function factoryNotice({ count, id }: SimulateOptions, firstId: string): string {
  const boards =
    count === 1 ? `${firstId} starts as a new board` : `${count} new boards start, from ${firstId} on`;
  return `${boards}, with a new ${id === undefined ? "id and " : ""}Client-Id`;
}

/** Boards that request their settings receive the transport in them, so `--transport` does not apply. */
function checkTransport({ transport, awaitApproval, ota, url = "" }: SimulateOptions): void {
  if (transport === "mqtt" && isWebSocket(url))
    throw new UsageError(`${url} is a WebSocket address. Remove --transport mqtt.`);
  const flag = awaitApproval === true ? "--await-approval" : ota === true ? "--ota" : undefined;
  if (transport === undefined || flag === undefined) return;
  throw new UsageError(
    `With ${flag} the gateway chooses the transport, so --transport cannot be used. Set devices.transport for all ` +
      `devices, or use \`${ownCommand()} device transport ID websocket\` (or mqtt) for one.`,
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

/** With many waiting boards, print only their activation codes. */
const showCode: Show = (device, event) => {
  if (event.kind === "activation-code") showText(device, event);
};

async function buildFleet(
  options: SimulateOptions & { readonly id: string },
  built: (device: VirtualDevice) => void,
): Promise<Fleet> {
  try {
    const faults = faultsNamed(options.fault ?? []);
    const device = { board: { name: options.board }, faults };
    const tools = options.tools === undefined ? undefined : await loadToolsFile(options.tools);
    // Before the gateway is contacted: a mistake in the file is the same for every device.
    if (tools !== undefined) await checkToolsFile(tools, device);
    const credentials = await credentialsFor(options);
    return new Fleet({
      count: options.count,
      firstMac: options.id,
      device,
      each: ({ mac, clientId }) => credentials(mac, clientId),
      ...(tools === undefined ? {} : { tools }),
      built,
    });
  } catch (error) {
    throw asCommandError(error);
  }
}

/** The simulator rejects options of the command line, so its errors are usage errors, except those of a file's content. */
function asCommandError(error: unknown): unknown {
  if (error instanceof ToolsFileError)
    return new OperationError(error.message, { code: error.code, detail: error.message });
  return error instanceof SimulatorError ? new UsageError(error.message) : error;
}

function isWebSocket(url: string): boolean {
  return /^wss?:\/\//.test(url);
}

type Credentials = (mac: string, clientId: string) => Promise<VirtualDeviceOptions>;

/** A Tendon gateway provisions each device. Any other backend is given by its WebSocket address. */
async function credentialsFor(options: SimulateOptions): Promise<Credentials> {
  const { url } = options;
  if (url !== undefined && isWebSocket(url)) {
    const token = options.deviceToken === undefined ? {} : { token: options.deviceToken };
    return () => Promise.resolve({ url, ...token });
  }
  const target = readTarget(options);
  const client = new GatewayClient(target);
  // A local gateway's certificate may be for any name: the connection does not cross a network.
  const tls = { insecureTls: target.certificate !== undefined };
  const otaUrl = `${target.url}/xiaozhi/ota/`;
  // The gateway gives a known pair of id and Client-Id its settings at once, so a factory-new board needs a new pair.
  if (options.awaitApproval === true)
    return () => Promise.resolve({ tls, otaUrl, board: { clientId: randomUUID() } });
  // Requested once before the devices start, so that a wrong address or token is reported at once.
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
    started: () => complain(`${terminal ? "\n" : ""}${summary(fleet.counters)}; press Ctrl+C to stop`),
    stop: () => {
      clearInterval(timer);
      complain(`${terminal ? "\n" : ""}${summary(fleet.counters)}`);
    },
  };
}

function summary(counters: FleetCounters): string {
  const { devices, connected, calls, errors, reconnects, connectFailures } = counters;
  const failed = connectFailures > 0 ? `, ${connectFailures} failed connection attempts` : "";
  return `${connected} of ${devices} connected, ${calls} calls, ${errors} errors, ${reconnects} reconnects${failed}`;
}

function describe(event: DeviceEvent): string | undefined {
  switch (event.kind) {
    case "activation-code":
      return `shows the code ${event.code}; approve it with \`${ownCommand()} device approve ${event.code}\``;
    case "ota-failed":
      return `received no settings: ${event.detail}`;
    case "provisioned":
      return `received its settings, connects over ${event.transport}`;
    case "connected":
      return `connected, session ${event.sessionId}`;
    case "connect-failed":
      return `cannot connect: ${event.detail}`;
    case "disconnected":
      return `disconnected (${event.reason})`;
    case "call":
      return `call ${event.tool} ${JSON.stringify(event.arguments)}`;
    case "call-finished":
      return event.error === undefined ? undefined : `${event.tool} failed: ${event.error}`;
    case "state":
      return `${event.key}: ${String(event.previous)} -> ${String(event.value)}`;
    case "message":
      return `shows ${event.type}: ${event.fields["message"] ?? event.fields["text"] ?? ""}`;
    case "reboot":
      return `reboots (${event.cause})`;
    case "hung":
      return `hangs until it is restarted: ${event.cause}`;
    case "frame-lost":
      return `lost a reply of ${event.bytes} bytes (${event.why})`;
    case "frame-ignored":
      return `ignores a message: ${event.why}`;
    default:
      return undefined;
  }
}
