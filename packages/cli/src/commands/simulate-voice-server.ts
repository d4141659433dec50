import { SimulatorError, serverFaults, type VoiceEvent, VoiceServer } from "@tendon/simulator";
import { OperationError, UsageError } from "../errors.ts";
import { colours, plain, print, printTable } from "../output.ts";

interface VoiceServerCommand {
  readonly host: string;
  readonly port: number;
  readonly requireToken?: string;
  readonly packets: number;
  readonly callTool?: string;
  readonly fault?: string[];
  readonly json?: boolean;
}

/** Runs a voice server that hears nothing and answers with a chime, until it is told to stop. */
export async function simulateVoiceServer(options: VoiceServerCommand): Promise<void> {
  const json = options.json === true;
  if (options.fault?.includes("list")) {
    await printTable(["FAULT", "WHAT IT DOES"], Object.entries(serverFaults));
    return;
  }
  if (options.packets < 1) throw new UsageError("--packets must be 1 or more");
  const server = await start(options, json ? showJson : showText);
  const stopped = new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve());
  });
  print(json ? JSON.stringify({ event: "ready", url: server.url }) : `voice server ready ${server.url}`);
  await stopped;
  await server.stop();
}

async function start(
  { host, port, requireToken, packets, callTool, fault = [] }: VoiceServerCommand,
  noticed: (event: VoiceEvent) => void,
): Promise<VoiceServer> {
  try {
    return await VoiceServer.start({
      host,
      port,
      faults: fault,
      noticed,
      script: {
        questionPackets: packets,
        ...(callTool === undefined ? {} : { tool: { name: callTool, arguments: {} } }),
      },
      ...(requireToken === undefined ? {} : { token: requireToken }),
    });
  } catch (error) {
    if (error instanceof SimulatorError) throw new UsageError(error.message);
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (code === "") throw error;
    throw new OperationError(`cannot listen on ${host}:${port} (${code})`);
  }
}

function showJson(event: VoiceEvent): void {
  print(JSON.stringify(event));
}

function showText(event: VoiceEvent): void {
  print(`${colours.dim(plain(event.device))}  ${describe(event)}`);
}

function describe(event: VoiceEvent): string {
  switch (event.kind) {
    case "arrived":
      return "is here";
    case "listed":
      return `offers ${event.tools} tools`;
    case "answered":
      return `asked with ${event.heard} packets, was answered with ${event.said}`;
    case "left":
      return "has left";
    default:
      return event satisfies never;
  }
}
