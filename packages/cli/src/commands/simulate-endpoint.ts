import {
  type BrokerEvent,
  brokerFaults,
  EndpointBroker,
  McpPipe,
  type PipeEvent,
  pipeFaults,
  SimulatorError,
} from "@tendon/simulator";
import { OperationError, UsageError } from "../errors.ts";
import { plain, print, printTable } from "../output.ts";

interface BrokerCommand {
  readonly host: string;
  readonly port: number;
  readonly agentToken?: string;
  readonly callTool?: string;
  readonly args?: string;
  readonly fault?: string[];
  readonly json?: boolean;
}

interface PipeCommand {
  readonly name: string;
  readonly fault?: string[];
  readonly json?: boolean;
}

export async function simulateBroker(options: BrokerCommand): Promise<void> {
  const { host, port, agentToken, callTool, fault = [], json } = options;
  if (fault.includes("list")) {
    await printTable(["FAULT", "WHAT IT DOES"], Object.entries(brokerFaults));
    return;
  }
  const onEvent = (event: BrokerEvent) =>
    print(json === true ? JSON.stringify(event) : describeBroker(event));
  const call =
    callTool === undefined ? {} : { call: { tool: callTool, arguments: readArguments(options.args) } };
  const token = agentToken === undefined ? {} : { token: agentToken };
  const broker = await EndpointBroker.start({ host, port, faults: fault, onEvent, ...call, ...token }).catch(
    (error: unknown) => {
      throw asCommandError(error, `Cannot listen on ${host}:${port}`);
    },
  );
  print(
    json === true
      ? JSON.stringify({ event: "ready", url: broker.url })
      : `endpoint broker ready ${broker.url}`,
  );
  await stopSignal();
  await broker.stop();
}

export async function simulatePipe(url: string, { name, fault = [], json }: PipeCommand): Promise<void> {
  if (fault.includes("list")) {
    await printTable(["FAULT", "WHAT IT DOES"], Object.entries(pipeFaults));
    return;
  }
  const onEvent = (event: PipeEvent) => print(json === true ? JSON.stringify(event) : describePipe(event));
  let pipe: McpPipe;
  try {
    pipe = new McpPipe({ url, name, faults: fault, onEvent });
  } catch (error) {
    throw asCommandError(error, "The pipe cannot start");
  }
  pipe.start();
  await stopSignal();
  pipe.stop();
}

function stopSignal(): Promise<void> {
  return new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve());
  });
}

function asCommandError(error: unknown, what: string): unknown {
  if (error instanceof SimulatorError) return new UsageError(error.message);
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return code === "" ? error : new OperationError(`${what} (${code}).`);
}

function readArguments(text = "{}"): object {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  } catch {
    // Reported below.
  }
  throw new UsageError("--args must be a JSON object.");
}

function describeBroker(event: BrokerEvent): string {
  switch (event.kind) {
    case "connected":
      return "a tool server connected";
    case "listed":
      return `listed ${event.tools.length} tools: ${plain(event.tools.join(", "))}`;
    case "answered":
      return `${plain(event.tool)} ${event.failed ? "failed" : "answered"}: ${plain(event.text)}`;
    case "disconnected":
      return `a tool server disconnected (${event.code})`;
    default:
      return event satisfies never;
  }
}

function describePipe(event: PipeEvent): string {
  switch (event.kind) {
    case "connected":
      return "connected";
    case "called":
      return `called ${plain(event.tool)}`;
    case "disconnected":
      return `disconnected (${event.code}); connects again in ${event.againInMs / 1_000} s`;
    default:
      return event satisfies never;
  }
}
