import { HttpServer, type HttpServerKind, httpFaults, SimulatorError } from "@tendon/simulator";
import { OperationError, UsageError } from "../errors.ts";
import { colours, plain, print, printTable } from "../output.ts";

interface HttpServerCommand {
  readonly kind: HttpServerKind;
  readonly host: string;
  readonly port: number;
  readonly requireToken?: string;
  readonly fault?: string[];
  readonly json?: boolean;
}

/** Runs a simulated MCP server over HTTP until a stop signal. */
export async function simulateHttpServer(options: HttpServerCommand): Promise<void> {
  const json = options.json === true;
  if (options.fault?.includes("list")) {
    await printTable(["FAULT", "WHAT IT DOES"], Object.entries(httpFaults));
    return;
  }
  const server = await start(options, (request) =>
    print(
      json
        ? JSON.stringify({ event: "request", ...request })
        : `${colours.dim(String(request.id ?? "-"))}  ${plain(request.method)}`,
    ),
  );
  const stopped = new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve());
  });
  print(json ? JSON.stringify({ event: "ready", url: server.url }) : `MCP server ready ${server.url}`);
  await stopped;
  await server.stop();
}

async function start(
  { kind, host, port, requireToken, fault = [] }: HttpServerCommand,
  onRequest: (request: { readonly method: string; readonly id: unknown }) => void,
): Promise<HttpServer> {
  try {
    const token = requireToken === undefined ? {} : { token: requireToken };
    return await HttpServer.start({ kind, host, port, faults: fault, onRequest, ...token });
  } catch (error) {
    if (error instanceof SimulatorError) throw new UsageError(error.message);
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (code === "") throw error;
    throw new OperationError(`Cannot listen on ${host}:${port} (${code}).`);
  }
}
