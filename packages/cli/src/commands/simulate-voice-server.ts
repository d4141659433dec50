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

/** Runs a scripted voice server, which answers every question with a chime, until a stop signal. */
export async function simulateVoiceServer(options: VoiceServerCommand): Promise<void> {
  const json = options.json === true;
  if (options.fault?.includes("list")) {
    await printTable(["FAULT", "WHAT IT DOES"], Object.entries(serverFaults));
    return;
  }
  if (options.packets < 1) throw new UsageError("--packets must be at least 1.");
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
  onEvent: (event: VoiceEvent) => void,
): Promise<VoiceServer> {
  try {
    return await VoiceServer.start({
      host,
      port,
      faults: fault,
      onEvent,
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
    throw new OperationError(`Cannot listen on ${host}:${port} (${code}).`);
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
      return "connected";
    case "listed":
      return `listed ${event.tools} tools`;
    case "answered":
      return `question of ${event.heard} packets, answered with ${event.said}`;
    case "left":
      return "disconnected";
    default:
      return event satisfies never;
  }
}
